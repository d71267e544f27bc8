//! Activation rows in the form a matrix needs, made once per row and shared by all matrices that need the same form.
//!
//! | form | a row of `cols` values |
//! |---|---|
//! | [`F32`](ActFormat::F32) | the values |
//! | [`Bf16`](ActFormat::Bf16) | rounded to bf16, zero-padded to a pair |
//! | [`Q8`](ActFormat::Q8) | one [`Q8Block`] of a cache line per 32 values, zero-padded to a block |

use half::bf16;

use super::lanes::Lanes;
use super::lanes::plain::Plain;
use super::level::Level;
use crate::error::Result;

use super::memory::AlignedBytes;

/// Values that share one scale.
pub const BLOCK: usize = 32;

/// How activations are converted before they meet the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActFormat {
    F32,
    Bf16,
    /// 8-bit codes with a scale for every 32 values.
    Q8,
}

impl ActFormat {
    /// Bytes of a row of `cols` values, a multiple of 64.
    pub const fn row_bytes(self, cols: usize) -> usize {
        match self {
            ActFormat::F32 => (cols * 4).next_multiple_of(64),
            ActFormat::Bf16 => (cols * 2).next_multiple_of(64),
            ActFormat::Q8 => cols.div_ceil(BLOCK) * size_of::<Q8Block>(),
        }
    }
}

/// 32 activations: `x[i] ≈ scale * codes[i]`. Sums serve the formats whose codes have an offset or a minimum.
///
/// A block with a value that is not finite has scale NaN, so every product with it is NaN.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Q8Block {
    pub codes: [i8; BLOCK],
    pub scale: f32,
    /// Minus the sum of the codes.
    pub minus_sum: i32,
    /// `scale` times the sum of the codes.
    pub scaled_sum: f32,
    pub unused: u32,
    /// As `minus_sum`, of each half.
    pub minus_half_sums: [i32; 2],
    /// As `scaled_sum`, of each half.
    pub scaled_half_sums: [f32; 2],
}

/// Below this magnitude a block counts as zero: the reciprocal of its scale would overflow.
const SMALLEST: f32 = 1e-35;

