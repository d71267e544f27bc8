//! Plain decoding of stored blocks, element by element from the definitions in `ggml-quants.c`, and random stored tensors.

use half::{bf16, f16};

use crate::weights::{Bytes, StoredTensor, StoredType};

/// A small generator (xorshift64*), so that tests are the same every time.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 33) as usize) % n
    }

    /// In -1..1.
    pub fn signed(&mut self) -> f32 {
        ((self.next() >> 40) as f32 / (1u64 << 23) as f32) - 1.0
    }
}

fn half(b: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([b[at], b[at + 1]]).to_f32()
}

/// Element `e` of the stored block `b`.
fn element(ty: StoredType, b: &[u8], e: usize) -> f32 {
    use StoredType::*;
    let bit = |byte: u8, n: usize| i32::from(byte >> n & 1);
    let nibble = |bytes: &[u8], e: usize| i32::from(if e < 16 { bytes[e] & 15 } else { bytes[e - 16] >> 4 });
    match ty {
        F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        F16 => half(b, 0),
        BF16 => bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        Q4_0 => (nibble(&b[2..], e) - 8) as f32 * half(b, 0),
        Q4_1 => nibble(&b[4..], e) as f32 * half(b, 0) + half(b, 2),
        Q5_0 => (nibble(&b[6..], e) + 16 * bit(b[2 + e / 8], e % 8) - 16) as f32 * half(b, 0),
        Q5_1 => (nibble(&b[8..], e) + 16 * bit(b[4 + e / 8], e % 8)) as f32 * half(b, 0) + half(b, 2),
        Q8_0 => f32::from(b[2 + e] as i8) * half(b, 0),
        IQ4_NL => f32::from(IQ4[nibble(&b[2..], e) as usize]) * half(b, 0),
        IQ4_XS => {
            let block = e / 32;
            let high = u16::from_le_bytes([b[2], b[3]]);
            let scale = i32::from(b[4 + block / 2] >> (4 * (block % 2)) & 15) + 16 * i32::from(high >> (2 * block) & 3) - 32;
            (half(b, 0) * scale as f32) * f32::from(IQ4[nibble(&b[8 + 16 * block..], e % 32) as usize])
        }
        Q2_K => {
            let scales = b[e / 16];
            let code = b[16 + 32 * (e / 128) + e % 32] >> (2 * (e % 128 / 32)) & 3;
            (half(b, 80) * f32::from(scales & 15)) * f32::from(code) - half(b, 82) * f32::from(scales >> 4)
        }
        Q3_K => {
            let s = e / 16;
            let low = if s < 8 { b[96 + s] & 15 } else { b[96 + s - 8] >> 4 };
            let high = b[104 + s % 4] >> (2 * (s / 4)) & 3;
            let scale = i32::from(low | high << 4) - 32;
            let code = i32::from(b[32 + 32 * (e / 128) + e % 32] >> (2 * (e % 128 / 32)) & 3) + 4 * bit(b[e % 32], e / 32) - 4;
            (half(b, 108) * scale as f32) * code as f32
        }
        Q4_K | Q5_K => {
            let (s, scales) = (e / 32, &b[4..16]);
            let (scale, min) = if s < 4 {
                (scales[s] & 63, scales[s + 4] & 63)
            } else {
                (scales[s + 4] & 15 | scales[s - 4] >> 6 << 4, scales[s + 4] >> 4 | scales[s] >> 6 << 4)
            };
            let codes = if ty == Q4_K { &b[16..] } else { &b[48..] };
            let mut code = i32::from(codes[32 * (e / 64) + e % 32] >> (4 * (s % 2)) & 15);
            if ty == Q5_K {
                code += 16 * bit(b[16 + e % 32], s);
            }
            (half(b, 0) * f32::from(scale)) * code as f32 - half(b, 2) * f32::from(min)
        }
        Q6_K => {
            let (n, r, l) = (e / 128, e % 128 / 32, e % 32);
            let low = b[64 * n + 32 * (r % 2) + l] >> (4 * (r / 2)) & 15;
            let high = b[128 + 32 * n + l] >> (2 * r) & 3;
            let code = i32::from(low | high << 4) - 32;
            (half(b, 208) * f32::from(b[192 + e / 16] as i8)) * code as f32
        }
    }
}

const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// All elements of a tensor, row-major.
pub fn decode(tensor: &StoredTensor) -> Vec<f32> {
    let (elements, bytes) = tensor.ty.block();
    let data = tensor.data.read().unwrap();
    data.chunks_exact(bytes).flat_map(|block| (0..elements).map(move |e| element(tensor.ty, block, e))).collect()
}

/// Where the f16 fields of a stored block are.
pub fn halves(ty: StoredType) -> &'static [usize] {
    use StoredType::*;
    match ty {
        F32 | BF16 => &[],
        F16 | Q4_0 | Q5_0 | Q8_0 | IQ4_NL | IQ4_XS => &[0],
        Q4_1 | Q5_1 | Q4_K | Q5_K => &[0, 2],
        Q2_K => &[80, 82],
        Q3_K => &[108],
        Q6_K => &[208],
    }
}

/// A tensor of random blocks: every bit of codes and integer scales random, f16 fields and float elements drawn by `float`.
pub fn random_tensor(
    ty: StoredType,
    rows: usize,
    cols: usize,
    rng: &mut Rng,
    mut float: impl FnMut(&mut Rng) -> f32,
) -> StoredTensor {
    let mut data: Vec<u8> = (0..ty.bytes_for(rows * cols).unwrap()).map(|_| (rng.next() >> 56) as u8).collect();
    for block in data.chunks_exact_mut(ty.block_bytes()) {
        match ty {
            StoredType::F32 => block.copy_from_slice(&float(rng).to_le_bytes()),
            StoredType::BF16 => block.copy_from_slice(&bf16::from_f32(float(rng)).to_le_bytes()),
            _ => {
                for &at in halves(ty) {
                    block[at..at + 2].copy_from_slice(&f16::from_f32(float(rng)).to_le_bytes());
                }
            }
        }
    }
    StoredTensor { name: format!("random.{ty}"), ty, shape: vec![rows, cols], data: Bytes::from_vec(data).into() }
}
