//! Every token's text, by id.

use tokenizers::Model;

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
        let count = highest_added.max(model_tokens);
        let mut vocabulary =
            Vocabulary { text: String::new(), starts: Vec::with_capacity(count + 1), flags: Vec::with_capacity(count) };
        let describe = |id: u32| added.get(&id).map(|token| (token.special, token.special && is_control(id)));
        let mut found = vocabulary.append(inner, count, describe)?;
        if found < model_tokens {
            // The model's ids have gaps: its highest one has to be looked for.
            let highest = inner.get_vocab(false).into_values().max().map_or(0, |id| id as usize + 1);
            found += vocabulary.append(inner, highest, describe)?;
        }
        if found == 0 && added.is_empty() {
            return Err(Error::format("tokenizer: no tokens, expected at least one"));
        }
        let bytes = u32::try_from(vocabulary.text.len());
        vocabulary.starts.push(bytes.map_err(|_| Error::format("tokenizer: more than 4 GiB of token texts"))?);
        vocabulary.text.shrink_to_fit();
        Ok(vocabulary)
    }

    /// Adds ids up to `count` and returns how many of them the model has. `added` says of an added token whether it is special, and
    /// whether it is a control token.
    fn append(
        &mut self,
        inner: &tokenizers::Tokenizer,
        count: usize,
        added: impl Fn(u32) -> Option<(bool, bool)>,
    ) -> Result<usize> {
        if count > MAX_IDS {
            return Err(Error::format(format!("tokenizer: ids up to {count}, expected at most {MAX_IDS}")));
        }
        let mut found = 0;
        for id in self.flags.len() as u32..count as u32 {
            self.starts.push(self.text.len() as u32);
            let mut flags = 0;
            if let Some(token) = inner.id_to_token(id) {
                self.text.push_str(&token);
                flags = KNOWN;
            }
            match added(id) {
                None => found += usize::from(flags == KNOWN),
                Some((special, control)) => {
                    found += usize::from(inner.get_model().id_to_token(id).is_some());
                    flags |= ADDED | if special { SPECIAL } else { 0 } | if control { CONTROL } else { 0 };
                }
            }
            self.flags.push(flags);
        }
        Ok(found)
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
