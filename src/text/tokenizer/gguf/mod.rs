//! Tokenizers from the vocabulary a GGUF file carries.
//!
//! Keys `tokenizer.ggml.*` of the GGUF specification; rules that the specification leaves open (defaults of BOS, which types are
//! matched in text) are those of llama.cpp's `llama_vocab`. Two models are in use: `gpt2`, byte-level BPE with a pre-tokenizer named by
//! `pre`, and `llama`, SentencePiece BPE with scores.

mod byte_level;
mod pre;
mod sentencepiece;

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use tokenizers::AddedToken;
use tokenizers::models::bpe::Vocab;

use super::{SpecialIds, Tokenizer};
use crate::error::{Error, Result};

/// What `tokenizer.ggml.*` says. Texts are borrowed from the file's metadata.
#[derive(Clone, Debug, Default)]
pub struct GgufVocab<'a> {
    /// `tokenizer.ggml.model`: "gpt2" or "llama".
    pub model: &'a str,
    /// `tokenizer.ggml.pre`: the pre-tokenizer of a "gpt2" model.
    pub pre: Option<&'a str>,
    /// `tokenizer.ggml.tokens`, by id.
    pub tokens: Vec<&'a [u8]>,
    /// `tokenizer.ggml.scores`, by id; only "llama" models need them.
    pub scores: Vec<f32>,
    /// `tokenizer.ggml.token_type`, by id; empty: all normal.
    pub token_types: Vec<i64>,
    /// `tokenizer.ggml.merges`: pairs separated by a space, best first; only "gpt2" models have them.
    pub merges: Vec<&'a [u8]>,
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub eot: Option<u32>,
    pub eom: Option<u32>,
    pub unk: Option<u32>,
    pub pad: Option<u32>,
    pub add_bos: Option<bool>,
    pub add_eos: Option<bool>,
    pub add_space_prefix: Option<bool>,
}

/// `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenType {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

/// A vocabulary in a checked form.
struct Pieces<'a> {
    /// Empty for ids without a text.
    texts: Vec<Cow<'a, str>>,
    types: Vec<TokenType>,
}

impl Tokenizer {
    /// Makes a tokenizer from a GGUF file's vocabulary.
    ///
    /// A `pre` that is not known is refused: a wrong pre-tokenizer gives wrong ids that nobody notices. A missing one, or `default`, is
    /// llama.cpp's default with a warning in the log.
    ///
    /// Errors: UNSUPPORTED for a model or pre-tokenizer that is not known, FORMAT for lists that contradict each other.
    pub fn from_gguf(vocab: &GgufVocab) -> Result<Self> {
        let mut pieces = Pieces::new(vocab)?;
        let special = pieces.special_ids(vocab)?;
        let named = [special.bos, special.eos, special.eot, special.eom, special.unk, special.pad];
        for id in named.into_iter().flatten() {
            let kind = &mut pieces.types[id as usize];
            // Files exist whose end-of-turn token is typed as normal; named here, it steers the model whatever its type says.
            if *kind == TokenType::Normal {
                *kind = TokenType::Control;
            }
        }
        let (mut inner, defaults) = match vocab.model {
            "gpt2" => byte_level::build(vocab, &pieces)?,
            "llama" => sentencepiece::build(vocab, &pieces, special.unk)?,
            other => {
                return Err(Error::unsupported(format!("tokenizer.ggml.model: \"{other}\", expected \"gpt2\" or \"llama\"")));
            }
        };
        inner.add_tokens(pieces.added()).map_err(|e| Error::format(format!("tokenizer.ggml.tokens: {e}")))?;

        let around = |add: Option<bool>, default: bool, id: Option<u32>, key: &str| match (add, id) {
            (Some(true), None) => {
                Err(Error::format(format!("tokenizer.ggml.add_{key}_token: true, expected {key}_token_id beside it")))
            }
            (add, Some(id)) if add.unwrap_or(default) => Ok(Some((pieces.texts[id as usize].as_ref(), id))),
            _ => Ok(None),
        };
        let front = around(vocab.add_bos, defaults.add_bos, special.bos, "bos")?;
        let back = around(vocab.add_eos, false, special.eos, "eos")?;
        if front.is_some() || back.is_some() {
            inner.with_post_processor(Some(super::json::around(front, back)?));
        }
        let roles =
            [("bos_token", special.bos), ("eos_token", special.eos), ("unk_token", special.unk), ("pad_token", special.pad)];
        let texts = roles.into_iter().filter_map(|(role, id)| Some((role, pieces.texts[id? as usize].to_string())));
        let (texts, types) = (texts.collect(), pieces.types);
        Tokenizer::new(inner, special, texts, |id| types.get(id as usize) == Some(&TokenType::Control))
    }
}

