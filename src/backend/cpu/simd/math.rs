//! Exponential and the functions made of it, on vectors.
//!
//! Polynomials: `exp` and `tanh` after Moshier's Cephes library; `erf` is 7.1.26 of Abramowitz & Stegun. NaN gives NaN.

use super::Vector;

/// `e^x`, within 2 units in the last place; exactly 1 at 0, 0 below -87.3, infinity above 88.
#[inline(always)]
pub(crate) unsafe fn exp<V: Vector>(x: V) -> V {
    const LOWEST: f32 = -87.3;
    const HIGHEST: f32 = 88.0;
    // ln 2 in two parts: the first has few enough bits that its product with an exponent is exact.
    const LN2: [f32; 2] = [-0.693_359_4, 2.121_944_4e-4];
    const TERMS: [f32; 6] = [1.987_569_2e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let n = x.mul(V::splat(std::f32::consts::LOG2_E)).round();
    let r = n.fma(V::splat(LN2[1]), n.fma(V::splat(LN2[0]), x));
    let mut sum = V::splat(TERMS[0]);
    for term in &TERMS[1..] {
        sum = sum.fma(r, V::splat(*term));
    }
    let power = sum.fma(r.mul(r), r).add(V::splat(1.0)).times_power_of_two(n);
    let power = V::splat(HIGHEST).select_below(x, V::splat(f32::INFINITY), power);
    x.select_below(V::splat(LOWEST), V::splat(0.0), power)
}

/// `e^x` of one value, with the same bits as in a vector.
#[inline(always)]
pub(crate) unsafe fn exp_one<V: Vector>(x: f32) -> f32 {
    let mut one = [0.0];
    exp(V::splat(x)).store_part(one.as_mut_ptr(), 1);
    one[0]
}

#[inline(always)]
pub(crate) unsafe fn tanh<V: Vector>(x: V) -> V {
    const TERMS: [f32; 5] = [-5.704_988_7e-3, 2.063_908_9e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1];
    let size = x.abs();
    let square = x.mul(x);
    let mut sum = V::splat(TERMS[0]);
    for term in &TERMS[1..] {
        sum = sum.fma(square, V::splat(*term));
    }
    let near = sum.mul(square).fma(x, x);
    let two = V::splat(2.0);
    let far = V::splat(1.0).sub(two.div(exp(size.mul(two)).add(V::splat(1.0))));
    size.select_below(V::splat(0.625), near, far.with_sign_of(x))
}

/// `x / (1 + e^-x)`.
#[inline(always)]
pub(crate) unsafe fn silu<V: Vector>(x: V) -> V {
    x.div(V::splat(1.0).add(exp(V::splat(0.0).sub(x))))
}

/// `x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2`, with `(1 + tanh u) / 2 = 1 / (1 + e^-2u)`.
#[inline(always)]
pub(crate) unsafe fn gelu_tanh<V: Vector>(x: V) -> V {
    const MINUS_TWICE_ROOT: f32 = -1.595_769_1;
    let cubic = x.mul(x).fma(V::splat(0.044_715), V::splat(1.0)).mul(x);
    x.div(V::splat(1.0).add(exp(cubic.mul(V::splat(MINUS_TWICE_ROOT)))))
}

/// `x (1 + erf(x / √2)) / 2`.
#[inline(always)]
pub(crate) unsafe fn gelu<V: Vector>(x: V) -> V {
    x.mul(V::splat(0.5)).mul(V::splat(1.0).add(erf(x.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2)))))
}

