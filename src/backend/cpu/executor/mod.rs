//! The executor: a program compiled to stages, with its KV pools, buffers and sampler.
//!
//! `stages` fuses what `compile::lower` makes of the program, `batch` lays out a step, `run` runs it on the pool. After creation a step allocates nothing.

mod batch;
mod run;
mod stages;

use std::sync::Arc;

use super::attention::{Plan, Shape};
use super::kv::{BLOCK, KvPool};
use super::linear::{Level, PackedMatrix};
use super::memory::LazyBytes;
use super::pool::Pool;
use super::rope::Ropes;
use super::sampling::Sampler;
use super::{PackedVector, unpack};
use crate::backend::compile::lower::{self, Shapes};
use crate::backend::compile::{arena, check};
use crate::backend::{
    Executor, ExecutorLimits, MemoryUse, Op, Packed, Program, RopeId, RopeTable, SampleRow, Sampled, StepBatch,
};
use crate::error::{Error, Result};
use batch::StepRows;
use stages::{BufferSpec, Stages};

pub(super) struct CpuExecutor {
    pool: Arc<Pool>,
    level: Level,
    program: Arc<Program>,
    limits: ExecutorLimits,
    weights: Vec<Arc<PackedMatrix>>,
    vectors: Vec<Arc<PackedVector>>,
    /// What the last step ran.
    compiled: Compiled,
    /// The one for steps without taps while steps with taps run, and the last one with taps otherwise.
    other: Option<Compiled>,
    kv: Vec<KvPool>,
    ropes: Ropes,
    rows: StepRows,
    /// Rows of the smallest table that tokens are looked up in.
    tokens: usize,
    logits: LazyBytes,
    /// f32 from one row of logits to the next.
    logits_stride: usize,
    sampler: Sampler,
}

/// The program compiled for steps that ask for certain taps, with the memory such a step needs.
struct Compiled {
    layers: Vec<u32>,
    stages: Stages,
    /// Where each buffer begins in the arena.
    offsets: Vec<usize>,
    arena: LazyBytes,
    /// A thread's part of `thread_memory`.
    thread_bytes: usize,
    thread_memory: LazyBytes,
    /// Partials of split attention, shared by all plans: each is merged before the next is made.
    partials: LazyBytes,
    plans: Vec<Plan>,
}

impl Compiled {
    fn new(
        program: &Program,
        weights: &[Arc<PackedMatrix>],
        vectors: &[Arc<PackedVector>],
        limits: &ExecutorLimits,
        threads: usize,
        layers: &[u32],
    ) -> Result<Self> {
        let shapes = Shapes {
            weights: weights.iter().map(|w| (w.rows(), w.cols())).collect(),
            vectors: vectors.iter().map(|v| v.len()).collect(),
        };
        let lowered = lower::lower(program, &shapes, layers)?;
        let stages = stages::form(program, &lowered, weights);
        let too_large = || too_large("step buffers", limits);
        let buffers = stages.sized(limits.max_rows, limits.max_outputs).ok_or_else(too_large)?;
        let (offsets, arena_bytes) = arena::place(&buffers).ok_or_else(too_large)?;
        let arena = LazyBytes::zeroed(arena_bytes, "step buffers")?;
        arena.expect_use();

        let keys = limits.pages_per_seat * limits.page_tokens;
        let (mut plans, mut partial_floats, mut scratch_floats) = (Vec::with_capacity(stages.plans.len()), 0, 0);
        for spec in &stages.plans {
            let rows = match spec.class {
                crate::backend::RowClass::Tokens => limits.max_rows,
                crate::backend::RowClass::Outputs => limits.max_outputs,
            };
            let reach = spec.shape.window.map_or(keys, |window| keys.min(window + 1));
            let capacity = Plan::partials_for(&spec.shape, reach, rows, threads);
            partial_floats = partial_floats.max(capacity);
            scratch_floats = scratch_floats.max(Shape::scratch_floats(&spec.shape));
            plans.push(Plan::new(spec.shape, rows, threads, capacity));
        }
        let thread_bytes = (scratch_floats * 4).next_multiple_of(4096);
        let thread_memory = LazyBytes::zeroed(thread_bytes * threads, "scratch of the threads")?;
        let partials = LazyBytes::zeroed(partial_floats * 4, "partial attention results")?;
        Ok(Compiled { layers: layers.to_vec(), stages, offsets, arena, thread_bytes, thread_memory, partials, plans })
    }
}

