//! One task of attention: queries of a few rows and one KV head against keys and values in pages.

use super::super::kv::{BLOCK, Brain, Element, Full, Half};
use super::super::simd::{Kernel, Vector, math};
use super::{CHUNK, Keys, Shape, partial_floats};
use crate::backend::KvType;

/// Blocks of keys in a chunk.
const BLOCKS: usize = CHUNK / BLOCK;

/// Which chunks a task covers, and what it leaves.
#[derive(Clone, Copy)]
pub(in super::super) enum Extent {
    /// All chunks; writes `[row][heads][head_dim]` to the output rows.
    All { out: *mut f32, out_stride: usize },
    /// One chunk; writes a partial per query, one after the other.
    Chunk { index: usize, partials: *mut f32 },
}

/// Queries of `count` rows of one resident, ascending in position, for one KV head.
pub(in super::super) struct TaskKernel<'a> {
    pub shape: &'a Shape,
    pub keys: Keys<'a>,
    pub seat: usize,
    pub kv_head: usize,
    /// Positions of the rows.
    pub positions: &'a [u32],
    /// Row `i` of the queries begins at `queries + i * query_stride`: `[heads][head_dim]`.
    pub queries: *const f32,
    pub query_stride: usize,
    pub extent: Extent,
    /// [`Shape::scratch_floats`] f32 of this thread, aligned to a cache line.
    pub scratch: *mut f32,
}

impl Kernel for TaskKernel<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        match self.keys.pool.kv_type {
            KvType::F32 => task::<V, Full>(&self),
            KvType::F16 => task::<V, Half>(&self),
            KvType::BF16 => task::<V, Brain>(&self),
        }
    }
}

/// A thread's memory for a task.
struct Scratch {
    /// `[head_dim][queries]`, scaled.
    queries: *mut f32,
    /// `[queries][CHUNK]`.
    scores: *mut f32,
    /// Partials of the chunk at hand.
    partials: *mut f32,
    /// Partials merged so far.
    merged: *mut f32,
}

