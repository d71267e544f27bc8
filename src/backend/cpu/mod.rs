//! The CPU backend.

pub mod linear;
