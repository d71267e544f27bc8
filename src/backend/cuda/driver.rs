//! The CUDA driver: devices, memory, streams, kernels and graphs, each owned by a value that gives it back.
//!
//! Every call that needs a context takes a [`Current`], which makes this device's primary context the thread's for a while and puts
//! the host's own back. Nothing here synchronises a device or a stream that is not ours.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys;

use crate::error::{Error, Result, Status};

pub(super) use sys::{CUdeviceptr, CUfunction, CUgraphExec, CUstream};

/// A driver that can load what nvcc 13 compiles.
const LEAST_DRIVER: i32 = 13000;

/// Turns a driver's answer into a status. `what` names what was being done.
pub(super) fn check(answer: sys::CUresult, what: impl FnOnce() -> String) -> Result<()> {
    use sys::cudaError_enum as E;
    if answer == E::CUDA_SUCCESS {
        return Ok(());
    }
    let status = match answer {
        E::CUDA_ERROR_OUT_OF_MEMORY => Status::DeviceOutOfMemory,
        E::CUDA_ERROR_ILLEGAL_ADDRESS
        | E::CUDA_ERROR_LAUNCH_FAILED
        | E::CUDA_ERROR_LAUNCH_TIMEOUT
        | E::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | E::CUDA_ERROR_MISALIGNED_ADDRESS
        | E::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | E::CUDA_ERROR_INVALID_PC
        | E::CUDA_ERROR_HARDWARE_STACK_ERROR
        | E::CUDA_ERROR_ECC_UNCORRECTABLE
        | E::CUDA_ERROR_CONTEXT_IS_DESTROYED => Status::DeviceLost,
        _ => Status::Cuda,
    };
    Err(Error::new(status, format!("{}: {}", what(), describe(answer))))
}

fn describe(answer: sys::CUresult) -> String {
    let text = |of: unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult| {
        let mut text = ptr::null();
        // SAFETY: both functions set `text` to a constant string or to null.
        unsafe {
            of(answer, &mut text);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    };
    format!("{} ({})", text(sys::cuGetErrorString), text(sys::cuGetErrorName))
}

/// Loads the driver's library and initialises it, once for the process. Errors: CUDA naming what is missing.
fn driver() -> Result<()> {
    static DRIVER: OnceLock<Result<()>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            // SAFETY: looks for the library; cudarc panics on first use where there is none, so it must be asked.
            if !unsafe { sys::is_culib_present() } {
                return Err(Error::new(Status::Cuda, "no CUDA driver: libcuda.so.1 was not found"));
            }
            let mut version = 0;
            // SAFETY: `version` is written.
            check(unsafe { sys::cuDriverGetVersion(&mut version) }, || "version of the CUDA driver".into())?;
            if version < LEAST_DRIVER {
                let (major, minor) = (version / 1000, version % 1000 / 10);
                let message = format!("the CUDA driver is for CUDA {major}.{minor}, expected 13.0 or later (driver 580)");
                return Err(Error::new(Status::Cuda, message));
            }
            // SAFETY: the driver's initialisation; may be called again by anybody.
            check(unsafe { sys::cuInit(0) }, || "initialising the CUDA driver".into())
        })
        .clone()
}

/// A device with its primary context.
pub(super) struct Device {
    pub ordinal: i32,
    pub name: String,
    /// Compute capability, such as (9, 0).
    pub capability: (i32, i32),
    pub processors: i32,
    handle: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a primary context may be used from any thread.
unsafe impl Send for Device {}
// SAFETY: as above; the driver does its own locking.
unsafe impl Sync for Device {}

impl Device {
    /// Errors: CUDA where there is no driver, no such device, or the device is in a state that refuses contexts.
    pub fn open(ordinal: i32) -> Result<Arc<Self>> {
        driver()?;
        let mut count = 0;
        // SAFETY: `count` is written.
        check(unsafe { sys::cuDeviceGetCount(&mut count) }, || "counting CUDA devices".into())?;
        if !(0..count).contains(&ordinal) {
            let found = if count == 0 { "there is none".to_string() } else { format!("expected below {count}") };
            return Err(Error::new(Status::Cuda, format!("CUDA device {ordinal}: {found}")));
        }
        let named = |what: &str| format!("CUDA device {ordinal}, {what}");
        let mut handle = 0;
        // SAFETY: out-parameters of the right types, here and below.
        check(unsafe { sys::cuDeviceGet(&mut handle, ordinal) }, || named("handle"))?;
        let mut name = [0 as c_char; 256];
        // SAFETY: the name is cut to the array and ends with NUL.
        check(unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, handle) }, || named("name"))?;
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        use sys::CUdevice_attribute_enum as A;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: as above.
            check(unsafe { sys::cuDeviceGetAttribute(&mut value, which, handle) }, || named("attribute")).map(|()| value)
        };
        let capability = (
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let processors = attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let mut context = ptr::null_mut();
        // SAFETY: released when the device is dropped.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, handle) }, || named("primary context"))?;
        Ok(Arc::new(Device { ordinal, name, capability, processors, handle, context }))
    }

    /// Makes this device the thread's until the result is dropped.
    pub fn current(&self) -> Result<Current<'_>> {
        // SAFETY: the context is retained as long as the device lives, and is popped when the guard is dropped.
        check(unsafe { sys::cuCtxPushCurrent_v2(self.context) }, || format!("CUDA device {}: current context", self.ordinal))?;
        Ok(Current { device: PhantomData, thread: PhantomData })
    }

    /// Free and total bytes of memory.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let _current = self.current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are written.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, || "free device memory".into())?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`. A failure would be the driver's business at process end.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.handle) };
    }
}

