//! `tactus_stepped_t`: an execution whose every tick the host decides.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::args::{array, flag, out, out_pointer, out_span, texts};
use super::boundary::{Call, boundary};
use super::coordinator::tactus_coordinator_t;
use super::handle::{self, Handle, Kind};
use super::request::tactus_request_t;
use super::response::{ResponseObject, tactus_response_t};
use crate::coordinator::{AdmissionResult, DispatchOptions, Response, SteppedExecution, materialize};
use crate::error::{Error, Result};
use crate::rank::{ResidentRef, SequenceResult, StepPlan};
use crate::text::Tokenizer;

/// An execution that the host drives tick by tick. It holds its coordinator, whose other calls answer BUSY, until it is finished,
/// aborted or destroyed.
///
/// A resident, a sequence that is live in it, is named by a `uint64_t`: the number of its seat in the low 32 bits, and above them a count
/// of the seat's uses, so that a name never comes to mean another sequence; a stale one is INVALID_ARGUMENT.
/// Threads: any, one call at a time; an overlapping one answers BUSY. Spans borrowed from it live until the next call that runs,
/// admits or ends something. After the coordinator's destruction its functions answer STATE.
pub struct tactus_stepped_t {
    _opaque: [u8; 0],
}

pub(super) struct SteppedObject {
    execution: Arc<SteppedExecution>,
    tokenizer: Arc<Tokenizer>,
    shown: Mutex<Shown>,
}

impl Handle for tactus_stepped_t {
    const KIND: Kind = Kind::Stepped;
    type Object = SteppedObject;
}

/// The last step as C reads it. Buffers are reused.
#[derive(Default)]
struct Shown {
    step_id: u64,
    residents: Vec<u64>,
    deltas: Vec<(u64, usize, usize)>,
    tokens: Vec<i32>,
    finished: Vec<SequenceResult>,
    finished_residents: Vec<u64>,
}

fn name(resident: ResidentRef) -> u64 {
    u64::from(resident.epoch) << 32 | u64::from(resident.slot)
}

fn named(resident: u64) -> ResidentRef {
    ResidentRef { slot: resident as u32, epoch: (resident >> 32) as u32 }
}

impl SteppedObject {
    /// Takes the last step's result over, whatever the call that ran it came to.
    fn show<T>(&self, outcome: Result<T>) -> Result<T> {
        let mut shown = self.shown.lock();
        shown.residents.clear();
        shown.residents.extend(self.execution.residents().unwrap_or_default().into_iter().map(name));
        shown.deltas.clear();
        shown.tokens.clear();
        shown.finished.clear();
        shown.finished_residents.clear();
        if let Ok(step) = self.execution.last_step() {
            shown.step_id = step.step_id;
            shown.tokens.extend(step.tokens.iter().map(|&token| token as i32));
            shown
                .deltas
                .extend(step.deltas.iter().map(|delta| (name(delta.resident), delta.first as usize, delta.count as usize)));
            shown.finished.extend(step.finished.iter().map(|(_, result)| result.clone()));
            shown.finished_residents.extend(step.finished.iter().map(|&(resident, _)| name(resident)));
        }
        outcome
    }

    /// The last step. Errors: STATE after the execution's end; BUSY while a call runs.
    fn shown(&self) -> Result<MutexGuard<'_, Shown>> {
        drop(self.execution.last_step()?);
        Ok(self.shown.lock())
    }

    fn respond(&self, sequences: Vec<SequenceResult>) -> Result<*mut tactus_response_t> {
        handle::give(ResponseObject::new(Response { sequences, timings: None }, self.tokenizer.clone()))
    }
}

/// Opens a stepped execution: prepares `request`, runs the prompts of all its sequences, and holds the coordinator from then on. What the
/// prompts gave (their first tokens) is the first step's, readable right away, and leads what the next step gives.
///
/// `request_id`: above 0. `enable_profiling`, `cuda_stream` as in tactus_coordinator_dispatch_request. `*out_stepped` is owned by the
/// caller: give it back with tactus_stepped_destroy. Errors: those of a dispatch, and NO_CAPACITY where not every sequence finds a seat
/// and pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_begin_stepped(
    coordinator: *mut tactus_coordinator_t,
    request: *const tactus_request_t,
    request_id: u64,
    enable_profiling: i32,
    cuda_stream: *mut c_void,
    out_stepped: *mut *mut tactus_stepped_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_stepped, "out_stepped") }?;
        let coordinator = call.get(coordinator, "coordinator")?;
        let request = call.get(request, "request")?.snapshot();
        let options = DispatchOptions { profiling: flag(enable_profiling, "enable_profiling")?, stream: cuda_stream as usize };
        let execution = coordinator.begin_stepped(&request, request_id, &options)?;
        let object = SteppedObject { execution, tokenizer: coordinator.artifacts().tokenizer().clone(), shown: Mutex::default() };
        object.show(Ok(()))?;
        out.set(handle::give(object)?);
        Ok(())
    })
}

