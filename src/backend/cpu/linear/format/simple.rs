//! Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: 32 columns to a block, one f16 scale, for `_1` an f16 minimum.

use super::planes::{PLANE, Words, get1, get4, put1, put4, put8, word};
use super::{BlockFormat, Offset};
use crate::backend::cpu::linear::lanes::{LANES, Lanes};
use crate::weights::StoredType;

const HALVES: usize = 2 * LANES;

/// Copies the f16 at `from` of a stored block to its lane.
pub(super) fn put_half(stored: &[u8], from: usize, halves: &mut [u8], lane: usize) {
    halves[2 * lane..2 * lane + 2].copy_from_slice(&stored[from..from + 2]);
}

/// Codes of 16 bytes of nibbles: low nibbles are columns 0..16, high ones 16..32.
pub(super) fn nibbles(bytes: &[u8]) -> Words {
    let mut codes = [0; 8];
    for i in 0..4 {
        let word = word(bytes, 4 * i);
        codes[i] = word & 0x0f0f_0f0f;
        codes[i + 4] = word >> 4 & 0x0f0f_0f0f;
    }
    codes
}

/// Adds bit 4 from one bit per column.
fn with_fifth_bit(mut codes: Words, bits: u32) -> Words {
    for (i, code) in codes.iter_mut().enumerate() {
        // Four bits, one to each byte: the multiplication puts bit k at position 8 * k, the rest is masked off.
        let four = bits >> (4 * i) & 0xf;
        *code |= (four.wrapping_mul(0x0020_4081) & 0x0101_0101) << 4;
    }
    codes
}

macro_rules! simple_format {
    ($name:ident, $group:literal, bits $bits:literal, min $has_min:literal, $offset:expr, $unpack:expr) => {
        #[doc = concat!("Stored ", stringify!($name), ": a record is the scales of its blocks, minima where the type has them, then the codes.")]
        pub struct $name;

        impl $name {
            const HEAD: usize = HALVES * (1 + $has_min as usize);
            const CODES: usize = $bits * PLANE;
        }

        impl BlockFormat for $name {
            const TYPE: StoredType = StoredType::$name;
            const GROUP: usize = $group;
            const RECORD: usize = $group * (Self::HEAD + Self::CODES);
            const HAS_MIN: bool = $has_min;
            const OFFSET: Offset = $offset;

            #[inline(always)]
            unsafe fn scale<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
                L::load_f16(rec.add(b * Self::HEAD))
            }

            #[inline(always)]
            unsafe fn min<L: Lanes>(rec: *const u8, b: usize, _span: usize) -> L::F {
                L::load_f16(rec.add(b * Self::HEAD + HALVES))
            }

            #[inline(always)]
            unsafe fn quad<L: Lanes>(rec: *const u8, b: usize, quad: usize) -> L::B {
                let planes = rec.add($group * Self::HEAD + b * Self::CODES);
                match $bits {
                    4 => get4::<L>(planes, quad),
                    5 => L::bytes_or(get4::<L>(planes, quad), get1::<L>(planes.add(4 * PLANE), quad, 4)),
                    _ => L::bytes(planes.add(quad * PLANE)),
                }
            }

            fn pack(stored: &[u8], record: &mut [u8], b: usize, lane: usize) {
                put_half(stored, 0, &mut record[b * Self::HEAD..], lane);
                if $has_min {
                    put_half(stored, 2, &mut record[b * Self::HEAD + HALVES..], lane);
                }
                let unpack: fn(&[u8]) -> Words = $unpack;
                let codes = unpack(&stored[2 + 2 * $has_min as usize..]);
                let planes = &mut record[$group * Self::HEAD + b * Self::CODES..];
                match $bits {
                    4 => put4(planes, lane, &codes),
                    5 => {
                        put4(planes, lane, &codes);
                        put1(&mut planes[4 * PLANE..], lane, &codes, 4);
                    }
                    _ => put8(planes, lane, &codes),
                }
            }
        }
    };
}

// Types with a single scale go in pairs of blocks, which keeps every load within a cache line.
simple_format!(Q4_0, 2, bits 4, min false, Offset::Shift(3), nibbles);
simple_format!(Q4_1, 1, bits 4, min true, Offset::None, nibbles);
simple_format!(Q5_0, 2, bits 5, min false, Offset::Shift(4), |b| with_fifth_bit(nibbles(&b[4..]), word(b, 0)));
simple_format!(Q5_1, 1, bits 5, min true, Offset::None, |b| with_fifth_bit(nibbles(&b[4..]), word(b, 0)));
simple_format!(Q8_0, 2, bits 8, min false, Offset::Wide, |b| std::array::from_fn(|i| word(b, 4 * i) ^ 0x8080_8080));
