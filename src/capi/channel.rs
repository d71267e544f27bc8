//! `tactus_channel_t`: one sequence's text as it is generated.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::args::{TextZ, flag, out, out_pointer, out_span};
use super::boundary::{boundary, predicate};
use super::handle::{self, Handle, Kind};
use super::logprobs::{FlatLogprobs, LogprobOut};
use crate::error::{Error, Result, Status};
use crate::rank::{StreamChannel, StreamChunk};

/// Carries one sequence's tokens and text to the host while a dispatch runs. Attached to one sequence of one request, once, with
/// tactus_request_set_channel. (Not a CUDA stream.)
///
/// Threads: one thread at a time pops and reads the chunk; cancel, is_finished and reason are for any thread at any time. Popping
/// on the thread that dispatches is fine before and after the dispatch, and inside its callbacks.
pub struct tactus_channel_t {
    _opaque: [u8; 0],
}

pub(super) struct Channel {
    stream: Arc<StreamChannel>,
    current: Mutex<Current>,
}

/// The chunk popped last, as C reads it. Its buffers are reused.
#[derive(Default)]
struct Current {
    chunk: StreamChunk,
    ids: Vec<i32>,
    text: TextZ,
    logprobs: FlatLogprobs,
}

impl Handle for tactus_channel_t {
    const KIND: Kind = Kind::Channel;
    type Object = Channel;
}

impl Channel {
    pub(super) fn stream(&self) -> &Arc<StreamChannel> {
        &self.stream
    }

    fn show(&self, chunk: StreamChunk) {
        let mut current = self.current.lock();
        current.ids.clear();
        current.ids.extend(chunk.token_ids.iter().map(|&id| id as i32));
        current.text.replace(&chunk.text);
        current.logprobs.fill(&chunk.logprobs);
        let before = std::mem::replace(&mut current.chunk, chunk);
        drop(current);
        self.stream.recycle(before);
    }

    /// Waits in slices, so that a channel whose request is destroyed unused is noticed.
    fn wait(&self, timeout: Option<Duration>) -> Result<StreamChunk> {
        const SLICE: Duration = Duration::from_millis(100);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(chunk) = self.stream.try_pop() {
                return Ok(chunk);
            }
            if !self.stream.is_finished() && Arc::strong_count(&self.stream) == 1 {
                return Err(Error::state("the channel is not attached to a request: nothing can arrive"));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match self.stream.wait_pop(left.map_or(SLICE, |left| left.min(SLICE))) {
                Err(error) if error.status() == Status::Timeout && left.is_none_or(|left| left > SLICE) => {}
                Err(error) if error.status() == Status::Timeout => {
                    return Err(Error::timeout(format!("no chunk within {} ms", timeout.unwrap_or_default().as_millis())));
                }
                outcome => return outcome,
            }
        }
    }
}

/// Makes a channel. `*out_channel` is owned by the caller: give it back with tactus_channel_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_create(out_channel: *mut *mut tactus_channel_t) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_channel, "out_channel") }?;
        out.set(handle::give(Channel { stream: StreamChannel::new(), current: Mutex::default() })?);
        Ok(())
    })
}

/// Frees the channel, whatever it still holds. Null is fine. A sequence it is attached to goes on without it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_destroy(channel: *mut tactus_channel_t) -> i32 {
    boundary(|_| handle::take(channel, "channel").map(drop))
}

/// Sets how many tokens make a chunk: 1 or more, 1 where never set. Takes effect with the next token. Errors: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_set_interval(channel: *mut tactus_channel_t, tokens: i32) -> i32 {
    boundary(|call| {
        let channel = call.get(channel, "channel")?;
        match u32::try_from(tokens) {
            Ok(tokens) => channel.stream.set_interval(tokens),
            Err(_) => Err(Error::invalid(format!("tokens: {tokens}, expected 1 or more"))),
        }
    })
}

/// Sets whether special tokens are left out of the text (1) or not (0), instead of what the sequence's options say. Read when the
/// request is dispatched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_set_skip_special_tokens(channel: *mut tactus_channel_t, skip: i32) -> i32 {
    boundary(|call| {
        call.get(channel, "channel")?.stream.set_skip_special_tokens(flag(skip, "skip")?);
        Ok(())
    })
}

