//! The coordinator end to end: cases users of comparable libraries met, and what holds on any number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use tactus::Status;
use tactus::coordinator::{
    Config, ContextCacheConfig, DispatchOptions, GenerationBoundary, Input, KvBudget, Request, RuntimeCoordinator, Sequence,
    SequenceOptions, json,
};
use tactus::decoding::{FinishReason, GuideSpec};
use tactus::rank::{SequenceResult, StreamChannel};

const LLAMA: &str = "tests/data/gguf/llama-f32.gguf";
const GEMMA: &str = "tests/data/gguf/gemma3-f32.gguf";

fn config(model: &str) -> Config {
    Config {
        engine_dir: model.into(),
        cpu_threads: 2,
        max_sequence_length: 450,
        kv_type: Some(tactus::backend::KvType::F32),
        ..Config::default()
    }
}

fn coordinator(config: Config) -> Arc<RuntimeCoordinator> {
    Arc::new(RuntimeCoordinator::new(config).unwrap())
}

fn ids(n: usize, seed: usize) -> Vec<i32> {
    (0..n).map(|i| ((i * 37 + seed * 101 + i * i * 7) % 90 + 5) as i32).collect()
}

fn sequence(prompt: Vec<i32>, max_new: i64) -> Sequence {
    let options = SequenceOptions { max_generate_length: Some(max_new), ignore_eos: Some(true), ..Default::default() };
    Sequence { options, ..Sequence::new(Input::Ids(prompt)) }
}

fn dispatch(coordinator: &RuntimeCoordinator, sequences: Vec<Sequence>) -> Vec<SequenceResult> {
    let request = Request { sequences, ..Request::default() };
    coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    coordinator.take_rank_response(0).unwrap().sequences
}

/// DESIGN 8: outputs and log-probabilities are the same bits on 1, 2, 3 and 5 threads, in prefill, decode and sampling.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for model in [LLAMA, GEMMA] {
        let run = |cpu_threads| {
            let whole = coordinator(Config { cpu_threads, ..config(model) });
            let sequences = (0..5).map(|i| {
                let mut sequence = sequence(ids(1 + 70 * i, i), 24);
                (sequence.options.temperature, sequence.options.seed) = (Some(i as f32 / 4.0), Some(9));
                sequence.options.num_logprobs = Some(4);
                sequence
            });
            let results = dispatch(&whole, sequences.collect());
            results.into_iter().map(|result| (result.output_ids, result.text, result.logprobs)).collect::<Vec<_>>()
        };
        let one = run(1);
        for threads in [2, 3, 5] {
            assert!(run(threads) == one, "{model}, {threads} threads");
        }
    }
}

