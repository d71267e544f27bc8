//! Byte-level BPE: model "gpt2".

use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, Merges};

use super::pre::PreTokenization;
use super::{Defaults, GgufVocab, Pieces};
use crate::error::{Error, Result};

pub(super) fn build(vocab: &GgufVocab, pieces: &Pieces) -> Result<(tokenizers::Tokenizer, Defaults)> {
    let pre = PreTokenization::named(vocab.pre)?;
    let texts = pieces.vocabulary();
    let merges: Merges = vocab.merges.iter().enumerate().map(|(rank, merge)| pair(rank, merge)).collect::<Result<_>>()?;
    for (rank, (left, right)) in merges.iter().enumerate() {
        // The library asks for the same and says less about it.
        for part in [left, right, &format!("{left}{right}")] {
            if !texts.contains_key(part) {
                let merge = format!("\"{left} {right}\"");
                return Err(Error::format(format!(
                    "tokenizer.ggml.merges[{rank}]: {merge}, expected \"{part}\" among the tokens"
                )));
            }
        }
    }
    let model = BPE::builder().vocab_and_merges(texts, merges).ignore_merges(pre.ignore_merges).build();
    let mut inner = tokenizers::Tokenizer::new(model.map_err(|e| Error::format(format!("tokenizer.ggml: {e}")))?);
    let prefix = vocab.add_space_prefix.unwrap_or(false);
    inner.with_pre_tokenizer(Some(pre.pre_tokenizer(prefix)?));
    inner.with_normalizer(pre.normalizer()).map_err(|e| Error::internal(e.to_string()))?;
    inner.with_decoder(Some(ByteLevel::default()));
    Ok((inner, Defaults { add_bos: pre.add_bos }))
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
