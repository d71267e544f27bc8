//! GGUF files: what is accepted holds together, key by key and tensor by tensor, and what is not is refused with a status.

#![no_main]

#[path = "../../tests/support/walk.rs"]
mod walk;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tactus::Status;
use tactus::weights::Bytes;
use tactus::weights::gguf::Gguf;

fuzz_target!(|data: &[u8]| {
    match Gguf::from_bytes(&Bytes::from_vec(data.to_vec()), Path::new("fuzz.gguf")) {
        Ok(model) => drop(walk::walk_gguf(&model)),
        Err(error) => assert!(matches!(error.status(), Status::Format | Status::Unsupported | Status::NotFound), "{error}"),
    }
});
