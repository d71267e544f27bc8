//! Weight files and the formats tensors are stored in.
//!
//! Owns: reading GGUF and safetensors, checking every length and offset in them, and the plain reference decoding of each stored
//! format. Never: what a tensor means to a model (`model`), or how a device lays it out (`Backend::pack`).

mod tensor;

pub use tensor::{Bytes, StoredTensor, StoredType};
