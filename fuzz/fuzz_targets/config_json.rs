//! `config.json`: a family is found and its spec built, or the key that is wrong is named.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tactus::Status;
use tactus::model::{Decoder, Family};
use tactus::weights::ConfigReader;

fuzz_target!(|data: &[u8]| {
    let Ok(json) = serde_json::from_slice(data) else { return };
    let spec = || {
        let config = ConfigReader::new(Path::new("config.json"), &json)?;
        (Family::of_hf(config)?.spec_hf)(config)
    };
    match spec() {
        Ok(spec) => {
            // A checked spec makes a decoder of the size it says; tensors would bound it further.
            if spec.layers.len() <= 64 {
                assert!(!Decoder::build(&spec).program().ops.is_empty());
            }
        }
        Err(error) => {
            assert!(matches!(error.status(), Status::Format | Status::Unsupported | Status::InvalidArgument), "{error}");
            assert!(error.message().contains("config.json") || error.message().contains("architecture"), "{error}");
        }
    }
});
