//! The readers of weight files and the stored formats: what loads, what it decodes to, and what is refused, by name.

#[path = "../support/gguf_writer.rs"]
mod gguf_writer;
#[path = "../support/safetensors_writer.rs"]
mod safetensors_writer;
#[path = "../support/scratch.rs"]
mod scratch;

mod files;
mod gguf;
mod quant;
mod safetensors;
mod split;

use std::path::{Path, PathBuf};

use tactus::Status;
use tactus::error::Result;

/// A committed file.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The message of an error of this status that holds all of these words.
#[track_caller]
fn refused<T>(outcome: Result<T>, status: Status, words: &[&str]) -> String {
    let error = match outcome {
        Ok(_) => panic!("accepted, expected {status:?} with {words:?}"),
        Err(error) => error,
    };
    assert_eq!(error.status(), status, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{:?} lacks {word:?}", error.message());
    }
    error.message().to_owned()
}
