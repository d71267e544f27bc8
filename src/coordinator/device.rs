//! Which backend a rank gets.

use super::config::{Config, Device};
use crate::backend::Backend;
use crate::backend::cpu::{CpuBackend, CpuOptions};
use crate::error::Result;

/// Opens the device of local rank `rank`.
///
/// Auto falls back to the CPU where CUDA cannot be had, and says why in the log. Errors: CUDA naming what is missing where CUDA was
/// asked for, and those of the CPU backend.
pub(super) fn open(config: &Config, rank: i32) -> Result<Box<dyn Backend>> {
    if config.device == Device::Cuda || (config.device == Device::Auto && cfg!(feature = "cuda")) {
        match open_cuda(config, rank) {
            Ok(backend) => return Ok(backend),
            Err(error) if config.device == Device::Cuda => return Err(error),
            Err(error) => tracing::info!(%error, "device auto: the CPU is used"),
        }
    }
    Ok(Box::new(CpuBackend::new(CpuOptions { threads: config.cpu_threads, level: None })?))
}

#[cfg(feature = "cuda")]
fn open_cuda(config: &Config, rank: i32) -> Result<Box<dyn Backend>> {
    use crate::backend::cuda::{CudaBackend, CudaOptions};
    let planned = config.parallel.devices.get(rank as usize).copied().unwrap_or(rank);
    let ordinal = config.local_rank_devices.get(&rank).copied().unwrap_or(planned);
    Ok(Box::new(CudaBackend::new(CudaOptions { ordinal, batch_invariant: false })?))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_config: &Config, _rank: i32) -> Result<Box<dyn Backend>> {
    use crate::error::{Error, Status};
    Err(Error::new(Status::Cuda, "device cuda: this build has no CUDA backend, expected cpu or auto"))
}
