//! What varies from step to step, in one block of 32-bit words that goes to the device in one copy.
//!
//! Where each list lies depends on the step's [`Shape`] alone, so a captured step finds its inputs where it found them before.

use std::sync::Arc;

use crate::backend::cuda::driver::{self, CUdeviceptr, CUstream, Device, DeviceBytes, Event, PinnedBytes};
use crate::backend::{ExecutorLimits, StepBatch};
use crate::error::Result;

/// Sizes that everything launched in a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub rows: usize,
    pub outputs: usize,
    pub spans: usize,
    /// Pages of a span's table: the context class.
    pub stride: usize,
    /// Runs of up to [`TILE`] rows of one span; none in a decode step.
    pub tiles: usize,
    /// One row per span, and logits of all of them.
    pub decode: bool,
}

/// Rows of a span that attention takes at a time.
pub(super) const TILE: usize = 64;

impl Shape {
    /// The shape of `batch`. Decode steps are padded to a bucket.
    pub fn of(batch: &StepBatch<'_>, limits: &ExecutorLimits) -> Self {
        let longest = batch.spans.iter().map(|span| (span.start + span.rows) as usize).max().unwrap_or(1);
        let stride = class(longest.div_ceil(limits.page_tokens), limits.pages_per_seat);
        let rows = batch.tokens.len();
        if rows > 0 && batch.outputs.len() == rows && batch.spans.len() == rows {
            return Shape::decode(bucket(rows), stride);
        }
        let tiles = batch.spans.iter().map(|span| (span.rows as usize).div_ceil(TILE)).sum();
        Shape { rows, outputs: batch.outputs.len(), spans: batch.spans.len(), stride, tiles, decode: false }
    }

    pub fn decode(rows: usize, stride: usize) -> Self {
        Shape { rows, outputs: rows, spans: rows, stride, tiles: 0, decode: true }
    }
}

/// The decode bucket that `rows` rows run in: 1, 2, 4, multiples of 8 to 64, of 16 to 256, of 64 beyond.
pub(super) fn bucket(rows: usize) -> usize {
    match rows {
        0..=1 => 1,
        2 => 2,
        3..=4 => 4,
        5..=64 => rows.next_multiple_of(8),
        65..=256 => rows.next_multiple_of(16),
        _ => rows.next_multiple_of(64),
    }
}

/// The context class that holds `pages` pages: 4, 16, 64, …, and at last what a seat can have.
pub(super) fn class(pages: usize, most: usize) -> usize {
    let mut class = 4;
    while class < pages {
        class *= 4;
    }
    class.min(most.max(1))
}

/// Where the lists of a step begin, in words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub tokens: usize,
    /// For rotary tables.
    pub positions: usize,
    pub seats: usize,
    /// KV position of each row, −1 for one that pads; and below, the index of its span's table.
    pub kv_positions: usize,
    pub table_of: usize,
    /// Of each output: its row, and the same as above.
    pub output_rows: usize,
    pub output_positions: usize,
    pub output_table_of: usize,
    /// First row and count of rows of each tile.
    pub tiles: usize,
    /// `[group][span][stride]`.
    pub tables: usize,
    pub table_words: usize,
    pub words: usize,
}

impl Layout {
    pub fn new(shape: Shape, groups: usize) -> Self {
        let mut at = 0;
        let mut list = |words: usize| {
            let from = at;
            at = (at + words).next_multiple_of(32);
            from
        };
        let Shape { rows, outputs, spans, stride, tiles, .. } = shape;
        Layout {
            tokens: list(rows),
            positions: list(rows),
            seats: list(rows),
            kv_positions: list(rows),
            table_of: list(rows),
            output_rows: list(outputs),
            output_positions: list(outputs),
            output_table_of: list(outputs),
            tiles: list(2 * tiles),
            tables: list(groups * spans * stride),
            table_words: spans * stride,
            words: at,
        }
    }
}

/// Buffers between the host and the device. While one is being copied the next is filled.
pub(super) struct Inputs {
    device: Arc<Device>,
    memory: DeviceBytes,
    staging: [(PinnedBytes, Event); 2],
    next: usize,
    groups: usize,
}

impl Inputs {
    /// `rows` and `outputs`: the most of a step, padding included.
    pub fn new(device: &Arc<Device>, limits: &ExecutorLimits, rows: usize, outputs: usize, groups: usize) -> Result<Self> {
        let stride = class(limits.pages_per_seat, limits.pages_per_seat);
        let spans = bucket(limits.seats.min(limits.max_rows));
        let tiles = rows.div_ceil(TILE) + spans;
        let words = Layout::new(Shape { rows, outputs, spans, stride, tiles, decode: false }, groups).words;
        let staging = || Ok::<_, crate::Error>((PinnedBytes::new(device, words * 4, "step inputs")?, Event::new(device)?));
        Ok(Inputs {
            device: device.clone(),
            memory: DeviceBytes::new(device, words * 4, "step inputs")?,
            staging: [staging()?, staging()?],
            next: 0,
            groups,
        })
    }

    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Address of word `word`.
    pub fn at(&self, word: usize) -> CUdeviceptr {
        self.memory.at(word * 4)
    }

