//! Versions of the library and of its ABI.

use std::ffi::c_char;

/// Version of the ABI this header describes. Raised when a function or constant is added; a name never changes its meaning.
pub const TACTUS_ABI_VERSION: i32 = 2;

/// The ABI version of the loaded library. A host that loads the library at run time asks this first: it works with the library
/// when this is at least the TACTUS_ABI_VERSION it was written for.
///
/// Threads: any. Needs nothing, starts nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_abi_version() -> i32 {
    TACTUS_ABI_VERSION
}

/// The version of the loaded library, such as "0.1.0": NUL-terminated, valid for ever.
///
/// Threads: any. Needs nothing, starts nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
