//! Single GGUF files: what is read from right ones, and what wrong ones are told.

use std::collections::HashSet;
use std::path::Path;

use tactus::Status;
use tactus::error::Result;
use tactus::weights::gguf::{Gguf, stored_type, type_number};
use tactus::weights::{Access, Bytes, StoredType};

use crate::gguf_writer::{ARRAY, Field, GgufFile, STRING, Tensor, Value};
use crate::scratch::Scratch;
use crate::{data, refused};

fn read(bytes: Vec<u8>) -> Result<Gguf> {
    Gguf::from_bytes(&Bytes::from_vec(bytes), Path::new("dir/model.gguf"))
}

/// A file with a bit of everything.
fn sample() -> GgufFile {
    GgufFile::new()
        .key("general.architecture", "llama")
        .key("u8", Value::U8(200))
        .key("i16", Value::I16(-2))
        .key("u64", Value::U64(1 << 40))
        .key("f32", Value::F32(0.5))
        .key("f64", Value::F64(-1e300))
        .key("yes", Value::Bool(1))
        .key("bytes", Value::Str(vec![0xe6, 0xad]))
        .key("strings", Value::strings(&["a", "", "модель"]))
        .key("ints", Value::array(vec![Value::I8(-1), Value::I8(127)]))
        .key("floats", Value::array(vec![Value::F64(1.5), Value::F64(-2.0)]))
        .key("flags", Value::array(vec![Value::Bool(1), Value::Bool(0)]))
        .key("empty", Value::Array { kind: STRING, values: vec![] })
        .counting("a.weight", &[2, 3])
        .tensor("b.weight", &[1, 32], 2, (0..18).collect())
        .counting("c.weight", &[5])
}

#[test]
fn every_committed_file_opens_mapped_and_read_alike() {
    let files = std::fs::read_dir(data("gguf")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = HashSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "gguf")) {
        let mapped = Gguf::open(&path, Access::Map).unwrap();
        let read = Gguf::open(&path, Access::Read).unwrap();
        assert!(mapped.names().eq(read.names()));
        for name in mapped.names() {
            let (a, b) = (mapped.tensor(name).unwrap().unwrap(), read.tensor(name).unwrap().unwrap());
            assert_eq!((a.ty, &a.shape, a.data.read().unwrap()), (b.ty, &b.shape, b.data.read().unwrap()));
            assert_eq!(a.ty.bytes_for(a.elements()), Some(a.data.len()));
            assert!(a.data.is_mapped() && !b.data.is_mapped());
            seen.insert(a.ty);
        }
        assert!(mapped.metadata().str("general.architecture").unwrap().is_some());
    }
    assert_eq!(seen.len(), StoredType::ALL.len());
}

#[test]
fn metadata_comes_back_as_it_was_written_in_either_version() {
    for version in [2, 3] {
        let file = read(GgufFile { version, ..sample() }.to_bytes()).unwrap();
        let m = file.metadata();
        assert_eq!(m.str("general.architecture").unwrap(), Some("llama"));
        assert_eq!((m.u32("u8").unwrap(), m.u64("u8").unwrap(), m.f32("u8").unwrap()), (Some(200), Some(200), Some(200.0)));
        assert_eq!(m.u64("u64").unwrap(), Some(1 << 40));
        assert_eq!(m.f32("f32").unwrap(), Some(0.5));
        assert_eq!(m.bool("yes").unwrap(), Some(true));
        let strings: Vec<&[u8]> = m.strings("strings").unwrap().unwrap().iter().collect();
        assert_eq!(strings, [b"a" as &[u8], b"", "модель".as_bytes()]);
        assert_eq!(m.integers("ints").unwrap(), Some(vec![-1, 127]));
        assert_eq!(m.floats("floats").unwrap(), Some(vec![1.5, -2.0]));
        assert_eq!(m.bools("flags").unwrap(), Some(vec![true, false]));
        assert!(m.strings("empty").unwrap().unwrap().is_empty());
        assert_eq!((m.str("absent").unwrap(), m.u32("absent").unwrap()), (None, None));
        assert_eq!(m.keys().count(), 13);
    }
}

