//! The decoder, emitted once per [`Spec`] as a flat [`Program`] over planned slots.
//!
//! Owns the order of operations and what is fused: q|k|v and gate|up are one weight each, made of parts that keep their names.
//! Never: files, or how a device does any of it.

use std::fmt;
use std::sync::Arc;

use super::names::{Role, TensorId};
use super::rope::RopeSpec;
use super::spec::{Attention, Layer, Mlp, Spec};
use crate::backend::{
    AttentionLayer, HeadNorm, KvGroup, Op, Program, Retention, RopeId, RopeTable, RowClass, Slot, SlotId, Tap, VectorId,
    WeightId, WeightUse,
};

/// A number of rows or columns, with what it is made of: errors about shapes say why a size was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Vocabulary(usize),
    Hidden(usize),
    MlpWidth(usize),
    HeadSize(usize),
    Heads { heads: usize, head_dim: usize },
    KvHeads { heads: usize, head_dim: usize },
}

impl Extent {
    pub fn size(self) -> usize {
        match self {
            Extent::Vocabulary(n) | Extent::Hidden(n) | Extent::MlpWidth(n) | Extent::HeadSize(n) => n,
            Extent::Heads { heads, head_dim } | Extent::KvHeads { heads, head_dim } => heads * head_dim,
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Vocabulary(_) => f.write_str("vocabulary"),
            Extent::Hidden(_) => f.write_str("hidden size"),
            Extent::MlpWidth(_) => f.write_str("MLP width"),
            Extent::HeadSize(_) => f.write_str("head size"),
            Extent::Heads { heads, head_dim } => write!(f, "{heads} heads × {head_dim}"),
            Extent::KvHeads { heads, head_dim } => write!(f, "{heads} KV heads × {head_dim}"),
        }
    }
}

/// A tensor that makes up consecutive rows of a weight, or consecutive values of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSlot {
    pub tensor: TensorId,
    pub rows: Extent,
}

/// What a [`WeightId`] of the program stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightSlot {
    pub parts: Vec<PartSlot>,
    pub cols: Extent,
    pub uses: WeightUse,
}

/// What a [`VectorId`] of the program stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorSlot {
    pub parts: Vec<PartSlot>,
}

/// A program, and which tensors its weights and vectors are.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    program: Arc<Program>,
    weights: Vec<WeightSlot>,
    vectors: Vec<VectorSlot>,
    ropes: Vec<RopeSpec>,
}

impl Decoder {
    pub fn build(spec: &Spec) -> Self {
        let mut builder =
            Builder { spec, program: Program::default(), slots: Vec::new(), weights: Vec::new(), vectors: Vec::new() };
        builder.emit();
        let Builder { program, weights, vectors, .. } = builder;
        Decoder { program: Arc::new(program), weights, vectors, ropes: spec.ropes.clone() }
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Indexed by [`WeightId`].
    pub fn weights(&self) -> &[WeightSlot] {
        &self.weights
    }

    /// Indexed by [`VectorId`].
    pub fn vectors(&self) -> &[VectorSlot] {
        &self.vectors
    }

    /// The rotary tables that a sequence of at most `length` tokens (prompt and output) needs instead of the program's.
    ///
    /// Empty for models whose tables do not depend on length, and for sequences short enough. Fixed when a sequence starts, and
    /// part of what makes its cached keys reusable.
    pub fn ropes_for(&self, length: usize) -> Vec<(RopeId, RopeTable)> {
        let dependent = self.ropes.iter().enumerate().filter(|(_, rope)| rope.is_length_dependent());
        let tables = dependent.map(|(index, rope)| (RopeId(index as u32), rope.table_for(length)));
        tables.filter(|(id, table)| self.program.ropes[id.0 as usize] != *table).collect()
    }
}

/// What a slot holds; slots of one purpose and width are shared by all layers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Residual,
    /// The normed input of a block, then its output.
    Branch,
    Qkv,
    Heads,
    GateUp,
    Activated,
    Selected,
}

