//! The rows of a step, laid out for the stages.

use super::super::attention::QueryRows;
use crate::backend::{ExecutorLimits, RowClass, StepBatch};

/// What the stages need to know of each row. Lists are as long as the limits allow from the beginning.
pub(super) struct StepRows {
    pub rows: usize,
    pub outputs: usize,
    /// Of each token row.
    pub seats: Vec<u32>,
    /// KV position of each token row.
    pub positions: Vec<u32>,
    /// KV position of each output row.
    pub output_positions: Vec<u32>,
    /// Token row of each output row.
    pub output_rows: Vec<u32>,
    output_spans: Vec<QueryRows>,
    spans: Vec<QueryRows>,
}

impl StepRows {
    pub(super) fn new(limits: &ExecutorLimits) -> Self {
        let spans = limits.seats.min(limits.max_rows);
        StepRows {
            rows: 0,
            outputs: 0,
            seats: Vec::with_capacity(limits.max_rows),
            positions: Vec::with_capacity(limits.max_rows),
            output_positions: Vec::with_capacity(limits.max_outputs),
            output_rows: Vec::with_capacity(limits.max_outputs),
            output_spans: Vec::with_capacity(spans),
            spans: Vec::with_capacity(spans),
        }
    }

    pub(super) fn count(&self, class: RowClass) -> usize {
        match class {
            RowClass::Tokens => self.rows,
            RowClass::Outputs => self.outputs,
        }
    }

    /// KV positions and runs of rows of one resident each.
    pub(super) fn queries(&self, class: RowClass) -> (&[u32], &[QueryRows]) {
        match class {
            RowClass::Tokens => (&self.positions, &self.spans),
            RowClass::Outputs => (&self.output_positions, &self.output_spans),
        }
    }

    /// Takes over a batch that was checked.
    pub(super) fn fill(&mut self, batch: &StepBatch<'_>) {
        self.rows = batch.tokens.len();
        self.outputs = batch.outputs.len();
        self.seats.clear();
        self.positions.clear();
        self.spans.clear();
        self.output_positions.clear();
        self.output_rows.clear();
        self.output_spans.clear();
        let mut outputs = batch.outputs.iter().copied().peekable();
        for span in batch.spans {
            self.seats.extend(std::iter::repeat_n(span.seat, span.rows as usize));
            self.positions.extend(span.start..span.start + span.rows);
            self.spans.push(QueryRows { seat: span.seat, first: span.first_row, count: span.rows });
            let first = self.output_rows.len() as u32;
            while let Some(row) = outputs.next_if(|&row| row < span.first_row + span.rows) {
                self.output_rows.push(row);
                self.output_positions.push(span.start + row - span.first_row);
            }
            let count = self.output_rows.len() as u32 - first;
            if count > 0 {
                self.output_spans.push(QueryRows { seat: span.seat, first, count });
            }
        }
    }
}
