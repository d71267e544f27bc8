//! A response: what became of each sequence of a request.

use std::time::Duration;

use crate::rank::SequenceResult;

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
    pub sequences: Vec<SequenceResult>,
    /// `None` unless profiling was asked for.
    pub timings: Option<Timings>,
}
