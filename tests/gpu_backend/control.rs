//! The control plane on the device: what is said does not depend on how it was run.

use std::sync::Arc;

use tactus::backend::KvType;
use tactus::coordinator::{
    Config, ContextCacheConfig, Device, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions,
};

use crate::support::data;

fn coordinator(model: &str, device: Device, change: impl FnOnce(&mut Config)) -> Arc<RuntimeCoordinator> {
    let mut config = Config {
        engine_dir: data(model),
        device,
        cpu_threads: 2,
        kv_type: Some(KvType::F32),
        max_sequence_length: 200,
        ..Config::default()
    };
    change(&mut config);
    Arc::new(RuntimeCoordinator::new(config).unwrap())
}

fn sequence(i: usize, prompt: usize, new: i64) -> Sequence {
    let ids = (0..prompt).map(|k| ((k * 37 + i * 101 + k * k * 7) % 90 + 5) as i32).collect();
    let mut options = SequenceOptions { max_generate_length: Some(new), ignore_eos: Some(true), ..Default::default() };
    if i % 2 == 1 {
        (options.temperature, options.seed, options.top_k) = (Some(1.0), Some(i as u64), Some(20));
        options.repetition_penalty = Some(1.2);
    }
    Sequence { options, ..Sequence::new(Input::Ids(ids)) }
}

fn run(coordinator: &RuntimeCoordinator, sequences: Vec<Sequence>) -> Vec<Vec<i32>> {
    let request = Request { sequences, ..Request::default() };
    coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    coordinator.take_rank_response(0).unwrap().sequences.into_iter().map(|result| result.output_ids).collect()
}

/// DESIGN 8: single = batched = chunked = captured = what the CPU says, on models whose logits are exact to f32.
#[test]
fn every_way_of_running_says_the_same() {
    if crate::device().is_none() {
        return;
    }
    for model in ["gguf/llama-f32.gguf", "gguf/gemma3-f32.gguf"] {
        let sequences: Vec<Sequence> = [(1, 20), (7, 3), (60, 12), (33, 30), (16, 1), (100, 9)]
            .iter()
            .enumerate()
            .map(|(i, &(p, n))| sequence(i, p, n))
            .collect();
        let expected = run(&coordinator(model, Device::Cpu, |_| ()), sequences.clone());
        let whole = coordinator(model, Device::Cuda, |_| ());
        let alone: Vec<Vec<i32>> = sequences.iter().flat_map(|s| run(&whole, vec![s.clone()])).collect();
        assert_eq!(alone, expected, "{model}, alone");
        assert_eq!(run(&whole, sequences.clone()), expected, "{model}, batched");
        assert!(whole.capture_decoding_cuda_graph(0).unwrap());
        assert_eq!(run(&whole, sequences.clone()), expected, "{model}, captured");
        let chunked = coordinator(model, Device::Cuda, |c| (c.prefill_chunk, c.mixed_prefill_chunk, c.max_batch) = (5, 3, 3));
        assert_eq!(run(&chunked, sequences.clone()), expected, "{model}, chunked");
        let cached = coordinator(model, Device::Cuda, |c| {
            c.context_cache = ContextCacheConfig { enabled: true, max_records: 64 };
            c.page_tokens = 16;
        });
        run(&cached, sequences.clone());
        assert_eq!(run(&cached, sequences.clone()), expected, "{model}, from the context cache");
        assert!(cached.context_cache_metrics().hits > 0);
        let metrics = whole.metrics();
        assert_eq!((metrics.residents, metrics.pages_free), (0, metrics.pages_total));
    }
}

/// Two coordinators of one model share its weights on the device.
#[test]
fn coordinators_share_weights() {
    if crate::device().is_none() {
        return;
    }
    let first = coordinator("tiny/llama-bf16", Device::Cuda, |_| ());
    let artifacts = first.artifacts().clone();
    let second = coordinator("tiny/llama-bf16", Device::Cuda, |c| c.artifacts = Some(artifacts));
    assert!(Arc::ptr_eq(first.artifacts(), second.artifacts()));
    let say = |c: &RuntimeCoordinator| run(c, vec![sequence(0, 20, 10)]);
    let before = say(&first);
    drop(first);
    assert_eq!(say(&second), before);
}
