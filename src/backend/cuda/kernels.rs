//! The kernels, compiled ahead of time by `build.rs` and loaded once per device.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use super::driver::{CUfunction, Device, Module};
use crate::backend::KvType;
use crate::error::{Error, Result};
use crate::weights::StoredType;

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Every kernel by its name.
pub(super) struct Kernels {
    modules: Vec<Module>,
    /// The module of each kernel.
    names: HashMap<CString, usize>,
    /// Compute capability 9.0 and later have kernels overlap.
    pub overlaps: bool,
}

/// A kernel, alive as long as its [`Kernels`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Function(pub CUfunction);

// SAFETY: a handle that any thread may launch.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Kernels {
    /// Errors: CUDA where the device is of an architecture that the library has no code for.
    pub fn load(device: &Arc<Device>) -> Result<Self> {
        let modules = IMAGES.iter().map(|(name, image)| Module::load(device, name, image)).collect::<Result<Vec<_>>>()?;
        let mut names = HashMap::new();
        for (index, module) in modules.iter().enumerate() {
            names.extend(module.functions()?.into_iter().map(|name| (name, index)));
        }
        Ok(Kernels { modules, names, overlaps: device.capability >= (9, 0) })
    }

    pub fn get(&self, name: &str) -> Result<Function> {
        let found = CString::new(name).ok().and_then(|name| self.names.get_key_value(&name));
        let (name, &module) = found.ok_or_else(|| Error::internal(format!("no kernel {name} in this library")))?;
        Ok(Function(self.modules[module].function(name)?))
    }
}

/// Type of the activations that are not the residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Number {
    F32,
    BF16,
}

impl Number {
    pub fn bytes(self) -> usize {
        match self {
            Number::F32 => 4,
            Number::BF16 => 2,
        }
    }

    /// As kernels' names have it.
    pub fn name(self) -> &'static str {
        match self {
            Number::F32 => "float",
            Number::BF16 => "bf16",
        }
    }
}

/// The KV pool's type as kernels' names have it.
pub(super) fn kv_name(kv: KvType) -> &'static str {
    match kv {
        KvType::F32 => "float",
        KvType::F16 => "f16",
        KvType::BF16 => "bf16",
    }
}

/// A stored type as kernels' names have it.
pub(super) fn stored_name(ty: StoredType) -> &'static str {
    ty.name()
}
