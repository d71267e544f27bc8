//! The stored formats, decoded plainly: what every kernel is compared with.
//!
//! Layouts are those of the GGUF block types; each decoder's comment gives its block's fields. Values are little-endian; `d`, `m`
//! and `dmin` are f16. Products are taken in f32, in the order the format's reference takes them.

mod legacy;
mod super_blocks;

use half::{bf16, f16};

use super::StoredType;
use crate::error::{Error, Result};

/// Levels of the non-linear 4-bit types.
pub const IQ4_LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Decodes whole blocks. `out` has as many values as `bytes` hold. Errors: INVALID_ARGUMENT where the lengths do not fit.
pub fn dequantize(ty: StoredType, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    if ty.bytes_for(out.len()) != Some(bytes.len()) {
        return Err(Error::invalid(format!("{} values of {ty} in {} bytes", out.len(), bytes.len())));
    }
    use StoredType::*;
    let decode: fn(&[u8], &mut [f32]) = match ty {
        F32 => |b, out| out[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        F16 => |b, out| out[0] = half_at(b, 0),
        BF16 => |b, out| out[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        Q4_0 => legacy::q4_0,
        Q4_1 => legacy::q4_1,
        Q5_0 => legacy::q5_0,
        Q5_1 => legacy::q5_1,
        Q8_0 => legacy::q8_0,
        IQ4_NL => legacy::iq4_nl,
        Q2_K => super_blocks::q2_k,
        Q3_K => super_blocks::q3_k,
        Q4_K => super_blocks::q4_k,
        Q5_K => super_blocks::q5_k,
        Q6_K => super_blocks::q6_k,
        IQ4_XS => super_blocks::iq4_xs,
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
