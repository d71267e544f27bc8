//! Operations on single rows: norms, rotary embedding, gated activation, sums.
//!
//! Each is a plain function of its row, so a row's result cannot depend on its neighbours. Loops are written without closures:
//! one that the compiler chose not to inline would lose the kernel's instruction set.

use super::simd::{Kernel, Vector, math};
use crate::backend::Activation;

/// Elements `i..` of the `n` at `p`: a vector, or what is left of one.
#[inline(always)]
unsafe fn load<V: Vector>(p: *const f32, i: usize, n: usize) -> V {
    if i + V::LANES <= n { V::load(p.add(i)) } else { V::load_part(p.add(i), n - i) }
}

#[inline(always)]
unsafe fn store<V: Vector>(x: V, p: *mut f32, i: usize, n: usize) {
    if i + V::LANES <= n { x.store(p.add(i)) } else { x.store_part(p.add(i), n - i) }
}

/// `out = x / rms(x) * weight`; `out` may be `x`. Sums in four chains.
#[inline(always)]
pub(super) unsafe fn rms_norm<V: Vector>(x: *const f32, weight: *const f32, eps: f32, out: *mut f32, n: usize) {
    let mut sums = [V::splat(0.0); 4];
    let mut i = 0;
    while i + 4 * V::LANES <= n {
        for lane in 0..4 {
            let v = V::load(x.add(i + lane * V::LANES));
            sums[lane] = v.fma(v, sums[lane]);
        }
        i += 4 * V::LANES;
    }
    while i < n {
        let v: V = load(x, i, n);
        sums[0] = v.fma(v, sums[0]);
        i += V::LANES;
    }
    let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum();
    let scale = V::splat(1.0 / (sum / n as f32 + eps).sqrt());
    for i in (0..n).step_by(V::LANES) {
        let v: V = load(x, i, n);
        store(v.mul(scale).mul(load(weight, i, n)), out, i, n);
    }
}

/// `into += x`.
#[inline(always)]
pub(super) unsafe fn add<V: Vector>(x: *const f32, into: *mut f32, n: usize) {
    for i in (0..n).step_by(V::LANES) {
        let v: V = load(into, i, n);
        store(v.add(load(x, i, n)), into, i, n);
    }
}

/// `x *= by`.
#[inline(always)]
pub(super) unsafe fn scale<V: Vector>(x: *mut f32, by: f32, n: usize) {
    for i in (0..n).step_by(V::LANES) {
        let v: V = load(x, i, n);
        store(v.mul(V::splat(by)), x, i, n);
    }
}

/// `x = cap * tanh(x / cap)`.
#[inline(always)]
pub(super) unsafe fn softcap<V: Vector>(x: *mut f32, cap: f32, n: usize) {
    let inverse = V::splat(1.0 / cap);
    for i in (0..n).step_by(V::LANES) {
        let v: V = load(x, i, n);
        store(math::tanh(v.mul(inverse)).mul(V::splat(cap)), x, i, n);
    }
}

/// `out = act(gate) * up`.
#[inline(always)]
pub(super) unsafe fn gated<V: Vector>(act: Activation, gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    for i in (0..n).step_by(V::LANES) {
        let x: V = load(gate, i, n);
        let y = match act {
            Activation::Silu => math::silu(x),
            Activation::GeluTanh => math::gelu_tanh(x),
            Activation::Gelu => math::gelu(x),
        };
        store(y.mul(load(up, i, n)), out, i, n);
    }
}

/// Rotates the first `2 * half` values of a head: `(a, b) → (a cos − b sin, b cos + a sin)`, `a` from the first half and `b` from
/// the second. `angles`: `half` cosines, then `half` sines.
#[inline(always)]
pub(super) unsafe fn rotate<V: Vector>(x: *mut f32, angles: *const f32, half: usize) {
    for i in (0..half).step_by(V::LANES) {
        let (a, b): (V, V) = (load(x, i, half), load(x.add(half), i, half));
        let (cos, sin): (V, V) = (load(angles, i, half), load(angles.add(half), i, half));
        store(a.mul(cos).sub(b.mul(sin)), x, i, half);
        store(b.mul(cos).add(a.mul(sin)), x.add(half), i, half);
    }
}

/// A row operation as a kernel, for callers that are not inside one.
pub(super) enum RowKernel {
    Norm { x: *const f32, weight: *const f32, eps: f32, out: *mut f32, n: usize },
    Add { x: *const f32, into: *mut f32, n: usize },
    Scale { x: *mut f32, by: f32, n: usize },
    Softcap { x: *mut f32, cap: f32, n: usize },
    Gated { act: Activation, gate: *const f32, up: *const f32, out: *mut f32, n: usize },
}

impl Kernel for RowKernel {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        match self {
            RowKernel::Norm { x, weight, eps, out, n } => rms_norm::<V>(x, weight, eps, out, n),
            RowKernel::Add { x, into, n } => add::<V>(x, into, n),
            RowKernel::Scale { x, by, n } => scale::<V>(x, by, n),
            RowKernel::Softcap { x, cap, n } => softcap::<V>(x, cap, n),
            RowKernel::Gated { act, gate, up, out, n } => gated::<V>(act, gate, up, out, n),
        }
    }
}
