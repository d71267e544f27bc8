//! Mistral 7B and its kin: Llama with a sliding window on every layer.

use super::{Family, hf, llama};
use crate::error::Result;
use crate::model::spec::Spec;
use crate::weights::ConfigReader;

pub static FAMILY: Family = Family {
    name: "mistral",
    hf: &["MistralForCausalLM"],
    // Its converter writes `llama`, without the window.
    gguf: &[],
    spec_hf,
    ..llama::FAMILY
};

fn spec_hf(config: ConfigReader) -> Result<Spec> {
    let defaults = hf::Defaults { context_length: 131_072, kv_heads: Some(8), ..hf::Defaults::COMMON };
    // `null` means no window; a configuration without the key means the one of the first model.
    let window = match config.keys().any(|key| key == "sliding_window") {
        true => config.opt_usize("sliding_window")?,
        false => Some(4096),
    };
    Ok(hf::dense(config, &defaults)?.with_windows(|_| window))
}
