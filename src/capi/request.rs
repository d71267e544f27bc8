//! `tactus_request_t`: a batch of sequences that are dispatched together.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use parking_lot::Mutex;

use super::args::{UserData, array, out, out_pointer, text};
use super::boundary::{Call, boundary, callback};
use super::channel::tactus_channel_t;
use super::handle::{self, Handle, Kind};
use crate::coordinator::{Input, Request, Sequence, SequenceOptions, json};
use crate::error::{Error, Result};

/// A batch of sequences with their options. A builder: it can be changed and dispatched again; a dispatch works with what it was
/// when the dispatch began.
///
/// Threads: any; calls on one request are serialised.
pub struct tactus_request_t {
    _opaque: [u8; 0],
}

pub(super) struct RequestBuilder(Mutex<Arc<Request>>);

impl Handle for tactus_request_t {
    const KIND: Kind = Kind::Request;
    type Object = RequestBuilder;
}

impl RequestBuilder {
    /// The request as it is now.
    pub(super) fn snapshot(&self) -> Arc<Request> {
        self.0.lock().clone()
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Request) -> Result<T>) -> Result<T> {
        change(Arc::make_mut(&mut self.0.lock()))
    }

    fn add(&self, input: Input) -> Result<i32> {
        self.change(|request| {
            let index = i32::try_from(request.sequences.len())
                .map_err(|_| Error::no_capacity(format!("{} sequences, the most a request can have", i32::MAX)))?;
            request.sequences.push(Sequence::new(input));
            Ok(index)
        })
    }
}

/// Stands for all sequences of a request, where a function takes an index: what is set there holds for sequences that do not say
/// otherwise themselves.
pub const TACTUS_ALL_SEQUENCES: i32 = -1;

/// Called for every generated token, on the thread that dispatches, after its text went to the sequence's channel: index of the
/// sequence in the request, token, number of the token in the output from 0, whether the sequence ends with it (1 or 0).
///
/// An answer other than 0 cancels the sequence. May call any function of this library; those that need the coordinator idle answer
/// BUSY, and destroying it here takes effect when the dispatch returns. Must not unwind or longjmp.
pub type tactus_token_callback_t =
    Option<unsafe extern "C" fn(sequence: i32, token_id: i32, step: i32, is_finished: i32, user_data: *mut c_void) -> i32>;

/// Sequence `index` of a request.
pub(super) fn sequence_mut(request: &mut Request, index: i32) -> Result<&mut Sequence> {
    let count = request.sequences.len();
    usize::try_from(index)
        .ok()
        .and_then(|at| request.sequences.get_mut(at))
        .ok_or_else(|| Error::invalid(format!("sequence: {index}, expected less than {count}, the sequences of the request")))
}

/// Changes the options of one sequence, or those of the request.
pub(super) fn change_options(
    call: &Call,
    request: *mut tactus_request_t,
    sequence: i32,
    change: impl FnOnce(&mut SequenceOptions) -> Result<()>,
) -> Result<()> {
    call.get(request, "request")?.change(|request| match sequence {
        TACTUS_ALL_SEQUENCES => change(&mut request.defaults),
        index => change(&mut sequence_mut(request, index)?.options),
    })
}

/// Makes a request without sequences. `*out_request` is owned by the caller: give it back with tactus_request_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_create(out_request: *mut *mut tactus_request_t) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_request, "out_request") }?;
        out.set(handle::give(RequestBuilder(Mutex::default()))?);
        Ok(())
    })
}

/// Makes a request from JSON, in the OpenAI chat shape plus our fields.
///
/// One sequence: "messages", or "text", or "ids". Several: "sequences", an array of objects with one of these each and options of
/// their own. Options, at the top for all sequences or inside one: "temperature", "top_p", "top_k", "min_p", "repetition_penalty",
/// "presence_penalty", "frequency_penalty", "max_tokens", "seed", "stop", "logprobs" with "top_logprobs" (or "num_logprobs"),
/// "logit_bias", "extra_eos_ids", "ignore_eos", "apply_chat_template", "add_generation_prompt", "enable_thinking", "tools",
/// "template_variables", "template_name", "skip_special_tokens", "plain_content", "cache_bypass", "cache_commit" "all" or "prompt",
/// "cache_salt", "save_system_prompt", "hidden_layer", "response_format" as OpenAI has it, or "guide", an object with one of
/// "json_object", "json_schema", "regex", "grammar", "choice". "model" is accepted and has no effect; "n" must be
/// 1 and "stream" false: a channel streams. camelCase spellings are accepted. Other keys are refused by name.
///
/// Ownership as tactus_request_create. Errors: INVALID_ARGUMENT naming the key; UNSUPPORTED for content that is not text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_from_json(
    json: *const c_char,
    json_len: usize,
    out_request: *mut *mut tactus_request_t,
) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let (out, json) = unsafe { (out_pointer(out_request, "out_request")?, text(json, json_len, "json")?) };
        let request = json::request_from_json(json)?;
        out.set(handle::give(RequestBuilder(Mutex::new(Arc::new(request))))?);
        Ok(())
    })
}

