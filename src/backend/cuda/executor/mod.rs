//! The executor: a program compiled to launches, with its KV pools, buffers, sampler and captured graphs.
//!
//! `fuse` turns instructions into nodes, `inputs` brings a step's lists to the device, `run` launches. After creation a forward pass
//! allocates nothing; it returns once it is in the stream, and `sample` waits.

mod fuse;
mod inputs;
mod run;

use std::collections::HashMap;
use std::sync::Arc;

use super::cublas::CublasLt;
use super::driver::{self, CUdeviceptr, CUstream, Device, DeviceBytes, Event, Graph, Stream};
use super::kernels::{Kernels, Number};
use super::sampling::Sampler;
use super::weights::{Matrix, Vector};
use crate::backend::compile::arena::{self, Buffer};
use crate::backend::compile::check;
use crate::backend::compile::lower::{self, Instr, Shapes, Value};
use crate::backend::{
    Executor, ExecutorLimits, KvGroup, MemoryUse, Op, Packed, Program, RopeId, RopeTable, RowClass, SampleRow, Sampled, StepBatch,
};
use crate::error::{Error, Result};
use crate::weights::StoredType;
use inputs::{Inputs, Shape, bucket};
use run::{Launches, Options};

/// Widest head that kernels hold in registers.
const MOST_HEAD_DIM: usize = 512;

pub(super) struct CudaExecutor {
    device: Arc<Device>,
    /// The executor's own; steps go to it.
    stream: Stream,
    /// What was on the host's stream when it called.
    host: Event,
    program: Arc<Program>,
    limits: ExecutorLimits,
    model: Model,
    inputs: Inputs,
    launches: Launches,
    graphs: HashMap<Shape, Graph>,
    sampler: Sampler,
    /// Rows of the smallest table that tokens are looked up in.
    tokens: usize,
    outputs: usize,
}

/// Everything launches point to.
struct Model {
    weights: Vec<Arc<Matrix>>,
    vectors: Vec<Arc<Vector>>,
    values: Vec<Value>,
    numbers: Vec<Number>,
    offsets: Vec<usize>,
    arena: DeviceBytes,
    pools: Vec<Pool>,
    ropes: Vec<Rope>,
    logits: DeviceBytes,
    /// f32 from one row of logits to the next.
    logits_stride: usize,
    vocab: usize,
    page_tokens: usize,
}

/// Keys and then values of a group, each `[layer][page][kv_head][page_tokens][head_dim]`.
struct Pool {
    memory: DeviceBytes,
    layers: usize,
    layer_bytes: usize,
    head_dim: usize,
}

impl Pool {
    fn keys(&self, layer: usize) -> CUdeviceptr {
        self.memory.at(layer * self.layer_bytes)
    }

    fn values(&self, layer: usize) -> CUdeviceptr {
        self.memory.at((self.layers + layer) * self.layer_bytes)
    }
}

/// A rotary table for each seat, `[seats][half + 1]` with the factor last, and the cosines and sines of a step's rows.
struct Rope {
    half: usize,
    tables: DeviceBytes,
    angles: DeviceBytes,
}

