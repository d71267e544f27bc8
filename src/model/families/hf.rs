//! What all families read from `config.json` in the same way.

use super::unsupported;
use crate::backend::Activation;
use crate::error::Result;
use crate::model::rope::{self, HfRope};
use crate::model::spec::{Attention, Layer, MAX_LAYERS, Mlp, Spec, size};
use crate::weights::ConfigReader;

/// What a family's configuration class fills in where the file leaves a key out; `None` means that it may not.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    pub vocab: Option<usize>,
    pub heads: Option<usize>,
    /// Otherwise as many as heads.
    pub kv_heads: Option<usize>,
    /// Otherwise hidden size / heads.
    pub head_dim: Option<usize>,
    pub context_length: usize,
    pub rms_eps: f32,
    pub theta: f64,
    pub tied_head: bool,
    /// Key and value.
    pub activation: (&'static str, &'static str),
}

impl Defaults {
    pub const COMMON: Defaults = Defaults {
        vocab: None,
        heads: None,
        kv_heads: None,
        head_dim: None,
        context_length: 2048,
        rms_eps: 1e-6,
        theta: 10_000.0,
        tied_head: false,
        activation: ("hidden_act", "silu"),
    };
}

/// A decoder of equal layers that share one rotary embedding.
pub fn dense(config: ConfigReader, defaults: &Defaults) -> Result<Spec> {
    let mut spec = dense_without_rope(config, defaults)?;
    let head_dim = spec.layers[0].attention.head_dim;
    let model = HfRope { head_dim, context_length: spec.context_length, default_theta: defaults.theta };
    let rope = rope::from_hf(config, model)?;
    spec.context_length = rope.stretched_length(spec.context_length);
    spec.ropes = vec![rope];
    spec.checked(&config.path().display())
}

/// The same without ropes: the caller adds them and checks the result.
pub fn dense_without_rope(config: ConfigReader, defaults: &Defaults) -> Result<Spec> {
    refuse_quantised(config)?;
    let place = config.path().display();
    let sized = |key: &str, default: Option<usize>| {
        let value = match default {
            Some(default) => config.opt_usize(key)?.unwrap_or(default),
            None => config.usize(key)?,
        };
        size(key, value, &place)
    };
    let hidden = sized("hidden_size", None)?;
    let heads = sized("num_attention_heads", defaults.heads)?;
    let kv_heads = sized("num_key_value_heads", Some(defaults.kv_heads.unwrap_or(heads)))?;
    let head_dim = match config.opt_usize("head_dim")?.or(defaults.head_dim) {
        Some(head_dim) => size("head_dim", head_dim, &place)?,
        None if hidden % heads == 0 => hidden / heads,
        None => {
            let expected = format!("a multiple of num_attention_heads ({heads}), as there is no head_dim");
            return Err(config.refuse("hidden_size", hidden, expected));
        }
    };
    let layers = sized("num_hidden_layers", None)?;
    if layers > MAX_LAYERS {
        return Err(config.refuse("num_hidden_layers", layers, format!("at most {MAX_LAYERS}")));
    }
    let attention_bias = config.opt_bool("attention_bias")?.unwrap_or(false);
    let attention = Attention {
        heads,
        kv_heads,
        head_dim,
        window: None,
        rope: 0,
        scale: (head_dim as f32).powf(-0.5),
        softcap: None,
        qkv_bias: attention_bias,
        output_bias: attention_bias,
        qk_norm: false,
    };
    let mlp = Mlp {
        width: sized("intermediate_size", None)?,
        activation: activation(config, defaults.activation)?,
        bias: config.opt_bool("mlp_bias")?.unwrap_or(false),
    };
    Ok(Spec {
        hidden,
        vocab: sized("vocab_size", defaults.vocab)?,
        context_length: sized("max_position_embeddings", Some(defaults.context_length))?,
        rms_eps: config.opt_f32("rms_norm_eps")?.unwrap_or(defaults.rms_eps),
        embed_scale: 1.0,
        tied_head: config.opt_bool("tie_word_embeddings")?.unwrap_or(defaults.tied_head),
        logit_softcap: None,
        ropes: Vec::new(),
        layers: vec![Layer { attention, mlp, post_norms: false }; layers],
    })
}

/// Which layers slide: as `layer_types` lists them, or else by index.
pub fn sliding_layers(config: ConfigReader, layers: usize, otherwise: impl Fn(usize) -> bool) -> Result<Vec<bool>> {
    let Some(kinds) = config.opt_array("layer_types")? else { return Ok((0..layers).map(otherwise).collect()) };
    if kinds.len() != layers {
        return Err(config.refuse("layer_types", format!("{} entries", kinds.len()), format!("{layers}, one per layer")));
    }
    let sliding = kinds.iter().map(|kind| match kind.as_str() {
        Some("full_attention") => Ok(false),
        Some("sliding_attention") => Ok(true),
        _ => Err(unsupported(config, "layer_types", &kind.to_string(), "full_attention or sliding_attention")),
    });
    sliding.collect()
}

fn activation(config: ConfigReader, (key, default): (&str, &str)) -> Result<Activation> {
    match config.opt_str(key)?.unwrap_or(default) {
        "silu" | "swish" => Ok(Activation::Silu),
        "gelu_pytorch_tanh" | "gelu_new" => Ok(Activation::GeluTanh),
        "gelu" => Ok(Activation::Gelu),
        other => Err(unsupported(config, key, other, "silu, gelu_pytorch_tanh or gelu")),
    }
}

fn refuse_quantised(config: ConfigReader) -> Result<()> {
    let Some(quantisation) = config.opt_object("quantization_config", "quantization_config.")? else { return Ok(()) };
    let method = quantisation.opt_str("quant_method")?.unwrap_or("unnamed");
    Err(unsupported(quantisation, "quant_method", method, "tensors of F32, F16 or BF16, or a GGUF file"))
}
