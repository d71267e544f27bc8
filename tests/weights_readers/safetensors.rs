//! Hugging Face checkpoints: single files, shards, and what they are refused for.

use std::path::Path;

use tactus::Status;
use tactus::error::Result;
use tactus::weights::safetensors::Checkpoint;
use tactus::weights::{Access, Bytes, StoredType, TensorSource};

use crate::safetensors_writer::{SafetensorsFile, file};
use crate::scratch::Scratch;
use crate::{data, refused};

const ONE: &str = "model-00001-of-00002.safetensors";
const TWO: &str = "model-00002-of-00002.safetensors";
const INDEX: &str = "model.safetensors.index.json";

fn read(bytes: Vec<u8>) -> Result<Checkpoint> {
    Checkpoint::from_bytes(&Bytes::from_vec(bytes), Path::new("dir/model.safetensors"))
}

fn sample() -> SafetensorsFile {
    let halves: Vec<u8> = (0..12).collect();
    SafetensorsFile::new().counting("a.weight", &[2, 3]).tensor("b.weight", "BF16", &[3, 2], halves.clone()).tensor(
        "c.weight",
        "F16",
        &[6],
        halves,
    )
}

fn index(entries: &[(&str, &str)]) -> String {
    let map: serde_json::Map<_, _> = entries.iter().map(|(tensor, file)| (tensor.to_string(), (*file).into())).collect();
    serde_json::json!({"metadata": {"total_size": 1}, "weight_map": map}).to_string()
}

/// Two shards and their index.
fn sharded(scratch: &Scratch) {
    scratch.write(ONE, SafetensorsFile::new().counting("a", &[4]).counting("b", &[2]).to_bytes());
    scratch.write(TWO, SafetensorsFile::new().counting("c", &[8]).to_bytes());
    scratch.write(INDEX, index(&[("a", ONE), ("b", ONE), ("c", TWO)]));
}

fn open(scratch: &Scratch) -> Result<Checkpoint> {
    Checkpoint::open(scratch.path(), Access::Map)
}

#[test]
fn tensors_have_their_bytes_type_and_shape_at_any_alignment() {
    for padding in 0..8 {
        let checkpoint = read(SafetensorsFile { padding, ..sample() }.to_bytes()).unwrap();
        assert!(checkpoint.names().eq(["a.weight", "b.weight", "c.weight"]));
        let a = checkpoint.tensor("a.weight").unwrap().unwrap();
        assert_eq!((a.ty, a.shape.as_slice()), (StoredType::F32, [2, 3].as_slice()));
        let mut values = [0.0; 6];
        tactus::weights::quant::dequantize(a.ty, &a.data.read().unwrap(), &mut values).unwrap();
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(checkpoint.tensor("b.weight").unwrap().unwrap().ty, StoredType::BF16);
        let c = checkpoint.tensor("c.weight").unwrap().unwrap();
        assert_eq!((c.ty, c.data.read().unwrap()), (StoredType::F16, (0..12).collect::<Vec<u8>>().into()));
        assert!(checkpoint.tensor("d.weight").unwrap().is_none());
    }
}

#[test]
fn committed_checkpoints_open_as_the_reference_reader_reads_them() {
    for dir in std::fs::read_dir(data("tiny")).unwrap() {
        let dir = dir.unwrap().path();
        let checkpoint = Checkpoint::open(&dir, Access::Map).unwrap();
        let source: &dyn TensorSource = &checkpoint;
        let mut count = 0;
        for path in checkpoint.files() {
            let bytes = std::fs::read(path).unwrap();
            for (name, expected) in ::safetensors::SafeTensors::deserialize(&bytes).unwrap().iter() {
                let found = source.tensor(name).unwrap().unwrap();
                assert_eq!((found.ty.name(), &found.shape[..]), (format!("{:?}", expected.dtype()).as_str(), expected.shape()));
                assert_eq!(&*found.data.read().unwrap(), expected.data());
                assert_eq!(source.file_of(name), Some(path.as_path()));
                count += 1;
            }
        }
        assert!(count > 0);
        assert_eq!(source.names().len(), count);
    }
}