impl CudaExecutor {
    pub(super) fn new(
        device: &Arc<Device>,
        kernels: &Arc<Kernels>,
        program: Arc<Program>,
        weights: &[Packed],
        vectors: &[Packed],
        limits: &ExecutorLimits,
        batch_invariant: bool,
    ) -> Result<Self> {
        check_limits(&program, limits)?;
        let weights = unpack::<Matrix>(weights, "weight")?;
        let vectors = unpack::<Vector>(vectors, "vector")?;
        let shapes = Shapes {
            weights: weights.iter().map(|w| (w.rows, w.cols)).collect(),
            vectors: vectors.iter().map(|v| v.len).collect(),
        };
        let lowered = lower::lower(&program, &shapes, &[])?;
        let number = number_of(&lowered.instrs, &weights);
        let fused = fuse::form(&lowered, number, |weight| run::has_gated_product(&weights[weight], number))?;

        let decode = bucket(limits.seats.min(limits.max_rows).min(limits.max_outputs));
        let (rows, outputs) = (limits.max_rows.max(decode), limits.max_outputs.max(decode));
        let too_large = |what: &str| Error::out_of_memory(format!("{what} for {rows} rows: their size overflows"));
        let sized = lowered.values.iter().zip(&fused.numbers).zip(&fused.lives).map(|((value, number), &(first, last))| {
            let rows = if value.class == RowClass::Tokens { rows } else { outputs };
            Some(Buffer { bytes: value.width.checked_mul(number.bytes())?.checked_mul(rows)?, first, last })
        });
        let buffers = sized.collect::<Option<Vec<_>>>().ok_or_else(|| too_large("step buffers"))?;
        let (offsets, arena_bytes) = arena::place(&buffers).ok_or_else(|| too_large("step buffers"))?;

        let stream = Stream::new(device)?;
        let arena = DeviceBytes::zeroed(device, &stream, arena_bytes, "step buffers")?;
        let logits_stride = program.vocab.next_multiple_of(32);
        let logits_bytes = logits_stride.checked_mul(4 * outputs).ok_or_else(|| too_large("logits"))?;
        let logits = DeviceBytes::zeroed(device, &stream, logits_bytes, "logits")?;
        let pools = program.kv_groups.iter().enumerate();
        let pools = pools.map(|(index, group)| pool(device, &stream, index, group, limits)).collect::<Result<Vec<_>>>()?;
        let ropes = program.ropes.iter().map(|table| rope(device, table, limits.seats, rows, &stream)).collect::<Result<_>>()?;
        let inputs = Inputs::new(device, limits, rows, outputs, program.kv_groups.len())?;
        let sampler = Sampler::new(device, kernels, program.vocab, logits_stride, limits.sampled_vocab)?;
        let tables = program.ops.iter().filter_map(|op| match op {
            Op::Embed { table, .. } => Some(weights[table.0 as usize].rows),
            _ => None,
        });
        let tokens = tables.min().unwrap_or(usize::MAX);
        let model = Model {
            weights,
            vectors,
            values: lowered.values,
            numbers: fused.numbers,
            offsets,
            arena,
            pools,
            ropes,
            logits,
            logits_stride,
            vocab: program.vocab,
            page_tokens: limits.page_tokens,
        };
        let cublas = if batch_invariant || number == Number::F32 { None } else { CublasLt::new(device)? };
        let options = Options { number, kv: limits.kv_type, batch_invariant };
        let launches = Launches::new(device, kernels, fused.nodes, &model, options, cublas)?;
        stream.synchronize()?;
        Ok(CudaExecutor {
            device: device.clone(),
            stream,
            host: Event::new(device)?,
            program,
            limits: limits.clone(),
            model,
            inputs,
            launches,
            graphs: HashMap::new(),
            sampler,
            tokens,
            outputs: 0,
        })
    }

    /// Where work is ordered.
    fn stream(&self) -> CUstream {
        self.stream.raw()
    }

    fn run(&mut self, batch: &StepBatch<'_>) -> Result<()> {
        let shape = Shape::of(batch, &self.limits);
        if shape.rows == 0 {
            return Ok(());
        }
        let _current = self.device.current()?;
        self.inputs.send(batch, shape, self.limits.page_tokens, self.stream.raw())?;
        match self.graphs.get(&shape) {
            Some(graph) => graph.launch(self.stream())?,
            None => self.launches.run(&self.model, &self.inputs, shape, self.stream())?,
        }
        self.outputs = batch.outputs.len();
        Ok(())
    }
}

/// Branches are bf16 as soon as a product's weight is bf16 or quantised.
fn number_of(instrs: &[Instr], weights: &[Arc<Matrix>]) -> Number {
    let exact = |index: usize| weights[index].segments.iter().all(|s| matches!(s.ty, StoredType::F32 | StoredType::F16));
    let is_exact = instrs.iter().all(|instr| match *instr {
        Instr::Linear { weight, .. } | Instr::Logits { weight, .. } => exact(weight),
        _ => true,
    });
    if is_exact { Number::F32 } else { Number::BF16 }
}

