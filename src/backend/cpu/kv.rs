//! The KV pool of a group of layers: where a key or a value lies.
//!
//! `[layer][page][kv_head]` of *cells*. A cell holds the keys and values of one head for the tokens of a page: keys in blocks of
//! [`BLOCK`] tokens, transposed to `[head_dim][BLOCK]` so that a vector holds one dimension of many keys; then values as
//! `[page_tokens][value_width]`, `value_width` being `head_dim` rounded up to 16.

use super::memory::LazyBytes;
use super::simd::Vector;
use crate::backend::{KvGroup, KvType};
use crate::error::{Error, Result};

/// Keys that are stored side by side.
pub(super) const BLOCK: usize = 16;

/// An element type of the pool.
pub(super) trait Element: Copy {
    const BYTES: usize;
    /// A vector of elements from `p`. Safety: as [`Vector::load`].
    unsafe fn load<V: Vector>(p: *const u8) -> V;
    /// Converts `from`, whose length is `n`, to `n` elements at `to`; `n` is a multiple of 8 or both have room up to one.
    unsafe fn convert<V: Vector>(from: *const f32, n: usize, to: *mut u8);
}

#[derive(Clone, Copy)]
pub(super) struct Full;
#[derive(Clone, Copy)]
pub(super) struct Half;
#[derive(Clone, Copy)]
pub(super) struct Brain;

impl Element for Full {
    const BYTES: usize = 4;

    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V {
        V::load(p.cast())
    }

    #[inline(always)]
    unsafe fn convert<V: Vector>(from: *const f32, n: usize, to: *mut u8) {
        std::ptr::copy_nonoverlapping(from.cast(), to, n * 4);
    }
}

impl Element for Half {
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V {
        V::load_f16(p.cast())
    }

    #[inline(always)]
    unsafe fn convert<V: Vector>(from: *const f32, n: usize, to: *mut u8) {
        let to = to.cast::<u16>();
        let whole = n / V::LANES * V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            V::load(from.add(i)).store_f16(to.add(i));
        }
        for i in whole..n {
            *to.add(i) = half::f16::from_f32(*from.add(i)).to_bits();
        }
    }
}

impl Element for Brain {
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V {
        V::load_bf16(p.cast())
    }

    #[inline(always)]
    unsafe fn convert<V: Vector>(from: *const f32, n: usize, to: *mut u8) {
        let to = to.cast::<u16>();
        for i in 0..n {
            *to.add(i) = half::bf16::from_f32(*from.add(i)).to_bits();
        }
    }
}

/// Keys and values of the layers of one group.
pub(super) struct KvPool {
    memory: LazyBytes,
    pub(super) kv_type: KvType,
    pub(super) pages: usize,
    pub(super) page_tokens: usize,
    pub(super) head_dim: usize,
    pub(super) value_width: usize,
    kv_heads: usize,
    cell_bytes: usize,
}

impl KvPool {
    /// Errors: OUT_OF_MEMORY naming the bytes.
    pub(super) fn new(index: usize, group: &KvGroup, pages: usize, page_tokens: usize, kv_type: KvType) -> Result<Self> {
        let value_width = group.head_dim.next_multiple_of(BLOCK);
        let what = format!("keys and values of group {index} ({} layers, {pages} pages of {page_tokens} tokens)", group.layers);
        let cell_bytes = page_tokens * (group.head_dim + value_width) * kv_type.bytes();
        let bytes = [group.layers, pages, group.kv_heads]
            .into_iter()
            .try_fold(cell_bytes, usize::checked_mul)
            .ok_or_else(|| Error::out_of_memory(format!("{what}: their size overflows")))?;
        let memory = LazyBytes::zeroed(bytes, &what)?;
        Ok(KvPool {
            memory,
            kv_type,
            pages,
            page_tokens,
            head_dim: group.head_dim,
            value_width,
            kv_heads: group.kv_heads,
            cell_bytes,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// The keys of block `block` of the page, `[head_dim][BLOCK]`, and the values of its tokens, `[BLOCK][value_width]`.
    /// All indices must be inside the pool.
    #[inline(always)]
    pub(super) fn block(&self, layer: usize, page: usize, head: usize, block: usize) -> (*mut u8, *mut u8) {
        let cell = ((layer * self.pages + page) * self.kv_heads + head) * self.cell_bytes;
        debug_assert!(cell + self.cell_bytes <= self.memory.len());
        let key_bytes = BLOCK * self.head_dim * self.kv_type.bytes();
        let value_bytes = BLOCK * self.value_width * self.kv_type.bytes();
        let blocks = self.page_tokens / BLOCK;
        // SAFETY: a cell inside the pool; `block` lies below the blocks of a page.
        unsafe {
            let cell = self.memory.start().add(cell);
            (cell.add(block * key_bytes), cell.add(blocks * key_bytes + block * value_bytes))
        }
    }

    /// Writes a key and a value of `head_dim` f32 for `slot`, a token of the page.
    ///
    /// # Safety
    /// Indices inside the pool, `key` and `value` valid for reads of `head_dim`; nobody accesses this token's elements meanwhile.
    #[inline(always)]
    pub(super) unsafe fn write<V: Vector>(
        &self,
        layer: usize,
        page: usize,
        head: usize,
        slot: usize,
        key: *const f32,
        value: *const f32,
    ) {
        match self.kv_type {
            KvType::F32 => self.write_as::<V, Full>(layer, page, head, slot, key, value),
            KvType::F16 => self.write_as::<V, Half>(layer, page, head, slot, key, value),
            KvType::BF16 => self.write_as::<V, Brain>(layer, page, head, slot, key, value),
        }
    }

    #[inline(always)]
    unsafe fn write_as<V: Vector, E: Element>(
        &self,
        layer: usize,
        page: usize,
        head: usize,
        slot: usize,
        key: *const f32,
        value: *const f32,
    ) {
        /// Dimensions that are converted at a time.
        const PIECE: usize = 64;
        let (keys, values) = self.block(layer, page, head, slot / BLOCK);
        let lane = slot % BLOCK;
        E::convert::<V>(value, self.head_dim, values.add(lane * self.value_width * E::BYTES));
        let mut piece = [0u32; PIECE];
        let piece = piece.as_mut_ptr().cast::<u8>();
        for from in (0..self.head_dim).step_by(PIECE) {
            let n = PIECE.min(self.head_dim - from);
            E::convert::<V>(key.add(from), n, piece);
            for d in 0..n {
                let to = keys.add(((from + d) * BLOCK + lane) * E::BYTES);
                if E::BYTES == 4 {
                    to.cast::<u32>().write(piece.cast::<u32>().add(d).read());
                } else {
                    to.cast::<u16>().write(piece.cast::<u16>().add(d).read());
                }
            }
        }
    }
}
