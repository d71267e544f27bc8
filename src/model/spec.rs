//! What differs between decoder families, as data.

use super::rope::RopeSpec;
use crate::backend::Activation;
use crate::error::{Error, Result};

/// A decoder-only transformer: RMS norms, rotary attention over grouped heads, gated MLPs, residuals around both.
///
/// It says nothing about files: names, row orders and stored offsets are the family's ([`super::Family`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Width of a token's activation.
    pub hidden: usize,
    /// Rows of embedding table and head.
    pub vocab: usize,
    /// Longest sequence the model was trained for, in tokens, any RoPE scaling included.
    pub context_length: usize,
    /// Added to the mean square in every norm.
    pub rms_eps: f32,
    /// Multiplies token embeddings.
    pub embed_scale: f32,
    /// The head is the embedding table.
    pub tied_head: bool,
    /// `cap * tanh(logit / cap)`.
    pub logit_softcap: Option<f32>,
    /// Rotary embeddings, named by index from the layers.
    pub ropes: Vec<RopeSpec>,
    pub layers: Vec<Layer>,
}

/// One block: `x += attention(norm(x)); x += mlp(norm(x))`.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    pub attention: Attention,
    pub mlp: Mlp,
    /// The outputs of attention and MLP are normed too, before they are added (Gemma).
    pub post_norms: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    /// A query at p reads `p - window + 1 ..= p`; `None` reads all.
    pub window: Option<usize>,
    /// Index into [`Spec::ropes`].
    pub rope: usize,
    /// Multiplies q·k.
    pub scale: f32,
    /// `cap * tanh(score / cap)` after scaling.
    pub softcap: Option<f32>,
    /// q, k and v have biases.
    pub qkv_bias: bool,
    pub output_bias: bool,
    /// Each head of q and k is normed before rotation.
    pub qk_norm: bool,
}

/// `down(act(gate(x)) * up(x))`.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    pub width: usize,
    pub activation: Activation,
    pub bias: bool,
}

/// Above every model there is, and small enough that no product of two overflows.
const MAX_SIZE: usize = 1 << 26;
pub(super) const MAX_LAYERS: usize = 4096;

impl Spec {
    /// Refuses sizes that contradict each other. `place` is the file they came from.
    pub(super) fn checked(self, place: &dyn std::fmt::Display) -> Result<Self> {
        size("vocabulary", self.vocab, place)?;
        size("hidden size", self.hidden, place)?;
        if !(self.rms_eps >= 0.0 && self.rms_eps.is_finite()) {
            return Err(Error::format(format!("RMS norm epsilon: {}, expected a number of 0 or more, in {place}", self.rms_eps)));
        }
        if self.layers.is_empty() || self.layers.len() > MAX_LAYERS {
            return Err(Error::format(format!("layers: {}, expected 1..={MAX_LAYERS}, in {place}", self.layers.len())));
        }
        for layer in &self.layers {
            layer.attention.check(&self.ropes, place)?;
            size("MLP width", layer.mlp.width, place)?;
        }
        Ok(self)
    }

    /// Sets every layer's window by its index.
    pub(super) fn with_windows(mut self, window: impl Fn(usize) -> Option<usize>) -> Self {
        for (index, layer) in self.layers.iter_mut().enumerate() {
            layer.attention.window = window(index);
        }
        self
    }
}

impl Attention {
    fn check(&self, ropes: &[RopeSpec], place: &dyn std::fmt::Display) -> Result<()> {
        size("attention heads", self.heads, place)?;
        size("key/value heads", self.kv_heads, place)?;
        size("head size", self.head_dim, place)?;
        size("attention width", self.heads.saturating_add(2 * self.kv_heads).saturating_mul(self.head_dim), place)?;
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(Error::format(format!(
                "attention heads: {}, expected a multiple of the {} key/value heads, in {place}",
                self.heads, self.kv_heads
            )));
        }
        let dims = ropes[self.rope].dims;
        if dims == 0 || !dims.is_multiple_of(2) || dims > self.head_dim {
            return Err(Error::format(format!(
                "rotary dimensions: {dims}, expected an even number of at most the head size {}, in {place}",
                self.head_dim
            )));
        }
        if self.window == Some(0) {
            return Err(Error::format(format!("sliding window: 0, expected at least 1, in {place}")));
        }
        Ok(())
    }
}

/// Refuses 0 and what no model has.
pub(super) fn size(what: &str, value: usize, place: &dyn std::fmt::Display) -> Result<usize> {
    if (1..=MAX_SIZE).contains(&value) {
        Ok(value)
    } else {
        Err(Error::format(format!("{what}: {value}, expected 1..={MAX_SIZE}, in {place}")))
    }
}
