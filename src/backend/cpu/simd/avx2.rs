//! Eight lanes of AVX2 with FMA and F16C.

use std::arch::x86_64::*;

use super::{Kernel, Vector};

#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256);

/// # Safety
/// As [`Kernel::run`]; the processor has the features listed.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

/// All ones in the first `n` lanes.
#[inline(always)]
unsafe fn first(n: usize) -> __m256i {
    const ONES_THEN_ZEROS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    _mm256_loadu_si256(ONES_THEN_ZEROS.as_ptr().add(8 - n).cast())
}

impl Vector for Avx2 {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Avx2(_mm256_set1_ps(x))
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Avx2(_mm256_loadu_ps(p))
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        _mm256_storeu_ps(p, self.0);
    }

    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        Avx2(_mm256_maskload_ps(p, first(n)))
    }

    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        _mm256_maskstore_ps(p, first(n), self.0);
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Avx2(_mm256_cvtph_ps(_mm_loadu_si128(p.cast())))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
        Avx2(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide)))
    }

    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Avx2(_mm256_add_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        Avx2(_mm256_sub_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Avx2(_mm256_mul_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        Avx2(_mm256_div_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Avx2(_mm256_fmadd_ps(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        Avx2(_mm256_max_ps(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn select_below(self, bound: Self, then: Self, other: Self) -> Self {
        Avx2(_mm256_blendv_ps(other.0, then.0, _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, bound.0)))
    }

    #[inline(always)]
    unsafe fn with_sign_of(self, sign: Self) -> Self {
        let bit = _mm256_set1_ps(-0.0);
        Avx2(_mm256_or_ps(_mm256_andnot_ps(bit, self.0), _mm256_and_ps(bit, sign.0)))
    }

    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Avx2(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0))
    }

    #[inline(always)]
    unsafe fn round(self) -> Self {
        Avx2(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0))
    }

    #[inline(always)]
    unsafe fn times_power_of_two(self, n: Self) -> Self {
        let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.0), _mm256_set1_epi32(127));
        Avx2(_mm256_mul_ps(self.0, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    }

    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        let four = _mm_max_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
        let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
    }

    #[inline(always)]
    unsafe fn above(self, b: Self) -> u32 {
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, b.0)) as u32
    }

    #[inline(always)]
    unsafe fn at_least(self, b: Self) -> u32 {
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(self.0, b.0)) as u32
    }
}
