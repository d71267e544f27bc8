//! Messages of a chat sequence.

use std::ffi::c_char;

use super::args::text;
use super::boundary::{Call, boundary};
use super::request::{sequence_mut, tactus_request_t};
use crate::coordinator::{Input, json};
use crate::error::{Error, Result};
use crate::text::{Content, Message};

/// Changes the messages of a chat sequence.
fn change_messages(
    call: &Call,
    request: *mut tactus_request_t,
    sequence: i32,
    change: impl FnOnce(&mut Vec<Message>) -> Result<()>,
) -> Result<()> {
    call.get(request, "request")?.change(|request| match &mut sequence_mut(request, sequence)?.input {
        Input::Messages(messages) => change(messages),
        Input::Text(_) | Input::Ids(_) => {
            Err(Error::invalid(format!("sequence: {sequence} has a prompt of its own, expected a chat")))
        }
    })
}

/// Adds a message of text to a chat: `role` is "system", "user", "assistant", "tool", or what else the model's template knows.
///
/// Errors, here and below: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_message(
    request: *mut tactus_request_t,
    sequence: i32,
    role: *const c_char,
    role_len: usize,
    content: *const c_char,
    content_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (role, content) = unsafe { (text(role, role_len, "role")?, text(content, content_len, "content")?) };
        change_messages(call, request, sequence, |messages| {
            messages.push(Message::new(role, Content::from(content)));
            Ok(())
        })
    })
}

/// Adds a message given as a JSON object in the OpenAI shape: "role", "content" (text, null, or text parts), "name", "tool_calls",
/// "tool_call_id", "reasoning_content". Other keys are refused by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_request_add_message_json(
    request: *mut tactus_request_t,
    sequence: i32,
    json: *const c_char,
    json_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let message = json::message_from_json(unsafe { text(json, json_len, "json") }?)?;
        change_messages(call, request, sequence, |messages| {
            messages.push(message);
            Ok(())
        })
    })
}
