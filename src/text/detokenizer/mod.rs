//! Tokens to text, one token at a time.
//!
//! A tokenizer's decoder is a chain of stages ([`Pipeline`]). The `tokenizers` library runs each stage over the whole list of tokens;
//! here every stage takes one token and remembers only what it must, so that a stream costs the same per token at any length. One-shot
//! decoding runs the same stages, so joined chunks equal it by construction.
//!
//! The result is the library's, with one deliberate difference: a run of byte-fallback tokens that mixes whole characters with stray
//! bytes keeps the characters and replaces the stray bytes only. The library replaces every byte of such a run, which cannot be
//! streamed: a character that was shown would have to be taken back.

mod pipeline;
mod stage;

pub(crate) use pipeline::Pipeline;

use stage::StageState;

use super::tokenizer::Tokenizer;

/// Bytes made room for where a token's text goes: few tokens of any vocabulary are longer, so a stream hardly ever allocates.
const TOKEN_ROOM: usize = 128;

/// The text of one sequence of tokens as it grows.
///
/// At most 3 bytes are held back, those of a character that is not complete yet (FIELD_CASES 28). Bytes that never become a character
/// are shown as U+FFFD: one per maximal bad run with byte-level decoders, one per byte with byte fallback (FIELD_CASES 29). The raw
/// bytes are at hand through [`Tokenizer::token_bytes`].
#[derive(Clone, Debug, Default)]
pub struct Detokenizer {
    skip_special: bool,
    states: Vec<StageState>,
    text: String,
}

impl Detokenizer {
    /// `skip_special`: special tokens have no text.
    pub fn new(skip_special: bool) -> Self {
        Detokenizer { skip_special, states: Vec::new(), text: String::with_capacity(TOKEN_ROOM) }
    }

    /// Takes the next token and returns the text that is finished by it, which may be empty. Ids without a token have no text.
    ///
    /// All calls on one detokenizer are given the same tokenizer.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> &str {
        self.text.clear();
        self.append(tokenizer, id);
        &self.text
    }

    /// No more tokens come: returns what was held back. Afterwards the detokenizer is as new.
    pub fn finish(&mut self, tokenizer: &Tokenizer) -> &str {
        self.text.clear();
        self.append_rest(tokenizer);
        &self.text
    }

    /// Bytes of an unfinished character that are being held back.
    pub fn pending_bytes(&self) -> &[u8] {
        self.states.iter().map(StageState::pending).find(|bytes| !bytes.is_empty()).unwrap_or_default()
    }

    pub(super) fn decode(mut self, tokenizer: &Tokenizer, ids: &[u32]) -> String {
        for &id in ids {
            self.append(tokenizer, id);
        }
        self.append_rest(tokenizer);
        self.text
    }

    fn append(&mut self, tokenizer: &Tokenizer, id: u32) {
        let Some(token) = tokenizer.token_text(id) else { return };
        if self.skip_special && tokenizer.is_special(id) {
            return;
        }
        let pipeline = tokenizer.pipeline();
        pipeline.prepare(&mut self.states);
        pipeline.push(&mut self.states, token, &mut self.text);
    }

    fn append_rest(&mut self, tokenizer: &Tokenizer) {
        let pipeline = tokenizer.pipeline();
        pipeline.prepare(&mut self.states);
        pipeline.finish(&mut self.states, &mut self.text);
        self.states.iter_mut().for_each(StageState::reset);
    }
}

#[cfg(test)]
mod tests;
