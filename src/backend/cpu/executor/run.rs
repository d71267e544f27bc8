//! Runs the stages of a step on the pool.
//!
//! All members walk through the same list of stages; a barrier follows each. Work on few rows is not worth a barrier of its own: the
//! last member to arrive at the one before does it while the others wait.

use std::ops::Range;

use super::super::attention::{Extent, Keys, MergeKernel, Part, TaskKernel};
use super::super::kv::KvPool;
use super::super::linear::{ActFormat, ActRows, OutRows, PackedMatrix, Store, quantize_row};
use super::super::pool::{Abandoned, FpEnv, Member};
use super::super::rows::{self, RowKernel};
use super::super::simd::{Kernel, Vector, dispatch};
use super::CpuExecutor;
use super::stages::{Acts, BufferId, RowOp, Stage};
use crate::backend::{AttentionLayer, RowClass, StepBatch};
use crate::error::Result;

/// Elements that one member touches alone sooner than all would through a barrier.
const ALONE: usize = 8192;

/// Shares a member takes of a product: more of them balance better, fewer cost less.
const SHARES: usize = 4;

/// A step under way. Members write disjoint rows and tiles of the executor's memory; barriers order what they read of each other's.
struct Step<'a> {
    executor: &'a CpuExecutor,
    batch: &'a StepBatch<'a>,
}

impl CpuExecutor {
    /// Runs a batch that was checked.
    pub(super) fn run(&mut self, batch: &StepBatch<'_>) -> Result<()> {
        self.rows.fill(batch);
        for (plan, spec) in self.compiled.plans.iter_mut().zip(&self.compiled.stages.plans) {
            let (positions, spans) = self.rows.queries(spec.class);
            plan.build(spans.iter().copied(), positions);
        }
        let step = Step { executor: self, batch };
        let stages = &self.compiled.stages.stages;
        let _env = FpEnv::enter();
        let first = step.light_end(0);
        for stage in &stages[..first] {
            step.alone(stage);
        }
        self.pool.run(&|member| {
            let mut at = first;
            while at < stages.len() {
                if step.rows(&stages[at]) == 0 {
                    at += 1;
                    continue;
                }
                step.together(&stages[at], member);
                let next = step.light_end(at + 1);
                if next == stages.len() && next == at + 1 {
                    break;
                }
                member.meet(|| stages[at + 1..next].iter().for_each(|stage| step.alone(stage)))?;
                at = next;
            }
            Ok::<(), Abandoned>(())
        })
    }
}

