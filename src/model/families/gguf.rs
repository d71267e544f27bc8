//! What all families read from GGUF metadata in the same way.

use std::fmt;

use super::{Family, architecture};
use crate::backend::Activation;
use crate::error::{Error, Result};
use crate::model::bind::{Stored, decoded};
use crate::model::names::{Role, TensorId};
use crate::model::rope;
use crate::model::spec::{Attention, Layer, MAX_LAYERS, Mlp, Spec, size};
use crate::weights::gguf::{Gguf, Value};

/// The metadata of a GGUF file below its architecture's name, and the stored tensors whose presence or shape says something.
pub struct GgufConfig<'a> {
    file: &'a Gguf,
    architecture: &'a str,
    family: &'a Family,
    stored: Stored<'a>,
}

impl<'a> GgufConfig<'a> {
    /// `stored`: the weights, usually those of `file` itself.
    pub fn new(file: &'a Gguf, family: &'a Family, stored: Stored<'a>) -> Result<Self> {
        Ok(GgufConfig { file, architecture: architecture(file)?, family, stored })
    }

    /// `<architecture>.<key>`.
    pub fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// Where the values come from, for messages.
    pub fn place(&self) -> impl fmt::Display + 'a {
        self.file.path().display()
    }

    pub fn has(&self, key: &str) -> bool {
        self.file.metadata().get(&self.key(key)).is_some()
    }

    pub fn usize(&self, key: &str) -> Result<usize> {
        self.opt_usize(key)?.ok_or_else(|| self.missing(key))
    }

    pub fn opt_usize(&self, key: &str) -> Result<Option<usize>> {
        self.file.metadata().usize(&self.key(key))
    }

    pub fn f64(&self, key: &str) -> Result<f64> {
        self.opt_f64(key)?.ok_or_else(|| self.missing(key))
    }

    pub fn opt_f64(&self, key: &str) -> Result<Option<f64>> {
        Ok(self.file.metadata().f32(&self.key(key))?.map(f64::from))
    }

    pub fn opt_str(&self, key: &str) -> Result<Option<&'a str>> {
        self.file.metadata().str(&self.key(key))
    }

    /// A number for each of `layers` layers: files give one for all, or an array.
    pub fn per_layer(&self, key: &str, layers: usize) -> Result<Vec<usize>> {
        let Some(Value::Integers(values)) = self.file.metadata().get(&self.key(key)) else {
            return Ok(vec![self.usize(key)?; layers]);
        };
        if values.len() != layers {
            return Err(self.invalid(key, &format!("{} values", values.len()), &format!("{layers}, one per layer")));
        }
        let size = |value: i128| usize::try_from(value).map_err(|_| self.invalid(key, &value, "numbers of 0 or more"));
        values.iter().map(size).collect()
    }

    /// Which of `layers` layers have a sliding window: files give a period (the last layer of each is global), or a flag per layer.
    pub fn sliding_layers(&self, layers: usize, default_period: usize) -> Result<Vec<bool>> {
        let key = "attention.sliding_window_pattern";
        match self.file.metadata().get(&self.key(key)) {
            Some(Value::Bools(flags)) if flags.len() == layers => Ok(flags.iter().collect()),
            Some(Value::Bools(flags)) => {
                Err(self.invalid(key, &format!("{} flags", flags.len()), &format!("{layers}, one per layer")))
            }
            _ => {
                let period = self.opt_usize(key)?.unwrap_or(default_period);
                Ok((0..layers).map(|layer| (layer + 1).checked_rem(period) != Some(0)).collect())
            }
        }
    }

    /// The values of a one-dimensional tensor by its GGUF name; `None` where there is none.
    pub fn vector(&self, name: &str) -> Result<Option<Vec<f32>>> {
        let tensor = match self.file.tensor(name)? {
            Some(tensor) => Some(tensor.clone()),
            None => self.stored.source.tensor(name)?,
        };
        tensor.as_ref().map(decoded).transpose()
    }

    fn has_tensor(&self, id: TensorId) -> Result<bool> {
        Ok(self.stored.find(&id, self.family)?.is_some())
    }

    /// Rows of the embedding table.
    fn vocabulary(&self) -> Result<usize> {
        let table = TensorId::weight(None, Role::Embedding);
        let rows = self.stored.find(&table, self.family)?.and_then(|tensor| tensor.shape.first().copied());
        rows.ok_or_else(|| {
            let name = self.stored.naming.name(&table, self.family.names);
            Error::not_found(format!("{name}: missing, in {} (a file with only a vocabulary?)", self.stored.path.display()))
        })
    }

    fn missing(&self, key: &str) -> Error {
        Error::format(format!("{}: {} is missing", self.place(), self.key(key)))
    }

    /// A FORMAT error about the value of `key`.
    pub fn invalid(&self, key: &str, value: &dyn fmt::Display, expected: &str) -> Error {
        Error::format(format!("{}: {}: {value}, expected {expected}", self.place(), self.key(key)))
    }

    /// An UNSUPPORTED error about the value of `key`.
    pub fn unsupported(&self, key: &str, value: &dyn fmt::Display, expected: &str) -> Error {
        Error::unsupported(format!("{}: {}: {value}, expected {expected}", self.place(), self.key(key)))
    }
}

