//! What a device must be able to do: pack weights into its own layout, compile a [`Program`], and run ragged steps of it.
//!
//! A backend knows tensors only. It has no notion of requests, text, or which model family it runs.
//!
//! The life of a deployment: [`Backend::pack`] every weight (shared by all executors of the same layout), then one
//! [`Backend::executor`] per rank, then [`Executor::forward`] and [`Executor::sample`] once per step.

mod compile;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod philox;
mod program;
mod sampling;
mod step;
mod weight;

pub use program::{
    Activation, AttentionLayer, HeadNorm, KvGroup, Op, Program, Retention, RopeId, RopeTable, RowClass, Slot, SlotId, Tap,
    VectorId, WeightId,
};
pub use sampling::{SampleFault, SampleRow, Sampled, SamplingParams, TokenCount};
pub use step::{NO_PAGE, PageTable, Span, StepBatch};
pub use weight::{Packed, RowOrder, Weight, WeightPart, WeightUse};

use std::sync::Arc;

use crate::error::Result;

/// Element type of the KV pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvType {
    /// For comparisons against f32 references.
    F32,
    F16,
    BF16,
}

impl KvType {
    pub const fn bytes(self) -> usize {
        match self {
            KvType::F32 => 4,
            KvType::F16 | KvType::BF16 => 2,
        }
    }
}

/// Sizes an executor is built for. Everything it needs for steps within them is allocated by [`Backend::executor`]; a step
/// allocates nothing.
#[derive(Clone, Debug)]
pub struct ExecutorLimits {
    /// Most token rows in one step.
    pub max_rows: usize,
    /// Most rows whose logits are wanted in one step.
    pub max_outputs: usize,
    /// Residents that can be live at once; seats are `0..seats`.
    pub seats: usize,
    /// Tokens per KV page.
    pub page_tokens: usize,
    /// Pages in a resident's page table (its longest sequence, in pages).
    pub pages_per_seat: usize,
    /// Pages of each KV group's pool, in the order of [`Program::kv_groups`].
    pub group_pages: Vec<usize>,
    pub kv_type: KvType,
    /// Token ids `>= sampled_vocab` are never drawn: heads are often padded wider than the tokenizer.
    pub sampled_vocab: usize,
}

/// What an executor holds, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    pub kv: u64,
    pub scratch: u64,
}

/// A device that can run programs. Safe from any thread.
pub trait Backend: Send + Sync {
    /// `"cpu"` or `"cuda"`.
    fn name(&self) -> &'static str;

    /// For people: the chip, the instruction set in use, threads.
    fn description(&self) -> String;

    /// Names the layout [`pack`](Backend::pack) produces. Packed weights may be shared by backends whose keys are equal.
    fn layout_key(&self) -> String;

    /// Bytes of memory that the device could give out now; `None` where it does not say.
    fn free_memory(&self) -> Option<u64> {
        None
    }

    /// Converts a weight into this device's layout. The only place where stored formats are known.
    fn pack(&self, weight: &Weight, uses: WeightUse) -> Result<Packed>;

    /// Places a vector (norm weight, bias) on the device, as f32.
    fn pack_vector(&self, values: &[f32]) -> Result<Packed>;

    /// Compiles `program` and allocates its KV pools, step buffers and scratch. `weights` and `vectors` are indexed by the
    /// program's [`WeightId`]s and [`VectorId`]s and must come from a backend with the same layout key.
    /// Errors: OUT_OF_MEMORY naming needed and available bytes, with nothing left allocated.
    fn executor(
        &self,
        program: Arc<Program>,
        weights: Arc<[Packed]>,
        vectors: Arc<[Packed]>,
        limits: &ExecutorLimits,
    ) -> Result<Box<dyn Executor>>;
}

/// A compiled program with its KV pools: the device half of one rank.
///
/// A row's results do not depend on which other rows are in the step, or on how its sequence was cut into steps.
pub trait Executor: Send {
    /// Runs the program over the rows of `batch`: writes their keys and values to the pages and computes the logits of
    /// `batch.outputs`. After an error the KV of the spans in the batch is undefined and the rest is as before.
    fn forward(&mut self, batch: &StepBatch<'_>) -> Result<()>;

    /// Chooses a token for each row from the logits of the last [`forward`](Executor::forward).
    /// `out` has the length of `rows`. A row's own fault (non-finite logits, nothing allowed) is reported in its [`Sampled`].
    fn sample(&mut self, rows: &[SampleRow<'_>], out: &mut [Sampled]) -> Result<()>;

    /// Copies the raw logits of output `output` (index into `batch.outputs`) of the last forward. `into`: the vocabulary, f32.
    fn read_logits(&mut self, output: usize, into: &mut [f32]) -> Result<()>;

    /// Whether steps may ask for hidden states ([`StepBatch::taps`]).
    fn has_taps(&self) -> bool {
        false
    }

    /// Copies the hidden states at `layer` of consecutive rows of the last forward, which asked for them: `into` is
    /// `[rows, width]`, f32, from row `first_row` on. Errors: INVALID_ARGUMENT; UNSUPPORTED on a device that has no taps.
    fn read_tap(&mut self, layer: u32, first_row: usize, into: &mut [f32]) -> Result<()> {
        let _ = (first_row, into);
        Err(crate::error::Error::unsupported(format!("hidden states of layer {layer}: this device has no taps")))
    }

    /// Gives `seat` its own table for `rope` (variants that depend on the sequence's length), or the program's again.
    fn set_rope(&mut self, rope: RopeId, seat: u32, table: Option<&RopeTable>) -> Result<()>;

    /// Captures decode steps of every size that a device can replay, so that later ones cost one launch. `false`: it cannot, and
    /// steps go on being launched one operation at a time. Nothing to do where there is nothing to capture.
    fn capture(&mut self) -> Result<bool> {
        Ok(true)
    }

    /// Orders the work to come behind what the host has put on `stream` by now, a `cudaStream_t` of this device (never 0). What the
    /// host puts there after a [`sample`](Executor::sample) is behind the step by itself. Nothing to do for devices without streams.
    fn follow(&mut self, _stream: usize) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> MemoryUse;
}
