//! Passes over a row of logits, vectorised.

use super::super::simd::{Kernel, Vector, math};

/// Values that are summed in f32 before the sum goes on in f64.
const RUN: usize = 1024;

/// The largest value, and whether none is NaN or +inf.
pub(super) struct Survey<'a>(pub &'a [f32]);

impl Kernel for Survey<'_> {
    type Output = (f32, bool);

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> (f32, bool) {
        let whole = self.0.len() / V::LANES * V::LANES;
        let all = (1u32 << V::LANES) - 1;
        let (mut largest, mut finite) = (V::splat(f32::NEG_INFINITY), all);
        let infinity = V::splat(f32::INFINITY);
        for i in (0..whole).step_by(V::LANES) {
            let x = V::load(self.0.as_ptr().add(i));
            finite &= infinity.above(x);
            largest = x.max(largest);
        }
        let (mut largest, mut finite) = (largest.largest(), finite == all);
        for &x in &self.0[whole..] {
            finite &= x < f32::INFINITY;
            largest = if x > largest { x } else { largest };
        }
        (largest, finite)
    }
}

/// The first index whose value is at least the bound.
pub(super) struct FirstAtLeast<'a>(pub &'a [f32], pub f32);

impl Kernel for FirstAtLeast<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Option<usize> {
        let FirstAtLeast(values, bound) = self;
        let whole = values.len() / V::LANES * V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            let found = V::load(values.as_ptr().add(i)).at_least(V::splat(bound));
            if found != 0 {
                return Some(i + found.trailing_zeros() as usize);
            }
        }
        (whole..values.len()).find(|&i| values[i] >= bound)
    }
}

/// Sums `e^((x - largest) * scale)`; keeps the terms where `out` is given.
pub(super) struct Exponentials<'a> {
    pub values: &'a [f32],
    pub largest: f32,
    pub scale: f32,
    /// As long as `values`.
    pub out: Option<&'a mut [f32]>,
}

impl Kernel for Exponentials<'_> {
    type Output = f64;

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) -> f64 {
        let (largest, scale) = (V::splat(self.largest), V::splat(self.scale));
        let mut total = 0.0;
        for (index, run) in self.values.chunks(RUN).enumerate() {
            let out = self.out.as_mut().map(|out| &mut out[index * RUN..][..run.len()]);
            let out = out.map_or(std::ptr::null_mut(), |out| out.as_mut_ptr());
            let mut sum = V::splat(0.0);
            let whole = run.len() / V::LANES * V::LANES;
            for i in (0..whole).step_by(V::LANES) {
                let e = math::exp(V::load(run.as_ptr().add(i)).sub(largest).mul(scale));
                sum = sum.add(e);
                if !out.is_null() {
                    e.store(out.add(i));
                }
            }
            total += f64::from(sum.sum());
            for i in whole..run.len() {
                let e = math::exp_one::<V>((run[i] - self.largest) * self.scale);
                total += f64::from(e);
                if !out.is_null() {
                    *out.add(i) = e;
                }
            }
        }
        total
    }
}

/// `x = e^((x - largest) * scale)`.
pub(super) struct Exponentiate<'a> {
    pub values: &'a mut [f32],
    pub largest: f32,
    pub scale: f32,
}

impl Kernel for Exponentiate<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for x in self.values {
            *x = math::exp_one::<V>((*x - self.largest) * self.scale);
        }
    }
}

/// Appends index and value of those in `from..to`, in order of index.
pub(super) struct Collect<'a> {
    pub values: &'a [f32],
    pub from: f32,
    pub to: f32,
    pub into: &'a mut Vec<(u32, f32)>,
}

impl Kernel for Collect<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Collect { values, from, to, into } = self;
        let whole = values.len() / V::LANES * V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            let x = V::load(values.as_ptr().add(i));
            let mut found = x.at_least(V::splat(from)) & !x.at_least(V::splat(to));
            while found != 0 {
                let at = i + found.trailing_zeros() as usize;
                into.push((at as u32, values[at]));
                found &= found - 1;
            }
        }
        for (i, &x) in values.iter().enumerate().skip(whole) {
            if x >= from && x < to {
                into.push((i as u32, x));
            }
        }
    }
}

/// Leaves the `k` largest in `into`, in no order; of equals those with lower indices.
pub(super) struct Largest<'a> {
    pub values: &'a [f32],
    pub k: usize,
    pub into: &'a mut Vec<(u32, f32)>,
}

impl Kernel for Largest<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Largest { values, k, into } = self;
        let full = 2 * k + 64;
        into.clear();
        // Once k are at hand, a later value must be larger than the least of them: an equal one has the higher index.
        let (mut bound, mut bounded) = (f32::NEG_INFINITY, false);
        let whole = values.len() / V::LANES * V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            let x = V::load(values.as_ptr().add(i));
            let mut found = if bounded { x.above(V::splat(bound)) } else { x.at_least(V::splat(bound)) };
            while found != 0 {
                let at = i + found.trailing_zeros() as usize;
                into.push((at as u32, values[at]));
                found &= found - 1;
            }
            if into.len() >= full {
                into.select_nth_unstable_by(k - 1, descending);
                into.truncate(k);
                (bound, bounded) = (into[k - 1].1, true);
            }
        }
        for (i, &x) in values.iter().enumerate().skip(whole) {
            if !bounded || x > bound {
                into.push((i as u32, x));
            }
        }
        if into.len() > k {
            into.select_nth_unstable_by(k - 1, descending);
            into.truncate(k);
        }
    }
}

/// Larger values first, lower indices among equals.
pub(super) fn descending(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}
