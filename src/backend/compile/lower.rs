//! From a program over slots to instructions over values, checked against the weights.
//!
//! A *value* is what an op writes to a slot; ops that change a slot in place keep its value. Results that only the listed outputs
//! need are computed for those rows alone: the rows are gathered as early as possible, which after the last layer's keys are
//! written means most of that layer and the head.

use crate::backend::{Activation, AttentionLayer, HeadNorm, Op, Program, Retention, RowClass, SlotId, Tap, VectorId, WeightId};
use crate::error::{Error, Result};

pub(in crate::backend) type ValueId = usize;

#[derive(Clone, Copy, Debug)]
pub(in crate::backend) struct Value {
    pub class: RowClass,
    pub width: usize,
}

/// An op on values. Weights and vectors are indices.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend) enum Instr {
    Embed {
        table: usize,
        scale: f32,
        out: ValueId,
    },
    Norm {
        x: ValueId,
        weight: usize,
        eps: f32,
        out: ValueId,
    },
    Linear {
        x: ValueId,
        weight: usize,
        bias: Option<usize>,
        out: ValueId,
    },
    Add {
        x: ValueId,
        into: ValueId,
    },
    RopeKv {
        qkv: ValueId,
        attention: AttentionLayer,
        q_norm: Option<HeadNorm>,
        k_norm: Option<HeadNorm>,
    },
    Attention {
        qkv: ValueId,
        attention: AttentionLayer,
        out: ValueId,
    },
    Gated {
        gate_up: ValueId,
        act: Activation,
        out: ValueId,
    },
    /// Output rows of a value of token rows.
    Gather {
        x: ValueId,
        out: ValueId,
    },
    Copy {
        x: ValueId,
        out: ValueId,
    },
    Logits {
        x: ValueId,
        weight: usize,
        softcap: Option<f32>,
    },
}

impl Instr {
    /// Values it reads, those it changes in place included.
    pub(in crate::backend) fn reads(&self) -> [Option<ValueId>; 2] {
        match *self {
            Instr::Embed { .. } => [None, None],
            Instr::Norm { x, .. } | Instr::Linear { x, .. } | Instr::Logits { x, .. } => [Some(x), None],
            Instr::Gather { x, .. } | Instr::Copy { x, .. } => [Some(x), None],
            Instr::Add { x, into } => [Some(x), Some(into)],
            Instr::RopeKv { qkv, .. } | Instr::Attention { qkv, .. } => [Some(qkv), None],
            Instr::Gated { gate_up, .. } => [Some(gate_up), None],
        }
    }
}

pub(in crate::backend) struct Lowered {
    pub values: Vec<Value>,
    pub instrs: Vec<Instr>,
    /// Where the hidden states of each layer asked for lie at the end of the step.
    pub taps: Vec<(u32, ValueId)>,
}

/// What the program's weights and vectors were packed as.
pub(in crate::backend) struct Shapes {
    /// Rows and columns.
    pub weights: Vec<(usize, usize)>,
    pub vectors: Vec<usize>,
}

/// Rows of a result that later ops read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Nothing,
    Outputs,
    All,
}

/// Where a slot's content is at hand.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    all: Option<ValueId>,
    outputs: Option<ValueId>,
}

/// Errors: INVALID_ARGUMENT naming the op and what does not fit.
pub(in crate::backend) fn lower(program: &Program, shapes: &Shapes, taps: &[u32]) -> Result<Lowered> {
    let checker = Checker { program, shapes };
    for (index, op) in program.ops.iter().enumerate() {
        checker.op(op).map_err(|e| e.context(format!("op {index} of the program")))?;
    }
    let taps: Vec<Tap> = taps.iter().map(|&layer| find_tap(program, layer)).collect::<Result<_>>()?;
    let needs = needs(program, &taps);
    let mut lowering = Lowering {
        program,
        places: vec![Place::default(); program.slots.len()],
        out: Lowered { values: Vec::new(), instrs: Vec::with_capacity(program.ops.len() + 8), taps: Vec::new() },
    };
    for (index, (op, need)) in program.ops.iter().zip(needs).enumerate() {
        if need != Need::Nothing {
            lowering.op(op, need).map_err(|e| e.context(format!("op {index} of the program")))?;
        }
        for tap in taps.iter().filter(|tap| tap.after == index) {
            lowering.tap(tap)?;
        }
    }
    Ok(lowering.out)
}

