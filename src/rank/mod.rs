//! One rank: residents, the ragged step, sampling state, stop strings, streams, metrics.
//!
//! Owns every live sequence of its rank and the pages they hold. Knows tokens, settings and text; never what a request is.

#[cfg(test)]
pub(crate) mod fake;
mod hidden;
mod logprobs;
mod masks;
mod output;
mod resident;
mod runtime;
mod step;
mod stream;

pub use hidden::HiddenStates;
pub use logprobs::{Logprobs, TokenLogprobs};
pub use resident::{CacheCommit, CachePolicy, Guidance, ResidentRef, Seed, Sequence, SequenceResult};
pub use runtime::{Admission, RankLimits, RankMetrics, RankRuntime, RankSizes};
pub use step::{Delta, StepPlan, StepResult};
pub use stream::{StreamChannel, StreamChunk, StreamProducer};

use std::sync::Arc;

/// Called for every generated token, on the thread that runs the step. `false` cancels the sequence.
pub type TokenCallback = Arc<dyn Fn(&TokenInfo) -> bool + Send + Sync>;

/// A generated token, as a per-token callback sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    pub token_id: u32,
    /// Index of the sequence in its request.
    pub sequence: u32,
    /// 0 for the first generated token.
    pub step: u32,
    /// Whether the sequence ends with this token.
    pub is_finished: bool,
}

/// Something a user should know about a result that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The output limit was lowered to what prompt and capacity leave.
    MaxLengthClamped { requested: u64, effective: u64 },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::MaxLengthClamped { requested, effective } => {
                write!(
                    f,
                    "maximum length lowered from {requested} to {effective} tokens: prompt and output must fit the KV capacity"
                )
            }
        }
    }
}
