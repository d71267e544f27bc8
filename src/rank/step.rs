//! The ragged step: what a caller plans, what came of it, and the buffers between.

use super::{ResidentRef, SequenceResult};
use crate::backend::{SampleRow, Sampled, Span};

/// What to run in one step: chunks of prompts and decode ticks together, in one pass of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepPlan {
    /// Residents whose prompt is to go on, each with the most tokens to run of it.
    pub prefill: Vec<(ResidentRef, u32)>,
    /// Residents that are to say one more token.
    pub decode: Vec<ResidentRef>,
}

impl StepPlan {
    pub fn is_empty(&self) -> bool {
        self.prefill.is_empty() && self.decode.is_empty()
    }

    pub fn clear(&mut self) {
        self.prefill.clear();
        self.decode.clear();
    }

    pub fn residents(&self) -> impl Iterator<Item = ResidentRef> + '_ {
        self.prefill.iter().map(|&(resident, _)| resident).chain(self.decode.iter().copied())
    }
}

/// Tokens a resident gained in a step: a range of [`StepResult::tokens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    pub resident: ResidentRef,
    pub first: u32,
    pub count: u32,
}

/// What a step did. Reused from step to step, so that a steady one allocates nothing.
#[derive(Debug, Default)]
pub struct StepResult {
    /// Counts the rank's steps, from 1.
    pub step_id: u64,
    pub deltas: Vec<Delta>,
    pub tokens: Vec<u32>,
    /// Residents that ended. Their seats are free again.
    pub finished: Vec<(ResidentRef, SequenceResult)>,
    /// Prompt tokens and decode ticks that were run.
    pub prefill_rows: u32,
    pub decode_rows: u32,
}

impl StepResult {
    /// Empties it, keeping its memory. A step adds to what is there.
    pub fn clear(&mut self) {
        self.deltas.clear();
        self.tokens.clear();
        self.finished.clear();
        self.prefill_rows = 0;
        self.decode_rows = 0;
    }

    pub(super) fn push_token(&mut self, resident: ResidentRef, token: u32) {
        self.deltas.push(Delta { resident, first: self.tokens.len() as u32, count: 1 });
        self.tokens.push(token);
    }
}

/// The step's rows, in buffers of fixed capacity.
pub(super) struct StepBuffers {
    pub tokens: Vec<u32>,
    pub positions: Vec<[u32; 3]>,
    pub spans: Vec<Span>,
    pub outputs: Vec<u32>,
    /// Seat of each output.
    pub output_seats: Vec<u32>,
    /// Layers whose hidden states are wanted, ascending.
    pub taps: Vec<u32>,
    pub sampled: Vec<Sampled>,
    rows: Vec<SampleRow<'static>>,
}

impl StepBuffers {
    pub(super) fn new(rows: usize, outputs: usize) -> Self {
        StepBuffers {
            tokens: Vec::with_capacity(rows),
            positions: Vec::with_capacity(rows),
            spans: Vec::with_capacity(outputs),
            outputs: Vec::with_capacity(outputs),
            output_seats: Vec::with_capacity(outputs),
            taps: Vec::with_capacity(outputs),
            sampled: vec![Sampled::default(); outputs],
            rows: Vec::with_capacity(outputs),
        }
    }

    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.spans.clear();
        self.outputs.clear();
        self.output_seats.clear();
        self.taps.clear();
    }

    /// The hidden states of `layer` are wanted, too.
    pub(super) fn want_tap(&mut self, layer: u32) {
        if let Err(at) = self.taps.binary_search(&layer) {
            self.taps.insert(at, layer);
        }
    }

    /// Adds a span of `tokens` at `start` of `seat`; its last row's logits are wanted where `sample`.
    pub(super) fn push_span(&mut self, seat: u32, start: u32, tokens: &[u32], sample: bool) {
        let first_row = self.tokens.len() as u32;
        let rows = tokens.len() as u32;
        self.tokens.extend_from_slice(tokens);
        self.positions.extend((start..start + rows).map(|p| [p; 3]));
        self.spans.push(Span { seat, first_row, rows, start });
        if sample {
            self.outputs.push(first_row + rows - 1);
            self.output_seats.push(seat);
        }
    }

    /// An empty list of rows to sample that borrows from someone else for a while and keeps its memory.
    pub(super) fn borrow_rows<'a>(&mut self) -> Vec<SampleRow<'a>> {
        relabel(std::mem::take(&mut self.rows))
    }

    pub(super) fn return_rows(&mut self, rows: Vec<SampleRow<'_>>) {
        self.rows = relabel(rows);
    }
}

/// The same allocation for another lifetime: collecting from a vector's own iterator reuses its buffer.
fn relabel<'a>(mut rows: Vec<SampleRow<'_>>) -> Vec<SampleRow<'a>> {
    rows.clear();
    rows.into_iter().map(|_| unreachable!("the list is empty")).collect()
}
