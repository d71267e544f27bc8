//! Saved system prompts of a coordinator.

use std::ffi::{c_char, c_void};

use super::args::{out_pointer, text};
use super::boundary::boundary;
use super::coordinator::tactus_coordinator_t;
use super::string::{give_text, tactus_string_t};
use crate::coordinator::json;

/// Computes the keys and values of a system prompt and keeps them, whatever else needs the room, until they are removed. Later chats with
/// the same system message find them, whether the context cache is on or not.
///
/// `prompt`: the text of the system message, or its rendered form. Saved already, or empty: nothing to do. `cuda_stream` as in
/// tactus_coordinator_dispatch_request. Errors: BUSY, STATE, TEMPLATE, TOKENIZER, CONTEXT_FULL, NO_CAPACITY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_gen_and_save_system_prompt_kv_cache(
    coordinator: *mut tactus_coordinator_t,
    prompt: *const c_char,
    prompt_len: usize,
    cuda_stream: *mut c_void,
) -> i32 {
    boundary(|call| {
        let coordinator = call.get(coordinator, "coordinator")?;
        // SAFETY: the contract of the ABI.
        let prompt = unsafe { text(prompt, prompt_len, "prompt") }?;
        coordinator.gen_and_save_system_prompt_kv_cache(prompt, cuda_stream as usize)
    })
}

/// The saved prompts as a JSON array of objects with "text", "tokens" and "kept_tokens" (whole pages). `*out_json` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_saved_system_prompts_json(
    coordinator: *const tactus_coordinator_t,
    out_json: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_json, "out_json") }?;
        let saved = call.get(coordinator, "coordinator")?.saved_system_prompts();
        out.set(give_text(json::saved_prompts_to_json(&saved))?);
        Ok(())
    })
}

/// Lets a saved prompt go. `prompt`: as it was saved. Errors: NOT_FOUND where it is not saved; BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_remove_system_prompt(
    coordinator: *mut tactus_coordinator_t,
    prompt: *const c_char,
    prompt_len: usize,
) -> i32 {
    boundary(|call| {
        let coordinator = call.get(coordinator, "coordinator")?;
        // SAFETY: the contract of the ABI.
        let prompt = unsafe { text(prompt, prompt_len, "prompt") }?;
        coordinator.remove_system_prompt(prompt)
    })
}
