//! Eight lanes in plain Rust, for any processor. Multiply-adds round twice: a fused one would be a library call.

use half::{bf16, f16};

use super::Vector;

const LANES: usize = 8;

#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

impl Plain {
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Plain(std::array::from_fn(|i| f(self.0[i], b.0[i])))
    }

    #[inline(always)]
    fn bits(self, b: Self, f: impl Fn(f32, f32) -> bool) -> u32 {
        (0..LANES).map(|i| u32::from(f(self.0[i], b.0[i])) << i).sum()
    }

    #[inline(always)]
    fn halve(self, f: impl Fn(f32, f32) -> f32) -> f32 {
        let a = self.0;
        let four = [f(a[0], a[4]), f(a[1], a[5]), f(a[2], a[6]), f(a[3], a[7])];
        f(f(four[0], four[2]), f(four[1], four[3]))
    }
}

impl Vector for Plain {
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Plain([x; LANES])
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Plain(p.cast::<[f32; LANES]>().read_unaligned())
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        p.cast::<[f32; LANES]>().write_unaligned(self.0);
    }

    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; LANES];
        std::ptr::copy_nonoverlapping(p, lanes.as_mut_ptr(), n);
        Plain(lanes)
    }

    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        std::ptr::copy_nonoverlapping(self.0.as_ptr(), p, n);
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Plain(p.cast::<[u16; LANES]>().read_unaligned().map(|x| f16::from_bits(x).to_f32()))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        p.cast::<[u16; LANES]>().write_unaligned(self.0.map(|x| f16::from_f32(x).to_bits()));
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        Plain(p.cast::<[u16; LANES]>().read_unaligned().map(|x| bf16::from_bits(x).to_f32()))
    }

    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        self.zip(b, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        self.zip(b, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        self.zip(b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        self.zip(b, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * b.0[i] + c.0[i]))
    }

    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        self.zip(b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn select_below(self, bound: Self, then: Self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| if self.0[i] < bound.0[i] { then.0[i] } else { other.0[i] }))
    }

    #[inline(always)]
    unsafe fn with_sign_of(self, sign: Self) -> Self {
        self.zip(sign, f32::copysign)
    }

    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Plain(self.0.map(f32::abs))
    }

    #[inline(always)]
    unsafe fn round(self) -> Self {
        // Adding 1.5 * 2^23 leaves no fraction bits; larger numbers have none to begin with.
        const SHIFT: f32 = 12_582_912.0;
        Plain(self.0.map(|x| if x.abs() < 4_194_304.0 { (x + SHIFT) - SHIFT } else { x }))
    }

    #[inline(always)]
    unsafe fn times_power_of_two(self, n: Self) -> Self {
        self.zip(n, |x, n| x * f32::from_bits(((n as i32).wrapping_add(127) as u32) << 23))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        self.halve(|a, b| a + b)
    }

    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        self.halve(|a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn above(self, b: Self) -> u32 {
        self.bits(b, |a, b| a > b)
    }

    #[inline(always)]
    unsafe fn at_least(self, b: Self) -> u32 {
        self.bits(b, |a, b| a >= b)
    }
}