/// The device's context is this thread's.
pub(super) struct Current<'a> {
    device: PhantomData<&'a Device>,
    /// Contexts are current to a thread, so this stays on it.
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: the context that `current` pushed is on top: guards nest.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

/// Bytes on a device.
pub(super) struct DeviceBytes {
    device: Arc<Device>,
    start: CUdeviceptr,
    len: usize,
}

impl DeviceBytes {
    /// Uninitialised memory, aligned to 256 bytes. `what` names it in the error. Errors: DEVICE_OUT_OF_MEMORY with bytes needed and free.
    pub fn new(device: &Arc<Device>, len: usize, what: &str) -> Result<Self> {
        let mut start = 0;
        if len > 0 {
            let _current = device.current()?;
            // SAFETY: freed when dropped.
            let answer = unsafe { sys::cuMemAlloc_v2(&mut start, len) };
            check(answer, || {
                let free = device.memory().map_or_else(|_| "an unknown number".to_string(), |(free, _)| free.to_string());
                format!("{what}: {len} bytes of device memory needed, {free} free")
            })?;
        }
        Ok(DeviceBytes { device: device.clone(), start, len })
    }

    /// Memory that holds zeros.
    pub fn zeroed(device: &Arc<Device>, stream: &Stream, len: usize, what: &str) -> Result<Self> {
        let memory = DeviceBytes::new(device, len, what)?;
        if len > 0 {
            let _current = device.current()?;
            // SAFETY: the range was just allocated.
            check(unsafe { sys::cuMemsetD8Async(memory.start, 0, len, stream.raw()) }, || what.to_string())?;
        }
        Ok(memory)
    }

    pub fn at(&self, offset: usize) -> CUdeviceptr {
        debug_assert!(offset <= self.len, "{offset} of {}", self.len);
        self.start + offset as CUdeviceptr
    }

    pub fn start(&self) -> CUdeviceptr {
        self.start
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        if self.len > 0
            && let Ok(_current) = self.device.current()
        {
            // SAFETY: allocated in `new`; the driver lets work in flight end first.
            unsafe { sys::cuMemFree_v2(self.start) };
        }
    }
}

/// Page-locked memory of the host, which the device reads and writes by itself.
pub(super) struct PinnedBytes {
    device: Arc<Device>,
    start: *mut u8,
    len: usize,
}

// SAFETY: memory like any other.
unsafe impl Send for PinnedBytes {}

impl PinnedBytes {
    /// Errors: OUT_OF_MEMORY naming the bytes.
    pub fn new(device: &Arc<Device>, len: usize, what: &str) -> Result<Self> {
        let mut start = ptr::null_mut();
        let _current = device.current()?;
        // SAFETY: freed when dropped. PORTABLE: other contexts of this process see it as pinned too.
        let answer = unsafe { sys::cuMemHostAlloc(&mut start, len.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) };
        check(answer, || format!("{what}: {len} bytes of page-locked memory needed")).map_err(|error| {
            if error.status() == Status::DeviceOutOfMemory { Error::out_of_memory(error.message()) } else { error }
        })?;
        // SAFETY: `len` bytes that nobody else has.
        unsafe { ptr::write_bytes(start.cast::<u8>(), 0, len) };
        Ok(PinnedBytes { device: device.clone(), start: start.cast(), len })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: initialised in `new`; whoever has the device write here waits before reading.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// As whole 32-bit words.
    pub fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above; page-locked memory begins on a page, and any bits are a word.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.len / 4) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.current() {
            // SAFETY: allocated in `new`.
            unsafe { sys::cuMemFreeHost(self.start.cast()) };
        }
    }
}

