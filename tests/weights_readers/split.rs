//! Models in several GGUF files (FIELD_CASES 114).

use std::path::{Path, PathBuf};

use tactus::Status;
use tactus::weights::gguf::Gguf;
use tactus::weights::{Access, Bytes};

use crate::gguf_writer::{GgufFile, Value};
use crate::scratch::Scratch;
use crate::{data, refused};

const NAMES: [&str; 3] = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];

/// Three parts, as gguf-split makes them: the first has the model's metadata, each its own tensors.
fn parts() -> [GgufFile; 3] {
    let part = |number: u16| {
        GgufFile::new()
            .key("split.no", Value::U16(number))
            .key("split.count", Value::U16(3))
            .key("split.tensors.count", Value::I32(4))
    };
    [
        part(0).key("general.architecture", "llama").counting("a", &[3]),
        part(1).counting("b", &[2, 2]).counting("c", &[1]),
        part(2).counting("d", &[40]),
    ]
}

fn written(scratch: &Scratch, parts: &[GgufFile; 3]) -> Vec<PathBuf> {
    NAMES.iter().zip(parts).map(|(name, part)| scratch.write(name, part.to_bytes())).collect()
}

#[test]
fn any_part_opens_the_whole_set() {
    let scratch = Scratch::new();
    for (number, path) in written(&scratch, &parts()).iter().enumerate() {
        let model = Gguf::open(path, Access::Map).unwrap();
        assert!(model.names().eq(["a", "b", "c", "d"]), "from part {number}");
        assert_eq!(model.metadata().str("general.architecture").unwrap(), Some("llama"));
        assert_eq!(model.tensor("d").unwrap().unwrap().data.len(), 160);
        assert_eq!(model.file_of("c").unwrap(), scratch.join(NAMES[1]));
        assert_eq!(model.files().len(), 3);
    }
}

#[test]
fn a_committed_set_holds_what_its_single_file_holds() {
    let single = Gguf::open(&data("gguf/llama-f16.gguf"), Access::Map).unwrap();
    for part in 1..=3 {
        let set = Gguf::open(&data(&format!("gguf/llama-f16-split-0000{part}-of-00003.gguf")), Access::Map).unwrap();
        let mut names: Vec<_> = set.names().collect();
        let mut expected: Vec<_> = single.names().collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected);
        for name in names {
            let (a, b) = (set.tensor(name).unwrap().unwrap(), single.tensor(name).unwrap().unwrap());
            assert_eq!((a.ty, &a.shape, a.data.read().unwrap()), (b.ty, &b.shape, b.data.read().unwrap()), "{name}");
        }
    }
}

#[test]
fn a_missing_part_is_named() {
    for missing in 0..3 {
        let scratch = Scratch::new();
        let paths = written(&scratch, &parts());
        std::fs::remove_file(&paths[missing]).unwrap();
        let opened = &paths[(missing + 1) % 3];
        refused(Gguf::open(opened, Access::Map), Status::NotFound, &[NAMES[missing], &format!("part {} of 3", missing + 1)]);
    }
}

#[test]
fn parts_joined_into_one_file_are_refused() {
    let scratch = Scratch::new();
    let joined: Vec<u8> = parts().iter().flat_map(GgufFile::to_bytes).collect();
    let path = scratch.write("joined.gguf", &joined);
    refused(Gguf::open(&path, Access::Map), Status::Format, &["joined.gguf", "this is not one file", "use the parts"]);
    let bytes = Bytes::from_vec(joined.clone());
    refused(Gguf::from_bytes(&bytes, Path::new("x.gguf")), Status::Format, &["this is not one file", "part 1 of a model in 3"]);
    // Under the first part's name, beside the others.
    let scratch = Scratch::new();
    let paths = written(&scratch, &parts());
    std::fs::write(&paths[0], joined).unwrap();
    for path in &paths {
        refused(Gguf::open(path, Access::Map), Status::Format, &[NAMES[0], "bytes after the last tensor", "joined"]);
    }
}

#[test]
fn a_renamed_part_is_refused_with_the_name_it_should_have() {
    let scratch = Scratch::new();
    let paths = written(&scratch, &parts());
    let renamed = scratch.join("other.gguf");
    std::fs::rename(&paths[1], &renamed).unwrap();
    refused(Gguf::open(&renamed, Access::Map), Status::Format, &["other.gguf", "-00002-of-00003.gguf"]);
    refused(Gguf::open(&paths[0], Access::Map), Status::NotFound, &[NAMES[1]]);
    // Two parts under each other's names.
    std::fs::rename(&paths[2], &paths[1]).unwrap();
    std::fs::rename(&renamed, &paths[2]).unwrap();
    refused(Gguf::open(&paths[0], Access::Map), Status::Format, &[NAMES[1], "split.no: 2", "renamed?"]);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let scratch = Scratch::new();
    let mut others = parts();
    others[2].metadata[1].1 = Value::U16(4);
    let paths = written(&scratch, &others);
    refused(Gguf::open(&paths[0], Access::Map), Status::Format, &[NAMES[2], "split.count: 4"]);

    let mut others = parts();
    others[2] = others[2].clone().counting("e", &[1]);
    let paths = written(&scratch, &others);
    refused(Gguf::open(&paths[0], Access::Map), Status::Format, &["5 tensors in the 3 parts, expected 4"]);

    let mut others = parts();
    others[2].tensors[0].name = b"a".to_vec();
    let paths = written(&scratch, &others);
    refused(Gguf::open(&paths[0], Access::Map), Status::Format, &[NAMES[2], "tensor a occurs twice", NAMES[0]]);

    let mut others = parts();
    others[1].metadata.clear();
    let paths = written(&scratch, &others);
    refused(Gguf::open(&paths[0], Access::Map), Status::Format, &[NAMES[1], "split.no is missing"]);
}

#[test]
fn numbers_that_make_no_set_are_refused() {
    for (number, count) in [(3, 3), (7, 3), (0, 100_000)] {
        let file = GgufFile::new().key("split.no", Value::U32(number)).key("split.count", Value::U32(count));
        let scratch = Scratch::new();
        let path = scratch.write(NAMES[0], file.to_bytes());
        refused(Gguf::open(&path, Access::Map), Status::Format, &["split.no", &count.to_string()]);
    }
    // A "set" of one file is a file.
    let whole = GgufFile::new().key("split.no", Value::U16(0)).key("split.count", Value::U16(1)).counting("a", &[1]);
    Gguf::from_bytes(&Bytes::from_vec(whole.to_bytes()), Path::new("m.gguf")).unwrap();
}
