//! Reading GGUF files: the committed ones, and what is refused.

use std::path::{Path, PathBuf};

use tactus::weights::gguf::Gguf;
use tactus::weights::{Access, StoredType};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gguf").join(name)
}

#[test]
fn every_stored_type_opens_mapped_and_read() {
    let files = std::fs::read_dir(data("")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = std::collections::HashSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "gguf")) {
        let mapped = Gguf::open(&path, Access::Map).unwrap();
        let read = Gguf::open(&path, Access::Read).unwrap();
        assert!(mapped.names().eq(read.names()));
        for name in mapped.names() {
            let (a, b) = (mapped.tensor(name).unwrap().unwrap(), read.tensor(name).unwrap().unwrap());
            assert_eq!((a.ty, &a.shape, &a.data[..]), (b.ty, &b.shape, &b.data[..]));
            assert_eq!(a.ty.bytes_for(a.elements()), Some(a.data.len()));
            assert!(a.data.is_mapped() && !b.data.is_mapped());
            seen.insert(a.ty);
        }
        assert!(mapped.metadata().str("general.architecture").unwrap().is_some());
    }
    assert_eq!(seen.len(), StoredType::ALL.len());
}
