//! `tactus_response_t`: what became of each sequence of a request.

use std::ffi::c_char;
use std::sync::Arc;

use super::args::{TextZ, choice, out, out_pointer, out_span};
use super::boundary::{Call, boundary};
use super::error::write_capacity;
use super::handle::{self, Handle, Kind};
use super::logprobs::{FlatLogprobs, LogprobOut};
use super::string::{give_text, tactus_string_t};
use crate::coordinator::{Response, Timings, json};
use crate::decoding::{SettingSource, Settings};
use crate::error::{Error, Result, Status};
use crate::rank::SequenceResult;
use crate::text::Tokenizer;

/// The results of one dispatch: its sequences in the request's order. Immutable; everything borrowed from it lives until it is
/// destroyed. Threads: any.
pub struct tactus_response_t {
    _opaque: [u8; 0],
}

pub(super) struct ResponseObject {
    response: Response,
    /// For the texts of tokens. Not the whole model: a response must not keep that in memory.
    tokenizer: Arc<Tokenizer>,
    shown: Vec<Shown>,
}

/// What C reads as NUL-terminated text or plain arrays.
struct Shown {
    text: TextZ,
    logprobs: FlatLogprobs,
    warnings: Vec<TextZ>,
    error: TextZ,
}

impl Handle for tactus_response_t {
    const KIND: Kind = Kind::Response;
    type Object = ResponseObject;
}

impl ResponseObject {
    pub(super) fn new(response: Response, tokenizer: Arc<Tokenizer>) -> Self {
        let shown = response.sequences.iter().map(Shown::new).collect();
        ResponseObject { response, tokenizer, shown }
    }

    pub(super) fn result(&self, index: i32) -> Result<&SequenceResult> {
        self.at(index).map(|(result, _)| result)
    }

    /// A response of one result of the same model.
    pub(super) fn with(&self, result: SequenceResult) -> Self {
        ResponseObject::new(Response { sequences: vec![result], timings: None }, self.tokenizer.clone())
    }

    fn at(&self, index: i32) -> Result<(&SequenceResult, &Shown)> {
        let at = usize::try_from(index).ok();
        at.and_then(|at| Some((self.response.sequences.get(at)?, self.shown.get(at)?))).ok_or_else(|| {
            let count = self.shown.len();
            Error::invalid(format!("sequence: {index}, expected less than {count}, the sequences of the response"))
        })
    }
}

impl Shown {
    fn new(result: &SequenceResult) -> Self {
        let mut logprobs = FlatLogprobs::default();
        logprobs.fill(&result.logprobs);
        Shown {
            text: TextZ::new(result.text.as_str()),
            logprobs,
            warnings: result.warnings.iter().map(|w| TextZ::new(w.to_string())).collect(),
            error: TextZ::new(result.error.as_ref().map_or("", |e| e.message())),
        }
    }
}

/// The sequence has not ended.
pub const TACTUS_FINISH_NOT_FINISHED: i32 = 0;
/// The model ended it.
pub const TACTUS_FINISH_END_OF_SEQUENCE: i32 = 1;
/// It reached its limit, or the end of the context.
pub const TACTUS_FINISH_MAX_LENGTH: i32 = 2;
/// A channel, a callback or the end of the coordinator stopped it.
pub const TACTUS_FINISH_CANCELLED: i32 = 3;
/// It failed: tactus_response_error says why.
pub const TACTUS_FINISH_ERROR: i32 = 4;
/// A stop string ended it.
pub const TACTUS_FINISH_STOP_WORDS: i32 = 5;

/// The setting was in the request.
pub const TACTUS_SOURCE_REQUEST: i32 = 0;
/// The model's own recommendation.
pub const TACTUS_SOURCE_MODEL: i32 = 1;
/// Neither said anything.
pub const TACTUS_SOURCE_DEFAULT: i32 = 2;

