//! A channel that carries one sequence's text to the host as it is generated.
//!
//! One producer (the step), one consumer (the host), any number of cancellers. Chunks are never dropped; the last one carries the
//! finish reason and is always delivered, after a cancel as well. The joined texts of the chunks are the response's text.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::{Logprobs, TokenLogprobs};
use crate::decoding::FinishReason;
use crate::error::{Error, Result};

/// What was generated since the chunk before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamChunk {
    pub token_ids: Vec<u32>,
    /// Whole characters only. May be empty while text is held back for a stop string or an unfinished character.
    pub text: String,
    /// One per token where log-probabilities were asked for.
    pub logprobs: Logprobs,
    /// This is the last chunk.
    pub finished: bool,
    pub reason: FinishReason,
}

/// Bytes made room for in a chunk's text, more than nearly every token has.
const CHUNK_ROOM: usize = 128;

impl StreamChunk {
    fn empty() -> Self {
        StreamChunk { text: String::with_capacity(CHUNK_ROOM), ..StreamChunk::default() }
    }
}

/// See the module's documentation. Created by the host, attached to one sequence of one request.
pub struct StreamChannel {
    state: Mutex<State>,
    arrived: Condvar,
    cancelled: AtomicBool,
    attached: AtomicBool,
    interval: AtomicU32,
    skip_special: AtomicU32,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<StreamChunk>,
    /// Tokens gathered for the next chunk, until the interval is full.
    pending: StreamChunk,
    reason: FinishReason,
    finished: bool,
    /// Chunks handed back for their capacity.
    spare: Vec<StreamChunk>,
}

const SKIP_UNSET: u32 = 2;

impl StreamChannel {
    pub fn new() -> Arc<Self> {
        Arc::new(StreamChannel {
            state: Mutex::new(State { pending: StreamChunk::empty(), ..State::default() }),
            arrived: Condvar::new(),
            cancelled: AtomicBool::new(false),
            attached: AtomicBool::new(false),
            interval: AtomicU32::new(1),
            skip_special: AtomicU32::new(SKIP_UNSET),
        })
    }

    /// Tokens per chunk, at least 1 (the default). Takes effect with the next token.
    pub fn set_interval(&self, tokens: u32) -> Result<()> {
        if tokens == 0 {
            return Err(Error::invalid("stream interval: 0, expected at least 1 token"));
        }
        self.interval.store(tokens, Ordering::Relaxed);
        Ok(())
    }

    pub fn interval(&self) -> u32 {
        self.interval.load(Ordering::Relaxed)
    }

    /// Overrides the sequence's `skip_special_tokens`. Read when the request is dispatched.
    pub fn set_skip_special_tokens(&self, skip: bool) {
        self.skip_special.store(u32::from(skip), Ordering::Relaxed);
    }

    pub fn skip_special_tokens(&self) -> Option<bool> {
        match self.skip_special.load(Ordering::Relaxed) {
            SKIP_UNSET => None,
            skip => Some(skip != 0),
        }
    }

    /// Ends the sequence with [`FinishReason::Cancelled`] at its next step. Any thread; repeated or late calls do nothing.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Whether the last chunk has been produced (it may still wait to be popped).
    pub fn is_finished(&self) -> bool {
        self.state.lock().finished
    }

    /// Why the sequence ended; `NotFinished` before.
    pub fn reason(&self) -> FinishReason {
        self.state.lock().reason
    }

    /// The next chunk, if one waits.
    pub fn try_pop(&self) -> Option<StreamChunk> {
        self.state.lock().chunks.pop_front()
    }

    /// The next chunk, waiting up to `timeout` for it.
    ///
    /// Errors: TIMEOUT where none came; STATE where the last chunk has been taken, or nothing is attached that could produce one.
    pub fn wait_pop(&self, timeout: Duration) -> Result<StreamChunk> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.state.lock();
        loop {
            if let Some(chunk) = state.chunks.pop_front() {
                return Ok(chunk);
            }
            if state.finished {
                return Err(Error::state("the stream's last chunk has been taken"));
            }
            let timed_out = match deadline {
                Some(deadline) => self.arrived.wait_until(&mut state, deadline).timed_out(),
                None => {
                    self.arrived.wait(&mut state);
                    false
                }
            };
            if timed_out && state.chunks.is_empty() && !state.finished {
                return Err(Error::timeout(format!("no chunk within {} ms", timeout.as_millis())));
            }
        }
    }

    /// Gives a popped chunk's buffers back, so that a steady stream allocates nothing.
    pub fn recycle(&self, mut chunk: StreamChunk) {
        chunk.token_ids.clear();
        chunk.text.clear();
        chunk.logprobs.clear();
        chunk.finished = false;
        chunk.reason = FinishReason::NotFinished;
        let mut state = self.state.lock();
        if state.spare.len() < 4 {
            state.spare.push(chunk);
        }
    }

    /// Claims the channel for a sequence. Errors: STATE where it has served one already.
    pub fn attach(self: &Arc<Self>) -> Result<StreamProducer> {
        if self.attached.swap(true, Ordering::AcqRel) {
            return Err(Error::state("the stream channel has been used by another sequence; a channel serves one"));
        }
        Ok(StreamProducer { channel: Arc::downgrade(self), done: false })
    }

    /// Takes an unused claim back: the request was refused before anything ran.
    fn detach(&self) {
        self.attached.store(false, Ordering::Release);
    }
}