struct Builder<'a> {
    spec: &'a Spec,
    program: Program,
    slots: Vec<(Purpose, usize)>,
    weights: Vec<WeightSlot>,
    vectors: Vec<VectorSlot>,
}

impl Builder<'_> {
    fn emit(&mut self) {
        let spec = self.spec;
        let hidden = Extent::Hidden(spec.hidden);
        self.program.vocab = spec.vocab;
        self.program.ropes = spec.ropes.iter().map(|rope| rope.table_for(0)).collect();

        let table_part = PartSlot { tensor: TensorId::weight(None, Role::Embedding), rows: Extent::Vocabulary(spec.vocab) };
        let table_uses = WeightUse { embed: true, linear: spec.tied_head };
        let table = self.weight(vec![table_part], hidden, table_uses);
        let x = self.slot(Purpose::Residual, spec.hidden);
        self.program.ops.push(Op::Embed { table, scale: spec.embed_scale, out: x });

        for (index, layer) in spec.layers.iter().enumerate() {
            self.tap(index, x, None);
            self.attention(index, layer, x);
            self.mlp(index, layer, x);
        }

        let final_norm = self.norm_weight(None, Role::FinalNorm);
        self.tap(spec.layers.len(), x, Some((final_norm, spec.rms_eps)));
        let selected = self.slot(Purpose::Selected, spec.hidden);
        self.program.ops.push(Op::SelectOutputs { x, out: selected });
        self.program.ops.push(Op::RmsNorm { x: selected, weight: final_norm, eps: spec.rms_eps, out: selected });
        let head = if spec.tied_head {
            table
        } else {
            let part = PartSlot { tensor: TensorId::weight(None, Role::Head), rows: Extent::Vocabulary(spec.vocab) };
            self.weight(vec![part], hidden, WeightUse { embed: false, linear: true })
        };
        self.program.ops.push(Op::Logits { x: selected, weight: head, softcap: spec.logit_softcap });
    }

    fn attention(&mut self, index: usize, layer: &Layer, x: SlotId) {
        let attention = &layer.attention;
        let Attention { heads, kv_heads, head_dim, .. } = *attention;
        let q = Extent::Heads { heads, head_dim };
        let kv = Extent::KvHeads { heads: kv_heads, head_dim };
        let branch = self.slot(Purpose::Branch, self.spec.hidden);
        let qkv = self.slot(Purpose::Qkv, q.size() + 2 * kv.size());
        let out = self.slot(Purpose::Heads, q.size());

        self.norm(Some(index), Role::AttentionNorm, x, branch);
        let parts = [(Role::Query, q), (Role::Key, kv), (Role::Value, kv)];
        self.linear(index, &parts, Extent::Hidden(self.spec.hidden), attention.qkv_bias, branch, qkv);
        let shape = self.attention_layer(attention);
        let q_norm = self.head_norm(index, attention, Role::QueryNorm);
        let k_norm = self.head_norm(index, attention, Role::KeyNorm);
        self.program.ops.push(Op::RopeKvWrite { qkv, attention: shape, q_norm, k_norm });
        self.program.ops.push(Op::Attention { qkv, attention: shape, out });
        self.linear(index, &[(Role::Output, Extent::Hidden(self.spec.hidden))], q, attention.output_bias, out, branch);
        if layer.post_norms {
            self.norm(Some(index), Role::PostAttentionNorm, branch, branch);
        }
        self.program.ops.push(Op::Add { x: branch, into: x });
    }

    fn mlp(&mut self, index: usize, layer: &Layer, x: SlotId) {
        let Mlp { width, activation, bias } = layer.mlp;
        let (hidden, width) = (Extent::Hidden(self.spec.hidden), Extent::MlpWidth(width));
        let branch = self.slot(Purpose::Branch, hidden.size());
        let gate_up = self.slot(Purpose::GateUp, 2 * width.size());
        let activated = self.slot(Purpose::Activated, width.size());

        self.norm(Some(index), Role::MlpNorm, x, branch);
        self.linear(index, &[(Role::Gate, width), (Role::Up, width)], hidden, bias, branch, gate_up);
        self.program.ops.push(Op::GatedAct { gate_up, act: activation, out: activated });
        self.linear(index, &[(Role::Down, hidden)], width, bias, activated, branch);
        if layer.post_norms {
            self.norm(Some(index), Role::PostMlpNorm, branch, branch);
        }
        self.program.ops.push(Op::Add { x: branch, into: x });
    }

    /// Finds or makes the layer's KV group, and takes the next place in it.
    fn attention_layer(&mut self, attention: &Attention) -> AttentionLayer {
        let Attention { heads, kv_heads, head_dim, window, rope, scale, softcap, .. } = *attention;
        let retention = window.map_or(Retention::Full, |window| Retention::Sliding { window });
        let groups = &mut self.program.kv_groups;
        let group = groups.iter().position(|g| g.kv_heads == kv_heads && g.head_dim == head_dim && g.retention == retention);
        let group = group.unwrap_or_else(|| {
            groups.push(KvGroup { layers: 0, kv_heads, head_dim, retention });
            groups.len() - 1
        });
        let layer = groups[group].layers;
        groups[group].layers += 1;
        AttentionLayer { group, layer, heads, kv_heads, head_dim, rope: RopeId(rope as u32), scale, softcap, window }
    }

    fn linear(&mut self, index: usize, parts: &[(Role, Extent)], cols: Extent, bias: bool, x: SlotId, out: SlotId) {
        let part = |tensor: fn(Option<usize>, Role) -> TensorId| {
            parts.iter().map(|&(role, rows)| PartSlot { tensor: tensor(Some(index), role), rows }).collect::<Vec<_>>()
        };
        let weight = self.weight(part(TensorId::weight), cols, WeightUse { embed: false, linear: true });
        let bias = bias.then(|| self.vector(part(TensorId::bias)));
        self.program.ops.push(Op::Linear { x, weight, bias, out });
    }

    /// What `x` holds now can be read as the hidden state of `layer`.
    fn tap(&mut self, layer: usize, x: SlotId, norm: Option<(VectorId, f32)>) {
        self.program.taps.push(Tap { layer: layer as u32, after: self.program.ops.len() - 1, x, norm });
    }

    fn norm_weight(&mut self, layer: Option<usize>, role: Role) -> VectorId {
        self.vector(vec![PartSlot { tensor: TensorId::weight(layer, role), rows: Extent::Hidden(self.spec.hidden) }])
    }

    fn norm(&mut self, layer: Option<usize>, role: Role, x: SlotId, out: SlotId) {
        let weight = self.norm_weight(layer, role);
        self.program.ops.push(Op::RmsNorm { x, weight, eps: self.spec.rms_eps, out });
    }

    fn head_norm(&mut self, index: usize, attention: &Attention, role: Role) -> Option<HeadNorm> {
        attention.qk_norm.then(|| {
            let part = PartSlot { tensor: TensorId::weight(index, role), rows: Extent::HeadSize(attention.head_dim) };
            HeadNorm { weight: self.vector(vec![part]), eps: self.spec.rms_eps }
        })
    }

    fn slot(&mut self, purpose: Purpose, width: usize) -> SlotId {
        let index = self.slots.iter().position(|&slot| slot == (purpose, width)).unwrap_or_else(|| {
            let rows = if purpose == Purpose::Selected { RowClass::Outputs } else { RowClass::Tokens };
            self.program.slots.push(Slot { rows, width });
            self.slots.push((purpose, width));
            self.slots.len() - 1
        });
        SlotId(index as u32)
    }

    fn weight(&mut self, parts: Vec<PartSlot>, cols: Extent, uses: WeightUse) -> WeightId {
        self.weights.push(WeightSlot { parts, cols, uses });
        WeightId(self.weights.len() as u32 - 1)
    }

    fn vector(&mut self, parts: Vec<PartSlot>) -> VectorId {
        self.vectors.push(VectorSlot { parts });
        VectorId(self.vectors.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests;
