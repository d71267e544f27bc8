//! The families: which architectures there are, and what is particular to each.
//!
//! A new family is one file here and one line in [`FAMILIES`], as long as it is a gated decoder with rotary attention; what else it
//! needs becomes a field of [`Spec`].

mod gemma3;
mod gguf;
mod hf;
mod llama;
mod mistral;
mod qwen2;
mod qwen3;

pub use gguf::GgufConfig;

use serde_json::Value;

use super::names::{RoleNames, Root};
use super::spec::Spec;
use crate::error::{Error, Result};
use crate::weights::ConfigReader;
use crate::weights::gguf::Gguf;

/// What is particular to a family, for both kinds of files.
pub struct Family {
    pub name: &'static str,
    /// Entries of `architectures` in `config.json`.
    pub hf: &'static [&'static str],
    /// Values of `general.architecture`.
    pub gguf: &'static [&'static str],
    pub spec_hf: fn(ConfigReader) -> Result<Spec>,
    pub spec_gguf: fn(&GgufConfig) -> Result<Spec>,
    /// Names that differ from [`PRE_NORM`](super::names::PRE_NORM).
    pub names: &'static [RoleNames],
    /// Where Hugging Face checkpoints keep the decoder, most usual first.
    pub hf_roots: &'static [Root],
    /// Added to norm weights of Hugging Face checkpoints, which store them as a difference from it. GGUF files hold the sum.
    pub hf_norm_offset: f32,
    /// GGUF files hold the rows of q and k as interleaved rotary pairs.
    pub gguf_pairs: bool,
}

/// Every family there is.
pub static FAMILIES: &[&Family] = &[&llama::FAMILY, &mistral::FAMILY, &qwen2::FAMILY, &qwen3::FAMILY, &gemma3::FAMILY];

/// Names of all architectures that load, as Hugging Face and GGUF files spell them.
pub fn supported_architectures() -> Vec<&'static str> {
    let names = FAMILIES.iter().flat_map(|family| family.hf.iter().chain(family.gguf));
    names.copied().collect()
}

impl Family {
    /// The family of a Hugging Face configuration, by `architectures`.
    pub fn of_hf(config: ConfigReader) -> Result<&'static Family> {
        let names = config.opt_array("architectures")?.unwrap_or_default();
        let family = |name: &Value| FAMILIES.iter().find(|family| family.hf.iter().any(|known| name == known)).copied();
        names.iter().find_map(family).ok_or_else(|| {
            let known: Vec<_> = FAMILIES.iter().flat_map(|family| family.hf).copied().collect();
            let found = match names.first() {
                Some(name) => format!("unsupported architecture {}", name.as_str().unwrap_or("that is no string")),
                None => "architectures: missing".to_owned(),
            };
            Error::unsupported(format!("{found}, expected one of {}, in {}", known.join(", "), config.path().display()))
        })
    }

    /// The family of a GGUF file, by `general.architecture`.
    pub fn of_gguf(file: &Gguf) -> Result<&'static Family> {
        let name = architecture(file)?;
        FAMILIES.iter().find(|family| family.gguf.contains(&name)).copied().ok_or_else(|| {
            let known: Vec<_> = FAMILIES.iter().flat_map(|family| family.gguf).copied().collect();
            let place = file.path().display();
            Error::unsupported(format!("unsupported architecture {name}, expected one of {}, in {place}", known.join(", ")))
        })
    }
}

/// `general.architecture`.
pub fn architecture(file: &Gguf) -> Result<&str> {
    const KEY: &str = "general.architecture";
    let metadata = file.metadata();
    metadata.required(KEY, metadata.str(KEY)?)
}

/// An UNSUPPORTED error about a key's value.
pub(super) fn unsupported(config: ConfigReader, key: &str, value: &str, expected: &str) -> Error {
    Error::unsupported(config.refuse(key, value, expected).message())
}
