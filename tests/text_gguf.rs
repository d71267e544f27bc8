//! Tokenizers from GGUF vocabularies against llama.cpp: SentencePiece, and the real models where they have been fetched (`make models`). The expected ids were made by scripts/make_gguf_text_goldens.py.

use std::path::Path;

use serde_json::Value;
use tactus::text::{EncodeOptions, GgufVocab, Tokenizer};
use tactus::weights::Access;
use tactus::weights::gguf::Gguf;

const PARSED: EncodeOptions = EncodeOptions { add_special: false, parse_special: true };
const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

fn golden(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/text").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn texts(value: &Value) -> Vec<&[u8]> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().as_bytes()).collect()
}

/// Complaints about each case whose ids differ.
fn differences(tokenizer: &Tokenizer, cases: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for case in cases.as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let plain = case.get("plain").unwrap_or(&case["parsed"]);
        for (options, expected) in [(PARSED, &case["parsed"]), (PLAIN, plain)] {
            let found = tokenizer.encode(text, options).unwrap();
            if found != ids(expected) {
                complaints.push(format!("{text:?} {options:?}: {found:?}, expected {expected}"));
            }
        }
    }
    complaints
}

fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} differ:\n{}", complaints.len(), complaints[..complaints.len().min(20)].join("\n"));
}

#[test]
fn sentencepiece_ids_are_those_of_llama_cpp() {
    let golden = golden("gguf_sentencepiece.json");
    for (key, prefix) in [("with_prefix", true), ("without_prefix", false)] {
        let numbers = |name: &str| golden[name].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect::<Vec<_>>();
        let vocab = GgufVocab {
            model: "llama",
            tokens: texts(&golden["tokens"]),
            scores: numbers("scores").into_iter().map(|score| score as f32).collect(),
            token_types: numbers("types").into_iter().map(|kind| kind as i64).collect(),
            bos: Some(1),
            eos: Some(2),
            unk: Some(0),
            add_space_prefix: Some(prefix),
            ..GgufVocab::default()
        };
        let tokenizer = Tokenizer::from_gguf(&vocab).unwrap();
        assert_none(&differences(&tokenizer, &golden[key]));
        let bos = tokenizer.encode("a", EncodeOptions { add_special: true, parse_special: true }).unwrap();
        assert_eq!(bos[0], 1);
        assert!(tokenizer.is_control(1) && !tokenizer.is_control(0) && tokenizer.is_special(0));
        assert!(!tokenizer.is_special(tokenizer.find("<tool>").unwrap()));
    }
}

fn real(golden_name: &str) {
    let golden = golden(golden_name);
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/models").join(golden["file"][0].as_str().unwrap());
    if !model.is_file() {
        eprintln!("{} is not there: nothing to compare", model.display());
        return;
    }
    assert_none(&differences(&from_file(&model), &golden["cases"]));
}

#[test]
fn smollm2_ids_are_those_of_llama_cpp() {
    real("gguf_smollm2.json");
}

#[test]
fn gemma3_ids_are_those_of_llama_cpp() {
    real("gguf_gemma3.json");
}

fn from_file(model: &Path) -> Tokenizer {
    let gguf = Gguf::open(model, Access::Map).unwrap();
    let metadata = gguf.metadata();
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |name: &str| metadata.u32(&key(&format!("{name}_token_id"))).unwrap();
    let flag = |name: &str| metadata.bool(&key(name)).unwrap();
    let strings = |name: &str| metadata.strings(&key(name)).unwrap().unwrap_or_default().collect().unwrap();
    let vocab = GgufVocab {
        model: metadata.str(&key("model")).unwrap().unwrap(),
        pre: metadata.str(&key("pre")).unwrap(),
        tokens: strings("tokens"),
        scores: metadata.floats(&key("scores")).unwrap().unwrap_or_default(),
        token_types: metadata.integers(&key("token_type")).unwrap().unwrap_or_default(),
        merges: strings("merges"),
        bos: id("bos"),
        eos: id("eos"),
        unk: id("unknown"),
        pad: id("padding"),
        add_bos: flag("add_bos_token"),
        add_eos: flag("add_eos_token"),
        add_space_prefix: flag("add_space_prefix"),
        ..GgufVocab::default()
    };
    Tokenizer::from_gguf(&vocab).unwrap()
}
