//! Shared by the integration tests: references made outside, copies of models to damage, a decoder run by hand.

#![allow(dead_code)]

pub mod decoder;
pub mod reference;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A path below `tests/data`, or below TACTUS_TEST_DATA where a test was built on another machine than it runs on.
pub fn data(path: &str) -> PathBuf {
    let given = std::env::var_os("TACTUS_TEST_DATA").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")).join(path)
}

/// max|a − b| / max|b|: DECISIONS 18.
pub fn relative_error(ours: &[f32], reference: &[f32]) -> f32 {
    assert_eq!(ours.len(), reference.len());
    assert!(ours.iter().all(|v| v.is_finite()), "a value is not finite");
    let largest = reference.iter().fold(0f32, |m, v| m.max(v.abs()));
    let error = ours.iter().zip(reference).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    error / largest
}

/// A directory that is removed when it goes out of scope.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tactus-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// With the files of a directory below `tests/data`.
    pub fn copy_of(model: &str) -> Self {
        let scratch = Scratch::new();
        for entry in std::fs::read_dir(data(model)).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, scratch.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        scratch
    }

    pub fn dir(&self) -> &Path {
        &self.0
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
