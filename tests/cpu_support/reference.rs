//! What a program means, in double precision: every op as its documentation says, over the rows of one whole sequence.

// Rows are counted through several slots at once.
#![allow(clippy::needless_range_loop)]

use tactus::backend::{Activation, AttentionLayer, HeadNorm, Op, RowClass};

use super::Model;

/// Logits of every row of `tokens`, `[rows][vocab]`.
pub fn logits(model: &Model, tokens: &[u32]) -> Vec<Vec<f64>> {
    let program = &model.program;
    let rows = tokens.len();
    let mut slots: Vec<Vec<Vec<f64>>> = program.slots.iter().map(|s| vec![vec![0.0; s.width]; rows]).collect();
    let mut out = Vec::new();
    for op in &program.ops {
        match *op {
            Op::Embed { table, scale, out } => {
                let (_, cols, values) = &model.weights[table.0 as usize];
                for (row, &token) in tokens.iter().enumerate() {
                    let from = &values[token as usize * cols..][..*cols];
                    slots[out.0 as usize][row] = from.iter().map(|&v| f64::from(v) * f64::from(scale)).collect();
                }
            }
            Op::RmsNorm { x, weight, eps, out } => {
                for row in 0..rows {
                    slots[out.0 as usize][row] = norm(&slots[x.0 as usize][row], &model.vectors[weight.0 as usize], eps);
                }
            }
            Op::Linear { x, weight, bias, out } => {
                let bias = bias.map(|b| &model.vectors[b.0 as usize]);
                for row in 0..rows {
                    let mut y = product(&model.weights[weight.0 as usize], &slots[x.0 as usize][row]);
                    if let Some(bias) = bias {
                        y.iter_mut().zip(bias).for_each(|(y, &b)| *y += f64::from(b));
                    }
                    slots[out.0 as usize][row] = y;
                }
            }
            Op::Add { x, into } => {
                for row in 0..rows {
                    let x = slots[x.0 as usize][row].clone();
                    slots[into.0 as usize][row].iter_mut().zip(x).for_each(|(i, x)| *i += x);
                }
            }
            Op::RopeKvWrite { qkv, attention, q_norm, k_norm } => {
                for (row, x) in slots[qkv.0 as usize].iter_mut().enumerate() {
                    rope(model, x, row, &attention, q_norm, k_norm);
                }
            }
            Op::Attention { qkv, attention, out } => {
                slots[out.0 as usize] = (0..rows).map(|row| attend(&slots[qkv.0 as usize], row, &attention)).collect();
            }
            Op::GatedAct { gate_up, act, out } => {
                for row in 0..rows {
                    let (gate, up) = slots[gate_up.0 as usize][row].split_at(program.slots[out.0 as usize].width);
                    slots[out.0 as usize][row] = gate.iter().zip(up).map(|(&g, u)| activate(act, g) * u).collect();
                }
            }
            Op::SelectOutputs { x, out } => {
                assert_eq!(program.slots[out.0 as usize].rows, RowClass::Outputs);
                slots[out.0 as usize] = slots[x.0 as usize].clone();
            }
            Op::Logits { x, weight, softcap } => {
                for x in &slots[x.0 as usize] {
                    let y = product(&model.weights[weight.0 as usize], x);
                    out.push(y.into_iter().map(|l| capped(l, softcap)).collect());
                }
            }
        }
    }
    out
}

fn norm(x: &[f64], weight: &[f32], eps: f32) -> Vec<f64> {
    let mean = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(eps)).sqrt();
    x.iter().zip(weight).map(|(v, &w)| v * scale * f64::from(w)).collect()
}

fn product((_, cols, values): &(usize, usize, Vec<f32>), x: &[f64]) -> Vec<f64> {
    values.chunks_exact(*cols).map(|row| row.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum()).collect()
}

fn capped(x: f64, cap: Option<f32>) -> f64 {
    cap.map_or(x, |cap| f64::from(cap) * (x / f64::from(cap)).tanh())
}

fn activate(act: Activation, x: f64) -> f64 {
    match act {
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::GeluTanh => 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x.powi(3))).tanh()),
        Activation::Gelu => 0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2)),
    }
}

/// By its Maclaurin series.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// Norms and rotates the q and k parts of a row at `position`, in place.
pub fn rope(
    model: &Model,
    x: &mut [f64],
    position: usize,
    a: &AttentionLayer,
    q_norm: Option<HeadNorm>,
    k_norm: Option<HeadNorm>,
) {
    let table = &model.program.ropes[a.rope.0 as usize];
    let half = table.inv_freq.len();
    for head in 0..a.heads + a.kv_heads {
        let x = &mut x[head * a.head_dim..][..a.head_dim];
        if let Some(n) = if head < a.heads { q_norm } else { k_norm } {
            let normed = norm(x, &model.vectors[n.weight.0 as usize], n.eps);
            x.copy_from_slice(&normed);
        }
        for i in 0..half {
            // The angle is an f32 in the definition of rotary embeddings that models were trained with.
            let (sin, cos) = f64::from(position as f32 * table.inv_freq[i]).sin_cos();
            let factor = f64::from(table.factor);
            let (p, q) = (x[i], x[i + half]);
            x[i] = (p * cos - q * sin) * factor;
            x[i + half] = (q * cos + p * sin) * factor;
        }
    }
}

/// Attention of one row over the rows before it: `[heads * head_dim]`.
pub fn attend(qkv: &[Vec<f64>], row: usize, a: &AttentionLayer) -> Vec<f64> {
    let first = a.window.map_or(0, |w| (row + 1).saturating_sub(w));
    let mut out = Vec::with_capacity(a.heads * a.head_dim);
    for head in 0..a.heads {
        let kv_head = head / (a.heads / a.kv_heads);
        let q = &qkv[row][head * a.head_dim..][..a.head_dim];
        let key = |j: usize| &qkv[j][(a.heads + kv_head) * a.head_dim..][..a.head_dim];
        let value = |j: usize| &qkv[j][(a.heads + a.kv_heads + kv_head) * a.head_dim..][..a.head_dim];
        let score = |j: usize| capped(q.iter().zip(key(j)).map(|(q, k)| q * k).sum::<f64>() * f64::from(a.scale), a.softcap);
        let scores: Vec<f64> = (first..=row).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        out.extend((0..a.head_dim).map(|d| weights.iter().zip(first..).map(|(w, j)| w * value(j)[d]).sum::<f64>() / sum));
    }
    out
}
