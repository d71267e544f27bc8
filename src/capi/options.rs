//! Options of a request and of its sequences. Every function takes the index of a sequence, or TACTUS_ALL_SEQUENCES.
//!
//! Values are checked when the request is dispatched, where the model is known.

use std::ffi::c_char;

use super::args::{array, choice, flag, text};
use super::boundary::boundary;
use super::request::{change_options, tactus_request_t};
use crate::coordinator::{CommitPolicy, SequenceOptions, json};
use crate::error::{Error, Result};

/// Sets one option to a value that needs no checking here.
fn set<T>(request: *mut tactus_request_t, sequence: i32, value: T, field: fn(&mut SequenceOptions) -> &mut Option<T>) -> i32 {
    boundary(|call| {
        change_options(call, request, sequence, |options| {
            *field(options) = Some(value);
            Ok(())
        })
    })
}

fn set_flag(
    request: *mut tactus_request_t,
    sequence: i32,
    value: i32,
    field: fn(&mut SequenceOptions) -> &mut Option<bool>,
) -> i32 {
    boundary(|call| {
        let value = flag(value, "value")?;
        change_options(call, request, sequence, |options| {
            *field(options) = Some(value);
            Ok(())
        })
    })
}

/// Sets the temperature: 0 or more, below 0.001 greedy. Where it is not set, here or for the request, the model's own recommendation
/// holds, or greedy where it has none; the same is true of the other sampling options, and the response tells what was in force.
///
/// `sequence`, here and below: the index of a sequence, or TACTUS_ALL_SEQUENCES. Errors, here and below: INVALID_ARGUMENT. Values are
/// checked when the request is dispatched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_temperature(request: *mut tactus_request_t, sequence: i32, temperature: f32) -> i32 {
    set(request, sequence, temperature, |o| &mut o.temperature)
}

/// Keeps the most probable tokens whose probabilities reach `top_p`, in 0..1; 1 is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_top_p(request: *mut tactus_request_t, sequence: i32, top_p: f32) -> i32 {
    set(request, sequence, top_p, |o| &mut o.top_p)
}

/// Keeps the `top_k` most probable tokens; 0 or less is off, 1 is greedy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_top_k(request: *mut tactus_request_t, sequence: i32, top_k: i64) -> i32 {
    set(request, sequence, top_k, |o| &mut o.top_k)
}

/// Keeps tokens at least `min_p` times as probable as the most probable one, in 0..1; 0 is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_min_p(request: *mut tactus_request_t, sequence: i32, min_p: f32) -> i32 {
    set(request, sequence, min_p, |o| &mut o.min_p)
}

/// Divides positive and multiplies negative logits of tokens that occur in prompt or output; above 0, 1 is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_repetition_penalty(
    request: *mut tactus_request_t,
    sequence: i32,
    repetition_penalty: f32,
) -> i32 {
    set(request, sequence, repetition_penalty, |o| &mut o.repetition_penalty)
}

/// Subtracted once from the logit of a token that occurs in the output; 0 is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_presence_penalty(
    request: *mut tactus_request_t,
    sequence: i32,
    presence_penalty: f32,
) -> i32 {
    set(request, sequence, presence_penalty, |o| &mut o.presence_penalty)
}

/// Subtracted from the logit of a token for each time it occurs in the output; 0 is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_frequency_penalty(
    request: *mut tactus_request_t,
    sequence: i32,
    frequency_penalty: f32,
) -> i32 {
    set(request, sequence, frequency_penalty, |o| &mut o.frequency_penalty)
}

/// Limits the output to this many tokens, at least 1. Not set: to the end of the context. More than fits is lowered, with a warning in
/// the response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_max_generate_length(
    request: *mut tactus_request_t,
    sequence: i32,
    tokens: i64,
) -> i32 {
    set(request, sequence, tokens, |o| &mut o.max_generate_length)
}

/// Makes draws reproducible: the same seed, prompt and settings give the same tokens, whatever else is in the batch. Not set: a seed
/// is drawn and told in the response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_seed(request: *mut tactus_request_t, sequence: i32, seed: u64) -> i32 {
    set(request, sequence, seed, |o| &mut o.seed)
}

/// Asks for log-probabilities of every generated token and of the `count` (0..50) most probable ones beside it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_num_logprobs(request: *mut tactus_request_t, sequence: i32, count: i32) -> i32 {
    boundary(|call| {
        let count = u32::try_from(count).map_err(|_| Error::invalid(format!("count: {count}, expected 0 or more")))?;
        change_options(call, request, sequence, |options| {
            options.num_logprobs = Some(count);
            Ok(())
        })
    })
}

