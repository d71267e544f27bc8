//! The rows of a step: checked, and laid out for the stages.

use super::super::attention::QueryRows;
use crate::backend::{ExecutorLimits, NO_PAGE, Program, Retention, RowClass, StepBatch};
use crate::error::{Error, Result};

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

    /// Takes over a batch that [`check`] has let through.
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

/// Checks a batch against the program and the limits.
///
/// Errors: INVALID_ARGUMENT naming the span, position or page.
pub(super) fn check(batch: &StepBatch<'_>, program: &Program, limits: &ExecutorLimits, tokens: usize) -> Result<()> {
    let rows = batch.tokens.len();
    let invalid = |message: String| Err(Error::invalid(message));
    if rows > limits.max_rows || batch.outputs.len() > limits.max_outputs {
        return invalid(format!(
            "step of {rows} rows and {} outputs, expected at most {} and {}",
            batch.outputs.len(),
            limits.max_rows,
            limits.max_outputs
        ));
    }
    if batch.positions.len() != rows || batch.page_tables.len() != program.kv_groups.len() {
        return invalid(format!(
            "step of {rows} rows with {} positions and {} page tables, expected {rows} and {}",
            batch.positions.len(),
            batch.page_tables.len(),
            program.kv_groups.len()
        ));
    }
    if let Some(token) = batch.tokens.iter().find(|&&t| t as usize >= tokens) {
        return invalid(format!("token {token}, expected below {tokens}"));
    }
    if let Some(pair) = batch.outputs.windows(2).find(|pair| pair[0] >= pair[1]) {
        return invalid(format!("outputs {} and {}, expected ascending rows", pair[0], pair[1]));
    }
    if let Some(&last) = batch.outputs.last()
        && last as usize >= rows
    {
        return invalid(format!("output row {last} in a step of {rows} rows"));
    }
    let mut row = 0u64;
    for (index, span) in batch.spans.iter().enumerate() {
        if u64::from(span.first_row) != row || span.rows == 0 || span.seat as usize >= limits.seats {
            return invalid(format!("{span:?}, expected rows from row {row} of a seat below {}", limits.seats));
        }
        // Quadratic in the spans of a step, which are few, and needs no memory.
        if batch.spans[..index].iter().any(|other| other.seat == span.seat) {
            return invalid(format!("seat {} has two spans in one step", span.seat));
        }
        row += u64::from(span.rows);
        let end = u64::from(span.start) + u64::from(span.rows);
        if end > (limits.pages_per_seat * limits.page_tokens) as u64 {
            return invalid(format!(
                "{span:?} ends at position {end}, expected at most {}",
                limits.pages_per_seat * limits.page_tokens
            ));
        }
        for (group, table) in batch.page_tables.iter().enumerate() {
            let first = match program.kv_groups[group].retention {
                Retention::Full => 0,
                Retention::Sliding { window } => (span.start as usize + 1).saturating_sub(window),
            };
            let pages = first / limits.page_tokens..(end as usize).div_ceil(limits.page_tokens);
            let at = span.seat as usize * table.stride;
            let Some(held) = table.pages.get(at + pages.start..at + pages.end).filter(|_| pages.end <= table.stride) else {
                return invalid(format!("page table of group {group} ends before position {end} of seat {}", span.seat));
            };
            if let Some(missing) = held.iter().position(|&page| page == NO_PAGE || page as usize >= limits.group_pages[group]) {
                return invalid(format!(
                    "seat {}, group {group}: page {} for position {}, expected one below {}",
                    span.seat,
                    held[missing] as i32,
                    (pages.start + missing) * limits.page_tokens,
                    limits.group_pages[group]
                ));
            }
        }
    }
    if row != rows as u64 {
        return invalid(format!("spans of {row} rows in a step of {rows}"));
    }
    Ok(())
}
