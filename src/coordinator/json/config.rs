//! A configuration from JSON.

use std::path::PathBuf;

use super::read::{Fields, Node, parse};
use crate::backend::KvType;
use crate::coordinator::{Config, ContextCacheConfig, Device, KvBudget, LaunchMode, ParallelConfig, TemplateOverride};
use crate::error::Result;
use crate::weights::Access;

/// Reads a configuration. Every key is optional; what is left out keeps its default.
///
/// `engine_dir`, `checkpoint_dir`, `parallel_config` {`tensor_parallel_size`, `launch_mode` "thread" | "mpi", `devices`},
/// `local_ranks`, `local_rank_devices` {"rank": device}, `device` "auto" | "cpu" | "cuda", `cpu_threads`, `max_batch`,
/// `max_sequence_length`, `kv_budget_bytes` or `kv_budget_fraction`, `kv_type` "f16" | "bf16" | "f32", `page_tokens`,
/// `prefill_chunk`, `mixed_prefill_chunk`, `context_cache_config` {`enabled`, `max_records`}, `weights_access` "map" | "read", `chat_template` or `chat_template_file`.
/// Errors: INVALID_ARGUMENT naming the key.
pub fn config_from_json(json: &str) -> Result<Config> {
    let mut fields = Node::root(parse(json)?).object()?;
    let mut config = Config::default();
    if let Some(node) = fields.given("engine_dir") {
        config.engine_dir = path(node)?;
    }
    config.checkpoint_dir = fields.given("checkpoint_dir").map(path).transpose()?;
    if let Some(node) = fields.given("parallel_config") {
        config.parallel = parallel(node.object()?)?;
    }
    if let Some(node) = fields.given("local_ranks") {
        config.local_ranks = integers(node, "a rank")?;
    }
    if let Some(node) = fields.given("local_rank_devices") {
        config.local_rank_devices = rank_devices(node)?;
    }
    if let Some(node) = fields.given("device") {
        config.device = choice(node, &[("auto", Device::Auto), ("cpu", Device::Cpu), ("cuda", Device::Cuda)])?;
    }
    for (key, field) in [
        ("cpu_threads", &mut config.cpu_threads),
        ("max_batch", &mut config.max_batch),
        ("max_sequence_length", &mut config.max_sequence_length),
        ("page_tokens", &mut config.page_tokens),
        ("prefill_chunk", &mut config.prefill_chunk),
        ("mixed_prefill_chunk", &mut config.mixed_prefill_chunk),
    ] {
        if let Some(node) = fields.given(key) {
            *field = node.count()?;
        }
    }
    config.kv_budget = kv_budget(&mut fields)?;
    if let Some(node) = fields.given("kv_type") {
        config.kv_type = Some(choice(node, &[("f16", KvType::F16), ("bf16", KvType::BF16), ("f32", KvType::F32)])?);
    }
    if let Some(node) = fields.given("context_cache_config") {
        config.context_cache = context_cache(node.object()?)?;
    }
    if let Some(node) = fields.given("weights_access") {
        config.weights_access = choice(node, &[("map", Access::Map), ("read", Access::Read)])?;
    }
    config.chat_template = match fields.one_of(&["chat_template", "chat_template_file"])? {
        Some(node) if node.name() == "chat_template" => Some(TemplateOverride::Text(node.string()?)),
        Some(node) => Some(TemplateOverride::File(path(node)?)),
        None => None,
    };
    fields.finish()?;
    Ok(config)
}

fn path(node: Node) -> Result<PathBuf> {
    let nul = node.value().as_str().and_then(|text| text.find('\0'));
    match nul {
        Some(at) => Err(node.error(&format!("a NUL at byte {at}, which no path can hold"))),
        None => node.string().map(PathBuf::from),
    }
}

fn integers(node: Node, what: &str) -> Result<Vec<i32>> {
    node.array()?.into_iter().map(|element| element.integer(what)).collect()
}

fn parallel(mut fields: Fields) -> Result<ParallelConfig> {
    let mut parallel = ParallelConfig::default();
    if let Some(node) = fields.given("tensor_parallel_size") {
        parallel.tensor_parallel_size = node.integer("a number of ranks")?;
    }
    if let Some(node) = fields.given("launch_mode") {
        parallel.launch_mode = choice(node, &[("thread", LaunchMode::Thread), ("mpi", LaunchMode::Mpi)])?;
    }
    if let Some(node) = fields.given("devices") {
        parallel.devices = integers(node, "a device number")?;
    }
    fields.finish()?;
    Ok(parallel)
}

