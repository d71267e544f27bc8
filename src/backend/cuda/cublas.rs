//! Large products of bf16 matrices through cuBLASLt, where the machine has it.
//!
//! The library is looked for when a device is opened. Without it, and for products of few rows, the kernels of this library run.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, OnceLock};

use cudarc::cublaslt::sys;
use parking_lot::Mutex;

use super::driver::{CUdeviceptr, CUstream, Device, DeviceBytes};
use super::kernels::Number;
use crate::error::{Error, Result, Status};

/// `CUBLAS_OP_T` of `cublasOperation_t`, a C enum.
const TRANSPOSED: i32 = 1;

/// Scratch of a product.
const WORKSPACE: usize = 32 << 20;

/// `out[r][first..][..n] = weight[n][k] · x[r][k]`, rows of `out` being `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Product {
    pub n: usize,
    pub k: usize,
    pub rows: usize,
    pub stride: usize,
    pub out: Number,
}

/// A handle with what it found out about products so far. For one executor: products share the scratch.
pub(super) struct CublasLt {
    device: Arc<Device>,
    handle: sys::cublasLtHandle_t,
    workspace: DeviceBytes,
    plans: Mutex<HashMap<Product, Plan>>,
}

// SAFETY: the handle is used under `&self` from one thread at a time, by its executor; the library allows any thread.
unsafe impl Send for CublasLt {}

/// Descriptors and the algorithm of a product.
struct Plan {
    operation: sys::cublasLtMatmulDesc_t,
    weight: sys::cublasLtMatrixLayout_t,
    x: sys::cublasLtMatrixLayout_t,
    out: sys::cublasLtMatrixLayout_t,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

fn check(answer: sys::cublasStatus_t, what: &str) -> Result<()> {
    match answer {
        sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        other => Err(Error::new(Status::Cuda, format!("cuBLASLt, {what}: {other:?}"))),
    }
}

/// Whether the machine has the library.
fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: looks for the library.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

impl CublasLt {
    /// `None` where the machine has no cuBLASLt.
    pub fn new(device: &Arc<Device>) -> Result<Option<Self>> {
        if !is_present() {
            tracing::info!("no cuBLASLt on this machine: large products run in kernels of this library");
            return Ok(None);
        }
        let workspace = DeviceBytes::new(device, WORKSPACE, "scratch of cuBLASLt")?;
        let _current = device.current()?;
        let mut handle = ptr::null_mut();
        // SAFETY: destroyed when dropped.
        check(unsafe { sys::cublasLtCreate(&mut handle) }, "making a handle")?;
        Ok(Some(CublasLt { device: device.clone(), handle, workspace, plans: Mutex::default() }))
    }

    pub fn bytes(&self) -> usize {
        self.workspace.len()
    }

    /// Whether `product` is one for this library: enough rows, and rows that begin on 16 bytes.
    pub fn takes(product: &Product) -> bool {
        product.rows > 16 && product.k.is_multiple_of(8) && product.n.is_multiple_of(8) && product.stride.is_multiple_of(8)
    }

    /// Puts a product on `stream`.
    ///
    /// # Safety
    /// `weight`, `x` (both bf16) and `out` hold the matrices that `product` says.
    pub unsafe fn run(
        &self,
        product: Product,
        weight: CUdeviceptr,
        x: CUdeviceptr,
        out: CUdeviceptr,
        stream: CUstream,
    ) -> Result<()> {
        let mut plans = self.plans.lock();
        let plan = match plans.entry(product) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(self.plan(&product)?),
        };
        let (one, zero) = (1f32, 0f32);
        let pointer = |address: CUdeviceptr| address as *mut c_void;
        // SAFETY: the caller's contract; scalars are f32, as the operation says.
        let answer = unsafe {
            sys::cublasLtMatmul(
                self.handle,
                plan.operation,
                ptr::from_ref(&one).cast(),
                pointer(weight),
                plan.weight,
                pointer(x),
                plan.x,
                ptr::from_ref(&zero).cast(),
                pointer(out),
                plan.out,
                pointer(out),
                plan.out,
                &plan.algorithm,
                pointer(self.workspace.start()),
                WORKSPACE,
                stream.cast(),
            )
        };
        check(answer, "a product")
    }

    /// The library counts columns first: its `weight` is `[k, n]` to be transposed, `x` is `[k, rows]` and `out` `[n, rows]`.
    fn plan(&self, product: &Product) -> Result<Plan> {
        use sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
        use sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let Product { n, k, rows, stride, out } = *product;
        let bf16 = sys::cudaDataType::CUDA_R_16BF;
        let f32 = sys::cudaDataType::CUDA_R_32F;
        let out_type = if out == Number::F32 { f32 } else { bf16 };
        let (mut operation, mut preference) = (ptr::null_mut(), ptr::null_mut());
        let mut layouts = [ptr::null_mut(); 3];
        let mut found = std::mem::MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::uninit();
        let mut count = 0;
        // SAFETY: out-parameters and attributes of the right types and sizes. Descriptors are destroyed with the plan; after an error
        // here, which ends the executor's making or its step, a few bytes of the host stay.
        let algorithm = unsafe {
            check(
                sys::cublasLtMatmulDescCreate(&mut operation, sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, f32),
                "describing a product",
            )?;
            let transposed = TRANSPOSED;
            let attribute = sys::cublasLtMatmulDescSetAttribute(
                operation,
                CUBLASLT_MATMUL_DESC_TRANSA,
                ptr::from_ref(&transposed).cast(),
                size_of_val(&transposed),
            );
            check(attribute, "describing a product")?;
            let shapes = [(bf16, k, n, k), (bf16, k, rows, k), (out_type, n, rows, stride)];
            for (layout, (ty, down, across, lead)) in layouts.iter_mut().zip(shapes) {
                check(
                    sys::cublasLtMatrixLayoutCreate(layout, ty, down as u64, across as u64, lead as i64),
                    "describing a matrix",
                )?;
            }
            check(sys::cublasLtMatmulPreferenceCreate(&mut preference), "describing a choice")?;
            let attribute = sys::cublasLtMatmulPreferenceSetAttribute(
                preference,
                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                ptr::from_ref(&WORKSPACE).cast(),
                size_of_val(&WORKSPACE),
            );
            let [weight, x, out] = layouts;
            let chosen = sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                operation,
                weight,
                x,
                out,
                out,
                preference,
                1,
                found.as_mut_ptr(),
                &mut count,
            );
            sys::cublasLtMatmulPreferenceDestroy(preference);
            check(attribute, "describing a choice")?;
            check(chosen, "choosing an algorithm")?;
            if count == 0 {
                return Err(Error::new(Status::Cuda, format!("cuBLASLt has no algorithm for {product:?}")));
            }
            found.assume_init().algo
        };
        let [weight, x, out] = layouts;
        Ok(Plan { operation, weight, x, out, algorithm })
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        let Ok(_current) = self.device.current() else { return };
        for plan in self.plans.lock().values() {
            // SAFETY: made in `plan`, used by nobody else.
            unsafe {
                sys::cublasLtMatmulDescDestroy(plan.operation);
                for layout in [plan.weight, plan.x, plan.out] {
                    sys::cublasLtMatrixLayoutDestroy(layout);
                }
            }
        }
        // SAFETY: made in `new`; the stream was waited for.
        unsafe { sys::cublasLtDestroy(self.handle) };
    }
}
