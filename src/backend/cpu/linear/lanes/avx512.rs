//! AVX-512 with VNNI: a vector is one register.

use std::arch::x86_64::*;

use super::Lanes;

#[derive(Clone, Copy)]
pub struct Avx512;

impl Lanes for Avx512 {
    type F = __m512;
    type I = __m512i;
    type B = __m512i;
    type Fs = __m512;
    type X = __m512i;

    // 12 integer and 12 float accumulators, 2 weight vectors and a broadcast of the 32 registers.
    const BLOCK_SHAPE: (usize, usize) = (2, 6);
    // 24 accumulators, 4 weight vectors and a broadcast.
    const DENSE_SHAPE: (usize, usize) = (4, 6);

    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(p.cast());
    }
    #[inline(always)]
    unsafe fn zero() -> Self::F {
        _mm512_setzero_ps()
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        _mm512_loadu_ps(p)
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F) {
        _mm512_storeu_ps(p, v);
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self::F {
        _mm512_cvtph_ps(_mm256_loadu_si256(p.cast()))
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(p: *const u8) -> [Self::F; 2] {
        let pairs = _mm512_loadu_si512(p.cast());
        [
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs)),
            _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32 as i32))),
        ]
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self::Fs {
        _mm512_set1_ps(p.read_unaligned())
    }
    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        _mm512_add_ps(a, b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        _mm512_mul_ps(a, b)
    }
    #[inline(always)]
    unsafe fn mul_splat(a: Self::F, b: Self::Fs) -> Self::F {
        _mm512_mul_ps(a, b)
    }
    #[inline(always)]
    unsafe fn neg(a: Self::F) -> Self::F {
        _mm512_xor_ps(a, _mm512_set1_ps(-0.0))
    }
    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        _mm512_fmadd_ps(a, b, c)
    }
    #[inline(always)]
    unsafe fn fma_splat(a: Self::F, b: Self::Fs, c: Self::F) -> Self::F {
        _mm512_fmadd_ps(a, b, c)
    }

    #[inline(always)]
    unsafe fn int_zero() -> Self::I {
        _mm512_setzero_si512()
    }
    #[inline(always)]
    unsafe fn int_splat(p: *const i32, shift: u32) -> Self::I {
        _mm512_sllv_epi32(_mm512_set1_epi32(p.read_unaligned()), _mm512_set1_epi32(shift as i32))
    }
    #[inline(always)]
    unsafe fn int_load_u8(p: *const u8) -> Self::I {
        _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast()))
    }
    #[inline(always)]
    unsafe fn int_load_i8(p: *const u8) -> Self::I {
        _mm512_cvtepi8_epi32(_mm_loadu_si128(p.cast()))
    }
    #[inline(always)]
    unsafe fn int_and(a: Self::I, mask: i32) -> Self::I {
        _mm512_and_si512(a, _mm512_set1_epi32(mask))
    }
    #[inline(always)]
    unsafe fn int_shr(a: Self::I, by: u32) -> Self::I {
        _mm512_srlv_epi32(a, _mm512_set1_epi32(by as i32))
    }
    #[inline(always)]
    unsafe fn to_float(a: Self::I) -> Self::F {
        _mm512_cvtepi32_ps(a)
    }

    #[inline(always)]
    unsafe fn bytes(p: *const u8) -> Self::B {
        _mm512_loadu_si512(p.cast())
    }
    #[inline(always)]
    unsafe fn bytes_store(p: *mut u8, v: Self::B) {
        _mm512_storeu_si512(p.cast(), v);
    }
    #[inline(always)]
    unsafe fn bytes_and(a: Self::B, mask: u8) -> Self::B {
        _mm512_and_si512(a, _mm512_set1_epi8(mask as i8))
    }
    #[inline(always)]
    unsafe fn bytes_or(a: Self::B, b: Self::B) -> Self::B {
        _mm512_or_si512(a, b)
    }
    #[inline(always)]
    unsafe fn bytes_shr(a: Self::B, by: u32) -> Self::B {
        _mm512_srlv_epi32(a, _mm512_set1_epi32(by as i32))
    }
    #[inline(always)]
    unsafe fn bytes_shl(a: Self::B, by: u32) -> Self::B {
        _mm512_sllv_epi32(a, _mm512_set1_epi32(by as i32))
    }
    #[inline(always)]
    unsafe fn bytes_lookup(a: Self::B, table: &[u8; 16]) -> Self::B {
        _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())), a)
    }

    #[inline(always)]
    unsafe fn codes(p: *const u8) -> Self::X {
        _mm512_set1_epi32(p.cast::<i32>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        _mm512_dpbusd_epi32(acc, w, x)
    }
    #[inline(always)]
    unsafe fn wide_start(p: *const i32) -> Self::I {
        Self::int_splat(p, 7)
    }
    #[inline(always)]
    unsafe fn dot_wide(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        _mm512_dpbusd_epi32(acc, w, x)
    }

    #[inline(always)]
    unsafe fn max_magnitude_bits(p: *const f32) -> u32 {
        let mask = _mm512_set1_epi32(0x7fff_ffff);
        let a = _mm512_and_si512(_mm512_loadu_si512(p.cast()), mask);
        let b = _mm512_and_si512(_mm512_loadu_si512(p.add(16).cast()), mask);
        _mm512_reduce_max_epu32(_mm512_max_epu32(a, b))
    }
    #[inline(always)]
    unsafe fn quantize(p: *const f32, by: f32, into: *mut u8) -> i32 {
        let codes = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(p), _mm512_set1_ps(by)));
        _mm_storeu_si128(into.cast(), _mm512_cvtepi32_epi8(codes));
        _mm512_reduce_add_epi32(codes)
    }
}
