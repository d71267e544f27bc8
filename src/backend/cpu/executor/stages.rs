//! From instructions to stages: what members of the pool do between two barriers.
//!
//! Neighbouring operations on single rows become one stage, which takes each row through all of them while it is in cache.
//! Activations are converted right after they are made, once for all the products that read them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::super::attention::Shape;
use super::super::linear::{ActFormat, PackedMatrix, Store};
use crate::backend::compile::arena::Buffer;
use crate::backend::compile::lower::{Instr, Lowered, ValueId};
use crate::backend::{Activation, AttentionLayer, HeadNorm, Program, RowClass};

/// Index of a buffer: one row after the other, `row_bytes` each.
pub(super) type BufferId = usize;

#[derive(Clone, Copy, Debug)]
pub(super) struct BufferSpec {
    pub class: RowClass,
    /// A multiple of 64.
    pub row_bytes: usize,
    pub width: usize,
}

/// Activations in the forms that products read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acts {
    pub cols: usize,
    pub f32: BufferId,
    pub bf16: Option<BufferId>,
    pub q8: Option<BufferId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum RowOp {
    /// Cosines and sines of the row's position.
    Angles {
        rope: usize,
        out: BufferId,
    },
    Embed {
        table: usize,
        scale: f32,
        out: BufferId,
    },
    Norm {
        x: BufferId,
        weight: usize,
        eps: f32,
        out: BufferId,
    },
    Add {
        x: BufferId,
        into: BufferId,
    },
    RopeKv {
        qkv: BufferId,
        angles: BufferId,
        attention: AttentionLayer,
        q_norm: Option<HeadNorm>,
        k_norm: Option<HeadNorm>,
    },
    /// Puts together the rows that a split attention left in parts.
    Merge {
        plan: usize,
        out: BufferId,
    },
    Gated {
        gate_up: BufferId,
        act: Activation,
        out: BufferId,
    },
    Gather {
        x: BufferId,
        out: BufferId,
    },
    Copy {
        x: BufferId,
        out: BufferId,
    },
    Convert {
        x: BufferId,
        format: ActFormat,
        out: BufferId,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// `ops[range]` on each row. `cost`: elements that a row touches.
    Rows {
        class: RowClass,
        ops: Range<usize>,
        cost: usize,
    },
    Linear {
        class: RowClass,
        x: Acts,
        weight: usize,
        bias: Option<usize>,
        out: BufferId,
        store: Store,
    },
    Attention {
        class: RowClass,
        plan: usize,
        attention: AttentionLayer,
        qkv: BufferId,
        out: BufferId,
    },
    Logits {
        x: Acts,
        weight: usize,
        softcap: Option<f32>,
    },
}

/// Attention layers of one shape and row class: their tasks are planned once per step.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanSpec {
    pub shape: Shape,
    pub class: RowClass,
}

pub(super) struct Stages {
    pub stages: Vec<Stage>,
    pub ops: Vec<RowOp>,
    pub buffers: Vec<BufferSpec>,
    pub lifetimes: Vec<(usize, usize)>,
    pub plans: Vec<PlanSpec>,
    /// Buffers of hidden states, by layer.
    pub taps: Vec<(u32, BufferId)>,
}

/// Forms the stages of a lowered program.
pub(super) fn form(program: &Program, lowered: &Lowered, weights: &[Arc<PackedMatrix>]) -> Stages {
    let mut former = Former {
        program,
        lowered,
        weights,
        out: Stages {
            stages: Vec::new(),
            ops: Vec::new(),
            buffers: Vec::new(),
            lifetimes: Vec::new(),
            plans: Vec::new(),
            taps: Vec::new(),
        },
        angles: HashMap::new(),
        converted: HashMap::new(),
    };
    for value in &lowered.values {
        former.buffer(value.class, value.width, value.width * 4);
    }
    former.ropes();
    let mut at = 0;
    while at < lowered.instrs.len() {
        at += former.instr(at);
    }
    // Read when the step is over.
    for &(_, value) in &lowered.taps {
        former.touch(value);
    }
    former.out.taps = lowered.taps.clone();
    former.out
}

