//! Super-blocks of 256 values: sub-blocks of 16 or 32 with small integer scales under one or two f16 scales.

use super::{IQ4_LEVELS, half_at};

/// 16 bytes of scale (low nibble) and minimum (high nibble) per 16 values, 64 bytes of 2-bit codes, `d`, `dmin`:
/// `d · scale · code − dmin · minimum`. A run of 32 code bytes holds 128 values, 2 bits deeper for each next 32.
pub(super) fn q2_k(b: &[u8], out: &mut [f32]) {
    let (scales, codes) = (&b[..16], &b[16..80]);
    let (d, dmin) = (half_at(b, 80), half_at(b, 82));
    for (i, out) in out.chunks_exact_mut(16).enumerate() {
        let (scale, minimum) = (d * f32::from(scales[i] & 15), dmin * f32::from(scales[i] >> 4));
        let (half, shift, side) = (i / 8, i % 8 / 2 * 2, i % 2);
        for (out, &byte) in out.iter_mut().zip(&codes[half * 32 + side * 16..][..16]) {
            *out = scale * f32::from(byte >> shift & 3) - minimum;
        }
    }
}

/// 32 bytes of third bits, 64 bytes of 2-bit codes as in Q2_K, 12 bytes of 6-bit scales, `d`: `d · (scale − 32) · code`, the code
/// less 4 where its third bit is not set. Scale j: low 4 bits in nibble j of bytes 0–7, high 2 bits in bytes 8–11.
pub(super) fn q3_k(b: &[u8], out: &mut [f32]) {
    let (mask, codes, packed) = (&b[..32], &b[32..96], &b[96..108]);
    let d = half_at(b, 108);
    for (i, out) in out.chunks_exact_mut(16).enumerate() {
        let low = packed[i % 8] >> (i / 8 * 4) & 15;
        let high = packed[8 + i % 4] >> (i / 4 * 2) & 3;
        let scale = d * f32::from((low | high << 4) as i8 - 32);
        let (half, step, side) = (i / 8, i % 8 / 2, i % 2);
        let bit = half * 4 + step;
        for (l, out) in out.iter_mut().enumerate() {
            let code = (codes[half * 32 + side * 16 + l] >> (step * 2) & 3) as i8;
            let third = mask[side * 16 + l] >> bit & 1;
            *out = scale * f32::from(code - if third == 0 { 4 } else { 0 });
        }
    }
}

/// Scale and minimum of sub-block `j` of 8, 6 bits each in 12 bytes.
fn scale_and_minimum(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (packed[j + 4] & 15 | packed[j - 4] >> 6 << 4, packed[j + 4] >> 4 | packed[j] >> 6 << 4)
    }
}

/// `d`, `dmin`, 12 bytes of scales and minimums, 128 bytes of codes: `d · scale · code − dmin · minimum`. 32 code bytes hold 64
/// values, the low nibbles first.
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

/// As Q4_K, with 32 bytes of fifth bits (bit j for sub-block j) before the codes.
pub(super) fn q5_k(b: &[u8], out: &mut [f32]) {
    let (d, dmin) = (half_at(b, 0), half_at(b, 2));
    let high = &b[16..48];
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, minimum) = scale_and_minimum(&b[4..16], j);
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        for (l, out) in out.iter_mut().enumerate() {
            let code = b[48 + j / 2 * 32 + l] >> (j % 2 * 4) & 15 | (high[l] >> j & 1) << 4;
            *out = scale * f32::from(code) - minimum;
        }
    }
}

/// 128 bytes of low nibbles, 64 bytes of high bits, 16 signed scales, `d`: `d · scale · (code − 32)`.
pub(super) fn q6_k(b: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&b[..128], &b[128..192], &b[192..208]);
    let d = half_at(b, 208);
    for (i, out) in out.iter_mut().enumerate() {
        let (half, quarter, l) = (i / 128, i % 128 / 32, i % 32);
        let nibble = low[half * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
        let code = nibble | (high[half * 32 + l] >> (quarter * 2) & 3) << 4;
        *out = d * f32::from(scales[i / 16] as i8) * f32::from(code as i8 - 32);
    }
}

/// `d`, 8 × 2 high scale bits, 8 × 4 low scale bits, 128 bytes of codes: `d · (scale − 32) · level[code]`; 16 code bytes hold 32
/// values, the low nibbles first.
pub(super) fn iq4_xs(b: &[u8], out: &mut [f32]) {
    let d = half_at(b, 0);
    let high = u16::from_le_bytes([b[2], b[3]]);
    for (j, out) in out.chunks_exact_mut(32).enumerate() {
        let scale = u16::from(b[4 + j / 2] >> (j % 2 * 4) & 15) | (high >> (2 * j) & 3) << 4;
        let scale = d * (i32::from(scale) - 32) as f32;
        for (l, &byte) in b[8 + j * 16..][..16].iter().enumerate() {
            out[l] = scale * f32::from(IQ4_LEVELS[usize::from(byte & 15)]);
            out[l + 16] = scale * f32::from(IQ4_LEVELS[usize::from(byte >> 4)]);
        }
    }
}