#[inline(always)]
unsafe fn task<V: Vector, E: Element>(t: &TaskKernel<'_>) {
    let shape = t.shape;
    let (group, width) = (shape.group(), shape.value_width);
    let n = t.positions.len() * group;
    let each = partial_floats(width);
    let scores = t.scratch.add((n * shape.head_dim).next_multiple_of(16));
    let partials = scores.add(n * CHUNK);
    let scratch = Scratch { queries: t.scratch, scores, partials, merged: partials.add(n * each) };
    transpose_queries(t, scratch.queries, n);
    match t.extent {
        Extent::Chunk { index, partials } => {
            chunk::<V, E>(t, &scratch, index, n);
            std::ptr::copy_nonoverlapping(scratch.partials, partials, n * each);
        }
        Extent::All { out, out_stride } => {
            let first = shape.first_key(t.positions[0] as usize) / CHUNK;
            let last = t.positions[t.positions.len() - 1] as usize / CHUNK;
            for q in 0..n {
                clear(scratch.merged.add(q * each), width);
            }
            for index in first..=last {
                chunk::<V, E>(t, &scratch, index, n);
                for q in 0..n {
                    merge::<V>(scratch.partials.add(q * each), scratch.merged.add(q * each), width);
                }
            }
            for (row, _) in t.positions.iter().enumerate() {
                for g in 0..group {
                    let out = out.add(row * out_stride + (t.kv_head * group + g) * shape.head_dim);
                    finish::<V>(scratch.merged.add((row * group + g) * each), width, out, shape.head_dim);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn transpose_queries(t: &TaskKernel<'_>, into: *mut f32, n: usize) {
    let shape = t.shape;
    let group = shape.group();
    for q in 0..n {
        let from = t.queries.add(q / group * t.query_stride + (t.kv_head * group + q % group) * shape.head_dim);
        for d in 0..shape.head_dim {
            *into.add(d * n + q) = *from.add(d) * shape.scale;
        }
    }
}

/// The keys of chunk `index` that the row at `position` reads, counted from the chunk's first.
#[inline(always)]
fn visible(shape: &Shape, position: usize, index: usize) -> (usize, usize) {
    let base = index * CHUNK;
    let from = shape.first_key(position).max(base) - base;
    let to = (position + 1).min(base + CHUNK).saturating_sub(base);
    (from, to.max(from))
}

/// Computes the partials of all queries for one chunk.
#[inline(always)]
unsafe fn chunk<V: Vector, E: Element>(t: &TaskKernel<'_>, scratch: &Scratch, index: usize, n: usize) {
    let shape = t.shape;
    let (group, each) = (shape.group(), partial_floats(shape.value_width));
    let base = index * CHUNK;
    let lowest = shape.first_key(t.positions[0] as usize).max(base) - base;
    let highest = (t.positions[t.positions.len() - 1] as usize + 1).min(base + CHUNK).saturating_sub(base);
    if lowest >= highest {
        for q in 0..n {
            clear(scratch.partials.add(q * each), shape.value_width);
        }
        return;
    }
    let (first_block, end_block) = (lowest / BLOCK, highest.div_ceil(BLOCK));
    let mut keys = [std::ptr::null::<u8>(); BLOCKS];
    let mut values = [std::ptr::null::<u8>(); BLOCKS];
    let per_page = t.keys.pool.page_tokens / BLOCK;
    let table = t.keys.table;
    for block in first_block..end_block {
        let absolute = base / BLOCK + block;
        let page = *table.pages.get_unchecked(t.seat * table.stride + absolute / per_page) as usize;
        let (k, v) = t.keys.pool.block(t.keys.layer, page, t.kv_head, absolute % per_page);
        keys[block] = k;
        values[block] = v;
    }
    scores::<V, E>(shape.head_dim, scratch, &keys[first_block..end_block], first_block, n);
    for q in 0..n {
        let (from, to) = visible(shape, t.positions[q / group] as usize, index);
        softmax::<V>(shape, scratch.scores.add(q * CHUNK), from, to, scratch.partials.add(q * each));
    }
    weigh_values::<V, E>(t, scratch, &values, index, n);
}

/// `scores[q][key] = q · key` for all queries and the blocks given. Every product is one chain over the dimensions in order.
#[inline(always)]
unsafe fn scores<V: Vector, E: Element>(head_dim: usize, scratch: &Scratch, keys: &[*const u8], first_block: usize, n: usize) {
    let mut block = 0;
    // Sixteen lanes have registers for four blocks at a time, eight lanes for one.
    if V::LANES == BLOCK {
        while block + 4 <= keys.len() {
            let four = [keys[block], keys[block + 1], keys[block + 2], keys[block + 3]];
            score_blocks::<V, E, 4, 1>(head_dim, scratch, four, first_block + block, n);
            block += 4;
        }
        while block < keys.len() {
            score_blocks::<V, E, 1, 1>(head_dim, scratch, [keys[block]], first_block + block, n);
            block += 1;
        }
    } else {
        while block < keys.len() {
            score_blocks::<V, E, 1, 2>(head_dim, scratch, [keys[block]], first_block + block, n);
            block += 1;
        }
    }
}

#[inline(always)]
unsafe fn score_blocks<V: Vector, E: Element, const B: usize, const P: usize>(
    head_dim: usize,
    scratch: &Scratch,
    keys: [*const u8; B],
    block: usize,
    n: usize,
) {
    let mut q = 0;
    macro_rules! tiles {
        ($($count:literal)*) => {$(
            while n - q >= $count {
                let queries = scratch.queries.add(q);
                let out = scratch.scores.add(q * CHUNK + block * BLOCK);
                score_tile::<V, E, $count, B, P>(head_dim, queries, n, keys, out);
                q += $count;
            }
        )*};
    }
    tiles!(6 5 4 3 2 1);
}

/// `Q` queries against `B` blocks of `P` vectors each.
#[inline(always)]
unsafe fn score_tile<V: Vector, E: Element, const Q: usize, const B: usize, const P: usize>(
    head_dim: usize,
    queries: *const f32,
    query_stride: usize,
    keys: [*const u8; B],
    out: *mut f32,
) {
    let mut sums = [[[V::splat(0.0); P]; B]; Q];
    for d in 0..head_dim {
        let mut k = [[V::splat(0.0); P]; B];
        for b in 0..B {
            for p in 0..P {
                k[b][p] = E::load::<V>(keys[b].add((d * BLOCK + p * V::LANES) * E::BYTES));
            }
        }
        for q in 0..Q {
            let x = V::splat(*queries.add(d * query_stride + q));
            for b in 0..B {
                for p in 0..P {
                    sums[q][b][p] = x.fma(k[b][p], sums[q][b][p]);
                }
            }
        }
    }
    for q in 0..Q {
        for b in 0..B {
            for p in 0..P {
                sums[q][b][p].store(out.add(q * CHUNK + b * BLOCK + p * V::LANES));
            }
        }
    }
}

/// Turns the scores `from..to` of a chunk into exponentials below their largest; the largest and the sum go to the partial.
#[inline(always)]
unsafe fn softmax<V: Vector>(shape: &Shape, scores: *mut f32, from: usize, to: usize, partial: *mut f32) {
    let stats = partial.add(shape.value_width);
    if from >= to {
        *stats = f32::NEG_INFINITY;
        *stats.add(1) = 0.0;
        return;
    }
    let (first, end) = (from / BLOCK * BLOCK, to.next_multiple_of(BLOCK));
    if let Some(cap) = shape.softcap {
        let inverse = V::splat(1.0 / cap);
        for i in (first..end).step_by(V::LANES) {
            math::tanh(V::load(scores.add(i)).mul(inverse)).mul(V::splat(cap)).store(scores.add(i));
        }
    }
    // Whatever lies in the pages beyond the row's own keys is overwritten here, NaN included.
    for i in (first..from).chain(to..end) {
        *scores.add(i) = f32::NEG_INFINITY;
    }
    let mut largest = V::splat(f32::NEG_INFINITY);
    for i in (first..end).step_by(V::LANES) {
        largest = V::load(scores.add(i)).max(largest);
    }
    let largest = largest.largest();
    let mut sum = V::splat(0.0);
    for i in (first..end).step_by(V::LANES) {
        let p = math::exp(V::load(scores.add(i)).sub(V::splat(largest)));
        p.store(scores.add(i));
        sum = sum.add(p);
    }
    *stats = largest;
    *stats.add(1) = sum.sum();
}

/// `partial[q] = Σ p[q][key] value[key]`, one chain per element in order of position, over the keys each query sees.
#[inline(always)]
unsafe fn weigh_values<V: Vector, E: Element>(
    t: &TaskKernel<'_>,
    scratch: &Scratch,
    values: &[*const u8; BLOCKS],
    index: usize,
    n: usize,
) {
    let (width, each) = (t.shape.value_width, partial_floats(t.shape.value_width));
    for q in 0..n {
        for d in (0..width).step_by(V::LANES) {
            V::splat(0.0).store(scratch.partials.add(q * each + d));
        }
    }
    let mut q = 0;
    macro_rules! tiles {
        ($($count:literal)*) => {$(
            while n - q >= $count {
                weigh_queries::<V, E, $count>(t, scratch, values, index, q);
                q += $count;
            }
        )*};
    }
    tiles!(6 5 4 3 2 1);
}

/// Queries `q..q + Q`: what all see goes through the register tile, the few keys at the ends that not all see one query at a time,
/// so that no query ever meets a value it must not read.
#[inline(always)]
unsafe fn weigh_queries<V: Vector, E: Element, const Q: usize>(
    t: &TaskKernel<'_>,
    scratch: &Scratch,
    values: &[*const u8; BLOCKS],
    index: usize,
    q: usize,
) {
    let (group, width, each) = (t.shape.group(), t.shape.value_width, partial_floats(t.shape.value_width));
    let ranges: [(usize, usize); Q] = std::array::from_fn(|i| visible(t.shape, t.positions[(q + i) / group] as usize, index));
    // Positions ascend, so the last query begins last and the first ends first.
    let (from, to) = (ranges[Q - 1].0, ranges[0].1);
    let scores = scratch.scores.add(q * CHUNK);
    let out = scratch.partials.add(q * each);
    if from >= to {
        for (i, &(from, to)) in ranges.iter().enumerate() {
            weigh::<V, E, 1>(values, from, to, scores.add(i * CHUNK), out.add(i * each), width);
        }
        return;
    }
    for (i, range) in ranges.iter().enumerate() {
        weigh::<V, E, 1>(values, range.0, from, scores.add(i * CHUNK), out.add(i * each), width);
    }
    weigh::<V, E, Q>(values, from, to, scores, out, width);
    for (i, range) in ranges.iter().enumerate() {
        weigh::<V, E, 1>(values, to, range.1, scores.add(i * CHUNK), out.add(i * each), width);
    }
}

#[inline(always)]
unsafe fn weigh<V: Vector, E: Element, const Q: usize>(
    values: &[*const u8; BLOCKS],
    from: usize,
    to: usize,
    scores: *const f32,
    out: *mut f32,
    width: usize,
) {
    if from >= to {
        return;
    }
    let mut d = 0;
    if V::LANES == BLOCK {
        while d + 4 * V::LANES <= width {
            weigh_tile::<V, E, Q, 4>(values, from, to, scores, out, width, d);
            d += 4 * V::LANES;
        }
        while d < width {
            weigh_tile::<V, E, Q, 1>(values, from, to, scores, out, width, d);
            d += V::LANES;
        }
    } else {
        while d < width {
            weigh_tile::<V, E, Q, 2>(values, from, to, scores, out, width, d);
            d += 2 * V::LANES;
        }
    }
}

/// `Q` queries and `D` vectors of dimensions from `d`.
#[inline(always)]
unsafe fn weigh_tile<V: Vector, E: Element, const Q: usize, const D: usize>(
    values: &[*const u8; BLOCKS],
    from: usize,
    to: usize,
    scores: *const f32,
    out: *mut f32,
    width: usize,
    d: usize,
) {
    let each = partial_floats(width);
    let mut sums = [[V::splat(0.0); D]; Q];
    for q in 0..Q {
        for i in 0..D {
            sums[q][i] = V::load(out.add(q * each + d + i * V::LANES));
        }
    }
    for block in from / BLOCK..to.div_ceil(BLOCK) {
        let base = block * BLOCK;
        for key in from.max(base)..to.min(base + BLOCK) {
            let value = values[block].add(((key - base) * width + d) * E::BYTES);
            let mut v = [V::splat(0.0); D];
            for i in 0..D {
                v[i] = E::load::<V>(value.add(i * V::LANES * E::BYTES));
            }
            for q in 0..Q {
                let p = V::splat(*scores.add(q * CHUNK + key));
                for i in 0..D {
                    sums[q][i] = p.fma(v[i], sums[q][i]);
                }
            }
        }
    }
    for q in 0..Q {
        for i in 0..D {
            sums[q][i].store(out.add(q * each + d + i * V::LANES));
        }
    }
}

/// A partial of no keys.
#[inline(always)]
unsafe fn clear(partial: *mut f32, width: usize) {
    *partial.add(width) = f32::NEG_INFINITY;
    *partial.add(width + 1) = 0.0;
}

/// Merges the partial of a chunk into that of the chunks before it.
#[inline(always)]
unsafe fn merge<V: Vector>(partial: *const f32, merged: *mut f32, width: usize) {
    let (largest, sum) = (*partial.add(width), *partial.add(width + 1));
    // A sum is at least 1 where there was a key (the largest score's own exponential), or NaN.
    if sum == 0.0 {
        return;
    }
    let before = *merged.add(width + 1);
    if before == 0.0 {
        std::ptr::copy_nonoverlapping(partial, merged, width + 2);
        return;
    }
    let top = if largest > *merged.add(width) { largest } else { *merged.add(width) };
    let old = math::exp_one::<V>(*merged.add(width) - top);
    let new = math::exp_one::<V>(largest - top);
    for d in (0..width).step_by(V::LANES) {
        let scaled = V::load(partial.add(d)).mul(V::splat(new));
        V::load(merged.add(d)).fma(V::splat(old), scaled).store(merged.add(d));
    }
    *merged.add(width) = top;
    *merged.add(width + 1) = before * old + sum * new;
}

/// Divides by the sum and writes the first `head_dim` values.
#[inline(always)]
unsafe fn finish<V: Vector>(merged: *const f32, width: usize, out: *mut f32, head_dim: usize) {
    let inverse = V::splat(1.0 / *merged.add(width + 1));
    for d in (0..head_dim).step_by(V::LANES) {
        let x = V::load(merged.add(d)).mul(inverse);
        if d + V::LANES <= head_dim { x.store(out.add(d)) } else { x.store_part(out.add(d), head_dim - d) }
    }
}

/// Merges the partials of one query in order and writes its `head_dim` values.
pub(in super::super) struct MergeKernel {
    /// Partials of the query's chunks, `stride` f32 apart. The first is overwritten.
    pub partials: *mut f32,
    pub stride: usize,
    pub chunks: usize,
    pub value_width: usize,
    pub out: *mut f32,
    pub head_dim: usize,
}

impl Kernel for MergeKernel {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for index in 1..self.chunks {
            merge::<V>(self.partials.add(index * self.stride), self.partials, self.value_width);
        }
        finish::<V>(self.partials, self.value_width, self.out, self.head_dim);
    }
}
