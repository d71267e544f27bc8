//! FIELD_CASES 157: every instruction set the processor has says the same, and one it lacks is refused, not run.

mod support;

use support::data;
use support::decoder::{Sequence, argmax};
use tactus::Status;
use tactus::artifacts::{LoadOptions, ModelArtifacts};
use tactus::backend::KvType;
use tactus::backend::cpu::linear::Level;
use tactus::backend::cpu::{CpuBackend, CpuOptions};

const PROMPT: [u32; 9] = [7, 40, 11, 90, 33, 5, 61, 28, 12];
const TOKENS: usize = 24;

fn backend(level: Level) -> CpuBackend {
    CpuBackend::new(CpuOptions { threads: 2, level: Some(level) }).unwrap()
}

/// Greedy ids, each with how far the logit of the second choice lies below, relative to the largest logit.
fn greedy(model: &ModelArtifacts, level: Level) -> Vec<(u32, f32)> {
    let mut sequence = Sequence::new(&backend(level), model, KvType::F32, PROMPT.len() + TOKENS, PROMPT.len() + TOKENS);
    let mut logits = sequence.push_for(&PROMPT, 1).remove(0);
    let mut said = Vec::new();
    for _ in 0..TOKENS {
        let id = argmax(&logits, model.sampled_vocab());
        let best = logits[id as usize];
        let others = logits.iter().enumerate().filter(|(other, _)| *other != id as usize).map(|(_, &logit)| logit);
        let largest = logits.iter().fold(0f32, |m, x| m.max(x.abs()));
        said.push((id, (best - others.fold(f32::NEG_INFINITY, f32::max)) / largest));
        logits = sequence.push(&[id]).remove(0);
    }
    said
}

#[test]
fn every_level_says_the_same() {
    for (name, tie) in [
        ("llama-f32", 1e-4),
        ("gemma3-f32", 1e-4),
        ("qwen3-f32", 1e-4),
        // Levels differ in how they take activations to 16 and 8 bits: a choice closer than that is either's.
        ("llama-f16", 1e-2),
        ("llama-bf16", 1e-2),
        ("llama-q8_0", 2e-2),
        ("llama-q4_k", 2e-2),
    ] {
        let model = ModelArtifacts::load(&LoadOptions::new(data(&format!("gguf/{name}.gguf")))).unwrap();
        let expected = greedy(&model, Level::Plain);
        for level in Level::available() {
            let found = greedy(&model, level);
            let parted = found.iter().zip(&expected).position(|(found, expected)| found.0 != expected.0);
            if let Some(at) = parted {
                assert!(expected[at].1 < tie, "{name}, {level}: token {at} is {} with {:?} expected", found[at].0, expected[at]);
                assert!(tie > 1e-4, "{name}, {level}: f32 models part at token {at}");
            }
        }
    }
}

#[test]
fn a_level_that_the_processor_lacks_is_refused() {
    let lacking: Vec<Level> = Level::ALL.into_iter().filter(|level| !level.is_available()).collect();
    assert!(!lacking.is_empty(), "no processor has both x86's and Arm's");
    for level in lacking {
        let error = CpuBackend::new(CpuOptions { threads: 1, level: Some(level) }).err().unwrap();
        assert_eq!(error.status(), Status::Unsupported);
        assert!(error.message().contains("unsupported CPU") && error.message().contains(level.name()), "{error}");
    }
}
