//! Tokenizers against the tokenizers library as transformers runs it: byte-level BPE, SentencePiece BPE with and without byte pieces,
//! Unigram, WordPiece, over lines that put spaces, newlines and every script next to special tokens (FIELD_CASES 16, 17, 19, 20).
//! The expected ids and texts were made by scripts/make_text_goldens.py.

use std::path::PathBuf;

use serde_json::Value;
use tactus::text::{Detokenizer, EncodeOptions, Tokenizer, TokenizerConfig};

const NAMES: [&str; 8] =
    ["byte-level", "llama3", "sentencepiece", "sentencepiece-first", "gemma", "no-bytes", "unigram", "wordpiece"];

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/text/tokenizers").join(name)
}

fn json(name: &str, file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(directory(name).join(file)).unwrap()).unwrap()
}

fn tokenizer(name: &str) -> Tokenizer {
    let config = TokenizerConfig::from_json(Some(&json(name, "tokenizer_config.json")), None).unwrap();
    Tokenizer::from_json(&std::fs::read(directory(name).join("tokenizer.json")).unwrap(), &config).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// Calls `check` for every entry of `list` in every golden file and reports all entries it complains about.
fn for_each(list: &str, check: impl Fn(&Tokenizer, &Value) -> Result<(), String>) {
    let mut complaints = Vec::new();
    for name in NAMES {
        let tokenizer = tokenizer(name);
        for case in json(name, "golden.json")[list].as_array().unwrap() {
            if let Err(complaint) = check(&tokenizer, case) {
                complaints.push(format!("{name}: {case}\n    {complaint}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints[..complaints.len().min(20)].join("\n"));
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

#[test]
fn ids_are_those_of_the_library() {
    for_each("cases", |tokenizer, case| {
        let text = case["text"].as_str().unwrap();
        let encode = |add_special, parse_special| tokenizer.encode(text, EncodeOptions { add_special, parse_special }).unwrap();
        let parsed = ids(&case["parsed"]);
        same("parsed", encode(false, true), parsed.clone())?;
        let around = [ids(&case["around"][0]), parsed.clone(), ids(&case["around"][1])].concat();
        same("with BOS and EOS", encode(true, true), around)?;
        let plain = case.get("plain").map_or(parsed, ids);
        let found = encode(false, false);
        // The library's Unigram makes control tokens of their texts even so; we never do (FIELD_CASES 22).
        let steers = |ids: &[u32]| ids.iter().any(|&id| tokenizer.is_control(id) && Some(id) != tokenizer.unk());
        if steers(&plain) {
            return same("control tokens of plain text", steers(&found), false);
        }
        same("special tokens not parsed", found, plain)
    });
}

#[test]
fn texts_are_those_of_the_library() {
    for_each("decodes", |tokenizer, case| {
        let skip = case["skip"].as_bool().unwrap();
        same("decoded", tokenizer.decode(&ids(&case["ids"]), skip).as_str(), case["text"].as_str().unwrap())
    });
}

/// FIELD_CASES 27, 28, 30: joined chunks are the one-shot text, and no more than 3 bytes are held back.
#[test]
fn joined_chunks_are_the_whole_text() {
    for_each("decodes", |tokenizer, case| {
        let skip = case["skip"].as_bool().unwrap();
        let mut detokenizer = Detokenizer::new(skip);
        let mut joined = String::new();
        for id in ids(&case["ids"]) {
            joined.push_str(detokenizer.push(tokenizer, id));
            if detokenizer.pending_bytes().len() > 3 {
                return Err(format!("{} bytes held back", detokenizer.pending_bytes().len()));
            }
        }
        joined.push_str(detokenizer.finish(tokenizer));
        same("joined", joined.as_str(), case["text"].as_str().unwrap())
    });
}

/// FIELD_CASES 17: two vocabularies of the same pieces with different settings give different ids for the same text.
#[test]
fn the_first_word_after_bos_follows_the_models_own_settings() {
    let parsed = EncodeOptions { add_special: false, parse_special: true };
    let encode = |name: &str, text: &str| tokenizer(name).encode(text, parsed).unwrap();
    for text in ["<s>G", "<|end_of_turn|>G"] {
        assert_ne!(encode("sentencepiece", text), encode("sentencepiece-first", text), "{text}");
    }
}

/// FIELD_CASES 19: a character that the vocabulary cannot spell is the unknown token.
#[test]
fn a_character_without_piece_or_bytes_is_unknown() {
    let tokenizer = tokenizer("no-bytes");
    let ids = tokenizer.encode("你", EncodeOptions::default()).unwrap();
    assert_eq!(ids.last().copied(), tokenizer.unk());
    assert!(tokenizer.unk().is_some());
}

/// FIELD_CASES 20: raw text that begins with the BOS text has two BOS when one is asked for, because the caller asked.
#[test]
fn bos_is_added_when_asked_for_and_only_then() {
    let tokenizer = tokenizer("llama3");
    let bos = tokenizer.bos().unwrap();
    let count = |text: &str, add_special| {
        let ids = tokenizer.encode(text, EncodeOptions { add_special, parse_special: true }).unwrap();
        ids.iter().filter(|&&id| id == bos).count()
    };
    assert_eq!(count("hi", true), 1);
    assert_eq!(count("hi", false), 0);
    assert_eq!(count("<|begin_of_text|>hi", true), 2);
    assert_eq!(count("<|begin_of_text|>hi", false), 1);
    assert_eq!(count("", true), 1);
}

/// FIELD_CASES 23.
#[test]
fn a_token_of_a_nul_byte_is_kept_whole() {
    let file =
        serde_json::json!({"model": {"type": "BPE", "vocab": {"\u{0}": 0, "a": 1}, "merges": []}, "decoder": {"type": "Fuse"}});
    let tokenizer = Tokenizer::from_json(file.to_string().as_bytes(), &TokenizerConfig::default()).unwrap();
    assert_eq!(tokenizer.token_text(0), Some("\0"));
    assert_eq!(tokenizer.decode(&[1, 0, 1], false), "a\0a");
}

#[test]
fn malformed_files_are_refused() {
    let small = |model: Value| serde_json::json!({"model": model}).to_string();
    let files = [
        String::new(),
        "{}".to_string(),
        "[1, 2".to_string(),
        small(serde_json::json!({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})),
        small(serde_json::json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})),
        small(
            serde_json::json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "continuing_subword_prefix": "####"}),
        ),
        small(serde_json::json!({"type": "BPE", "vocab": {"a": 4_294_967_295u32}, "merges": []})),
        small(serde_json::json!({"type": "BPE", "vocab": {}, "merges": []})),
        small(serde_json::json!({"type": "Unigram", "vocab": [], "unk_id": 3})),
    ];
    for file in files {
        let error = Tokenizer::from_json(file.as_bytes(), &TokenizerConfig::default()).expect_err(&file);
        assert_eq!(error.status(), tactus::Status::Format, "{file}: {error}");
    }
}
