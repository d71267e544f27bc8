//! A response: what became of each sequence of a request.

use std::time::Duration;

use crate::rank::SequenceResult;

/// What a dispatch spent and did, reported when profiling is on.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    /// Template and tokenizer.
    pub prepare: Duration,
    /// From there until the last of the request's sequences had a seat.
    pub queue: Duration,
    /// Steps that ran prompt tokens.
    pub prefill: Duration,
    /// Steps that only decoded.
    pub decode: Duration,
    /// From dispatch to the first generated token.
    pub first_token: Duration,
    pub total: Duration,
    /// Prompt tokens that were computed.
    pub prefill_tokens: u64,
    /// Prompt tokens whose keys and values came from the context cache.
    pub reused_tokens: u64,
    pub decode_tokens: u64,
    pub steps: u64,
    /// Steps by the number of sequences that ran in them, from 0 up.
    pub batch_histogram: Vec<u64>,
}

impl Timings {
    /// Room for steps of up to `seats` sequences, so that counting one allocates nothing.
    pub(super) fn for_seats(seats: usize) -> Self {
        Timings { batch_histogram: vec![0; seats + 1], ..Timings::default() }
    }

    /// Counts a step of `sequences` that took `spent`.
    pub(super) fn count_step(&mut self, spent: Duration, sequences: usize, prefill_rows: u32, decode_rows: u32) {
        self.steps += 1;
        self.prefill_tokens += u64::from(prefill_rows);
        self.decode_tokens += u64::from(decode_rows);
        if prefill_rows > 0 {
            self.prefill += spent;
        } else {
            self.decode += spent;
        }
        if let Some(steps) = self.batch_histogram.get_mut(sequences) {
            *steps += 1;
        }
    }

    pub(super) fn count_results(&mut self, results: &[SequenceResult]) {
        self.reused_tokens = results.iter().map(|result| u64::from(result.reused_tokens)).sum();
    }
}

/// The response of one rank to one request: sequences in the request's order.
#[derive(Clone, Debug)]
pub struct Response {
    pub sequences: Vec<SequenceResult>,
    /// `None` unless profiling was asked for.
    pub timings: Option<Timings>,
}
