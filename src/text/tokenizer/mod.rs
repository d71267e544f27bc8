//! Vocabulary, encoding, decoding.
//!
//! A [`Tokenizer`] wraps the `tokenizers` library, whatever its vocabulary came from: `tokenizer.json` ([`Tokenizer::from_json`]) or
//! GGUF metadata ([`Tokenizer::from_gguf`]). Encoding is the library's; the single-text call is used throughout, since its batch calls
//! start a global thread pool.

mod config;
mod encode;
mod gguf;
mod json;
mod protect;
mod vocabulary;

pub use config::{AddedTokenConfig, TokenizerConfig};
pub use gguf::GgufVocab;

use std::sync::Arc;

use tokenizers::AddedVocabulary;

use super::detokenizer::{Detokenizer, Pipeline};
use super::template::Rendered;
use crate::error::{Error, Result};
pub(super) use protect::ControlTexts;
use vocabulary::Vocabulary;

/// How a text is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Add BOS and EOS where the tokenizer's own rules say so. A text that begins with the BOS text already then has two
    /// (FIELD_CASES 20).
    pub add_special: bool,
    /// Texts of special tokens in the text become those tokens; off, they are text like any other, and no control token comes of it.
    pub parse_special: bool,
}

/// Ids of the tokens with a known part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecialIds {
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub unk: Option<u32>,
    pub pad: Option<u32>,
    /// End of turn.
    pub eot: Option<u32>,
    /// End of message.
    pub eom: Option<u32>,
}

/// Turns text into token ids and back. Immutable once made; safe to share between threads.
///
/// Encoding may recurse and backtrack: call it through [`on_deep_stack`](super::on_deep_stack) on threads of unknown stack size.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The same added tokens, with the special ones never matched in text.
    plain: AddedVocabulary,
    vocabulary: Vocabulary,
    pipeline: Pipeline,
    controls: Arc<ControlTexts>,
    special: SpecialIds,
    /// What templates know special tokens by (`bos_token`), and their texts.
    special_texts: Vec<(&'static str, String)>,
}

impl Tokenizer {
    /// Errors: FORMAT for vocabularies that cannot be held.
    fn new(
        mut inner: tokenizers::Tokenizer,
        special: SpecialIds,
        special_texts: Vec<(&'static str, String)>,
        is_control: impl Fn(u32) -> bool,
    ) -> Result<Self> {
        // What training left in the file must not cut or fill prompts.
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| Error::format(format!("tokenizer truncation: {e}")))?;
        let vocabulary = Vocabulary::new(&inner, is_control)?;
        let pipeline = Pipeline::new(inner.get_decoder())?;
        let mut plain = inner.get_added_vocabulary().clone();
        plain.set_encode_special_tokens(true);
        let controls = Arc::new(ControlTexts::new(&inner));
        Ok(Tokenizer { inner, plain, vocabulary, pipeline, controls, special, special_texts })
    }

    /// Highest id that has a token, plus one. Ids below it may have none.
    #[allow(clippy::len_without_is_empty)] // A vocabulary is never empty.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// The id of a token by its text as the vocabulary spells it (`Ġthe`, `▁the`, `<|im_end|>`).
    pub fn find(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// A token's text as the vocabulary spells it.
    pub fn token_text(&self, id: u32) -> Option<&str> {
        self.vocabulary.text(id)
    }

    /// The bytes a token stands for in the middle of a text; they need not be whole characters. `None`: no such token.
    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        let text = self.token_text(id)?;
        Some(if self.vocabulary.is_added(id) { text.as_bytes().to_vec() } else { self.pipeline.bytes(text) })
    }

    /// Whether the token is left out of text where special tokens are skipped.
    pub fn is_special(&self, id: u32) -> bool {
        self.vocabulary.is_special(id)
    }

    /// Whether the token steers the model, so that user text must never become it: `special` in `tokenizer.json`, type CONTROL in GGUF
    /// (DECISIONS 19).
    pub fn is_control(&self, id: u32) -> bool {
        self.vocabulary.is_control(id)
    }

    pub fn special_ids(&self) -> SpecialIds {
        self.special
    }

    pub fn bos(&self) -> Option<u32> {
        self.special.bos
    }

    pub fn eos(&self) -> Option<u32> {
        self.special.eos
    }

    pub fn pad(&self) -> Option<u32> {
        self.special.pad
    }

    pub fn unk(&self) -> Option<u32> {
        self.special.unk
    }

    /// Ids to text, what is not valid UTF-8 replaced; see [`Detokenizer`] for how. Ids without a token have no text.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        Detokenizer::new(skip_special).decode(self, ids)
    }

    /// Encodes `text`.
    ///
    /// Errors: TOKENIZER where the vocabulary cannot spell a character and has no unknown token.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>> {
        if options.parse_special {
            self.encode_parsed(text, options.add_special)
        } else {
            self.encode_plain(text, options.add_special)
        }
    }

    /// Encodes what a template has rendered: control tokens that the template wrote are tokens, their texts in protected content are
    /// text. Nothing is added, since templates write their own BOS (FIELD_CASES 20, 21), except where `rendered` asks for it.
    pub fn encode_rendered(&self, rendered: &Rendered) -> Result<Vec<u32>> {
        let mut ids = match rendered.barriers() {
            [] => self.encode_parsed(rendered.text(), false)?,
            barriers => self.encode_protected(rendered.text(), barriers)?,
        };
        if rendered.wants_bos()
            && let Some(bos) = self.special.bos
            && ids.first() != Some(&bos)
            && self.encode_parsed("", true)?.first() == Some(&bos)
        {
            ids.insert(0, bos);
        }
        Ok(ids)
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(super) fn controls(&self) -> &Arc<ControlTexts> {
        &self.controls
    }

    /// What chat templates know as `bos_token`, `eos_token` and so on.
    pub fn special_texts(&self) -> &[(&'static str, String)] {
        &self.special_texts
    }
}
