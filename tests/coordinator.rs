//! The coordinator end to end on tiny models: what holds of every request, whatever the batch, the chunks and the settings.

use std::sync::Arc;
use std::time::Duration;

use tactus::Status;
use tactus::coordinator::{
    CommitPolicy, Config, ContextCacheConfig, DispatchOptions, Input, Request, Response, RuntimeCoordinator, Sequence,
    SequenceOptions,
};
use tactus::decoding::FinishReason;
use tactus::rank::{SequenceResult, StepPlan, StreamChannel};

const LLAMA: &str = "tests/data/gguf/llama-f32.gguf";
const GEMMA: &str = "tests/data/gguf/gemma3-f32.gguf";

fn config(model: &str) -> Config {
    Config { engine_dir: model.into(), cpu_threads: 2, kv_type: Some(tactus::backend::KvType::F32), ..Config::default() }
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

fn outputs(results: &[SequenceResult]) -> Vec<Vec<i32>> {
    results.iter().map(|result| result.output_ids.clone()).collect()
}

/// DESIGN 8, FIELD_CASES 80, 81: single = batched = chunked, exactly on the CPU, for sequences of different lengths and settings.
#[test]
fn single_batched_and_chunked_runs_agree_exactly() {
    for model in [LLAMA, GEMMA] {
        let sequences: Vec<Sequence> = [(1, 20), (7, 3), (60, 12), (33, 30), (16, 1), (100, 9)]
            .iter()
            .enumerate()
            .map(|(i, &(prompt, new))| {
                let mut sequence = sequence(ids(prompt, i), new);
                if i % 2 == 1 {
                    let options = &mut sequence.options;
                    (options.temperature, options.seed, options.top_k) = (Some(1.0), Some(i as u64), Some(20));
                    options.repetition_penalty = Some(1.2);
                }
                sequence.options.num_logprobs = Some(3);
                sequence
            })
            .collect();
        let whole = coordinator(config(model));
        let alone: Vec<_> = sequences.iter().map(|s| dispatch(&whole, vec![s.clone()]).remove(0)).collect();
        let batched = dispatch(&whole, sequences.clone());
        let chunked =
            coordinator(Config { prefill_chunk: 5, mixed_prefill_chunk: 3, max_batch: 3, cpu_threads: 1, ..config(model) });
        let chunked = dispatch(&chunked, sequences.clone());
        for (i, alone) in alone.iter().enumerate() {
            for other in [&batched[i], &chunked[i]] {
                assert_eq!((&other.output_ids, &other.text), (&alone.output_ids, &alone.text), "{model}, sequence {i}");
                assert_eq!(other.logprobs, alone.logprobs, "{model}, sequence {i}");
            }
            assert_eq!(alone.output_ids.len() as i64, sequences[i].options.max_generate_length.unwrap());
        }
        let metrics = whole.metrics();
        assert_eq!((metrics.residents, metrics.pages_free), (0, metrics.pages_total));
    }
}

/// DESIGN 8: hooked and stepped runs say what a dispatch says; joiners never change residents.
#[test]
fn stepped_and_hooked_runs_agree_with_a_dispatch() {
    let whole = coordinator(config(LLAMA));
    let (first, joiner) = (sequence(ids(40, 1), 16), sequence(ids(25, 2), 10));
    let expected = outputs(&[dispatch(&whole, vec![first.clone()]), dispatch(&whole, vec![joiner.clone()])].concat());
    let request = |sequence: &Sequence| Request { sequences: vec![sequence.clone()], ..Request::default() };

    let mut boundaries = 0;
    let mut joined = Vec::new();
    let mut hook = |boundary: &mut tactus::coordinator::GenerationBoundary<'_, '_>| {
        boundaries += 1;
        if boundaries == 4 {
            assert!(matches!(boundary.admit_request(&request(&joiner), 7, 1), tactus::coordinator::AdmitDecision::Admitted));
            assert!(matches!(boundary.admit_request(&request(&joiner), 7, 2), tactus::coordinator::AdmitDecision::Failed(_)));
            assert_eq!(boundary.resident_count(), 2);
        }
        // A call into the coordinator from inside is refused.
        assert_eq!(
            whole.dispatch_request(&request(&first), &DispatchOptions::default(), None).unwrap_err().status(),
            Status::Busy
        );
        joined.extend(boundary.take_completed_at_or_above(1).into_values());
    };
    whole.dispatch_request(&request(&first), &DispatchOptions::default(), Some(&mut hook)).unwrap();
    let response = whole.take_rank_response(0).unwrap();
    assert_eq!(outputs(&[response.sequences, joined].concat()), expected);

    let options = DispatchOptions::default();
    let execution = whole.begin_stepped(&request(&first), 1, &options).unwrap();
    assert_eq!(execution.last_step().unwrap().tokens.len(), 1);
    assert_eq!(whole.dispatch_request(&request(&first), &options, None).unwrap_err().status(), Status::Busy);
    let founder = execution.residents().unwrap()[0];
    execution.decode(&[founder]).unwrap();
    assert_eq!(execution.last_step().unwrap().tokens.len(), 2, "the founding prefill's token leads the first step's");
    let tactus::coordinator::AdmissionResult::Admitted(guest) = execution.admit(&request(&joiner), 1, 2).unwrap() else {
        panic!("not admitted")
    };
    assert_eq!(execution.decode(&[guest]).unwrap_err().status(), Status::State);
    let mut said = vec![expected[0][..2].to_vec(), Vec::new()];
    let mut plan = StepPlan { prefill: vec![(guest, 4)], decode: vec![founder] };
    let mut finished = Vec::new();
    while !execution.residents().unwrap().is_empty() {
        execution.step(plan.clone()).unwrap();
        let step = execution.last_step().unwrap();
        for delta in &step.deltas {
            let tokens = &step.tokens[delta.first as usize..(delta.first + delta.count) as usize];
            said[usize::from(delta.resident == guest)].extend(tokens.iter().map(|&t| t as i32));
        }
        finished.extend(step.finished.iter().map(|(_, result)| result.clone()));
        drop(step);
        plan = StepPlan::default();
        let prefilled = !said[1].is_empty();
        for resident in execution.residents().unwrap() {
            match resident == guest && !prefilled {
                true => plan.prefill.push((resident, 4)),
                false => plan.decode.push(resident),
            }
        }
    }
    assert_eq!(said, expected);
    finished.sort_by_key(|result| result.index);
    assert_eq!(outputs(&finished), expected);
    let Response { sequences, .. } = execution.finish().unwrap();
    assert_eq!(outputs(&sequences), expected[..1]);
    assert_eq!(execution.decode(&[founder]).unwrap_err().status(), Status::State);
    assert_eq!(outputs(&dispatch(&whole, vec![first])), expected[..1]);
}

/// SURFACE, context cache; FIELD_CASES 69, 74: equal with and without reuse, and the reuse is told.
#[test]
fn the_context_cache_changes_nothing_but_the_work() {
    for model in [LLAMA, GEMMA] {
        let cold = coordinator(config(model));
        let warm = coordinator(Config {
            context_cache: ContextCacheConfig { enabled: true, max_records: 16 },
            page_tokens: 16,
            ..config(model)
        });
        let first = sequence(ids(120, 1), 20);
        let expected = dispatch(&cold, vec![first.clone()]).remove(0);
        for (run, reused) in [(0, 0), (1, 112), (2, 112)] {
            let found = dispatch(&warm, vec![first.clone()]).remove(0);
            assert_eq!((&found.output_ids, found.reused_tokens), (&expected.output_ids, reused), "{model}, run {run}");
        }
        // The next turn of the chat finds the generated tokens as well.
        let turn = [ids(120, 1), expected.output_ids.clone(), ids(9, 4)].concat();
        let next = dispatch(&warm, vec![sequence(turn.clone(), 8)]).remove(0);
        assert_eq!(next.reused_tokens, 128);
        assert_eq!(next.output_ids, dispatch(&cold, vec![sequence(turn.clone(), 8)])[0].output_ids);
        let mut bypass = sequence(turn, 8);
        bypass.options.cache_bypass = Some(true);
        bypass.options.cache_commit = Some(CommitPolicy::PrefillStateOnly);
        let bypassed = dispatch(&warm, vec![bypass]).remove(0);
        assert_eq!((bypassed.reused_tokens, bypassed.output_ids), (0, next.output_ids));
    }
}

/// SURFACE, streaming: chunks joined are the text, from another thread, and the last is always delivered.
#[test]
fn streamed_chunks_join_to_the_text() {
    let whole = coordinator(config(LLAMA));
    let channel = StreamChannel::new();
    let mut streamed = sequence(ids(12, 3), 40);
    streamed.stream = Some(channel.clone());
    streamed.options.num_logprobs = Some(2);
    let reader = std::thread::spawn(move || {
        let (mut text, mut tokens, mut logprobs) = (String::new(), Vec::new(), 0);
        loop {
            let chunk = channel.wait_pop(Duration::from_secs(60)).unwrap();
            text.push_str(&chunk.text);
            tokens.extend(chunk.token_ids.iter().map(|&t| t as i32));
            assert_eq!(chunk.logprobs.len(), chunk.token_ids.len());
            logprobs += chunk.logprobs.len();
            if chunk.finished {
                return (text, tokens, logprobs, chunk.reason);
            }
        }
    });
    let result = dispatch(&whole, vec![streamed]).remove(0);
    let (text, tokens, logprobs, reason) = reader.join().unwrap();
    assert_eq!((&text, &tokens, logprobs), (&result.text, &result.output_ids, result.logprobs.len()));
    assert_eq!((reason, result.finish_reason), (FinishReason::MaxLength, FinishReason::MaxLength));
}

/// FIELD_CASES 87, 84: a used channel is refused before anything runs; late cancels do nothing.
#[test]
fn a_used_stream_is_refused_and_nothing_runs() {
    let whole = coordinator(config(LLAMA));
    let channel = StreamChannel::new();
    let mut streamed = sequence(ids(4, 3), 4);
    streamed.stream = Some(channel.clone());
    dispatch(&whole, vec![streamed.clone()]);
    channel.cancel();
    assert_eq!(channel.reason(), FinishReason::MaxLength);
    let fresh = StreamChannel::new();
    let mut other = sequence(ids(4, 3), 4);
    other.stream = Some(fresh.clone());
    let request = Request { sequences: vec![other.clone(), streamed], ..Request::default() };
    let error = whole.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err();
    assert!(error.status() == Status::State && error.message().starts_with("sequence 1"), "{error}");
    assert!(!whole.local_ranks_succeeded());
    assert_eq!(whole.take_rank_response(0).unwrap_err().status(), Status::State);
    // The first one's channel was not used up by the refusal.
    dispatch(&whole, vec![other]);
    assert!(whole.local_ranks_succeeded() && fresh.is_finished());
}

/// FIELD_CASES 24, 26, 47, 48, 57: refusals name the thing and its value, run nothing, and the next request works.
#[test]
fn bad_requests_are_refused_by_name() {
    let whole = coordinator(Config { max_sequence_length: 128, ..config(LLAMA) });
    let vocab = whole.model_info().vocab_size as i32;
    let refuse = |sequence: Sequence, status: Status, named: &str| {
        let request = Request { sequences: vec![sequence], ..Request::default() };
        let error = whole.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err();
        assert!(error.status() == status && error.message().contains(named), "{error:?}");
        error
    };
    for bad in [vocab, -1, i32::MAX] {
        refuse(sequence(vec![5, bad], 1), Status::InvalidArgument, &format!("prompt id 1: {bad}"));
    }
    refuse(sequence(vec![], 1), Status::InvalidArgument, "empty prompt");
    refuse(sequence(ids(4, 0), 0), Status::InvalidArgument, "maxGenerateLength: 0");
    let full = refuse(sequence(ids(128, 0), 5), Status::ContextFull, "128 tokens");
    let numbers = full.capacity().unwrap();
    assert_eq!((numbers.prompt, numbers.requested, numbers.limit), (128, 5, 128));
    let biased = |bias: Vec<(i32, f32)>| {
        let mut sequence = sequence(ids(4, 0), 4);
        sequence.options.logit_bias = Some(bias);
        sequence
    };
    refuse(biased(vec![(vocab, 1.0)]), Status::InvalidArgument, &format!("token {vocab}"));
    refuse(biased(vec![(-1, 1.0)]), Status::InvalidArgument, "token -1");
    refuse(biased(vec![(3, f32::NAN)]), Status::InvalidArgument, "token 3: NaN");
    refuse(biased(vec![(3, 101.0)]), Status::InvalidArgument, "101");
    refuse(biased(vec![(3, 1.0), (3, 2.0)]), Status::InvalidArgument, "token 3 occurs twice");
    refuse(biased((0..2000).map(|i| (i, 1.0)).collect()), Status::InvalidArgument, "2000 entries");
    let request = Request::default();
    assert_eq!(
        whole.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err().status(),
        Status::InvalidArgument
    );

    // 57: the limit counts generated tokens only, and is lowered with a word where it does not fit.
    let results = dispatch(&whole, vec![sequence(ids(100, 0), 10), sequence(ids(100, 0), 40)]);
    assert_eq!(results.iter().map(|r| r.output_ids.len()).collect::<Vec<_>>(), [10, 28]);
    assert!(results[0].warnings.is_empty() && results[1].warnings.len() == 1);
    assert_eq!(results[1].settings.max_new_tokens, 28);
}

/// FIELD_CASES 47: a ban holds for every step, a push wins every step, a bias comes before the cut to one.
#[test]
fn logit_bias_bans_and_pushes() {
    let whole = coordinator(config(LLAMA));
    let plain = dispatch(&whole, vec![sequence(ids(9, 0), 30)]).remove(0).output_ids;
    let with = |bias: Vec<(i32, f32)>| {
        let mut sequence = sequence(ids(9, 0), 30);
        (sequence.options.logit_bias, sequence.options.top_k) = (Some(bias), Some(1));
        dispatch(&whole, vec![sequence]).remove(0).output_ids
    };
    for ban in [-100.0, f32::NEG_INFINITY] {
        assert!(!with(vec![(plain[0], ban)]).contains(&plain[0]));
    }
    assert!(with(vec![(11, 100.0)]).iter().all(|&id| id == 11));
}

/// FIELD_CASES 36, 40: each end id ends the run; it can be switched off; reasons are told apart.
#[test]
fn ends_have_their_own_reasons() {
    let whole = coordinator(config(LLAMA));
    let plain = dispatch(&whole, vec![sequence(ids(9, 0), 12)]).remove(0);
    let third = plain.output_ids[2];
    let at = plain.output_ids.iter().position(|&id| id == third).unwrap();
    let mut ending = sequence(ids(9, 0), 12);
    ending.options.extra_eos_ids = Some(vec![third]);
    let ended = dispatch(&whole, vec![ending]).remove(0);
    assert_eq!((ended.finish_reason, ended.output_ids.as_slice()), (FinishReason::EndOfSequence, &plain.output_ids[..=at]));
    // With exactly the last token allowed, the end outranks the limit.
    let mut last = sequence(ids(9, 0), at as i64 + 1);
    last.options.extra_eos_ids = Some(vec![third]);
    assert_eq!(dispatch(&whole, vec![last]).remove(0).finish_reason, FinishReason::EndOfSequence);
    assert_eq!(plain.finish_reason, FinishReason::MaxLength);
}

/// FIELD_CASES 32, 37, 38: the text ends before the stop, ids and log-probabilities go together, streams agree.
#[test]
fn stop_strings_end_the_text() {
    let whole = coordinator(config(LLAMA));
    let plain = dispatch(&whole, vec![sequence(ids(9, 0), 40)]).remove(0);
    let middle = plain.text.len() / 2;
    let start = (middle..).find(|&i| plain.text.is_char_boundary(i)).unwrap();
    let end = (start + 3..=plain.text.len()).find(|&i| plain.text.is_char_boundary(i)).unwrap();
    let stop = plain.text[start..end].to_string();
    let channel = StreamChannel::new();
    let mut stopping = sequence(ids(9, 0), 40);
    (stopping.options.stop, stopping.options.num_logprobs, stopping.stream) =
        (Some(vec![stop.clone()]), Some(0), Some(channel.clone()));
    let stopped = dispatch(&whole, vec![stopping]).remove(0);
    assert_eq!(stopped.text, plain.text[..plain.text.find(&stop).unwrap()]);
    assert_eq!(stopped.finish_reason, FinishReason::StopWords);
    assert_eq!(stopped.logprobs.len(), stopped.output_ids.len());
    let joined: String = std::iter::from_fn(|| channel.try_pop()).map(|chunk| chunk.text).collect();
    assert_eq!(joined, stopped.text);
}

/// FIELD_CASES 41, 51: temperature matters, seeds reproduce, the seed that is told is the one that was used.
#[test]
fn seeds_reproduce_and_temperature_matters() {
    let whole = coordinator(config(LLAMA));
    let run = |temperature: f32, seed: Option<u64>| {
        let mut sequence = sequence(ids(9, 0), 20);
        (sequence.options.temperature, sequence.options.seed) = (Some(temperature), seed);
        dispatch(&whole, vec![sequence]).remove(0)
    };
    let distinct =
        |temperature| (0..8).map(|seed| run(temperature, Some(seed)).output_ids).collect::<std::collections::HashSet<_>>().len();
    assert_eq!(distinct(0.0), 1);
    assert!(distinct(1.5) > 1);
    let drawn = run(1.5, None);
    assert_eq!(run(1.5, Some(drawn.settings.seed)).output_ids, drawn.output_ids);
    assert_ne!(run(1.5, None).settings.seed, drawn.settings.seed);
}

/// FIELD_CASES 138: two threads on one coordinator: one runs, the other is told BUSY; no result is mixed.
#[test]
fn an_overlapping_dispatch_is_busy() {
    let whole = coordinator(config(LLAMA));
    let expected: Vec<_> = (0..2).map(|i| dispatch(&whole, vec![sequence(ids(8, i), 12)]).remove(0).output_ids).collect();
    std::thread::scope(|scope| {
        for (i, expected) in expected.iter().enumerate() {
            let whole = &whole;
            scope.spawn(move || {
                for _ in 0..100 {
                    let channel = StreamChannel::new();
                    let mut streamed = sequence(ids(8, i), 12);
                    streamed.stream = Some(channel.clone());
                    let request = Request { sequences: vec![streamed], ..Request::default() };
                    match whole.dispatch_request(&request, &DispatchOptions::default(), None) {
                        Ok(()) => {
                            let tokens =
                                std::iter::from_fn(|| channel.try_pop()).flat_map(|chunk| chunk.token_ids).map(|t| t as i32);
                            assert_eq!(tokens.collect::<Vec<_>>(), *expected);
                        }
                        Err(error) => assert_eq!(error.status(), Status::Busy),
                    }
                }
            });
        }
    });
}

/// SURFACE, destruct; FIELD_CASES 129, 140: a running dispatch is cancelled and waited for.
#[test]
fn shutting_down_cancels_a_running_dispatch() {
    let whole = coordinator(Config { prefill_chunk: 2, max_sequence_length: 500, ..config(LLAMA) });
    let channel = StreamChannel::new();
    let mut streamed = sequence(ids(100, 1), 300);
    streamed.stream = Some(channel.clone());
    let runner = {
        let whole = whole.clone();
        std::thread::spawn(move || {
            whole.dispatch_request(
                &Request { sequences: vec![streamed], ..Request::default() },
                &DispatchOptions::default(),
                None,
            )
        })
    };
    channel.wait_pop(Duration::from_secs(60)).unwrap();
    whole.shut_down();
    runner.join().unwrap().unwrap();
    assert_eq!(channel.reason(), FinishReason::Cancelled);
    let request = Request { sequences: vec![sequence(ids(3, 0), 1)], ..Request::default() };
    assert_eq!(whole.dispatch_request(&request, &DispatchOptions::default(), None).unwrap_err().status(), Status::State);
}

/// Profiles count what was done: steps by batch, tokens computed and reused; and nothing is reported that was not asked for.
#[test]
fn a_profile_counts_steps_batches_and_tokens() {
    let context_cache = ContextCacheConfig { enabled: true, max_records: 8 };
    let coordinator = coordinator(Config { max_batch: 2, page_tokens: 16, context_cache, ..config(LLAMA) });
    let run = |sequences: Vec<Sequence>, profiling| {
        let request = Request { sequences, ..Request::default() };
        coordinator.dispatch_request(&request, &DispatchOptions { profiling, ..Default::default() }, None).unwrap();
        coordinator.take_rank_response(0).unwrap().timings
    };
    let sequences = || vec![sequence(ids(40, 1), 6), sequence(ids(20, 2), 6), sequence(ids(9, 3), 4)];
    assert!(run(sequences(), false).is_none());
    // The first dispatch has left two pages of the first prompt and one of the second.
    let timings = run(sequences(), true).unwrap();
    assert_eq!((timings.prefill_tokens, timings.reused_tokens), (40 + 20 + 9 - 48, 48));
    assert_eq!(timings.decode_tokens, 5 + 5 + 3, "the first token of each comes with its prompt");
    // Two seats: the third sequence waits for one.
    assert_eq!(timings.batch_histogram.len(), 3);
    assert_eq!(timings.batch_histogram.iter().sum::<u64>(), timings.steps);
    let ran: u64 = timings.batch_histogram.iter().zip(0..).map(|(steps, sequences)| steps * sequences).sum();
    assert_eq!(ran, 6 + 6 + 4);
    assert!(timings.queue > Duration::ZERO && timings.queue < timings.total);
    assert!(timings.prepare + timings.prefill + timings.decode <= timings.total);
}
