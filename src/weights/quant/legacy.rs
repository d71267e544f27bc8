//! Blocks of 32 values with one scale.

use super::{IQ4_LEVELS, half_at};

/// The low nibbles are values 0–15, the high ones 16–31.
fn nibbles(codes: &[u8], mut value: impl FnMut(usize, u8) -> f32, out: &mut [f32]) {
    for (i, &byte) in codes.iter().enumerate() {
        out[i] = value(i, byte & 15);
        out[i + 16] = value(i + 16, byte >> 4);
    }
}

/// `d`, 16 bytes of codes: `(code − 8) · d`.
pub(super) fn q4_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    nibbles(&b[2..18], |_, code| (i32::from(code) - 8) as f32 * d, out);
}

/// `d`, `m`, 16 bytes of codes: `code · d + m`.
pub(super) fn q4_1(b: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    nibbles(&b[4..20], |_, code| f32::from(code) * d + m, out);
}

/// `d`, the 32 fifth bits, 16 bytes of codes: `(code − 16) · d`.
pub(super) fn q5_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
    nibbles(&b[6..22], |i, code| (fifth(high, i, code) as i32 - 16) as f32 * d, out);
}

/// `d`, `m`, the 32 fifth bits, 16 bytes of codes: `code · d + m`.
pub(super) fn q5_1(b: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
    nibbles(&b[8..24], |i, code| fifth(high, i, code) as f32 * d + m, out);
}

fn fifth(high: u32, i: usize, code: u8) -> u32 {
    u32::from(code) | (high >> i & 1) << 4
}

/// `d`, 32 signed bytes: `code · d`.
pub(super) fn q8_0(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    for (out, &code) in out.iter_mut().zip(&b[2..34]) {
        *out = f32::from(code as i8) * d;
    }
}

/// `d`, 16 bytes of codes: `level[code] · d`.
pub(super) fn iq4_nl(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    nibbles(&b[2..18], |_, code| d * f32::from(IQ4_LEVELS[usize::from(code)]), out);
}
