//! `tactus_coordinator_t`: runs requests.

use std::ffi::c_void;

use super::args::{choice, flag, out, out_pointer};
use super::boundary::{boundary, in_callback, predicate};
use super::config::tactus_config_t;
use super::handle::{self, Handle, Kind};
use super::ids::{give_ids, tactus_ids_t};
use super::request::tactus_request_t;
use super::response::{ResponseObject, tactus_response_t};
use super::string::{give_text, tactus_string_t};
use crate::coordinator::{DispatchOptions, Limits, RuntimeCoordinator, json};
use crate::rank::RankMetrics;

/// Owns the ranks of a deployment and runs requests on them, one dispatch at a time.
///
/// Threads: any. While one thread dispatches, another call that needs the coordinator idle answers BUSY and changes nothing; the
/// comments say which do not need it.
pub struct tactus_coordinator_t {
    _opaque: [u8; 0],
}

impl Handle for tactus_coordinator_t {
    const KIND: Kind = Kind::Coordinator;
    type Object = RuntimeCoordinator;
}

/// Sequences that can be resident at once.
pub const TACTUS_LIMIT_MAX_BATCH: i32 = 0;
/// The longest sequence, prompt and output, in tokens, that the KV pool holds.
pub const TACTUS_LIMIT_MAX_SEQUENCE_LENGTH: i32 = 1;
/// What the model was trained for, in tokens.
pub const TACTUS_LIMIT_CONTEXT_LENGTH: i32 = 2;
/// Token ids lie in 0 .. this.
pub const TACTUS_LIMIT_VOCAB_SIZE: i32 = 3;
/// Tokens per KV page.
pub const TACTUS_LIMIT_PAGE_TOKENS: i32 = 4;
/// Most tokens in one step.
pub const TACTUS_LIMIT_STEP_TOKENS: i32 = 5;
/// Prompt tokens per step while nobody decodes.
pub const TACTUS_LIMIT_PREFILL_CHUNK: i32 = 6;
/// Prompt tokens per step beside sequences that decode.
pub const TACTUS_LIMIT_MIXED_PREFILL_CHUNK: i32 = 7;
/// Bytes of the KV pool.
pub const TACTUS_LIMIT_KV_BYTES: i32 = 8;
/// Bytes of step buffers.
pub const TACTUS_LIMIT_SCRATCH_BYTES: i32 = 9;
/// Bytes of weights as the device holds them.
pub const TACTUS_LIMIT_WEIGHT_BYTES: i32 = 10;

/// Steps run since creation.
pub const TACTUS_METRIC_STEPS: i32 = 0;
/// Prompt tokens run since creation.
pub const TACTUS_METRIC_PREFILL_TOKENS: i32 = 1;
/// Tokens generated since creation.
pub const TACTUS_METRIC_GENERATED_TOKENS: i32 = 2;
/// Sequences that got a seat since creation.
pub const TACTUS_METRIC_ADMITTED: i32 = 3;
/// Sequences that ended since creation.
pub const TACTUS_METRIC_FINISHED: i32 = 4;
/// Times a sequence gave its pages up for others and was run again later, since creation.
pub const TACTUS_METRIC_PARKED: i32 = 5;
/// Sequences that have a seat now.
pub const TACTUS_METRIC_RESIDENTS: i32 = 6;
/// Pages of the KV pool that nobody holds now.
pub const TACTUS_METRIC_PAGES_FREE: i32 = 7;
/// Pages of the KV pool.
pub const TACTUS_METRIC_PAGES_TOTAL: i32 = 8;

/// Makes a coordinator: checks the configuration, loads the model or takes the artifacts given, sets the ranks up. Takes as long as the
/// model's files take to read.
///
/// `*out_coordinator` is owned by the caller: give it back with tactus_coordinator_destroy. A failure leaves nothing behind and names the
/// field, the file or the tensor. Errors: INVALID_ARGUMENT, NOT_FOUND, IO, FORMAT, UNSUPPORTED, TEMPLATE, TOKENIZER, NO_CAPACITY,
/// CANCELLED, OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_create(
    config: *const tactus_config_t,
    out_coordinator: *mut *mut tactus_coordinator_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_coordinator, "out_coordinator") }?;
        let coordinator = call.get(config, "config")?.use_for(RuntimeCoordinator::new)?;
        out.set(handle::give(coordinator)?);
        Ok(())
    })
}

/// Frees the coordinator. A dispatch that runs on another thread is cancelled and waited for; inside a callback, the dispatch ends at
/// its next step and the coordinator is freed when it returns. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_destroy(coordinator: *mut tactus_coordinator_t) -> i32 {
    boundary(|_| {
        if let Some(coordinator) = handle::take(coordinator, "coordinator")? {
            if in_callback() {
                coordinator.begin_shut_down();
            } else {
                coordinator.shut_down();
            }
        }
        Ok(())
    })
}

