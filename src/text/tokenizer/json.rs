//! Tokenizers from `tokenizer.json`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::AddedToken;
use tokenizers::PostProcessor;
use tokenizers::processors::template::TemplateProcessing;

use super::{AddedTokenConfig, SpecialIds, Tokenizer, TokenizerConfig};
use crate::error::{Error, Result};

impl Tokenizer {
    /// Makes a tokenizer from the bytes of a `tokenizer.json` and what the files beside it say.
    ///
    /// As in transformers, `config` may change properties of added tokens and add special tokens. The file's own rule for BOS and EOS
    /// stands; where it has none, the flags of `config` are followed.
    ///
    /// Errors: FORMAT for a malformed file.
    pub fn from_json(bytes: &[u8], config: &TokenizerConfig) -> Result<Self> {
        // The library indexes by lengths it has not checked in some malformed files.
        let parsed = catch_unwind(AssertUnwindSafe(|| tokenizers::Tokenizer::from_bytes(bytes)));
        let inner = match parsed {
            Ok(Ok(inner)) => inner,
            Ok(Err(e)) => return Err(Error::format(format!("tokenizer.json: {e}"))),
            Err(_) => return Err(Error::format("tokenizer.json: merges that do not belong to its vocabulary")),
        };
        Self::configured(inner, config).map_err(|e| e.context("tokenizer.json"))
    }

    fn configured(mut inner: tokenizers::Tokenizer, config: &TokenizerConfig) -> Result<Self> {
        let tokenizer_error = |e: tokenizers::Error| Error::format(e.to_string());
        let named = config.texts().into_iter().map(|(_, text)| text).chain(config.additional.iter().cloned());
        let mut extra: Vec<AddedToken> = Vec::new();
        {
            let known = inner.get_added_vocabulary().get_vocab();
            let listed: Vec<AddedToken> = config.added_tokens.iter().map(AddedTokenConfig::to_added).collect();
            for token in named {
                let is_listed = listed.iter().chain(&extra).any(|other| other.content == token);
                if !token.is_empty() && !known.contains_key(&token) && !is_listed {
                    extra.push(AddedToken::from(token, true));
                }
            }
            extra.extend(listed);
        }
        inner.add_tokens(extra).map_err(tokenizer_error)?;

        let id = |token: &Option<String>| token.as_deref().and_then(|token| inner.token_to_id(token));
        let special = SpecialIds {
            bos: id(&config.bos),
            eos: id(&config.eos),
            unk: id(&config.unk),
            pad: id(&config.pad),
            ..SpecialIds::default()
        };
        let adds_nothing = inner.get_post_processor().is_none_or(|rule| rule.added_tokens(false) == 0);
        if let Some((add_bos, add_eos)) = config.add_bos_eos.filter(|_| adds_nothing) {
            let front = if add_bos { config.bos.as_deref().zip(special.bos) } else { None };
            let back = if add_eos { config.eos.as_deref().zip(special.eos) } else { None };
            inner.with_post_processor(Some(around(front, back)?));
        }
        Tokenizer::new(inner, special, config.texts(), |_| true)
    }
}

/// Adds `front` before and `back` behind each text.
pub(super) fn around(front: Option<(&str, u32)>, back: Option<(&str, u32)>) -> Result<TemplateProcessing> {
    let mut single: Vec<&str> = vec!["$A:0"];
    // Names without the characters that templates give a meaning to.
    if front.is_some() {
        single.insert(0, "front");
    }
    if back.is_some() {
        single.push("back");
    }
    let mut tokens = Vec::new();
    for (name, token) in [("front", front), ("back", back)] {
        if let Some((text, id)) = token {
            let token = tokenizers::processors::template::SpecialToken::new(name.to_string(), vec![id], vec![text.to_string()]);
            tokens.push(token.map_err(|e| Error::internal(e.to_string()))?);
        }
    }
    TemplateProcessing::builder()
        .try_single(single)
        .map_err(Error::internal)?
        .special_tokens(tokens)
        .build()
        .map_err(|e| Error::internal(e.to_string()))
}
