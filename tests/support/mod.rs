//! Shared by the integration tests: references made outside, and running a decoder over prompt ids.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// A path below `tests/data`.
pub fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// max|a − b| / max|b|: DECISIONS 18.
pub fn relative_error(ours: &[f32], reference: &[f32]) -> f32 {
    assert_eq!(ours.len(), reference.len());
    assert!(ours.iter().all(|v| v.is_finite()), "a value is not finite");
    let largest = reference.iter().fold(0f32, |m, v| m.max(v.abs()));
    let error = ours.iter().zip(reference).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    error / largest
}
