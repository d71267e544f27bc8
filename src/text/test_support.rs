//! Small tokenizers for tests of other tiers.

use super::{Tokenizer, TokenizerConfig};

/// Ids 0 to 19 are the letters a to t.
pub(crate) fn letters() -> Tokenizer {
    let vocab: serde_json::Map<String, serde_json::Value> =
        ('a'..='t').enumerate().map(|(id, letter)| (letter.to_string(), id.into())).collect();
    let json = serde_json::json!({
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
        "decoder": {"type": "Fuse"},
    });
    Tokenizer::from_json(json.to_string().as_bytes(), &TokenizerConfig::default()).expect("a valid tokenizer")
}
