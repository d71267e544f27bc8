//! One rank: residents, the ragged step, sampling state, stop strings, streams, metrics.
//!
//! Owns every live sequence of its rank and the pages they hold. Knows tokens, settings and text; never what a request is.

mod stream;

pub use stream::{StreamChannel, StreamChunk};

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

/// Log-probabilities at one output position: natural log, temperature 1, from raw logits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenLogprobs {
    pub token: u32,
    pub logprob: f32,
    /// The most probable tokens, descending.
    pub top: Vec<(u32, f32)>,
}

/// Something a user should know about a result that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The output limit was lowered to what prompt and capacity leave.
    MaxLengthClamped { requested: u64, effective: u64 },
}
