//! Safetensors files, as [`gguf`](../gguf.rs) does it.

#![no_main]

#[path = "../../tests/support/walk.rs"]
mod walk;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tactus::Status;
use tactus::weights::Bytes;
use tactus::weights::safetensors::Checkpoint;

fuzz_target!(|data: &[u8]| {
    match Checkpoint::from_bytes(&Bytes::from_vec(data.to_vec()), Path::new("fuzz.safetensors")) {
        Ok(checkpoint) => drop(walk::walk_tensors(&checkpoint)),
        Err(error) => assert!(matches!(error.status(), Status::Format | Status::Unsupported), "{error}"),
    }
});