fn find_tap(program: &Program, layer: u32) -> Result<Tap> {
    let found = program.taps.iter().find(|tap| tap.layer == layer).copied();
    found.ok_or_else(|| Error::invalid(format!("hidden states of layer {layer}, expected one of {} layers", program.taps.len())))
}

/// For each op, the rows of its result that are needed.
fn needs(program: &Program, taps: &[Tap]) -> Vec<Need> {
    let mut slots = vec![Need::Nothing; program.slots.len()];
    let mut needs = vec![Need::Nothing; program.ops.len()];
    fn read(slots: &mut [Need], slot: SlotId, need: Need) {
        let slot = &mut slots[slot.0 as usize];
        *slot = need.max(*slot);
    }
    fn write(slots: &mut [Need], slot: SlotId) -> Need {
        std::mem::replace(&mut slots[slot.0 as usize], Need::Nothing)
    }
    for (index, (op, of_op)) in program.ops.iter().zip(&mut needs).enumerate().rev() {
        taps.iter().filter(|tap| tap.after == index).for_each(|tap| read(&mut slots, tap.x, Need::All));
        match *op {
            Op::Embed { out, .. } => *of_op = write(&mut slots, out),
            Op::RmsNorm { x, out, .. } | Op::Linear { x, out, .. } | Op::GatedAct { gate_up: x, out, .. } => {
                *of_op = write(&mut slots, out);
                read(&mut slots, x, *of_op);
            }
            Op::Attention { qkv, out, .. } => {
                *of_op = write(&mut slots, out);
                read(&mut slots, qkv, *of_op);
            }
            Op::Add { x, into } => {
                *of_op = slots[into.0 as usize];
                read(&mut slots, x, *of_op);
            }
            Op::RopeKvWrite { qkv, .. } => {
                *of_op = Need::All;
                read(&mut slots, qkv, Need::All);
            }
            Op::SelectOutputs { x, out } => {
                *of_op = write(&mut slots, out).min(Need::Outputs);
                read(&mut slots, x, *of_op);
            }
            Op::Logits { x, .. } => {
                *of_op = Need::Outputs;
                read(&mut slots, x, Need::Outputs);
            }
        }
    }
    needs
}

struct Lowering<'a> {
    program: &'a Program,
    places: Vec<Place>,
    out: Lowered,
}

