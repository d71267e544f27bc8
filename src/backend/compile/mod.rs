//! What every backend does with a program and a step before its own work begins.
//!
//! `lower` checks a program and turns slots into values, `arena` places buffers, `check` looks at a step.

pub(super) mod arena;
pub(super) mod check;
pub(super) mod lower;
