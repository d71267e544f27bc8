//! Finding the files of a model, and reading its configuration.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use tactus::Status;
use tactus::weights::gguf::Gguf;
use tactus::weights::safetensors::Checkpoint;
use tactus::weights::{Access, ConfigReader, HfDirectory, ModelFiles, read_json};

use crate::gguf_writer::{GgufFile, Value};
use crate::refused;
use crate::safetensors_writer::SafetensorsFile;
use crate::scratch::Scratch;

fn gguf() -> Vec<u8> {
    GgufFile::new().key("general.architecture", "llama").counting("a", &[2]).to_bytes()
}

fn resolved_name(path: &Path) -> String {
    match ModelFiles::resolve(path).unwrap() {
        ModelFiles::Gguf(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
        ModelFiles::HuggingFace(directory) => format!("hf {}", directory.config["model_type"]),
    }
}

#[test]
fn a_file_a_directory_of_one_and_a_hugging_face_directory_are_told_apart() {
    let scratch = Scratch::new();
    let file = scratch.write("one/m.gguf", gguf());
    assert_eq!(resolved_name(&file), "m.gguf");
    assert_eq!(resolved_name(&scratch.join("one")), "m.gguf");
    scratch.write("blob/sha256-4d7a", gguf());
    assert_eq!(resolved_name(&scratch.join("blob/sha256-4d7a")), "sha256-4d7a", "a GGUF file under any name");
    scratch.write("hf/config.json", r#"{"model_type": "llama"}"#);
    assert_eq!(resolved_name(&scratch.join("hf")), "hf \"llama\"", "weights may be in checkpointDir");
    scratch.write("hf/model.safetensors", "");
    scratch.write("hf/extra.gguf", gguf());
    assert_eq!(resolved_name(&scratch.join("hf")), "hf \"llama\"");
    // Repositories of GGUF files often keep the configuration of the model they were made from.
    scratch.write("quants/config.json", "{}");
    scratch.write("quants/m-Q4_K_M.gguf", gguf());
    assert_eq!(resolved_name(&scratch.join("quants")), "m-Q4_K_M.gguf");
}

#[test]
fn a_split_set_counts_once_and_a_projector_or_a_hidden_file_not_at_all() {
    let scratch = Scratch::new();
    for part in 1..=3 {
        scratch.write(format!("m-0000{part}-of-00003.gguf"), gguf());
    }
    scratch.write("mmproj-m-f16.gguf", gguf());
    scratch.write("._m.gguf", "what macOS leaves");
    assert_eq!(resolved_name(scratch.path()), "m-00001-of-00003.gguf");
    std::fs::remove_file(scratch.join("m-00001-of-00003.gguf")).unwrap();
    assert_eq!(resolved_name(scratch.path()), "m-00002-of-00003.gguf", "opening it will name the missing part");
}

/// DECISIONS 20.
#[test]
fn several_models_in_a_directory_are_refused_with_the_list() {
    let scratch = Scratch::new();
    for name in ["m-Q4_0.gguf", "m-Q8_0.gguf", "s-00001-of-00002.gguf", "s-00002-of-00002.gguf"] {
        scratch.write(name, gguf());
    }
    let list = "3 models (m-Q4_0.gguf, m-Q8_0.gguf, s-00001-of-00002.gguf)";
    refused(ModelFiles::resolve(scratch.path()), Status::InvalidArgument, &[list, "expected one"]);
    // Two sets of one name and different counts are two models.
    let scratch = Scratch::new();
    for name in ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "m-00001-of-00003.gguf"] {
        scratch.write(name, gguf());
    }
    refused(ModelFiles::resolve(scratch.path()), Status::InvalidArgument, &["2 models"]);
}

/// FIELD_CASES 109.
#[test]
fn what_is_not_there_or_cannot_be_read_has_a_status_and_its_path() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name);
    refused(ModelFiles::resolve(&path("absent")), Status::NotFound, &["absent"]);
    refused(ModelFiles::resolve(Path::new("")), Status::InvalidArgument, &["path is empty"]);
    scratch.write("bare/notes.txt", "");
    let words = ["bare", "no config.json and no .gguf file", "the directory has notes.txt"];
    refused(ModelFiles::resolve(&path("bare")), Status::NotFound, &words);
    scratch.write("broken/config.json", "{\n  \"hidden_size\": ");
    refused(ModelFiles::resolve(&path("broken")), Status::Format, &["broken/config.json", "line 2 column"]);
    std::fs::create_dir_all(path("folder/config.json")).unwrap();
    refused(ModelFiles::resolve(&path("folder")), Status::Io, &["folder/config.json", "a directory, expected a file"]);
    std::fs::create_dir_all(path("m.gguf")).unwrap();
    refused(Gguf::open(&path("m.gguf"), Access::Map), Status::Io, &["m.gguf", "a directory, expected a file"]);
    refused(Gguf::open(Path::new("/dev/null"), Access::Map), Status::Io, &["/dev/null", "not a regular file"]);
    let shard = scratch.write("model-00001-of-00002.safetensors", "");
    refused(ModelFiles::resolve(&shard), Status::InvalidArgument, &["model-00001", "expected the directory"]);
    std::os::unix::fs::symlink("nowhere", path("bare/config.json")).unwrap();
    refused(ModelFiles::resolve(&path("bare")), Status::NotFound, &["bare/config.json"]);
    scratch.write("partial/config.json", "{}");
    std::os::unix::fs::symlink("nowhere", path("partial/tokenizer_config.json")).unwrap();
    refused(ModelFiles::resolve(&path("partial")), Status::NotFound, &["partial/tokenizer_config.json"]);
    scratch.write("pointer/config.json", "version https://git-lfs.github.com/spec/v1\n");
    refused(ModelFiles::resolve(&path("pointer")), Status::Format, &["pointer/config.json", "git lfs pull"]);
    scratch.write("huge/config.json", vec![b' '; (16 << 20) + 1]);
    refused(ModelFiles::resolve(&path("huge")), Status::Format, &["huge/config.json", "16777217 bytes, expected at most"]);
}

