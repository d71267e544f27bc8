//! Status codes and error texts.

use std::ffi::{c_char, c_void};

use super::args::{out, out_pointer};
use super::boundary::{boundary, clear_last_error, with_last_error};
use super::handle;
use super::string::{give_text, tactus_string_t};
use crate::error::{CapacityNumbers, Error, Result, Status};

/// The call did what it says.
pub const TACTUS_OK: i32 = 0;
/// An argument is null, malformed, out of range, or a handle that is not live. The message names the parameter.
pub const TACTUS_ERR_INVALID_ARGUMENT: i32 = 1;
/// A file, a shard, a tensor or a name does not exist.
pub const TACTUS_ERR_NOT_FOUND: i32 = 2;
/// The system refused to read or write.
pub const TACTUS_ERR_IO: i32 = 3;
/// A file is malformed.
pub const TACTUS_ERR_FORMAT: i32 = 4;
/// A model, a stored type or a combination that this build does not do.
pub const TACTUS_ERR_UNSUPPORTED: i32 = 5;
/// The chat template does not parse or does not accept the messages.
pub const TACTUS_ERR_TEMPLATE: i32 = 6;
/// The vocabulary cannot be used, or a text cannot be encoded.
pub const TACTUS_ERR_TOKENIZER: i32 = 7;
/// The prompt, or prompt and requested output, does not fit. Numbers: tactus_last_error_capacity.
pub const TACTUS_ERR_CONTEXT_FULL: i32 = 8;
/// No seat or no page is free. Numbers: tactus_last_error_capacity.
pub const TACTUS_ERR_NO_CAPACITY: i32 = 9;
/// Another call is running on the coordinator. Nothing was changed.
pub const TACTUS_ERR_BUSY: i32 = 10;
/// A callback or another thread asked to stop.
pub const TACTUS_ERR_CANCELLED: i32 = 11;
/// A CUDA call failed.
pub const TACTUS_ERR_CUDA: i32 = 12;
/// A rank was lost, or a collective failed.
pub const TACTUS_ERR_COLLECTIVE: i32 = 13;
/// Host memory ran out. The process is as it was before the call.
pub const TACTUS_ERR_OUT_OF_MEMORY: i32 = 14;
/// The call does not fit what was done before: nothing to take, already taken, shut down.
pub const TACTUS_ERR_STATE: i32 = 15;
/// A defect of this library. The handle concerned can only be destroyed from now on; other handles go on working.
pub const TACTUS_ERR_INTERNAL: i32 = 16;
/// The time ran out before there was anything.
pub const TACTUS_ERR_TIMEOUT: i32 = 17;
/// A device stopped working.
pub const TACTUS_ERR_DEVICE_LOST: i32 = 18;
/// The handle was made before this process was forked. A child makes its own.
pub const TACTUS_ERR_FORKED: i32 = 19;
/// Device memory ran out.
pub const TACTUS_ERR_DEVICE_OUT_OF_MEMORY: i32 = 20;

const NAMES: &[(Status, &std::ffi::CStr)] = &[
    (Status::Ok, c"OK"),
    (Status::InvalidArgument, c"INVALID_ARGUMENT"),
    (Status::NotFound, c"NOT_FOUND"),
    (Status::Io, c"IO"),
    (Status::Format, c"FORMAT"),
    (Status::Unsupported, c"UNSUPPORTED"),
    (Status::Template, c"TEMPLATE"),
    (Status::Tokenizer, c"TOKENIZER"),
    (Status::ContextFull, c"CONTEXT_FULL"),
    (Status::NoCapacity, c"NO_CAPACITY"),
    (Status::Busy, c"BUSY"),
    (Status::Cancelled, c"CANCELLED"),
    (Status::Cuda, c"CUDA"),
    (Status::Collective, c"COLLECTIVE"),
    (Status::OutOfMemory, c"OUT_OF_MEMORY"),
    (Status::State, c"STATE"),
    (Status::Internal, c"INTERNAL"),
    (Status::Timeout, c"TIMEOUT"),
    (Status::DeviceLost, c"DEVICE_LOST"),
    (Status::Forked, c"FORKED"),
    (Status::DeviceOutOfMemory, c"DEVICE_OUT_OF_MEMORY"),
];

/// The name of a status code, such as "CONTEXT_FULL"; "UNKNOWN" for other numbers. NUL-terminated, valid for ever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_status_name(status: i32) -> *const c_char {
    NAMES.iter().find(|(s, _)| *s as i32 == status).map_or(c"UNKNOWN", |(_, name)| name).as_ptr()
}

/// The status of the last call of this thread that failed; TACTUS_OK where none has. A call that succeeds leaves it as it is.
///
/// Threads: each has its own.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_last_error_status() -> i32 {
    with_last_error(|last| last.map_or(Status::Ok, |last| last.error.status())) as i32
}

