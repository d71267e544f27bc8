//! The C ABI.
//!
//! Owns: opaque handles and who holds them, the conversion between C's types and ours, the border that panics do not cross, the
//! per-thread error. Never: a decision about inference. A function here checks, converts, calls, converts, and is done; what grows
//! beyond that belongs below.
//!
//! `include/tactus.h` is generated from these files (`cargo xtask header`); the comments on the
//! functions are the reference a C programmer reads.
//!
//! # Safety
//!
//! The contract of every function is the same and is said once, here and at the top of the header. A pointer parameter is null or
//! points at what its type and, where there is one, its length say; it stays valid for the call, or as long as the comment says.
//! Handles need no such promise: they are looked up, never dereferenced, so a null, freed or foreign one is INVALID_ARGUMENT.

#![allow(non_camel_case_types)] // the types are C's
#![allow(clippy::missing_safety_doc)] // said once, above

mod args;
mod artifacts;
mod boundary;
mod channel;
mod config;
mod coordinator;
mod error;
mod fork;
mod fpenv;
mod handle;
mod hook;
mod ids;
mod log;
mod logprobs;
mod message;
mod options;
mod panics;
mod request;
mod response;
mod stepped;
mod string;
mod system_prompt;
mod version;

pub use artifacts::*;
pub use channel::*;
pub use config::*;
pub use coordinator::*;
pub use error::*;
pub use hook::*;
pub use ids::*;
pub use log::*;
pub use message::*;
pub use options::*;
pub use request::*;
pub use response::*;
pub use stepped::*;
pub use string::*;
pub use system_prompt::*;
pub use version::*;

#[cfg(feature = "testing")]
pub use boundary::{panic_after_first_handle, panic_at_next_entry};
