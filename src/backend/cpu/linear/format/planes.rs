//! Codes of 1 to 8 bits cut into planes of 64 bytes.
//!
//! A block's codes of one row are eight words of four codes, one byte each; a word is a quad. In every plane a row owns the word
//! at `4 * lane`, so packing is shifts on words and reading is shifts on vectors.

use super::super::lanes::Lanes;

pub const PLANE: usize = 64;

/// The codes of 32 columns of one row.
pub type Words = [u32; 8];

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(planes: &mut [u8], plane: usize, lane: usize, word: u32) {
    let at = plane * PLANE + 4 * lane;
    planes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

/// The low 4 bits, 4 planes: quads `2i` and `2i + 1` share plane `i`.
pub fn put4(planes: &mut [u8], lane: usize, codes: &Words) {
    for i in 0..4 {
        put(planes, i, lane, (codes[2 * i] & 0x0f0f_0f0f) | (codes[2 * i + 1] & 0x0f0f_0f0f) << 4);
    }
}

/// Bits `from` and `from + 1`, 2 planes: quads `4i..4i + 4` share plane `i`.
pub fn put2(planes: &mut [u8], lane: usize, codes: &Words, from: u32) {
    for i in 0..2 {
        put(planes, i, lane, (0..4).map(|j| (codes[4 * i + j] >> from & 0x0303_0303) << (2 * j)).sum());
    }
}

/// Bit `from`, 1 plane of all quads.
pub fn put1(planes: &mut [u8], lane: usize, codes: &Words, from: u32) {
    put(planes, 0, lane, (0..8).map(|j| (codes[j] >> from & 0x0101_0101) << j).sum());
}

/// Whole codes, 8 planes.
pub fn put8(planes: &mut [u8], lane: usize, codes: &Words) {
    for (i, &code) in codes.iter().enumerate() {
        put(planes, i, lane, code);
    }
}

/// Reads what [`put4`] wrote.
#[inline(always)]
pub unsafe fn get4<L: Lanes>(planes: *const u8, quad: usize) -> L::B {
    let plane = L::bytes(planes.add(quad / 2 * PLANE));
    L::bytes_and(if quad.is_multiple_of(2) { plane } else { L::bytes_shr(plane, 4) }, 0x0f)
}

/// Reads what [`put2`] wrote, to bits `to` and `to + 1`.
#[inline(always)]
pub unsafe fn get2<L: Lanes>(planes: *const u8, quad: usize, to: u32) -> L::B {
    let plane = L::bytes(planes.add(quad / 4 * PLANE));
    L::bytes_and(moved::<L>(plane, 2 * (quad as u32 % 4), to), 3 << to)
}

/// Reads what [`put1`] wrote, to bit `to`.
#[inline(always)]
pub unsafe fn get1<L: Lanes>(plane: *const u8, quad: usize, to: u32) -> L::B {
    L::bytes_and(moved::<L>(L::bytes(plane), quad as u32, to), 1 << to)
}

#[inline(always)]
unsafe fn moved<L: Lanes>(plane: L::B, from: u32, to: u32) -> L::B {
    if from > to {
        L::bytes_shr(plane, from - to)
    } else if from < to {
        L::bytes_shl(plane, to - from)
    } else {
        plane
    }
}
