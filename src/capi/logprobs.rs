//! Log-probabilities as C reads them: arrays of plain numbers.

use super::args::{Out, out};
use crate::error::{Error, Result};
use crate::rank::Logprobs;

/// Consecutive positions. Filled anew in the buffers that are there.
#[derive(Default)]
pub(super) struct FlatLogprobs {
    chosen: Vec<f32>,
    ids: Vec<i32>,
    values: Vec<f32>,
    /// End of each position's part of `ids` and `values`.
    ends: Vec<usize>,
}

impl FlatLogprobs {
    pub(super) fn fill(&mut self, logprobs: &Logprobs) {
        self.chosen.clear();
        self.ids.clear();
        self.values.clear();
        self.ends.clear();
        for position in logprobs.iter() {
            self.chosen.push(position.logprob);
            self.ids.extend(position.top.iter().map(|&(id, _)| id as i32));
            self.values.extend(position.top.iter().map(|&(_, value)| value));
            self.ends.push(self.ids.len());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.chosen.len()
    }
}

/// Where one position's log-probabilities go.
pub(super) struct LogprobOut<'a> {
    logprob: Out<'a, f32>,
    ids: &'a mut *const i32,
    values: &'a mut *const f32,
    count: &'a mut usize,
}

impl LogprobOut<'_> {
    pub(super) unsafe fn new(
        logprob: *mut f32,
        ids: *mut *const i32,
        values: *mut *const f32,
        count: *mut usize,
    ) -> Result<Self> {
        // SAFETY: the caller's contract, as in `out`.
        let (logprob, ids, values, count) = unsafe {
            (
                out(logprob, "out_logprob")?,
                out(ids, "out_top_ids")?.into_inner(),
                out(values, "out_top_logprobs")?.into_inner(),
                out(count, "out_top_count")?.into_inner(),
            )
        };
        (*ids, *values, *count) = (std::ptr::null(), std::ptr::null(), 0);
        Ok(LogprobOut { logprob, ids, values, count })
    }

    pub(super) fn set(self, logprobs: &FlatLogprobs, position: usize) -> Result<()> {
        let Some(&chosen) = logprobs.chosen.get(position) else {
            let len = logprobs.len();
            return Err(Error::invalid(format!(
                "position: {position}, expected less than {len}, the positions with log-probabilities"
            )));
        };
        let start = if position == 0 { 0 } else { logprobs.ends[position - 1] };
        let top = start..logprobs.ends[position];
        self.logprob.set(chosen);
        *self.count = top.len();
        *self.ids = logprobs.ids[top.clone()].as_ptr();
        *self.values = logprobs.values[top].as_ptr();
        Ok(())
    }
}
