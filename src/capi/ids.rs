//! `tactus_ids_t`: a list of numbers that a function made for its caller.

use super::args::out_span;
use super::boundary::boundary;
use super::handle::{self, Handle, Kind};
use crate::error::Result;

/// A list of token ids or counts, made by the library and owned by the caller. Immutable.
pub struct tactus_ids_t {
    _opaque: [u8; 0],
}

impl Handle for tactus_ids_t {
    const KIND: Kind = Kind::Ids;
    type Object = Vec<i32>;
}

pub(super) fn give_ids(ids: Vec<i32>) -> Result<*mut tactus_ids_t> {
    handle::give(ids)
}

/// The elements of `ids`: `*out_data` points at `*out_count` numbers (it may be anything where there are none).
///
/// Both live until `ids` is destroyed. Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_ids_get(ids: *const tactus_ids_t, out_data: *mut *const i32, out_count: *mut usize) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_data, out_count, ("out_data", "out_count")) }?;
        out.set(&call.get(ids, "ids")?);
        Ok(())
    })
}

/// Frees `ids`. Null is fine. Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_ids_destroy(ids: *mut tactus_ids_t) -> i32 {
    boundary(|_| handle::take(ids, "ids").map(drop))
}
