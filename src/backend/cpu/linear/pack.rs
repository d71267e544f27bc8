//! Packing: stored tensors to tiles.
//!
//! Each part becomes a *segment*: tiles of 16 rows of one stored type, the last padded with zero rows. A segment is packed in
//! *portions*, runs of whole tiles whose stored rows lie together: they can be packed by several threads at once, and the pages of
//! a mapped file let go behind each, so that a weight is never in memory twice.

use std::ops::Range;

use parking_lot::Mutex;

use super::acts::ActFormat;
use super::dense;
use super::format::{self, BlockFormat};
use super::kernels::Kernels;
use super::lanes::LANES;
use super::level::Level;
use super::matrix::{PackedMatrix, Segment};
use super::memory::AlignedBytes;
use crate::backend::{RowOrder, Weight, WeightPart};
use crate::error::{Error, Result};
use crate::weights::StoredType;

/// Told from any thread which bytes of a part's tensor will not be read again.
pub type Consumed<'a> = &'a (dyn Fn(&WeightPart, Range<usize>) + Sync);

/// Runs a piece of work for every index below a count, each once, on as many threads as it has.
pub type Spread<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync)) -> Result<()>;

/// A [`Spread`] that does everything on the calling thread.
pub fn in_order(count: usize, work: &(dyn Fn(usize) + Sync)) -> Result<()> {
    (0..count).for_each(work);
    Ok(())
}

/// Stored bytes of a portion, where rows allow it: large enough that threads seldom meet, small enough to stay in a cache.
const PORTION: usize = 1 << 20;

/// Packs `weight` for `level`, its portions spread over threads by `spread`.
///
/// `consumed` is called once for each portion of each part; together the ranges cover the part's data.
/// Errors: FORMAT where a part's shape or size is not what the weight needs, OUT_OF_MEMORY, and what `spread` reports.
pub fn pack(weight: &Weight, level: Level, spread: Spread<'_>, consumed: Consumed<'_>) -> Result<PackedMatrix> {
    let level = if level.is_available() { level } else { Level::Plain };
    weight.check()?;
    let mut segments = Vec::with_capacity(weight.parts.len());
    let mut first_row = 0;
    for part in &weight.parts {
        let (ty, rows) = (part.tensor.ty, part.tensor.shape[0]);
        if rows == 0 {
            continue;
        }
        let too_large = || Error::out_of_memory(format!("{}: {rows} × {} {ty} is too large", part.tensor.name, weight.cols));
        let tile_bytes = tile_bytes(ty, weight.cols).ok_or_else(too_large)?;
        let tiles = rows.div_ceil(LANES);
        let mut memory = AlignedBytes::zeroed(tiles.checked_mul(tile_bytes).ok_or_else(too_large)?, &part.tensor.name)?;
        pack_part(part, weight.cols, tile_bytes, &mut memory, spread, consumed)?;
        segments.push(Segment { first_row, rows, tiles, tile_bytes, ty, kernels: Kernels::of(ty, level), memory });
        first_row += rows;
    }
    Ok(PackedMatrix::new(weight.rows, weight.cols, level, segments))
}

/// The form of activations that a stored type is multiplied with at `level`.
pub fn act_format(ty: StoredType, level: Level) -> ActFormat {
    Kernels::of(ty, level).acts
}

fn pack_part(
    part: &WeightPart,
    cols: usize,
    tile_bytes: usize,
    memory: &mut [u8],
    spread: Spread<'_>,
    consumed: Consumed<'_>,
) -> Result<()> {
    let rows = part.tensor.shape[0];
    let per_row = part.tensor.data.len() / rows;
    // Stored rows change places within a head only.
    let together = match part.order {
        RowOrder::AsStored => LANES,
        RowOrder::InterleavedPairs { head_dim } => least_common_multiple(LANES, head_dim),
    };
    let portion = (PORTION / per_row.max(1)).max(1).next_multiple_of(together);
    let portion_bytes = portion / LANES * tile_bytes;
    // A lock each, taken once: the proof that no two threads have the same tiles.
    let portions: Vec<_> = memory.chunks_mut(portion_bytes.max(1)).take(rows.div_ceil(portion)).map(Mutex::new).collect();
    let failed = Mutex::new(None);
    spread(portions.len(), &|index| {
        let rows = index * portion..((index + 1) * portion).min(rows);
        let bytes = rows.start * per_row..rows.end * per_row;
        match pack_rows(part, rows, bytes.clone(), cols, tile_bytes, &mut portions[index].lock()) {
            Ok(()) => consumed(part, bytes),
            Err(error) => *failed.lock() = Some(error),
        }
    })?;
    failed.into_inner().map_or(Ok(()), Err)
}

