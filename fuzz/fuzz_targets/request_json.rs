//! The JSON doors: requests, configurations, messages, tools and template variables.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tactus::Status;
use tactus::coordinator::json;

fn refused<T>(outcome: tactus::Result<T>) {
    if let Err(error) = outcome {
        assert!(matches!(error.status(), Status::InvalidArgument | Status::Unsupported), "{error}");
        assert!(!error.message().is_empty());
    }
}

fuzz_target!(|text: &str| {
    refused(json::request_from_json(text));
    refused(json::config_from_json(text));
    refused(json::message_from_json(text));
    refused(json::tools_from_json(text));
    refused(json::variables_from_json(text));
});
