//! A live sequence: what it starts from, what it has become, and what is left of it at the end.

use std::ops::Range;
use std::sync::Arc;

use super::output::Output;
use super::{HiddenStates, Logprobs, StreamProducer, TokenCallback, TokenInfo, TokenLogprobs, Warning};
use crate::backend::{RopeId, RopeTable, SampleFault, SampleRow, Sampled};
use crate::cache::{CacheIdentity, Chain, KvCache, NodeId};
use crate::decoding::{FinishReason, Guide, Settings, TokenHistory};
use crate::error::Error;
use crate::text::Tokenizer;

/// Names a resident. `epoch` grows with every use of the slot, so a name never comes to mean another sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResidentRef {
    pub slot: u32,
    pub epoch: u32,
}

/// What a sequence starts from: everything is checked and settled.
pub struct Seed {
    /// Index of the sequence in its request.
    pub index: u32,
    /// Not empty; ids lie within the embedding table.
    pub prompt: Vec<u32>,
    pub settings: Settings,
    /// Each token at most once.
    pub bias: Vec<(u32, f32)>,
    /// Ids that end the sequence.
    pub end_tokens: Arc<[u32]>,
    pub stops: Vec<String>,
    pub stream: Option<StreamProducer>,
    pub on_token: Option<TokenCallback>,
    /// Rotary tables of its own, where they depend on the sequence's length.
    pub ropes: Vec<(RopeId, RopeTable)>,
    pub identity: CacheIdentity,
    pub cache: CachePolicy,
    /// Where the prompt's hidden states go, if they are wanted.
    pub hidden: Option<HiddenStates>,
    pub guide: Option<Guidance>,
    pub warnings: Vec<Warning>,
}

/// A sequence's guide, and when it begins to hold.
pub struct Guidance {
    pub guide: Box<Guide>,
    /// The output is free until this token has been said (the end of a model's thinking). `None`: the guide holds from the start.
    pub after: Option<u32>,
}

/// How a sequence uses the context cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachePolicy {
    /// Takes keys and values that others have computed.
    pub lookup: bool,
    pub commit: CacheCommit,
}

/// What of a sequence others may take over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheCommit {
    #[default]
    Nothing,
    Prompt,
    PromptAndOutput,
}

/// What became of a sequence.
#[derive(Clone, Debug)]
pub struct SequenceResult {
    /// Index of the sequence in its request.
    pub index: u32,
    /// Generated ids; the end-of-sequence token and tokens of a stop string are kept.
    pub output_ids: Vec<i32>,
    /// Generated text, ending before the stop string. Equals the joined chunks of the stream.
    pub text: String,
    pub finish_reason: FinishReason,
    /// One entry per output id where log-probabilities were asked for, else empty.
    pub logprobs: Logprobs,
    pub input_tokens: u32,
    /// Prompt tokens whose keys and values came from the cache.
    pub reused_tokens: u32,
    /// The settings that were in force, and where each came from.
    pub settings: Settings,
    /// Of the prompt, where they were asked for; fewer rows than it has tokens where the sequence ended before its end.
    pub hidden: Option<HiddenStates>,
    pub warnings: Vec<Warning>,
    /// Why, where the reason is `Error`.
    pub error: Option<Error>,
}

/// A sequence with or without a seat. A parked one keeps all but its pages.
pub struct Sequence {
    index: u32,
    /// Prompt, then output.
    tokens: Vec<u32>,
    prompt_len: u32,
    /// Positions whose keys and values are in the pages.
    kv_len: u32,
    settings: Settings,
    bias: Vec<(u32, f32)>,
    /// Kept only where a penalty is on.
    history: Option<TokenHistory>,
    end_tokens: Arc<[u32]>,
    output: Output,
    logprobs: Logprobs,
    stream: Option<StreamProducer>,
    on_token: Option<TokenCallback>,
    ropes: Vec<(RopeId, RopeTable)>,
    identity: CacheIdentity,
    cache: CachePolicy,
    /// Where its pages hang in the context cache; `None` without a seat.
    chain: Option<Chain>,
    reused: u32,
    /// `None` while the mask worker has it, too.
    guide: Option<Box<Guide>>,
    hidden: Option<HiddenStates>,
    guided: bool,
    guide_after: Option<u32>,
    warnings: Vec<Warning>,
    cancelled: bool,
    finished: Option<(FinishReason, Option<Error>)>,
}

/// Room for text is made up front for outputs of up to this many tokens; longer ones grow.
const RESERVED_OUTPUT: usize = 16 * 1024;

