//! Weight files and the formats tensors are stored in.
//!
//! Owns: finding the files of a model, reading GGUF and safetensors with every length and offset checked, reading configuration
//! values, and the plain reference decoding of each stored format. Never: what a tensor means to a model (`model`), or how a device
//! lays it out (`Backend::pack`).

mod access;
mod config;
mod files;
pub mod gguf;
pub mod quant;
pub mod safetensors;
mod shown;
mod tensor;

pub use access::Access;
pub use config::{ConfigReader, read_json, read_json_if_there};
pub use files::{HfDirectory, ModelFiles};
pub use tensor::{Bytes, FileData, StoredTensor, StoredType};

use std::path::Path;

use crate::error::Result;

/// Something tensors can be asked of by name: a GGUF model or a Hugging Face checkpoint.
pub trait TensorSource: Send + Sync {
    /// `None` where there is no tensor of that name.
    fn tensor(&self, name: &str) -> Result<Option<StoredTensor>>;

    fn names(&self) -> Vec<&str>;

    /// The file a tensor is in, for errors.
    fn file_of(&self, name: &str) -> Option<&Path>;
}

impl TensorSource for gguf::Gguf {
    fn tensor(&self, name: &str) -> Result<Option<StoredTensor>> {
        gguf::Gguf::tensor(self, name).map(|tensor| tensor.cloned())
    }

    fn names(&self) -> Vec<&str> {
        gguf::Gguf::names(self).collect()
    }

    fn file_of(&self, name: &str) -> Option<&Path> {
        gguf::Gguf::file_of(self, name)
    }
}

impl TensorSource for safetensors::Checkpoint {
    fn tensor(&self, name: &str) -> Result<Option<StoredTensor>> {
        safetensors::Checkpoint::tensor(self, name)
    }

    fn names(&self) -> Vec<&str> {
        safetensors::Checkpoint::names(self).collect()
    }

    fn file_of(&self, name: &str) -> Option<&Path> {
        safetensors::Checkpoint::file_of(self, name)
    }
}
