//! The CPU backend: any x86-64 processor (AVX-512 and AVX2 found when it runs), and others in plain Rust.
//!
//! Owns: a pool of threads, packed weights, KV pools, the interpretation of programs, sampling. Never: what a model or a request is.
//!
//! Reading order: `pool` (threads and barriers), `executor` (compiles a program and runs steps), then what its stages call: `linear`
//! (products with weights of every stored type), `attention` over `kv`, `rows` (norms, rotary embedding, activations), and
//! `sampling`. Kernels are written once over `simd`'s vectors.
//!
//! A row's bits depend on its sequence only: on no other row of the step, not on how the sequence was cut into steps, not on the
//! number of threads. Everything below keeps to this by adding in an order that is fixed by absolute position and shape.

// Kernels are unsafe through and through: nearly every line is an intrinsic, a load or a store. Contracts stand at their entries.
#![allow(unsafe_op_in_unsafe_fn)]
// Constants of approximations stand as they are published.
#![allow(clippy::excessive_precision)]
// Loops over small register arrays read best by index.
#![allow(clippy::needless_range_loop)]

mod attention;
mod executor;
mod kv;
pub mod linear;
mod memory;
pub mod pool;
mod rope;
mod rows;
mod sampling;
mod simd;

use std::any::Any;
use std::sync::Arc;

use super::{Backend, Executor, ExecutorLimits, Packed, Program, Weight, WeightUse};
use crate::error::{Error, Result};
use executor::CpuExecutor;
use linear::Level;
use pool::Pool;

/// How a [`CpuBackend`] is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuOptions {
    /// Threads that compute, the caller's included. 0: as many as the process may run on, at most
    /// [`MAX_DEFAULT_THREADS`](pool::MAX_DEFAULT_THREADS).
    pub threads: usize,
    /// The instruction set; `None`: the best this processor has. Others are for tests and comparisons.
    pub level: Option<Level>,
}

/// The CPU as a device.
///
/// Its threads sleep while no step runs and end when the backend and its executors are gone. Steps of several executors take turns.
pub struct CpuBackend {
    pool: Arc<Pool>,
    level: Level,
}

impl CpuBackend {
    /// Errors: UNSUPPORTED where the processor lacks the level asked for; INVALID_ARGUMENT for too many threads; OUT_OF_MEMORY where
    /// the system refuses a thread.
    pub fn new(options: CpuOptions) -> Result<Self> {
        let level = options.level.unwrap_or_else(Level::detect);
        if !level.is_available() {
            return Err(Error::unsupported(format!(
                "unsupported CPU: this processor has no {level}, its best is {}",
                Level::detect()
            )));
        }
        Ok(CpuBackend { pool: Arc::new(Pool::new(options.threads)?), level })
    }

    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    pub fn level(&self) -> Level {
        self.level
    }
}

/// A norm weight or a bias.
struct PackedVector(Box<[f32]>);

impl PackedVector {
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The packed values as `T`. Errors: INVALID_ARGUMENT where another backend packed one.
fn unpack<T: Any + Send + Sync>(packed: &[Packed], what: &str) -> Result<Vec<Arc<T>>> {
    let one = |(index, packed): (usize, &Packed)| {
        let shared = packed.data.clone().downcast::<T>();
        shared.map_err(|_| Error::invalid(format!("{what} {index} was packed by another backend")))
    };
    packed.iter().enumerate().map(one).collect()
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn description(&self) -> String {
        let threads = self.threads();
        format!("CPU, {}, {threads} {}", self.level, if threads == 1 { "thread" } else { "threads" })
    }

    fn layout_key(&self) -> String {
        format!("cpu {}", self.level)
    }

    fn free_memory(&self) -> Option<u64> {
        memory::free_bytes()
    }

    fn pack(&self, weight: &Weight, _uses: WeightUse) -> Result<Packed> {
        // One layout serves products and gathered rows.
        let spread = |count: usize, work: &(dyn Fn(usize) + Sync)| {
            self.pool.run(&|member| {
                while let Some(claimed) = member.claim(count, 1) {
                    claimed.for_each(work);
                }
                Ok(())
            })
        };
        let matrix = linear::pack(weight, self.level, &spread, &|part, consumed| {
            // Where the packed tiles and the mapped file would both count as this process's memory, the file's pages go.
            if let Some(bytes) = part.tensor.data.slice(consumed.start, consumed.len()) {
                bytes.release();
            }
        })?;
        let bytes = matrix.bytes();
        Ok(Packed::new(matrix, bytes))
    }

    fn pack_vector(&self, values: &[f32]) -> Result<Packed> {
        let bytes = size_of_val(values) as u64;
        let mut copy = Vec::new();
        copy.try_reserve_exact(values.len()).map_err(|e| Error::out_of_memory(format!("a vector of {bytes} bytes: {e}")))?;
        copy.extend_from_slice(values);
        Ok(Packed::new(PackedVector(copy.into_boxed_slice()), bytes))
    }

    fn executor(
        &self,
        program: Arc<Program>,
        weights: Arc<[Packed]>,
        vectors: Arc<[Packed]>,
        limits: &ExecutorLimits,
    ) -> Result<Box<dyn Executor>> {
        Ok(Box::new(CpuExecutor::new(self.pool.clone(), self.level, program, &weights, &vectors, limits)?))
    }
}
