//! Small random models for tests of the CPU backend: their program and weights, a session that runs steps of them over pages, and a
//! reference in double precision that knows neither pages nor steps.
#![allow(dead_code)] // each test binary uses its part

pub mod reference;
pub mod session;

use std::sync::Arc;

use tactus::backend::{
    Activation, AttentionLayer, Backend, HeadNorm, KvGroup, Op, Packed, Program, Retention, RopeId, RopeTable, RowClass,
    RowOrder, Slot, SlotId, VectorId, Weight, WeightId, WeightPart, WeightUse, philox,
};
use tactus::weights::{Bytes, StoredTensor, StoredType};

/// A reproducible source of numbers.
pub struct Random {
    seed: u64,
    draw: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Random { seed, draw: 0 }
    }

    pub fn uniform(&mut self) -> f32 {
        self.draw += 1;
        philox::uniform(self.seed, self.draw)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() as f64 * n as f64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn values(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| (self.uniform() * 2.0 - 1.0) * size).collect()
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

/// The shape of a model.
#[derive(Clone, Debug)]
pub struct Shape {
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub rotated: usize,
    pub mlp: usize,
    pub vocab: usize,
    pub act: Activation,
    /// Of every second layer.
    pub window: Option<usize>,
    pub softcap: Option<f32>,
    pub logit_softcap: Option<f32>,
    pub head_norms: bool,
    pub biases: bool,
    /// A norm between a block and the residual.
    pub post_norms: bool,
    pub embed_scale: f32,
    pub tied: bool,
}

impl Shape {
    pub const LLAMA: Shape = Shape {
        layers: 2,
        hidden: 48,
        heads: 6,
        kv_heads: 2,
        head_dim: 16,
        rotated: 16,
        mlp: 96,
        vocab: 250,
        act: Activation::Silu,
        window: None,
        softcap: None,
        logit_softcap: None,
        head_norms: false,
        biases: false,
        post_norms: false,
        embed_scale: 1.0,
        tied: false,
    };

    pub const GEMMA: Shape = Shape {
        layers: 4,
        hidden: 40,
        heads: 4,
        kv_heads: 1,
        head_dim: 24,
        rotated: 24,
        mlp: 72,
        vocab: 203,
        act: Activation::GeluTanh,
        window: Some(37),
        softcap: Some(20.0),
        logit_softcap: Some(15.0),
        head_norms: true,
        biases: false,
        post_norms: true,
        embed_scale: 6.3245554,
        tied: true,
    };
}

/// A program with its weights as f32.
pub struct Model {
    pub program: Arc<Program>,
    /// Rows, columns, values.
    pub weights: Vec<(usize, usize, Vec<f32>)>,
    pub vectors: Vec<Vec<f32>>,
}

impl Model {
    pub fn random(shape: &Shape, seed: u64) -> Model {
        let mut b = Builder { random: Random::new(seed), program: Program::default(), weights: Vec::new(), vectors: Vec::new() };
        b.build(shape);
        Model { program: Arc::new(b.program), weights: b.weights, vectors: b.vectors }
    }

    pub fn pack(&self, backend: &dyn Backend) -> (Arc<[Packed]>, Arc<[Packed]>) {
        self.pack_as(backend, StoredType::F32)
    }

    /// Packs the weights rounded to F32, F16, BF16 or Q8_0.
    pub fn pack_as(&self, backend: &dyn Backend, ty: StoredType) -> (Arc<[Packed]>, Arc<[Packed]>) {
        let uses = WeightUse { embed: true, linear: true };
        let weights = self.weights.iter().map(|(rows, cols, values)| {
            let tensor = StoredTensor {
                name: "w".into(),
                ty,
                shape: vec![*rows, *cols],
                data: Bytes::from_vec(stored(values, ty)).into(),
            };
            let parts = vec![WeightPart { name: "w".into(), tensor, order: RowOrder::AsStored }];
            backend.pack(&Weight { rows: *rows, cols: *cols, parts }, uses).unwrap()
        });
        let vectors = self.vectors.iter().map(|v| backend.pack_vector(v).unwrap());
        (weights.collect(), vectors.collect())
    }
}

fn stored(values: &[f32], ty: StoredType) -> Vec<u8> {
    match ty {
        StoredType::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        StoredType::F16 => values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect(),
        StoredType::BF16 => values.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        StoredType::Q8_0 => {
            let block = |b: &[f32]| {
                let scale = b.iter().fold(0f32, |m, v| m.max(v.abs())) / 127.0;
                let codes = b.iter().map(move |v| (v / scale).round() as i8 as u8);
                half::f16::from_f32(scale).to_le_bytes().into_iter().chain(codes).collect::<Vec<u8>>()
            };
            values.chunks_exact(32).flat_map(block).collect()
        }
        other => panic!("no encoder of {other}"),
    }
}

struct Builder {
    random: Random,
    program: Program,
    weights: Vec<(usize, usize, Vec<f32>)>,
    vectors: Vec<Vec<f32>>,
}

impl Builder {
    fn build(&mut self, s: &Shape) {
        self.program.vocab = s.vocab;
        self.program.ropes = [10_000f32, 1_000.0]
            .map(|base| RopeTable {
                inv_freq: (0..s.rotated / 2).map(|i| base.powf(-2.0 * i as f32 / s.rotated as f32)).collect(),
                factor: 1.0,
            })
            .to_vec();
        let x = self.slot(RowClass::Tokens, s.hidden);
        let branch = self.slot(RowClass::Tokens, s.hidden);
        let qkv = self.slot(RowClass::Tokens, (s.heads + 2 * s.kv_heads) * s.head_dim);
        let heads = self.slot(RowClass::Tokens, s.heads * s.head_dim);
        let gate_up = self.slot(RowClass::Tokens, 2 * s.mlp);
        let activated = self.slot(RowClass::Tokens, s.mlp);
        let selected = self.slot(RowClass::Outputs, s.hidden);
        let table = self.weight(s.vocab, s.hidden, 1.0);
        self.op(Op::Embed { table, scale: s.embed_scale, out: x });
        for layer in 0..s.layers {
            let window = s.window.filter(|_| layer % 2 == 1);
            let attention = self.attention(s, window);
            self.norm(s.hidden, x, branch);
            self.linear(s.hidden, (s.heads + 2 * s.kv_heads) * s.head_dim, s.biases, branch, qkv);
            let norm = |b: &mut Self| s.head_norms.then(|| HeadNorm { weight: b.vector(s.head_dim, 0.5, 1.0), eps: 1e-6 });
            let (q_norm, k_norm) = (norm(self), norm(self));
            self.op(Op::RopeKvWrite { qkv, attention, q_norm, k_norm });
            self.op(Op::Attention { qkv, attention, out: heads });
            self.linear(s.heads * s.head_dim, s.hidden, s.biases, heads, branch);
            if s.post_norms {
                self.norm(s.hidden, branch, branch);
            }
            self.op(Op::Add { x: branch, into: x });
            self.norm(s.hidden, x, branch);
            self.linear(s.hidden, 2 * s.mlp, s.biases, branch, gate_up);
            self.op(Op::GatedAct { gate_up, act: s.act, out: activated });
            self.linear(s.mlp, s.hidden, s.biases, activated, branch);
            if s.post_norms {
                self.norm(s.hidden, branch, branch);
            }
            self.op(Op::Add { x: branch, into: x });
        }
        self.op(Op::SelectOutputs { x, out: selected });
        self.norm(s.hidden, selected, selected);
        let head = if s.tied { table } else { self.weight(s.vocab, s.hidden, 1.0) };
        self.op(Op::Logits { x: selected, weight: head, softcap: s.logit_softcap });
    }

    fn attention(&mut self, s: &Shape, window: Option<usize>) -> AttentionLayer {
        let retention = window.map_or(Retention::Full, |window| Retention::Sliding { window });
        let groups = &mut self.program.kv_groups;
        let group = groups.iter().position(|g| g.retention == retention).unwrap_or_else(|| {
            groups.push(KvGroup { layers: 0, kv_heads: s.kv_heads, head_dim: s.head_dim, retention });
            groups.len() - 1
        });
        let layer = groups[group].layers;
        groups[group].layers += 1;
        AttentionLayer {
            group,
            layer,
            heads: s.heads,
            kv_heads: s.kv_heads,
            head_dim: s.head_dim,
            rope: RopeId(window.is_some() as u32),
            scale: (s.head_dim as f32).powf(-0.5) * 2.0,
            softcap: s.softcap,
            window,
        }
    }

    fn op(&mut self, op: Op) {
        self.program.ops.push(op);
    }

    fn norm(&mut self, n: usize, x: SlotId, out: SlotId) {
        let weight = self.vector(n, 0.5, 1.0);
        self.op(Op::RmsNorm { x, weight, eps: 1e-5, out });
    }

    fn linear(&mut self, cols: usize, rows: usize, bias: bool, x: SlotId, out: SlotId) {
        let weight = self.weight(rows, cols, (3.0 / cols as f32).sqrt());
        let bias = bias.then(|| self.vector(rows, 0.5, 0.0));
        self.op(Op::Linear { x, weight, bias, out });
    }

    fn slot(&mut self, rows: RowClass, width: usize) -> SlotId {
        self.program.slots.push(Slot { rows, width });
        SlotId(self.program.slots.len() as u32 - 1)
    }

    fn weight(&mut self, rows: usize, cols: usize, size: f32) -> WeightId {
        let values = self.random.values(rows * cols, size);
        self.weights.push((rows, cols, values));
        WeightId(self.weights.len() as u32 - 1)
    }

    fn vector(&mut self, n: usize, size: f32, around: f32) -> VectorId {
        let values = self.random.values(n, size).into_iter().map(|v| v + around).collect();
        self.vectors.push(values);
        VectorId(self.vectors.len() as u32 - 1)
    }
}