/// DECISIONS 32, FIELD_CASES 140: a prompt of 50 chunks is cancelled by another thread after its first. It ends within two more
/// chunks, says nothing, gives its pages back, and the same request then gives what it gives cold.
#[test]
fn another_thread_cancels_inside_a_prefill_of_fifty_chunks() {
    for context_cache in [false, true] {
        let prompt = ids(400, 3);
        let cold = dispatch(&coordinator(config(LLAMA)), vec![sequence(prompt.clone(), 10)]).remove(0).output_ids;
        let whole = coordinator(Config {
            prefill_chunk: 8,
            page_tokens: 16,
            context_cache: ContextCacheConfig { enabled: context_cache, max_records: 8 },
            ..config(LLAMA)
        });
        for after in [1, 7, 49] {
            let stream = StreamChannel::new();
            let (reached, wait) = channel();
            let (cancelled, go_on) = channel();
            let canceller = {
                let stream = stream.clone();
                std::thread::spawn(move || {
                    wait.recv_timeout(Duration::from_secs(60)).unwrap();
                    stream.cancel();
                    cancelled.send(()).unwrap();
                })
            };
            let before = whole.metrics().steps;
            let boundaries = AtomicU32::new(0);
            let mut hook = |_: &mut GenerationBoundary<'_, '_>| {
                // The first boundary lies before the first chunk.
                if boundaries.fetch_add(1, Ordering::Relaxed) == after {
                    reached.send(()).unwrap();
                    go_on.recv_timeout(Duration::from_secs(60)).unwrap();
                }
            };
            // Nothing of the prompt is taken from the cache, so that there are chunks to run.
            let mut streamed = Sequence { stream: Some(stream.clone()), ..sequence(prompt.clone(), 10) };
            (streamed.options.cache_bypass, streamed.options.num_logprobs) = (Some(true), Some(3));
            let request = Request { sequences: vec![streamed], ..Request::default() };
            whole.dispatch_request(&request, &DispatchOptions::default(), Some(&mut hook)).unwrap();
            canceller.join().unwrap();
            let result = whole.take_rank_response(0).unwrap().sequences.remove(0);
            assert_eq!((result.finish_reason, result.output_ids.len(), result.logprobs.len()), (FinishReason::Cancelled, 0, 0));
            let chunks = whole.metrics().steps - before;
            assert!(chunks <= u64::from(after) + 2, "{chunks} chunks, cancelled after {after}");
            let last = stream.try_pop().unwrap();
            assert!(last.finished && last.reason == FinishReason::Cancelled && last.text.is_empty());
            let metrics = whole.metrics();
            let kept = whole.context_cache_metrics().cached_pages;
            assert_eq!((metrics.residents, metrics.pages_free + kept), (0, metrics.pages_total));
            assert!(context_cache || kept == 0);
            let again = dispatch(&whole, vec![sequence(prompt.clone(), 10)]).remove(0);
            assert_eq!(again.output_ids, cold, "context cache {context_cache}, cancelled after {after} chunks");
        }
    }
}

/// The same without a meeting: the cancel comes at any moment, and the sequence ends once, with what it had said.
#[test]
fn a_cancel_at_any_moment_ends_a_sequence_once() {
    let whole = coordinator(Config { prefill_chunk: 4, ..config(LLAMA) });
    let expected = dispatch(&whole, vec![sequence(ids(100, 5), 60)]).remove(0).output_ids;
    let mut reasons = [0; 2];
    for round in 0..60u64 {
        let stream = StreamChannel::new();
        let mut streamed = Sequence { stream: Some(stream.clone()), ..sequence(ids(100, 5), 60) };
        streamed.options.num_logprobs = Some(1);
        let canceller = {
            let stream = stream.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(round * 400));
                stream.cancel();
            })
        };
        let result = dispatch(&whole, vec![streamed]).remove(0);
        canceller.join().unwrap();
        let cancelled = result.finish_reason == FinishReason::Cancelled;
        reasons[usize::from(cancelled)] += 1;
        assert!(cancelled || result.finish_reason == FinishReason::MaxLength);
        assert!(expected.starts_with(&result.output_ids) && result.logprobs.len() == result.output_ids.len());
        let chunks: Vec<_> = std::iter::from_fn(|| stream.try_pop()).collect();
        assert_eq!(chunks.iter().filter(|chunk| chunk.finished).count(), 1);
        assert_eq!(chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), result.text);
        assert_eq!(whole.metrics().pages_free, whole.metrics().pages_total);
    }
    assert!(reasons[1] > 0, "no round was cancelled in time");
}

/// FIELD_CASES 35: a stop string that is one special token, whose text is never shown, ends the sequence all the same.
#[test]
fn a_stop_string_may_be_a_special_token() {
    let whole = coordinator(config(LLAMA));
    let tokenizer = whole.artifacts().tokenizer();
    let end = tokenizer.find("<|im_end|>").unwrap();
    assert!(tokenizer.is_special(end));
    let mut pushed = sequence(ids(9, 0), 20);
    pushed.options.logit_bias = Some(vec![(end as i32, 100.0)]);
    let without = dispatch(&whole, vec![pushed.clone()]).remove(0);
    assert_eq!((without.finish_reason, without.output_ids.len()), (FinishReason::MaxLength, 20));
    pushed.options.stop = Some(vec!["<|im_end|>".into()]);
    for skip in [true, false] {
        pushed.options.skip_special_tokens = Some(skip);
        let stopped = dispatch(&whole, vec![pushed.clone()]).remove(0);
        assert_eq!((stopped.finish_reason, stopped.output_ids.as_slice()), (FinishReason::StopWords, [end as i32].as_slice()));
        assert!(!stopped.text.contains("im_end"), "{:?}", stopped.text);
    }
}