#[test]
fn a_key_of_another_type_is_refused_with_file_key_value_and_expectation() {
    let file = read(sample().to_bytes()).unwrap();
    let m = file.metadata();
    refused(
        m.u32("general.architecture"),
        Status::Format,
        &["dir/model.gguf", "general.architecture: \"llama\", expected an integer"],
    );
    refused(m.u32("i16"), Status::Format, &["i16: -2, expected an integer of 0"]);
    refused(m.u32("u64"), Status::Format, &["u64: 1099511627776, expected"]);
    refused(m.f32("f64"), Status::Format, &["f64: -1e300, expected a finite number"]);
    refused(m.bool("u8"), Status::Format, &["u8: 200, expected a bool"]);
    refused(m.str("bytes"), Status::Format, &["bytes: a string of 2 bytes that is not UTF-8"]);
    refused(m.str("strings"), Status::Format, &["strings: an array of 3 strings, expected a UTF-8 string"]);
    refused(m.integers("floats"), Status::Format, &["floats: an array of 2 floats, expected an array of integers"]);
    refused(m.required("absent", m.u32("absent").unwrap()), Status::Format, &["dir/model.gguf", "absent is missing"]);
    let large = read(GgufFile::new().key("k", Value::array(vec![Value::U64(7), Value::U64(u64::MAX)])).to_bytes()).unwrap();
    refused(large.metadata().integers("k"), Status::Format, &["k: 18446744073709551615 at index 1"]);
}

#[test]
fn tensors_have_their_bytes_type_and_row_major_shape() {
    for alignment in [8, 32, 64, 4096] {
        let bytes = sample().aligned(alignment).to_bytes();
        let file = read(bytes).unwrap();
        assert!(file.names().eq(["a.weight", "b.weight", "c.weight"]));
        let a = file.tensor("a.weight").unwrap().unwrap();
        assert_eq!((a.ty, a.shape.as_slice()), (StoredType::F32, [2, 3].as_slice()));
        assert_eq!(&a.data.read().unwrap()[20..], 5f32.to_le_bytes());
        let b = file.tensor("b.weight").unwrap().unwrap();
        assert_eq!((b.ty, b.data.read().unwrap()), (StoredType::Q4_0, (0..18).collect::<Vec<u8>>().into()));
        assert_eq!(file.tensor("c.weight").unwrap().unwrap().shape, [5]);
        assert_eq!(file.file_of("c.weight"), Some(Path::new("dir/model.gguf")));
        assert!(file.tensor("d.weight").unwrap().is_none() && file.shape("d.weight").is_none());
    }
}

/// Vocabulary-only files hold no tensors, and end with the metadata.
#[test]
fn a_file_without_tensors_is_a_file() {
    let file = read(GgufFile::new().key("general.architecture", "llama").to_bytes()).unwrap();
    assert_eq!(file.names().count(), 0);
    read(GgufFile::new().to_bytes()).unwrap();
}

/// FIELD_CASES 111.
#[test]
fn a_type_that_does_not_load_is_refused_by_name_and_number_when_it_is_asked_for() {
    for (number, name) in [(39, "MXFP4"), (4, "Q4_2, withdrawn"), (255, "no known type"), (16, "IQ2_XXS")] {
        let file = sample().tensor("odd.weight", &[32], number, vec![0; 32]).counting("last", &[1]);
        let file = read(file.to_bytes()).unwrap();
        let message = refused(
            file.tensor("odd.weight"),
            Status::Unsupported,
            &["dir/model.gguf", "odd.weight", &format!("stored type {number} ({name})"), "Q4_K", "IQ4_XS", "BF16"],
        );
        assert!(StoredType::ALL.iter().all(|ty| message.contains(ty.name())), "the list is the query's");
        assert_eq!(file.shape("odd.weight"), Some([32].as_slice()));
        assert!(file.tensor("last").unwrap().is_some(), "its neighbours load");
        assert_eq!(stored_type(number), None);
    }
    for ty in StoredType::ALL {
        let number = type_number(ty);
        assert_eq!(stored_type(number), Some(ty));
        let data = vec![0; ty.block_bytes()];
        let file = read(GgufFile::new().tensor("t", &[ty.block_elements() as u64], number, data).to_bytes()).unwrap();
        assert_eq!(file.tensor("t").unwrap().unwrap().ty, ty, "what the list names loads");
    }
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    refused(read(b"PK\x03\x04 zip".to_vec()), Status::Format, &["dir/model.gguf", "not a GGUF file", "PK"]);
    refused(read(vec![]), Status::Format, &["magic: 4 bytes, but the file has 0 left"]);
    refused(read(GgufFile { version: 1, ..sample() }.to_bytes()), Status::Unsupported, &["GGUF version 1, expected 2 or 3"]);
    refused(read(GgufFile { version: 4, ..sample() }.to_bytes()), Status::Format, &["version: 4"]);
    for version in [2u32, 3] {
        let big = GgufFile { version: version.swap_bytes(), ..sample() };
        refused(read(big.to_bytes()), Status::Unsupported, &["big-endian", "expected little-endian"]);
    }
    let scratch = Scratch::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 15\n";
    let path = scratch.write("model.gguf", pointer);
    for access in [Access::Map, Access::Read] {
        refused(Gguf::open(&path, access), Status::Format, &["Git LFS pointer", "model.gguf"]);
    }
}

