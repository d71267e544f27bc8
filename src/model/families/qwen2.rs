//! Qwen 2 and 2.5: Llama with biases on q, k and v, and optionally a sliding window on the later layers.

use super::{Family, GgufConfig, gguf, hf};
use crate::error::Result;
use crate::model::names::Root;
use crate::model::spec::Spec;
use crate::weights::ConfigReader;

pub static FAMILY: Family = Family {
    name: "qwen2",
    hf: &["Qwen2ForCausalLM"],
    gguf: &["qwen2"],
    spec_hf,
    spec_gguf,
    names: &[],
    hf_roots: &[Root::PLAIN],
    hf_norm_offset: 0.0,
    gguf_pairs: false,
};

fn spec_hf(config: ConfigReader) -> Result<Spec> {
    let mut spec = hf::dense(config, &hf::Defaults { context_length: 32_768, ..hf::Defaults::COMMON })?;
    spec.layers.iter_mut().for_each(|layer| layer.attention.qkv_bias = true);
    let windows = windows(config, spec.layers.len())?;
    Ok(spec.with_windows(|layer| windows[layer]))
}

fn spec_gguf(config: &GgufConfig) -> Result<Spec> {
    let mut spec = gguf::dense(config)?;
    spec.layers.iter_mut().for_each(|layer| layer.attention.qkv_bias = true);
    Ok(spec)
}

/// Each layer's window, as Qwen 2 and 3 configurations give it: only with `use_sliding_window`, and then by `layer_types` or
/// from layer `max_window_layers` on.
pub(super) fn windows(config: ConfigReader, layers: usize) -> Result<Vec<Option<usize>>> {
    let window = match config.opt_bool("use_sliding_window")?.unwrap_or(false) {
        true => Some(config.opt_usize("sliding_window")?.unwrap_or(4096)),
        false => None,
    };
    let first = config.opt_i64("max_window_layers")?.unwrap_or(28);
    let sliding = hf::sliding_layers(config, layers, |layer| window.is_some() && layer as i64 >= first)?;
    if window.is_none() && sliding.contains(&true) {
        return Err(config.refuse("layer_types", "sliding_attention", "full_attention only, as use_sliding_window is false"));
    }
    Ok(sliding.into_iter().map(|sliding| window.filter(|_| sliding)).collect())
}
