//! What the next step runs: one policy for a dispatch and for the founding prefill of a stepped execution.

use crate::rank::{RankRuntime, ResidentRef, StepPlan};

/// Prompt tokens per step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    /// While nobody decodes.
    pub alone: u32,
    /// Beside residents that decode, so that they do not wait long.
    pub mixed: u32,
}

/// A tick for every resident that decodes, and prompt chunks in the order of `residents` as far as the step's share for them goes.
/// A resident whose next page another one is filling waits for it.
pub(super) fn plan_step(rank: &mut RankRuntime, residents: &[ResidentRef], chunks: Chunks, plan: &mut StepPlan) {
    plan.clear();
    plan.decode.extend(residents.iter().copied().filter(|&resident| matches!(rank.is_prefilling(resident), Ok(false))));
    let mut left = if plan.decode.is_empty() { chunks.alone } else { chunks.mixed };
    for &resident in residents {
        if left > 0 && matches!(rank.is_prefilling(resident), Ok(true)) {
            let others = plan.prefill.iter().map(|&(other, _)| other);
            let rows = rank.prefill_rows(resident, others).unwrap_or(0).min(left);
            if rows > 0 {
                plan.prefill.push((resident, rows));
                left -= rows;
            }
        }
    }
}
