//! Hidden states of prompts through the coordinator, against those of `transformers` in float32.

mod support;

use std::sync::Arc;

use support::reference::{Arrays, Reference};
use support::relative_error;
use tactus::Status;
use tactus::backend::KvType;
use tactus::coordinator::{
    Config, ContextCacheConfig, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions,
};
use tactus::rank::SequenceResult;

fn coordinator(model: &str, change: impl FnOnce(&mut Config)) -> RuntimeCoordinator {
    let engine_dir = support::data(&format!("tiny/{model}"));
    let mut config = Config { engine_dir, cpu_threads: 2, kv_type: Some(KvType::F32), ..Config::default() };
    change(&mut config);
    RuntimeCoordinator::new(config).unwrap()
}

fn sequence(ids: &[u32], layer: Option<i32>) -> Sequence {
    let options = SequenceOptions {
        max_generate_length: Some(3),
        ignore_eos: Some(true),
        hidden_layer: layer,
        ..SequenceOptions::default()
    };
    Sequence { options, ..Sequence::new(Input::Ids(ids.iter().map(|&id| id as i32).collect())) }
}

fn dispatch(coordinator: &RuntimeCoordinator, sequences: Vec<Sequence>) -> Vec<SequenceResult> {
    let request = Request { sequences, ..Request::default() };
    coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    coordinator.take_rank_response(0).unwrap().sequences
}

/// Every layer of models with references, in one chunk and in many, alone and among others that ask for other layers or for none.
#[test]
fn every_layer_is_that_of_transformers_however_it_was_computed() {
    for model in ["llama", "gemma3"] {
        let reference = Reference::read(model);
        let arrays = Arrays::read(&format!("reference/{model}.safetensors"));
        let whole = coordinator(model, |_| ());
        let chunked = coordinator(model, |config| {
            (config.prefill_chunk, config.mixed_prefill_chunk, config.max_batch, config.cpu_threads) = (7, 3, 2, 1);
        });
        let layers = whole.model_info().layers as i32;
        let width = whole.model_info().hidden_size;
        for prompt in &reference.document.prompts {
            let expected = arrays.f32(&format!("{}.hidden", prompt.name));
            assert_eq!(expected.len(), (layers as usize + 1) * prompt.ids.len() * width);
            let plain = dispatch(&whole, vec![sequence(&prompt.ids, None)]).remove(0);
            assert!(plain.hidden.is_none());
            let asked: Vec<Option<i32>> = (-1..=layers).map(Some).chain([None]).collect();
            let together = dispatch(&chunked, asked.iter().map(|&layer| sequence(&prompt.ids, layer)).collect());
            for (&layer, together) in asked.iter().zip(&together) {
                let alone = dispatch(&whole, vec![sequence(&prompt.ids, layer)]).remove(0);
                assert_eq!((&alone.output_ids, &together.output_ids), (&plain.output_ids, &plain.output_ids));
                assert_eq!(alone.hidden, together.hidden, "{model}, {}, layer {layer:?}", prompt.name);
                let Some(layer) = layer else { continue };
                let hidden = alone.hidden.unwrap();
                assert_eq!((hidden.layer(), hidden.rows(), hidden.width()), (layer, prompt.ids.len(), width));
                let index = if layer < 0 { layers } else { layer } as usize;
                let expected = &expected[index * prompt.ids.len() * width..][..prompt.ids.len() * width];
                for (row, (ours, theirs)) in hidden.values().chunks(width).zip(expected.chunks(width)).enumerate() {
                    let error = relative_error(ours, theirs);
                    assert!(error <= 1e-4, "{model}, {}, layer {layer}, row {row}: {error}", prompt.name);
                }
            }
        }
        let metrics = whole.metrics();
        assert_eq!((metrics.residents, metrics.pages_free), (0, metrics.pages_total));
    }
}

/// DECISIONS 21: what the context cache holds has no hidden states, so it is not used; others may still use what was computed.
#[test]
fn hidden_states_come_from_computing_and_not_from_the_cache() {
    let coordinator = coordinator("llama", |config| {
        config.page_tokens = 16;
        config.context_cache = ContextCacheConfig { enabled: true, max_records: 8 };
    });
    let ids: Vec<u32> = (0..70).map(|i| 5 + i % 80).collect();
    let first = dispatch(&coordinator, vec![sequence(&ids, None)]).remove(0);
    let tapped = dispatch(&coordinator, vec![sequence(&ids, Some(-1))]).remove(0);
    let after = dispatch(&coordinator, vec![sequence(&ids, None)]).remove(0);
    assert_eq!((first.reused_tokens, tapped.reused_tokens, after.reused_tokens), (0, 0, 64));
    assert_eq!(tapped.hidden.unwrap().rows(), 70);
    assert_eq!((&first.output_ids, &after.output_ids), (&tapped.output_ids, &tapped.output_ids));
}

/// Too few pages for two: one is parked inside its run, prefilled again, and its hidden states are those of its first pass.
#[test]
fn a_parked_sequence_keeps_its_hidden_states() {
    let ids = |n: u32| -> Vec<u32> { (0..60).map(|i| 5 + (i * n) % 80).collect() };
    let long = |n| {
        let mut sequence = sequence(&ids(n), Some(1));
        sequence.options.max_generate_length = Some(40);
        sequence
    };
    let ample = coordinator("llama", |_| ());
    let page = ample.limits().rank.kv_bytes / ample.metrics().pages_total as u64;
    let scarce = coordinator("llama", |config| {
        config.page_tokens = 32;
        config.max_sequence_length = 128;
        config.kv_budget = tactus::coordinator::KvBudget::Bytes(6 * page);
    });
    let together = dispatch(&scarce, vec![long(3), long(7)]);
    assert!(scarce.metrics().parked > 0, "nobody had to wait: {:?}", scarce.metrics());
    for (n, together) in [3, 7].into_iter().zip(together) {
        let alone = dispatch(&ample, vec![long(n)]).remove(0);
        assert_eq!((alone.output_ids, alone.hidden), (together.output_ids, together.hidden));
    }
}

#[test]
fn a_layer_the_model_has_not_is_refused_by_value() {
    let coordinator = Arc::new(coordinator("llama", |_| ()));
    for layer in [-2, 4, i32::MAX, i32::MIN] {
        let request = Request { sequences: vec![sequence(&[5, 6, 7], Some(layer))], ..Request::default() };
        let error = coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().contains(&format!("hiddenLayer: {layer}, expected -1 (after the final norm) to 3")), "{error}");
    }
}