/// Asks for the hidden states of the prompt at a layer (tactus_response_hidden_states): 0, the input embeddings; i, the input of layer
/// i; -1, after the final norm. The whole prompt is computed then, whatever the context cache holds. Errors of the dispatch:
/// INVALID_ARGUMENT for a layer the model has not, UNSUPPORTED on a device that does not give them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_hidden_layer(request: *mut tactus_request_t, sequence: i32, layer: i32) -> i32 {
    set(request, sequence, layer, |o| &mut o.hidden_layer)
}

/// Adds a stop string: generation ends where it begins, and it is not part of the text. Those of a sequence stand in place of the
/// request's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_stop(
    request: *mut tactus_request_t,
    sequence: i32,
    stop: *const c_char,
    stop_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let stop = unsafe { text(stop, stop_len, "stop") }?;
        change_options(call, request, sequence, |options| {
            options.stop.get_or_insert_default().push(stop.to_string());
            Ok(())
        })
    })
}

/// Adds `biases[i]` to the raw logit of token `ids[i]`, for `count` (at most 1,024) different tokens; a bias lies in -100..100, or is
/// minus infinity, which forbids the token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_logit_bias(
    request: *mut tactus_request_t,
    sequence: i32,
    ids: *const i32,
    biases: *const f32,
    count: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (ids, biases) = unsafe { (array(ids, count, "ids")?, array(biases, count, "biases")?) };
        change_options(call, request, sequence, |options| {
            options.logit_bias = Some(ids.iter().copied().zip(biases.iter().copied()).collect());
            Ok(())
        })
    })
}

/// Makes `count` further ids end generation, beside the model's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_extra_eos_ids(
    request: *mut tactus_request_t,
    sequence: i32,
    ids: *const i32,
    count: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let ids = unsafe { array(ids, count, "ids") }?;
        change_options(call, request, sequence, |options| {
            options.extra_eos_ids = Some(ids.to_vec());
            Ok(())
        })
    })
}

/// 1: the model's end-of-sequence tokens do not end generation. Default 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_ignore_eos(request: *mut tactus_request_t, sequence: i32, value: i32) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.ignore_eos)
}

/// 0: the contents of a chat's messages are joined instead of rendered through the template. Default 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_apply_chat_template(
    request: *mut tactus_request_t,
    sequence: i32,
    value: i32,
) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.apply_chat_template)
}

/// 0: the template does not open the assistant's turn. Default 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_add_generation_prompt(
    request: *mut tactus_request_t,
    sequence: i32,
    value: i32,
) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.add_generation_prompt)
}

/// 1: the template is told that the model shall think. Default 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_enable_thinking(request: *mut tactus_request_t, sequence: i32, value: i32) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.enable_thinking)
}

/// 0: special tokens are part of the text. Default 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_skip_special_tokens(
    request: *mut tactus_request_t,
    sequence: i32,
    value: i32,
) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.skip_special_tokens)
}

/// 0: control tokens spelt out in messages become control tokens, so that whoever writes a message can forge turns. Default 1: they
/// stay text, but in messages of the assistant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_plain_content(request: *mut tactus_request_t, sequence: i32, value: i32) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.plain_content)
}

/// Tells the template of tools: a JSON array of objects in the OpenAI shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_tools_json(
    request: *mut tactus_request_t,
    sequence: i32,
    json: *const c_char,
    json_len: usize,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_text(request, sequence, (json, json_len, "json"), json::tools_from_json, |o| &mut o.tools) }
}

/// Gives the template further variables: a JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_template_variables_json(
    request: *mut tactus_request_t,
    sequence: i32,
    json: *const c_char,
    json_len: usize,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_text(request, sequence, (json, json_len, "json"), json::variables_from_json, |o| &mut o.template_variables) }
}

/// Picks one of the model's named templates. Not set: the default one, or "tool_use" where there are tools and it exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_template_name(
    request: *mut tactus_request_t,
    sequence: i32,
    name: *const c_char,
    name_len: usize,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_text(request, sequence, (name, name_len, "name"), |text| Ok(text.to_string()), |o| &mut o.template_name) }
}

