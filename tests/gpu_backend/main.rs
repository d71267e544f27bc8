//! The CUDA backend: logits against references made outside, sampling against the CPU's, the invariants of the control plane.
//!
//! Without a device each test says so and passes; with TACTUS_REQUIRE_GPU set that is a failure. The binary runs by itself on a
//! machine without Rust, given TACTUS_TEST_DATA (tests/data of the repository).
#![cfg(feature = "cuda")]

#[path = "../cpu_support/mod.rs"]
mod cpu_support;
#[path = "../support/mod.rs"]
mod support;

mod checkpoints;
mod control;
mod loading;
mod programs;
mod sampling;
mod speed;

use std::sync::OnceLock;

use tactus::Result;
use tactus::backend::cpu::{CpuBackend, CpuOptions};
use tactus::backend::cuda::{CudaBackend, CudaOptions};

/// The device as users get it, or `None` after saying why there is none.
fn device() -> Option<&'static CudaBackend> {
    static DEVICE: OnceLock<Result<CudaBackend>> = OnceLock::new();
    open(&DEVICE, false)
}

/// The device in batch-invariant mode.
fn exact_device() -> Option<&'static CudaBackend> {
    static DEVICE: OnceLock<Result<CudaBackend>> = OnceLock::new();
    open(&DEVICE, true)
}

fn open(device: &'static OnceLock<Result<CudaBackend>>, batch_invariant: bool) -> Option<&'static CudaBackend> {
    match device.get_or_init(|| CudaBackend::new(CudaOptions { ordinal: 0, batch_invariant })) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("TACTUS_REQUIRE_GPU").is_none(), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

fn cpu() -> CpuBackend {
    CpuBackend::new(CpuOptions { threads: 2, level: None }).unwrap()
}
