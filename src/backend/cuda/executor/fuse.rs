//! From instructions to nodes: what one kernel does, or one product.
//!
//! The addition of a block's result to the residual, the norm of that result before it and the norm of the sum after it are one node.

use crate::backend::compile::lower::{Instr, Lowered, ValueId};
use crate::backend::cuda::kernels::Number;
use crate::backend::{Activation, AttentionLayer, HeadNorm};
use crate::error::{Error, Result};

/// A norm's weight and epsilon.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormWeight {
    pub weight: usize,
    pub eps: f32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Embed {
        table: usize,
        scale: f32,
        out: ValueId,
    },
    Norm {
        x: ValueId,
        norm: NormWeight,
        out: ValueId,
    },
    /// `into += branch`, or its norm by `post`; then `out` is the norm of `into`.
    AddNorm {
        into: ValueId,
        branch: ValueId,
        post: Option<NormWeight>,
        norm: Option<(NormWeight, ValueId)>,
    },
    Linear {
        x: ValueId,
        weight: usize,
        bias: Option<usize>,
        out: ValueId,
    },
    /// A product whose rows are gates and as many ups, and the activation of that. `gate_up` is for where they are done one by one.
    GatedLinear {
        x: ValueId,
        weight: usize,
        gate_up: ValueId,
        act: Activation,
        out: ValueId,
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

impl Node {
    fn values(&self) -> [Option<ValueId>; 3] {
        match *self {
            Node::Embed { out, .. } => [Some(out), None, None],
            Node::Norm { x, out, .. } | Node::Linear { x, out, .. } => [Some(x), Some(out), None],
            Node::Gather { x, out } | Node::Copy { x, out } => [Some(x), Some(out), None],
            Node::AddNorm { into, branch, norm, .. } => [Some(into), Some(branch), norm.map(|(_, out)| out)],
            Node::RopeKv { qkv, .. } => [Some(qkv), None, None],
            Node::Attention { qkv, out, .. } => [Some(qkv), Some(out), None],
            Node::GatedLinear { x, gate_up, out, .. } => [Some(x), Some(gate_up), Some(out)],
            Node::Gated { gate_up, out, .. } => [Some(gate_up), Some(out), None],
            Node::Logits { x, .. } => [Some(x), None, None],
        }
    }
}

/// Nodes in order, with the type of every value and the nodes between which it lives.
pub(super) struct Nodes {
    pub nodes: Vec<Node>,
    pub numbers: Vec<Number>,
    pub lives: Vec<(usize, usize)>,
}

/// Forms the nodes of a lowered program whose branches are of type `number`. `has_gated_product` tells of a weight whether a kernel
/// does its product and the gated activation in one.
///
/// Errors: UNSUPPORTED where a product reads the residual itself.
pub(super) fn form(lowered: &Lowered, number: Number, has_gated_product: impl Fn(usize) -> bool) -> Result<Nodes> {
    let numbers = numbers(lowered, number);
    let readers = |value: ValueId| lowered.instrs.iter().flat_map(Instr::reads).flatten().filter(|&read| read == value).count();
    let mut nodes = Vec::with_capacity(lowered.instrs.len());
    let mut at = 0;
    while let Some(instr) = lowered.instrs.get(at) {
        let rest = &lowered.instrs[at + 1..];
        let (node, taken) = match *instr {
            Instr::Norm { x: branch, weight, eps, out } => match rest.first() {
                Some(&Instr::Add { x, into }) if x == out && readers(out) == 1 && numbers[branch] == number => {
                    let post = Some(NormWeight { weight, eps });
                    let (norm, taken) = norm_of(into, &rest[1..]);
                    (Node::AddNorm { into, branch, post, norm }, 2 + taken)
                }
                _ => (Node::Norm { x: branch, norm: NormWeight { weight, eps }, out }, 1),
            },
            Instr::Add { x: branch, into } => {
                let (norm, taken) = norm_of(into, rest);
                (Node::AddNorm { into, branch, post: None, norm }, 1 + taken)
            }
            Instr::Embed { table, scale, out } => (Node::Embed { table, scale, out }, 1),
            Instr::Linear { x, weight, bias, out: gate_up } => match rest.first() {
                Some(&Instr::Gated { gate_up: read, act, out })
                    if read == gate_up && bias.is_none() && readers(gate_up) == 1 && has_gated_product(weight) =>
                {
                    (Node::GatedLinear { x, weight, gate_up, act, out }, 2)
                }
                _ => (Node::Linear { x, weight, bias, out: gate_up }, 1),
            },
            Instr::RopeKv { qkv, attention, q_norm, k_norm } => (Node::RopeKv { qkv, attention, q_norm, k_norm }, 1),
            Instr::Attention { qkv, attention, out } => (Node::Attention { qkv, attention, out }, 1),
            Instr::Gated { gate_up, act, out } => (Node::Gated { gate_up, act, out }, 1),
            Instr::Gather { x, out } => (Node::Gather { x, out }, 1),
            Instr::Copy { x, out } => (Node::Copy { x, out }, 1),
            Instr::Logits { x, weight, softcap } => (Node::Logits { x, weight, softcap }, 1),
        };
        let read = match node {
            Node::Linear { x, .. } | Node::GatedLinear { x, .. } | Node::Logits { x, .. } => Some(x),
            Node::AddNorm { branch, .. } => Some(branch),
            _ => None,
        };
        if read.is_some_and(|x| numbers[x] != number) {
            return Err(Error::unsupported(format!("the CUDA backend has no kernel that reads the residual itself: {node:?}")));
        }
        nodes.push(node);
        at += taken;
    }
    let mut lives = vec![(usize::MAX, 0); lowered.values.len()];
    for (index, node) in nodes.iter().enumerate() {
        for value in node.values().into_iter().flatten() {
            lives[value] = (lives[value].0.min(index), index);
        }
    }
    Ok(Nodes { nodes, numbers, lives })
}

/// The norm of `into` that the next instruction is, if it is one, and how many instructions that takes.
fn norm_of(into: ValueId, rest: &[Instr]) -> (Option<(NormWeight, ValueId)>, usize) {
    match rest.first() {
        Some(&Instr::Norm { x, weight, eps, out }) if x == into && out != into => (Some((NormWeight { weight, eps }, out)), 1),
        _ => (None, 0),
    }
}

/// The residual is f32: what embeddings begin and additions change, and rows picked from that. All else is `number`.
fn numbers(lowered: &Lowered, number: Number) -> Vec<Number> {
    let mut numbers = vec![number; lowered.values.len()];
    for instr in &lowered.instrs {
        match *instr {
            Instr::Embed { out, .. } => numbers[out] = Number::F32,
            Instr::Add { into, .. } => numbers[into] = Number::F32,
            _ => (),
        }
    }
    for instr in &lowered.instrs {
        if let Instr::Gather { x, out } | Instr::Copy { x, out } = *instr {
            numbers[out] = numbers[x];
        }
    }
    numbers
}
