//! Gemma 3, text: sliding and global layers with rotary bases of their own, norms before and after both halves of a block, q and k
//! norms, scaled embeddings. Of multimodal checkpoints the text decoder is used.

use super::{Family, GgufConfig, gguf, hf, unsupported};
use crate::backend::Activation;
use crate::error::Result;
use crate::model::names::{Root, SANDWICH_NORM};
use crate::model::rope::{self, RopeSpec};
use crate::model::spec::Spec;
use crate::weights::ConfigReader;

pub static FAMILY: Family = Family {
    name: "gemma3",
    hf: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    gguf: &["gemma3"],
    spec_hf,
    spec_gguf,
    names: SANDWICH_NORM,
    hf_roots: &[
        Root::PLAIN,
        Root { body: "language_model.model.", head: "language_model." },
        Root { body: "model.language_model.", head: "" },
    ],
    hf_norm_offset: 1.0,
    gguf_pairs: false,
};

const DEFAULTS: hf::Defaults = hf::Defaults {
    vocab: Some(262_208),
    heads: Some(8),
    kv_heads: Some(4),
    head_dim: Some(256),
    context_length: 131_072,
    theta: 1e6,
    tied_head: true,
    activation: ("hidden_activation", "gelu_pytorch_tanh"),
    ..hf::Defaults::COMMON
};
const SLIDING_THETA: f64 = 10_000.0;
/// Every sixth layer is global.
const PERIOD: usize = 6;
/// Ropes of the spec.
const GLOBAL: usize = 0;
const SLIDING: usize = 1;

fn spec_hf(config: ConfigReader) -> Result<Spec> {
    let text = config.opt_object("text_config", "text_config.")?.unwrap_or(config);
    if text.opt_bool("use_bidirectional_attention")? == Some(true) {
        return Err(unsupported(text, "use_bidirectional_attention", "true", "false"));
    }
    let mut spec = hf::dense_without_rope(text, &DEFAULTS)?;
    if let Some(tied) = config.opt_bool("tie_word_embeddings")? {
        spec.tied_head = tied;
    }
    let head_dim = spec.layers[0].attention.head_dim;
    let global = rope::HfRope { head_dim, context_length: spec.context_length, default_theta: DEFAULTS.theta };
    let local = rope::HfRope { default_theta: SLIDING_THETA, ..global };
    spec.ropes = rope::from_hf_per_layer_kind(text, global, local)?.to_vec();
    spec.logit_softcap = text.opt_f32("final_logit_softcapping")?;

    let scale = text.opt_f32("query_pre_attn_scalar")?.unwrap_or(256.0).powf(-0.5);
    let softcap = text.opt_f32("attn_logit_softcapping")?;
    let period = match text.opt_usize("sliding_window_pattern")? {
        Some(period) => period,
        None => text.opt_usize("_sliding_window_pattern")?.unwrap_or(PERIOD),
    };
    let sliding = hf::sliding_layers(text, spec.layers.len(), |layer| !(layer + 1).is_multiple_of(period))?;
    let window = text.opt_usize("sliding_window")?.unwrap_or(4096);
    particulars(spec, scale, softcap, &sliding, window).checked(&config.path().display())
}

fn spec_gguf(config: &GgufConfig) -> Result<Spec> {
    let mut spec = gguf::dense(config)?;
    let theta = config.opt_f64("rope.freq_base_swa")?.unwrap_or(SLIDING_THETA);
    spec.ropes.push(RopeSpec::plain(theta, spec.ropes[GLOBAL].dims));

    // Files say nothing about the score scale: it is that of the head size, but for the 27B model.
    let attention = &spec.layers[0].attention;
    let scalar = if spec.layers.len() == 62 { spec.hidden / attention.heads } else { attention.head_dim };
    let softcap = config.opt_f64("attn_logit_softcapping")?.map(|cap| cap as f32);
    let layers = spec.layers.len();
    let window = config.opt_usize("attention.sliding_window")?.unwrap_or(0);
    let sliding = if window > 0 { config.sliding_layers(layers, PERIOD)? } else { vec![false; layers] };
    spec.layers.iter_mut().for_each(|layer| layer.mlp.activation = Activation::GeluTanh);
    particulars(spec, (scalar as f32).powf(-0.5), softcap, &sliding, window).checked(&config.place())
}

fn particulars(mut spec: Spec, scale: f32, softcap: Option<f32>, sliding: &[bool], window: usize) -> Spec {
    spec.embed_scale = (spec.hidden as f32).sqrt();
    for (layer, &sliding) in spec.layers.iter_mut().zip(sliding) {
        layer.post_norms = true;
        layer.attention.qk_norm = true;
        layer.attention.scale = scale;
        layer.attention.softcap = softcap;
        layer.attention.rope = if sliding { SLIDING } else { GLOBAL };
        layer.attention.window = sliding.then_some(window);
    }
    spec
}
