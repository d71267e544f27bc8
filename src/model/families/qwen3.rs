//! Qwen 3, the dense models: norms on each head of q and k instead of Qwen 2's biases.

use super::{Family, GgufConfig, gguf, hf, qwen2};
use crate::error::Result;
use crate::model::spec::Spec;
use crate::weights::ConfigReader;

pub static FAMILY: Family =
    Family { name: "qwen3", hf: &["Qwen3ForCausalLM"], gguf: &["qwen3"], spec_hf, spec_gguf, ..qwen2::FAMILY };

fn spec_hf(config: ConfigReader) -> Result<Spec> {
    let mut spec = hf::dense(config, &hf::Defaults { context_length: 32_768, head_dim: Some(128), ..hf::Defaults::COMMON })?;
    spec.layers.iter_mut().for_each(|layer| layer.attention.qk_norm = true);
    let windows = qwen2::windows(config, spec.layers.len())?;
    Ok(spec.with_windows(|layer| windows[layer]))
}

fn spec_gguf(config: &GgufConfig) -> Result<Spec> {
    let mut spec = gguf::dense(config)?;
    spec.layers.iter_mut().for_each(|layer| layer.attention.qk_norm = true);
    Ok(spec)
}