/// A decoder of equal layers that share one rotary embedding.
pub fn dense(config: &GgufConfig) -> Result<Spec> {
    if let Some(experts) = config.opt_usize("expert_count")?.filter(|&n| n > 0) {
        return Err(config.unsupported("expert_count", &experts, "0: mixtures of experts do not load"));
    }
    let place = config.place();
    let sized = |key: &str| size(&config.key(key), config.usize(key)?, &place);
    let hidden = sized("embedding_length")?;
    let layers = sized("block_count")?;
    if layers > MAX_LAYERS {
        return Err(config.invalid("block_count", &layers, &format!("at most {MAX_LAYERS}")));
    }
    let heads = config.per_layer("attention.head_count", layers)?;
    let kv_heads = match config.has("attention.head_count_kv") {
        true => config.per_layer("attention.head_count_kv", layers)?,
        false => heads.clone(),
    };
    let widths = config.per_layer("feed_forward_length", layers)?;
    let head_dim = head_dim(config, hidden, heads[0])?;
    let context_length = sized("context_length")?;
    let rope = rope::from_gguf(config, head_dim, context_length)?;
    let scale = config.opt_f64("attention.scale")?.unwrap_or((head_dim as f64).powf(-0.5)) as f32;
    let has_bias = |layer: usize, role: Role| config.has_tensor(TensorId::bias(layer, role));
    let layer = |index: usize| {
        Ok(Layer {
            attention: Attention {
                heads: heads[index],
                kv_heads: kv_heads[index],
                head_dim,
                window: None,
                rope: 0,
                scale,
                softcap: None,
                qkv_bias: has_bias(index, Role::Query)?,
                output_bias: has_bias(index, Role::Output)?,
                qk_norm: false,
            },
            mlp: Mlp { width: widths[index], activation: Activation::Silu, bias: has_bias(index, Role::Up)? },
            post_norms: false,
        })
    };
    let spec = Spec {
        hidden,
        vocab: config.vocabulary()?,
        context_length: rope.stretched_length(context_length),
        rms_eps: config.f64("attention.layer_norm_rms_epsilon")? as f32,
        embed_scale: 1.0,
        tied_head: !config.has_tensor(TensorId::weight(None, Role::Head))?,
        logit_softcap: config.opt_f64("final_logit_softcapping")?.map(|cap| cap as f32),
        ropes: vec![rope],
        layers: (0..layers).map(layer).collect::<Result<_>>()?,
    };
    spec.checked(&place)
}

fn head_dim(config: &GgufConfig, hidden: usize, heads: usize) -> Result<usize> {
    let key_length = config.opt_usize("attention.key_length")?;
    if let (Some(key), Some(value)) = (key_length, config.opt_usize("attention.value_length")?)
        && key != value
    {
        return Err(config.unsupported("attention.value_length", &value, &format!("the key length {key}")));
    }
    match key_length {
        Some(head_dim) => Ok(head_dim),
        None if heads > 0 && hidden.is_multiple_of(heads) => Ok(hidden / heads),
        None => Err(config.invalid(
            "embedding_length",
            &hidden,
            &format!("a multiple of the {heads} heads, as there is no key length"),
        )),
    }
}