/// Takes the next chunk, if one waits; the tactus_channel_chunk_* functions then read it. `*out_popped` is 1 where there was one,
/// else 0 and the chunk before is still there. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_try_pop(channel: *mut tactus_channel_t, out_popped: *mut i32) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_popped, "out_popped") }?;
        let channel = call.get(channel, "channel")?;
        let chunk = channel.stream.try_pop();
        out.set(i32::from(chunk.is_some()));
        if let Some(chunk) = chunk {
            channel.show(chunk);
        }
        Ok(())
    })
}

/// Takes the next chunk, waiting up to `timeout_ms` milliseconds for it (for ever where that is negative); the
/// tactus_channel_chunk_* functions then read it.
///
/// The last chunk, which says so, always comes, after a cancel or an error too. Errors: TIMEOUT; STATE at once where the last chunk
/// has been taken, or where the channel is attached to no request. Not on the thread that dispatches: what it waits for could not
/// be produced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_wait_pop(channel: *mut tactus_channel_t, timeout_ms: i64) -> i32 {
    boundary(|call| {
        let channel = call.get(channel, "channel")?;
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let chunk = channel.wait(timeout)?;
        channel.show(chunk);
        Ok(())
    })
}

/// Ends the sequence as cancelled, within one step. Repeated and late cancels do nothing. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_cancel(channel: *mut tactus_channel_t) -> i32 {
    boundary(|call| {
        call.get(channel, "channel")?.stream.cancel();
        Ok(())
    })
}

/// 1 where the last chunk has been produced; it may still wait to be popped. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_is_finished(channel: *const tactus_channel_t) -> i32 {
    predicate(|call| Ok(call.get(channel, "channel")?.stream.is_finished()))
}

/// Why the sequence ended, a TACTUS_FINISH_* constant; TACTUS_FINISH_NOT_FINISHED before. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_reason(channel: *const tactus_channel_t, out_reason: *mut i32) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_reason, "out_reason") }?;
        out.set(call.get(channel, "channel")?.stream.reason() as i32);
        Ok(())
    })
}

/// The text of the chunk popped last: whole characters only, perhaps none. The texts of all chunks joined are the response's text.
///
/// Lives until the next pop or the channel is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_chunk_text(
    channel: *const tactus_channel_t,
    out_text: *mut *const c_char,
    out_text_len: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_text, out_text_len, ("out_text", "out_text_len")) }?;
        out.set_text(&call.get(channel, "channel")?.current.lock().text);
        Ok(())
    })
}

/// The token ids of the chunk popped last. Live until the next pop or the channel is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_chunk_ids(
    channel: *const tactus_channel_t,
    out_ids: *mut *const i32,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_ids, out_count, ("out_ids", "out_count")) }?;
        out.set(&call.get(channel, "channel")?.current.lock().ids);
        Ok(())
    })
}

/// Whether the chunk popped last is the stream's last (`*out_finished` 1 or 0), and with which TACTUS_FINISH_* reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_chunk_finish(
    channel: *const tactus_channel_t,
    out_finished: *mut i32,
    out_reason: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (finished, reason) = unsafe { (out(out_finished, "out_finished")?, out(out_reason, "out_reason")?) };
        let channel = call.get(channel, "channel")?;
        let current = channel.current.lock();
        finished.set(i32::from(current.chunk.finished));
        reason.set(current.chunk.reason as i32);
        Ok(())
    })
}

/// Log-probabilities of token `position` of the chunk popped last, where they were asked for: of the token itself, and of the most
/// probable tokens, descending. Natural log at temperature 1, from raw logits. The arrays live until the next pop or the channel is
/// destroyed.
///
/// Errors: INVALID_ARGUMENT where the chunk has no log-probabilities at `position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_channel_chunk_logprobs(
    channel: *const tactus_channel_t,
    position: usize,
    out_logprob: *mut f32,
    out_top_ids: *mut *const i32,
    out_top_logprobs: *mut *const f32,
    out_top_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { LogprobOut::new(out_logprob, out_top_ids, out_top_logprobs, out_top_count) }?;
        let channel = call.get(channel, "channel")?;
        let current = channel.current.lock();
        out.set(&current.logprobs, position)
    })
}
