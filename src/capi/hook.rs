//! `tactus_boundary_t`: what a host may do between the steps of a dispatch.

use std::ffi::c_void;
use std::sync::Arc;
use std::thread::ThreadId;

use parking_lot::Mutex;

use super::args::{UserData, flag, out, out_pointer};
use super::boundary::{boundary as border, callback};
use super::coordinator::tactus_coordinator_t;
use super::handle::{self, Handle, Kind};
use super::request::tactus_request_t;
use super::response::{ResponseObject, tactus_response_t};
use super::stepped::index;
use crate::coordinator::{AdmitDecision, DispatchOptions, GenerationBoundary, Response};
use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// A running dispatch between two steps. Valid only inside the hook that it was given to, on that thread.
pub struct tactus_boundary_t {
    _opaque: [u8; 0],
}

pub(super) struct BoundaryObject {
    /// The boundary's address while the hook runs.
    place: Mutex<Option<usize>>,
    thread: ThreadId,
    tokenizer: Arc<Tokenizer>,
}

impl Handle for tactus_boundary_t {
    const KIND: Kind = Kind::Boundary;
    type Object = BoundaryObject;
}

impl BoundaryObject {
    fn with<T>(&self, act: impl FnOnce(&mut GenerationBoundary<'_, '_>) -> Result<T>) -> Result<T> {
        if std::thread::current().id() != self.thread {
            return Err(Error::state("boundary: used on another thread, expected the one that the hook runs on"));
        }
        let Some(address) = self.place.lock().take() else {
            return Err(Error::state("boundary: used outside its hook"));
        };
        // SAFETY: `dispatch` below put the address of a boundary that lives until the hook has returned, and takes it out before that; it
        // was taken out above, so this is the only reference to it; and this is the thread that made it.
        let boundary = unsafe { &mut *(address as *mut GenerationBoundary<'_, '_>) };
        let answer = act(boundary);
        *self.place.lock() = Some(address);
        answer
    }
}

/// Called between the steps of a dispatch and once more when nothing is left to run, on the thread that dispatches.
///
/// May call any function of this library; those that need the coordinator idle answer BUSY. Must not unwind or longjmp.
pub type tactus_boundary_hook_t = Option<unsafe extern "C" fn(boundary: *mut tactus_boundary_t, user_data: *mut c_void)>;

/// As tactus_coordinator_dispatch_request, with `hook` called at every step boundary and once after the loop. What the hook admits in its
/// last call goes on. Results of joiners that the hook does not take are in the response, after those of the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_dispatch_request_with_hook(
    coordinator: *mut tactus_coordinator_t,
    request: *const tactus_request_t,
    enable_profiling: i32,
    cuda_stream: *mut c_void,
    hook: tactus_boundary_hook_t,
    user_data: *mut c_void,
) -> i32 {
    border(|call| {
        let coordinator = call.get(coordinator, "coordinator")?;
        let request = call.get(request, "request")?.snapshot();
        let options = DispatchOptions { profiling: flag(enable_profiling, "enable_profiling")?, stream: cuda_stream as usize };
        let hook = hook.ok_or_else(|| Error::invalid("hook is null"))?;
        let user_data = UserData(user_data);
        let object = BoundaryObject {
            place: Mutex::new(None),
            thread: std::thread::current().id(),
            tokenizer: coordinator.artifacts().tokenizer().clone(),
        };
        let handle = handle::give::<tactus_boundary_t>(object)?;
        let object = call.get(handle.cast_const(), "boundary")?;
        let mut run = |boundary: &mut GenerationBoundary<'_, '_>| {
            *object.place.lock() = Some(std::ptr::from_mut(boundary) as usize);
            // SAFETY: the host's function, with the pointer it gave for it.
            callback(|| unsafe { hook(handle, user_data.0) });
            *object.place.lock() = None;
        };
        let outcome = coordinator.dispatch_request(&request, &options, Some(&mut run));
        // The hook may have destroyed nothing of ours: its handle is not the host's to free.
        let _ = handle::take(handle, "boundary");
        outcome
    })
}

/// Sequences that have not ended, joiners included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_boundary_resident_count(boundary: *const tactus_boundary_t, out_count: *mut usize) -> i32 {
    border(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(boundary, "boundary")?.with(|boundary| Ok(boundary.resident_count()))?);
        Ok(())
    })
}

/// Brings in the one sequence of `request`, with its own settings, channel and stop strings.
///
/// `original_index`: what its result is called by; nobody in this dispatch has had it. `request_id`: above 0. Errors, each without any
/// effect: NO_CAPACITY (no seat or no pages now); anything else is a refusal that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_boundary_admit_request(
    boundary: *mut tactus_boundary_t,
    request: *const tactus_request_t,
    original_index: i32,
    request_id: u64,
) -> i32 {
    border(|call| {
        let object = call.get(boundary, "boundary")?;
        let request = call.get(request, "request")?.snapshot();
        let index = index(original_index)?;
        object.with(|boundary| match boundary.admit_request(&request, index, request_id) {
            AdmitDecision::Admitted => Ok(()),
            AdmitDecision::NoCapacity(error) | AdmitDecision::Failed(error) => Err(error),
        })
    })
}

/// Moves out the results of those that have ended at or above `first_index`, as a response in the order of their indices;
/// tactus_response_original_index tells who is who. It may hold no sequence. `*out_response` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_boundary_take_completed_at_or_above(
    boundary: *mut tactus_boundary_t,
    first_index: i32,
    out_response: *mut *mut tactus_response_t,
) -> i32 {
    border(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_response, "out_response") }?;
        let object = call.get(boundary, "boundary")?;
        let first = index(first_index)?;
        let taken = object.with(|boundary| Ok(boundary.take_completed_at_or_above(first)))?;
        let response = Response { sequences: taken.into_values().collect(), timings: None };
        out.set(handle::give(ResponseObject::new(response, object.tokenizer.clone()))?);
        Ok(())
    })
}
