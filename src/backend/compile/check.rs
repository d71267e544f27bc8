//! A batch against the program and the limits, before anything of it reaches a device.

use crate::backend::{ExecutorLimits, NO_PAGE, Program, Retention, StepBatch};
use crate::error::{Error, Result};

/// Checks a batch against the program and the limits.
///
/// `tokens`: ids below this can be looked up. Errors: INVALID_ARGUMENT naming the span, position or page.
pub(in crate::backend) fn check(batch: &StepBatch<'_>, program: &Program, limits: &ExecutorLimits, tokens: usize) -> Result<()> {
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
