//! What an executor is told about choosing a token, and what it answers. Numbers only: which settings a request means is
//! `decoding`'s business.
//!
//! Order of operations on the raw logits: bias, penalties, mask, temperature, top-k, softmax, top-p, min-p, draw.

/// Settings of one row. Neutral values switch a stage off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingParams {
    /// Below 1e-3: greedy, the lowest id among equal maxima.
    pub temperature: f32,
    /// 0: off. 1: greedy.
    pub top_k: u32,
    /// 1: off. The smallest set of most probable tokens whose mass reaches `top_p`; at least one token.
    pub top_p: f32,
    /// 0: off. Keeps tokens with probability >= `min_p` times the largest.
    pub min_p: f32,
    /// 1: off. Divides positive and multiplies negative logits of tokens seen in prompt or output (Keskar et al. 2019).
    pub repetition_penalty: f32,
    /// 0: off. Subtracted once for a token that occurs in the output.
    pub presence_penalty: f32,
    /// 0: off. Subtracted per occurrence in the output.
    pub frequency_penalty: f32,
}

impl SamplingParams {
    pub const GREEDY: SamplingParams = SamplingParams {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
        repetition_penalty: 1.0,
        presence_penalty: 0.0,
        frequency_penalty: 0.0,
    };

    pub fn is_greedy(&self) -> bool {
        self.temperature < 1e-3 || self.top_k == 1
    }

    pub fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }
}

/// How often a token has occurred. Only tokens that occurred are listed, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    pub token: u32,
    pub in_prompt: bool,
    pub in_output: u32,
}

/// One row to sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleRow<'a> {
    /// Index into the step's outputs.
    pub output: u32,
    pub params: SamplingParams,
    /// Key and counter of the draw: Philox4x32-10 keyed by `seed` at counter `draw`, so that a draw does not depend on the batch.
    pub seed: u64,
    /// Number of the draw in its sequence: the position of the token it chooses.
    pub draw: u64,
    /// Added to the raw logits. Each token at most once; ids lie within the vocabulary. `-inf` is a ban.
    pub bias: &'a [(u32, f32)],
    /// Empty where no penalty is on.
    pub counts: &'a [TokenCount],
    /// Bit `t % 32` of word `t / 32` says token t is allowed. `None`: all are.
    pub mask: Option<&'a [u32]>,
    /// `Some(k)`: report log-probabilities of the chosen token and of the k most probable ones.
    pub logprobs: Option<u32>,
}

/// What a row's draw gave. Reused from step to step: `top` keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    pub token: u32,
    /// Natural log-softmax of the raw logits at temperature 1, for the chosen token.
    pub logprob: f32,
    /// The most probable tokens with the same log-probabilities, descending; ties by lower id first.
    pub top: Vec<(u32, f32)>,
    pub fault: Option<SampleFault>,
}

/// A fault of one row; its neighbours are not concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFault {
    /// A logit is NaN or +inf.
    NonFinite,
    /// Mask and bias leave no token.
    NothingAllowed,
}