unsafe fn set_text<T>(
    request: *mut tactus_request_t,
    sequence: i32,
    (data, len, name): (*const c_char, usize, &str),
    read: impl FnOnce(&str) -> Result<T>,
    field: fn(&mut SequenceOptions) -> &mut Option<T>,
) -> i32 {
    boundary(|call| {
        // SAFETY: the caller's contract.
        let value = read(unsafe { text(data, len, name) }?)?;
        change_options(call, request, sequence, |options| {
            *field(options) = Some(value);
            Ok(())
        })
    })
}
/// The context cache keeps prompt and output.
pub const TACTUS_CACHE_COMMIT_ALL: i32 = 0;
/// The context cache keeps the prompt only.
pub const TACTUS_CACHE_COMMIT_PROMPT: i32 = 1;

/// 1: compute everything, whatever the context cache holds. 0, the default: use what it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_cache_bypass(request: *mut tactus_request_t, sequence: i32, value: i32) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.cache_bypass)
}

/// What the context cache keeps of the sequence: a TACTUS_CACHE_COMMIT_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_cache_commit(request: *mut tactus_request_t, sequence: i32, commit: i32) -> i32 {
    boundary(|call| {
        let commit = choice(
            commit,
            "commit",
            &[
                (TACTUS_CACHE_COMMIT_ALL, "TACTUS_CACHE_COMMIT_ALL", CommitPolicy::IncludingGeneratedTokens),
                (TACTUS_CACHE_COMMIT_PROMPT, "TACTUS_CACHE_COMMIT_PROMPT", CommitPolicy::PrefillStateOnly),
            ],
        )?;
        change_options(call, request, sequence, |options| {
            options.cache_commit = Some(commit);
            Ok(())
        })
    })
}

/// Keeps the sequence's cached pages apart: they are shared only with sequences of the same salt. Default empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_cache_salt(
    request: *mut tactus_request_t,
    sequence: i32,
    salt: *const c_char,
    salt_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let salt = unsafe { text(salt, salt_len, "salt") }?.to_string();
        change_options(call, request, sequence, |options| {
            options.cache_salt = Some(salt);
            Ok(())
        })
    })
}

/// 1: the system message's keys and values are saved before the dispatch runs, as by tactus_coordinator_gen_and_save_system_prompt_kv_cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_save_system_prompt(request: *mut tactus_request_t, sequence: i32, value: i32) -> i32 {
    set_flag(request, sequence, value, |o| &mut o.save_system_prompt)
}

/// The output is any JSON object; the guide's text is empty.
pub const TACTUS_GUIDE_JSON_OBJECT: i32 = 0;
/// The guide's text is a JSON schema.
pub const TACTUS_GUIDE_JSON_SCHEMA: i32 = 1;
/// The guide's text is a regular expression that the whole output matches.
pub const TACTUS_GUIDE_REGEX: i32 = 2;
/// The guide's text is a Lark grammar, an EBNF with regular terminals.
pub const TACTUS_GUIDE_GRAMMAR: i32 = 3;
/// The guide's text is a JSON array of strings; the output is one of them.
pub const TACTUS_GUIDE_CHOICE: i32 = 4;

/// Says what the output must be: a TACTUS_GUIDE_* constant and its text. It is compiled when the request is dispatched. With thinking
/// enabled it holds after the end of the thinking. A guided sequence that can go on with no token ends with an error and keeps its tokens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_set_guide(
    request: *mut tactus_request_t,
    sequence: i32,
    kind: i32,
    guide: *const c_char,
    guide_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let guide = unsafe { text(guide, guide_len, "guide") }?;
        let spec = json::guide_from_text(
            choice(
                kind,
                "kind",
                &[
                    (TACTUS_GUIDE_JSON_OBJECT, "TACTUS_GUIDE_JSON_OBJECT", "json_object"),
                    (TACTUS_GUIDE_JSON_SCHEMA, "TACTUS_GUIDE_JSON_SCHEMA", "json_schema"),
                    (TACTUS_GUIDE_REGEX, "TACTUS_GUIDE_REGEX", "regex"),
                    (TACTUS_GUIDE_GRAMMAR, "TACTUS_GUIDE_GRAMMAR", "grammar"),
                    (TACTUS_GUIDE_CHOICE, "TACTUS_GUIDE_CHOICE", "choice"),
                ],
            )?,
            guide,
        )?;
        change_options(call, request, sequence, |options| {
            options.guide = Some(spec);
            Ok(())
        })
    })
}
