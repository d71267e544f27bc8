//! Responses and figures as JSON.

use serde_json::{Value, json};

use crate::coordinator::{Response, RuntimeCoordinator, Timings};
use crate::decoding::{FinishReason, SettingSource, Settings};
use crate::error::Result;
use crate::rank::{Logprobs, SequenceResult};
use crate::text::Tokenizer;

/// A response in the OpenAI chat shape, with ours beside: every choice has `output_ids`, `reason` (the exact one), `settings`,
/// `warnings`, and `error` where there is one; `timings` stands at the top where the dispatch was profiled.
pub fn response_to_json(response: &Response, tokenizer: &Tokenizer) -> String {
    let choices: Vec<Value> = response.sequences.iter().map(|result| choice(result, tokenizer)).collect();
    let sum = |field: fn(&SequenceResult) -> usize| response.sequences.iter().map(field).sum::<usize>();
    let prompt = sum(|r| r.input_tokens as usize);
    let completion = sum(|r| r.output_ids.len());
    let mut object = json!({
        "object": "chat.completion",
        "choices": choices,
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": { "cached_tokens": sum(|r| r.reused_tokens as usize) },
        },
    });
    if let Some(timings) = &response.timings {
        object["timings"] = timings_json(timings);
    }
    object.to_string()
}

fn choice(result: &SequenceResult, tokenizer: &Tokenizer) -> Value {
    let mut choice = json!({
        "index": result.index,
        "message": { "role": "assistant", "content": result.text },
        "finish_reason": openai_reason(result.finish_reason),
        "logprobs": if result.logprobs.is_empty() { Value::Null } else { logprobs(&result.logprobs, tokenizer) },
        "reason": result.finish_reason.name(),
        "output_ids": result.output_ids,
        "input_tokens": result.input_tokens,
        "reused_tokens": result.reused_tokens,
        "settings": settings(&result.settings),
        "warnings": result.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Some(error) = &result.error {
        choice["error"] = json!({ "code": error.status() as i32, "message": error.message() });
        if let Some(numbers) = error.capacity() {
            choice["error"]["capacity"] =
                json!({ "prompt": numbers.prompt, "requested": numbers.requested, "limit": numbers.limit });
        }
    }
    choice
}

/// OpenAI's name where it has one, ours otherwise.
fn openai_reason(reason: FinishReason) -> Value {
    match reason {
        FinishReason::NotFinished => Value::Null,
        FinishReason::EndOfSequence | FinishReason::StopWords => "stop".into(),
        FinishReason::MaxLength => "length".into(),
        FinishReason::Cancelled | FinishReason::Error => reason.name().into(),
    }
}

fn logprobs(logprobs: &Logprobs, tokenizer: &Tokenizer) -> Value {
    let entry = |id: u32, logprob: f32| {
        let bytes = tokenizer.token_bytes(id).unwrap_or_default();
        json!({ "token": String::from_utf8_lossy(&bytes), "id": id, "logprob": number(logprob), "bytes": bytes })
    };
    let content = logprobs.iter().map(|position| {
        let mut value = entry(position.token, position.logprob);
        value["top_logprobs"] = position.top.iter().map(|&(id, logprob)| entry(id, logprob)).collect();
        value
    });
    json!({ "content": content.collect::<Vec<_>>() })
}

/// Infinities have no JSON: a token that cannot occur gets the lowest finite number.
fn number(value: f32) -> f32 {
    value.max(f32::MIN)
}

fn settings(settings: &Settings) -> Value {
    let source = |source: SettingSource| match source {
        SettingSource::Request => "request",
        SettingSource::Model => "model",
        SettingSource::Default => "default",
    };
    let sampling = &settings.sampling;
    json!({
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "seed": settings.seed,
        "seed_given": settings.seed_given,
        "max_generate_length": settings.max_new_tokens,
        "skip_special_tokens": settings.skip_special_tokens,
        "sources": {
            "temperature": source(settings.temperature_source),
            "top_k": source(settings.top_k_source),
            "top_p": source(settings.top_p_source),
            "min_p": source(settings.min_p_source),
            "repetition_penalty": source(settings.repetition_penalty_source),
        },
    })
}

fn timings_json(timings: &Timings) -> Value {
    let milliseconds = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
    json!({
        "prepare_ms": milliseconds(timings.prepare),
        "queue_ms": milliseconds(timings.queue),
        "prefill_ms": milliseconds(timings.prefill),
        "decode_ms": milliseconds(timings.decode),
        "first_token_ms": milliseconds(timings.first_token),
        "total_ms": milliseconds(timings.total),
        "prefill_tokens": timings.prefill_tokens,
        "reused_tokens": timings.reused_tokens,
        "decode_tokens": timings.decode_tokens,
        "steps": timings.steps,
        "batch_histogram": timings.batch_histogram,
    })
}

/// A coordinator: its model, backend, limits, and metrics.
pub fn coordinator_to_json(coordinator: &RuntimeCoordinator) -> Result<String> {
    let (limits, metrics) = (coordinator.limits(), coordinator.metrics());
    let cache = coordinator.context_cache_metrics();
    let object = json!({
        "model": super::info::model(coordinator.model_info())?,
        "backend": coordinator.backend_description(),
        "world_size": coordinator.world_size(),
        "limits": {
            "max_batch": limits.rank.seats,
            "max_sequence_length": limits.rank.max_sequence,
            "context_length": limits.context_length,
            "vocab_size": limits.vocab_size,
            "page_tokens": limits.rank.page_tokens,
            "step_tokens": limits.rank.max_step_rows,
            "prefill_chunk": limits.prefill_chunk,
            "mixed_prefill_chunk": limits.mixed_prefill_chunk,
            "kv_bytes": limits.rank.kv_bytes,
            "scratch_bytes": limits.rank.scratch_bytes,
            "weight_bytes": limits.weight_bytes,
        },
        "metrics": {
            "steps": metrics.steps,
            "prefill_tokens": metrics.prefill_tokens,
            "generated_tokens": metrics.generated_tokens,
            "admitted": metrics.admitted,
            "finished": metrics.finished,
            "parked": metrics.parked,
            "residents": metrics.residents,
            "pages_free": metrics.pages_free,
            "pages_total": metrics.pages_total,
        },
        "context_cache": {
            "lookups": cache.lookups,
            "hits": cache.hits,
            "reused_tokens": cache.reused_tokens,
            "records": cache.records,
            "cached_pages": cache.cached_pages,
            "evicted_records": cache.evicted_records,
            "evicted_pages": cache.evicted_pages,
            "pinned": cache.pinned,
        },
    });
    Ok(object.to_string())
}

/// Saved system prompts: objects with `text`, `tokens` and `kept_tokens`.
pub fn saved_prompts_to_json(saved: &[crate::coordinator::SavedPrompt]) -> String {
    let one = |p: &crate::coordinator::SavedPrompt| json!({ "text": p.text, "tokens": p.tokens, "kept_tokens": p.kept_tokens });
    serde_json::Value::Array(saved.iter().map(one).collect()).to_string()
}
