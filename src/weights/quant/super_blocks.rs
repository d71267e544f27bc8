//! Super-blocks of 256 values, "K-quants": sub-blocks of 16 or 32 values with small integer scales under one or two f16 scales.

use super::half_at;

/// Q2_K, 84 bytes: `d · scale · code − dmin · minimum`, scale and minimum of 4 bits for each 16 values.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 16 | low nibble of byte `j`: scale of values `16j..`, high nibble: minimum |
/// | 16 | 64 | codes, 2 bits: byte `32h + l` holds values `128h + l`, `+32`, `+64`, `+96`, the lowest bits first |
/// | 80 | 2 | `d`, f16 |
/// | 82 | 2 | `dmin`, f16 |
pub(super) fn q2_k(b: &[u8], out: &mut [f32]) {
    let (scales, codes) = (&b[..16], &b[16..80]);
    let (d, dmin) = (half_at(b, 80), half_at(b, 82));
    for (j, out) in out.chunks_exact_mut(16).enumerate() {
        let (scale, minimum) = (d * f32::from(scales[j] & 15), dmin * f32::from(scales[j] >> 4));
        let (bytes, shift) = two_bits(j);
        for (out, &byte) in out.iter_mut().zip(&codes[bytes..bytes + 16]) {
            *out = scale * f32::from(byte >> shift & 3) - minimum;
        }
    }
}

/// Where the 2-bit codes of values `16j..` start, and how deep they lie.
fn two_bits(j: usize) -> (usize, usize) {
    (j / 8 * 32 + j % 2 * 16, j % 8 / 2 * 2)
}

/// Q3_K, 110 bytes: `d · (scale − 32) · code`, the code less 4 where its third bit is clear; a scale of 6 bits for each 16 values.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 32 | third bits: bit `k` of byte `l` is that of value `32k + l` |
/// | 32 | 64 | low 2 bits of the codes, as in Q2_K |
/// | 96 | 8 | low 4 bits of scales: low nibble of byte `j` scale `j`, high nibble scale `j + 8` |
/// | 104 | 4 | high 2 bits of scales: byte `j % 4`, bits `2 · (j / 4)` |
/// | 108 | 2 | `d`, f16 |
pub(super) fn q3_k(b: &[u8], out: &mut [f32]) {
    let (thirds, codes, scales) = (&b[..32], &b[32..96], &b[96..108]);
    let d = half_at(b, 108);
    for (j, out) in out.chunks_exact_mut(16).enumerate() {
        let low = scales[j % 8] >> (j / 8 * 4) & 15;
        let high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
        let scale = d * f32::from((low | high << 4) as i8 - 32);
        let (bytes, shift) = two_bits(j);
        for (l, out) in out.iter_mut().enumerate() {
            let low = (codes[bytes + l] >> shift & 3) as i8;
            let third = (thirds[j % 2 * 16 + l] >> (j / 2) & 1) as i8;
            *out = scale * f32::from(low + 4 * third - 4);
        }
    }
}

/// Scale and minimum of 32 values `j` of 8, 6 bits each in 12 bytes: for `j < 4` the low 6 bits of bytes `j` and `j + 4`; for the rest
/// the low and the high nibble of byte `j + 4`, and above them the high 2 bits of bytes `j − 4` and `j`.
fn scale_and_minimum(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (packed[j + 4] & 15 | packed[j - 4] >> 6 << 4, packed[j + 4] >> 4 | packed[j] >> 6 << 4)
    }
}

/// Q4_K, 144 bytes: `d · scale · code − dmin · minimum`, scale and minimum of 6 bits for each 32 values.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 2 | `dmin`, f16 |
/// | 4 | 12 | scales and minimums, see [`scale_and_minimum`] |
/// | 16 | 128 | codes, 4 bits: byte `32h + l` holds value `64h + l` low and `64h + 32 + l` high |
pub(super) fn q4_k(b: &[u8], out: &mut [f32]) {
    let (d, dmin) = (half_at(b, 0), half_at(b, 2));
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, minimum) = scale_and_minimum(&b[4..16], j);
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        for (out, &byte) in out.iter_mut().zip(&b[16 + j / 2 * 32..][..32]) {
            *out = scale * f32::from(byte >> (j % 2 * 4) & 15) - minimum;
        }
    }
}

/// Q5_K, 176 bytes: as Q4_K, with a fifth bit.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 2 | `dmin`, f16 |
/// | 4 | 12 | scales and minimums, see [`scale_and_minimum`] |
/// | 16 | 32 | fifth bits: bit `j` of byte `l` is that of value `32j + l` |
/// | 48 | 128 | low 4 bits of the codes, as in Q4_K |
pub(super) fn q5_k(b: &[u8], out: &mut [f32]) {
    let (d, dmin) = (half_at(b, 0), half_at(b, 2));
    let fifths = &b[16..48];
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, minimum) = scale_and_minimum(&b[4..16], j);
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        for (l, out) in out.iter_mut().enumerate() {
            let code = b[48 + j / 2 * 32 + l] >> (j % 2 * 4) & 15 | (fifths[l] >> j & 1) << 4;
            *out = scale * f32::from(code) - minimum;
        }
    }
}

/// Q6_K, 210 bytes: `d · scale · (code − 32)`, a scale of 8 bits for each 16 values.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 128 | low 4 bits of the codes: byte `64h + l` holds value `128h + l` low and `128h + 64 + l` high, `l` in 0..64 |
/// | 128 | 64 | high 2 bits: byte `32h + l` holds those of values `128h + l`, `+32`, `+64`, `+96`, the lowest bits first |
/// | 192 | 16 | scales, i8 |
/// | 208 | 2 | `d`, f16 |
pub(super) fn q6_k(b: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&b[..128], &b[128..192], &b[192..208]);
    let d = half_at(b, 208);
    for (j, out) in out.chunks_exact_mut(16).enumerate() {
        let scale = d * f32::from(scales[j] as i8);
        let (half, within) = (j / 8, j % 8 * 16);
        for (l, out) in out.iter_mut().enumerate() {
            let nibble = low[half * 64 + (within + l) % 64] >> (within / 64 * 4) & 15;
            let code = nibble | (high[half * 32 + (within + l) % 32] >> (within / 32 * 2) & 3) << 4;
            *out = scale * f32::from(code as i8 - 32);
        }
    }
}