/// A stream of our own that waits for no other.
pub(super) struct Stream {
    device: Arc<Device>,
    raw: CUstream,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let _current = device.current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: destroyed when dropped.
        let answer = unsafe { sys::cuStreamCreate(&mut raw, sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32) };
        check(answer, || "making a stream".into())?;
        Ok(Stream { device: device.clone(), raw })
    }

    pub fn raw(&self) -> CUstream {
        self.raw
    }

    pub fn synchronize(&self) -> Result<()> {
        let _current = self.device.current()?;
        // SAFETY: a live stream.
        check(unsafe { sys::cuStreamSynchronize(self.raw) }, || "waiting for the stream".into())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.current() {
            // SAFETY: made in `new`. Memory that its work uses is freed after the work has ended.
            unsafe {
                sys::cuStreamSynchronize(self.raw);
                sys::cuStreamDestroy_v2(self.raw);
            }
        }
    }
}

/// A point in a stream that can be waited for.
pub(super) struct Event {
    device: Arc<Device>,
    raw: sys::CUevent,
}

// SAFETY: events may be used from any thread.
unsafe impl Send for Event {}

impl Event {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let _current = device.current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: destroyed when dropped.
        let answer = unsafe { sys::cuEventCreate(&mut raw, sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32) };
        check(answer, || "making an event".into())?;
        Ok(Event { device: device.clone(), raw })
    }

    /// After everything in the stream so far.
    pub fn record(&self, stream: CUstream) -> Result<()> {
        // SAFETY: live handles of one context.
        check(unsafe { sys::cuEventRecord(self.raw, stream) }, || "recording an event".into())
    }

    /// Has `stream` wait, without the host.
    pub fn hold(&self, stream: CUstream) -> Result<()> {
        // SAFETY: live handles of one context.
        check(unsafe { sys::cuStreamWaitEvent(stream, self.raw, 0) }, || "ordering two streams".into())
    }

    /// Waits on the host; at once where it was never recorded.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: a live event.
        check(unsafe { sys::cuEventSynchronize(self.raw) }, || "waiting for the device".into())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.current() {
            // SAFETY: made in `new`.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

/// Copies to the device, in stream order.
///
/// # Safety
/// `from` stays as it is until the copy is done, where it is page-locked; the device's range is inside an allocation.
pub(super) unsafe fn upload(to: CUdeviceptr, from: &[u8], stream: CUstream) -> Result<()> {
    if from.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller's contract.
    let answer = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
    check(answer, || format!("copying {} bytes to the device", from.len()))
}

/// Copies to the host, in stream order.
///
/// # Safety
/// As [`upload`], the other way round.
pub(super) unsafe fn download(to: &mut [u8], from: CUdeviceptr, stream: CUstream) -> Result<()> {
    // SAFETY: the caller's contract.
    let answer = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
    check(answer, || format!("copying {} bytes from the device", to.len()))
}

/// Code for a device.
pub(super) struct Module {
    device: Arc<Device>,
    raw: sys::CUmodule,
}

// SAFETY: modules belong to a context that any thread may use.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads a fat binary. `name` is its source's.
    pub fn load(device: &Arc<Device>, name: &str, image: &[u8]) -> Result<Self> {
        let _current = device.current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: a complete image that nvcc made; unloaded when dropped.
        let answer = unsafe { sys::cuModuleLoadData(&mut raw, image.as_ptr().cast()) };
        check(answer, || {
            let (major, minor) = device.capability;
            format!("loading {name} for {} (compute capability {major}.{minor})", device.name)
        })?;
        Ok(Module { device: device.clone(), raw })
    }

    /// The names of its kernels.
    pub fn functions(&self) -> Result<Vec<CString>> {
        let _current = self.device.current()?;
        let mut count = 0;
        // SAFETY: a live module; `count` is written.
        check(unsafe { sys::cuModuleGetFunctionCount(&mut count, self.raw) }, || "counting kernels".into())?;
        let mut functions = vec![ptr::null_mut(); count as usize];
        // SAFETY: the list is as long as the count says.
        let answer = unsafe { sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.raw) };
        check(answer, || "listing kernels".into())?;
        let name = |function| {
            let mut name = ptr::null();
            // SAFETY: a handle of this module; `name` is set to a string that lives as long.
            check(unsafe { sys::cuFuncGetName(&mut name, function) }, || "name of a kernel".into())?;
            // SAFETY: as above.
            Ok(unsafe { CStr::from_ptr(name) }.to_owned())
        };
        functions.into_iter().map(name).collect()
    }

    pub fn function(&self, name: &CStr) -> Result<CUfunction> {
        let _current = self.device.current()?;
        let mut function = ptr::null_mut();
        // SAFETY: a live module and a NUL-terminated name.
        let answer = unsafe { sys::cuModuleGetFunction(&mut function, self.raw, name.as_ptr()) };
        check(answer, || format!("kernel {}", name.to_string_lossy()))?;
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.current() {
            // SAFETY: loaded in `load`; whoever launches its kernels holds it.
            unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

/// Types that a kernel's parameter can have.
pub(super) trait Argument {}
impl Argument for CUdeviceptr {}
impl Argument for i64 {}
impl Argument for i32 {}
impl Argument for u32 {}
impl Argument for f32 {}

pub(super) fn argument<T: Argument>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

/// Where and how a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub grid: [u32; 3],
    pub block: u32,
    pub shared: u32,
    /// Blocks may come before the kernel in front has ended: for kernels that wait by themselves.
    pub overlaps: bool,
}

impl Geometry {
    /// Blocks along one or two dimensions.
    pub fn new(x: usize, y: usize, block: u32) -> Self {
        Geometry { grid: [x as u32, y as u32, 1], block, shared: 0, overlaps: false }
    }

    pub fn with_shared(mut self, bytes: usize) -> Self {
        self.shared = bytes as u32;
        self
    }
}

/// Launches `function` with `parameters`. Use [`launch!`], which makes them from values.
///
/// # Safety
/// The parameters are those of the kernel, in number, order and type, and what they point to is there.
pub(super) unsafe fn launch_raw(
    function: CUfunction,
    geometry: Geometry,
    stream: CUstream,
    parameters: &mut [*mut c_void],
) -> Result<()> {
    let Geometry { grid: [x, y, z], block, shared, overlaps } = geometry;
    if x == 0 || y == 0 || z == 0 {
        return Ok(());
    }
    let mut overlap = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared,
        hStream: stream,
        attrs: &mut overlap,
        numAttrs: u32::from(overlaps),
    };
    // SAFETY: the caller's contract; the attribute outlives the call.
    let answer = unsafe { sys::cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), ptr::null_mut()) };
    check(answer, || format!("launching a kernel ({geometry:?})"))
}

