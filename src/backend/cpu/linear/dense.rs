//! Products of F32, F16 and BF16 tiles.
//!
//! Per output one chain of multiply-adds in column order, in f32. BF16 has a second kernel for processors with the bf16 dot
//! product, which takes columns in pairs and activations rounded to bf16.
//!
//! A tile holds, for each column (F32, F16) or pair of columns (BF16), the elements of its 16 rows side by side.

use std::marker::PhantomData;

use super::lanes::{LANES, Lanes};
use super::sweep::Micro;
use crate::weights::StoredType;

/// A float type, or a way of multiplying it.
#[allow(clippy::missing_safety_doc)]
pub trait Dense<L: Lanes>: 'static {
    /// Columns in a unit of the layout.
    const COLS: usize;
    /// Bytes of a unit: 16 rows.
    const UNIT: usize;
    /// Bytes of the activations of a unit.
    const X_UNIT: usize;
    /// Whether the activations of a last, incomplete unit are padded with zeros and so can be read.
    const X_PADDED: bool;
    type W: Copy;

    unsafe fn load(unit: *const u8) -> Self::W;
    unsafe fn add(sum: L::F, w: Self::W, x: *const u8) -> L::F;
    /// As [`add`](Dense::add) for the first column of an incomplete unit.
    unsafe fn add_first(sum: L::F, w: Self::W, x: *const u8) -> L::F;
}

/// Units between two looks at the loop counter; whole cache lines.
const UNROLL: usize = 4;

/// The micro kernel of a float type.
pub struct Floats<D>(PhantomData<D>);

impl<L: Lanes, D: Dense<L>> Micro<L> for Floats<D> {
    const SHAPE: (usize, usize) = L::DENSE_SHAPE;
    const SINGLE: usize = 2;

    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize>(
        cols: usize,
        mut w: [*const u8; R],
        ahead: usize,
        mut x: *const u8,
        x_stride: usize,
    ) -> [[L::F; C]; R] {
        let mut sums = [[L::zero(); C]; R];
        let whole = if D::X_PADDED { cols.div_ceil(D::COLS) } else { cols / D::COLS };
        for _ in 0..whole / UNROLL {
            if ahead != 0 {
                for w in w {
                    for line in 0..UNROLL * D::UNIT / 64 {
                        L::prefetch(w.wrapping_add(ahead + 64 * line));
                    }
                }
            }
            for _ in 0..UNROLL {
                add_unit::<L, D, R, C>(&mut sums, &mut w, &mut x, x_stride);
            }
        }
        for _ in 0..whole % UNROLL {
            add_unit::<L, D, R, C>(&mut sums, &mut w, &mut x, x_stride);
        }
        if whole * D::COLS < cols {
            for r in 0..R {
                let unit = D::load(w[r]);
                for c in 0..C {
                    sums[r][c] = D::add_first(sums[r][c], unit, x.add(c * x_stride));
                }
            }
        }
        sums
    }
}

#[inline(always)]
unsafe fn add_unit<L: Lanes, D: Dense<L>, const R: usize, const C: usize>(
    sums: &mut [[L::F; C]; R],
    w: &mut [*const u8; R],
    x: &mut *const u8,
    x_stride: usize,
) {
    let mut units = [D::load(w[0]); R];
    for r in 1..R {
        units[r] = D::load(w[r]);
    }
    for c in 0..C {
        for r in 0..R {
            sums[r][c] = D::add(sums[r][c], units[r], x.add(c * x_stride));
        }
    }
    for w in w {
        *w = w.add(D::UNIT);
    }
    *x = x.add(D::X_UNIT);
}

pub struct F32;

impl<L: Lanes> Dense<L> for F32 {
    const COLS: usize = 1;
    const UNIT: usize = 4 * LANES;
    const X_UNIT: usize = 4;
    const X_PADDED: bool = false;
    type W = L::F;

    #[inline(always)]
    unsafe fn load(unit: *const u8) -> L::F {
        L::load(unit.cast())
    }
    #[inline(always)]
    unsafe fn add(sum: L::F, w: L::F, x: *const u8) -> L::F {
        L::fma_splat(w, L::splat(x.cast()), sum)
    }
    #[inline(always)]
    unsafe fn add_first(sum: L::F, w: L::F, x: *const u8) -> L::F {
        Self::add_one::<L>(sum, w, x)
    }
}

