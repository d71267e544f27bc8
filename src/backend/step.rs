//! One ragged step, as the rank describes it to an executor.

/// An entry of a page table that holds no page.
pub const NO_PAGE: u32 = u32::MAX;

/// A run of consecutive tokens of one resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The resident's seat: selects its row of every page table.
    pub seat: u32,
    /// First row of the step that belongs to it.
    pub first_row: u32,
    pub rows: u32,
    /// KV position of the first row. Positions below it are already in the pages.
    pub start: u32,
}

/// Page tables of one KV group: `pages[seat * stride + position / page_tokens]` is the page that holds a position.
#[derive(Clone, Copy, Debug)]
pub struct PageTable<'a> {
    pub pages: &'a [u32],
    pub stride: usize,
}

/// The rows of one step. Spans lie in row order and cover all rows; a seat occurs at most once.
#[derive(Clone, Copy, Debug)]
pub struct StepBatch<'a> {
    /// `[rows]`.
    pub tokens: &'a [u32],
    /// Rotary positions, `[rows][3]` (temporal, height, width; equal for text).
    pub positions: &'a [[u32; 3]],
    pub spans: &'a [Span],
    /// Rows whose logits are wanted, ascending.
    pub outputs: &'a [u32],
    /// One per KV group.
    pub page_tables: &'a [PageTable<'a>],
    /// Layers whose hidden states are wanted of all rows, ascending ([`Tap::layer`](super::Tap)). Empty in most steps. The first
    /// step that asks for other layers than the ones before compiles for them, and may allocate.
    pub taps: &'a [u32],
}