    /// Sends a checked batch, laid out for `shape`.
    pub fn send(&mut self, batch: &StepBatch<'_>, shape: Shape, page_tokens: usize, stream: CUstream) -> Result<()> {
        let _current = self.device.current()?;
        let (staging, free) = &mut self.staging[self.next];
        self.next = 1 - self.next;
        free.wait()?;
        let layout = Layout::new(shape, self.groups);
        fill(staging.words_mut(), batch, shape, &layout, page_tokens);
        // SAFETY: the buffer is not touched before its event says that the copy is done; the device's is as long.
        unsafe { driver::upload(self.memory.start(), &staging.bytes()[..layout.words * 4], stream)? };
        free.record(stream)
    }
}

/// Writes the lists. What pads is written too: it was another step's before.
fn fill(words: &mut [u32], batch: &StepBatch<'_>, shape: Shape, layout: &Layout, page_tokens: usize) {
    const NOWHERE: u32 = -1i32 as u32;
    let Shape { rows, outputs, stride, .. } = shape;
    words[layout.tokens..][..rows].fill(0);
    words[layout.tokens..][..batch.tokens.len()].copy_from_slice(batch.tokens);
    words[layout.positions..][..rows].fill(0);
    words[layout.seats..][..rows].fill(0);
    words[layout.kv_positions..][..rows].fill(NOWHERE);
    words[layout.table_of..][..rows].fill(0);
    words[layout.output_rows..][..outputs].fill(0);
    words[layout.output_positions..][..outputs].fill(NOWHERE);
    words[layout.output_table_of..][..outputs].fill(0);
    let (mut output, mut tile) = (0, 0);
    for (index, span) in batch.spans.iter().enumerate() {
        for i in 0..span.rows {
            let row = (span.first_row + i) as usize;
            words[layout.positions + row] = batch.positions[row][0];
            words[layout.seats + row] = span.seat;
            words[layout.kv_positions + row] = span.start + i;
            words[layout.table_of + row] = index as u32;
        }
        while let Some(&row) = batch.outputs.get(output).filter(|&&row| row < span.first_row + span.rows) {
            words[layout.output_rows + output] = row;
            words[layout.output_positions + output] = span.start + row - span.first_row;
            words[layout.output_table_of + output] = index as u32;
            output += 1;
        }
        for from in (0..span.rows).step_by(TILE) {
            if shape.decode {
                break;
            }
            let count = (span.rows - from).min(TILE as u32);
            words[layout.tiles + 2 * tile..][..2].copy_from_slice(&[span.first_row + from, count]);
            tile += 1;
        }
        let pages = ((span.start + span.rows) as usize).div_ceil(page_tokens);
        for (group, table) in batch.page_tables.iter().enumerate() {
            let from = &table.pages[span.seat as usize * table.stride..][..pages];
            words[layout.tables + group * layout.table_words + index * stride..][..pages].copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{PageTable, Span};

    #[test]
    fn a_bucket_holds_its_rows_and_is_its_own() {
        for rows in 1..2000 {
            let size = bucket(rows);
            assert!(size >= rows && bucket(size) == size, "{rows} rows in {size}");
        }
        assert_eq!([1, 2, 3, 5, 9, 33, 65, 257].map(bucket), [1, 2, 4, 8, 16, 40, 80, 320]);
        assert_eq!([1, 5, 17, 100].map(|pages| class(pages, 70)), [4, 16, 64, 70]);
    }

    #[test]
    fn rows_that_pad_have_no_position() {
        let spans = [Span { seat: 2, first_row: 0, rows: 1, start: 40 }, Span { seat: 0, first_row: 1, rows: 1, start: 0 }];
        let spans = [spans[0], spans[1], Span { seat: 1, first_row: 2, rows: 1, start: 16 }];
        let pages: Vec<u32> = (100..112).collect();
        let batch = StepBatch {
            tokens: &[7, 8, 9],
            positions: &[[40; 3], [0; 3], [16; 3]],
            spans: &spans,
            outputs: &[0, 1, 2],
            page_tables: &[PageTable { pages: &pages, stride: 4 }],
            taps: &[],
        };
        let shape = Shape::decode(4, 4);
        let layout = Layout::new(shape, 1);
        let mut words = vec![77; layout.words];
        fill(&mut words, &batch, shape, &layout, 16);
        assert_eq!(words[layout.kv_positions..][..4], [40, 0, 16, u32::MAX]);
        assert_eq!(words[layout.output_positions..][..4], [40, 0, 16, u32::MAX]);
        assert_eq!(words[layout.seats..][..4], [2, 0, 1, 0]);
        assert_eq!(words[layout.tables..][..3], [108, 109, 110]);
        assert_eq!(words[layout.tables + 4], 100);
        assert_eq!(words[layout.tables + 8..][..2], [104, 105]);
    }
}
