//! A packed weight and what can be done with it.

use std::fmt;
use std::ops::Range;

use half::{bf16, f16};

use super::acts::{ActFormat, ActRows};
use super::dense;
use super::kernels::Kernels;
use super::lanes::LANES;
use super::level::Level;
use super::memory::AlignedBytes;
use super::sweep::{Job, Store};
use crate::weights::StoredType;

/// A weight `[rows, cols]` as tiles of 16 rows, at the bits per weight it was stored with. Made by [`pack`](super::pack).
pub struct PackedMatrix {
    rows: usize,
    cols: usize,
    level: Level,
    segments: Vec<Segment>,
}

/// Consecutive rows of one stored type. Tiles of a matrix are numbered through its segments.
pub(super) struct Segment {
    pub first_row: usize,
    pub rows: usize,
    pub tiles: usize,
    pub tile_bytes: usize,
    pub ty: StoredType,
    pub kernels: Kernels,
    pub memory: AlignedBytes,
}

/// Where a product goes: row `i` of the result begins at `start + i * stride`.
#[derive(Clone, Copy, Debug)]
pub struct OutRows {
    pub start: *mut f32,
    /// In f32.
    pub stride: usize,
    pub store: Store,
}

// SAFETY: a plain address; the contract of `PackedMatrix::matmul` says who may write there.
unsafe impl Send for OutRows {}
// SAFETY: as above.
unsafe impl Sync for OutRows {}

impl PackedMatrix {
    pub(super) fn new(rows: usize, cols: usize, level: Level, segments: Vec<Segment>) -> Self {
        PackedMatrix { rows, cols, level, segments }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn level(&self) -> Level {
        self.level
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.memory.len() as u64).sum()
    }

    /// The units in which a product can be split between threads.
    pub fn tiles(&self) -> usize {
        self.segments.iter().map(|s| s.tiles).sum()
    }

    /// The rows that a range of tiles covers.
    pub fn rows_of(&self, tiles: Range<usize>) -> Range<usize> {
        let row_at = |tile: usize| {
            let mut before = 0;
            for segment in &self.segments {
                if tile < before + segment.tiles {
                    return segment.first_row + (tile - before) * LANES;
                }
                before += segment.tiles;
            }
            self.rows
        };
        let [start, end] = [tiles.start, tiles.end].map(row_at);
        start..end
    }

    /// Tiles per share that a split should be a multiple of, for speed only.
    pub fn grain(&self) -> usize {
        2
    }

    /// Bytes of weights that a product with all tiles reads, for splitting unlike matrices.
    pub fn tile_bytes(&self) -> usize {
        self.bytes() as usize / self.tiles().max(1)
    }

    /// Whether [`matmul`](Self::matmul) needs the activations as `format`. A matrix of unlike parts may need several.
    pub fn needs(&self, format: ActFormat) -> bool {
        self.segments.iter().any(|s| s.kernels.acts == format)
    }

    /// Writes the products of `acts` with the rows of `tiles`: `out[i][row] = weight[row] · acts[i] + bias[row]`, f32, for every
    /// activation row `i`. Other elements of `out` are left alone.
    ///
    /// Allocates nothing and starts no threads. A value depends on its weight row and its activation row only: not on how many
    /// activation rows there are, nor on `tiles`. `bias` has one value per row of the weight.
    ///
    /// Panics where `acts` has other columns than the weight, or lacks a form the weight [`needs`](Self::needs), or where `tiles`
    /// or `bias` do not fit.
    ///
    /// # Safety
    /// `out` must be valid for writes of [`rows`](Self::rows) f32 at every activation row, and nobody else may access the
    /// elements of these tiles during the call.
    pub unsafe fn matmul(&self, acts: &ActRows<'_>, tiles: Range<usize>, out: OutRows, bias: Option<&[f32]>) {
        assert_eq!(acts.cols(), self.cols, "columns of the activations and of the weight");
        assert!(tiles.end <= self.tiles(), "tile {} of {}", tiles.end, self.tiles());
        assert!(bias.is_none_or(|b| b.len() == self.rows), "bias of another length than {} rows", self.rows);
        let mut before = 0;
        for segment in &self.segments {
            let first = tiles.start.max(before) - before;
            let end = tiles.end.clamp(before, before + segment.tiles) - before;
            before += segment.tiles;
            if first >= end || acts.rows() == 0 {
                continue;
            }
            let format = segment.kernels.acts;
            let x = acts.get(format).unwrap_or_else(|| panic!("activations are not there as {format:?}"));
            let job = Job {
                tiles: segment.memory.as_ptr(),
                tile_bytes: segment.tile_bytes,
                first,
                end,
                rows: segment.rows,
                cols: self.cols,
                x: x.data.as_ptr(),
                x_stride: x.stride,
                x_rows: acts.rows(),
                // SAFETY: within the rows the caller vouches for.
                out: unsafe { out.start.add(segment.first_row) },
                out_stride: out.stride,
                bias: bias.map_or(std::ptr::null(), |b| b[segment.first_row..].as_ptr()),
                store: out.store,
            };
            // SAFETY: the segment holds `tiles` tiles of `tile_bytes`, `ActRows` checked its rows, the caller vouches for `out`, and
            // `pack` chose kernels that this processor can run.
            unsafe { (segment.kernels.product)(&job) };
        }
    }

    /// Writes row `row`, dequantised to f32 exactly as the format defines, to `out` (the columns). Panics outside the matrix.
    pub fn gather_row(&self, row: usize, out: &mut [f32]) {
        assert_eq!(out.len(), self.cols, "columns");
        let segment = self.segments.iter().find(|s| row < s.first_row + s.rows).expect("a row of the matrix");
        let row = row - segment.first_row;
        let lane = row % LANES;
        let tile = &segment.memory[row / LANES * segment.tile_bytes..][..segment.tile_bytes];
        if let Some(gather) = segment.kernels.gather {
            // SAFETY: a whole tile of this segment, and kernels that this processor can run.
            unsafe { gather(tile.as_ptr(), lane, out) };
            return;
        }
        for (col, out) in out.iter_mut().enumerate() {
            let at = &tile[dense::element_at(segment.ty, lane, col)..];
            *out = match segment.ty {
                StoredType::F32 => f32::from_le_bytes([at[0], at[1], at[2], at[3]]),
                StoredType::F16 => f16::from_le_bytes([at[0], at[1]]).to_f32(),
                _ => bf16::from_le_bytes([at[0], at[1]]).to_f32(),
            };
        }
    }
}

impl fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<&str> = self.segments.iter().map(|s| s.ty.name()).collect();
        write!(f, "{} × {} [{}] for {}", self.rows, self.cols, types.join(", "), self.level)
    }
}