impl Lowering<'_> {
    fn op(&mut self, op: &Op, need: Need) -> Result<()> {
        match *op {
            Op::Embed { table, scale, out } => {
                // Rows are gathered where they are read, so the few embeddings that would do are not worth a case.
                let out = self.write(out, Need::All);
                self.out.instrs.push(Instr::Embed { table: table.0 as usize, scale, out });
            }
            Op::RmsNorm { x, weight, eps, out } => {
                let x = self.read(x, need)?;
                let out = self.write(out, need);
                self.out.instrs.push(Instr::Norm { x, weight: weight.0 as usize, eps, out });
            }
            Op::Linear { x, weight, bias, out } => {
                let x = self.read(x, need)?;
                let out = self.write(out, need);
                self.out.instrs.push(Instr::Linear { x, weight: weight.0 as usize, bias: bias.map(|b| b.0 as usize), out });
            }
            Op::Add { x, into } => {
                let x = self.read(x, need)?;
                let value = self.read(into, need)?;
                self.keep_only(into, value);
                self.out.instrs.push(Instr::Add { x, into: value });
            }
            Op::RopeKvWrite { qkv, attention, q_norm, k_norm } => {
                let value = self.read(qkv, Need::All)?;
                self.keep_only(qkv, value);
                self.out.instrs.push(Instr::RopeKv { qkv: value, attention, q_norm, k_norm });
            }
            Op::Attention { qkv, attention, out } => {
                let qkv = self.read(qkv, need)?;
                let out = self.write(out, need);
                self.out.instrs.push(Instr::Attention { qkv, attention, out });
            }
            Op::GatedAct { gate_up, act, out } => {
                let gate_up = self.read(gate_up, need)?;
                let out = self.write(out, need);
                self.out.instrs.push(Instr::Gated { gate_up, act, out });
            }
            Op::SelectOutputs { x, out } => {
                let x = self.read(x, Need::Outputs)?;
                let out = self.write(out, Need::Outputs);
                self.out.instrs.push(Instr::Copy { x, out });
            }
            Op::Logits { x, weight, softcap } => {
                let x = self.read(x, Need::Outputs)?;
                self.out.instrs.push(Instr::Logits { x, weight: weight.0 as usize, softcap });
            }
        }
        Ok(())
    }

    /// Keeps a copy of what the slot holds now, since later ops change it.
    fn tap(&mut self, tap: &Tap) -> Result<()> {
        let x = self.read(tap.x, Need::All)?;
        let out = self.value(RowClass::Tokens, tap.x);
        self.out.instrs.push(match tap.norm {
            Some((weight, eps)) => Instr::Norm { x, weight: weight.0 as usize, eps, out },
            None => Instr::Copy { x, out },
        });
        self.out.taps.push((tap.layer, out));
        Ok(())
    }

    /// The value of `slot` for the rows needed; gathers them where only all rows are at hand.
    fn read(&mut self, slot: SlotId, need: Need) -> Result<ValueId> {
        let place = self.places[slot.0 as usize];
        let unwritten = || Error::invalid(format!("reads slot {}, which no op before it has written", slot.0));
        if self.class(slot, need) == RowClass::Tokens {
            return place.all.ok_or_else(unwritten);
        }
        if let Some(value) = place.outputs {
            return Ok(value);
        }
        let x = place.all.ok_or_else(unwritten)?;
        let out = self.value(RowClass::Outputs, slot);
        self.places[slot.0 as usize].outputs = Some(out);
        self.out.instrs.push(Instr::Gather { x, out });
        Ok(out)
    }

    fn write(&mut self, slot: SlotId, need: Need) -> ValueId {
        let class = self.class(slot, need);
        let value = self.value(class, slot);
        self.keep_only(slot, value);
        value
    }

    fn keep_only(&mut self, slot: SlotId, value: ValueId) {
        self.places[slot.0 as usize] = match self.out.values[value].class {
            RowClass::Tokens => Place { all: Some(value), outputs: None },
            RowClass::Outputs => Place { all: None, outputs: Some(value) },
        };
    }

    fn class(&self, slot: SlotId, need: Need) -> RowClass {
        if need == Need::All { self.program.slots[slot.0 as usize].rows } else { RowClass::Outputs }
    }

    fn value(&mut self, class: RowClass, slot: SlotId) -> ValueId {
        self.out.values.push(Value { class, width: self.program.slots[slot.0 as usize].width });
        self.out.values.len() - 1
    }
}

/// Shapes of ops against slots, weights, vectors and groups.
struct Checker<'a> {
    program: &'a Program,
    shapes: &'a Shapes,
}