/// FIELD_CASES 33: a token that ends in the stop string shows what stands before it, streamed and not.
#[test]
fn text_before_a_stop_inside_a_token_is_kept() {
    let whole = coordinator(config(LLAMA));
    let tokenizer = whole.artifacts().tokenizer();
    let two = |id: &u32| {
        let bytes = tokenizer.token_bytes(*id).unwrap_or_default();
        bytes.len() == 2 && bytes.iter().all(u8::is_ascii_alphabetic) && bytes[0] != bytes[1]
    };
    let token = (0..tokenizer.len() as u32).find(two).expect("a token of two letters");
    let text = String::from_utf8(tokenizer.token_bytes(token).unwrap()).unwrap();
    let channel = StreamChannel::new();
    let mut pushed = Sequence { stream: Some(channel.clone()), ..sequence(ids(9, 0), 20) };
    pushed.options.logit_bias = Some(vec![(token as i32, 100.0)]);
    pushed.options.stop = Some(vec![text[1..].to_owned()]);
    let stopped = dispatch(&whole, vec![pushed]).remove(0);
    assert_eq!((stopped.text.as_str(), stopped.finish_reason), (&text[..1], FinishReason::StopWords));
    assert_eq!(std::iter::from_fn(|| channel.try_pop()).map(|chunk| chunk.text).collect::<String>(), stopped.text);
}

/// FIELD_CASES 60: a longest sequence of 1, below 0, huge, and beyond what the model was trained for.
#[test]
fn odd_capacities_are_refused_by_name_or_work() {
    let refused = |length| {
        let error = RuntimeCoordinator::new(Config { max_sequence_length: length, ..config(LLAMA) }).err().unwrap();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().contains(&format!("maxSequenceLength: {length}, expected")), "{error}");
    };
    refused(1);
    refused(usize::MAX);
    let error = json::config_from_json(r#"{"max_sequence_length": -1}"#).err().unwrap();
    assert!(error.status() == Status::InvalidArgument && error.message().contains("max_sequence_length: -1"), "{error}");
    assert!(coordinator(config(LLAMA)).limits().rank.max_sequence > 1);
    let trained = coordinator(config(LLAMA)).model_info().context_length;
    let beyond = coordinator(Config { max_sequence_length: trained + 100, ..config(LLAMA) });
    assert_eq!(beyond.limits().rank.max_sequence, trained + 100);
    // What the memory cannot hold is lowered to what it can, or refused with the bytes.
    let huge = Config { max_sequence_length: 1 << 30, kv_budget: KvBudget::Bytes(1 << 20), ..config(LLAMA) };
    let huge = coordinator(huge);
    let (effective, width) = (huge.limits().rank, huge.model_info().head_dim as u64);
    // The pool rounds the width of values up to whole vectors of 16.
    let padded = (1 << 20) * (width + width.next_multiple_of(16)) / (2 * width);
    assert!(effective.max_sequence < 1 << 30 && effective.kv_bytes <= padded, "{effective:?}");
    let two = coordinator(Config { max_sequence_length: 2, ..config(LLAMA) });
    assert_eq!(dispatch(&two, vec![sequence(vec![5], 1)])[0].output_ids.len(), 1);
}