impl Sequence {
    pub(super) fn new(seed: Seed, tokenizer: &Tokenizer) -> Self {
        let Seed { index, prompt, settings, bias, end_tokens, stops, stream, on_token, ropes, identity, .. } = seed;
        let Seed { cache, hidden, guide, warnings, .. } = seed;
        let guided = guide.is_some();
        let (guide, guide_after) = guide.map_or((None, None), |g| (Some(g.guide), g.after));
        let expected = (settings.max_new_tokens as usize).min(RESERVED_OUTPUT);
        let history = settings.sampling.has_penalties().then(|| TokenHistory::from_prompt(&prompt, expected));
        let output = Output::new(tokenizer, &stops, settings.skip_special_tokens, 8 * expected);
        let logprobs = settings.num_logprobs.map_or_else(Logprobs::default, |k| Logprobs::with_capacity(expected, k as usize));
        let prompt_len = prompt.len() as u32;
        let mut tokens = prompt;
        tokens.reserve(expected);
        Sequence {
            index,
            tokens,
            prompt_len,
            kv_len: 0,
            settings,
            bias,
            history,
            end_tokens,
            output,
            logprobs,
            stream,
            on_token,
            ropes,
            identity,
            cache,
            chain: None,
            reused: 0,
            guide,
            hidden,
            guided,
            guide_after,
            warnings,
            cancelled: false,
            finished: None,
        }
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    /// Gives its stream back unused: it was never admitted.
    pub fn release(self: Box<Self>) {
        if let Some(stream) = self.stream {
            stream.release();
        }
    }

    /// Tokens whose keys and values are not in the pages yet; at least 1 until the sequence ends.
    pub(super) fn pending(&self) -> &[u32] {
        &self.tokens[self.kv_len as usize..]
    }

    pub(super) fn kv_len(&self) -> u32 {
        self.kv_len
    }

    pub(super) fn len(&self) -> u32 {
        self.tokens.len() as u32
    }

    pub(super) fn ropes(&self) -> &[(RopeId, RopeTable)] {
        &self.ropes
    }

    /// Whether it has yet to reach the end of its prompt (or, after parking, of what it had said).
    pub(super) fn is_prefilling(&self) -> bool {
        self.len() == self.prompt_len || self.pending().len() > 1
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled || self.stream.as_ref().is_some_and(StreamProducer::is_cancelled)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// Forgets its pages: they are about to be given back.
    pub(super) fn forget_pages(&mut self) {
        self.kv_len = 0;
        self.chain = None;
    }

    /// It has `seat` now, with no page in place: takes what the context cache has of it.
    pub(super) fn begin(&mut self, seat: u32, pages: &mut KvCache) {
        self.chain = Some(pages.chain(&self.identity));
        if self.cache.lookup {
            self.adopt(seat, pages);
            pages.count_lookup(self.kv_len > 0);
        }
    }

    /// Takes what the context cache has of it from where it is.
    pub(super) fn adopt(&mut self, seat: u32, pages: &mut KvCache) {
        let Some(chain) = self.chain.as_mut().filter(|_| self.cache.lookup) else { return };
        let length = pages.adopt(seat, chain, &self.tokens, self.kv_len);
        if self.tokens.len() as u32 == self.prompt_len {
            self.reused += length - self.kv_len;
        }
        self.kv_len = length;
    }

    /// `rows` more positions are in place; lets others have the pages that are full.
    pub(super) fn advance(&mut self, rows: u32, seat: u32, pages: &mut KvCache) {
        self.kv_len += rows;
        let upto = match self.cache.commit {
            CacheCommit::Nothing => 0,
            CacheCommit::Prompt => self.kv_len.min(self.prompt_len),
            CacheCommit::PromptAndOutput => self.kv_len,
        };
        if let Some(chain) = &mut self.chain {
            pages.publish(seat, chain, &self.identity, &self.tokens, upto);
        }
    }

    /// Of positions `from..to`, those whose hidden states are wanted, and the layer.
    pub(super) fn wanted_hidden(&self, from: u32, to: u32) -> Option<(u32, Range<u32>)> {
        let hidden = self.hidden.as_ref()?;
        // After parking, positions come again.
        let wanted = from.max(hidden.rows() as u32)..to.min(self.prompt_len);
        (!wanted.is_empty()).then_some((hidden.tap(), wanted))
    }

    pub(super) fn hidden_mut(&mut self) -> Option<&mut HiddenStates> {
        self.hidden.as_mut()
    }

    /// The page it is filling, as the context cache names it.
    pub(super) fn next_page<'a>(&'a self, pages: &KvCache) -> Option<(NodeId, &'a [u32])> {
        let chain = self.chain.as_ref().filter(|_| self.cache.lookup || self.cache.commit != CacheCommit::Nothing)?;
        pages.next_page(chain, &self.tokens, self.kv_len)
    }

    /// Whether another sequence that fills the same page will let this one have it.
    pub(super) fn would_take(&self) -> bool {
        self.cache.lookup
    }

    pub(super) fn publishes(&self) -> bool {
        self.cache.commit != CacheCommit::Nothing
    }

    pub(super) fn sample_row(&self, output: u32) -> SampleRow<'_> {
        SampleRow {
            output,
            params: self.settings.sampling,
            seed: self.settings.seed,
            draw: self.tokens.len() as u64,
            bias: &self.bias,
            counts: self.history.as_ref().map_or(&[], TokenHistory::counts),
            mask: self.holding_guide().map(Guide::mask),
            logprobs: self.settings.num_logprobs,
        }
    }