/// Temperature in force.
pub const TACTUS_SETTING_TEMPERATURE: i32 = 0;
/// Top-k in force; 0: off.
pub const TACTUS_SETTING_TOP_K: i32 = 1;
/// Top-p in force.
pub const TACTUS_SETTING_TOP_P: i32 = 2;
/// Min-p in force.
pub const TACTUS_SETTING_MIN_P: i32 = 3;
/// Repetition penalty in force.
pub const TACTUS_SETTING_REPETITION_PENALTY: i32 = 4;
/// Presence penalty in force. Its source is the request or the default.
pub const TACTUS_SETTING_PRESENCE_PENALTY: i32 = 5;
/// Frequency penalty in force. Its source is the request or the default.
pub const TACTUS_SETTING_FREQUENCY_PENALTY: i32 = 6;

/// Seconds spent on templates and tokenising.
pub const TACTUS_TIMING_PREPARE_SECONDS: i32 = 0;
/// Seconds in steps that ran prompt tokens.
pub const TACTUS_TIMING_PREFILL_SECONDS: i32 = 1;
/// Seconds in steps that only decoded.
pub const TACTUS_TIMING_DECODE_SECONDS: i32 = 2;
/// Seconds from the dispatch to the first generated token.
pub const TACTUS_TIMING_FIRST_TOKEN_SECONDS: i32 = 3;
/// Seconds from the dispatch to its end.
pub const TACTUS_TIMING_TOTAL_SECONDS: i32 = 4;
/// Prompt tokens run.
pub const TACTUS_TIMING_PREFILL_TOKENS: i32 = 5;
/// Tokens generated in steps that only decoded.
pub const TACTUS_TIMING_DECODE_TOKENS: i32 = 6;
/// Steps run.
pub const TACTUS_TIMING_STEPS: i32 = 7;
/// From the end of preparation until the last of the request's sequences had a seat, in seconds.
pub const TACTUS_TIMING_QUEUE_SECONDS: i32 = 8;
/// Prompt tokens whose keys and values came from the context cache.
pub const TACTUS_TIMING_REUSED_TOKENS: i32 = 9;

/// The name of a finish reason, such as "end-of-sequence"; "unknown" for other numbers. NUL-terminated, valid for ever. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_finish_reason_name(reason: i32) -> *const c_char {
    let name = match reason {
        TACTUS_FINISH_NOT_FINISHED => c"not-finished",
        TACTUS_FINISH_END_OF_SEQUENCE => c"end-of-sequence",
        TACTUS_FINISH_MAX_LENGTH => c"max-length",
        TACTUS_FINISH_CANCELLED => c"cancelled",
        TACTUS_FINISH_ERROR => c"error",
        TACTUS_FINISH_STOP_WORDS => c"stop-words",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// Frees the response. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_destroy(response: *mut tactus_response_t) -> i32 {
    boundary(|_| handle::take(response, "response").map(drop))
}

/// The number of sequences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_sequence_count(response: *const tactus_response_t, out_count: *mut usize) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(response, "response")?.shown.len());
        Ok(())
    })
}

/// The generated text, ending before the stop string where one ended it.
///
/// `sequence`, here and below: the sequence's index in the request. Errors, here and below: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_text(
    response: *const tactus_response_t,
    sequence: i32,
    out_text: *mut *const c_char,
    out_text_len: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_text, out_text_len, ("out_text", "out_text_len")) }?;
        out.set_text(&call.get(response, "response")?.at(sequence)?.1.text);
        Ok(())
    })
}

/// The generated token ids; the end-of-sequence token and the tokens of a stop string are among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_output_ids(
    response: *const tactus_response_t,
    sequence: i32,
    out_ids: *mut *const i32,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_ids, out_count, ("out_ids", "out_count")) }?;
        out.set(&call.get(response, "response")?.at(sequence)?.0.output_ids);
        Ok(())
    })
}