/// Within 2e-7.
#[inline(always)]
pub(crate) unsafe fn erf<V: Vector>(x: V) -> V {
    const TERMS: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6];
    let size = x.abs();
    let t = V::splat(1.0).div(size.fma(V::splat(0.327_591_1), V::splat(1.0)));
    let mut sum = V::splat(TERMS[0]);
    for term in &TERMS[1..] {
        sum = sum.fma(t, V::splat(*term));
    }
    let tail = sum.mul(t).mul(exp(V::splat(0.0).sub(x.mul(x))));
    V::splat(1.0).sub(tail).with_sign_of(x)
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, dispatch};
    use super::*;
    use crate::backend::cpu::linear::Level;

    #[derive(Clone, Copy)]
    enum Function {
        Exp,
        Tanh,
        Silu,
        GeluTanh,
        Gelu,
    }

    struct Apply<'a>(Function, &'a [f32], &'a mut [f32]);

    impl Kernel for Apply<'_> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<V: Vector>(self) {
            for (x, y) in self.1.chunks_exact(V::LANES).zip(self.2.chunks_exact_mut(V::LANES)) {
                let x = V::load(x.as_ptr());
                let y_vector = match self.0 {
                    Function::Exp => exp(x),
                    Function::Tanh => tanh(x),
                    Function::Silu => silu(x),
                    Function::GeluTanh => gelu_tanh(x),
                    Function::Gelu => gelu(x),
                };
                y_vector.store(y.as_mut_ptr());
                assert_eq!(exp_one::<V>(y[0]).to_bits(), {
                    let mut lanes = [0.0; 16];
                    exp(V::load(y.as_ptr())).store(lanes.as_mut_ptr());
                    lanes[0].to_bits()
                });
            }
        }
    }

    /// erf by its Maclaurin series, good to 1e-12 for |x| <= 4.
    fn erf64(x: f64) -> f64 {
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

    fn reference(function: Function, x: f64) -> f64 {
        match function {
            Function::Exp => x.exp(),
            Function::Tanh => x.tanh(),
            Function::Silu => x / (1.0 + (-x).exp()),
            Function::GeluTanh => 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh()),
            Function::Gelu => 0.5 * x * (1.0 + erf64(x * std::f64::consts::FRAC_1_SQRT_2)),
        }
    }

    #[test]
    fn functions_agree_with_double_precision() {
        let inputs: Vec<f32> = (-16_000..16_000).map(|i| i as f32 * (1.0 / 200.0)).collect();
        let mut out = vec![0.0; inputs.len()];
        for level in Level::available() {
            for function in [Function::Exp, Function::Tanh, Function::Silu, Function::GeluTanh, Function::Gelu] {
                // SAFETY: the kernel reads and writes its slices.
                unsafe { dispatch(level, Apply(function, &inputs, &mut out)) };
                for (&x, &y) in inputs.iter().zip(&out) {
                    let right = reference(function, f64::from(x));
                    let bound = match function {
                        Function::Exp | Function::Tanh => 3e-7 * right.abs(),
                        _ => 3e-7 * f64::from(x.abs()),
                    };
                    assert!((f64::from(y) - right).abs() <= bound + 1e-37, "{level}: f({x}) = {y}, expected {right}");
                }
            }
        }
    }

    #[test]
    fn ends_of_the_range() {
        let cases: [(f32, f32); 16] = [
            (0.0, 1.0),
            (-0.0, 1.0),
            (f32::NEG_INFINITY, 0.0),
            (f32::INFINITY, f32::INFINITY),
            (-88.0, 0.0),
            (-1e30, 0.0),
            (89.0, f32::INFINITY),
            (1e30, f32::INFINITY),
            (f32::MIN, 0.0),
            (f32::MAX, f32::INFINITY),
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 1.0),
        ];
        let (mut inputs, expected): (Vec<f32>, Vec<f32>) = cases.into_iter().unzip();
        let mut out = vec![9.0; 16];
        for level in Level::available() {
            // SAFETY: the kernel reads and writes its slices.
            unsafe { dispatch(level, Apply(Function::Exp, &inputs, &mut out)) };
            assert_eq!(out, expected, "{level}");
        }
        inputs.fill(f32::NAN);
        for level in Level::available() {
            for function in [Function::Exp, Function::Tanh, Function::Silu, Function::GeluTanh, Function::Gelu] {
                out.fill(0.0);
                // SAFETY: the kernel reads and writes its slices.
                unsafe { dispatch(level, Apply(function, &inputs, &mut out)) };
                assert!(out.iter().all(|y| y.is_nan()), "{level}");
            }
        }
        inputs.fill(-1e30);
        for level in Level::available() {
            for function in [Function::Silu, Function::GeluTanh, Function::Gelu] {
                // SAFETY: the kernel reads and writes its slices.
                unsafe { dispatch(level, Apply(function, &inputs, &mut out)) };
                assert!(out.iter().all(|y| y.abs() == 0.0), "{level}: {out:?}");
            }
        }
    }
}
