//! Byte-level BPE: model "gpt2".

use std::collections::HashSet;

use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, Merges};

use super::pre::PreTokenization;
use super::{Defaults, GgufVocab, Pieces};
use crate::error::{Error, Result};

pub(super) fn build(vocab: &GgufVocab, pieces: &Pieces) -> Result<(tokenizers::Tokenizer, Defaults)> {
    let pre = PreTokenization::named(vocab.pre)?;
    let texts = pieces.vocabulary();
    let merges: Merges = vocab.merges.iter().enumerate().map(|(rank, merge)| pair(rank, merge)).collect::<Result<_>>()?;
    let model = BPE::builder().vocab_and_merges(texts, merges).ignore_merges(pre.ignore_merges).build();
    let mut inner = tokenizers::Tokenizer::new(model.map_err(|e| explain(vocab, pieces, &e))?);
    let prefix = vocab.add_space_prefix.unwrap_or(false);
    inner.with_pre_tokenizer(Some(pre.pre_tokenizer(prefix)?));
    inner.with_normalizer(pre.normalizer()).map_err(|e| Error::internal(e.to_string()))?;
    inner.with_decoder(Some(ByteLevel::default()));
    Ok((inner, Defaults { add_bos: pre.add_bos }))
}

/// Which merge the library has refused: it names the token that is missing and no more.
fn explain(vocab: &GgufVocab, pieces: &Pieces, error: &tokenizers::Error) -> Error {
    let texts: HashSet<&str> = pieces.texts.iter().map(AsRef::as_ref).collect();
    for (rank, merge) in vocab.merges.iter().enumerate() {
        let Ok((left, right)) = pair(rank, merge) else { continue };
        let joined = format!("{left}{right}");
        if let Some(part) = [&left, &right, &joined].into_iter().find(|part| !texts.contains(part.as_str())) {
            let merge = format!("\"{left} {right}\"");
            return Error::format(format!("tokenizer.ggml.merges[{rank}]: {merge}, expected \"{part}\" among the tokens"));
        }
    }
    Error::format(format!("tokenizer.ggml: {error}"))
}

/// The two sides of a merge. A side may begin with a space of its own, so the first character is never the separator.
fn pair(rank: usize, merge: &[u8]) -> Result<(String, String)> {
    let merge = String::from_utf8_lossy(merge);
    let second = merge.chars().next().map_or(0, char::len_utf8);
    match merge[second..].split_once(' ') {
        Some((left, right)) if !right.is_empty() => Ok((format!("{}{left}", &merge[..second]), right.to_string())),
        _ => Err(Error::format(format!("tokenizer.ggml.merges[{rank}]: \"{merge}\", expected two tokens with a space between"))),
    }
}