fn too_large(what: &str, limits: &ExecutorLimits) -> Error {
    Error::out_of_memory(format!("{what} for {} rows: their size overflows", limits.max_rows))
}

impl CpuExecutor {
    pub(super) fn new(
        pool: Arc<Pool>,
        level: Level,
        program: Arc<Program>,
        weights: &[Packed],
        vectors: &[Packed],
        limits: &ExecutorLimits,
    ) -> Result<Self> {
        check_limits(&program, limits)?;
        let weights = unpack::<PackedMatrix>(weights, "weight")?;
        let vectors = unpack::<PackedVector>(vectors, "vector")?;
        let compiled = Compiled::new(&program, &weights, &vectors, limits, pool.threads(), &[])?;
        let logits_stride = program.vocab.next_multiple_of(16);
        let logits_bytes = logits_stride.checked_mul(4 * limits.max_outputs).ok_or_else(|| too_large("logits", limits))?;
        let logits = LazyBytes::zeroed(logits_bytes, "logits")?;
        let mut kv = Vec::with_capacity(program.kv_groups.len());
        for (index, group) in program.kv_groups.iter().enumerate() {
            kv.push(KvPool::new(index, group, limits.group_pages[index], limits.page_tokens, limits.kv_type)?);
        }
        let tables = program.ops.iter().filter_map(|op| match op {
            Op::Embed { table, .. } => Some(weights[table.0 as usize].rows()),
            _ => None,
        });
        Ok(CpuExecutor {
            tokens: tables.min().unwrap_or(usize::MAX),
            ropes: Ropes::new(&program.ropes, limits.seats),
            rows: StepRows::new(limits),
            sampler: Sampler::new(program.vocab, limits.sampled_vocab, pool.threads(), level)?,
            limits: limits.clone(),
            pool,
            level,
            program,
            weights,
            vectors,
            compiled,
            other: None,
            kv,
            logits,
            logits_stride,
        })
    }

    /// Makes `compiled` the one for these taps.
    fn compile_for(&mut self, layers: &[u32]) -> Result<()> {
        if self.compiled.layers == layers {
            return Ok(());
        }
        if self.other.as_ref().is_none_or(|other| other.layers != layers) {
            let threads = self.pool.threads();
            let made = Compiled::new(&self.program, &self.weights, &self.vectors, &self.limits, threads, layers)?;
            if self.compiled.layers.is_empty() {
                self.other = Some(made);
            } else {
                // The one without taps, which all steps but a few run, is `other` and stays.
                self.compiled = made;
                return Ok(());
            }
        }
        if let Some(other) = &mut self.other {
            std::mem::swap(&mut self.compiled, other);
        }
        Ok(())
    }

    fn buffer(&self, id: usize) -> (*mut u8, &BufferSpec) {
        // SAFETY: the arena was sized for all buffers at their offsets.
        (unsafe { self.compiled.arena.start().add(self.compiled.offsets[id]) }, &self.compiled.stages.buffers[id])
    }
}

fn check_limits(program: &Program, limits: &ExecutorLimits) -> Result<()> {
    if limits.page_tokens == 0 || !limits.page_tokens.is_multiple_of(BLOCK) {
        return Err(Error::invalid(format!("pages of {} tokens, expected a multiple of {BLOCK}", limits.page_tokens)));
    }
    if limits.group_pages.len() != program.kv_groups.len() {
        return Err(Error::invalid(format!("{} page counts, expected {}", limits.group_pages.len(), program.kv_groups.len())));
    }
    let positions = limits.pages_per_seat.checked_mul(limits.page_tokens);
    if positions.is_none_or(|n| n > i32::MAX as usize) || limits.max_rows > i32::MAX as usize {
        return Err(Error::invalid(format!(
            "{} pages of {} tokens per sequence and {} rows, expected fewer than 2^31 positions and rows",
            limits.pages_per_seat, limits.page_tokens, limits.max_rows
        )));
    }
    Ok(())
}