/// Runs `request` to its end on the calling thread; then tactus_coordinator_take_rank_response has the results.
///
/// `enable_profiling`: 1 to have times in the response, else 0. `cuda_stream`: a `cudaStream_t` that the work is ordered on, or null for
/// the coordinator's own; without CUDA it has no meaning.
/// A request that is refused runs nothing and leaves nothing to take. Where a single sequence fails its error is returned and the
/// response holds every sequence's result. Neither disables the coordinator. A sequence that is cancelled is no error.
/// Errors: BUSY; STATE (shutting down, a channel used before); INVALID_ARGUMENT, TEMPLATE, TOKENIZER, CONTEXT_FULL, UNSUPPORTED and what
/// a step reports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_dispatch_request(
    coordinator: *mut tactus_coordinator_t,
    request: *const tactus_request_t,
    enable_profiling: i32,
    cuda_stream: *mut c_void,
) -> i32 {
    boundary(|call| {
        let coordinator = call.get(coordinator, "coordinator")?;
        let request = call.get(request, "request")?.snapshot();
        let options = DispatchOptions { profiling: flag(enable_profiling, "enable_profiling")?, stream: cuda_stream as usize };
        coordinator.dispatch_request(&request, &options, None)
    })
}

/// Moves the response of the latest dispatch out. `*out_response` is owned by the caller: give it back with tactus_response_destroy.
///
/// `rank`: a rank of this process, 0 where there is one. Errors: INVALID_ARGUMENT (not a local rank); STATE (nothing was dispatched, it
/// was refused, or its response has been taken); BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_take_rank_response(
    coordinator: *mut tactus_coordinator_t,
    rank: i32,
    out_response: *mut *mut tactus_response_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_response, "out_response") }?;
        let coordinator = call.get(coordinator, "coordinator")?;
        let response = coordinator.take_rank_response(rank)?;
        out.set(handle::give(ResponseObject::new(response, coordinator.artifacts().tokenizer().clone()))?);
        Ok(())
    })
}

/// Counts the prompt tokens of every sequence of `request`, as inference would feed them. `*out_counts` is owned by the caller.
///
/// Does not need the coordinator idle. Errors: as a dispatch of the request that is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_count_prompt_tokens(
    coordinator: *const tactus_coordinator_t,
    request: *const tactus_request_t,
    out_counts: *mut *mut tactus_ids_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let place = unsafe { out_pointer(out_counts, "out_counts") }?;
        let coordinator = call.get(coordinator, "coordinator")?;
        let counts = coordinator.count_prompt_tokens(&call.get(request, "request")?.snapshot())?;
        place.set(give_ids(counts)?);
        Ok(())
    })
}

/// Captures the decode step of every batch bucket for replay. `*out_captured` is 1 where that worked; 0 is no failure: steps are then
/// launched one by one. On the CPU there is nothing to capture: 1. `cuda_stream` as in tactus_coordinator_dispatch_request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_capture_decoding_cuda_graph(
    coordinator: *mut tactus_coordinator_t,
    cuda_stream: *mut c_void,
    out_captured: *mut i32,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_captured, "out_captured") }?;
        let captured = call.get(coordinator, "coordinator")?.capture_decoding_cuda_graph(cuda_stream as usize)?;
        out.set(i32::from(captured));
        Ok(())
    })
}

/// The number of ranks the plan spans. Does not need the coordinator idle; nor do the functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_world_size(coordinator: *const tactus_coordinator_t, out_size: *mut i32) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_size, "out_size") }?;
        out.set(call.get(coordinator, "coordinator")?.world_size());
        Ok(())
    })
}

/// 1 where `rank` is a rank of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_owns_global_rank(coordinator: *const tactus_coordinator_t, rank: i32) -> i32 {
    predicate(|call| Ok(call.get(coordinator, "coordinator")?.owns_global_rank(rank)))
}

/// 1 where the latest dispatch attempt succeeded on every rank of this process; refused attempts count, and before the first it is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_local_ranks_succeeded(coordinator: *const tactus_coordinator_t) -> i32 {
    predicate(|call| Ok(call.get(coordinator, "coordinator")?.local_ranks_succeeded()))
}

/// 1 where a dispatch can call the host between steps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_supports_boundary_scheduling(coordinator: *const tactus_coordinator_t) -> i32 {
    predicate(|call| Ok(call.get(coordinator, "coordinator")?.supports_boundary_scheduling()))
}

/// 1 where the host can decide every step itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_supports_stepped_execution(coordinator: *const tactus_coordinator_t) -> i32 {
    predicate(|call| Ok(call.get(coordinator, "coordinator")?.supports_stepped_execution()))
}

