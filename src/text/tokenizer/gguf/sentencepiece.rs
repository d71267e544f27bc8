//! SentencePiece BPE with scores: model "llama".
//!
//! SentencePiece merges the neighbours whose joined piece has the highest score. The library's BPE wants an ordered list of pairs
//! instead: all ways to cut a piece in two pieces, best score first. That is how transformers converts such vocabularies.

use std::cmp::Reverse;

use tokenizers::NormalizerWrapper;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as DecoderSequence;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::{Prepend, Replace, Sequence};

use super::{Defaults, GgufVocab, Pieces, TokenType};
use crate::error::{Error, Result};

/// Stands for a space in pieces.
const SPACE: &str = "\u{2581}";

pub(super) fn build(vocab: &GgufVocab, pieces: &Pieces, unk: Option<u32>) -> Result<(tokenizers::Tokenizer, Defaults)> {
    if vocab.scores.is_empty() && !vocab.tokens.is_empty() {
        return Err(Error::format("tokenizer.ggml.scores: missing, expected one for each token of a \"llama\" model"));
    }
    let texts = pieces.vocabulary();
    let merges = merges(&texts, &vocab.scores, pieces);
    let byte_fallback = pieces.types.contains(&TokenType::Byte);
    let mut model = BPE::builder().vocab_and_merges(texts, merges).byte_fallback(byte_fallback).fuse_unk(true);
    if let Some(unk) = unk.map(|id| &pieces.texts[id as usize]).filter(|text| !text.is_empty()) {
        model = model.unk_token(unk.to_string());
    }
    let mut inner = tokenizers::Tokenizer::new(model.build().map_err(|e| Error::format(format!("tokenizer.ggml: {e}")))?);

    let own = |e: tokenizers::Error| Error::internal(e.to_string());
    let prefix = vocab.add_space_prefix.unwrap_or(true);
    let spaces: NormalizerWrapper = Replace::new(" ", SPACE).map_err(own)?.into();
    let normalizer = match prefix {
        true => Sequence::new(vec![Prepend::new(SPACE.to_string()).into(), spaces]).into(),
        false => spaces,
    };
    inner.with_normalizer(Some(normalizer)).map_err(own)?;
    let mut decoders: Vec<DecoderWrapper> = vec![Replace::new(SPACE, " ").map_err(own)?.into(), ByteFallback::new().into()];
    decoders.push(Fuse::new().into());
    if prefix {
        decoders.push(Strip::new(' ', 1, 0).into());
    }
    inner.with_decoder(Some(DecoderSequence::new(decoders)));
    Ok((inner, Defaults { add_bos: true }))
}

/// Every pair of pieces that make a piece, best first. Control, unknown and byte pieces are not made from text.
fn merges(texts: &Vocab, scores: &[f32], pieces: &Pieces) -> Merges {
    let usable = |kind| !matches!(kind, TokenType::Control | TokenType::Unknown | TokenType::Byte);
    // (score, left, right), where sides are ids: half a million pairs are kept small until they are sorted.
    let mut pairs: Vec<(f32, u32, u32)> = Vec::with_capacity(pieces.texts.len() * 2);
    for (id, (text, &kind)) in pieces.texts.iter().zip(&pieces.types).enumerate() {
        if !usable(kind) || texts.get(text.as_ref()) != Some(&(id as u32)) {
            continue;
        }
        for (cut, _) in text.char_indices().skip(1) {
            let (left, right) = (texts.get(&text[..cut]), texts.get(&text[cut..]));
            if let (Some(&left), Some(&right)) = (left, right)
                && usable(pieces.types[left as usize])
                && usable(pieces.types[right as usize])
            {
                pairs.push((scores[id], left, right));
            }
        }
    }
    let lengths: Vec<usize> = pieces.texts.iter().map(|text| text.chars().count()).collect();
    let chars = |id: u32| lengths[id as usize];
    pairs.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then_with(|| Reverse((chars(a.1), chars(a.2))).cmp(&Reverse((chars(b.1), chars(b.2)))))
    });
    let text = |id: u32| pieces.texts[id as usize].to_string();
    pairs.into_iter().map(|(_, left, right)| (text(left), text(right))).collect()
}
