//! Pre-tokenizers of byte-level vocabularies, by the name a GGUF file gives.
//!
//! Patterns are those of the models' published `tokenizer.json` and of llama.cpp's `llm_tokenizer_bpe`, which agree. A split makes every
//! match, and what lies between matches, a piece; each split works on the pieces of the one before.

use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior};

use crate::error::{Error, Result};

/// What happens to a text before its pieces are encoded.
#[derive(Clone, Copy)]
pub(super) struct PreTokenization {
    splits: &'static [&'static str],
    /// Unicode composition (NFC) first.
    composes: bool,
    /// A piece that is a token as it stands is that token, whatever merges would make of it.
    pub(super) ignore_merges: bool,
    /// BOS is added where the file does not say.
    pub(super) add_bos: bool,
}

const fn splits(splits: &'static [&'static str]) -> PreTokenization {
    PreTokenization { splits, composes: false, ignore_merges: false, add_bos: false }
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const DIGIT: &str = r"\p{N}";
const LLAMA3: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK3: &[&str] = &[
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
];
const DEEPSEEK_CODER: &[&str] = &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"];
const FALCON: &[&str] = &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"];
const BLOOM: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
const BAILING: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
const SEED_CODER: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
/// llama.cpp's own choice for files that name none.
const DEFAULT: &[&str] = &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"];

const KNOWN: &[(&[&str], PreTokenization)] = &[
    (&["default"], splits(DEFAULT)),
    (
        &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "jina-v1-en",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v2-code",
            "roberta-bpe",
            "gigachat",
        ],
        splits(&[GPT2]),
    ),
    (&["a.x-4.0", "mellum", "modern-bert", "exaone4", "jais", "trillion", "granite-docling"], splits(&[GPT2])),
    (&["mpt", "olmo"], PreTokenization { composes: true, ..splits(&[GPT2]) }),
    (&["smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"], splits(&[DIGIT, GPT2])),
    (&["command-r"], PreTokenization { composes: true, ..splits(&[DIGIT, GPT2]) }),
    (
        &["llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        PreTokenization { ignore_merges: true, add_bos: true, ..splits(&[LLAMA3]) },
    ),
    (&["dbrx", "smaug-bpe", "chatglm-bpe"], splits(&[LLAMA3])),
    (&["glm4"], PreTokenization { ignore_merges: true, ..splits(&[LLAMA3]) }),
    (&["qwen2"], PreTokenization { composes: true, ..splits(&[QWEN2]) }),
    (&["deepseek-r1-qwen", "megrez", "kormo", "stablelm2", "hunyuan", "solar-open", "grok-2"], splits(&[QWEN2])),
    (&["qwen35"], PreTokenization { composes: true, ..splits(&[QWEN35]) }),
    (&["gpt-4o", "llama4", "kanana2", "minimax-m2"], splits(&[GPT4O])),
    (&["tekken"], PreTokenization { ignore_merges: true, add_bos: true, ..splits(&[TEKKEN]) }),
    (&["deepseek-v3", "hunyuan-dense", "joyai-llm"], splits(DEEPSEEK3)),
    (&["deepseek-coder"], splits(DEEPSEEK_CODER)),
    (&["falcon"], splits(FALCON)),
    (&["bloom", "gpt3-finnish", "poro-chat"], splits(&[BLOOM])),
    (&["viking"], splits(&[BLOOM, DIGIT])),
    (&["bailingmoe", "bailingmoe2", "llada-moe"], splits(&[BAILING])),
    (&["seed-coder"], splits(&[SEED_CODER])),
];

impl PreTokenization {
    /// Errors: UNSUPPORTED for a name that is not known.
    pub(super) fn named(name: Option<&str>) -> Result<Self> {
        let name = name.unwrap_or_else(|| {
            tracing::warn!("tokenizer.ggml.pre: missing, using the default pre-tokenizer: ids may differ from the model's own");
            "default"
        });
        let found = KNOWN.iter().find(|(names, _)| names.contains(&name));
        found.map(|(_, pre)| *pre).ok_or_else(|| {
            let known: Vec<&str> = KNOWN.iter().flat_map(|(names, _)| *names).copied().collect();
            Error::unsupported(format!("tokenizer.ggml.pre: \"{name}\", expected one of {}", known.join(", ")))
        })
    }

    /// `prefix`: a space goes in front of every text that has none.
    pub(super) fn pre_tokenizer(&self, prefix: bool) -> Result<Sequence> {
        let mut steps: Vec<PreTokenizerWrapper> = Vec::with_capacity(self.splits.len() + 1);
        for pattern in self.splits {
            let split = Split::new(SplitPattern::Regex(pattern.to_string()), SplitDelimiterBehavior::Isolated, false);
            steps.push(split.map_err(|e| Error::internal(format!("pre-tokenizer {pattern}: {e}")))?.into());
        }
        steps.push(ByteLevel::new(prefix, true, false).into());
        Ok(Sequence::new(steps))
    }

    pub(super) fn normalizer(&self) -> Option<NormalizerWrapper> {
        self.composes.then(|| NFC.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_no_name_occurs_twice() {
        let mut names: Vec<&str> = Vec::new();
        for (aliases, pre) in KNOWN {
            names.extend(*aliases);
            assert!(pre.pre_tokenizer(false).is_ok(), "{aliases:?}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = PreTokenization::named(Some("frob")).err().unwrap();
        assert_eq!(error.status(), crate::Status::Unsupported);
        assert!(error.message().starts_with("tokenizer.ggml.pre: \"frob\", expected one of default, gpt-2"), "{error}");
    }
}
