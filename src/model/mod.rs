//! Architectures as data, and the decoder written once.
//!
//! | file | what it owns |
//! |---|---|
//! | [`spec`] | everything that differs between families, as data |
//! | [`families`] | one file each: configuration to spec, through either door; the registry |
//! | [`rope`] | rotary frequencies and every way they are scaled |
//! | [`decoder`] | the program, emitted once per spec, and which tensors its weights are |
//! | [`names`] | what those tensors are called in files |
//! | [`bind`] | finds them and checks their shapes |
//!
//! Never: reading files, packing weights (`artifacts`, `backend`), or knowing what a request is.

pub mod bind;
pub mod decoder;
pub mod families;
pub mod names;
pub mod rope;
pub mod spec;

pub use bind::{Binding, Stored};
pub use decoder::Decoder;
pub use families::{Family, supported_architectures};
pub use spec::Spec;
