//! A response: what became of each sequence of a request.

use std::time::Duration;

pub use crate::decoding::{FinishReason, SettingSource, Settings};
pub use crate::rank::{TokenLogprobs, Warning};

use crate::error::Error;

/// The result of one sequence.
#[derive(Clone, Debug)]
pub struct SequenceResponse {
    /// Generated ids; the end-of-sequence token and tokens of a stop string are kept.
    pub output_ids: Vec<i32>,
    /// Generated text, ending before the stop string. Equals the concatenated chunks of the stream.
    pub text: String,
    pub finish_reason: FinishReason,
    /// One entry per output id where log-probabilities were asked for, else empty.
    pub logprobs: Vec<TokenLogprobs>,
    pub input_tokens: u32,
    /// Prompt tokens whose keys and values came from the cache.
    pub reused_tokens: u32,
    /// The settings that were in force, and where each came from.
    pub settings: Settings,
    pub warnings: Vec<Warning>,
    /// Why, where the reason is `Error`.
    pub error: Option<Error>,
}

/// Time spent, when profiling is on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Template and tokenizer.
    pub prepare: Duration,
    /// Steps that ran prompt tokens.
    pub prefill: Duration,
    /// Steps that only decoded.
    pub decode: Duration,
    /// From dispatch to the first generated token.
    pub first_token: Duration,
    pub total: Duration,
    pub prefill_tokens: u64,
    pub decode_tokens: u64,
    pub steps: u64,
}

/// The response of one rank to one request: sequences in the request's order.
#[derive(Clone, Debug)]
pub struct Response {
    pub sequences: Vec<SequenceResponse>,
    /// `None` unless profiling was asked for.
    pub timings: Option<Timings>,
}
