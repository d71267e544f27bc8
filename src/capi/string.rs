//! `tactus_string_t`: text that a function made for its caller.

use std::ffi::c_char;

use super::args::{TextZ, out_span};
use super::boundary::{Call, boundary};
use super::handle::{self, Handle, Kind};
use crate::error::Result;

/// Text made by the library and owned by the caller. Immutable.
pub struct tactus_string_t {
    _opaque: [u8; 0],
}

impl Handle for tactus_string_t {
    const KIND: Kind = Kind::String;
    type Object = TextZ;
}

pub(super) fn give_text(text: impl Into<Vec<u8>>) -> Result<*mut tactus_string_t> {
    handle::give(TextZ::new(text))
}

/// The text of `string`: `*out_data` points at `*out_len` bytes of UTF-8 with a NUL after them. The text may hold NULs itself.
///
/// Both live until `string` is destroyed. Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_string_get(
    string: *const tactus_string_t,
    out_data: *mut *const c_char,
    out_len: *mut usize,
) -> i32 {
    boundary(|call: &Call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_data, out_len, ("out_data", "out_len")) }?;
        out.set_text(&*call.get(string, "string")?);
        Ok(())
    })
}

/// Frees `string`. Null is fine. Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_string_destroy(string: *mut tactus_string_t) -> i32 {
    boundary(|_| handle::take(string, "string").map(drop))
}