/// FIELD_CASES 112: a file cut at any byte is malformed, and says where.
#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let whole = sample().to_bytes();
    let end = {
        let file = read(whole.clone()).unwrap();
        let last = &file.tensor("c.weight").unwrap().unwrap().data;
        whole.len() - 12 - last.len() + last.len()
    };
    for len in 0..end {
        refused(read(whole[..len].to_vec()), Status::Format, &["dir/model.gguf"]);
    }
    read(whole[..end].to_vec()).expect("only padding was cut");
}

fn one_tensor(change: impl FnOnce(&mut Tensor)) -> Vec<u8> {
    let mut file = sample();
    change(&mut file.tensors[0]);
    file.to_bytes()
}

/// FIELD_CASES 112.
#[test]
fn dimensions_that_are_not_right_are_refused_by_tensor() {
    let dimensions = |dimensions: &[u64]| read(one_tensor(|tensor| tensor.dimensions = dimensions.to_vec()));
    refused(dimensions(&[3, 0]), Status::Format, &["a.weight: dimension 1: 0"]);
    refused(dimensions(&[]), Status::Format, &["a.weight: 0 dimensions, expected 1 to 4"]);
    refused(dimensions(&[1; 5]), Status::Format, &["a.weight: 5 dimensions"]);
    refused(dimensions(&[1 << 33, 1 << 33]), Status::Format, &["a.weight: dimension 1: 8589934592"]);
    refused(dimensions(&[u64::MAX]), Status::Format, &["a.weight: dimension 0: 18446744073709551615"]);
    // Elements that can be counted, in bytes that cannot.
    refused(dimensions(&[1 << 62]), Status::Format, &["a.weight", "more bytes than can be addressed"]);
    // 2^31 dimensions, which the writer need not write out.
    let mut written = sample().write();
    let count = written.of(Field::DimensionCount).next().unwrap();
    written.bytes[count].copy_from_slice(&(1u32 << 31).to_le_bytes());
    refused(read(written.bytes), Status::Format, &["a.weight: 2147483648 dimensions"]);
    let uneven = one_tensor(|tensor| (tensor.kind, tensor.dimensions) = (2, vec![33]));
    refused(read(uneven), Status::Format, &["a.weight", "rows of 33 values of type Q4_0, expected a multiple of 32"]);
}

/// FIELD_CASES 112.
#[test]
fn offsets_that_are_not_right_are_refused_by_tensor() {
    let offset = |offset: u64| read(one_tensor(|tensor| tensor.offset = Some(offset)));
    refused(offset(7), Status::Format, &["a.weight: offset 7, expected a multiple of 32"]);
    refused(offset(1 << 20), Status::Format, &["a.weight: 24 bytes at offset 1048576", "truncated?"]);
    refused(offset(u64::MAX - 31), Status::Format, &["a.weight", "offset 18446744073709551584"]);
    refused(
        offset(64),
        Status::Format,
        &["tensor a.weight: its data starts at byte 640, within tensor c.weight", "dir/model.gguf"],
    );
}

/// FIELD_CASES 112.
#[test]
fn alignments_that_are_not_right_are_refused() {
    for alignment in [Value::U32(0), Value::U32(3), Value::U64(1 << 40), Value::U32(1 << 31), Value::U32(4)] {
        let file = sample().key("general.alignment", alignment);
        refused(read(file.to_bytes()), Status::Format, &["dir/model.gguf", "general.alignment: ", "expected a power of two"]);
    }
    refused(read(sample().key("general.alignment", "32").to_bytes()), Status::Format, &["general.alignment: \"32\""]);
}

/// FIELD_CASES 112.
#[test]
fn names_that_are_empty_twice_or_not_text_are_refused() {
    refused(read(sample().key("", Value::U8(0)).to_bytes()), Status::Format, &["key 14 of 14: 0 bytes"]);
    refused(read(sample().key("u8", Value::U8(0)).to_bytes()), Status::Format, &["key u8 occurs twice"]);
    let mut file = sample();
    file.metadata[3].0 = vec![0xff];
    refused(read(file.to_bytes()), Status::Format, &["key 4 of 13: not UTF-8"]);
    refused(read(sample().key(&"k".repeat(65_536), Value::U8(0)).to_bytes()), Status::Format, &["key 14 of 14: 65536 bytes"]);
    read(sample().key(&"k".repeat(65_535), Value::U8(0)).to_bytes()).unwrap();
    refused(read(sample().counting("", &[1]).to_bytes()), Status::Format, &["tensor 4 of 4: a name of 0 bytes"]);
    refused(read(sample().counting("c.weight", &[1]).to_bytes()), Status::Format, &["tensor c.weight occurs twice"]);
    refused(read(sample().counting(&"n".repeat(256), &[1]).to_bytes()), Status::Format, &["a name of 256 bytes"]);
}