/// FIELD_CASES 109.
#[test]
fn a_file_without_permission_is_an_io_error() {
    let scratch = Scratch::new();
    let file = scratch.write("m.gguf", gguf());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    if std::fs::File::open(&file).is_err() {
        refused(Gguf::open(&file, Access::Map), Status::Io, &["m.gguf", "ermission"]);
    }
}

/// FIELD_CASES 109.
#[test]
fn configuration_values_of_the_wrong_type_or_size_are_refused_with_key_value_and_expectation() {
    let scratch = Scratch::new();
    let path = scratch.join("config.json");
    let config = json!({"text": "64", "zero": 0, "negative": -1, "large": 1u64 << 40, "part": 1.5, "null": null,
        "list": [1, "x"], "long": vec![0; 100], "inner": {"deep": "no"}, "name": "x".repeat(10_000)});
    let reader = ConfigReader::new(&path, &config).unwrap();
    for (key, value) in [("text", "\"64\""), ("zero", "0"), ("negative", "-1"), ("large", "1099511627776"), ("part", "1.5")] {
        let words = ["config.json", &format!("{key}: {value}, expected an integer of 1 or more")];
        refused(reader.usize(key), Status::Format, &words);
    }
    refused(reader.usize("null"), Status::Format, &["null is missing"]);
    refused(reader.f32("text"), Status::Format, &["text: \"64\", expected a finite number"]);
    refused(reader.opt_bool("zero"), Status::Format, &["zero: 0, expected true or false"]);
    refused(reader.ids("list"), Status::Format, &["list: [1,\"x\"], expected a token id or a list"]);
    refused(reader.opt_str("long"), Status::Format, &["an array of 100 values"]);
    let inner = reader.opt_object("inner", "inner.").unwrap().unwrap();
    refused(inner.opt_f32("deep"), Status::Format, &["inner.deep: \"no\""]);
    assert!(refused(reader.f32("name"), Status::Format, &["…"]).len() < 500);
    let list = json!([1]);
    refused(ConfigReader::new(&path, &list), Status::Format, &["config.json: [1], expected an object"]);
    assert_eq!((reader.opt_usize("null").unwrap(), reader.opt_usize("absent").unwrap()), (None, None));
}

/// FIELD_CASES 152: every file of a model below names that are not ASCII, are decomposed, hold spaces or a percent sign.
#[test]
fn names_that_are_not_ascii_work_and_come_back_in_messages() {
    let dir = "модель/日本\u{3000}語/e\u{301} é a%20b";
    let scratch = Scratch::new();
    let part = |number: u16| GgufFile::new().key("split.no", Value::U16(number)).key("split.count", Value::U16(2));
    let first = scratch.write(format!("{dir}/м é-00001-of-00002.gguf"), part(0).counting("a", &[1]).to_bytes());
    scratch.write(format!("{dir}/м é-00002-of-00002.gguf"), part(1).counting("b", &[1]).to_bytes());
    let ModelFiles::Gguf(found) = ModelFiles::resolve(&scratch.join(dir)).unwrap() else { panic!("a GGUF model") };
    assert_eq!(found, first);
    assert_eq!(Gguf::open(&found, Access::Map).unwrap().names().count(), 2);
    std::fs::remove_file(scratch.join(dir).join("м é-00002-of-00002.gguf")).unwrap();
    refused(Gguf::open(&found, Access::Map), Status::NotFound, &[dir, "м é-00002-of-00002.gguf"]);

    let dir = format!("{dir}/hf");
    scratch.write(format!("{dir}/config.json"), "{}");
    scratch.write(format!("{dir}/model.safetensors.index.json"), r#"{"weight_map": {"a": "часть.safetensors"}}"#);
    refused(Checkpoint::open(&scratch.join(&dir), Access::Map), Status::NotFound, &[&dir, "часть.safetensors"]);
    scratch.write(format!("{dir}/часть.safetensors"), SafetensorsFile::new().counting("a", &[1]).to_bytes());
    assert_eq!(Checkpoint::open(&scratch.join(&dir), Access::Map).unwrap().names().count(), 1);
    assert!(HfDirectory::read(&scratch.join(&dir)).is_ok());
}

/// FIELD_CASES 152, last part.
#[test]
fn names_that_are_not_utf8_work() {
    let scratch = Scratch::new();
    let name = |end: &str| OsStr::from_bytes(&[b"d\xff/m\xe9", end.as_bytes()].concat()).to_owned();
    let part = |number: u16| GgufFile::new().key("split.no", Value::U16(number)).key("split.count", Value::U16(2));
    let first = scratch.write(name("-00001-of-00002.gguf"), part(0).counting("a", &[1]).to_bytes());
    scratch.write(name("-00002-of-00002.gguf"), part(1).counting("b", &[1]).to_bytes());
    let ModelFiles::Gguf(found) = ModelFiles::resolve(first.parent().unwrap()).unwrap() else { panic!("a GGUF model") };
    assert_eq!(Gguf::open(&found, Access::Map).unwrap().names().count(), 2);
    refused(read_json(&scratch.join(name(".json"))), Status::NotFound, &["m\u{fffd}.json"]);
}
