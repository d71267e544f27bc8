//! Blocks of 32 values with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
//!
//! A code byte holds two values 16 apart: its low nibble value `i`, its high nibble value `i + 16`.

use super::half_at;

/// Decodes 16 bytes of nibbles; `value` gets each value's index and code.
pub(super) fn nibbles(codes: &[u8], value: impl Fn(usize, u8) -> f32, out: &mut [f32]) {
    for (i, &byte) in codes.iter().enumerate() {
        out[i] = value(i, byte & 15);
        out[i + 16] = value(i + 16, byte >> 4);
    }
}

/// Q4_0, 18 bytes: `(code − 8) · d`.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 16 | codes, 4 bits |
pub(super) fn q4_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    nibbles(&b[2..18], |_, code| (i32::from(code) - 8) as f32 * d, out);
}

/// Q4_1, 20 bytes: `code · d + m`.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 2 | `m`, f16 |
/// | 4 | 16 | codes, 4 bits |
pub(super) fn q4_1(b: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    nibbles(&b[4..20], |_, code| f32::from(code) * d + m, out);
}

/// Q5_0, 22 bytes: `(code − 16) · d`.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 4 | fifth bits: bit `i` of a 32-bit word is value `i`'s |
/// | 6 | 16 | low 4 bits of the codes |
pub(super) fn q5_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
    nibbles(&b[6..22], |i, code| (five_bits(high, i, code) - 16) as f32 * d, out);
}

/// Q5_1, 24 bytes: `code · d + m`.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 2 | `m`, f16 |
/// | 4 | 4 | fifth bits, as in Q5_0 |
/// | 8 | 16 | low 4 bits of the codes |
pub(super) fn q5_1(b: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
    nibbles(&b[8..24], |i, code| five_bits(high, i, code) as f32 * d + m, out);
}

fn five_bits(high: u32, i: usize, low: u8) -> i32 {
    i32::from(low) | ((high >> i & 1) << 4) as i32
}

/// Q8_0, 34 bytes: `code · d`.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 32 | codes, i8 |
pub(super) fn q8_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    for (out, &code) in out.iter_mut().zip(&b[2..34]) {
        *out = f32::from(code as i8) * d;
    }
}
