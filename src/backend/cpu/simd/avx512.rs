//! Sixteen lanes of AVX-512.

use std::arch::x86_64::*;

use super::{Kernel, Vector};

#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

/// # Safety
/// As [`Kernel::run`]; the processor has the features listed.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[inline(always)]
unsafe fn first(n: usize) -> __mmask16 {
    ((1u32 << n) - 1) as __mmask16
}

impl Vector for Avx512 {
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Avx512(_mm512_set1_ps(x))
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Avx512(_mm512_loadu_ps(p))
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        _mm512_storeu_ps(p, self.0);
    }

    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        Avx512(_mm512_maskz_loadu_ps(first(n), p))
    }

    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        _mm512_mask_storeu_ps(p, first(n), self.0);
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Avx512(_mm512_cvtph_ps(_mm256_loadu_si256(p.cast())))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
        Avx512(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
    }

    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Avx512(_mm512_add_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        Avx512(_mm512_sub_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Avx512(_mm512_mul_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        Avx512(_mm512_div_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Avx512(_mm512_fmadd_ps(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        Avx512(_mm512_max_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn select_below(self, bound: Self, then: Self, other: Self) -> Self {
        let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, bound.0);
        Avx512(_mm512_mask_blend_ps(below, other.0, then.0))
    }

    #[inline(always)]
    unsafe fn with_sign_of(self, sign: Self) -> Self {
        let bit = _mm512_set1_ps(-0.0);
        Avx512(_mm512_or_ps(_mm512_andnot_ps(bit, self.0), _mm512_and_ps(bit, sign.0)))
    }

    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Avx512(_mm512_andnot_ps(_mm512_set1_ps(-0.0), self.0))
    }

    #[inline(always)]
    unsafe fn round(self) -> Self {
        Avx512(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0))
    }

    #[inline(always)]
    unsafe fn times_power_of_two(self, n: Self) -> Self {
        Avx512(_mm512_scalef_ps(self.0, n.0))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        _mm512_reduce_add_ps(self.0)
    }

    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        _mm512_reduce_max_ps(self.0)
    }

    #[inline(always)]
    unsafe fn above(self, b: Self) -> u32 {
        u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn at_least(self, b: Self) -> u32 {
        u32::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, b.0))
    }
}