fn check_limits(program: &Program, limits: &ExecutorLimits) -> Result<()> {
    if limits.page_tokens == 0 || !limits.page_tokens.is_multiple_of(16) {
        return Err(Error::invalid(format!("pages of {} tokens, expected a multiple of 16", limits.page_tokens)));
    }
    if limits.group_pages.len() != program.kv_groups.len() {
        return Err(Error::invalid(format!("{} page counts, expected {}", limits.group_pages.len(), program.kv_groups.len())));
    }
    let positions = limits.pages_per_seat.checked_mul(limits.page_tokens);
    if positions.is_none_or(|n| n > i32::MAX as usize) || limits.max_rows > u16::MAX as usize || limits.seats == 0 {
        return Err(Error::invalid(format!(
            "{} seats, {} pages of {} tokens per sequence and {} rows, expected a seat, fewer than 2^31 positions and 2^16 rows",
            limits.seats, limits.pages_per_seat, limits.page_tokens, limits.max_rows
        )));
    }
    if let Some(group) = program.kv_groups.iter().find(|group| group.head_dim > MOST_HEAD_DIM) {
        return Err(Error::unsupported(format!("heads of {} on CUDA, expected at most {MOST_HEAD_DIM}", group.head_dim)));
    }
    Ok(())
}

/// The packed values as `T`. Errors: INVALID_ARGUMENT where another backend packed one.
fn unpack<T: std::any::Any + Send + Sync>(packed: &[Packed], what: &str) -> Result<Vec<Arc<T>>> {
    let one = |(index, packed): (usize, &Packed)| {
        let shared = packed.data.clone().downcast::<T>();
        shared.map_err(|_| Error::invalid(format!("{what} {index} was packed by another backend")))
    };
    packed.iter().enumerate().map(one).collect()
}

fn pool(device: &Arc<Device>, stream: &Stream, index: usize, group: &KvGroup, limits: &ExecutorLimits) -> Result<Pool> {
    let pages = limits.group_pages[index];
    let what =
        format!("keys and values of group {index} ({} layers, {pages} pages of {} tokens)", group.layers, limits.page_tokens);
    let sizes = [pages, group.kv_heads, limits.page_tokens, group.head_dim];
    let layer_bytes = sizes.into_iter().try_fold(limits.kv_type.bytes(), usize::checked_mul);
    let bytes = layer_bytes.and_then(|bytes| bytes.checked_mul(2 * group.layers));
    let bytes = bytes.ok_or_else(|| Error::out_of_memory(format!("{what}: their size overflows")))?;
    // Zeroed: kernels read whole tiles of a page and multiply what lies past the end by a weight of zero.
    let memory = DeviceBytes::zeroed(device, stream, bytes, &what)?;
    Ok(Pool { memory, layers: group.layers, layer_bytes: layer_bytes.unwrap_or(0), head_dim: group.head_dim })
}

fn rope(device: &Arc<Device>, table: &RopeTable, seats: usize, rows: usize, stream: &Stream) -> Result<Rope> {
    let half = table.inv_freq.len();
    let tables = DeviceBytes::new(device, seats * (half + 1) * 4, "rotary tables")?;
    let angles = DeviceBytes::new(device, rows * 2 * half * 4, "rotary angles")?;
    let all = rope_bytes(table).repeat(seats);
    let _current = device.current()?;
    // SAFETY: the range was allocated for these bytes; ordinary memory has been read when the call returns.
    unsafe { driver::upload(tables.start(), &all, stream.raw())? };
    stream.synchronize()?;
    Ok(Rope { half, tables, angles })
}

fn rope_bytes(table: &RopeTable) -> Vec<u8> {
    table.inv_freq.iter().chain([&table.factor]).flat_map(|v| v.to_le_bytes()).collect()
}

impl Executor for CudaExecutor {
    fn forward(&mut self, batch: &StepBatch<'_>) -> Result<()> {
        // The logits of the last step are gone whatever comes of this one.
        self.outputs = 0;
        check::check(batch, &self.program, &self.limits, self.tokens)?;
        self.run(batch)
    }

