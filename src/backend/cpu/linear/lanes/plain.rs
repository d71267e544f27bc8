//! Plain Rust: what every level means. The compiler vectorises it where the target allows.

use half::{bf16, f16};

use super::{LANES, Lanes};

#[derive(Clone, Copy)]
pub struct Plain;

#[inline(always)]
fn map<A: Copy, B: Copy + Default, const N: usize>(a: [A; N], f: impl Fn(A) -> B) -> [B; N] {
    let mut out = [B::default(); N];
    for i in 0..N {
        out[i] = f(a[i]);
    }
    out
}

#[inline(always)]
fn words(a: [u8; 64], f: impl Fn(u32) -> u32) -> [u8; 64] {
    let mut out = [0; 64];
    for (o, i) in out.chunks_exact_mut(4).zip(a.chunks_exact(4)) {
        o.copy_from_slice(&f(u32::from_le_bytes([i[0], i[1], i[2], i[3]])).to_le_bytes());
    }
    out
}

impl Lanes for Plain {
    type F = [f32; LANES];
    type I = [i32; LANES];
    type B = [u8; 64];
    type Fs = f32;
    type X = [i8; 4];

    const BLOCK_SHAPE: (usize, usize) = (1, 1);
    const DENSE_SHAPE: (usize, usize) = (1, 2);

    #[inline(always)]
    unsafe fn prefetch(_p: *const u8) {}
    #[inline(always)]
    unsafe fn zero() -> Self::F {
        [0.0; LANES]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        p.cast::<Self::F>().read_unaligned()
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F) {
        p.cast::<Self::F>().write_unaligned(v);
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self::F {
        map(p.cast::<[u16; LANES]>().read_unaligned(), |h| f16::from_bits(u16::from_le(h)).to_f32())
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(p: *const u8) -> [Self::F; 2] {
        let pairs = p.cast::<[u32; LANES]>().read_unaligned();
        [map(pairs, |w| bf16::from_bits(w as u16).to_f32()), map(pairs, |w| bf16::from_bits((w >> 16) as u16).to_f32())]
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self::Fs {
        p.read_unaligned()
    }
    #[inline(always)]
    unsafe fn add(mut a: Self::F, b: Self::F) -> Self::F {
        for i in 0..LANES {
            a[i] += b[i];
        }
        a
    }
    #[inline(always)]
    unsafe fn mul(mut a: Self::F, b: Self::F) -> Self::F {
        for i in 0..LANES {
            a[i] *= b[i];
        }
        a
    }
    #[inline(always)]
    unsafe fn mul_splat(a: Self::F, b: Self::Fs) -> Self::F {
        map(a, |a| a * b)
    }
    #[inline(always)]
    unsafe fn neg(a: Self::F) -> Self::F {
        map(a, |a| -a)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, mut c: Self::F) -> Self::F {
        for i in 0..LANES {
            c[i] = a[i].mul_add(b[i], c[i]);
        }
        c
    }
    #[inline(always)]
    unsafe fn fma_splat(a: Self::F, b: Self::Fs, mut c: Self::F) -> Self::F {
        for i in 0..LANES {
            c[i] = a[i].mul_add(b, c[i]);
        }
        c
    }

    #[inline(always)]
    unsafe fn int_zero() -> Self::I {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn int_splat(p: *const i32, shift: u32) -> Self::I {
        [p.read_unaligned() << shift; LANES]
    }
    #[inline(always)]
    unsafe fn int_load_u8(p: *const u8) -> Self::I {
        map(p.cast::<[u8; LANES]>().read_unaligned(), i32::from)
    }
    #[inline(always)]
    unsafe fn int_load_i8(p: *const u8) -> Self::I {
        map(p.cast::<[i8; LANES]>().read_unaligned(), i32::from)
    }
    #[inline(always)]
    unsafe fn int_and(a: Self::I, mask: i32) -> Self::I {
        map(a, |a| a & mask)
    }
    #[inline(always)]
    unsafe fn int_shr(a: Self::I, by: u32) -> Self::I {
        map(a, |a| a >> by)
    }
    #[inline(always)]
    unsafe fn to_float(a: Self::I) -> Self::F {
        map(a, |a| a as f32)
    }

    #[inline(always)]
    unsafe fn bytes(p: *const u8) -> Self::B {
        p.cast::<Self::B>().read_unaligned()
    }
    #[inline(always)]
    unsafe fn bytes_store(p: *mut u8, v: Self::B) {
        p.cast::<Self::B>().write_unaligned(v);
    }
    #[inline(always)]
    unsafe fn bytes_and(mut a: Self::B, mask: u8) -> Self::B {
        a.iter_mut().for_each(|a| *a &= mask);
        a
    }
    #[inline(always)]
    unsafe fn bytes_or(mut a: Self::B, b: Self::B) -> Self::B {
        for i in 0..64 {
            a[i] |= b[i];
        }
        a
    }
    #[inline(always)]
    unsafe fn bytes_shr(a: Self::B, by: u32) -> Self::B {
        words(a, |w| w >> by)
    }
    #[inline(always)]
    unsafe fn bytes_shl(a: Self::B, by: u32) -> Self::B {
        words(a, |w| w << by)
    }
    #[inline(always)]
    unsafe fn bytes_lookup(mut a: Self::B, table: &[u8; 16]) -> Self::B {
        a.iter_mut().for_each(|a| *a = table[(*a & 15) as usize]);
        a
    }

    #[inline(always)]
    unsafe fn codes(p: *const u8) -> Self::X {
        p.cast::<[i8; 4]>().read_unaligned()
    }
    #[inline(always)]
    unsafe fn dot(mut acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        for i in 0..LANES {
            for k in 0..4 {
                acc[i] += i32::from(w[4 * i + k]) * i32::from(x[k]);
            }
        }
        acc
    }
    #[inline(always)]
    unsafe fn wide_start(p: *const i32) -> Self::I {
        Self::int_splat(p, 7)
    }
    #[inline(always)]
    unsafe fn dot_wide(acc: Self::I, w: Self::B, x: Self::X) -> Self::I {
        Self::dot(acc, w, x)
    }

    #[inline(always)]
    unsafe fn max_magnitude_bits(p: *const f32) -> u32 {
        p.cast::<[f32; 32]>().read_unaligned().iter().fold(0, |max, x| max.max(x.to_bits() & 0x7fff_ffff))
    }
    #[inline(always)]
    unsafe fn quantize(p: *const f32, by: f32, into: *mut u8) -> i32 {
        let codes: [i8; LANES] = map(p.cast::<[f32; LANES]>().read_unaligned(), |x| (x * by).round_ties_even() as i8);
        into.cast::<[i8; LANES]>().write_unaligned(codes);
        codes.iter().map(|&c| i32::from(c)).sum()
    }
}