#[test]
fn other_types_are_refused_by_name_when_they_are_asked_for() {
    let types = [("F8_E4M3", 4), ("I64", 32), ("U8", 4), ("BOOL", 4), ("F4", 2), ("F9_NEW", 13)];
    for (dtype, bytes) in types {
        let checkpoint = read(sample().tensor("odd", dtype, &[4], vec![0; bytes]).counting("last", &[1]).to_bytes()).unwrap();
        let words = ["dir/model.safetensors", "tensor odd", dtype, "expected F32, F16 or BF16"];
        refused(checkpoint.tensor("odd"), Status::Unsupported, &words);
        assert_eq!(checkpoint.shape("odd"), Some([4].as_slice()));
        assert!(checkpoint.tensor("last").unwrap().is_some(), "its neighbours load");
    }
}

/// FIELD_CASES 100: truncated at any byte, with both lengths where the header is whole.
#[test]
fn a_file_cut_at_any_byte_is_refused_with_expected_and_real_length() {
    let whole = sample().to_bytes();
    for len in 0..whole.len() {
        let message = refused(read(whole[..len].to_vec()), Status::Format, &["dir/model.safetensors"]);
        if len >= whole.len() - 48 {
            assert!(message.contains(&format!("{len} bytes, expected {} by the header", whole.len())), "{message}");
        }
    }
    refused(read([whole, vec![0; 3]].concat()), Status::Format, &["3 bytes after the last tensor"]);
}

