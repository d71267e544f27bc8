//! Sixteen lanes, one output row each: the few operations that all kernels are written in, once per instruction set.
//!
//! Owns: the mapping to instructions. Never: what a stored format looks like, or the order in which a kernel adds.
//!
//! Every implementation gives the same bits for the same calls (conversions and multiply-adds are correctly rounded, integer
//! dot products exact), so kernels written over [`Lanes`] agree between levels.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod plain;

/// Lanes of a vector, rows of a tile.
pub const LANES: usize = 16;

/// Operations on 16 lanes. All functions need the processor features of the implementation and pointers valid for what the
/// name says they read or write; none needs alignment.
#[allow(clippy::missing_safety_doc)]
pub trait Lanes: Copy + 'static {
    /// 16 f32.
    type F: Copy;
    /// 16 i32.
    type I: Copy;
    /// 64 bytes: 4 consecutive elements of each row.
    type B: Copy;
    /// One f32 for all lanes.
    type Fs: Copy;
    /// 4 activation codes for all lanes.
    type X: Copy;

    /// Tiles and activation rows that the block kernel keeps in registers.
    const BLOCK_SHAPE: (usize, usize);
    /// The same for the dense kernel.
    const DENSE_SHAPE: (usize, usize);

    /// Asks for the cache line at `p`, which need not be valid.
    unsafe fn prefetch(p: *const u8);

    unsafe fn zero() -> Self::F;
    unsafe fn load(p: *const f32) -> Self::F;
    unsafe fn store(p: *mut f32, v: Self::F);
    /// 16 f16.
    unsafe fn load_f16(p: *const u8) -> Self::F;
    /// 16 pairs of bf16, as the vectors of the first and of the second.
    unsafe fn load_bf16_pairs(p: *const u8) -> [Self::F; 2];
    unsafe fn splat(p: *const f32) -> Self::Fs;
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn mul_splat(a: Self::F, b: Self::Fs) -> Self::F;
    unsafe fn neg(a: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    unsafe fn fma_splat(a: Self::F, b: Self::Fs, c: Self::F) -> Self::F;

    unsafe fn int_zero() -> Self::I;
    /// The i32 at `p`, shifted left by `shift`, in all lanes.
    unsafe fn int_splat(p: *const i32, shift: u32) -> Self::I;
    /// 16 u8, widened.
    unsafe fn int_load_u8(p: *const u8) -> Self::I;
    /// 16 i8, widened.
    unsafe fn int_load_i8(p: *const u8) -> Self::I;
    unsafe fn int_and(a: Self::I, mask: i32) -> Self::I;
    unsafe fn int_shr(a: Self::I, by: u32) -> Self::I;
    unsafe fn to_float(a: Self::I) -> Self::F;

    unsafe fn bytes(p: *const u8) -> Self::B;
    unsafe fn bytes_store(p: *mut u8, v: Self::B);
    unsafe fn bytes_and(a: Self::B, mask: u8) -> Self::B;
    unsafe fn bytes_or(a: Self::B, b: Self::B) -> Self::B;
    /// Shifts wider lanes: bits move between neighbouring bytes, so mask the result.
    unsafe fn bytes_shr(a: Self::B, by: u32) -> Self::B;
    /// As [`bytes_shr`](Lanes::bytes_shr), to the left.
    unsafe fn bytes_shl(a: Self::B, by: u32) -> Self::B;
    /// Looks each byte (0..=15) up in `table`.
    unsafe fn bytes_lookup(a: Self::B, table: &[u8; 16]) -> Self::B;

    unsafe fn codes(p: *const u8) -> Self::X;
    /// Adds to each lane the dot product of its 4 bytes, unsigned and below 128, with the 4 signed codes.
    unsafe fn dot(acc: Self::I, w: Self::B, x: Self::X) -> Self::I;
    /// The value to start [`dot_wide`](Lanes::dot_wide) from; `p` points at minus the sum of the codes.
    unsafe fn wide_start(p: *const i32) -> Self::I;
    /// As [`dot`](Lanes::dot) for bytes 0..=255 that stand for themselves minus 128.
    unsafe fn dot_wide(acc: Self::I, w: Self::B, x: Self::X) -> Self::I;

    /// The largest magnitude of 32 f32, as bits; at least those of infinity where one is not finite.
    unsafe fn max_magnitude_bits(p: *const f32) -> u32;
    /// Rounds 16 f32 times `by` to the nearest even i8, stores them, and returns their sum. The products lie in -127..=127.
    unsafe fn quantize(p: *const f32, by: f32, into: *mut u8) -> i32;
}
