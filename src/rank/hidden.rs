//! Hidden states of a prompt, collected as its chunks run.

use crate::error::{Error, Result};

/// `[rows, width]`, f32: one row for each prompt token so far.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenStates {
    layer: i32,
    tap: u32,
    width: usize,
    values: Vec<f32>,
}

impl HiddenStates {
    /// Memory for `rows` rows of `width`. `layer` is what was asked for, `tap` the [`Tap::layer`](crate::backend::Tap) it stands for.
    /// Errors: OUT_OF_MEMORY.
    pub(crate) fn for_prompt(layer: i32, tap: u32, rows: usize, width: usize) -> Result<Self> {
        let mut values = Vec::new();
        let count = rows.saturating_mul(width);
        values
            .try_reserve_exact(count)
            .map_err(|e| Error::out_of_memory(format!("hidden states of {rows} tokens of {width} values: {e}")))?;
        Ok(HiddenStates { layer, tap, width, values })
    }

    /// As it was asked for: -1 is after the final norm.
    pub fn layer(&self) -> i32 {
        self.layer
    }

    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Values of a row: the model's hidden size.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn tap(&self) -> u32 {
        self.tap
    }

    /// Room for `rows` more, to be filled by `fill`; where that fails they are not there.
    pub(super) fn extend(&mut self, rows: usize, fill: impl FnOnce(&mut [f32]) -> Result<()>) -> Result<()> {
        let before = self.values.len();
        self.values.resize(before + rows * self.width, 0.0);
        fill(&mut self.values[before..]).inspect_err(|_| self.values.truncate(before))
    }
}