/// The hidden states of the prompt, `[*out_rows, *out_width]`, f32, row after row: a row for each prompt token, `width` the model's hidden
/// size; fewer rows where the sequence ended before its prompt did. The memory is the response's. Errors: STATE where they were not
/// asked for (tactus_request_set_hidden_layer).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_hidden_states(
    response: *const tactus_response_t,
    sequence: i32,
    out_values: *mut *const f32,
    out_rows: *mut usize,
    out_width: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (values, rows, width) =
            unsafe { (out(out_values, "out_values")?, out(out_rows, "out_rows")?, out(out_width, "out_width")?) };
        let response = call.get(response, "response")?;
        let hidden = response.at(sequence)?.0.hidden.as_ref();
        let hidden = hidden.ok_or_else(|| Error::state("hidden states were not asked for: hidden_layer was not set"))?;
        values.set(hidden.values().as_ptr());
        rows.set(hidden.rows());
        width.set(hidden.width());
        Ok(())
    })
}

/// Why the sequence ended, a TACTUS_FINISH_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_finish_reason(
    response: *const tactus_response_t,
    sequence: i32,
    out_reason: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_reason, "out_reason") }?;
        out.set(call.get(response, "response")?.at(sequence)?.0.finish_reason as i32);
        Ok(())
    })
}

/// Tokens of the prompt, and how many of them were not run because their keys and values were still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_input_tokens(
    response: *const tactus_response_t,
    sequence: i32,
    out_input: *mut u32,
    out_reused: *mut u32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (input, reused) = unsafe { (out(out_input, "out_input")?, out(out_reused, "out_reused")?) };
        let response = call.get(response, "response")?;
        let result = response.at(sequence)?.0;
        input.set(result.input_tokens);
        reused.set(result.reused_tokens);
        Ok(())
    })
}

/// The number of output positions that have log-probabilities: that of the output ids where they were asked for, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_logprob_count(
    response: *const tactus_response_t,
    sequence: i32,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(response, "response")?.at(sequence)?.1.logprobs.len());
        Ok(())
    })
}

/// Log-probabilities at output position `position`: of the generated token, and of the most probable tokens, descending. Natural log at
/// temperature 1, from raw logits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_logprobs(
    response: *const tactus_response_t,
    sequence: i32,
    position: usize,
    out_logprob: *mut f32,
    out_top_ids: *mut *const i32,
    out_top_logprobs: *mut *const f32,
    out_top_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { LogprobOut::new(out_logprob, out_top_ids, out_top_logprobs, out_top_count) }?;
        out.set(&call.get(response, "response")?.at(sequence)?.1.logprobs, position)
    })
}

/// The seed in use, and whether the request gave it (`*out_given` 1) or it was drawn (0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_seed(
    response: *const tactus_response_t,
    sequence: i32,
    out_seed: *mut u64,
    out_given: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (seed, given) = unsafe { (out(out_seed, "out_seed")?, out(out_given, "out_given")?) };
        let response = call.get(response, "response")?;
        let settings = &response.at(sequence)?.0.settings;
        seed.set(settings.seed);
        given.set(i32::from(settings.seed_given));
        Ok(())
    })
}

/// The limit of output tokens in force, after it was lowered to what fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_max_generate_length(
    response: *const tactus_response_t,
    sequence: i32,
    out_tokens: *mut u32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_tokens, "out_tokens") }?;
        out.set(call.get(response, "response")?.at(sequence)?.0.settings.max_new_tokens);
        Ok(())
    })
}

/// A sampling setting in force and where it came from: `setting` is a TACTUS_SETTING_* constant, `*out_source` a TACTUS_SOURCE_* one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_setting(
    response: *const tactus_response_t,
    sequence: i32,
    setting: i32,
    out_value: *mut f64,
    out_source: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (value, source) = unsafe { (out(out_value, "out_value")?, out(out_source, "out_source")?) };
        let response = call.get(response, "response")?;
        let read = choice(setting, "setting", SETTINGS)?;
        let (setting, from) = read(&response.at(sequence)?.0.settings);
        value.set(setting);
        source.set(match from {
            SettingSource::Request => TACTUS_SOURCE_REQUEST,
            SettingSource::Model => TACTUS_SOURCE_MODEL,
            SettingSource::Default => TACTUS_SOURCE_DEFAULT,
        });
        Ok(())
    })
}