impl Executor for CpuExecutor {
    fn forward(&mut self, batch: &StepBatch<'_>) -> Result<()> {
        // The logits of the last step are gone whatever comes of this one.
        self.rows.outputs = 0;
        check::check(batch, &self.program, &self.limits, self.tokens)?;
        self.compile_for(batch.taps)?;
        self.run(batch).inspect_err(|_| self.rows.outputs = 0)
    }

    fn sample(&mut self, rows: &[SampleRow<'_>], out: &mut [Sampled]) -> Result<()> {
        if rows.len() != out.len() {
            return Err(Error::invalid(format!("{} results for {} rows to sample", out.len(), rows.len())));
        }
        if let Some(row) = rows.iter().find(|row| row.output as usize >= self.rows.outputs) {
            return Err(Error::invalid(format!("output {} of a step with {}", row.output, self.rows.outputs)));
        }
        // SAFETY: the last forward has written these rows of logits, and `&mut self` keeps everybody else away.
        unsafe { self.sampler.sample(&self.pool, self.logits.start().cast(), self.logits_stride, rows, out) }
    }

    fn read_logits(&mut self, output: usize, into: &mut [f32]) -> Result<()> {
        if output >= self.rows.outputs || into.len() != self.program.vocab {
            return Err(Error::invalid(format!(
                "{} logits of output {output}, expected {} of an output below {}",
                into.len(),
                self.program.vocab,
                self.rows.outputs
            )));
        }
        // SAFETY: a row of logits that the last forward has written.
        let row = unsafe {
            std::slice::from_raw_parts(self.logits.start().cast::<f32>().add(output * self.logits_stride), self.program.vocab)
        };
        into.copy_from_slice(row);
        Ok(())
    }

    fn has_taps(&self) -> bool {
        true
    }

    fn read_tap(&mut self, layer: u32, first_row: usize, into: &mut [f32]) -> Result<()> {
        let tapped = self.compiled.stages.taps.iter().find(|(tapped, _)| *tapped == layer);
        let Some(&(_, buffer)) = tapped else {
            return Err(Error::invalid(format!("hidden states of layer {layer}: the last step did not ask for them")));
        };
        let width = self.compiled.stages.buffers[buffer].width;
        let rows = into.len() / width;
        if !into.len().is_multiple_of(width) || first_row + rows > self.rows.rows {
            return Err(Error::invalid(format!(
                "{} values from row {first_row} on, expected rows of {width} within the step's {}",
                into.len(),
                self.rows.rows
            )));
        }
        for (row, into) in (first_row..).zip(into.chunks_exact_mut(width)) {
            let (start, spec) = self.buffer(buffer);
            // SAFETY: a row of the last step, which nobody writes now.
            into.copy_from_slice(unsafe { std::slice::from_raw_parts(start.add(row * spec.row_bytes).cast::<f32>(), width) });
        }
        Ok(())
    }

    fn set_rope(&mut self, rope: RopeId, seat: u32, table: Option<&RopeTable>) -> Result<()> {
        self.ropes.set(rope.0 as usize, seat as usize, table)
    }

    fn memory(&self) -> MemoryUse {
        let compiled = std::iter::once(&self.compiled).chain(&self.other);
        let memory = compiled.flat_map(|c| [&c.arena, &c.thread_memory, &c.partials]).chain([&self.logits]);
        let scratch = memory.map(|m| m.len() as u64).sum();
        MemoryUse { kv: self.kv.iter().map(|kv| kv.bytes() as u64).sum(), scratch }
    }
}