impl F32 {
    #[inline(always)]
    unsafe fn add_one<L: Lanes>(sum: L::F, w: L::F, x: *const u8) -> L::F {
        L::fma_splat(w, L::splat(x.cast()), sum)
    }
}

pub struct F16;

impl<L: Lanes> Dense<L> for F16 {
    const COLS: usize = 1;
    const UNIT: usize = 2 * LANES;
    const X_UNIT: usize = 4;
    const X_PADDED: bool = false;
    type W = L::F;

    #[inline(always)]
    unsafe fn load(unit: *const u8) -> L::F {
        L::load_f16(unit)
    }
    #[inline(always)]
    unsafe fn add(sum: L::F, w: L::F, x: *const u8) -> L::F {
        F32::add_one::<L>(sum, w, x)
    }
    #[inline(always)]
    unsafe fn add_first(sum: L::F, w: L::F, x: *const u8) -> L::F {
        F32::add_one::<L>(sum, w, x)
    }
}

/// BF16 widened to f32, with f32 activations.
pub struct Bf16;

impl<L: Lanes> Dense<L> for Bf16 {
    const COLS: usize = 2;
    const UNIT: usize = 4 * LANES;
    const X_UNIT: usize = 8;
    const X_PADDED: bool = false;
    type W = [L::F; 2];

    #[inline(always)]
    unsafe fn load(unit: *const u8) -> Self::W {
        L::load_bf16_pairs(unit)
    }
    #[inline(always)]
    unsafe fn add(sum: L::F, w: Self::W, x: *const u8) -> L::F {
        F32::add_one::<L>(F32::add_one::<L>(sum, w[0], x), w[1], x.add(4))
    }
    #[inline(always)]
    unsafe fn add_first(sum: L::F, w: Self::W, x: *const u8) -> L::F {
        F32::add_one::<L>(sum, w[0], x)
    }
}

/// BF16 by the bf16 dot product, with bf16 activations.
#[cfg(target_arch = "x86_64")]
pub struct Bf16Dot;

#[cfg(target_arch = "x86_64")]
impl Dense<super::lanes::avx512::Avx512> for Bf16Dot {
    const COLS: usize = 2;
    const UNIT: usize = 4 * LANES;
    const X_UNIT: usize = 4;
    const X_PADDED: bool = true;
    type W = std::arch::x86_64::__m512i;

    #[inline(always)]
    unsafe fn load(unit: *const u8) -> Self::W {
        std::arch::x86_64::_mm512_loadu_si512(unit.cast())
    }
    #[inline(always)]
    unsafe fn add(sum: std::arch::x86_64::__m512, w: Self::W, x: *const u8) -> std::arch::x86_64::__m512 {
        use std::arch::x86_64::*;
        let x = _mm512_set1_epi32(x.cast::<i32>().read_unaligned());
        _mm512_dpbf16_ps(sum, std::mem::transmute::<__m512i, __m512bh>(w), std::mem::transmute::<__m512i, __m512bh>(x))
    }
    #[inline(always)]
    unsafe fn add_first(sum: std::arch::x86_64::__m512, w: Self::W, x: *const u8) -> std::arch::x86_64::__m512 {
        Self::add(sum, w, x)
    }
}

/// Bytes of a tile of `cols` columns of a float type.
pub fn tile_bytes(ty: StoredType, cols: usize) -> Option<usize> {
    let units = if ty == StoredType::BF16 { cols.div_ceil(2).checked_mul(4)? } else { cols.checked_mul(ty.block_bytes())? };
    units.checked_mul(LANES)?.checked_next_multiple_of(64)
}

/// Bytes from an element of a row to its next in a tile, by column: where the element of `lane` in column `col` begins.
pub fn element_at(ty: StoredType, lane: usize, col: usize) -> usize {
    match ty {
        StoredType::F32 => (col * LANES + lane) * 4,
        StoredType::F16 => (col * LANES + lane) * 2,
        _ => (col / 2 * LANES + lane) * 4 + col % 2 * 2,
    }
}
