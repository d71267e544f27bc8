//! Four-bit codes that stand for levels of a fixed table, denser around zero: IQ4_NL, IQ4_XS.

use super::blocks::nibbles;
use super::half_at;

/// What the codes stand for.
pub const IQ4_LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

fn level(code: u8) -> f32 {
    f32::from(IQ4_LEVELS[usize::from(code & 15)])
}

/// IQ4_NL, 32 values in 18 bytes: `d · level[code]`. Nibbles lie as in Q4_0.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 16 | codes, 4 bits |
pub(super) fn iq4_nl(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    nibbles(&b[2..18], |_, code| d * level(code), out);
}

/// IQ4_XS, 256 values in 136 bytes: `d · (scale − 32) · level[code]`, a scale of 6 bits for each 32 values.
///
/// | at | bytes | field |
/// |---|---|---|
/// | 0 | 2 | `d`, f16 |
/// | 2 | 2 | high 2 bits of scale `j` at bits `2j` of a 16-bit word |
/// | 4 | 4 | low 4 bits of scale `j` in nibble `j`, the low nibble of a byte first |
/// | 8 | 128 | codes, 4 bits: 16 bytes for each 32 values, as in Q4_0 |
pub(super) fn iq4_xs(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    let high = u16::from_le_bytes([b[2], b[3]]);
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let low = b[4 + j / 2] >> (j % 2 * 4) & 15;
        let scale = i32::from(low) | i32::from(high >> (2 * j) & 3) << 4;
        let scale = d * (scale - 32) as f32;
        nibbles(&b[8 + j * 16..][..16], |_, code| scale * level(code), out);
    }
}
