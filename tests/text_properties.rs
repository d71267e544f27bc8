//! Tokenizers and detokenisers over arbitrary text, bytes and ids: nothing panics, byte-level vocabularies lose nothing, and a stream
//! is the text however it was cut into tokens.

mod support;

use std::collections::HashMap;
use std::path::PathBuf;

use proptest::prelude::*;
use support::data;
use tactus::Status;
use tactus::artifacts::{LoadOptions, ModelArtifacts};
use tactus::text::{Detokenizer, EncodeOptions, Tokenizer, TokenizerConfig};

const KINDS: [&str; 8] =
    ["byte-level", "llama3", "sentencepiece", "sentencepiece-first", "gemma", "no-bytes", "unigram", "wordpiece"];
const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

fn tokenizer(kind: &str) -> Tokenizer {
    let file = |name: &str| std::fs::read(data(&format!("text/tokenizers/{kind}/{name}"))).unwrap();
    let config = serde_json::from_slice(&file("tokenizer_config.json")).unwrap();
    Tokenizer::from_json(&file("tokenizer.json"), &TokenizerConfig::from_json(Some(&config), None).unwrap()).unwrap()
}

/// Byte-level vocabularies without a normaliser, the real one where it has been fetched among them.
fn byte_level() -> Vec<(String, std::sync::Arc<Tokenizer>)> {
    let small = ["byte-level", "llama3"].map(|kind| (kind.to_owned(), tokenizer(kind).into()));
    let real = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/models/SmolLM2-135M-Instruct.Q4_1.gguf");
    let files = [data("gguf/llama-f32.gguf"), real].into_iter().filter(|path| path.exists());
    let files = files.map(|path| {
        let options = LoadOptions { vocabulary_only: true, ..LoadOptions::new(path.clone()) };
        (path.display().to_string(), ModelArtifacts::load(&options).unwrap().tokenizer().clone())
    });
    small.into_iter().chain(files).collect()
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Text of every plane: ordinary, spaces and newlines, combining marks, emoji with joiners, control characters, texts of special tokens.
fn any_text() -> impl Strategy<Value = String> {
    let special =
        prop::sample::select(vec!["<s>", "</s>", "<|im_end|>", "<0x0A>", "▁", "##", "[UNK]", "<unk>", "\u{FFFD}", "\0"]);
    let part = prop_oneof![
        4 => any::<String>(),
        2 => "[ \\n\\t\\r]{1,6}",
        2 => "[a-zA-Z0-9'.,]{1,12}",
        1 => "[\u{300}-\u{36F}\u{200D}\u{FE0F}\u{1F466}-\u{1F469}]{1,5}",
        1 => special.prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// Chunks joined, each with at most 3 bytes held back.
fn joined(tokenizer: &Tokenizer, ids: &[u32], skip_special: bool) -> String {
    let mut detokenizer = Detokenizer::new(skip_special);
    let mut text = String::new();
    for &id in ids {
        text.push_str(detokenizer.push(tokenizer, id));
        assert!(detokenizer.pending_bytes().len() <= 3);
    }
    text.push_str(detokenizer.finish(tokenizer));
    text
}

#[test]
fn encoding_any_text_gives_ids_or_a_tokenizer_error() {
    for kind in KINDS {
        let tokenizer = tokenizer(kind);
        proptest!(cases(120), |(text in any_text(), add_special: bool, parse_special: bool)| {
            match tokenizer.encode(&text, EncodeOptions { add_special, parse_special }) {
                Ok(ids) => {
                    prop_assert!(ids.iter().all(|&id| tokenizer.token_text(id).is_some()), "{}: {:?}", kind, ids);
                    prop_assert_eq!(joined(&tokenizer, &ids, false), tokenizer.decode(&ids, false));
                }
                Err(error) => prop_assert_eq!(error.status(), Status::Tokenizer, "{}", error),
            }
        });
    }
}

#[test]
fn byte_level_vocabularies_give_any_text_back() {
    for (name, tokenizer) in byte_level() {
        proptest!(cases(200), |(text in any_text())| {
            let ids = tokenizer.encode(&text, PLAIN).unwrap();
            prop_assert_eq!(tokenizer.decode(&ids, false), text.as_str(), "{}: {:?}", name, ids);
            let bytes: Vec<u8> = ids.iter().flat_map(|&id| tokenizer.token_bytes(id).unwrap()).collect();
            prop_assert_eq!(bytes, text.as_bytes());
        });
    }
}

/// Arbitrary bytes, cut into tokens at random: the text is the bytes' own, with one U+FFFD for each maximal bad run, as
/// `String::from_utf8_lossy` has it.
#[test]
fn any_cut_of_any_bytes_gives_the_same_text() {
    for (name, tokenizer) in byte_level() {
        let mut tokens: HashMap<Vec<u8>, u32> = HashMap::new();
        for id in (0..tokenizer.len() as u32).filter(|&id| !tokenizer.is_special(id)) {
            if let Some(bytes) = tokenizer.token_bytes(id).filter(|bytes| (1..=8).contains(&bytes.len())) {
                tokens.entry(bytes).or_insert(id);
            }
        }
        // Some vocabularies leave out bytes that no text has.
        let spelt = |bytes: Vec<u8>| bytes.into_iter().filter(|&byte| tokens.contains_key([byte].as_slice())).collect::<Vec<_>>();
        assert!(spelt((0..=255).collect()).len() >= 230, "{name}: only {} bytes have tokens", spelt((0..=255).collect()).len());
        let piece = prop_oneof![any_text().prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..12)];
        let bytes = prop::collection::vec(piece, 0..4).prop_map(|pieces| spelt(pieces.concat()));
        proptest!(cases(150), |(bytes in bytes, cuts in prop::collection::vec(1usize..9, 1..64))| {
            let expected = String::from_utf8_lossy(&bytes);
            for round in 0..3 {
                let (mut ids, mut at) = (Vec::new(), 0);
                while at < bytes.len() {
                    let most = cuts[(ids.len() * (round + 1) + round) % cuts.len()].min(bytes.len() - at);
                    let length = (1..=most).rev().find(|&n| tokens.contains_key(&bytes[at..at + n])).unwrap();
                    ids.push(tokens[&bytes[at..at + length]]);
                    at += length;
                }
                prop_assert_eq!(&tokenizer.decode(&ids, true), &expected, "{}: {:?}", name, ids);
                prop_assert_eq!(&joined(&tokenizer, &ids, true), &expected, "{}: {:?}", name, ids);
            }
        });
    }
}

/// Any ids at all, unknown ones too, in every kind of tokenizer: the joined chunks are the one-shot text, and every chunk's end is the
/// one-shot text of the ids so far, as far as it is settled.
#[test]
fn joined_chunks_are_the_text_of_any_ids() {
    for kind in KINDS {
        let tokenizer = tokenizer(kind);
        let id = prop_oneof![30 => 0..tokenizer.len() as u32, 1 => any::<u32>()];
        proptest!(cases(150), |(ids in prop::collection::vec(id, 0..40), skip: bool)| {
            let whole = tokenizer.decode(&ids, skip);
            prop_assert_eq!(&joined(&tokenizer, &ids, skip), &whole, "{}: {:?}", kind, ids);
            let mut detokenizer = Detokenizer::new(skip);
            let mut shown = String::new();
            for &id in &ids {
                shown.push_str(detokenizer.push(&tokenizer, id));
                prop_assert!(whole.starts_with(&shown), "{}: {:?} is not a beginning of {:?}", kind, shown, whole);
            }
        });
    }
}