    fn sample(&mut self, rows: &[SampleRow<'_>], out: &mut [Sampled]) -> Result<()> {
        if rows.len() != out.len() {
            return Err(Error::invalid(format!("{} results for {} rows to sample", out.len(), rows.len())));
        }
        if let Some(row) = rows.iter().find(|row| row.output as usize >= self.outputs) {
            return Err(Error::invalid(format!("output {} of a step with {}", row.output, self.outputs)));
        }
        self.sampler.sample(&self.stream, self.model.logits.start(), rows, out)
    }

    fn read_logits(&mut self, output: usize, into: &mut [f32]) -> Result<()> {
        if output >= self.outputs || into.len() != self.program.vocab {
            return Err(Error::invalid(format!(
                "{} logits of output {output}, expected {} of an output below {}",
                into.len(),
                self.program.vocab,
                self.outputs
            )));
        }
        let _current = self.device.current()?;
        let from = self.model.logits.at(output * self.model.logits_stride * 4);
        // SAFETY: any bytes are f32; the row has been written by work that is before this in the stream.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(into.as_mut_ptr().cast::<u8>(), size_of_val(into));
            driver::download(bytes, from, self.stream())?;
        }
        self.stream.synchronize()
    }

    fn set_rope(&mut self, rope: RopeId, seat: u32, table: Option<&RopeTable>) -> Result<()> {
        let (index, seat) = (rope.0 as usize, seat as usize);
        let Some(default) = self.program.ropes.get(index).filter(|_| seat < self.limits.seats) else {
            let (ropes, seats) = (self.program.ropes.len(), self.limits.seats);
            return Err(Error::invalid(format!("rope {index} of seat {seat}, expected below {ropes} and {seats}")));
        };
        let table = table.unwrap_or(default);
        if table.inv_freq.len() != default.inv_freq.len() {
            let (found, expected) = (table.inv_freq.len(), default.inv_freq.len());
            return Err(Error::invalid(format!("rope {index} of {found} frequencies, expected {expected}")));
        }
        let _current = self.device.current()?;
        let bytes = rope_bytes(table);
        // SAFETY: the seat's place in the table; ordinary memory has been read when the call returns.
        unsafe { driver::upload(self.model.ropes[index].tables.at(seat * bytes.len()), &bytes, self.stream()) }
    }

    fn capture(&mut self) -> Result<bool> {
        let most = self.limits.seats.min(self.limits.max_rows).min(self.limits.max_outputs);
        let mut strides = vec![inputs::class(1, self.limits.pages_per_seat)];
        while let Some(&last) = strides.last().filter(|&&last| last < self.limits.pages_per_seat) {
            strides.push(inputs::class(last + 1, self.limits.pages_per_seat));
        }
        let mut rows = 1;
        while rows <= bucket(most) {
            for &stride in &strides {
                let shape = Shape::decode(rows, stride);
                if self.graphs.contains_key(&shape) {
                    continue;
                }
                let record = || self.launches.run(&self.model, &self.inputs, shape, self.stream.raw());
                match Graph::capture(&self.device, &self.stream, record) {
                    Ok(graph) => _ = self.graphs.insert(shape, graph),
                    Err(error) => {
                        tracing::warn!(%error, rows, "decode steps could not be captured; they are launched one kernel at a time");
                        self.graphs.clear();
                        return Ok(false);
                    }
                }
            }
            rows = bucket(rows + 1);
        }
        tracing::info!(graphs = self.graphs.len(), most, "decode steps captured");
        Ok(true)
    }

    fn follow(&mut self, stream: usize) -> Result<()> {
        let _current = self.device.current()?;
        self.host.record(stream as CUstream)?;
        self.host.hold(self.stream())
    }

    fn memory(&self) -> MemoryUse {
        let model = &self.model;
        let ropes: usize = model.ropes.iter().map(|rope| rope.tables.len() + rope.angles.len()).sum();
        MemoryUse {
            kv: model.pools.iter().map(|pool| pool.memory.len() as u64).sum(),
            scratch: (model.arena.len()
                + model.logits.len()
                + self.inputs.bytes()
                + ropes
                + self.sampler.bytes()
                + self.launches.bytes()) as u64,
        }
    }
}