/// Packs rows of a part that begin at a tile's border, and are stored in `bytes` of its data, into `memory`, which begins with that tile.
fn pack_rows(
    part: &WeightPart,
    rows: Range<usize>,
    bytes: Range<usize>,
    cols: usize,
    tile_bytes: usize,
    memory: &mut [u8],
) -> Result<()> {
    let tensor = &part.tensor;
    let data = tensor.data.slice(bytes.start, bytes.len());
    let data = data.ok_or_else(|| Error::internal(format!("{}: bytes {bytes:?} lie outside of it", tensor.name)))?;
    let data = data.read()?;
    let per_row = data.len() / rows.len();
    let pack_row = row_packer(tensor.ty);
    for (at, row) in rows.clone().enumerate() {
        let stored = part.order.stored_row(row) - rows.start;
        let tile = &mut memory[at / LANES * tile_bytes..][..tile_bytes];
        pack_row(&data[stored * per_row..][..per_row], cols, tile, at % LANES);
    }
    Ok(())
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

fn tile_bytes(ty: StoredType, cols: usize) -> Option<usize> {
    use StoredType::*;
    fn of<F: BlockFormat>(cols: usize) -> Option<usize> {
        (cols / 32).div_ceil(F::GROUP).checked_mul(F::RECORD)
    }
    match ty {
        F32 | F16 | BF16 => dense::tile_bytes(ty, cols),
        Q4_0 => of::<format::Q4_0>(cols),
        Q4_1 => of::<format::Q4_1>(cols),
        Q5_0 => of::<format::Q5_0>(cols),
        Q5_1 => of::<format::Q5_1>(cols),
        Q8_0 => of::<format::Q8_0>(cols),
        Q2_K => of::<format::Q2K>(cols),
        Q3_K => of::<format::Q3K>(cols),
        Q4_K => of::<format::Q4K>(cols),
        Q5_K => of::<format::Q5K>(cols),
        Q6_K => of::<format::Q6K>(cols),
        IQ4_NL => of::<format::Iq4Nl>(cols),
        IQ4_XS => of::<format::Iq4Xs>(cols),
    }
}

/// Writes one stored row to a lane of its tile.
type RowPacker = fn(stored: &[u8], cols: usize, tile: &mut [u8], lane: usize);

fn row_packer(ty: StoredType) -> RowPacker {
    use StoredType::*;
    fn blocks<F: BlockFormat>(stored: &[u8], _cols: usize, tile: &mut [u8], lane: usize) {
        let (elements, bytes) = F::TYPE.block();
        let per_stored = elements / 32;
        for (i, stored) in stored.chunks_exact(bytes).enumerate() {
            let block = i * per_stored;
            F::pack(stored, &mut tile[block / F::GROUP * F::RECORD..][..F::RECORD], block % F::GROUP, lane);
        }
    }
    fn floats<const BYTES: usize>(stored: &[u8], ty: StoredType, tile: &mut [u8], lane: usize) {
        for (col, element) in stored.chunks_exact(BYTES).enumerate() {
            tile[dense::element_at(ty, lane, col)..][..BYTES].copy_from_slice(element);
        }
    }
    match ty {
        F32 => |stored, _, tile, lane| floats::<4>(stored, F32, tile, lane),
        F16 => |stored, _, tile, lane| floats::<2>(stored, F16, tile, lane),
        BF16 => |stored, _, tile, lane| floats::<2>(stored, BF16, tile, lane),
        Q4_0 => blocks::<format::Q4_0>,
        Q4_1 => blocks::<format::Q4_1>,
        Q5_0 => blocks::<format::Q5_0>,
        Q5_1 => blocks::<format::Q5_1>,
        Q8_0 => blocks::<format::Q8_0>,
        Q2_K => blocks::<format::Q2K>,
        Q3_K => blocks::<format::Q3K>,
        Q4_K => blocks::<format::Q4K>,
        Q5_K => blocks::<format::Q5K>,
        Q6_K => blocks::<format::Q6K>,
        IQ4_NL => blocks::<format::Iq4Nl>,
        IQ4_XS => blocks::<format::Iq4Xs>,
    }
}
