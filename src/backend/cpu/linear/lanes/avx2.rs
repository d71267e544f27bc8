//! AVX2 with FMA and F16C: a vector is a pair of registers. `VNNI` adds the VEX-encoded byte dot product.

use std::arch::x86_64::*;

use super::Lanes;

#[derive(Clone, Copy)]
pub struct Avx2<const VNNI: bool>;

#[inline(always)]
unsafe fn sum_i32(v: __m256i) -> i32 {
    let v = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
    let v = _mm_add_epi32(v, _mm_shuffle_epi32::<0b01_00_11_10>(v));
    _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32::<0b10_11_00_01>(v)))
}

impl<const VNNI: bool> Lanes for Avx2<VNNI> {
    type F = [__m256; 2];
    type I = [__m256i; 2];
    type B = [__m256i; 2];
    type Fs = __m256;
    type X = __m256i;

    // Two registers to a vector: 8 for the integer sums of 4 rows; the float sums move out once per block.
    const BLOCK_SHAPE: (usize, usize) = (1, 4);
    const DENSE_SHAPE: (usize, usize) = (1, 6);

    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(p.cast());
    }
    #[inline(always)]
    unsafe fn zero() -> Self::F {
        [_mm256_setzero_ps(); 2]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))]
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F) {
        _mm256_storeu_ps(p, v[0]);
        _mm256_storeu_ps(p.add(8), v[1]);
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self::F {
        [_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(16).cast()))]
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(p: *const u8) -> [Self::F; 2] {
        let high = _mm256_set1_epi32(0xffff_0000_u32 as i32);
        let [a, b] = Self::bytes(p);
        [
            [_mm256_castsi256_ps(_mm256_slli_epi32::<16>(a)), _mm256_castsi256_ps(_mm256_slli_epi32::<16>(b))],
            [_mm256_castsi256_ps(_mm256_and_si256(a, high)), _mm256_castsi256_ps(_mm256_and_si256(b, high))],
        ]
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self::Fs {
        _mm256_set1_ps(p.read_unaligned())
    }
    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])]
    }
    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])]
    }
    #[inline(always)]
    unsafe fn mul_splat(a: Self::F, b: Self::Fs) -> Self::F {
        [_mm256_mul_ps(a[0], b), _mm256_mul_ps(a[1], b)]
    }
    #[inline(always)]
    unsafe fn neg(a: Self::F) -> Self::F {
        let sign = _mm256_set1_ps(-0.0);
        [_mm256_xor_ps(a[0], sign), _mm256_xor_ps(a[1], sign)]
    }
    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])]
    }
    #[inline(always)]
    unsafe fn fma_splat(a: Self::F, b: Self::Fs, c: Self::F) -> Self::F {
        [_mm256_fmadd_ps(a[0], b, c[0]), _mm256_fmadd_ps(a[1], b, c[1])]
    }

    #[inline(always)]
    unsafe fn int_zero() -> Self::I {
        [_mm256_setzero_si256(); 2]
    }
    #[inline(always)]
    unsafe fn int_splat(p: *const i32, shift: u32) -> Self::I {
        [_mm256_sllv_epi32(_mm256_set1_epi32(p.read_unaligned()), _mm256_set1_epi32(shift as i32)); 2]
    }
    #[inline(always)]
    unsafe fn int_load_u8(p: *const u8) -> Self::I {
        [_mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast())), _mm256_cvtepu8_epi32(_mm_loadl_epi64(p.add(8).cast()))]
    }
    #[inline(always)]
    unsafe fn int_load_i8(p: *const u8) -> Self::I {
        [_mm256_cvtepi8_epi32(_mm_loadl_epi64(p.cast())), _mm256_cvtepi8_epi32(_mm_loadl_epi64(p.add(8).cast()))]
    }
    #[inline(always)]
    unsafe fn int_and(a: Self::I, mask: i32) -> Self::I {
        let mask = _mm256_set1_epi32(mask);
        [_mm256_and_si256(a[0], mask), _mm256_and_si256(a[1], mask)]
    }
    #[inline(always)]
    unsafe fn int_shr(a: Self::I, by: u32) -> Self::I {
        let by = _mm256_set1_epi32(by as i32);
        [_mm256_srlv_epi32(a[0], by), _mm256_srlv_epi32(a[1], by)]
    }
    #[inline(always)]
    unsafe fn to_float(a: Self::I) -> Self::F {
        [_mm256_cvtepi32_ps(a[0]), _mm256_cvtepi32_ps(a[1])]
    }

    #[inline(always)]
    unsafe fn bytes(p: *const u8) -> Self::B {
        [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(32).cast())]
    }
    #[inline(always)]
    unsafe fn bytes_store(p: *mut u8, v: Self::B) {
        _mm256_storeu_si256(p.cast(), v[0]);
        _mm256_storeu_si256(p.add(32).cast(), v[1]);
    }
    #[inline(always)]
    unsafe fn bytes_and(a: Self::B, mask: u8) -> Self::B {
        let mask = _mm256_set1_epi8(mask as i8);
        [_mm256_and_si256(a[0], mask), _mm256_and_si256(a[1], mask)]
    }
    #[inline(always)]
    unsafe fn bytes_or(a: Self::B, b: Self::B) -> Self::B {
        [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])]
    }
    #[inline(always)]
    unsafe fn bytes_shr(a: Self::B, by: u32) -> Self::B {
        Self::int_shr(a, by)
    }
    #[inline(always)]
    unsafe fn bytes_shl(a: Self::B, by: u32) -> Self::B {
        let by = _mm256_set1_epi32(by as i32);
        [_mm256_sllv_epi32(a[0], by), _mm256_sllv_epi32(a[1], by)]
    }
    #[inline(always)]
    unsafe fn bytes_lookup(a: Self::B, table: &[u8; 16]) -> Self::B {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
        [_mm256_shuffle_epi8(table, a[0]), _mm256_shuffle_epi8(table, a[1])]
    }

    #[inline(always)]
    unsafe fn codes(p: *const u8) -> Self::X {
        _mm256_set1_epi32(p.cast::<i32>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        if VNNI {
            return [_mm256_dpbusd_avx_epi32(acc[0], w[0], x), _mm256_dpbusd_avx_epi32(acc[1], w[1], x)];
        }
        // Two products of at most 127 × 127 fit 16 bits.
        let one = _mm256_set1_epi16(1);
        [
            _mm256_add_epi32(acc[0], _mm256_madd_epi16(_mm256_maddubs_epi16(w[0], x), one)),
            _mm256_add_epi32(acc[1], _mm256_madd_epi16(_mm256_maddubs_epi16(w[1], x), one)),
        ]
    }
    #[inline(always)]
    unsafe fn wide_start(p: *const i32) -> Self::I {
        if VNNI { Self::int_splat(p, 7) } else { Self::int_zero() }
    }
    #[inline(always)]
    unsafe fn dot_wide(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        if VNNI {
            return Self::dot(acc, w, x);
        }
        // Unsigned codes up to 255 would overflow 16 bits, so the sign goes over to the activations: |w| is at most 128.
        let (one, middle) = (_mm256_set1_epi16(1), _mm256_set1_epi8(-128));
        let signed = [_mm256_xor_si256(w[0], middle), _mm256_xor_si256(w[1], middle)];
        let pairs = [
            _mm256_maddubs_epi16(_mm256_abs_epi8(signed[0]), _mm256_sign_epi8(x, signed[0])),
            _mm256_maddubs_epi16(_mm256_abs_epi8(signed[1]), _mm256_sign_epi8(x, signed[1])),
        ];
        [_mm256_add_epi32(acc[0], _mm256_madd_epi16(pairs[0], one)), _mm256_add_epi32(acc[1], _mm256_madd_epi16(pairs[1], one))]
    }

    #[inline(always)]
    unsafe fn max_magnitude_bits(p: *const f32) -> u32 {
        let mask = _mm256_set1_epi32(0x7fff_ffff);
        let mut max = _mm256_setzero_si256();
        for i in 0..4 {
            max = _mm256_max_epu32(max, _mm256_and_si256(_mm256_loadu_si256(p.add(8 * i).cast()), mask));
        }
        let max = _mm_max_epu32(_mm256_castsi256_si128(max), _mm256_extracti128_si256::<1>(max));
        let max = _mm_max_epu32(max, _mm_shuffle_epi32::<0b01_00_11_10>(max));
        _mm_cvtsi128_si32(_mm_max_epu32(max, _mm_shuffle_epi32::<0b10_11_00_01>(max))) as u32
    }
    #[inline(always)]
    unsafe fn quantize(p: *const f32, by: f32, into: *mut u8) -> i32 {
        let by = _mm256_set1_ps(by);
        let low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(p), by));
        let high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(p.add(8)), by));
        // Packing works within halves of a register; the permutation puts the four groups in order.
        let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
        let codes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm_storeu_si128(into.cast(), codes);
        sum_i32(_mm256_add_epi32(low, high))
    }
}
