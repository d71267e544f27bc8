//! Tactus: an LLM inference runtime that a host program links as one C library.
//!
//! Start here. The folders are tiers; a tier uses the ones below it and nothing above.
//!
//! | folder | what it owns |
//! |---|---|
//! | `capi` | the C ABI: converts, checks, catches panics. One file per opaque handle |
//! | [`coordinator`] | `RuntimeCoordinator`: configuration, requests, responses, the control plane over the ranks |
//! | [`rank`] | one rank: residents, the ragged step, sampling state, stop strings, streams, metrics |
//! | [`decoding`] | how tokens are chosen: settings, stop conditions |
//! | [`cache`] | pages of the KV pool and who holds them |
//! | [`artifacts`] | a loaded model that coordinators share: weights, tokenizer, template, limits |
//! | [`model`] | architectures as data, one file per family, the decoder as a program of backend ops |
//! | [`text`] | tokenizer, chat template, incremental detokenisation |
//! | [`weights`] | GGUF and safetensors readers, the stored formats |
//! | [`backend`] | `trait Backend` and its ops; `cpu` |
//! | [`error`] | the error type and the status codes |
//! | `threads` | how threads are started |
//!
//! Everything the runtime executes is a *ragged step*: spans of tokens of several residents run through the model once
//! ([`rank`]). The model is a flat [`backend::Program`] of ops that a backend compiles once and runs every step.

pub mod artifacts;
pub mod backend;
pub mod cache;
pub mod capi;
pub mod coordinator;
pub mod decoding;
pub mod error;
pub mod model;
pub mod rank;
pub mod text;
mod threads;
pub mod weights;

pub use error::{Error, Result, Status};
