//! Every token's text, by id.

use crate::error::{Error, Result};

/// Ids at or above this are refused: no model comes near, and tables by id must stay small.
const MAX_IDS: usize = 1 << 24;

const KNOWN: u8 = 1;
const ADDED: u8 = 2;
const SPECIAL: u8 = 4;
const CONTROL: u8 = 8;

/// Token texts in one piece of memory.
#[derive(Debug)]
pub(super) struct Vocabulary {
    text: String,
    /// Offset of each id's text; one more at the end.
    starts: Vec<u32>,
    flags: Vec<u8>,
}

impl Vocabulary {
    /// Every token `inner` knows. `is_control` says which of its special tokens are control tokens.
    pub(super) fn new(inner: &tokenizers::Tokenizer, is_control: impl Fn(u32) -> bool) -> Result<Self> {
        let added = inner.get_added_tokens_decoder();
        let highest_added = added.keys().max().map_or(0, |&id| id as usize + 1);
        let model_tokens = inner.get_vocab_size(false);
        let mut count = highest_added.max(model_tokens);
        if count < MAX_IDS && (0..model_tokens as u32).any(|id| inner.id_to_token(id).is_none()) {
            // The model's ids have gaps: its highest one has to be looked for.
            let highest = inner.get_vocab(false).into_values().max().map_or(0, |id| id as usize + 1);
            count = count.max(highest);
        }
        if count == 0 || count > MAX_IDS {
            return Err(Error::format(format!("tokenizer: ids up to {count}, expected 1 to {MAX_IDS} tokens")));
        }
        let mut vocabulary =
            Vocabulary { text: String::new(), starts: Vec::with_capacity(count + 1), flags: Vec::with_capacity(count) };
        for id in 0..count as u32 {
            vocabulary.starts.push(vocabulary.text.len() as u32);
            let mut flags = 0;
            if let Some(token) = inner.id_to_token(id) {
                vocabulary.text.push_str(&token);
                flags = KNOWN;
            }
            if let Some(token) = added.get(&id) {
                flags |= ADDED;
                if token.special {
                    flags |= SPECIAL | if is_control(id) { CONTROL } else { 0 };
                }
            }
            vocabulary.flags.push(flags);
        }
        let bytes = u32::try_from(vocabulary.text.len());
        vocabulary.starts.push(bytes.map_err(|_| Error::format("tokenizer: more than 4 GiB of token texts"))?);
        vocabulary.text.shrink_to_fit();
        Ok(vocabulary)
    }

    pub(super) fn len(&self) -> usize {
        self.flags.len()
    }

    pub(super) fn text(&self, id: u32) -> Option<&str> {
        let at = id as usize;
        self.has(id, KNOWN).then(|| &self.text[self.starts[at] as usize..self.starts[at + 1] as usize])
    }

    pub(super) fn is_added(&self, id: u32) -> bool {
        self.has(id, ADDED)
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.has(id, SPECIAL)
    }

    pub(super) fn is_control(&self, id: u32) -> bool {
        self.has(id, CONTROL)
    }

    fn has(&self, id: u32, flag: u8) -> bool {
        self.flags.get(id as usize).is_some_and(|flags| flags & flag != 0)
    }
}