impl Stages {
    /// The buffers with their sizes for steps within the limits.
    pub(super) fn sized(&self, max_rows: usize, max_outputs: usize) -> Option<Vec<Buffer>> {
        let sized = self.buffers.iter().zip(&self.lifetimes).map(|(spec, &(first, last))| {
            let rows = match spec.class {
                RowClass::Tokens => max_rows,
                RowClass::Outputs => max_outputs,
            };
            Some(Buffer { bytes: spec.row_bytes.checked_mul(rows)?, first, last })
        });
        sized.collect()
    }
}

struct Former<'a> {
    program: &'a Program,
    lowered: &'a Lowered,
    weights: &'a [Arc<PackedMatrix>],
    out: Stages,
    /// Buffer of each rope's cosines and sines.
    angles: HashMap<usize, BufferId>,
    /// Converted forms of a value's present content.
    converted: HashMap<(ValueId, ActFormat), BufferId>,
}

impl Former<'_> {
    /// Forms instruction `at`; returns how many it took.
    fn instr(&mut self, at: usize) -> usize {
        match self.lowered.instrs[at] {
            Instr::Embed { table, scale, out } => self.row_op(RowOp::Embed { table, scale, out }, &[], out),
            Instr::Norm { x, weight, eps, out } => self.row_op(RowOp::Norm { x, weight, eps, out }, &[x], out),
            Instr::Add { x, into } => self.row_op(RowOp::Add { x, into }, &[x], into),
            Instr::Gated { gate_up, act, out } => self.row_op(RowOp::Gated { gate_up, act, out }, &[gate_up], out),
            Instr::Gather { x, out } => self.row_op(RowOp::Gather { x, out }, &[x], out),
            Instr::Copy { x, out } => self.row_op(RowOp::Copy { x, out }, &[x], out),
            Instr::RopeKv { qkv, attention, q_norm, k_norm } => {
                let angles = self.angles[&(attention.rope.0 as usize)];
                self.row_op(RowOp::RopeKv { qkv, angles, attention, q_norm, k_norm }, &[angles], qkv);
            }
            Instr::Attention { qkv, attention, out } => {
                let class = self.class(out);
                let plan = self.plan(&attention, class);
                self.stage(Stage::Attention { class, plan, attention, qkv, out }, &[qkv, out]);
                self.row_op(RowOp::Merge { plan, out }, &[], out);
            }
            Instr::Linear { x, weight, bias, out } => {
                let x = self.acts(x, at);
                let class = self.class(out);
                if let Some(&Instr::Add { x: added, into }) = self.lowered.instrs.get(at + 1)
                    && added == out
                    && into != out
                    && self.readers(out) == 1
                {
                    self.stage(Stage::Linear { class, x, weight, bias, out: into, store: Store::AddTo }, &[into]);
                    self.changed(into);
                    return 2;
                }
                self.stage(Stage::Linear { class, x, weight, bias, out, store: Store::Write }, &[out]);
            }
            Instr::Logits { x, weight, softcap } => {
                let x = self.acts(x, at);
                self.stage(Stage::Logits { x, weight, softcap }, &[]);
            }
        }
        1
    }

    /// The cosines and sines of every rope in use, before everything else.
    fn ropes(&mut self) {
        for instr in &self.lowered.instrs {
            if let Instr::RopeKv { attention, .. } = instr
                && !self.angles.contains_key(&(attention.rope.0 as usize))
            {
                let rope = attention.rope.0 as usize;
                let width = 2 * self.program.ropes[rope].inv_freq.len();
                let out = self.buffer(RowClass::Tokens, width, width * 4);
                self.angles.insert(rope, out);
                self.row_op(RowOp::Angles { rope, out }, &[], out);
            }
        }
    }

    /// The forms of `x` that the product at instruction `at` reads. Converts `x` where that has not been done, also to what later
    /// products want of it.
    fn acts(&mut self, x: ValueId, at: usize) -> Acts {
        let wanted = |format: ActFormat| {
            self.lowered.instrs[at..].iter().any(|instr| match *instr {
                Instr::Linear { x: read, weight, .. } | Instr::Logits { x: read, weight, .. } => {
                    read == x && self.weights[weight].needs(format)
                }
                _ => false,
            })
        };
        let formats = [ActFormat::Bf16, ActFormat::Q8].map(|format| wanted(format).then_some(format));
        let cols = self.lowered.values[x].width;
        let [bf16, q8] = formats.map(|format| {
            format.map(|format| match self.converted.get(&(x, format)) {
                Some(&buffer) => buffer,
                None => {
                    let out = self.buffer(self.class(x), cols, format.row_bytes(cols));
                    self.row_op(RowOp::Convert { x, format, out }, &[x], out);
                    self.converted.insert((x, format), out);
                    out
                }
            })
        });
        Acts { cols, f32: x, bf16, q8 }
    }

    fn plan(&mut self, a: &AttentionLayer, class: RowClass) -> usize {
        let shape = Shape {
            heads: a.heads,
            kv_heads: a.kv_heads,
            head_dim: a.head_dim,
            value_width: a.head_dim.next_multiple_of(16),
            scale: a.scale,
            softcap: a.softcap,
            window: a.window,
        };
        let found = self.out.plans.iter().position(|p| p.class == class && p.shape == shape);
        found.unwrap_or_else(|| {
            self.out.plans.push(PlanSpec { shape, class });
            self.out.plans.len() - 1
        })
    }

    /// Adds an operation on rows, to the last stage where that is one on the same rows.
    fn row_op(&mut self, op: RowOp, reads: &[BufferId], out: BufferId) {
        let class = self.class(out);
        let cost = reads.iter().chain([&out]).map(|&id| self.out.buffers[id].width).sum();
        self.out.ops.push(op);
        let end = self.out.ops.len();
        match self.out.stages.last_mut() {
            Some(Stage::Rows { class: last, ops, cost: so_far }) if *last == class => {
                ops.end = end;
                *so_far += cost;
            }
            _ => self.out.stages.push(Stage::Rows { class, ops: end - 1..end, cost }),
        }
        for &id in reads.iter().chain([&out]) {
            self.touch(id);
        }
        self.changed(out);
    }

    fn stage(&mut self, stage: Stage, buffers: &[BufferId]) {
        let acts = match stage {
            Stage::Linear { x, .. } | Stage::Logits { x, .. } => Some(x),
            _ => None,
        };
        self.out.stages.push(stage);
        buffers.iter().for_each(|&id| self.touch(id));
        if let Some(acts) = acts {
            [Some(acts.f32), acts.bf16, acts.q8].into_iter().flatten().for_each(|id| self.touch(id));
        }
    }

    /// Extends a buffer's life to the last stage.
    fn touch(&mut self, id: BufferId) {
        let now = self.out.stages.len() - 1;
        let life = &mut self.out.lifetimes[id];
        *life = (life.0.min(now), now);
    }

    /// Forgets the converted forms of a value that changed.
    fn changed(&mut self, value: ValueId) {
        self.converted.retain(|&(of, _), _| of != value);
    }

    fn buffer(&mut self, class: RowClass, width: usize, bytes: usize) -> BufferId {
        self.out.buffers.push(BufferSpec { class, row_bytes: bytes.next_multiple_of(64), width });
        self.out.lifetimes.push((usize::MAX, 0));
        self.out.buffers.len() - 1
    }

    fn class(&self, id: BufferId) -> RowClass {
        self.out.buffers[id].class
    }

    fn readers(&self, value: ValueId) -> usize {
        self.lowered.instrs.iter().flat_map(Instr::reads).flatten().filter(|&read| read == value).count()
    }
}