type ReadSetting = fn(&Settings) -> (f64, SettingSource);

const SETTINGS: &[(i32, &str, ReadSetting)] = &[
    (TACTUS_SETTING_TEMPERATURE, "TACTUS_SETTING_TEMPERATURE", |s| (s.sampling.temperature.into(), s.temperature_source)),
    (TACTUS_SETTING_TOP_K, "TACTUS_SETTING_TOP_K", |s| (s.sampling.top_k.into(), s.top_k_source)),
    (TACTUS_SETTING_TOP_P, "TACTUS_SETTING_TOP_P", |s| (s.sampling.top_p.into(), s.top_p_source)),
    (TACTUS_SETTING_MIN_P, "TACTUS_SETTING_MIN_P", |s| (s.sampling.min_p.into(), s.min_p_source)),
    (TACTUS_SETTING_REPETITION_PENALTY, "TACTUS_SETTING_REPETITION_PENALTY", |s| {
        (s.sampling.repetition_penalty.into(), s.repetition_penalty_source)
    }),
    (TACTUS_SETTING_PRESENCE_PENALTY, "TACTUS_SETTING_PRESENCE_PENALTY", |s| given(s.sampling.presence_penalty)),
    (TACTUS_SETTING_FREQUENCY_PENALTY, "TACTUS_SETTING_FREQUENCY_PENALTY", |s| given(s.sampling.frequency_penalty)),
];

/// A penalty that no model recommends: it is the request's unless it is off.
fn given(penalty: f32) -> (f64, SettingSource) {
    (penalty.into(), if penalty == 0.0 { SettingSource::Default } else { SettingSource::Request })
}

/// The number of warnings: things a user should know that are no errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_warning_count(
    response: *const tactus_response_t,
    sequence: i32,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(response, "response")?.at(sequence)?.1.warnings.len());
        Ok(())
    })
}

/// The text of warning `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_warning(
    response: *const tactus_response_t,
    sequence: i32,
    index: usize,
    out_text: *mut *const c_char,
    out_text_len: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_text, out_text_len, ("out_text", "out_text_len")) }?;
        let response = call.get(response, "response")?;
        let warnings = &response.at(sequence)?.1.warnings;
        let text = warnings.get(index);
        out.set_text(text.ok_or_else(|| Error::invalid(format!("index: {index}, expected less than {}", warnings.len())))?);
        Ok(())
    })
}

/// The error that ended the sequence; TACTUS_OK and an empty message where none did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_error(
    response: *const tactus_response_t,
    sequence: i32,
    out_status: *mut i32,
    out_message: *mut *const c_char,
    out_message_len: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (status, message) = unsafe {
            (out(out_status, "out_status")?, out_span(out_message, out_message_len, ("out_message", "out_message_len"))?)
        };
        let response = call.get(response, "response")?;
        let (result, shown) = response.at(sequence)?;
        status.set(result.error.as_ref().map_or(Status::Ok, |e| e.status()) as i32);
        message.set_text(&shown.error);
        Ok(())
    })
}

/// The figures of the error that ended the sequence, as tactus_last_error_capacity has them. Errors: STATE where it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_error_capacity(
    response: *const tactus_response_t,
    sequence: i32,
    out_prompt: *mut u64,
    out_requested: *mut u64,
    out_limit: *mut u64,
) -> i32 {
    boundary(|call| {
        let response = call.get(response, "response")?;
        let numbers = response.at(sequence)?.0.error.as_ref().and_then(|e| e.capacity());
        // SAFETY: the contract of the ABI.
        unsafe { write_capacity(numbers, out_prompt, out_requested, out_limit) }
    })
}