/// Frees the request. Null is fine. A dispatch of it that is running goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_destroy(request: *mut tactus_request_t) -> i32 {
    boundary(|_| handle::take(request, "request").map(drop))
}

/// The number of sequences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_sequence_count(request: *const tactus_request_t, out_count: *mut usize) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(request, "request")?.snapshot().sequences.len());
        Ok(())
    })
}

/// Adds a sequence that is a chat; the tactus_request_add_message functions give it messages. `*out_sequence` is its index, counted
/// from 0 in the order of adding; `out_sequence` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_chat(request: *mut tactus_request_t, out_sequence: *mut i32) -> i32 {
    // SAFETY: the contract of the ABI.
    boundary(|call| unsafe { add(call, request, Input::Messages(Vec::new()), out_sequence) })
}

/// Adds a sequence that goes on from `prompt`, encoded as it is: control tokens in it are control tokens, and a BOS comes before it
/// where the model's tokenizer puts one. `out_sequence` as in tactus_request_add_chat.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_text(
    request: *mut tactus_request_t,
    prompt: *const c_char,
    prompt_len: usize,
    out_sequence: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let prompt = unsafe { text(prompt, prompt_len, "prompt") }?;
        // SAFETY: as above.
        unsafe { add(call, request, Input::Text(prompt.to_string()), out_sequence) }
    })
}

/// Adds a sequence that goes on from `count` token ids, fed as they are. `out_sequence` as in tactus_request_add_chat. An id that the
/// model does not have is refused when the request is dispatched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_ids(
    request: *mut tactus_request_t,
    ids: *const i32,
    count: usize,
    out_sequence: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let ids = unsafe { array(ids, count, "ids") }?;
        // SAFETY: as above.
        unsafe { add(call, request, Input::Ids(ids.to_vec()), out_sequence) }
    })
}

unsafe fn add(call: &Call, request: *mut tactus_request_t, input: Input, out_sequence: *mut i32) -> Result<()> {
    let index = call.get(request, "request")?.add(input)?;
    // SAFETY: null, or the caller's place for a number.
    if let Some(out) = unsafe { out_sequence.as_mut() } {
        *out = index;
    }
    Ok(())
}

/// Attaches `channel` to a sequence, instead of the one before; null takes it off. A channel serves one sequence once: attaching a
/// used one is refused when the request is dispatched (STATE).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_channel(
    request: *mut tactus_request_t,
    sequence: i32,
    channel: *mut tactus_channel_t,
) -> i32 {
    boundary(|call| {
        let request = call.get(request, "request")?;
        let channel = if channel.is_null() { None } else { Some(call.get(channel, "channel")?.stream().clone()) };
        request.change(|request| {
            sequence_mut(request, sequence)?.stream = channel;
            Ok(())
        })
    })
}

/// Calls `token_callback` for every generated token of every sequence, instead of the callback before; null ends that. The polling
/// alternative is a channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_token_callback(
    request: *mut tactus_request_t,
    token_callback: tactus_token_callback_t,
    user_data: *mut c_void,
) -> i32 {
    boundary(|call| {
        let user_data = UserData(user_data);
        let on_token = token_callback.map(|function| -> crate::rank::TokenCallback {
            Arc::new(move |token| {
                let user_data: UserData = user_data;
                let (sequence, id, step) = (token.sequence as i32, token.token_id as i32, token.step as i32);
                // SAFETY: the host's function, under the contract it was registered with.
                callback(|| unsafe { function(sequence, id, step, i32::from(token.is_finished), user_data.0) }) == 0
            })
        });
        call.get(request, "request")?.change(|request| {
            request.on_token = on_token;
            Ok(())
        })
    })
}
