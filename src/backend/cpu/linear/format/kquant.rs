//! Q2_K to Q6_K: 256 columns to a stored block, an f16 super-scale times small integer scales for every 16 or 32 columns.
//!
//! A record is one stored block of 16 rows: super-scales, integer scales (a byte each), codes. Super-scale times scale has at most
//! 19 significant bits, so the product in f32 is exact.

use super::planes::{PLANE, Words, get1, get2, get4, put1, put2, put4, word};
use super::simple::put_half;
use super::{BlockFormat, Offset};
use crate::backend::cpu::linear::lanes::{LANES, Lanes};
use crate::weights::StoredType;

const HALVES: usize = 2 * LANES;

/// The 6-bit scales and minima of Q4_K and Q5_K, packed into 12 bytes.
fn scale_and_min(packed: &[u8], b: usize) -> (u8, u8) {
    if b < 4 {
        (packed[b] & 63, packed[b + 4] & 63)
    } else {
        (packed[b + 4] & 15 | packed[b - 4] >> 6 << 4, packed[b + 4] >> 4 | packed[b] >> 6 << 4)
    }
}

/// Low 4 bits of block `b` of Q4_K and Q5_K: blocks `2i` and `2i + 1` are the nibbles of 32 bytes.
fn nibbles_of_block(bytes: &[u8], b: usize) -> Words {
    std::array::from_fn(|i| word(bytes, 32 * (b / 2) + 4 * i) >> (4 * (b % 2)) & 0x0f0f_0f0f)
}

/// Low 2 bits of block `b` of Q2_K and Q3_K: blocks `4i..4i + 4` are the bit pairs of 32 bytes.
fn pairs_of_block(bytes: &[u8], b: usize) -> Words {
    std::array::from_fn(|i| word(bytes, 32 * (b / 4) + 4 * i) >> (2 * (b % 4)) & 0x0303_0303)
}

macro_rules! q45k {
    ($name:ident, $ty:ident, $planes:literal) => {
        #[doc = concat!("Stored ", stringify!($ty), ": d, dmin, then 8 × (scales, minima) of a byte, then 8 × codes.")]
        pub struct $name;

        impl $name {
            const SCALES: usize = 2 * HALVES;
            const CODES: usize = Self::SCALES + 8 * 2 * LANES;
            const BLOCK: usize = $planes * PLANE;
        }

        impl BlockFormat for $name {
            const TYPE: StoredType = StoredType::$ty;
            const GROUP: usize = 8;
            const RECORD: usize = Self::CODES + 8 * Self::BLOCK;
            const HAS_MIN: bool = true;
            const OFFSET: Offset = Offset::None;

            #[inline(always)]
            unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
                L::mul(L::load_f16(rec), L::to_float(L::int_load_u8(rec.add(Self::SCALES + b * 2 * LANES))))
            }

            #[inline(always)]
            unsafe fn min<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
                let min = L::to_float(L::int_load_u8(rec.add(Self::SCALES + b * 2 * LANES + LANES)));
                L::neg(L::mul(L::load_f16(rec.add(HALVES)), min))
            }

            #[inline(always)]
            unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
                let planes = rec.add(Self::CODES + b * Self::BLOCK);
                let low = get4::<L>(planes, quad);
                if $planes == 5 { L::bytes_or(low, get1::<L>(planes.add(4 * PLANE), quad, 4)) } else { low }
            }

            fn pack(stored: &[u8], record: &mut [u8], _b: usize, lane: usize) {
                put_half(stored, 0, record, lane);
                put_half(stored, 2, &mut record[HALVES..], lane);
                let (high, low) = if $planes == 5 { (&stored[16..48], &stored[48..]) } else { (&stored[..0], &stored[16..]) };
                for b in 0..8 {
                    let (scale, min) = scale_and_min(&stored[4..16], b);
                    record[Self::SCALES + b * 2 * LANES + lane] = scale;
                    record[Self::SCALES + b * 2 * LANES + LANES + lane] = min;
                    let planes = &mut record[Self::CODES + b * Self::BLOCK..];
                    put4(planes, lane, &nibbles_of_block(low, b));
                    if $planes == 5 {
                        let bits: Words = std::array::from_fn(|i| word(high, 4 * i));
                        put1(&mut planes[4 * PLANE..], lane, &bits, b as u32);
                    }
                }
            }
        }
    };
}

q45k!(Q4K, Q4_K, 4);
q45k!(Q5K, Q5_K, 5);

/// Stored Q6_K: d, 16 scales (i8), padding to a line, then 8 × (4 planes of low bits, 2 of high bits).
pub struct Q6K;

impl Q6K {
    const CODES: usize = (HALVES + 16 * LANES).next_multiple_of(PLANE);
    const BLOCK: usize = 6 * PLANE;
}

impl BlockFormat for Q6K {
    const TYPE: StoredType = StoredType::Q6_K;
    const GROUP: usize = 8;
    const RECORD: usize = Self::CODES + 8 * Self::BLOCK;
    const SPANS: usize = 2;
    const OFFSET: Offset = Offset::Shift(5);

