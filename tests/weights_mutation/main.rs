//! Mutated weight files: none crashes a reader, makes it take more memory than the file and 16 MiB, or is accepted and does not hold
//! together (DECISIONS 30). Mutants are made from a structure, so that many get past the head of a file; how many is measured.
//!
//! `TACTUS_MUTANTS` sets how many files are made in all (default 6,000), `TACTUS_MUTATION_SEED` which. scripts/mutate_asan.sh runs
//! 200,000 under AddressSanitizer.

#[path = "../support/gguf_writer.rs"]
mod gguf_writer;
#[path = "../support/safetensors_writer.rs"]
mod safetensors_writer;
#[path = "../support/scratch.rs"]
mod scratch;
#[path = "../support/walk.rs"]
mod walk;

mod gguf;
mod memory;
mod rng;
mod safetensors;
mod sets;

use tactus::Status;
use tactus::error::Error;

/// Beyond the size of a file.
const ALLOWANCE: usize = 16 << 20;

/// This many mutants of those asked for.
fn share(percent: usize) -> u64 {
    let total: usize = std::env::var("TACTUS_MUTANTS").map_or(6_000, |count| count.parse().expect("TACTUS_MUTANTS is a number"));
    (total * percent).div_ceil(100) as u64
}

fn base_seed() -> u64 {
    std::env::var("TACTUS_MUTATION_SEED").map_or(0, |seed| seed.parse().expect("TACTUS_MUTATION_SEED is a number"))
}

/// Names the mutant that a panic came from.
struct Current(&'static str, u64);

impl Drop for Current {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} mutant {} of seed {}", self.0, self.1, base_seed());
        }
    }
}

/// How far mutants got.
#[derive(Debug, Default)]
struct Tally {
    made: u64,
    /// Past magic and version, or past the header's length and its JSON.
    past_head: u64,
    /// Into the tensor table.
    at_tensors: u64,
    accepted: u64,
    /// The most memory taken beyond a file's size.
    peak: usize,
    walked: walk::Walked,
}

impl Tally {
    fn add_walk(&mut self, walked: walk::Walked) {
        self.accepted += 1;
        self.walked.keys += walked.keys;
        self.walked.tensors += walked.tensors;
        self.walked.foreign += walked.foreign;
        self.walked.values += walked.values;
    }

    fn add_peak(&mut self, peak: usize, size: usize) {
        assert!(peak <= size + ALLOWANCE, "{peak} bytes taken for a file of {size}");
        self.peak = self.peak.max(peak.saturating_sub(size));
    }

    fn report(&self, what: &str) {
        println!("{what}: {self:?}");
        assert!(self.past_head * 2 >= self.made, "less than half of the {what} mutants get past the head: {self:?}");
        assert!(self.at_tensors * 5 >= self.made, "less than a fifth of the {what} mutants reach the tensors: {self:?}");
        // Some are right after all, most are not.
        assert!(self.accepted * 50 >= self.made && self.accepted * 10 <= self.made * 9, "{what}: {self:?}");
    }
}

/// An error that says where, and is of a kind that a file can cause.
fn check_refusal(error: &Error, path: &str) {
    assert!(matches!(error.status(), Status::Format | Status::Unsupported | Status::NotFound), "{error:?}");
    assert!(error.message().contains(path), "{error:?} does not name {path}");
    assert!(error.message().len() < 20_000, "an endless message: {:.200}", error.message());
}
