//! The stored formats, decoded plainly: what every kernel is compared with.
//!
//! Owns: each format's layout, in the comment of its decoder (field, place, meaning), and the decoding itself, element by element and
//! bit for bit that of the `gguf` Python package. Never fast: backends read the blocks in their own way.
//!
//! Values are little-endian. Products are taken in f32, in the order in which the formulas are written. The definitions are the block
//! structs of `ggml-common.h` and the `dequantize_row_*` functions of `ggml-quants.c` in the ggml sources.

mod blocks;
mod iq4;
mod super_blocks;

pub use iq4::IQ4_LEVELS;

use half::{bf16, f16};

use super::StoredType;
use crate::error::{Error, Result};

/// Decodes whole blocks: `out` gets as many values as `bytes` hold.
///
/// Errors: INVALID_ARGUMENT where the lengths do not fit each other or are not whole blocks.
pub fn dequantize(ty: StoredType, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    if ty.bytes_for(out.len()) != Some(bytes.len()) {
        return Err(Error::invalid(format!(
            "{} values of {ty} in {} bytes, expected {} bytes for each {} values",
            out.len(),
            bytes.len(),
            ty.block_bytes(),
            ty.block_elements()
        )));
    }
    use StoredType::*;
    let decode: fn(&[u8], &mut [f32]) = match ty {
        F32 => |b, out| out[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        F16 => |b, out| out[0] = half_at(b, 0),
        BF16 => |b, out| out[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        Q4_0 => blocks::q4_0,
        Q4_1 => blocks::q4_1,
        Q5_0 => blocks::q5_0,
        Q5_1 => blocks::q5_1,
        Q8_0 => blocks::q8_0,
        IQ4_NL => iq4::iq4_nl,
        Q2_K => super_blocks::q2_k,
        Q3_K => super_blocks::q3_k,
        Q4_K => super_blocks::q4_k,
        Q5_K => super_blocks::q5_k,
        Q6_K => super_blocks::q6_k,
        IQ4_XS => iq4::iq4_xs,
    };
    for (block, out) in bytes.chunks_exact(ty.block_bytes()).zip(out.chunks_exact_mut(ty.block_elements())) {
        decode(block, out);
    }
    Ok(())
}

/// The f16 at a byte offset.
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}
