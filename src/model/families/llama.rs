//! Llama 1 to 3 and what has its shape (SmolLM2 and many others). GGUF files of Mistral models call themselves `llama` too.

use super::{Family, GgufConfig, gguf, hf};
use crate::error::Result;
use crate::model::names::Root;
use crate::model::spec::Spec;
use crate::weights::ConfigReader;

pub static FAMILY: Family = Family {
    name: "llama",
    hf: &["LlamaForCausalLM"],
    gguf: &["llama"],
    spec_hf,
    spec_gguf,
    names: &[],
    hf_roots: &[Root::PLAIN],
    hf_norm_offset: 0.0,
    gguf_pairs: true,
};

fn spec_hf(config: ConfigReader) -> Result<Spec> {
    hf::dense(config, &hf::Defaults { context_length: 2048, ..hf::Defaults::COMMON })
}

fn spec_gguf(config: &GgufConfig) -> Result<Spec> {
    let spec = gguf::dense(config)?;
    let (dims, head_dim) = (spec.ropes[0].dims, spec.layers[0].attention.head_dim);
    // Rows are stored in rotary pairs over the whole head.
    if dims != head_dim {
        return Err(config.unsupported("rope.dimension_count", &dims, &format!("the head size {head_dim}")));
    }
    Ok(spec)
}
