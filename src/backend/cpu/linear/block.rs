//! Products of quantised tiles with 8-bit activations.
//!
//! Per block of 32 columns (per half block where the type has two scales): the exact integer dot product of the codes, then
//! `sum = fma(dot as f32, weight scale * activation scale, sum)` and, for types with a minimum,
//! `sum = fma(minimum, activation scale * sum of activation codes, sum)`, blocks in column order. That is the whole definition;
//! every level and block shape gives its bits.

use std::marker::PhantomData;
use std::mem::offset_of;

use super::acts::{BLOCK, Q8Block};
use super::format::{BlockFormat, Offset};
use super::lanes::{LANES, Lanes};
use super::sweep::Micro;

const QUADS: usize = BLOCK / 4;

/// The micro kernel of a stored type.
pub struct Block<F>(PhantomData<F>);

impl<L: Lanes, F: BlockFormat> Micro<L> for Block<F> {
    const SHAPE: (usize, usize) = L::BLOCK_SHAPE;
    const SINGLE: usize = 1;

    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize>(
        cols: usize,
        mut w: [*const u8; R],
        ahead: usize,
        mut x: *const u8,
        x_stride: usize,
    ) -> [[L::F; C]; R] {
        let mut sums = [[L::zero(); C]; R];
        let mut left = cols / BLOCK;
        while left > 0 {
            let blocks = left.min(F::GROUP);

            for b in 0..blocks {
                if ahead != 0 {
                    let bytes = F::RECORD / F::GROUP;
                    for w in w {
                        for line in 0..bytes.div_ceil(64) {
                            L::prefetch(w.wrapping_add(ahead + b * bytes + 64 * line));
                        }
                    }
                }
                add_block::<L, F, R, C>(&mut sums, w, b, x, x_stride);
                x = x.add(size_of::<Q8Block>());
            }
            for w in &mut w {
                *w = w.add(F::RECORD);
            }
            left -= blocks;
        }
        sums
    }
}

#[inline(always)]
unsafe fn add_block<L: Lanes, F: BlockFormat, const R: usize, const C: usize>(
    sums: &mut [[L::F; C]; R],
    w: [*const u8; R],
    b: usize,
    x: *const u8,
    x_stride: usize,
) {
    for span in 0..F::SPANS {
        let mut dots = [[L::int_zero(); C]; R];
        if F::OFFSET != Offset::None {
            for c in 0..C {
                let minus_sum = x.add(c * x_stride + minus_sum_at::<F>(span)).cast();
                let start = match F::OFFSET {
                    Offset::Shift(shift) => L::int_splat(minus_sum, shift),
                    _ => L::wide_start(minus_sum),
                };
                for dots in &mut dots {
                    dots[c] = start;
                }
            }
        }
        // Written out so that every index is a constant: the accumulators then live in registers.
        macro_rules! quads {
            ($($q:literal)*) => {$(
                if $q < QUADS / F::SPANS {
                    let quad = span * (QUADS / F::SPANS) + $q;
                    add_quad::<L, F, R, C>(&mut dots, w, b, quad, x.add(4 * quad), x_stride);
                }
            )*};
        }
        quads!(0 1 2 3 4 5 6 7);
        for r in 0..R {
            let scale = F::scale::<L>(w[r], b, span);
            for c in 0..C {
                let x = x.add(c * x_stride);
                let scale = L::mul_splat(scale, L::splat(x.add(offset_of!(Q8Block, scale)).cast()));
                sums[r][c] = L::fma(L::to_float(dots[r][c]), scale, sums[r][c]);
            }
            if F::HAS_MIN {
                let min = F::min::<L>(w[r], b, span);
                for c in 0..C {
                    let scaled_sum = L::splat(x.add(c * x_stride + scaled_sum_at::<F>(span)).cast());
                    sums[r][c] = L::fma_splat(min, scaled_sum, sums[r][c]);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn add_quad<L: Lanes, F: BlockFormat, const R: usize, const C: usize>(
    dots: &mut [[L::I; C]; R],
    w: [*const u8; R],
    b: usize,
    quad: usize,
    x: *const u8,
    x_stride: usize,
) {
    // No closure here: it would be compiled without the caller's instruction set where the compiler does not inline it.
    let mut codes = [F::quad::<L>(w[0], b, quad); R];
    for r in 1..R {
        codes[r] = F::quad::<L>(w[r], b, quad);
    }
    for c in 0..C {
        let x = L::codes(x.add(c * x_stride));
        for r in 0..R {
            dots[r][c] = match F::OFFSET {
                Offset::Wide => L::dot_wide(dots[r][c], codes[r], x),
                _ => L::dot(dots[r][c], codes[r], x),
            };
        }
    }
}

const fn minus_sum_at<F: BlockFormat>(span: usize) -> usize {
    if F::SPANS == 1 { offset_of!(Q8Block, minus_sum) } else { offset_of!(Q8Block, minus_half_sums) + 4 * span }
}

const fn scaled_sum_at<F: BlockFormat>(span: usize) -> usize {
    if F::SPANS == 1 { offset_of!(Q8Block, scaled_sum) } else { offset_of!(Q8Block, scaled_half_sums) + 4 * span }
}

/// Dequantises row `lane` of a tile, as the reference decoder of the type does: code times scale, rounded, plus minimum.
///
/// # Safety
/// `tile` is a tile of type `F` with `out.len()` columns, and the processor has the features of `L`.
#[inline(always)]
pub unsafe fn gather<L: Lanes, F: BlockFormat>(tile: *const u8, lane: usize, out: &mut [f32]) {
    for (i, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        let (rec, b) = (tile.add(i / F::GROUP * F::RECORD), i % F::GROUP);
        for quad in 0..QUADS {
            let span = quad * F::SPANS / QUADS;
            let (mut scales, mut mins, mut codes) = ([0.0; LANES], [0.0; LANES], [0; 64]);
            L::store(scales.as_mut_ptr(), F::scale::<L>(rec, b, span));
            L::store(mins.as_mut_ptr(), F::min::<L>(rec, b, span));
            L::bytes_store(codes.as_mut_ptr(), F::quad::<L>(rec, b, quad));
            for k in 0..4 {
                let value = (i32::from(codes[4 * lane + k]) - F::OFFSET.value()) as f32 * scales[lane];
                out[4 * quad + k] = if F::HAS_MIN { value + mins[lane] } else { value };
            }
        }
    }
}