    /// The guide, where it holds for the next token.
    fn holding_guide(&self) -> Option<&Guide> {
        self.guide.as_deref().filter(|_| self.guide_after.is_none())
    }

    /// Lends the guide out to have its mask computed, where the next token needs one.
    pub(super) fn lend_guide(&mut self) -> Option<Box<Guide>> {
        self.holding_guide()?;
        self.guide.take()
    }

    pub(super) fn return_guide(&mut self, guide: Box<Guide>) {
        self.guide = Some(guide);
    }

    /// Tells the guide of a token, or waits for the token after which it holds.
    fn follow_guide(&mut self, token: u32) {
        match self.guide_after {
            Some(marker) if marker == token => self.guide_after = None,
            Some(_) => {}
            None => {
                if let Some(guide) = &mut self.guide {
                    guide.accept(token);
                }
            }
        }
    }

    /// Takes the token drawn for it and ends where that ends it. `true`: a token was added.
    pub(super) fn take(&mut self, sampled: &Sampled, tokenizer: &Tokenizer) -> bool {
        if let Some(fault) = sampled.fault {
            let position = self.tokens.len();
            let what = match (fault, self.guide.as_ref().and_then(|guide| guide.error())) {
                (SampleFault::NonFinite, _) => "non-finite logits",
                (SampleFault::NothingAllowed, Some(error)) => &format!("the guide allows no token ({error})"),
                (SampleFault::NothingAllowed, None) => "guide and logit bias leave no token to choose",
            };
            self.finish(tokenizer, FinishReason::Error, Some(Error::internal(format!("{what} at position {position}"))));
            return false;
        }
        if self.guided && self.guide.is_none() {
            let error = Error::internal("the guide of this sequence was lost");
            self.finish(tokenizer, FinishReason::Error, Some(error));
            return false;
        }
        let token = sampled.token;
        self.follow_guide(token);
        self.tokens.push(token);
        if let Some(history) = &mut self.history {
            history.push_output(token);
        }
        let logprobs = self.settings.num_logprobs.map(|_| TokenLogprobs { token, logprob: sampled.logprob, top: &sampled.top });
        if let Some(entry) = logprobs {
            self.logprobs.push(entry);
        }
        let stopped = self.output.push(tokenizer, token);
        let generated = self.tokens.len() as u32 - self.prompt_len;
        let ending = if stopped {
            Some(FinishReason::StopWords)
        } else if self.end_tokens.contains(&token) {
            Some(FinishReason::EndOfSequence)
        } else if generated >= self.settings.max_new_tokens {
            Some(FinishReason::MaxLength)
        } else {
            None
        };
        if let Some(stream) = &self.stream {
            stream.push(token, self.output.show(), logprobs);
        }
        if let Some(reason) = ending {
            self.finish(tokenizer, reason, None);
        }
        if let Some(callback) = &self.on_token {
            let info =
                TokenInfo { token_id: token, sequence: self.index, step: generated - 1, is_finished: self.finished.is_some() };
            self.cancelled |= !callback(&info);
        }
        true
    }

    /// Ends the sequence; the first reason stays. Text that was held back comes out. A stop string among it outranks the ends
    /// that a model or a limit sets, never a cancel or an error.
    pub(super) fn finish(&mut self, tokenizer: &Tokenizer, reason: FinishReason, error: Option<Error>) {
        if self.finished.is_some() {
            return;
        }
        let natural = matches!(reason, FinishReason::EndOfSequence | FinishReason::MaxLength);
        let reason = match reason {
            // The text has been cut already.
            FinishReason::StopWords => reason,
            _ if self.output.finish(tokenizer, natural) => FinishReason::StopWords,
            _ => reason,
        };
        if let Some(stream) = &mut self.stream {
            stream.finish(self.output.show(), reason);
        }
        self.finished = Some((reason, error));
    }

    /// What is left of it. A sequence that has not ended counts as cancelled.
    pub(super) fn into_result(mut self, tokenizer: &Tokenizer) -> SequenceResult {
        self.finish(tokenizer, FinishReason::Cancelled, None);
        let (finish_reason, error) = self.finished.take().unwrap_or_default();
        SequenceResult {
            index: self.index,
            output_ids: self.tokens[self.prompt_len as usize..].iter().map(|&t| t as i32).collect(),
            text: self.output.take_text(),
            finish_reason,
            logprobs: self.logprobs,
            input_tokens: self.prompt_len,
            reused_tokens: self.reused,
            settings: self.settings,
            hidden: self.hidden,
            warnings: self.warnings,
            error,
        }
    }
}