/// The producing end. Dropped without [`finish`](StreamProducer::finish) it ends the stream as cancelled, so that no consumer
/// waits for ever. The host's end may be gone: then chunks go nowhere.
pub struct StreamProducer {
    channel: Weak<StreamChannel>,
    done: bool,
}

impl StreamProducer {
    pub fn is_cancelled(&self) -> bool {
        self.channel.upgrade().is_some_and(|c| c.is_cancelled())
    }

    /// Adds a token and newly shown text; a chunk goes out when the interval is full.
    pub fn push(&self, token: u32, text: &str, logprobs: Option<TokenLogprobs<'_>>) {
        let Some(channel) = self.channel.upgrade() else { return };
        let mut state = channel.state.lock();
        let pending = &mut state.pending;
        pending.token_ids.push(token);
        pending.text.push_str(text);
        if let Some(logprobs) = logprobs {
            pending.logprobs.push(logprobs);
        }
        if pending.token_ids.len() >= channel.interval() as usize {
            state.flush();
            channel.arrived.notify_one();
        }
    }

    /// Sends the last chunk.
    pub fn finish(&mut self, rest: &str, reason: FinishReason) {
        self.done = true;
        let Some(channel) = self.channel.upgrade() else { return };
        let mut state = channel.state.lock();
        state.pending.text.push_str(rest);
        state.pending.finished = true;
        state.pending.reason = reason;
        state.reason = reason;
        state.finished = true;
        state.flush();
        channel.arrived.notify_all();
    }

    /// Gives the channel back unused.
    pub fn release(mut self) {
        self.done = true;
        if let Some(channel) = self.channel.upgrade() {
            channel.detach();
        }
    }
}

impl Drop for StreamProducer {
    fn drop(&mut self) {
        if !self.done {
            self.finish("", FinishReason::Cancelled);
        }
    }
}

impl State {
    fn flush(&mut self) {
        let empty = self.spare.pop().unwrap_or_else(StreamChunk::empty);
        let chunk = std::mem::replace(&mut self.pending, empty);
        self.chunks.push_back(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_is_delivered_after_a_cancel() {
        let channel = StreamChannel::new();
        let mut producer = channel.attach().unwrap();
        producer.push(3, "a", None);
        channel.cancel();
        assert!(producer.is_cancelled());
        producer.finish("", FinishReason::Cancelled);
        assert_eq!(channel.try_pop().unwrap().text, "a");
        let last = channel.try_pop().unwrap();
        assert!(last.finished && last.reason == FinishReason::Cancelled);
        assert_eq!(channel.wait_pop(Duration::ZERO).unwrap_err().status(), crate::Status::State);
    }

    #[test]
    fn a_channel_serves_one_sequence() {
        let channel = StreamChannel::new();
        channel.attach().unwrap().release();
        let producer = channel.attach().unwrap();
        assert_eq!(channel.attach().err().unwrap().status(), crate::Status::State);
        drop(producer);
        assert!(channel.is_finished());
        assert_eq!(channel.reason(), FinishReason::Cancelled);
    }

    #[test]
    fn chunks_hold_as_many_tokens_as_the_interval_says() {
        let channel = StreamChannel::new();
        assert!(channel.set_interval(0).is_err());
        channel.set_interval(2).unwrap();
        let mut producer = channel.attach().unwrap();
        for (token, text) in [(1, "a"), (2, ""), (3, "b")] {
            producer.push(token, text, None);
        }
        producer.finish("c", FinishReason::MaxLength);
        let chunks: Vec<_> = std::iter::from_fn(|| channel.try_pop()).collect();
        assert_eq!(chunks.iter().map(|c| c.token_ids.clone()).collect::<Vec<_>>(), [vec![1, 2], vec![3]]);
        assert_eq!(chunks.iter().map(|c| c.text.as_str()).collect::<String>(), "abc");
    }

    #[test]
    fn a_dropped_consumer_does_not_disturb_the_producer() {
        let channel = StreamChannel::new();
        let mut producer = channel.attach().unwrap();
        drop(channel);
        producer.push(1, "a", None);
        producer.finish("", FinishReason::EndOfSequence);
    }
}
