//! The three ways a text is encoded: special tokens parsed, not parsed, or parsed but for protected places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::{Encoding, Model, OffsetType, PreTokenizedString, PreTokenizer};

use super::Tokenizer;
use crate::error::{Error, Result};

impl Tokenizer {
    /// The library's own encoding.
    pub(super) fn encode_parsed(&self, text: &str, add_special: bool) -> Result<Vec<u32>> {
        guarded(|| self.inner.encode_fast(text, add_special))
    }

    /// As [`Self::encode_parsed`], with special tokens not looked for.
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
        self.inner.get_model().tokenize_in_pretokenized(&mut split, None)?;
        split.into_encoding(None, 0, OffsetType::None)
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
