//! Parameters of C functions, checked and converted. Every error names the parameter.
//!
//! # Safety
//!
//! The functions here read or write through pointers of the caller, under the contract of the [C ABI](super).

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::{Error, Result};

/// Length that says "ends at the first NUL".
pub(super) const NUL_TERMINATED: usize = usize::MAX;

/// A place for a result. Written only when the function succeeds, but for handles, which are null until then.
pub(super) struct Out<'a, T>(&'a mut T);

impl<'a, T> Out<'a, T> {
    pub(super) fn set(self, value: T) {
        *self.0 = value;
    }

    pub(super) fn into_inner(self) -> &'a mut T {
        self.0
    }
}

pub(super) unsafe fn out<'a, T>(place: *mut T, name: &str) -> Result<Out<'a, T>> {
    // SAFETY: the caller's contract; only plain types of C are used as `T`, for which every bit pattern is a value.
    unsafe { place.as_mut() }.map(Out).ok_or_else(|| Error::invalid(format!("{name} is null")))
}

/// A place for a handle or a borrowed pointer, null from now on until it is set.
pub(super) unsafe fn out_pointer<'a, T>(place: *mut *mut T, name: &str) -> Result<Out<'a, *mut T>> {
    // SAFETY: as in `out`.
    let out = unsafe { out(place, name) }?;
    *out.0 = std::ptr::null_mut();
    Ok(out)
}

/// A place for a borrowed span, empty from now on until it is set.
pub(super) struct OutSpan<'a, T> {
    data: &'a mut *const T,
    len: &'a mut usize,
}

impl<T> OutSpan<'_, T> {
    /// The span lives as long as its owner, which the function's comment names.
    pub(super) fn set(self, span: &[T]) {
        *self.data = span.as_ptr();
        *self.len = span.len();
    }
}

impl OutSpan<'_, c_char> {
    pub(super) fn set_text(self, text: &TextZ) {
        *self.data = text.as_ptr();
        *self.len = text.len();
    }
}

pub(super) unsafe fn out_span<'a, T>(data: *mut *const T, len: *mut usize, names: (&str, &str)) -> Result<OutSpan<'a, T>> {
    // SAFETY: as in `out`.
    let (data, len) = unsafe { (out(data, names.0)?.0, out(len, names.1)?.0) };
    *data = std::ptr::null();
    *len = 0;
    Ok(OutSpan { data, len })
}

/// Text as C reads it: any bytes, a known length, and a NUL after them.
#[derive(Debug)]
pub(super) struct TextZ {
    bytes: Vec<u8>,
}

impl Default for TextZ {
    fn default() -> Self {
        TextZ::new("")
    }
}

impl TextZ {
    pub(super) fn new(text: impl Into<Vec<u8>>) -> Self {
        let mut bytes = text.into();
        bytes.push(0);
        TextZ { bytes }
    }

    /// The text anew, in the buffer that is there.
    pub(super) fn replace(&mut self, text: &str) {
        self.bytes.clear();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// Bytes without the NUL at the end.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - 1
    }
}

/// An array of the caller. Null is fine where `len` is 0.
pub(super) unsafe fn array<'a, T>(data: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid(format!("{name} is null, expected {len} elements")));
    }
    if !data.is_aligned() {
        return Err(Error::invalid(format!("{name} is not aligned to {} bytes", align_of::<T>())));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::invalid(format!("{name}: a length of {len} is more than memory can hold")));
    }
    // SAFETY: the caller's contract: `len` elements, valid for the call.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Bytes of the caller: `len` of them, or up to the first NUL.
unsafe fn bytes<'a>(data: *const c_char, len: usize, name: &str) -> Result<&'a [u8]> {
    if len == NUL_TERMINATED {
        if data.is_null() {
            return Err(Error::invalid(format!("{name} is null, expected NUL-terminated text")));
        }
        // SAFETY: the caller's contract: NUL-terminated.
        return Ok(unsafe { std::ffi::CStr::from_ptr(data) }.to_bytes());
    }
    // SAFETY: as in `array`.
    unsafe { array(data.cast(), len, name) }
}

/// UTF-8 text. NUL bytes are part of it where a length is given.
pub(super) unsafe fn text<'a>(data: *const c_char, len: usize, name: &str) -> Result<&'a str> {
    // SAFETY: as in `bytes`.
    let bytes = unsafe { bytes(data, len, name) }?;
    std::str::from_utf8(bytes).map_err(|e| Error::invalid(format!("{name}: invalid UTF-8 at byte {}", e.valid_up_to())))
}

/// An array of NUL-terminated texts.
pub(super) unsafe fn texts(data: *const *const c_char, len: usize, name: &str) -> Result<Vec<String>> {
    // SAFETY: as in `array`.
    let pointers = unsafe { array(data, len, name) }?;
    let one = |(at, &pointer): (usize, &*const c_char)| {
        // SAFETY: as in `bytes`.
        unsafe { text(pointer, NUL_TERMINATED, &format!("{name}[{at}]")) }.map(str::to_string)
    };
    pointers.iter().enumerate().map(one).collect()
}

/// A path: any bytes but NUL, as the system takes them.
pub(super) unsafe fn path(data: *const c_char, len: usize, name: &str) -> Result<PathBuf> {
    // SAFETY: as in `bytes`.
    let bytes = unsafe { bytes(data, len, name) }?;
    match bytes.iter().position(|&b| b == 0) {
        Some(at) => Err(Error::invalid(format!("{name}: a NUL at byte {at}, which no path can hold"))),
        None => Ok(PathBuf::from(OsStr::from_bytes(bytes))),
    }
}

/// A flag: 0 or 1.
pub(super) fn flag(value: i32, name: &str) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::invalid(format!("{name}: {other}, expected 0 or 1"))),
    }
}

/// A count that must not be negative.
pub(super) fn count(value: i64, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::invalid(format!("{name}: {value}, expected 0 or more")))
}

/// One of the named constants of the header.
pub(super) fn choice<T: Copy>(value: i32, name: &str, choices: &[(i32, &str, T)]) -> Result<T> {
    choices.iter().find(|c| c.0 == value).map(|c| c.2).ok_or_else(|| {
        let known: Vec<String> = choices.iter().map(|c| format!("{} ({})", c.0, c.1)).collect();
        Error::invalid(format!("{name}: {value}, expected one of {}", known.join(", ")))
    })
}

/// The host's pointer that comes back with its callbacks. Ours to carry, never to look behind.
#[derive(Clone, Copy)]
pub(super) struct UserData(pub(super) *mut c_void);

// SAFETY: the pointer is opaque to us; the host is told on which threads its callbacks run.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}