/// Frees the execution, aborting it where it has not ended. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_destroy(stepped: *mut tactus_stepped_t) -> i32 {
    boundary(|_| {
        if let Some(object) = handle::take(stepped, "stepped")? {
            object.execution.abort();
        }
        Ok(())
    })
}

/// Live residents, longest resident first: `*out_residents` points at `*out_count` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_residents(
    stepped: *const tactus_stepped_t,
    out_residents: *mut *const u64,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_residents, out_count, ("out_residents", "out_count")) }?;
        out.set(&call.get(stepped, "stepped")?.shown()?.residents);
        Ok(())
    })
}

/// Brings in the one sequence of `request`, with its own settings, channel and stop strings. Its prompt is run by later prefills.
///
/// `original_index`: what its result is called by; nobody in this execution has had it. `request_id`: above 0. `*out_resident` is its name.
/// Errors, each without any effect: NO_CAPACITY (no seat or no pages now); anything else is a refusal that stays: INVALID_ARGUMENT,
/// CONTEXT_FULL, TEMPLATE, TOKENIZER, STATE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_admit(
    stepped: *mut tactus_stepped_t,
    request: *const tactus_request_t,
    original_index: i32,
    request_id: u64,
    out_resident: *mut u64,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_resident, "out_resident") }?;
        let object = call.get(stepped, "stepped")?;
        let request = call.get(request, "request")?.snapshot();
        let index = index(original_index)?;
        match object.execution.admit(&request, index, request_id)? {
            AdmissionResult::Admitted(resident) => {
                object.shown.lock().residents.push(name(resident));
                out.set(name(resident));
                Ok(())
            }
            AdmissionResult::NoCapacity(error) | AdmissionResult::Rejected(error) => Err(error),
        }
    })
}

pub(super) fn index(original_index: i32) -> Result<u32> {
    u32::try_from(original_index).map_err(|_| Error::invalid(format!("original_index: {original_index}, expected 0 or more")))
}

/// Runs the next chunk of a resident's prompt. `*out_remaining` is how many tokens of it remain; at 0 its first token is among the
/// step's deltas. Errors: INVALID_ARGUMENT (a stale name), STATE (its prompt is in place), NO_CAPACITY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_prefill(stepped: *mut tactus_stepped_t, resident: u64, out_remaining: *mut u32) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_remaining, "out_remaining") }?;
        let object = call.get(stepped, "stepped")?;
        out.set(object.show(object.execution.prefill(named(resident)))?);
        Ok(())
    })
}

/// One token for each of `residents`: all, or some. Errors: INVALID_ARGUMENT (none, a stale or repeated name), STATE (one whose prompt has
/// not been run to its end), NO_CAPACITY (pages are short; nothing has changed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_decode(stepped: *mut tactus_stepped_t, residents: *const u64, count: usize) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let decode = unsafe { array(residents, count, "residents") }?;
        run(call, stepped, &[], &[], decode)
    })
}

/// Prompt chunks and decode ticks in one pass of the model: up to `prefill_tokens[i]` tokens of the prompt of `prefill_residents[i]`, and one
/// token for each of `decode_residents`. Errors: as those of prefill and decode, and INVALID_ARGUMENT for more tokens than
/// TACTUS_LIMIT_STEP_TOKENS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_step(
    stepped: *mut tactus_stepped_t,
    prefill_residents: *const u64,
    prefill_tokens: *const u32,
    prefill_count: usize,
    decode_residents: *const u64,
    decode_count: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let prefill = unsafe { array(prefill_residents, prefill_count, "prefill_residents") }?;
        // SAFETY: as above.
        let tokens = unsafe { array(prefill_tokens, prefill_count, "prefill_tokens") }?;
        // SAFETY: as above.
        let decode = unsafe { array(decode_residents, decode_count, "decode_residents") }?;
        run(call, stepped, prefill, tokens, decode)
    })
}

fn run(call: &Call, stepped: *mut tactus_stepped_t, prefill: &[u64], tokens: &[u32], decode: &[u64]) -> Result<()> {
    let object = call.get(stepped, "stepped")?;
    let plan = StepPlan {
        prefill: prefill.iter().zip(tokens).map(|(&resident, &tokens)| (named(resident), tokens)).collect(),
        decode: decode.iter().map(|&resident| named(resident)).collect(),
    };
    object.show(object.execution.step(plan))
}

