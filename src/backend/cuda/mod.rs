//! The CUDA backend: one NVIDIA device.
//!
//! Owns: the device's primary context, packed weights, KV pools, programs as launches of kernels, sampling. Never: what a model or a
//! request is.
//!
//! Reading order: `driver` (devices, memory, streams, graphs), `kernels` (the embedded code), `weights`, then `executor`, which turns a
//! program into a list of launches and runs steps of it, and `sampling`. The kernels are in `kernels/`, each with what it reads and
//! writes.
//!
//! Activations are bf16 where a weight is bf16 or quantised, and f32 where all are F32 or F16; sums and the residual are f32 always. A
//! row's bits depend on its sequence and on the bucket of the step, never on its neighbours' content.

mod cublas;
mod driver;
mod executor;
mod kernels;
mod sampling;
mod weights;

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Backend, Executor, ExecutorLimits, Packed, Program, Weight, WeightUse};
use crate::error::Result;
use driver::Device;
use executor::CudaExecutor;
use kernels::Kernels;
use weights::Uploader;

/// How a [`CudaBackend`] is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct CudaOptions {
    /// Device number, as the driver counts.
    pub ordinal: i32,
    /// A row's bits depend on its sequence alone: not on the bucket of a step either, nor on how a prompt was cut. Products of many
    /// rows are slower.
    pub batch_invariant: bool,
}

/// A CUDA device.
pub struct CudaBackend {
    device: Arc<Device>,
    batch_invariant: bool,
    kernels: Arc<Kernels>,
    /// While weights are loaded.
    uploader: Mutex<Option<Uploader>>,
}

impl CudaBackend {
    /// Opens the device and loads the kernels.
    ///
    /// The calling thread's current context is left as it was. Errors: CUDA naming what is missing: the driver's library, a driver
    /// that is recent enough, the device, code for its architecture.
    pub fn new(options: CudaOptions) -> Result<Self> {
        let device = Device::open(options.ordinal)?;
        let kernels = Arc::new(Kernels::load(&device)?);
        Ok(CudaBackend { device, batch_invariant: options.batch_invariant, kernels, uploader: Mutex::new(None) })
    }

    fn upload<T>(&self, work: impl FnOnce(&mut Uploader) -> Result<T>) -> Result<T> {
        let mut uploader = self.uploader.lock();
        let uploader = match &mut *uploader {
            Some(uploader) => uploader,
            empty => empty.insert(Uploader::new(&self.device)?),
        };
        work(uploader)
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn description(&self) -> String {
        let Device { ordinal, name, capability: (major, minor), processors, .. } = &*self.device;
        format!("CUDA device {ordinal}, {name}, compute capability {major}.{minor}, {processors} multiprocessors")
    }

    fn layout_key(&self) -> String {
        format!("cuda {}", self.device.ordinal)
    }

    fn free_memory(&self) -> Option<u64> {
        self.device.memory().ok().map(|(free, _)| free)
    }

    fn pack(&self, weight: &Weight, _uses: WeightUse) -> Result<Packed> {
        // One layout serves products and gathered rows.
        let matrix = self.upload(|uploader| uploader.matrix(weight))?;
        let bytes = matrix.bytes();
        Ok(Packed::new(matrix, bytes))
    }

    fn pack_vector(&self, values: &[f32]) -> Result<Packed> {
        let vector = self.upload(|uploader| uploader.vector(values))?;
        Ok(Packed::new(vector, size_of_val(values) as u64))
    }

    fn executor(
        &self,
        program: Arc<Program>,
        weights: Arc<[Packed]>,
        vectors: Arc<[Packed]>,
        limits: &ExecutorLimits,
    ) -> Result<Box<dyn Executor>> {
        // Loading is over: its page-locked buffers go back.
        *self.uploader.lock() = None;
        Ok(Box::new(CudaExecutor::new(&self.device, &self.kernels, program, &weights, &vectors, limits, self.batch_invariant)?))
    }
}
