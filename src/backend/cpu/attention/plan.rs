//! How a step's attention is split into tasks. Splitting changes no result, so it may look at everything in the step.

use super::{CHUNK, Shape, partial_floats};

/// Consecutive query rows of one resident.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct QueryRows {
    pub seat: u32,
    /// First row, and how many.
    pub first: u32,
    pub count: u32,
}

/// Rows that are worked on together.
#[derive(Clone, Copy, Debug)]
struct Block {
    rows: QueryRows,
    first_chunk: u32,
    chunks: u32,
    /// Where its partials begin, in f32, if its chunks are tasks of their own.
    partials: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    block: u32,
    /// `None`: all.
    chunk: Option<u32>,
}

/// What a thread is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Work {
    pub seat: usize,
    /// Query rows.
    pub rows: (usize, usize),
    pub kv_head: usize,
    pub part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Part {
    All,
    /// One chunk, whose partials begin at `partials` of the partial memory.
    Chunk {
        index: usize,
        partials: usize,
    },
}

/// Partials of one query head, to be merged: `chunks` of them, `stride` apart, from `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Merge {
    pub first: usize,
    pub stride: usize,
    pub chunks: usize,
}

/// The tasks of one kind of attention layer for one step. Its lists never grow beyond what it was made for.
pub(in super::super) struct Plan {
    shape: Shape,
    threads: usize,
    partial_capacity: usize,
    blocks: Vec<Block>,
    tasks: Vec<Task>,
    /// The block of each query row.
    block_of: Vec<u32>,
    split: bool,
}

/// A task costs at most this part of a thread's share before its block is split.
const PARTS_PER_THREAD: usize = 4;

impl Plan {
    /// For at most `rows` query rows, and `partial_capacity` f32 of partials.
    pub(in super::super) fn new(shape: Shape, rows: usize, threads: usize, partial_capacity: usize) -> Self {
        let per_chunk = shape.heads * partial_floats(shape.value_width);
        let tasks = rows + partial_capacity / per_chunk;
        Plan {
            shape,
            threads,
            partial_capacity,
            blocks: Vec::with_capacity(rows),
            tasks: Vec::with_capacity(tasks),
            block_of: Vec::with_capacity(rows),
            split: false,
        }
    }

    /// f32 that let one row with `keys` keys be split, and more rows up to some MiB.
    pub(in super::super) fn partials_for(shape: &Shape, keys: usize, rows: usize, threads: usize) -> usize {
        const ENOUGH: usize = 2 << 20;
        if threads == 1 {
            return 0;
        }
        let row = keys.div_ceil(CHUNK) * shape.heads * partial_floats(shape.value_width);
        row.saturating_mul(rows.min(PARTS_PER_THREAD * threads)).min(row.max(ENOUGH))
    }

    /// Plans `spans`, whose rows have `positions` (ascending within a span).
    pub(in super::super) fn build(&mut self, spans: impl Iterator<Item = QueryRows>, positions: &[u32]) {
        self.blocks.clear();
        self.tasks.clear();
        self.block_of.clear();
        self.split = false;
        let rows_per_block = self.shape.rows_per_block() as u32;
        let mut total = 0;
        for span in spans {
            let mut at = 0;
            while at < span.count {
                let rows = QueryRows { first: span.first + at, count: rows_per_block.min(span.count - at), ..span };
                let (low, high) = (positions[rows.first as usize], positions[(rows.first + rows.count - 1) as usize]);
                let first_chunk = (self.shape.first_key(low as usize) / CHUNK) as u32;
                let chunks = high / CHUNK as u32 - first_chunk + 1;
                self.block_of.extend(std::iter::repeat_n(self.blocks.len() as u32, rows.count as usize));
                self.blocks.push(Block { rows, first_chunk, chunks, partials: None });
                total += rows.count as usize * chunks as usize;
                at += rows.count;
            }
        }
        let most = total * self.shape.kv_heads / (self.threads * PARTS_PER_THREAD);
        let mut used = 0;
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let floats =
                block.chunks as usize * block.rows.count as usize * self.shape.heads * partial_floats(self.shape.value_width);
            let heavy = block.rows.count as usize * block.chunks as usize > most;
            if self.threads > 1 && heavy && block.chunks > 1 && used + floats <= self.partial_capacity {
                block.partials = Some(used);
                used += floats;
                self.split = true;
            } else {
                self.tasks.push(Task { block: index as u32, chunk: None });
            }
        }
        // Claimed in order: whole blocks from the last, which have the most keys before them, then the small pieces.
        self.tasks.reverse();
        for (index, block) in self.blocks.iter().enumerate() {
            if block.partials.is_some() {
                self.tasks.extend((0..block.chunks).map(|chunk| Task { block: index as u32, chunk: Some(chunk) }));
            }
        }
    }

    pub(in super::super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(in super::super) fn tasks(&self) -> usize {
        self.tasks.len() * self.shape.kv_heads
    }

    /// Whether some rows are left as partials.
    pub(in super::super) fn is_split(&self) -> bool {
        self.split
    }

    pub(in super::super) fn task(&self, index: usize) -> Work {
        let kv_heads = self.shape.kv_heads;
        let (task, kv_head) = (self.tasks[index / kv_heads], index % kv_heads);
        let block = &self.blocks[task.block as usize];
        let part = match (task.chunk, block.partials) {
            (Some(chunk), Some(first)) => Part::Chunk {
                index: (block.first_chunk + chunk) as usize,
                partials: first + self.partial_at(block, kv_head, chunk as usize),
            },
            _ => Part::All,
        };
        let first = block.rows.first as usize;
        Work { seat: block.rows.seat as usize, rows: (first, first + block.rows.count as usize), kv_head, part }
    }

    /// Partials of a block: `[kv_head][chunk][query]`.
    fn partial_at(&self, block: &Block, kv_head: usize, chunk: usize) -> usize {
        let queries = block.rows.count as usize * self.shape.group();
        (kv_head * block.chunks as usize + chunk) * queries * partial_floats(self.shape.value_width)
    }

    /// The partials of query row `row` and head `head`, if they were left to be merged.
    pub(in super::super) fn merge(&self, row: usize, head: usize) -> Option<Merge> {
        let block = &self.blocks[self.block_of[row] as usize];
        let (group, each) = (self.shape.group(), partial_floats(self.shape.value_width));
        let query = (row - block.rows.first as usize) * group + head % group;
        let first = block.partials? + self.partial_at(block, head / group, 0) + query * each;
        Some(Merge { first, stride: block.rows.count as usize * group * each, chunks: block.chunks as usize })
    }
}