/// Number of the last step, counted over the coordinator's life.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_step_id(stepped: *const tactus_stepped_t, out_step_id: *mut u64) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_step_id, "out_step_id") }?;
        out.set(call.get(stepped, "stepped")?.shown()?.step_id);
        Ok(())
    })
}

/// How many residents gained tokens in the last step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_delta_count(stepped: *const tactus_stepped_t, out_count: *mut usize) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_count, "out_count") }?;
        out.set(call.get(stepped, "stepped")?.shown()?.deltas.len());
        Ok(())
    })
}

/// Delta `delta` of the last step: a resident and the tokens it gained. A resident that ended with the step has its last tokens here too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_delta(
    stepped: *const tactus_stepped_t,
    delta: usize,
    out_resident: *mut u64,
    out_token_ids: *mut *const i32,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let resident = unsafe { out(out_resident, "out_resident") }?;
        // SAFETY: as above.
        let ids = unsafe { out_span(out_token_ids, out_count, ("out_token_ids", "out_count")) }?;
        let object = call.get(stepped, "stepped")?;
        let shown = object.shown()?;
        let &(name, first, count) = shown.deltas.get(delta).ok_or_else(|| {
            Error::invalid(format!("delta: {delta}, expected less than {}, the deltas of the step", shown.deltas.len()))
        })?;
        resident.set(name);
        ids.set(&shown.tokens[first..first + count]);
        Ok(())
    })
}

/// Residents that ended in the last step, in the order of the sequences of tactus_stepped_finished_response. Their names are stale now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_finished(
    stepped: *const tactus_stepped_t,
    out_residents: *mut *const u64,
    out_count: *mut usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_span(out_residents, out_count, ("out_residents", "out_count")) }?;
        out.set(&call.get(stepped, "stepped")?.shown()?.finished_residents);
        Ok(())
    })
}

/// The results of those that ended in the last step, as a response; tactus_response_original_index tells who is who. `*out_response` is
/// owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_finished_response(
    stepped: *const tactus_stepped_t,
    out_response: *mut *mut tactus_response_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_response, "out_response") }?;
        let object = call.get(stepped, "stepped")?;
        let finished = object.shown()?.finished.clone();
        out.set(object.respond(finished)?);
        Ok(())
    })
}

/// Ends a resident now, as cancelled: it is among those that ended in the last step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_retire(stepped: *mut tactus_stepped_t, resident: u64) -> i32 {
    boundary(|call| {
        let object = call.get(stepped, "stepped")?;
        object.show(object.execution.retire(named(resident)))
    })
}

/// Ends the execution, in which nobody is live any more, and gives the response of the founding request. `*out_response` is owned by the
/// caller. The coordinator is free again. Errors: STATE while there are residents, or after the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_finish(stepped: *mut tactus_stepped_t, out_response: *mut *mut tactus_response_t) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_response, "out_response") }?;
        let object = call.get(stepped, "stepped")?;
        let response = object.execution.finish()?;
        out.set(handle::give(ResponseObject::new(response, object.tokenizer.clone()))?);
        Ok(())
    })
}

/// Ends the execution and everyone in it, as cancelled. The coordinator is free again. Nothing to do after the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_stepped_abort(stepped: *mut tactus_stepped_t) -> i32 {
    boundary(|call| {
        call.get(stepped, "stepped")?.execution.abort();
        Ok(())
    })
}

/// The index a sequence of a response was admitted under; of a dispatched request, its index in the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_original_index(
    response: *const tactus_response_t,
    sequence: i32,
    out_index: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_index, "out_index") }?;
        out.set(call.get(response, "response")?.result(sequence)?.index as i32);
        Ok(())
    })
}

/// A response with further stop strings applied to the text of one of its sequences, which is all it holds; ids and log-probabilities are
/// as they were. `stops` are `stop_count` pointers to NUL-terminated UTF-8. `*out_response` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_response_materialize(
    response: *const tactus_response_t,
    sequence: i32,
    stops: *const *const c_char,
    stop_count: usize,
    out_response: *mut *mut tactus_response_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_response, "out_response") }?;
        // SAFETY: as above.
        let stops = unsafe { texts(stops, stop_count, "stops") }?;
        let object = call.get(response, "response")?;
        let result = materialize(object.result(sequence)?, &stops);
        out.set(handle::give(object.with(result))?);
        Ok(())
    })
}
