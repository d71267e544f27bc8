//! Arm NEON with the byte dot product: a vector is four registers.
//!
//! The intrinsics of `sdot`, of f16 conversion and of prefetching are not stable in Rust yet, so those are inline assembly.

use std::arch::aarch64::*;
use std::arch::asm;

use super::Lanes;

#[derive(Clone, Copy)]
pub struct Neon;

/// Applies `$f` to each register.
macro_rules! each {
    ($f:expr, $a:expr) => {{
        let a = $a;
        [$f(a[0]), $f(a[1]), $f(a[2]), $f(a[3])]
    }};
    ($f:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        [$f(a[0], b[0]), $f(a[1], b[1]), $f(a[2], b[2]), $f(a[3], b[3])]
    }};
    ($f:expr, $a:expr, $b:expr, $c:expr) => {{
        let (a, b, c) = ($a, $b, $c);
        [$f(a[0], b[0], c[0]), $f(a[1], b[1], c[1]), $f(a[2], b[2], c[2]), $f(a[3], b[3], c[3])]
    }};
}

/// Adds to each lane of `acc` the dot product of its 4 bytes of `w` and `x`, all signed.
#[inline(always)]
unsafe fn sdot(mut acc: int32x4_t, w: int8x16_t, x: int8x16_t) -> int32x4_t {
    asm!(
        ".arch_extension dotprod",
        "sdot {acc:v}.4s, {w:v}.16b, {x:v}.16b",
        acc = inout(vreg) acc,
        w = in(vreg) w,
        x = in(vreg) x,
        options(pure, nomem, nostack, preserves_flags)
    );
    acc
}

#[inline(always)]
unsafe fn widen_f16(halves: uint16x4_t) -> float32x4_t {
    let wide: float32x4_t;
    asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) wide, in(vreg) halves, options(pure, nomem, nostack, preserves_flags));
    wide
}

impl Lanes for Neon {
    type F = [float32x4_t; 4];
    type I = [int32x4_t; 4];
    type B = [uint8x16_t; 4];
    type Fs = float32x4_t;
    type X = int8x16_t;

