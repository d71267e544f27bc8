//! Weights of every stored type on the CPU: packing, products with activations, gathering of rows.
//!
//! A weight is [`pack`]ed once into tiles of 16 rows that keep the bits of the stored blocks in an order that suits vector
//! instructions ([`PackedMatrix`]). Activation rows are converted once each to the form the weights need ([`quantize_row`]) and
//! shared by all matrices of that form; then [`PackedMatrix::matmul`] computes any range of tiles for any number of rows.
//!
//! Reading order: `sweep` (blocking), `block` and `dense` (the sums), `format` (layouts), `lanes` (instructions), `kernels` (the
//! table that joins them), `pack`.
//!
//! Invariant: an output's bits depend on its weight row, its activation row and the [`Level`] only. Block types give the same bits
//! at every level.
//!
//! Never: threads, allocation after packing, anything about models.

// The kernels are unsafe through and through: every line of them is an intrinsic or a load. Their contracts stand at `Lanes`,
// `Micro` and `BlockFormat`; the safe edge is `PackedMatrix`.
#![allow(unsafe_op_in_unsafe_fn)]
// Loops over small register arrays read best by index.
#![allow(clippy::needless_range_loop)]

mod acts;
mod block;
mod dense;
mod format;
mod kernels;
mod lanes;
mod level;
mod matrix;
mod memory;
mod pack;
mod sweep;
#[cfg(test)]
mod tests;

pub use acts::{ActBuffer, ActFormat, ActRows, quantize_row};
pub use level::Level;
pub use matrix::{OutRows, PackedMatrix};
pub use memory::AlignedBytes;
pub use pack::{Consumed, Spread, act_format, in_order, pack};
pub use sweep::Store;
