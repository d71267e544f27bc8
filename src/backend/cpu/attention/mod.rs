//! Attention over the pages of each resident.
//!
//! Keys are taken in *chunks* of [`CHUNK`] at absolute multiples. A chunk gives a *partial*: the largest score, the sum of
//! exponentials, and the weighted sum of values (Milakov & Gimelshein 2018); partials of a query are merged in order of position.
//! That order holds whether one task walks through all chunks (prefill) or each chunk is a task of its own (FlashDecoding, Dao et al.
//! 2023), so a row's bits depend on its sequence alone: not on its neighbours, its chunking into steps, or the number of threads.
//!
//! `plan` splits a step into tasks, `kernel` does one of them.

mod kernel;
mod plan;

pub(super) use kernel::{Extent, MergeKernel, TaskKernel};
pub(super) use plan::{Part, Plan, QueryRows};

use super::kv::KvPool;
use crate::backend::PageTable;

/// Keys of a partial.
pub(super) const CHUNK: usize = 256;

/// Queries (rows times heads of a group) that a task works on together, as long as one row has no more.
pub(super) const QUERIES: usize = 24;

/// One layer's attention, compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    /// `head_dim` rounded up to whole blocks of values.
    pub value_width: usize,
    pub scale: f32,
    pub softcap: Option<f32>,
    pub window: Option<usize>,
}

impl Shape {
    /// Query heads that share a KV head.
    pub(super) fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// First position that a query at `position` reads.
    pub(super) fn first_key(&self, position: usize) -> usize {
        self.window.map_or(0, |window| (position + 1).saturating_sub(window))
    }

    /// Rows of a span that a task takes together.
    pub(super) fn rows_per_block(&self) -> usize {
        (QUERIES / self.group()).max(1)
    }

    fn max_queries(&self) -> usize {
        self.rows_per_block() * self.group()
    }

    /// f32 that a thread needs for a task.
    pub(super) fn scratch_floats(&self) -> usize {
        let n = self.max_queries();
        (n * self.head_dim).next_multiple_of(16) + n * CHUNK + 2 * n * partial_floats(self.value_width)
    }
}

/// f32 of one query's partial: the weighted sum of values, then the largest score and the sum, padded to a cache line.
pub(super) const fn partial_floats(value_width: usize) -> usize {
    value_width + 16
}

/// Where a layer's keys and values lie for this step.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub pool: &'a KvPool,
    pub layer: usize,
    pub table: PageTable<'a>,
}