    // Four registers to a vector: 16 for the integer sums of 4 rows; the float sums move out once per block.
    const BLOCK_SHAPE: (usize, usize) = (1, 4);
    const DENSE_SHAPE: (usize, usize) = (1, 6);

    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        asm!("prfm pldl1keep, [{0}]", in(reg) p, options(readonly, nostack, preserves_flags));
    }
    #[inline(always)]
    unsafe fn zero() -> Self::F {
        [vdupq_n_f32(0.0); 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        [vld1q_f32(p), vld1q_f32(p.add(4)), vld1q_f32(p.add(8)), vld1q_f32(p.add(12))]
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F) {
        vst1q_f32(p, v[0]);
        vst1q_f32(p.add(4), v[1]);
        vst1q_f32(p.add(8), v[2]);
        vst1q_f32(p.add(12), v[3]);
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self::F {
        let halves = p.cast::<[uint16x4_t; 4]>().read_unaligned();
        each!(widen_f16, halves)
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(p: *const u8) -> [Self::F; 2] {
        let pairs = each!(vreinterpretq_u32_u8, Self::bytes(p));
        let high = vdupq_n_u32(0xffff_0000);
        [
            each!(|v| vreinterpretq_f32_u32(vshlq_n_u32::<16>(v)), pairs),
            each!(|v| vreinterpretq_f32_u32(vandq_u32(v, high)), pairs),
        ]
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self::Fs {
        vdupq_n_f32(p.read_unaligned())
    }
    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        each!(vaddq_f32, a, b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        each!(vmulq_f32, a, b)
    }
    #[inline(always)]
    unsafe fn mul_splat(a: Self::F, b: Self::Fs) -> Self::F {
        each!(vmulq_f32, a, [b; 4])
    }
    #[inline(always)]
    unsafe fn neg(a: Self::F) -> Self::F {
        each!(vnegq_f32, a)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        each!(vfmaq_f32, c, a, b)
    }
    #[inline(always)]
    unsafe fn fma_splat(a: Self::F, b: Self::Fs, c: Self::F) -> Self::F {
        each!(vfmaq_f32, c, a, [b; 4])
    }

    #[inline(always)]
    unsafe fn int_zero() -> Self::I {
        [vdupq_n_s32(0); 4]
    }
    #[inline(always)]
    unsafe fn int_splat(p: *const i32, shift: u32) -> Self::I {
        [vdupq_n_s32(p.read_unaligned() << shift); 4]
    }
    #[inline(always)]
    unsafe fn int_load_u8(p: *const u8) -> Self::I {
        let bytes = vld1q_u8(p);
        let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_u8(vget_high_u8(bytes)));
        let words = [vget_low_u16(low), vget_high_u16(low), vget_low_u16(high), vget_high_u16(high)];
        [
            vreinterpretq_s32_u32(vmovl_u16(words[0])),
            vreinterpretq_s32_u32(vmovl_u16(words[1])),
            vreinterpretq_s32_u32(vmovl_u16(words[2])),
            vreinterpretq_s32_u32(vmovl_u16(words[3])),
        ]
    }
    #[inline(always)]
    unsafe fn int_load_i8(p: *const u8) -> Self::I {
        let bytes = vld1q_s8(p.cast());
        let (low, high) = (vmovl_s8(vget_low_s8(bytes)), vmovl_s8(vget_high_s8(bytes)));
        let words = [vget_low_s16(low), vget_high_s16(low), vget_low_s16(high), vget_high_s16(high)];
        each!(vmovl_s16, words)
    }
    #[inline(always)]
    unsafe fn int_and(a: Self::I, mask: i32) -> Self::I {
        each!(vandq_s32, a, [vdupq_n_s32(mask); 4])
    }
    #[inline(always)]
    unsafe fn int_shr(a: Self::I, by: u32) -> Self::I {
        each!(vshlq_s32, a, [vdupq_n_s32(-(by as i32)); 4])
    }
    #[inline(always)]
    unsafe fn to_float(a: Self::I) -> Self::F {
        each!(vcvtq_f32_s32, a)
    }

    #[inline(always)]
    unsafe fn bytes(p: *const u8) -> Self::B {
        [vld1q_u8(p), vld1q_u8(p.add(16)), vld1q_u8(p.add(32)), vld1q_u8(p.add(48))]
    }
    #[inline(always)]
    unsafe fn bytes_store(p: *mut u8, v: Self::B) {
        vst1q_u8(p, v[0]);
        vst1q_u8(p.add(16), v[1]);
        vst1q_u8(p.add(32), v[2]);
        vst1q_u8(p.add(48), v[3]);
    }
    #[inline(always)]
    unsafe fn bytes_and(a: Self::B, mask: u8) -> Self::B {
        each!(vandq_u8, a, [vdupq_n_u8(mask); 4])
    }
    #[inline(always)]
    unsafe fn bytes_or(a: Self::B, b: Self::B) -> Self::B {
        each!(vorrq_u8, a, b)
    }
    #[inline(always)]
    unsafe fn bytes_shr(a: Self::B, by: u32) -> Self::B {
        each!(vshlq_u8, a, [vdupq_n_s8(-(by as i8)); 4])
    }
    #[inline(always)]
    unsafe fn bytes_shl(a: Self::B, by: u32) -> Self::B {
        each!(vshlq_u8, a, [vdupq_n_s8(by as i8); 4])
    }
    #[inline(always)]
    unsafe fn bytes_lookup(a: Self::B, table: &[u8; 16]) -> Self::B {
        each!(vqtbl1q_u8, [vld1q_u8(table.as_ptr()); 4], a)
    }

    #[inline(always)]
    unsafe fn codes(p: *const u8) -> Self::X {
        vreinterpretq_s8_s32(vdupq_n_s32(p.cast::<i32>().read_unaligned()))
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        each!(sdot, acc, each!(vreinterpretq_s8_u8, w), [x; 4])
    }
    #[inline(always)]
    unsafe fn wide_start(_p: *const i32) -> Self::I {
        Self::int_zero()
    }
    #[inline(always)]
    unsafe fn dot_wide(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        // Flipping the top bit takes 128 off a code, as a signed byte.
        Self::dot(acc, each!(veorq_u8, w, [vdupq_n_u8(0x80); 4]), x)
    }

    #[inline(always)]
    unsafe fn max_magnitude_bits(p: *const f32) -> u32 {
        let mask = vdupq_n_u32(0x7fff_ffff);
        let mut max = vdupq_n_u32(0);
        for i in 0..8 {
            max = vmaxq_u32(max, vandq_u32(vld1q_u32(p.add(4 * i).cast()), mask));
        }
        vmaxvq_u32(max)
    }
    #[inline(always)]
    unsafe fn quantize(p: *const f32, by: f32, into: *mut u8) -> i32 {
        let scaled = each!(vmulq_f32, Self::load(p), [vdupq_n_f32(by); 4]);
        let codes = each!(vcvtnq_s32_f32, scaled);
        let low = vcombine_s16(vqmovn_s32(codes[0]), vqmovn_s32(codes[1]));
        let high = vcombine_s16(vqmovn_s32(codes[2]), vqmovn_s32(codes[3]));
        vst1q_s8(into.cast(), vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
        vaddvq_s32(vaddq_s32(vaddq_s32(codes[0], codes[1]), vaddq_s32(codes[2], codes[3])))
    }
}