/// One figure of the dispatch's profile: `timing` is a TACTUS_TIMING_* constant. Errors: STATE where the dispatch was not profiled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_timing(response: *const tactus_response_t, timing: i32, out_value: *mut f64) -> i32 {
    boundary(|call: &Call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_value, "out_value") }?;
        let response = call.get(response, "response")?;
        let read = choice(timing, "timing", TIMINGS)?;
        out.set(read(profile(&response.response)?));
        Ok(())
    })
}

/// Steps of the dispatch by the number of sequences that ran in them: `(*out_steps)[n]` is the number of steps of n sequences, n from 0
/// to the most that can be resident. Errors: STATE where the dispatch was not profiled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_batch_histogram(
    response: *const tactus_response_t,
    out_steps: *mut *const u64,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_steps, out_count, ("out_steps", "out_count")) }?;
        out.set(&profile(&call.get(response, "response")?.response)?.batch_histogram);
        Ok(())
    })
}

fn profile(response: &Response) -> Result<&Timings> {
    response.timings.as_ref().ok_or_else(|| Error::state("the dispatch was not profiled: enable_profiling was 0"))
}

type ReadTiming = fn(&Timings) -> f64;

const TIMINGS: &[(i32, &str, ReadTiming)] = &[
    (TACTUS_TIMING_PREPARE_SECONDS, "TACTUS_TIMING_PREPARE_SECONDS", |t| t.prepare.as_secs_f64()),
    (TACTUS_TIMING_PREFILL_SECONDS, "TACTUS_TIMING_PREFILL_SECONDS", |t| t.prefill.as_secs_f64()),
    (TACTUS_TIMING_DECODE_SECONDS, "TACTUS_TIMING_DECODE_SECONDS", |t| t.decode.as_secs_f64()),
    (TACTUS_TIMING_FIRST_TOKEN_SECONDS, "TACTUS_TIMING_FIRST_TOKEN_SECONDS", |t| t.first_token.as_secs_f64()),
    (TACTUS_TIMING_TOTAL_SECONDS, "TACTUS_TIMING_TOTAL_SECONDS", |t| t.total.as_secs_f64()),
    (TACTUS_TIMING_PREFILL_TOKENS, "TACTUS_TIMING_PREFILL_TOKENS", |t| t.prefill_tokens as f64),
    (TACTUS_TIMING_DECODE_TOKENS, "TACTUS_TIMING_DECODE_TOKENS", |t| t.decode_tokens as f64),
    (TACTUS_TIMING_STEPS, "TACTUS_TIMING_STEPS", |t| t.steps as f64),
    (TACTUS_TIMING_QUEUE_SECONDS, "TACTUS_TIMING_QUEUE_SECONDS", |t| t.queue.as_secs_f64()),
    (TACTUS_TIMING_REUSED_TOKENS, "TACTUS_TIMING_REUSED_TOKENS", |t| t.reused_tokens as f64),
];

/// The response as a JSON object in the OpenAI shape ("choices", "usage") with our fields beside it. `*out_json` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_to_json(response: *const tactus_response_t, out_json: *mut *mut tactus_string_t) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_json, "out_json") }?;
        let response = call.get(response, "response")?;
        out.set(give_text(json::response_to_json(&response.response, &response.tokenizer))?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_its_place_in_the_tables() {
        assert!(SETTINGS.iter().enumerate().all(|(at, entry)| entry.0 == at as i32));
        assert!(TIMINGS.iter().enumerate().all(|(at, entry)| entry.0 == at as i32));
    }

    #[test]
    fn finish_reasons_have_the_names_of_the_core() {
        use crate::decoding::FinishReason::*;
        for reason in [NotFinished, EndOfSequence, MaxLength, Cancelled, Error, StopWords] {
            // SAFETY: a literal of ours.
            let name = unsafe { std::ffi::CStr::from_ptr(tactus_finish_reason_name(reason as i32)) };
            assert_eq!(name.to_str(), Ok(reason.name()));
        }
    }
}