/// Converts `x` to `format`.
///
/// `out` must hold [`row_bytes`](ActFormat::row_bytes)`(x.len())` bytes. All levels give the same bits.
pub fn quantize_row(level: Level, format: ActFormat, x: &[f32], out: &mut [u8]) {
    assert!(out.len() >= format.row_bytes(x.len()), "{} bytes for a row of {} values as {format:?}", out.len(), x.len());
    let out = out.as_mut_ptr();
    // SAFETY: `out` was checked; a level is only had where the processor has it.
    unsafe {
        match (format, level) {
            (ActFormat::F32, _) => std::ptr::copy_nonoverlapping(x.as_ptr().cast(), out, size_of_val(x)),
            #[cfg(target_arch = "x86_64")]
            (ActFormat::Bf16, Level::Avx512Bf16) => bf16_avx512(x, out),
            (ActFormat::Bf16, _) => bf16_plain(x, out),
            #[cfg(target_arch = "x86_64")]
            (ActFormat::Q8, Level::Avx512 | Level::Avx512Bf16) => q8_avx512(x, out),
            #[cfg(target_arch = "x86_64")]
            (ActFormat::Q8, Level::Avx2 | Level::Avx2Vnni) => q8_avx2(x, out),
            #[cfg(target_arch = "aarch64")]
            (ActFormat::Q8, Level::Neon) => q8_neon(x, out),
            (ActFormat::Q8, _) => q8::<Plain>(x, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn q8_avx512(x: &[f32], out: *mut u8) {
    q8::<super::lanes::avx512::Avx512>(x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn q8_avx2(x: &[f32], out: *mut u8) {
    q8::<super::lanes::avx2::Avx2<false>>(x, out);
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon,dotprod")]
unsafe fn q8_neon(x: &[f32], out: *mut u8) {
    q8::<super::lanes::neon::Neon>(x, out);
}

#[inline(always)]
unsafe fn q8<L: Lanes>(x: &[f32], out: *mut u8) {
    let (blocks, rest) = x.as_chunks::<BLOCK>();
    let out = out.cast::<Q8Block>();
    for (i, block) in blocks.iter().enumerate() {
        q8_block::<L>(block, out.add(i));
    }
    if !rest.is_empty() {
        let mut padded = [0.0; BLOCK];
        padded[..rest.len()].copy_from_slice(rest);
        q8_block::<L>(&padded, out.add(blocks.len()));
    }
}

#[inline(always)]
unsafe fn q8_block<L: Lanes>(x: &[f32; BLOCK], out: *mut Q8Block) {
    let largest = f32::from_bits(L::max_magnitude_bits(x.as_ptr()));
    let finite = largest < f32::INFINITY; // false for NaN
    let used = finite && largest >= SMALLEST;
    let by = if used { 127.0 / largest } else { 0.0 };
    let scale = if used {
        largest / 127.0
    } else if finite {
        0.0
    } else {
        f32::NAN
    };
    let codes = (&raw mut (*out).codes).cast::<u8>();
    let sums = if used {
        [L::quantize(x.as_ptr(), by, codes), L::quantize(x.as_ptr().add(BLOCK / 2), by, codes.add(BLOCK / 2))]
    } else {
        codes.write_bytes(0, BLOCK);
        [0, 0]
    };
    let sum = sums[0] + sums[1];
    (&raw mut (*out).scale).write(scale);
    (&raw mut (*out).minus_sum).write(-sum);
    (&raw mut (*out).scaled_sum).write(scale * sum as f32);
    (&raw mut (*out).unused).write(0);
    (&raw mut (*out).minus_half_sums).write(sums.map(|s| -s));
    (&raw mut (*out).scaled_half_sums).write(sums.map(|s| scale * s as f32));
}

unsafe fn bf16_plain(x: &[f32], out: *mut u8) {
    let out = out.cast::<u16>();
    for (i, &x) in x.iter().enumerate() {
        out.add(i).write_unaligned(bf16::from_f32(x).to_bits().to_le());
    }
    if x.len() % 2 == 1 {
        out.add(x.len()).write_unaligned(0);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn bf16_avx512(x: &[f32], out: *mut u8) {
    use std::arch::x86_64::*;
    let (blocks, rest) = x.as_chunks::<16>();
    for (i, block) in blocks.iter().enumerate() {
        let rounded: __m256i = std::mem::transmute(_mm512_cvtneps_pbh(_mm512_loadu_ps(block.as_ptr())));
        _mm256_storeu_si256(out.add(i * 32).cast(), rounded);
    }
    bf16_plain(rest, out.add(blocks.len() * 32));
}

/// Rows of activations, in the forms they were converted to. A matrix takes the form it [needs](super::PackedMatrix::needs).
#[derive(Clone, Copy, Debug)]
pub struct ActRows<'a> {
    rows: usize,
    cols: usize,
    f32: Option<Rows<'a>>,
    bf16: Option<Rows<'a>>,
    q8: Option<Rows<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub data: &'a [u8],
    pub stride: usize,
}

impl<'a> ActRows<'a> {
    /// `rows` rows of `cols` values, in no form yet.
    pub fn new(rows: usize, cols: usize) -> Self {
        ActRows { rows, cols, f32: None, bf16: None, q8: None }
    }

    /// The rows as `format`: row `r` begins at byte `r * stride` of `data`. Panics where `data` is too short.
    pub fn with(mut self, format: ActFormat, data: &'a [u8], stride: usize) -> Self {
        let last = match format {
            ActFormat::F32 => self.cols * 4,
            _ => format.row_bytes(self.cols),
        };
        assert!(
            self.rows == 0 || data.len() >= (self.rows - 1) * stride + last,
            "{} bytes for {} rows of {} values as {format:?}, stride {stride}",
            data.len(),
            self.rows,
            self.cols
        );
        let rows = Some(Rows { data, stride });
        match format {
            ActFormat::F32 => self.f32 = rows,
            ActFormat::Bf16 => self.bf16 = rows,
            ActFormat::Q8 => self.q8 = rows,
        }
        self
    }

    /// The rows as f32: row `r` begins at `x[r * stride]`.
    pub fn with_f32(self, x: &'a [f32], stride: usize) -> Self {
        // SAFETY: any f32 is four bytes.
        let bytes = unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) };
        self.with(ActFormat::F32, bytes, stride * 4)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub(super) fn get(&self, format: ActFormat) -> Option<Rows<'a>> {
        match format {
            ActFormat::F32 => self.f32,
            ActFormat::Bf16 => self.bf16,
            ActFormat::Q8 => self.q8,
        }
    }
}

/// Memory for converted rows.
#[derive(Debug)]
pub struct ActBuffer {
    format: ActFormat,
    cols: usize,
    memory: AlignedBytes,
}

impl ActBuffer {
    /// Room for `rows` rows of `cols` values. Errors: OUT_OF_MEMORY.
    pub fn new(format: ActFormat, rows: usize, cols: usize) -> Result<Self> {
        let memory = AlignedBytes::zeroed(rows.max(1) * format.row_bytes(cols), "activation rows")?;
        Ok(ActBuffer { format, cols, memory })
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [u8] {
        let bytes = self.format.row_bytes(self.cols);
        &mut self.memory[row * bytes..(row + 1) * bytes]
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory
    }

    /// The first `rows` rows.
    pub fn rows(&self, rows: usize) -> ActRows<'_> {
        ActRows::new(rows, self.cols).with(self.format, &self.memory, self.format.row_bytes(self.cols))
    }
}