fn context_cache(mut fields: Fields) -> Result<ContextCacheConfig> {
    let mut cache = ContextCacheConfig::default();
    if let Some(node) = fields.given("enabled") {
        cache.enabled = node.bool()?;
    }
    if let Some(node) = fields.given("max_records") {
        cache.max_records = node.integer("a number of sequences")?;
    }
    fields.finish()?;
    Ok(cache)
}

fn rank_devices(node: Node) -> Result<std::collections::BTreeMap<i32, i32>> {
    let name = node.name().to_string();
    let serde_json::Value::Object(map) = node.value() else { return Err(node.wrong("an object from rank to device")) };
    map.iter()
        .map(|(rank, device)| {
            let rank = rank.parse().ok();
            let device = device.as_i64().and_then(|device| i32::try_from(device).ok());
            rank.zip(device).ok_or_else(|| node.wrong("ranks as keys and device numbers as values").context(&name))
        })
        .collect()
}

fn kv_budget(fields: &mut Fields) -> Result<KvBudget> {
    Ok(match fields.one_of(&["kv_budget_bytes", "kv_budget_fraction"])? {
        None => KvBudget::Auto,
        Some(node) if node.name() == "kv_budget_fraction" => KvBudget::Fraction(node.f64()?),
        Some(node) => match node.integer("a number of bytes")? {
            0 => KvBudget::Auto,
            bytes => KvBudget::Bytes(bytes),
        },
    })
}

fn choice<T: Copy>(node: Node, choices: &[(&str, T)]) -> Result<T> {
    let found = node.value().as_str().and_then(|text| choices.iter().find(|c| c.0 == text));
    found.map(|c| c.1).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|c| format!("\"{}\"", c.0)).collect();
        node.wrong(&names.join(" or "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read_in_either_spelling() {
        let config = config_from_json(
            r#"{"engineDir": "/m", "checkpoint_dir": "/w", "parallelConfig": {"tensorParallelSize": 2, "launchMode": "mpi",
                "devices": [1, 0]}, "localRanks": [1], "localRankDevices": {"1": 3}, "device": "cpu", "cpuThreads": 4, "maxBatch": 16,
                "max_sequence_length": 4096, "kvBudgetBytes": 1000000, "kvType": "bf16", "pageTokens": 16, "prefillChunk": 256,
                "mixedPrefillChunk": 8, "weightsAccess": "read", "chatTemplateFile": "/t.jinja"}"#,
        )
        .unwrap();
        assert_eq!((config.engine_dir.to_str(), config.checkpoint_dir), (Some("/m"), Some(PathBuf::from("/w"))));
        let parallel = ParallelConfig { tensor_parallel_size: 2, launch_mode: LaunchMode::Mpi, devices: vec![1, 0] };
        assert_eq!(config.parallel, parallel);
        assert_eq!((config.local_ranks, config.local_rank_devices.into_iter().collect()), (vec![1], vec![(1, 3)]));
        assert_eq!((config.device, config.cpu_threads, config.max_batch), (Device::Cpu, 4, 16));
        assert_eq!((config.max_sequence_length, config.kv_budget), (4096, KvBudget::Bytes(1_000_000)));
        assert_eq!((config.kv_type, config.page_tokens), (Some(KvType::BF16), 16));
        assert_eq!((config.prefill_chunk, config.mixed_prefill_chunk), (256, 8));
        assert_eq!(config.chat_template, Some(TemplateOverride::File("/t.jinja".into())));
    }

    #[test]
    fn mistakes_are_refused_by_name() {
        for (json, message) in [
            ("[]", "json: [], expected an object"),
            (r#"{"engin_dir": "x"}"#, "engin_dir: unknown key"),
            (r#"{"parallel_config": {"tp": 2}}"#, "parallel_config.tp: unknown key"),
            (r#"{"device": "gpu"}"#, r#"device: "gpu", expected "auto" or "cpu" or "cuda""#),
            (r#"{"max_batch": -1}"#, "max_batch: -1, expected a whole number of 0 or more"),
            (r#"{"engine_dir": "a\u0000b"}"#, "engine_dir: a NUL at byte 1, which no path can hold"),
            (
                r#"{"kv_budget_bytes": 5, "kv_budget_fraction": 0.5}"#,
                "kv_budget_bytes and kv_budget_fraction: expected one of them",
            ),
        ] {
            let error = config_from_json(json).err().unwrap();
            assert_eq!((error.status(), error.message()), (crate::Status::InvalidArgument, message));
        }
    }
}