#[test]
fn headers_that_are_not_right_are_refused() {
    let header = |header: &str| read(file(header.as_bytes(), &[0; 8]));
    refused(header(r#"[]"#), Status::Format, &["not a safetensors file"]);
    refused(header(r#"{"#), Status::Format, &["header", "line 1"]);
    refused(header(r#"{"a":7}"#), Status::Format, &["tensor a", "line 1 column"]);
    refused(header(r#"{"a":{"dtype":"F32","shape":[2]}}"#), Status::Format, &["tensor a", "data_offsets"]);
    refused(header(r#"{"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}"#), Status::Format, &["tensor a", "\"2\""]);
    refused(header(r#"{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}"#), Status::Format, &["tensor a", "-2"]);
    refused(header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}}"#), Status::Format, &["tensor a"]);
    refused(
        header(r#"{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}}"#),
        Status::Format,
        &["tensor a", "8 sizes"],
    );
    let name = "n".repeat(1025);
    refused(
        header(&format!(r#"{{"{name}":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}}}"#)),
        Status::Format,
        &["1025 bytes"],
    );
    refused(read(file(&[b'{', 0xff, b'}'], &[])), Status::Format, &["header: not UTF-8 at byte 9"]);
    refused(read(vec![0xff; 64]), Status::Format, &["not a safetensors file"]);
    refused(read(vec![1; 5]), Status::Format, &["5 bytes, expected at least the 8"]);
    refused(read((1u64 << 40).to_le_bytes().to_vec()), Status::Format, &["not a safetensors file"]);
}

#[test]
fn shapes_and_offsets_that_contradict_each_other_are_refused_by_tensor() {
    let tensor = |shape: &str, offsets: &str| {
        let header = format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#);
        read(file(header.as_bytes(), &[0; 8]))
    };
    tensor("[2]", "[0,8]").unwrap();
    refused(tensor("[3]", "[0,8]"), Status::Format, &["tensor a: shape [3] of F32 takes 12 bytes", "[0, 8] give 8"]);
    refused(tensor("[1]", "[4,8]"), Status::Format, &["tensor a: data_offsets start at 4, expected 0"]);
    refused(tensor("[2]", "[8,0]"), Status::Format, &["tensor a: data_offsets [8, 0], expected the end not before the start"]);
    refused(tensor("[2]", "[0,18446744073709551615]"), Status::Format, &["tensor a", "give 18446744073709551615"]);
    // Sizes that agree, and a sum that would wrap.
    let large = r#"{"dtype":"U8","shape":[9223372036854775807],"data_offsets":"#;
    let header = format!(r#"{{"a":{large}[0,9223372036854775807]}},"b":{large}[9223372036854775807,18446744073709551614]}}}}"#);
    refused(read(file(header.as_bytes(), &[0; 8])), Status::Format, &["expected 18446744073709551818", "truncated?"]);
    refused(tensor("[4294967296,4294967296]", "[0,8]"), Status::Format, &["more elements than can be addressed"]);
    let mut overlapping = sample();
    overlapping.tensors[1].offsets = Some((20, 32));
    refused(read(overlapping.to_bytes()), Status::Format, &["tensor b.weight: data_offsets start at 20, expected 24"]);
    let twice = sample().counting("a.weight", &[1]);
    refused(read(twice.to_bytes()), Status::Format, &["tensor a.weight occurs twice"]);
    let row = r#"{"dtype":"F32","shape":[],"data_offsets":[0,4]}"#;
    refused(read(file(format!(r#"{{"a":{row},"a":{row}}}"#).as_bytes(), &[0; 4])), Status::Format, &["tensor a"]);
}

#[test]
fn empty_tensors_and_scalars_are_tensors() {
    let checkpoint = read(sample().counting("none", &[0, 7]).counting("scalar", &[]).to_bytes()).unwrap();
    assert_eq!(checkpoint.tensor("none").unwrap().unwrap().data.len(), 0);
    assert_eq!(checkpoint.tensor("scalar").unwrap().unwrap().shape, [] as [usize; 0]);
}

#[test]
fn shards_are_one_checkpoint() {
    let scratch = Scratch::new();
    sharded(&scratch);
    // What Mistral's repositories hold beside their shards: the same weights under other names.
    scratch.write("consolidated.safetensors", "not even a file of the format");
    for access in [Access::Map, Access::Read] {
        let checkpoint = Checkpoint::open(scratch.path(), access).unwrap();
        assert!(checkpoint.names().eq(["a", "b", "c"]));
        assert_eq!(checkpoint.tensor("c").unwrap().unwrap().shape, [8]);
        assert_eq!(checkpoint.file_of("c").unwrap(), scratch.join(TWO));
    }
}

/// FIELD_CASES 100.
#[test]
fn a_missing_a_short_and_an_incomplete_shard_are_named() {
    let scratch = Scratch::new();
    sharded(&scratch);
    scratch.write(TWO, SafetensorsFile::new().counting("d", &[8]).to_bytes());
    refused(open(&scratch), Status::NotFound, &[TWO, "no tensor c", INDEX]);
    let whole = SafetensorsFile::new().counting("c", &[8]).to_bytes();
    scratch.write(TWO, &whole[..whole.len() / 2]);
    refused(open(&scratch), Status::Format, &[TWO, "truncated?"]);
    scratch.write(TWO, &whole[..whole.len() - 16]);
    let lengths = format!("{} bytes, expected {}", whole.len() - 16, whole.len());
    refused(open(&scratch), Status::Format, &[TWO, &lengths]);
    std::fs::remove_file(scratch.join(TWO)).unwrap();
    refused(open(&scratch), Status::NotFound, &[TWO, "no such file"]);
}

/// FIELD_CASES 102.
#[test]
fn a_stale_index_is_told_with_what_it_wants_and_what_is_there() {
    let scratch = Scratch::new();
    sharded(&scratch);
    let wanted: Vec<String> = (1..=3).map(|n| format!("model-0000{n}-of-00003.safetensors")).collect();
    scratch.write(INDEX, index(&[("a", &wanted[0]), ("b", &wanted[1]), ("c", &wanted[2])]));
    refused(open(&scratch), Status::NotFound, &[&wanted.join(", "), &format!("the directory has {ONE}, {TWO}")]);
}

/// As transformers does: a whole file counts more than an index that an earlier upload left.
#[test]
fn a_single_file_beside_an_index_is_what_is_read() {
    let scratch = Scratch::new();
    sharded(&scratch);
    scratch.write("model.safetensors", sample().to_bytes());
    assert!(open(&scratch).unwrap().names().eq(["a.weight", "b.weight", "c.weight"]));
}

#[test]
fn a_tensor_in_two_shards_is_refused_with_both() {
    let scratch = Scratch::new();
    sharded(&scratch);
    scratch.write(TWO, SafetensorsFile::new().counting("c", &[8]).counting("a", &[4]).to_bytes());
    refused(open(&scratch), Status::Format, &["tensor a occurs twice", ONE, TWO]);
}

/// DECISIONS 20.
#[test]
fn an_index_that_leads_out_of_its_directory_is_refused() {
    let scratch = Scratch::new();
    sharded(&scratch);
    for file in ["../secret.safetensors", "/etc/passwd", "x/../../y", "./model.safetensors", ""] {
        scratch.write(INDEX, index(&[("a", ONE), ("c", file)]));
        refused(open(&scratch), Status::Format, &[INDEX, "tensor c", &format!("\"{file}\""), "beside the index"]);
    }
    for (text, word) in [
        ("{", "line 1"),
        ("{}", "weight_map"),
        (r#"{"weight_map":[]}"#, "tensors to files"),
        (r#"{"weight_map":{"a":3}}"#, "tensor a"),
    ] {
        scratch.write(INDEX, text);
        refused(open(&scratch), Status::Format, &[INDEX, word]);
    }
}

/// DECISIONS 20: the hub's cache holds links into a folder of blobs.
#[test]
fn a_snapshot_of_links_opens_and_a_link_to_nowhere_is_named() {
    let scratch = Scratch::new();
    let blob = scratch.write("blobs/4d7a", sample().to_bytes());
    let snapshot = scratch.join("snapshots/abc");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::os::unix::fs::symlink("../../blobs/4d7a", snapshot.join("model.safetensors")).unwrap();
    assert_eq!(Checkpoint::open(&snapshot, Access::Map).unwrap().names().count(), 3);
    std::fs::remove_file(blob).unwrap();
    refused(Checkpoint::open(&snapshot, Access::Map), Status::NotFound, &["snapshots/abc/model.safetensors"]);
}

/// DECISIONS 20.
#[test]
fn a_directory_without_safetensors_is_refused_with_what_it_has() {
    let scratch = Scratch::new();
    scratch.write("config.json", "{}");
    refused(open(&scratch), Status::NotFound, &["no weights", "model.safetensors", "the directory has config.json"]);
    scratch.write("consolidated.safetensors", sample().to_bytes());
    refused(open(&scratch), Status::NotFound, &["consolidated.safetensors"]);
    scratch.write("pytorch_model.bin", "");
    refused(open(&scratch), Status::Unsupported, &["pytorch_model.bin", "expected model.safetensors"]);
    refused(Checkpoint::open(&scratch.join("absent"), Access::Map), Status::NotFound, &["absent"]);
}

/// FIELD_CASES 103 and 104, the reading half: a head is there or it is not, whatever the configuration says.
#[test]
fn a_head_is_given_where_the_file_has_one() {
    let tied = Checkpoint::open(&data("tiny/qwen2-tied-head"), Access::Map).unwrap();
    assert!(tied.tensor("lm_head.weight").unwrap().unwrap().data.read().unwrap().iter().all(|&byte| byte == 0));
    let without = Checkpoint::open(&data("tiny/qwen2"), Access::Map).unwrap();
    assert!(without.tensor("lm_head.weight").unwrap().is_none() && without.file_of("lm_head.weight").is_none());
}
