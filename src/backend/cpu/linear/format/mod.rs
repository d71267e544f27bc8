//! How each quantised type lies in a tile: one small struct per type.
//!
//! A *tile* is 16 rows. Along its columns it is a sequence of *records*, each of [`GROUP`](BlockFormat::GROUP) blocks of 32
//! columns. A record holds, for every row, exactly the bits of the stored block, rearranged: scales as 16 neighbouring lanes, and
//! codes so that 64 bytes are 4 consecutive columns (a *quad*) of the 16 rows, which is what a byte dot product takes.
//!
//! Owns: the layout, both ways (packing and reading). Never: instruction sets ([`Lanes`]) or the order of addition (`block`).

mod iq4;
mod kquant;
mod planes;
mod simple;

use super::lanes::Lanes;
use crate::weights::StoredType;

pub use iq4::{Iq4Nl, Iq4Xs};
pub use kquant::{Q2K, Q3K, Q4K, Q5K, Q6K};
pub use simple::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};

/// What has to be taken off a code to get the stored integer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    None,
    /// `1 << shift`.
    Shift(u32),
    /// 128, and codes use all 8 bits.
    Wide,
}

impl Offset {
    pub const fn value(self) -> i32 {
        match self {
            Offset::None => 0,
            Offset::Shift(shift) => 1 << shift,
            Offset::Wide => 128,
        }
    }
}

/// A stored type whose weight is `scale * (code - offset) + min`.
///
/// The unsafe functions read a record of a tile at `rec`, block `b < GROUP` of it.
#[allow(clippy::missing_safety_doc)]
pub trait BlockFormat: 'static {
    const TYPE: StoredType;
    /// Blocks of 32 columns in a record.
    const GROUP: usize;
    /// Bytes of a record, a multiple of 64.
    const RECORD: usize;
    /// Scales in a block: 1, or 2 (one per 16 columns).
    const SPANS: usize = 1;
    const HAS_MIN: bool = false;
    const OFFSET: Offset;

    /// The scale of each row for span `span` of the block. Exact.
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, span: usize) -> L::F;

    /// What is added to each weight of the span. Exact.
    #[inline(always)]
    unsafe fn min<L: Lanes>(_rec: *const u8, _b: usize, _span: usize) -> L::F {
        L::zero()
    }

    /// Codes of the 16 rows in columns `4 * quad..4 * quad + 4` of the block.
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B;

    /// Writes one stored block of row `lane` into a record, as blocks `b..` of it.
    fn pack(stored: &[u8], record: &mut [u8], b: usize, lane: usize);
}