impl Step<'_> {
    /// The first stage from `at` on that is not done alone.
    fn light_end(&self, at: usize) -> usize {
        let stages = &self.executor.compiled.stages.stages;
        let is_light = |stage: &Stage| match stage {
            Stage::Rows { cost, .. } => self.rows(stage) * cost <= ALONE,
            _ => self.rows(stage) == 0,
        };
        at + stages[at..].iter().take_while(|stage| is_light(stage)).count()
    }

    fn rows(&self, stage: &Stage) -> usize {
        self.executor.rows.count(match stage {
            Stage::Rows { class, .. } | Stage::Linear { class, .. } | Stage::Attention { class, .. } => *class,
            Stage::Logits { .. } => RowClass::Outputs,
        })
    }

    fn alone(&self, stage: &Stage) {
        if let Stage::Rows { ops, .. } = stage {
            self.row_ops(ops, 0..self.rows(stage));
        }
    }

    fn together(&self, stage: &Stage, member: &Member<'_>) {
        let executor = self.executor;
        let count = self.rows(stage);
        match stage {
            Stage::Rows { ops, .. } => self.row_ops(ops, member.share(count)),
            Stage::Linear { x, weight, bias, out, store, .. } => {
                let weight = &*executor.weights[*weight];
                let bias = bias.map(|bias| &executor.vectors[bias].0[..]);
                let (start, spec) = executor.buffer(*out);
                let out = OutRows { start: start.cast(), stride: spec.row_bytes / 4, store: *store };
                self.product(weight, x, count, out, bias, member, |_| ());
            }
            Stage::Logits { x, weight, softcap } => {
                let weight = &*executor.weights[*weight];
                let start = executor.logits.start().cast::<f32>();
                let stride = executor.logits_stride;
                self.product(weight, x, count, OutRows { start, stride, store: Store::Write }, None, member, |columns| {
                    let Some(cap) = *softcap else { return };
                    for row in 0..count {
                        // SAFETY: the columns this member has just written.
                        unsafe {
                            let x = start.add(row * stride + columns.start);
                            dispatch(executor.level, RowKernel::Softcap { x, cap, n: columns.len() });
                        }
                    }
                });
            }
            Stage::Attention { plan, attention, qkv, out, .. } => self.attention(*plan, attention, *qkv, *out, member),
        }
    }

    /// This member's shares of a product. `then` is called with the columns of each.
    #[allow(clippy::too_many_arguments)]
    fn product(
        &self,
        weight: &PackedMatrix,
        x: &Acts,
        count: usize,
        out: OutRows,
        bias: Option<&[f32]>,
        member: &Member<'_>,
        then: impl Fn(Range<usize>),
    ) {
        let acts = self.acts(x, count);
        let (tiles, grain) = (weight.tiles(), weight.grain().max(1));
        let share = tiles.div_ceil(member.count * SHARES).next_multiple_of(grain);
        while let Some(range) = member.claim(tiles, share) {
            // SAFETY: `out` has a row of the weight's rows for each activation row, and these tiles are this member's.
            unsafe { weight.matmul(&acts, range.clone(), out, bias) };
            then(weight.rows_of(range));
        }
    }

    fn acts(&self, x: &Acts, count: usize) -> ActRows<'_> {
        let mut acts = ActRows::new(count, x.cols);
        for (format, buffer) in [(ActFormat::F32, Some(x.f32)), (ActFormat::Bf16, x.bf16), (ActFormat::Q8, x.q8)] {
            if let Some(buffer) = buffer {
                let (start, spec) = self.executor.buffer(buffer);
                // SAFETY: the buffer has this many rows, written before the last barrier and left alone until the next.
                let bytes = unsafe { std::slice::from_raw_parts(start, spec.row_bytes * count) };
                acts = acts.with(format, bytes, spec.row_bytes);
            }
        }
        acts
    }

    fn attention(&self, plan: usize, attention: &AttentionLayer, qkv: BufferId, out: BufferId, member: &Member<'_>) {
        let executor = self.executor;
        let plan = &executor.compiled.plans[plan];
        let keys =
            Keys { pool: &executor.kv[attention.group], layer: attention.layer, table: self.batch.page_tables[attention.group] };
        let (out_class, out_stride) =
            (executor.compiled.stages.buffers[out].class, executor.compiled.stages.buffers[out].row_bytes / 4);
        let (positions, _) = executor.rows.queries(out_class);
        let query_stride = executor.compiled.stages.buffers[qkv].row_bytes / 4;
        // SAFETY: a member's own part of the memory.
        let scratch =
            unsafe { executor.compiled.thread_memory.start().add(member.index * executor.compiled.thread_bytes).cast() };
        while let Some(range) = member.claim(plan.tasks(), 1) {
            let work = plan.task(range.start);
            let extent = match work.part {
                Part::All => Extent::All { out: self.row(out, work.rows.0), out_stride },
                Part::Chunk { index, partials } => {
                    // SAFETY: the plan stays within the memory of partials.
                    Extent::Chunk { index, partials: unsafe { executor.compiled.partials.start().cast::<f32>().add(partials) } }
                }
            };
            let task = TaskKernel {
                shape: plan.shape(),
                keys,
                seat: work.seat,
                kv_head: work.kv_head,
                positions: &positions[work.rows.0..work.rows.1],
                queries: self.row(qkv, work.rows.0),
                query_stride,
                extent,
                scratch,
            };
            // SAFETY: pages were checked, rows lie in their buffers, and no other task writes this one's results.
            unsafe { dispatch(executor.level, task) };
        }
    }

    /// A row of a buffer of f32.
    fn row(&self, buffer: BufferId, row: usize) -> *mut f32 {
        let (start, spec) = self.executor.buffer(buffer);
        // SAFETY: rows are below those the buffer was sized for.
        unsafe { start.add(row * spec.row_bytes).cast() }
    }

    /// # Safety
    /// Nobody writes the row meanwhile.
    unsafe fn row_values(&self, buffer: BufferId, row: usize) -> &[f32] {
        std::slice::from_raw_parts(self.row(buffer, row), self.executor.compiled.stages.buffers[buffer].width)
    }

    /// # Safety
    /// Nobody else accesses the row meanwhile.
    #[allow(clippy::mut_from_ref)]
    unsafe fn row_values_mut(&self, buffer: BufferId, row: usize) -> &mut [f32] {
        std::slice::from_raw_parts_mut(self.row(buffer, row), self.executor.compiled.stages.buffers[buffer].width)
    }

    fn row_ops(&self, ops: &Range<usize>, rows: Range<usize>) {
        for row in rows {
            for op in &self.executor.compiled.stages.ops[ops.clone()] {
                // SAFETY: the rows of a stage are shared out between members, so this member alone touches this one.
                unsafe { self.row_op(op, row) };
            }
        }
    }

    /// # Safety
    /// No other member works on this row.
    unsafe fn row_op(&self, op: &RowOp, row: usize) {
        let executor = self.executor;
        let level = executor.level;
        let width = |buffer: BufferId| executor.compiled.stages.buffers[buffer].width;
        match *op {
            RowOp::Angles { rope, out } => {
                let seat = executor.rows.seats[row] as usize;
                executor.ropes.angles(rope, seat, self.batch.positions[row][0], self.row_values_mut(out, row));
            }
            RowOp::Embed { table, scale, out } => {
                executor.weights[table].gather_row(self.batch.tokens[row] as usize, self.row_values_mut(out, row));
                if scale != 1.0 {
                    dispatch(level, RowKernel::Scale { x: self.row(out, row), by: scale, n: width(out) });
                }
            }
            RowOp::Norm { x, weight, eps, out } => {
                let weight = executor.vectors[weight].0.as_ptr();
                dispatch(level, RowKernel::Norm { x: self.row(x, row), weight, eps, out: self.row(out, row), n: width(out) });
            }
            RowOp::Add { x, into } => {
                dispatch(level, RowKernel::Add { x: self.row(x, row), into: self.row(into, row), n: width(into) });
            }
            RowOp::RopeKv { qkv, angles, attention, q_norm, k_norm } => {
                let norm = |norm: Option<crate::backend::HeadNorm>| {
                    norm.map(|n| (executor.vectors[n.weight.0 as usize].0.as_ptr(), n.eps))
                };
                let pool = &executor.kv[attention.group];
                let (seat, position) = (executor.rows.seats[row] as usize, executor.rows.positions[row] as usize);
                let table = self.batch.page_tables[attention.group];
                let page = table.pages[seat * table.stride + position / pool.page_tokens] as usize;
                let kernel = RopeKv {
                    qkv: self.row(qkv, row),
                    angles: self.row(angles, row),
                    half: width(angles) / 2,
                    attention: &attention,
                    q_norm: norm(q_norm),
                    k_norm: norm(k_norm),
                    pool,
                    page,
                    slot: position % pool.page_tokens,
                };
                dispatch(level, kernel);
            }
            RowOp::Merge { plan, out } => {
                let plan = &executor.compiled.plans[plan];
                if !plan.is_split() {
                    return;
                }
                let shape = plan.shape();
                for head in 0..shape.heads {
                    let Some(merge) = plan.merge(row, head) else { return };
                    let kernel = MergeKernel {
                        partials: executor.compiled.partials.start().cast::<f32>().add(merge.first),
                        stride: merge.stride,
                        chunks: merge.chunks,
                        value_width: shape.value_width,
                        out: self.row(out, row).add(head * shape.head_dim),
                        head_dim: shape.head_dim,
                    };
                    dispatch(level, kernel);
                }
            }
            RowOp::Gated { gate_up, act, out } => {
                let (gate, n) = (self.row(gate_up, row), width(out));
                dispatch(level, RowKernel::Gated { act, gate, up: gate.add(n), out: self.row(out, row), n });
            }
            RowOp::Gather { x, out } => {
                let from = self.row_values(x, executor.rows.output_rows[row] as usize);
                self.row_values_mut(out, row).copy_from_slice(from);
            }
            RowOp::Copy { x, out } => self.row_values_mut(out, row).copy_from_slice(self.row_values(x, row)),
            RowOp::Convert { x, format, out } => {
                let (start, spec) = executor.buffer(out);
                let bytes = std::slice::from_raw_parts_mut(start.add(row * spec.row_bytes), spec.row_bytes);
                quantize_row(level, format, self.row_values(x, row), bytes);
            }
        }
    }
}

/// Norms and rotates the heads of one row and writes its keys and values to the page of its position.
struct RopeKv<'a> {
    qkv: *mut f32,
    angles: *const f32,
    half: usize,
    attention: &'a AttentionLayer,
    q_norm: Option<(*const f32, f32)>,
    k_norm: Option<(*const f32, f32)>,
    pool: &'a KvPool,
    page: usize,
    /// Token of the page.
    slot: usize,
}

impl Kernel for RopeKv<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let AttentionLayer { heads, kv_heads, head_dim, layer, .. } = *self.attention;
        for head in 0..heads + kv_heads {
            let x = self.qkv.add(head * head_dim);
            let norm = if head < heads { self.q_norm } else { self.k_norm };
            if let Some((weight, eps)) = norm {
                rows::rms_norm::<V>(x, weight, eps, x, head_dim);
            }
            rows::rotate::<V>(x, self.angles, self.half);
        }
        let keys = self.qkv.add(heads * head_dim);
        let values = keys.add(kv_heads * head_dim);
        for head in 0..kv_heads {
            self.pool.write::<V>(layer, self.page, head, self.slot, keys.add(head * head_dim), values.add(head * head_dim));
        }
    }
}