/// What a kind of vocabulary does where the file says nothing.
struct Defaults {
    add_bos: bool,
}

impl<'a> Pieces<'a> {
    fn new(vocab: &GgufVocab<'a>) -> Result<Self> {
        let count = vocab.tokens.len();
        let same_length = |name: &str, len: usize| match len {
            0 => Ok(()),
            len if len == count => Ok(()),
            len => Err(Error::format(format!("tokenizer.ggml.{name}: {len} entries, expected {count} (tokenizer.ggml.tokens)"))),
        };
        same_length("scores", vocab.scores.len())?;
        same_length("token_type", vocab.token_types.len())?;
        let mut types = Vec::with_capacity(count);
        for (id, &kind) in vocab.token_types.iter().enumerate() {
            types.push(match kind {
                // 0 is "undefined", which llama.cpp treats as it treats normal ones.
                0 | 1 => TokenType::Normal,
                2 => TokenType::Unknown,
                3 => TokenType::Control,
                4 => TokenType::UserDefined,
                5 => TokenType::Unused,
                6 => TokenType::Byte,
                other => return Err(Error::format(format!("tokenizer.ggml.token_type[{id}]: {other}, expected 0 to 6"))),
            });
        }
        types.resize(count, TokenType::Normal);
        let texts = vocab.tokens.iter().map(|token| String::from_utf8_lossy(token)).collect();
        Ok(Pieces { texts, types })
    }

    fn special_ids(&self, vocab: &GgufVocab) -> Result<SpecialIds> {
        let count = self.texts.len();
        let checked = |id: Option<u32>, key: &str| match id {
            Some(id) if id as usize >= count => {
                Err(Error::format(format!("tokenizer.ggml.{key}_token_id: {id}, expected a token id in 0..{count}")))
            }
            id => Ok(id),
        };
        Ok(SpecialIds {
            bos: checked(vocab.bos, "bos")?,
            eos: checked(vocab.eos, "eos")?,
            unk: checked(vocab.unk, "unknown")?,
            pad: checked(vocab.pad, "padding")?,
            eot: checked(vocab.eot, "eot")?,
            eom: checked(vocab.eom, "eom")?,
        })
    }

    /// Tokens that are looked for in text before anything else: control and unknown ones as special tokens, user-defined ones as plain.
    fn added(&self) -> Vec<AddedToken> {
        let added = self.texts.iter().zip(&self.types).filter_map(|(text, kind)| {
            let special = match kind {
                TokenType::Control | TokenType::Unknown => true,
                TokenType::UserDefined => false,
                _ => return None,
            };
            (!text.is_empty()).then(|| AddedToken::from(text.as_ref(), special).normalized(false))
        });
        added.collect()
    }

    /// Texts and ids for the model. Ids without a text, or with one that an earlier id has, are left out: they cannot be told apart.
    fn vocabulary(&self) -> Vocab {
        let mut map = Vocab::with_capacity(self.texts.len());
        for (id, text) in self.texts.iter().enumerate() {
            if text.is_empty() {
                continue;
            }
            match map.entry(text.to_string()) {
                Entry::Vacant(free) => {
                    free.insert(id as u32);
                }
                Entry::Occupied(first) => {
                    tracing::warn!("tokenizer.ggml.tokens[{id}]: the same text as token {}, not used", first.get());
                }
            }
        }
        map
    }
}