/// FIELD_CASES 61, 58: a coordinator that does not fit is refused with what it needs; the one that is there says what it said.
#[test]
fn a_coordinator_that_does_not_fit_leaves_the_first_alone() {
    let first = coordinator(config(LLAMA));
    let before = dispatch(&first, vec![sequence(ids(30, 1), 20)]).remove(0).output_ids;
    let artifacts = Some(first.artifacts().clone());
    let second = Config { artifacts, kv_budget: KvBudget::Bytes(100), ..config(LLAMA) };
    let error = RuntimeCoordinator::new(second).err().unwrap();
    assert!(error.status() == Status::OutOfMemory && error.message().contains("100"), "{error}");
    assert_eq!(dispatch(&first, vec![sequence(ids(30, 1), 20)]).remove(0).output_ids, before);
}

/// FIELD_CASES 70: prompts that share a long beginning and differ in a secret, in a pool so small that pages are evicted and come
/// back: each says what it says alone.
#[test]
fn no_request_says_what_belongs_to_another() {
    let shared = ids(96, 2);
    let requests: Vec<Sequence> =
        (0..64).map(|i| sequence([shared.clone(), vec![10 + i; 3 + i as usize % 20], ids(4, i as usize)].concat(), 8)).collect();
    let cold = coordinator(config(LLAMA));
    let alone: Vec<_> = requests.iter().map(|request| dispatch(&cold, vec![request.clone()]).remove(0).output_ids).collect();
    let small = Config { max_batch: 4, max_sequence_length: 160, page_tokens: 16, ..config(LLAMA) };
    let ample = coordinator(small.clone()).limits().rank.kv_bytes;
    let whole = coordinator(Config {
        kv_budget: KvBudget::Bytes(ample / 2),
        context_cache: ContextCacheConfig { enabled: true, max_records: 64 },
        ..small
    });
    for round in 0..2 {
        for (batch, expected) in requests.chunks(8).zip(alone.chunks(8)) {
            let found: Vec<_> = dispatch(&whole, batch.to_vec()).into_iter().map(|result| result.output_ids).collect();
            assert_eq!(found, expected, "round {round}");
        }
    }
    let metrics = whole.context_cache_metrics();
    assert!(metrics.evicted_pages > 0 && metrics.reused_tokens > 0, "{metrics:?}");
}

/// FIELD_CASES 134: a text that can never fit is refused before it takes a hundred times its size in memory.
#[test]
fn hopelessly_long_texts_are_refused_unread() {
    let coordinator = coordinator(Config { max_sequence_length: 200, ..config(LLAMA) });
    let refused = |input: Input| {
        let request = Request { sequences: vec![Sequence::new(input)], ..Request::default() };
        coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err()
    };
    let error = refused(Input::Text("x".repeat(10 << 20)));
    assert_eq!(error.status(), Status::ContextFull);
    assert!(error.message().contains("a text of 10485760 bytes, expected at most 65536 here"), "{error}");
    // What might fit is counted to the token.
    let error = refused(Input::Text("x".repeat(60_000)));
    assert_eq!(error.status(), Status::ContextFull);
    assert!(error.message().contains("tokens, expected at most 199"), "{error}");
}

/// What a guide's library says to its developers stays out of what we say to a user.
#[test]
fn refused_guides_say_why_and_nothing_of_their_insides() {
    let coordinator = coordinator(config(LLAMA));
    for (guide, expected) in [
        (GuideSpec::JsonSchema(serde_json::json!({"$ref": "#"})), "guide: "),
        (GuideSpec::Choice((0..20_000).map(|i| format!("c{i}")).collect()), "guide choice: 20000 texts, expected at most 10000"),
        (GuideSpec::Regex("((".into()), "invalid regex"),
    ] {
        let options = SequenceOptions { guide: Some(guide), ..SequenceOptions::default() };
        let sequence = Sequence { options, ..Sequence::new(Input::Ids(vec![5, 6])) };
        let request = Request { sequences: vec![sequence], ..Request::default() };
        let error = coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().contains(expected), "{error}");
        assert!(!error.message().contains("<state>") && !error.message().contains("backtrace"), "{error}");
    }
}
