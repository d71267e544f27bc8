//! IQ4_NL and IQ4_XS: 4-bit indices into a table of 16 unevenly spaced values.

use super::planes::{PLANE, get4, put4};
use super::simple::{nibbles, put_half};
use super::{BlockFormat, Offset};
use crate::backend::cpu::linear::lanes::{LANES, Lanes};
use crate::weights::StoredType;

/// The table of the format (`kvalues_iq4nl` in ggml), each value plus 128.
const VALUES: [u8; 16] = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241];

const HALVES: usize = 2 * LANES;
const CODES: usize = 4 * PLANE;

/// A record: scales of two blocks, then their indices.
pub struct Iq4Nl;

impl BlockFormat for Iq4Nl {
    const TYPE: StoredType = StoredType::IQ4_NL;
    const GROUP: usize = 2;
    const RECORD: usize = 2 * (HALVES + CODES);
    const OFFSET: Offset = Offset::Wide;

    #[inline(always)]
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
        L::load_f16(rec.add(b * HALVES))
    }

    #[inline(always)]
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
        L::bytes_lookup(get4::<L>(rec.add(2 * HALVES + b * CODES), quad), &VALUES)
    }

    fn pack(stored: &[u8], record: &mut [u8], b: usize, lane: usize) {
        put_half(stored, 0, &mut record[b * HALVES..], lane);
        put4(&mut record[2 * HALVES + b * CODES..], lane, &nibbles(&stored[2..]));
    }
}

/// A record: super-scales (f16), scales of the 8 blocks (i8), padding to a line, indices.
pub struct Iq4Xs;

impl Iq4Xs {
    const INDICES: usize = (HALVES + 8 * LANES).next_multiple_of(PLANE);
}

impl BlockFormat for Iq4Xs {
    const TYPE: StoredType = StoredType::IQ4_XS;
    const GROUP: usize = 8;
    const RECORD: usize = Self::INDICES + 8 * CODES;
    const OFFSET: Offset = Offset::Wide;

    #[inline(always)]
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
        L::mul(L::load_f16(rec), L::to_float(L::int_load_i8(rec.add(HALVES + b * LANES))))
    }

    #[inline(always)]
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
        L::bytes_lookup(get4::<L>(rec.add(Self::INDICES + b * CODES), quad), &VALUES)
    }

    fn pack(stored: &[u8], record: &mut [u8], _b: usize, lane: usize) {
        put_half(stored, 0, record, lane);
        let high = u16::from_le_bytes([stored[2], stored[3]]);
        for b in 0..8 {
            let low = (stored[4 + b / 2] >> (4 * (b % 2))) & 15;
            let scale = low + 16 * ((high >> (2 * b)) & 3) as u8;
            record[HALVES + b * LANES + lane] = (scale as i8 - 32) as u8;
            put4(&mut record[Self::INDICES + b * CODES..], lane, &nibbles(&stored[8 + 16 * b..]));
        }
    }
}