/// `launch!(function, geometry, stream; arguments…)`: types of arguments are the kernel's. Unsafe as [`launch_raw`].
macro_rules! launch {
    ($function:expr, $geometry:expr, $stream:expr; $($value:expr),* $(,)?) => {
        $crate::backend::cuda::driver::launch_raw(
            $function, $geometry, $stream, &mut [$($crate::backend::cuda::driver::argument(&$value)),*])
    };
}
pub(super) use launch;

/// A captured sequence of launches and copies.
pub(super) struct Graph {
    device: Arc<Device>,
    raw: CUgraphExec,
}

// SAFETY: used by one executor at a time.
unsafe impl Send for Graph {}

impl Graph {
    /// Captures what `record` puts on `stream`. Other threads may allocate and capture meanwhile.
    pub fn capture(device: &Arc<Device>, stream: &Stream, record: impl FnOnce() -> Result<()>) -> Result<Self> {
        let _current = device.current()?;
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: a stream of our own that nobody else captures.
        check(unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) }, || "beginning a capture".into())?;
        let recorded = record();
        let mut graph = ptr::null_mut();
        // SAFETY: ends the capture begun above, whatever came of it.
        let ended = check(unsafe { sys::cuStreamEndCapture(stream.raw(), &mut graph) }, || "ending a capture".into());
        let made = recorded.and(ended).and_then(|()| {
            let mut raw = ptr::null_mut();
            // SAFETY: a whole graph; the executable one is destroyed when dropped.
            check(unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph, 0) }, || "making a graph".into()).map(|()| raw)
        });
        if !graph.is_null() {
            // SAFETY: not needed once it is instantiated.
            unsafe { sys::cuGraphDestroy(graph) };
        }
        made.map(|raw| Graph { device: device.clone(), raw })
    }

    pub fn launch(&self, stream: CUstream) -> Result<()> {
        // SAFETY: a live graph and stream of one context.
        check(unsafe { sys::cuGraphLaunch(self.raw, stream) }, || "launching a graph".into())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.current() {
            // SAFETY: instantiated in `capture`; the driver keeps it until launches in flight have ended.
            unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}