/// What went wrong in the last call of this thread that failed: the thing, its value, what was expected, where. Empty where none
/// has failed. For people; programs read the status.
///
/// NUL-terminated UTF-8, never null, valid until the next call of this thread that fails. Threads: each has its own.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_last_error_message() -> *const c_char {
    with_last_error(|last| last.map_or(c"".as_ptr(), |last| last.text.as_ptr().cast()))
}

/// Bytes of tactus_last_error_message without its NUL (a message that quotes the caller's text may hold NULs itself).
#[unsafe(no_mangle)]
pub extern "C" fn tactus_last_error_message_length() -> usize {
    with_last_error(|last| last.map_or(0, |last| last.text.len() - 1))
}

/// The figures of the last error of this thread, where it is CONTEXT_FULL or NO_CAPACITY: tokens of the prompt, tokens (or seats or
/// pages, as the message says) requested, and the limit.
///
/// Errors: STATE where the last error has no figures. Neither outcome replaces the last error. Threads: each has its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_last_error_capacity(out_prompt: *mut u64, out_requested: *mut u64, out_limit: *mut u64) -> i32 {
    if out_prompt.is_null() || out_requested.is_null() || out_limit.is_null() {
        // SAFETY: one of them is null, which is what this reports.
        return boundary(|_| unsafe { write_capacity(None, out_prompt, out_requested, out_limit) });
    }
    let numbers = with_last_error(|last| last.and_then(|last| last.error.capacity()));
    // SAFETY: the contract of the ABI.
    match unsafe { write_capacity(numbers, out_prompt, out_requested, out_limit) } {
        Ok(()) => TACTUS_OK,
        Err(error) => error.status() as i32,
    }
}

/// Forgets the last error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_last_error_clear() {
    clear_last_error();
}

/// The error of the last call that failed on `handle`, whatever thread made it. A call's error is kept by the first handle among
/// its parameters; that of a creation by the handle it was created from.
///
/// `handle`: any handle of this library. `*out_status` is TACTUS_OK and the message empty where no call has failed. The message is
/// owned by the caller. Works on a handle that an INTERNAL error has made unusable. Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_handle_error(
    handle: *const c_void,
    out_status: *mut i32,
    out_message: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let (status, message) = unsafe { (out(out_status, "out_status")?, out_pointer(out_message, "out_message")?) };
        let error = handle::health(handle.cast(), "handle")?.last_error();
        message.set(give_text(error.as_ref().map_or("", |e| e.message()))?);
        status.set(error.map_or(Status::Ok, |e| e.status()) as i32);
        Ok(())
    })
}

/// The figures of the error that tactus_handle_error tells, as tactus_last_error_capacity has them.
///
/// Errors: STATE where that error has no figures. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_handle_error_capacity(
    handle: *const c_void,
    out_prompt: *mut u64,
    out_requested: *mut u64,
    out_limit: *mut u64,
) -> i32 {
    boundary(|_| {
        let numbers = handle::health(handle.cast(), "handle")?.last_error().and_then(|e| e.capacity());
        // SAFETY: the contract of the ABI.
        unsafe { write_capacity(numbers, out_prompt, out_requested, out_limit) }
    })
}

pub(super) unsafe fn write_capacity(
    numbers: Option<CapacityNumbers>,
    prompt: *mut u64,
    requested: *mut u64,
    limit: *mut u64,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let (prompt, requested, limit) =
        unsafe { (out(prompt, "out_prompt")?, out(requested, "out_requested")?, out(limit, "out_limit")?) };
    let numbers = numbers.ok_or_else(|| Error::state("the error has no capacity figures"))?;
    prompt.set(numbers.prompt);
    requested.set(numbers.requested);
    limit.set(numbers.limit);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_names_are_those_of_the_status_codes() {
        let constants = [
            TACTUS_OK,
            TACTUS_ERR_INVALID_ARGUMENT,
            TACTUS_ERR_NOT_FOUND,
            TACTUS_ERR_IO,
            TACTUS_ERR_FORMAT,
            TACTUS_ERR_UNSUPPORTED,
            TACTUS_ERR_TEMPLATE,
            TACTUS_ERR_TOKENIZER,
            TACTUS_ERR_CONTEXT_FULL,
            TACTUS_ERR_NO_CAPACITY,
            TACTUS_ERR_BUSY,
            TACTUS_ERR_CANCELLED,
            TACTUS_ERR_CUDA,
            TACTUS_ERR_COLLECTIVE,
            TACTUS_ERR_OUT_OF_MEMORY,
            TACTUS_ERR_STATE,
            TACTUS_ERR_INTERNAL,
            TACTUS_ERR_TIMEOUT,
            TACTUS_ERR_DEVICE_LOST,
            TACTUS_ERR_FORKED,
            TACTUS_ERR_DEVICE_OUT_OF_MEMORY,
        ];
        assert_eq!(constants.to_vec(), NAMES.iter().map(|(s, _)| *s as i32).collect::<Vec<_>>());
        assert_eq!(constants.to_vec(), (0..=20).collect::<Vec<_>>());
    }
}