impl Checker<'_> {
    fn op(&self, op: &Op) -> Result<()> {
        match *op {
            Op::Embed { table, out, .. } => expect("columns of the table", self.weight(table)?.1, self.width(out)?),
            Op::RmsNorm { x, weight, out, .. } => {
                expect("width of the result", self.width(out)?, self.width(x)?)?;
                expect("length of the norm's weight", self.vector(weight)?, self.width(x)?)
            }
            Op::Linear { x, weight, bias, out } => {
                let (rows, cols) = self.weight(weight)?;
                expect("columns of the weight", cols, self.width(x)?)?;
                expect("rows of the weight", rows, self.width(out)?)?;
                bias.map_or(Ok(()), |bias| expect("length of the bias", self.vector(bias)?, rows))
            }
            Op::Add { x, into } => expect("width of the sum", self.width(into)?, self.width(x)?),
            Op::RopeKvWrite { qkv, attention, q_norm, k_norm } => {
                self.attention(&attention, qkv)?;
                for norm in [q_norm, k_norm].into_iter().flatten() {
                    expect("length of the head norm", self.vector(norm.weight)?, attention.head_dim)?;
                }
                Ok(())
            }
            Op::Attention { qkv, attention, out } => {
                self.attention(&attention, qkv)?;
                expect("width of the result", self.width(out)?, attention.heads * attention.head_dim)
            }
            Op::GatedAct { gate_up, out, .. } => expect("width of gate and up", self.width(gate_up)?, 2 * self.width(out)?),
            Op::SelectOutputs { x, out } => {
                if self.program.slots[out.0 as usize].rows != RowClass::Outputs {
                    return Err(Error::invalid(format!("slot {} has a row per token, expected one per output", out.0)));
                }
                expect("width of the result", self.width(out)?, self.width(x)?)
            }
            Op::Logits { x, weight, .. } => {
                let (rows, cols) = self.weight(weight)?;
                expect("columns of the head", cols, self.width(x)?)?;
                expect("rows of the head", rows, self.program.vocab)
            }
        }
    }

    fn attention(&self, a: &AttentionLayer, qkv: SlotId) -> Result<()> {
        let program = self.program;
        if a.kv_heads == 0 || a.head_dim == 0 || !a.head_dim.is_multiple_of(2) || !a.heads.is_multiple_of(a.kv_heads) {
            return Err(Error::invalid(format!(
                "{} heads and {} KV heads of {}, expected whole groups of an even width",
                a.heads, a.kv_heads, a.head_dim
            )));
        }
        expect("width of q, k and v", self.width(qkv)?, (a.heads + 2 * a.kv_heads) * a.head_dim)?;
        let group = program.kv_groups.get(a.group).ok_or_else(|| missing("KV group", a.group, program.kv_groups.len()))?;
        expect("KV heads of the group", group.kv_heads, a.kv_heads)?;
        expect("head width of the group", group.head_dim, a.head_dim)?;
        if a.layer >= group.layers {
            return Err(missing("layer of the KV group", a.layer, group.layers));
        }
        if let Retention::Sliding { window } = group.retention
            && a.window.is_none_or(|w| w > window)
        {
            return Err(Error::invalid(format!("attention window {:?} over a KV group that keeps {window} positions", a.window)));
        }
        if a.window == Some(0) {
            return Err(Error::invalid("attention window 0, expected at least 1"));
        }
        let rope = program.ropes.get(a.rope.0 as usize).ok_or_else(|| missing("rope", a.rope.0 as usize, program.ropes.len()))?;
        if 2 * rope.inv_freq.len() > a.head_dim {
            return Err(Error::invalid(format!(
                "rope of {} dimensions, expected at most {}",
                2 * rope.inv_freq.len(),
                a.head_dim
            )));
        }
        Ok(())
    }

    fn width(&self, slot: SlotId) -> Result<usize> {
        let slots = &self.program.slots;
        slots.get(slot.0 as usize).map(|s| s.width).ok_or_else(|| missing("slot", slot.0 as usize, slots.len()))
    }

    /// Rows and columns.
    fn weight(&self, id: WeightId) -> Result<(usize, usize)> {
        let weights = &self.shapes.weights;
        weights.get(id.0 as usize).copied().ok_or_else(|| missing("weight", id.0 as usize, weights.len()))
    }

    fn vector(&self, id: VectorId) -> Result<usize> {
        let vectors = &self.shapes.vectors;
        vectors.get(id.0 as usize).copied().ok_or_else(|| missing("vector", id.0 as usize, vectors.len()))
    }
}

fn missing(what: &str, index: usize, count: usize) -> Error {
    Error::invalid(format!("{what} {index}, expected below {count}"))
}

fn expect(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::invalid(format!("{what}: {found}, expected {expected}"))) }
}
