//! One product as a sweep of register tiles: over chunks of activation rows, then tiles of weights, then activation rows.
//!
//! Owns: blocking and writing out. Never: the sum over columns, which is a [`Micro`] kernel's and the same for every block shape;
//! that is what makes an output independent of how many rows there are and of how tiles are split among threads.

use super::lanes::{LANES, Lanes};

/// What a sweep does with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// `out = product (+ bias)`
    Write,
    /// `out += product (+ bias)`
    AddTo,
}

/// A product of consecutive tiles of one segment with some activation rows. Pointers are valid for the whole job.
pub struct Job {
    /// The segment's first tile.
    pub tiles: *const u8,
    pub tile_bytes: usize,
    /// Tiles to compute.
    pub first: usize,
    pub end: usize,
    /// Rows of the segment: the last tile may be cut short.
    pub rows: usize,
    pub cols: usize,
    pub x: *const u8,
    /// Bytes from an activation row to the next.
    pub x_stride: usize,
    pub x_rows: usize,
    /// Where row 0 of the segment goes for activation row 0.
    pub out: *mut f32,
    /// f32 from an activation row's outputs to the next.
    pub out_stride: usize,
    /// Bias of row 0 of the segment, or null.
    pub bias: *const f32,
    pub store: Store,
}

/// A kernel that keeps `R` tiles × `C` activation rows in registers.
///
/// Each output is one chain of operations in column order, whatever `R` and `C`.
#[allow(clippy::missing_safety_doc)]
pub trait Micro<L: Lanes> {
    /// The largest `R` and `C` that fit the registers.
    const SHAPE: (usize, usize);
    /// Tiles taken together for a single activation row, enough to hide the latency of the sums.
    const SINGLE: usize;

    /// `ahead`: fetch weights so many bytes ahead of where they are read; 0 for none.
    unsafe fn run<const R: usize, const C: usize>(
        cols: usize,
        w: [*const u8; R],
        ahead: usize,
        x: *const u8,
        x_stride: usize,
    ) -> [[L::F; C]; R];
}

/// Activation bytes that a core keeps near while it goes through its tiles: a part of a typical L2.
const CHUNK_BYTES: usize = 384 << 10;

const NEAR: usize = 32 << 10;
const AHEAD: usize = 8 << 10;

/// Runs `job`.
///
/// # Safety
/// The pointers of the job hold what its fields say, and the processor has the features of `L`.
#[inline(always)]
pub unsafe fn sweep<L: Lanes, M: Micro<L>>(job: &Job) {
    let columns = M::SHAPE.1;
    let chunk = (CHUNK_BYTES / job.x_stride.max(1)).next_multiple_of(columns);
    let mut from = 0;
    while from < job.x_rows {
        let to = job.x_rows.min(from + chunk);
        let mut tile = job.first;
        let single: usize = if job.x_rows == 1 { M::SINGLE } else { 0 };
        macro_rules! panels {
            ($($r:literal)*) => {$(
                if $r <= M::SHAPE.0 && (single == 0 || $r <= single) {
                    while job.end - tile >= $r {
                        panel::<L, M, $r>(job, tile, from, to);
                        tile += $r;
                    }
                }
            )*};
        }
        panels!(4 2 1);
        from = to;
    }
}

#[inline(always)]
unsafe fn panel<L: Lanes, M: Micro<L>, const R: usize>(job: &Job, tile: usize, from: usize, to: usize) {
    let mut w = [job.tiles; R];
    for (r, w) in w.iter_mut().enumerate() {
        *w = job.tiles.add((tile + r) * job.tile_bytes);
    }
    let mut ahead = if R > 1 && job.tile_bytes < NEAR { R * job.tile_bytes } else { AHEAD };
    let mut at = from;
    macro_rules! columns {
        ($($c:literal)*) => {$(
            if $c <= M::SHAPE.1 {
                while to - at >= $c {
                    let sums = M::run::<R, $c>(job.cols, w, ahead, job.x.add(at * job.x_stride), job.x_stride);
                    finish::<L, R, $c>(job, tile, at, sums);
                    at += $c;
                    ahead = 0;
                }
            }
        )*};
    }
    columns!(6 4 2 1);
}

#[inline(always)]
unsafe fn finish<L: Lanes, const R: usize, const C: usize>(job: &Job, tile: usize, at: usize, sums: [[L::F; C]; R]) {
    for r in 0..R {
        let row = (tile + r) * LANES;
        let whole = row + LANES <= job.rows;
        for c in 0..C {
            let out = job.out.add((at + c) * job.out_stride + row);
            if whole {
                let mut value = sums[r][c];
                if !job.bias.is_null() {
                    value = L::add(value, L::load(job.bias.add(row)));
                }
                if job.store == Store::AddTo {
                    value = L::add(L::load(out), value);
                }
                L::store(out, value);
            } else {
                let mut lanes = [0.0; LANES];
                L::store(lanes.as_mut_ptr(), sums[r][c]);
                for (i, lane) in lanes.iter().take(job.rows - row).enumerate() {
                    let mut value = *lane;
                    if !job.bias.is_null() {
                        value += *job.bias.add(row + i);
                    }
                    if job.store == Store::AddTo {
                        value += *out.add(i);
                    }
                    *out.add(i) = value;
                }
            }
        }
    }
}
