//! The three ways a text is encoded: special tokens parsed, not parsed, or parsed but for protected places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::{Encoding, Model, OffsetType, PreTokenizedString, PreTokenizer, Token};

use super::Tokenizer;
use crate::error::{Error, Result};

impl Tokenizer {
    /// The library's own encoding.
    pub(super) fn encode_parsed(&self, text: &str, add_special: bool) -> Result<Vec<u32>> {
        guarded(|| self.inner.encode_fast(text, add_special))
    }

    /// As [`Self::encode_parsed`], with special tokens not looked for, and none made of text.
    pub(super) fn encode_plain(&self, text: &str, add_special: bool) -> Result<Vec<u32>> {
        guarded(|| {
            let split = self.plain.extract_and_normalize(self.inner.get_normalizer(), text);
            self.inner.post_process(self.encode_split(split)?, None, add_special)
        })
    }

    /// As [`Self::encode_parsed`], but no special token spans one of the byte offsets in `barriers` (ascending).
    pub(super) fn encode_protected(&self, text: &str, barriers: &[usize]) -> Result<Vec<u32>> {
        guarded(|| {
            let split = super::protect::extract(&self.inner, text, barriers)?;
            self.inner.post_process(self.encode_split(split)?, None, false)
        })
    }

    /// The steps behind the splitting at added tokens.
    fn encode_split(&self, mut split: PreTokenizedString) -> tokenizers::Result<Encoding> {
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut split)?;
        }
        split.tokenize(|piece| self.spell(piece.get()))?;
        split.into_encoding(None, 0, OffsetType::None)
    }

    /// Tokens of a piece of text, none of them a control token: a model whose vocabulary holds their texts (Unigram's does) would make
    /// them of text. Where it does, the text is cut behind the first character of each and its parts are spelt on their own.
    fn spell(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
        let mut cuts = Vec::new();
        loop {
            let (mut tokens, mut forged) = (Vec::new(), Vec::new());
            let mut from = 0;
            for to in cuts.iter().copied().chain([text.len()]) {
                for mut token in self.inner.get_model().tokenize(&text[from..to])? {
                    token.offsets = (from + token.offsets.0, from + token.offsets.1);
                    // An unknown token stands for text that is not its own.
                    let spelt =
                        text.get(token.offsets.0..token.offsets.1).filter(|&spelt| self.token_text(token.id) == Some(spelt));
                    if let Some(spelt) = spelt.filter(|_| self.is_control(token.id) && Some(token.id) != self.special.unk) {
                        let first = spelt.chars().next().map_or(0, char::len_utf8);
                        forged.extend((first < spelt.len()).then_some(token.offsets.0 + first));
                    }
                    tokens.push(token);
                }
                from = to;
            }
            if forged.is_empty() {
                return Ok(tokens);
            }
            cuts.extend(forged);
            cuts.sort_unstable();
        }
    }
}

/// Ids, or an error where the library reports one or gives up on a vocabulary it did not check.
fn guarded(encode: impl FnOnce() -> tokenizers::Result<Encoding>) -> Result<Vec<u32>> {
    match catch_unwind(AssertUnwindSafe(encode)) {
        Ok(Ok(encoding)) => Ok(encoding.get_ids().to_vec()),
        Ok(Err(e)) => Err(Error::tokenizer(format!("encoding: {e}"))),
        Err(_) => Err(Error::tokenizer("encoding: the vocabulary contradicts itself")),
    }
}
