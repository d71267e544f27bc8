//! FIELD_CASES 27 to 31, the part that is the detokeniser's. Expected texts are those of tokenizers 0.23.3.

use serde_json::{Value, json};

use super::super::{Detokenizer, Tokenizer, TokenizerConfig, test_support};

/// A tokenizer whose ids are the positions in `tokens`.
fn tokenizer(tokens: &[&str], decoder: Value) -> Tokenizer {
    let vocab: serde_json::Map<String, Value> =
        tokens.iter().enumerate().map(|(id, token)| (token.to_string(), id.into())).collect();
    let file = json!({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": decoder});
    Tokenizer::from_json(file.to_string().as_bytes(), &TokenizerConfig::default()).unwrap()
}

fn byte_level(tokens: &[&str]) -> Tokenizer {
    tokenizer(tokens, json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}))
}

/// The decoder of Llama's and Mistral's vocabularies.
fn sentencepiece(tokens: &[&str]) -> Tokenizer {
    let decoders = json!([
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]);
    tokenizer(tokens, json!({"type": "Sequence", "decoders": decoders}))
}

/// Every token in order, pushed one by one; the last chunk is what `finish` gives. Joined they are the one-shot text.
fn chunks(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    let mut detokenizer = Detokenizer::new(true);
    let mut chunks: Vec<String> = Vec::new();
    for &id in ids {
        chunks.push(detokenizer.push(tokenizer, id).to_string());
        assert!(detokenizer.pending_bytes().len() <= 3);
    }
    chunks.push(detokenizer.finish(tokenizer).to_string());
    assert_eq!(chunks.concat(), tokenizer.decode(ids, true));
    chunks
}

/// FIELD_CASES 27. In the byte-level alphabet F0 9F 98 is `ðŁĺ` and B8 is `¸`.
#[test]
fn a_character_split_over_tokens_arrives_whole() {
    assert_eq!(chunks(&byte_level(&["ðŁĺ", "¸"]), &[0, 1]), ["", "😸", ""]);
    let bytes = sentencepiece(&["<0xF0>", "<0x9F>", "<0x98>", "<0xB8>"]);
    assert_eq!(chunks(&bytes, &[0, 1, 2, 3]), ["", "", "", "😸", ""]);
}

/// FIELD_CASES 28: 🎉 is F0 9F 8E 89, 😸 is F0 9F 98 B8, each in two tokens of two bytes.
#[test]
fn nothing_is_held_back_longer_than_a_character() {
    let tokenizer = byte_level(&["ðŁ", "İī", "ĺ¸"]);
    assert_eq!(chunks(&tokenizer, &[0, 1, 0, 2, 0, 1]), ["", "🎉", "", "😸", "", "🎉", ""]);
}

/// FIELD_CASES 29: one U+FFFD per maximal bad run (byte level), one per byte (byte fallback); no panic; raw bytes beside the text.
#[test]
fn broken_characters_become_replacements() {
    let level = byte_level(&["ðŁĺ", "a", "æŃ", "b"]);
    assert_eq!(chunks(&level, &[0]), ["", "\u{FFFD}"]);
    assert_eq!(chunks(&level, &[1, 2, 3]), ["a", "", "\u{FFFD}b", ""]);
    assert_eq!(level.token_bytes(2).unwrap(), [0xE6, 0xAD]);
    let mut detokenizer = Detokenizer::new(true);
    detokenizer.push(&level, 2);
    assert_eq!(detokenizer.pending_bytes(), [0xE6, 0xAD]);

    let fallback = sentencepiece(&["<0xF0>", "<0x9F>", "<0x98>", "a", "<0xE6>", "<0xAD>", "b"]);
    assert_eq!(fallback.decode(&[0, 1, 2], true), "\u{FFFD}\u{FFFD}\u{FFFD}");
    assert_eq!(chunks(&fallback, &[3, 4, 5, 6]), ["a", "", "", "\u{FFFD}\u{FFFD}b", ""]);
    assert_eq!(fallback.token_bytes(4).unwrap(), [0xE6]);
}

/// FIELD_CASES 30.
#[test]
fn spaces_between_words_survive_one_by_one() {
    assert_eq!(chunks(&sentencepiece(&["▁Once", "▁upon"]), &[0, 1]), ["Once", " upon", ""]);
}

/// FIELD_CASES 31.
#[test]
fn one_leading_space_is_taken_away_and_only_where_the_decoder_says_so() {
    assert_eq!(chunks(&sentencepiece(&["▁", "▁leading", "▁x"]), &[0, 1, 2]).concat(), " leading x");
    assert_eq!(chunks(&byte_level(&["Ġa", "Ġb"]), &[0, 1]).concat(), " a b");
}

#[test]
fn ids_without_a_token_have_no_text() {
    let letters = test_support::letters();
    assert_eq!(letters.len(), 20);
    assert_eq!(letters.decode(&[0, 20, u32::MAX, 2], false), "ac");
    assert_eq!(chunks(&letters, &[0, 77, 1]), ["a", "", "b", ""]);
}

#[test]
fn other_decoders_stream_too() {
    let words = tokenizer(&["he", "##llo", ".", "wor", "##ld"], json!({"type": "WordPiece", "prefix": "##", "cleanup": true}));
    assert_eq!(chunks(&words, &[0, 1, 2, 3, 4]), ["he", "llo", ".", " wor", "ld", ""]);
    let suffix = tokenizer(&["he", "llo</w>", "you</w>"], json!({"type": "BPEDecoder", "suffix": "</w>"}));
    assert_eq!(chunks(&suffix, &[0, 1, 2]), ["he", "llo", " you", ""]);
    let space =
        tokenizer(&["▁a", "▁b▁"], json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}));
    assert_eq!(chunks(&space, &[0, 1, 0]), ["a", " b ", " a", ""]);
    let ctc = tokenizer(
        &["a", "b", "<pad>", "|"],
        json!({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true}),
    );
    assert_eq!(chunks(&ctc, &[0, 0, 2, 0, 3, 3, 1]).concat(), "aa b");
    assert_eq!(chunks(&tokenizer(&["a", "b"], Value::Null), &[0, 1, 1]), ["a", " b", " b", ""]);
    let late = json!([{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"}, "content": "-"}, {"type": "Strip", "content": "x", "start": 1, "stop": 2}]);
    let late = tokenizer(&["a", "b", "x"], json!({"type": "Sequence", "decoders": late}));
    assert_eq!(chunks(&late, &[2, 2, 0, 0, 1, 2, 1, 2, 2, 2]), ["", "", "", "xa", "-", "", "xb", "", "", "x", ""]);
}