/// One of the root runtime's limits: `limit` is a TACTUS_LIMIT_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_limit(
    coordinator: *const tactus_coordinator_t,
    limit: i32,
    out_value: *mut u64,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_value, "out_value") }?;
        let limits = call.get(coordinator, "coordinator")?.limits();
        out.set(choice(limit, "limit", LIMITS)?(&limits));
        Ok(())
    })
}

type Read<T> = fn(&T) -> u64;

const LIMITS: &[(i32, &str, Read<Limits>)] = &[
    (TACTUS_LIMIT_MAX_BATCH, "TACTUS_LIMIT_MAX_BATCH", |l| l.rank.seats as u64),
    (TACTUS_LIMIT_MAX_SEQUENCE_LENGTH, "TACTUS_LIMIT_MAX_SEQUENCE_LENGTH", |l| l.rank.max_sequence as u64),
    (TACTUS_LIMIT_CONTEXT_LENGTH, "TACTUS_LIMIT_CONTEXT_LENGTH", |l| l.context_length as u64),
    (TACTUS_LIMIT_VOCAB_SIZE, "TACTUS_LIMIT_VOCAB_SIZE", |l| l.vocab_size as u64),
    (TACTUS_LIMIT_PAGE_TOKENS, "TACTUS_LIMIT_PAGE_TOKENS", |l| l.rank.page_tokens as u64),
    (TACTUS_LIMIT_STEP_TOKENS, "TACTUS_LIMIT_STEP_TOKENS", |l| l.rank.max_step_rows as u64),
    (TACTUS_LIMIT_PREFILL_CHUNK, "TACTUS_LIMIT_PREFILL_CHUNK", |l| l.prefill_chunk as u64),
    (TACTUS_LIMIT_MIXED_PREFILL_CHUNK, "TACTUS_LIMIT_MIXED_PREFILL_CHUNK", |l| l.mixed_prefill_chunk as u64),
    (TACTUS_LIMIT_KV_BYTES, "TACTUS_LIMIT_KV_BYTES", |l| l.rank.kv_bytes),
    (TACTUS_LIMIT_SCRATCH_BYTES, "TACTUS_LIMIT_SCRATCH_BYTES", |l| l.rank.scratch_bytes),
    (TACTUS_LIMIT_WEIGHT_BYTES, "TACTUS_LIMIT_WEIGHT_BYTES", |l| l.weight_bytes),
];

/// One of the root runtime's counters: `metric` is a TACTUS_METRIC_* constant. As of the last dispatch that ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_metric(
    coordinator: *const tactus_coordinator_t,
    metric: i32,
    out_value: *mut u64,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out(out_value, "out_value") }?;
        let metrics = call.get(coordinator, "coordinator")?.metrics();
        out.set(choice(metric, "metric", METRICS)?(&metrics));
        Ok(())
    })
}

const METRICS: &[(i32, &str, Read<RankMetrics>)] = &[
    (TACTUS_METRIC_STEPS, "TACTUS_METRIC_STEPS", |m| m.steps),
    (TACTUS_METRIC_PREFILL_TOKENS, "TACTUS_METRIC_PREFILL_TOKENS", |m| m.prefill_tokens),
    (TACTUS_METRIC_GENERATED_TOKENS, "TACTUS_METRIC_GENERATED_TOKENS", |m| m.generated_tokens),
    (TACTUS_METRIC_ADMITTED, "TACTUS_METRIC_ADMITTED", |m| m.admitted),
    (TACTUS_METRIC_FINISHED, "TACTUS_METRIC_FINISHED", |m| m.finished),
    (TACTUS_METRIC_PARKED, "TACTUS_METRIC_PARKED", |m| m.parked),
    (TACTUS_METRIC_RESIDENTS, "TACTUS_METRIC_RESIDENTS", |m| m.residents as u64),
    (TACTUS_METRIC_PAGES_FREE, "TACTUS_METRIC_PAGES_FREE", |m| m.pages_free as u64),
    (TACTUS_METRIC_PAGES_TOTAL, "TACTUS_METRIC_PAGES_TOTAL", |m| m.pages_total as u64),
];

/// The root runtime as a JSON object: "model", "backend", "limits" and "metrics". `*out_json` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_coordinator_info_json(
    coordinator: *const tactus_coordinator_t,
    out_json: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_json, "out_json") }?;
        let coordinator = call.get(coordinator, "coordinator")?;
        out.set(give_text(json::coordinator_to_json(&coordinator)?)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_its_place_in_the_tables() {
        assert!(LIMITS.iter().enumerate().all(|(at, entry)| entry.0 == at as i32));
        assert!(METRICS.iter().enumerate().all(|(at, entry)| entry.0 == at as i32));
    }
}