    #[inline(always)]
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, span: usize) -> L::F {
        L::mul(L::load_f16(rec), L::to_float(L::int_load_i8(rec.add(HALVES + (2 * b + span) * LANES))))
    }

    #[inline(always)]
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
        let planes = rec.add(Self::CODES + b * Self::BLOCK);
        L::bytes_or(get4::<L>(planes, quad), get2::<L>(planes.add(4 * PLANE), quad, 4))
    }

    fn pack(stored: &[u8], record: &mut [u8], _b: usize, lane: usize) {
        let (low, high, scales) = (&stored[..128], &stored[128..192], &stored[192..208]);
        put_half(stored, 208, record, lane);
        for (i, &scale) in scales.iter().enumerate() {
            record[HALVES + i * LANES + lane] = scale;
        }
        for b in 0..8 {
            // Of each 128 columns: blocks 0 and 1 are low nibbles of 64 bytes, 2 and 3 high ones; 32 bytes hold the high pairs of all.
            let (half, part) = (b / 4, b % 4);
            let codes: Words = std::array::from_fn(|i| {
                let nibbles = word(low, 64 * half + 32 * (part % 2) + 4 * i) >> (4 * (part / 2)) & 0x0f0f_0f0f;
                let pairs = word(high, 32 * half + 4 * i) >> (2 * part) & 0x0303_0303;
                nibbles | pairs << 4
            });
            let planes = &mut record[Self::CODES + b * Self::BLOCK..];
            put4(planes, lane, &codes);
            put2(&mut planes[4 * PLANE..], lane, &codes, 4);
        }
    }
}

/// Stored Q3_K: d, 16 scales (i8), padding to a line, then 8 × (2 planes of low bits, 1 of high bits).
pub struct Q3K;

impl Q3K {
    const CODES: usize = (HALVES + 16 * LANES).next_multiple_of(PLANE);
    const BLOCK: usize = 3 * PLANE;
}

impl BlockFormat for Q3K {
    const TYPE: StoredType = StoredType::Q3_K;
    const GROUP: usize = 8;
    const RECORD: usize = Self::CODES + 8 * Self::BLOCK;
    const SPANS: usize = 2;
    const OFFSET: Offset = Offset::Shift(2);

    #[inline(always)]
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, span: usize) -> L::F {
        L::mul(L::load_f16(rec), L::to_float(L::int_load_i8(rec.add(HALVES + (2 * b + span) * LANES))))
    }

    #[inline(always)]
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
        let planes = rec.add(Self::CODES + b * Self::BLOCK);
        L::bytes_or(get2::<L>(planes, quad, 0), get1::<L>(planes.add(2 * PLANE), quad, 2))
    }

    fn pack(stored: &[u8], record: &mut [u8], _b: usize, lane: usize) {
        let (high, low, scales) = (&stored[..32], &stored[32..96], &stored[96..108]);
        put_half(stored, 108, record, lane);
        for i in 0..16 {
            // 6 bits less 32: low 4 bits are nibbles of the first 8 bytes, high 2 bits are pairs of the last 4.
            let low = scales[i % 8] >> (4 * (i / 8)) & 15;
            let high = scales[8 + i % 4] >> (2 * (i / 4)) & 3;
            record[HALVES + i * LANES + lane] = ((low | high << 4) as i8 - 32) as u8;
        }
        for b in 0..8 {
            let planes = &mut record[Self::CODES + b * Self::BLOCK..];
            put2(planes, lane, &pairs_of_block(low, b), 0);
            let bits: Words = std::array::from_fn(|i| word(high, 4 * i));
            put1(&mut planes[2 * PLANE..], lane, &bits, b as u32);
        }
    }
}

/// Stored Q2_K: d, dmin, 16 bytes of scale (low nibble) and minimum (high nibble), then 8 × 2 planes.
pub struct Q2K;

impl Q2K {
    const SCALES: usize = 2 * HALVES;
    const CODES: usize = Self::SCALES + 16 * LANES;
    const BLOCK: usize = 2 * PLANE;
}

impl BlockFormat for Q2K {
    const TYPE: StoredType = StoredType::Q2_K;
    const GROUP: usize = 8;
    const RECORD: usize = Self::CODES + 8 * Self::BLOCK;
    const SPANS: usize = 2;
    const HAS_MIN: bool = true;
    const OFFSET: Offset = Offset::None;

    #[inline(always)]
    unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, span: usize) -> L::F {
        let scale = L::int_and(L::int_load_u8(rec.add(Self::SCALES + (2 * b + span) * LANES)), 15);
        L::mul(L::load_f16(rec), L::to_float(scale))
    }

    #[inline(always)]
    unsafe fn min<L: Lanes>(rec: *const u8, b: usize, span: usize) -> L::F {
        let min = L::int_shr(L::int_load_u8(rec.add(Self::SCALES + (2 * b + span) * LANES)), 4);
        L::neg(L::mul(L::load_f16(rec.add(HALVES)), L::to_float(min)))
    }

    #[inline(always)]
    unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
        get2::<L>(rec.add(Self::CODES + b * Self::BLOCK), quad, 0)
    }

    fn pack(stored: &[u8], record: &mut [u8], _b: usize, lane: usize) {
        let (scales, low) = (&stored[..16], &stored[16..80]);
        put_half(stored, 80, record, lane);
        put_half(stored, 82, &mut record[HALVES..], lane);
        for (i, &scale) in scales.iter().enumerate() {
            record[Self::SCALES + i * LANES + lane] = scale;
        }
        for b in 0..8 {
            put2(&mut record[Self::CODES + b * Self::BLOCK..], lane, &pairs_of_block(low, b), 0);
        }
    }
}