/// FIELD_CASES 112: each count and length, at values that would overflow or reserve too much.
#[test]
fn lengths_and_counts_beyond_the_file_are_refused_by_field() {
    use Field::*;
    let fields = [
        (TensorCount, "tensor count"),
        (KeyCount, "key count"),
        (KeyLength, "key 1 of 13"),
        (StringLength, "general.architecture"),
        (ElementCount, "strings: element count"),
        (NameLength, "tensor 1 of 3"),
    ];
    for (field, named) in fields {
        for value in [u64::MAX, 1 << 63, 1 << 62, u64::MAX / 8 + 1, 1 << 32, 100_000] {
            let mut written = sample().write();
            let place = written.of(field).next().unwrap();
            written.bytes[place].copy_from_slice(&value.to_le_bytes());
            refused(read(written.bytes), Status::Format, &["dir/model.gguf", named]);
        }
    }
}

#[test]
fn more_keys_or_tensors_than_any_model_has_are_refused_before_memory_is_taken() {
    let mut file = GgufFile::new();
    file.metadata = (0..65_537u32).map(|i| (i.to_string().into_bytes(), Value::U8(0))).collect();
    refused(read(file.to_bytes()), Status::Format, &["key count: 65537, expected at most 65536"]);
    let mut file = GgufFile::new();
    let tensor = |i: u32| Tensor { name: i.to_string().into(), dimensions: vec![1], kind: 24, data: vec![0], offset: Some(0) };
    file.tensors = (0..16_385).map(tensor).collect();
    refused(read(file.to_bytes()), Status::Format, &["tensor count: 16385, expected at most 16384"]);
}

#[test]
fn value_types_that_do_not_exist_are_refused_by_key() {
    let mut written = sample().write();
    let place = written.of(Field::ValueType).nth(1).unwrap();
    written.bytes[place].copy_from_slice(&13u32.to_le_bytes());
    refused(read(written.bytes), Status::Format, &["u8: value type 13, expected 0 to 12"]);
    let odd = Value::Array { kind: 99, values: vec![] };
    refused(read(sample().key("odd", odd).to_bytes()), Status::Format, &["odd: element type 99"]);
    refused(read(sample().key("no", Value::Bool(2)).to_bytes()), Status::Format, &["no: a bool of 2, expected 0 or 1"]);
    let flags = Value::array(vec![Value::Bool(0), Value::Bool(255)]);
    refused(read(sample().key("flags2", flags).to_bytes()), Status::Format, &["flags2: a bool of 255"]);
}

#[test]
fn nested_arrays_are_passed_over_to_a_depth_and_refused_below_it() {
    let nested = |depth: usize| {
        (1..depth).fold(Value::strings(&["x", "yz"]), |inner, _| Value::Array { kind: ARRAY, values: vec![inner] })
    };
    for depth in 2..=4 {
        let file = read(sample().key("nested", nested(depth)).to_bytes()).unwrap();
        refused(file.metadata().strings("nested"), Status::Format, &["nested: an array of 1 arrays"]);
        assert!(file.tensor("c.weight").unwrap().is_some());
    }
    refused(read(sample().key("nested", nested(5)).to_bytes()), Status::Format, &["nested: arrays nested deeper than 4"]);
    refused(read(sample().key("nested", nested(1000)).to_bytes()), Status::Format, &["nested deeper"]);
}

#[test]
fn names_from_a_file_cannot_rewrite_a_terminal_or_flood_a_log() {
    let file = read(sample().tensor("\u{1b}[2J\nok", &[1], 39, vec![0]).to_bytes()).unwrap();
    let message = refused(file.tensor("\u{1b}[2J\nok"), Status::Unsupported, &["\\u{1b}[2J\\nok"]);
    assert!(!message.contains(['\u{1b}', '\n']));
    let long = read(sample().key("k", &*"x".repeat(100_000)).to_bytes()).unwrap();
    assert!(refused(long.metadata().u32("k"), Status::Format, &["…"]).len() < 500);
}
