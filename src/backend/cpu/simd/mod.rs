//! Vectors of f32: the few operations the kernels are written in, once per instruction set, and the functions made of them.
//!
//! Owns: the mapping to instructions and the polynomials of [`math`]. Never: what a kernel computes. Within a level a function
//! gives the same bits wherever it is called from; levels may differ in the last bits.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod math;
pub(crate) mod plain;

use super::linear::Level;

/// A vector of [`LANES`](Vector::LANES) f32.
///
/// All functions need the processor features of the implementation, and pointers valid for what the name says they read or write;
/// none needs alignment.
#[allow(clippy::missing_safety_doc)]
pub(crate) trait Vector: Copy {
    const LANES: usize;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    unsafe fn store(self, p: *mut f32);
    /// The first `n < LANES` lanes; zero in the others.
    unsafe fn load_part(p: *const f32, n: usize) -> Self;
    unsafe fn store_part(self, p: *mut f32, n: usize);
    unsafe fn load_f16(p: *const u16) -> Self;
    /// Rounds to nearest even.
    unsafe fn store_f16(self, p: *mut u16);
    unsafe fn load_bf16(p: *const u16) -> Self;
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// `self * b + c`.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The larger of each lane; `b` where either is NaN.
    unsafe fn max(self, b: Self) -> Self;
    /// `then` where `self < bound`, else `other`; `other` where either is NaN.
    unsafe fn select_below(self, bound: Self, then: Self, other: Self) -> Self;
    /// The magnitude with the sign of `sign`.
    unsafe fn with_sign_of(self, sign: Self) -> Self;
    unsafe fn abs(self) -> Self;
    /// To the nearest integer, ties to even.
    unsafe fn round(self) -> Self;
    /// `self * 2^n` for integral `n` in -126..=127.
    unsafe fn times_power_of_two(self, n: Self) -> Self;
    /// The sum of the lanes, in an order of its own.
    unsafe fn sum(self) -> f32;
    /// The largest lane, none being NaN.
    unsafe fn largest(self) -> f32;
    /// One bit per lane: `self > b`, false for NaN.
    unsafe fn above(self, b: Self) -> u32;
    /// One bit per lane: `self >= b`, false for NaN.
    unsafe fn at_least(self, b: Self) -> u32;
}

/// A kernel generic over its vectors. [`dispatch`] runs it compiled for a level.
pub(crate) trait Kernel {
    type Output;
    /// Needs the processor features of `V`, and whatever the kernel says of its pointers.
    #[allow(clippy::missing_safety_doc)]
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

/// Runs `kernel` with the vectors of `level`.
///
/// # Safety
/// As [`Kernel::run`]; a [`Level`] is only had where the processor has it.
#[inline(always)]
pub(crate) unsafe fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match level {
        Level::Avx512 | Level::Avx512Bf16 => return avx512::run(kernel),
        Level::Avx2 | Level::Avx2Vnni => return avx2::run(kernel),
        _ => (),
    }
    let _ = level;
    kernel.run::<plain::Plain>()
}
