//! The program: what the decoder asks of a backend, as flat data.
//!
//! `model` emits it once per architecture; a backend compiles it once (fuses, plans, captures) and runs it every step. Ops read
//! and write *slots*, activation buffers of a fixed width whose number of rows is that of the step. No op allocates, reads a
//! device value on the host, or branches on one.

/// Index into [`Program::slots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(pub u32);

/// Index into the weights handed to [`Backend::executor`](super::Backend::executor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightId(pub u32);

/// Index into the vectors handed to [`Backend::executor`](super::Backend::executor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorId(pub u32);

/// Index into [`Program::ropes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RopeId(pub u32);

/// Which rows of a step a slot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowClass {
    /// One per token of the step.
    Tokens,
    /// One per listed output ([`StepBatch::outputs`](super::StepBatch::outputs)).
    Outputs,
}

/// An activation buffer, `[rows, width]`, row-major. f32 unless a backend knows better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub rows: RowClass,
    pub width: usize,
}

/// Layers whose keys and values have one row shape and are kept equally long. A resident has one page table per group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvGroup {
    pub layers: usize,
    pub kv_heads: usize,
    /// Width of a key and of a value.
    pub head_dim: usize,
    pub retention: Retention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Every position stays readable.
    Full,
    /// A query at position p reads positions `p - window + 1 ..= p`; pages wholly below may be given back.
    Sliding { window: usize },
}

/// Rotary embedding: inverse frequencies and the factor on cosine and sine (YaRN's attention factor; 1 otherwise).
///
/// Rotates the first `2 * inv_freq.len()` dimensions of a head in half-split order: dimension i pairs with
/// `i + inv_freq.len()`. Su et al. 2021, in the layout of `transformers`.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeTable {
    pub inv_freq: Vec<f32>,
    pub factor: f32,
}

/// RMS norm over each head's `head_dim` values (Qwen 3, Gemma 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadNorm {
    pub weight: VectorId,
    pub eps: f32,
}

/// One attention layer's shape and place in the KV pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionLayer {
    /// Index into [`Program::kv_groups`].
    pub group: usize,
    /// Layer within its group.
    pub layer: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub rope: RopeId,
    /// Multiplies q·k.
    pub scale: f32,
    /// `cap * tanh(score / cap)` after scaling.
    pub softcap: Option<f32>,
    /// A query at p reads `p - window + 1 ..= p`.
    pub window: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Silu,
    /// The tanh approximation, `gelu_pytorch_tanh`.
    GeluTanh,
    /// The exact form with erf.
    Gelu,
}

/// One operation. Rows are independent of each other except through the KV pages.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `out[r] = table[token[r]] * scale`.
    Embed { table: WeightId, scale: f32, out: SlotId },
    /// `out[r] = x[r] / rms(x[r]) * weight`, rms over the whole row with `eps` added to the mean square. `out` may be `x`.
    RmsNorm { x: SlotId, weight: VectorId, eps: f32, out: SlotId },
    /// `out[r] = weight · x[r] (+ bias)`.
    Linear { x: SlotId, weight: WeightId, bias: Option<VectorId>, out: SlotId },
    /// `into[r] += x[r]`.
    Add { x: SlotId, into: SlotId },
    /// `qkv[r]` is `[heads q | kv_heads k | kv_heads v]`, each `head_dim` wide. Norms (where given) and rotates q in place and k,
    /// and writes k and v of every row to the page of its position.
    RopeKvWrite { qkv: SlotId, attention: AttentionLayer, q_norm: Option<HeadNorm>, k_norm: Option<HeadNorm> },
    /// Softmax attention of the q part of `qkv` over the pages of each row's resident, causal. `out[r]`: `[heads, head_dim]`.
    /// Online softmax after Milakov & Gimelshein 2018, accumulated in order of absolute position.
    Attention { qkv: SlotId, attention: AttentionLayer, out: SlotId },
    /// `gate_up[r]` is `[gate | up]`; `out[r] = act(gate) * up`.
    GatedAct { gate_up: SlotId, act: Activation, out: SlotId },
    /// Gathers the rows listed as outputs.
    SelectOutputs { x: SlotId, out: SlotId },
    /// Logits of the output rows: `weight · x`, then `cap * tanh(l / cap)`.
    Logits { x: SlotId, weight: WeightId, softcap: Option<f32> },
}

/// A place where a row's hidden state can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// 0: the scaled embeddings; i: the input of layer i; the number of layers: after the final norm. As `transformers` counts its
    /// `hidden_states`.
    pub layer: u32,
    /// Index of the op after which slot `x` holds it.
    pub after: usize,
    pub x: SlotId,
    /// Weight and epsilon of an RMS norm that comes in between.
    pub norm: Option<(VectorId, f32)>,
}

/// A decoder over planned slots.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub slots: Vec<Slot>,
    pub ropes: Vec<RopeTable>,
    pub kv_groups: Vec<KvGroup>,
    pub ops: Vec<Op>,
    /// Cost nothing in steps that do not ask for them.
    pub taps: Vec<Tap>,
    /// Rows of the head: the length of a logits row.
    pub vocab: usize,
}
