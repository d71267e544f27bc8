//! The control plane over the fake executor: whatever the batch, the chunks, the pages and the neighbours, a sequence says what
//! it says alone.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::schedule::Chunks;
use super::*;
use crate::backend::SamplingParams;
use crate::cache::{CacheIdentity, CacheMetrics};
use crate::decoding::{FinishReason, SettingSource, Settings};
use crate::rank::fake::{FakeExecutor, FakeSizes, rank};
use crate::rank::{CacheCommit, CachePolicy, Seed, StreamChannel};
use crate::text::test_support::letters;

#[derive(Clone, Debug)]
struct Case {
    prompt: Vec<u32>,
    max_new: u32,
    /// `None`: greedy.
    seed: Option<u64>,
    /// Cancelled by its callback with this token.
    cancel_at: Option<u32>,
    end_token: Option<u32>,
    stop: Option<String>,
    cache: CachePolicy,
}

fn seed(index: u32, case: &Case) -> Seed {
    let cancel_at = case.cancel_at;
    let temperature = if case.seed.is_some() { 1.0 } else { 0.0 };
    Seed {
        index,
        prompt: case.prompt.clone(),
        settings: Settings {
            sampling: SamplingParams { temperature, ..SamplingParams::GREEDY },
            temperature_source: SettingSource::Request,
            top_k_source: SettingSource::Default,
            top_p_source: SettingSource::Default,
            min_p_source: SettingSource::Default,
            repetition_penalty_source: SettingSource::Default,
            seed: case.seed.unwrap_or(0),
            seed_given: true,
            max_new_tokens: case.max_new,
            num_logprobs: Some(0),
            skip_special_tokens: true,
        },
        bias: Vec::new(),
        end_tokens: case.end_token.into_iter().collect(),
        stops: case.stop.iter().cloned().collect(),
        stream: None,
        on_token: cancel_at.map(|at| -> crate::rank::TokenCallback { Arc::new(move |info| info.step < at) }),
        ropes: Vec::new(),
        identity: CacheIdentity::default(),
        cache: case.cache,
        hidden: None,
        guide: None,
        warnings: Vec::new(),
    }
}

struct Run {
    results: Vec<SequenceResult>,
    streamed: Vec<String>,
    pages: (usize, usize),
    steps: u64,
    context: CacheMetrics,
}

fn run(cases: &[Case], sizes: FakeSizes, mixed: u32, change: impl FnOnce(&mut FakeExecutor)) -> Run {
    let mut rank = rank(Arc::new(letters()), sizes, change);
    let stop = AtomicBool::new(false);
    let channels: Vec<_> = cases.iter().map(|_| StreamChannel::new()).collect();
    let sequences = cases
        .iter()
        .zip(&channels)
        .enumerate()
        .map(|(index, (case, channel))| {
            rank.sequence(Seed { stream: Some(channel.attach().unwrap()), ..seed(index as u32, case) })
        })
        .collect();
    let chunks = Chunks { alone: sizes.chunk as u32, mixed };
    let (results, _) = Dispatch::new(&mut rank, chunks, &stop, sequences, Instant::now()).run(|_| ());
    let streamed = channels
        .iter()
        .map(|channel| {
            assert!(channel.is_finished());
            std::iter::from_fn(|| channel.try_pop()).map(|chunk| chunk.text).collect()
        })
        .collect();
    let context = rank.context_metrics();
    rank.forget_context();
    let metrics = rank.metrics();
    assert_eq!((metrics.residents, rank.context_metrics().cached_pages), (0, 0));
    Run { results, streamed, pages: (metrics.pages_free, metrics.pages_total), steps: metrics.steps, context }
}

const AMPLE: FakeSizes = FakeSizes { seats: 1, max_sequence: 128, pages: 64, chunk: 128 };

fn alone(case: &Case) -> SequenceResult {
    run(std::slice::from_ref(case), AMPLE, 128, |_| ()).results.remove(0)
}

fn assert_same(found: &SequenceResult, expected: &SequenceResult) {
    assert_eq!(found.output_ids, expected.output_ids, "sequence {}: {:?}", found.index, found.error);
    assert_eq!((&found.text, found.finish_reason), (&expected.text, expected.finish_reason));
    assert_eq!(found.logprobs, expected.logprobs);
    assert_eq!(found.logprobs.len(), found.output_ids.len());
}

fn any_policy() -> impl Strategy<Value = CachePolicy> {
    let commit = prop_oneof![Just(CacheCommit::Nothing), Just(CacheCommit::Prompt), Just(CacheCommit::PromptAndOutput)];
    (any::<bool>(), commit).prop_map(|(lookup, commit)| CachePolicy { lookup, commit })
}

fn any_case() -> impl Strategy<Value = Case> {
    // Many share their beginnings.
    let prompt = prop_oneof![
        prop::collection::vec(0u32..20, 1..60),
        (1usize..60, prop::collection::vec(0u32..20, 0..6)).prop_map(|(n, rest)| [vec![3; n], rest].concat()),
    ];
    (
        prompt,
        1u32..30,
        prop::option::of(0u64..4),
        prop::option::weighted(0.2, 0u32..10),
        prop::option::of(0u32..20),
        prop::option::of("[a-t]{1,2}"),
        any_policy(),
    )
        .prop_map(|(prompt, max_new, seed, cancel_at, end_token, stop, cache)| Case {
            prompt,
            max_new,
            seed,
            cancel_at,
            end_token,
            stop,
            cache,
        })
}

proptest! {
    /// Invariant of DESIGN 8: single = batched = chunked = prefix-cached, with pages so short that residents are parked; joined
    /// stream = text; all pages are free at the end.
    #[test]
    fn a_sequence_says_in_any_batch_what_it_says_alone(
        cases in prop::collection::vec(any_case(), 1..8),
        seats in 1usize..5,
        pages in 6usize..16,
        chunk in 1usize..40,
        mixed in 1u32..9,
    ) {
        let sizes = FakeSizes { seats, max_sequence: 96, pages, chunk };
        let together = run(&cases, sizes, mixed.min(chunk as u32), |_| ());
        prop_assert_eq!(together.results.len(), cases.len());
        prop_assert_eq!(together.pages.0, together.pages.1);
        for ((case, found), streamed) in cases.iter().zip(&together.results).zip(&together.streamed) {
            assert_same(found, &alone(case));
            prop_assert_eq!(&found.text, streamed);
        }
    }
}

fn case(prompt: &[u32], max_new: u32) -> Case {
    Case {
        prompt: prompt.to_vec(),
        max_new,
        seed: None,
        cancel_at: None,
        end_token: None,
        stop: None,
        cache: CachePolicy::default(),
    }
}

#[test]
fn pages_run_out_and_the_youngest_waits() {
    // Two sequences of 16 + 40 tokens want 4 pages each; there are 6.
    let cases = [case(&[1; 16], 40), case(&[2; 16], 40)];
    let found = run(&cases, FakeSizes { seats: 2, max_sequence: 64, pages: 6, chunk: 32 }, 8, |_| ());
    for (case, result) in cases.iter().zip(&found.results) {
        assert_same(result, &alone(case));
        assert_eq!(result.finish_reason, FinishReason::MaxLength);
    }
    assert!(found.steps > 40, "the second cannot have run beside the first to the end: {} steps", found.steps);
}

const SHARE: CachePolicy = CachePolicy { lookup: true, commit: CacheCommit::PromptAndOutput };

/// DECISIONS 33: requests in flight together share what they have in common while it is being computed.
#[test]
fn a_shared_prefix_is_computed_once_over_many_requests_in_flight() {
    let cases: Vec<_> = (0..20).map(|i| Case { cache: SHARE, ..case(&[[7; 80].as_slice(), &[i, i]].concat(), 6) }).collect();
    let found = run(&cases, FakeSizes { seats: 8, max_sequence: 128, pages: 80, chunk: 32 }, 8, |_| ());
    for (case, result) in cases.iter().zip(&found.results) {
        assert_same(result, &alone(case));
    }
    let computed: u32 = found.results.iter().map(|r| r.input_tokens - r.reused_tokens).sum();
    assert_eq!(computed, 82 + 19 * 2);
    assert_eq!((found.context.lookups, found.context.reused_tokens), (20, 19 * 80));
}

/// FIELD_CASES 66, 67: a prefix of a remembered prompt, and a shorter one, say what they say cold.
#[test]
fn a_prefix_of_a_remembered_prompt_recomputes_its_last_token() {
    let long: Vec<u32> = (0..70).map(|i| i % 19).collect();
    let cases: Vec<_> = [70, 48, 33, 16, 1].iter().map(|&n| Case { cache: SHARE, ..case(&long[..n], 9) }).collect();
    let found = run(&cases, FakeSizes { seats: 1, max_sequence: 128, pages: 32, chunk: 64 }, 8, |_| ());
    let reused: Vec<_> = found.results.iter().map(|r| r.reused_tokens).collect();
    assert_eq!(reused, [0, 32, 32, 0, 0]);
    for (case, result) in cases.iter().zip(&found.results) {
        assert_same(result, &alone(case));
    }
}

/// FIELD_CASES 75: what nobody uses makes room, longest unused first.
#[test]
fn remembered_pages_make_room_for_new_requests() {
    let cases: Vec<_> = (0..12).map(|i| Case { cache: SHARE, ..case(&[i; 40], 10) }).collect();
    let found = run(&cases, FakeSizes { seats: 1, max_sequence: 64, pages: 16, chunk: 64 }, 8, |_| ());
    assert!(found.results.iter().all(|r| r.finish_reason == FinishReason::MaxLength));
    assert!(found.context.evicted_pages > 0 && found.context.cached_pages <= 16);
}

/// FIELD_CASES 75: a page that was computed again though it was remembered is kept once; the older copy takes no room from the
/// sequence that goes on from it.
#[test]
fn a_prefix_that_is_computed_again_is_kept_once() {
    let commit = CacheCommit::PromptAndOutput;
    let cases = [true, false].map(|lookup| Case { cache: CachePolicy { lookup, commit }, ..case(&[3; 40], 56) });
    let first = Case { max_new: 1, ..cases[0].clone() };
    let found = run(&[first, cases[1].clone()], FakeSizes { seats: 1, max_sequence: 96, pages: 6, chunk: 64 }, 8, |_| ());
    assert_same(&found.results[1], &alone(&cases[1]));
    assert_eq!((found.results[1].reused_tokens, found.context.evicted_pages), (0, 0));
}

/// SURFACE, context cache: another tenant's pages are never adopted.
#[test]
fn identities_do_not_share() {
    let mut rank = rank(Arc::new(letters()), AMPLE, |_| ());
    let mut reused = |salt: &str| {
        let case = Case { cache: SHARE, ..case(&[5; 50], 3) };
        let identity = CacheIdentity { salt: salt.into(), ..Default::default() };
        let sequence = rank.sequence(Seed { identity, ..seed(0, &case) });
        let chunks = Chunks { alone: 64, mixed: 8 };
        let stop = AtomicBool::new(false);
        let (results, _) = Dispatch::new(&mut rank, chunks, &stop, VecDeque::from([sequence]), Instant::now()).run(|_| ());
        results[0].reused_tokens
    };
    assert_eq!(["", "a", "a", ""].map(&mut reused), [0, 0, 48, 48]);
}

/// DECISIONS 9, FIELD_CASES 45, 81: a row's own fault ends that sequence, keeps what it said, and leaves its neighbours alone.
#[test]
fn one_sequences_fault_leaves_its_neighbours_results_intact() {
    let cases = [case(&[1, 2, 3], 12), case(&[19, 4], 12), case(&[5], 12)];
    let found = run(&cases, FakeSizes { seats: 3, max_sequence: 64, pages: 32, chunk: 32 }, 8, |e| e.poison = Some(19));
    assert_eq!(found.results[1].finish_reason, FinishReason::Error);
    assert!(found.results[1].error.as_ref().unwrap().message().contains("non-finite logits at position 2"));
    assert!(first_error(&found.results).is_err());
    for i in [0, 2] {
        // The poison may be said by the others as well: compare as far as it is not.
        let expected = run(&cases[i..=i], AMPLE, 128, |e| e.poison = Some(19)).results.remove(0);
        assert_eq!(found.results[i].output_ids, expected.output_ids);
    }
    assert_eq!(found.pages.0, found.pages.1);
}

#[test]
fn a_failed_step_ends_those_in_it_and_nothing_is_lost() {
    let cases: Vec<_> = (0..6).map(|i| case(&[i, i + 1], 8)).collect();
    let found = run(&cases, FakeSizes { seats: 2, max_sequence: 64, pages: 16, chunk: 32 }, 8, |e| e.fail_at = Some(4));
    let (failed, fine): (Vec<_>, Vec<_>) = found.results.iter().partition(|r| r.finish_reason == FinishReason::Error);
    assert_eq!(failed.iter().map(|r| r.index).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(fine.len(), 4);
    for result in fine {
        assert_same(result, &alone(&cases[result.index as usize]));
    }
    // What they had said before the fault stays.
    assert!(
        failed.iter().all(|r| r.output_ids.len() == 3 && alone(&cases[r.index as usize]).output_ids.starts_with(&r.output_ids))
    );
    assert_eq!(found.pages.0, found.pages.1);
}

/// FIELD_CASES 54, 55: the end of the context ends the sequence; steps are bounded.
#[test]
fn the_longest_sequence_ends_with_max_length() {
    let found = run(&[case(&[3; 60], 4)], FakeSizes { seats: 1, max_sequence: 64, pages: 4, chunk: 64 }, 8, |_| ());
    assert_eq!((found.results[0].output_ids.len(), found.results[0].finish_reason), (4, FinishReason::MaxLength));
    assert!(found.steps <= 4 + 2);
}

/// FIELD_CASES 79: equal prompts say equal things, whoever sits between them.
#[test]
fn equal_prompts_in_a_batch_say_the_same() {
    let cases: Vec<_> = [1, 2, 3, 4, 5, 6, 1].iter().map(|&t| case(&[t, 7, 9], 20)).collect();
    let found = run(&cases, FakeSizes { seats: 8, max_sequence: 64, pages: 64, chunk: 64 }, 8, |_| ());
    assert_eq!(found.results[0].output_ids, found.results[6].output_ids);
}

/// FIELD_CASES 139: cancelled before anything ran, by its channel.
#[test]
fn a_cancel_before_the_first_step_gives_one_terminal_chunk() {
    let mut rank = rank(Arc::new(letters()), AMPLE, |_| ());
    let channel = StreamChannel::new();
    let sequence = rank.sequence(Seed { stream: Some(channel.attach().unwrap()), ..seed(0, &case(&[1, 2], 5)) });
    channel.cancel();
    let (results, _) = Dispatch::new(
        &mut rank,
        Chunks { alone: 8, mixed: 8 },
        &AtomicBool::new(false),
        VecDeque::from([sequence]),
        Instant::now(),
    )
    .run(|_| ());
    assert_eq!((results[0].finish_reason, results[0].output_ids.len()), (FinishReason::Cancelled, 0));
    let last = channel.try_pop().unwrap();
    assert!(last.finished && last.reason == FinishReason::Cancelled && channel.try_pop().is_none());
}

/// FIELD_CASES 140: a cancel inside a long prefill takes effect at the next chunk, and its pages are free.
#[test]
fn a_cancel_inside_a_long_prefill_ends_it_at_the_next_step() {
    let mut rank = rank(Arc::new(letters()), FakeSizes { chunk: 2, ..AMPLE }, |_| ());
    let channel = StreamChannel::new();
    let sequence = rank.sequence(Seed { stream: Some(channel.attach().unwrap()), ..seed(0, &case(&[1; 100], 5)) });
    let Admission::Admitted(resident) = rank.admit(sequence) else { panic!("not admitted") };
    let plan = StepPlan { prefill: vec![(resident, 2)], decode: Vec::new() };
    let mut result = StepResult::default();
    rank.step(&plan, &mut result).unwrap();
    assert_eq!((result.prefill_rows, rank.pending(resident).unwrap()), (2, 98));
    channel.cancel();
    result.clear();
    rank.step(&plan, &mut result).unwrap();
    assert_eq!((result.prefill_rows, result.finished.len()), (0, 1));
    assert_eq!(result.finished[0].1.finish_reason, FinishReason::Cancelled);
    assert_eq!(rank.metrics().pages_free, rank.metrics().pages_total);
    assert_eq!(rank.step(&plan, &mut result).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn plans_that_make_no_sense_are_refused_and_change_nothing() {
    let mut rank = rank(Arc::new(letters()), AMPLE, |_| ());
    let sequence = rank.sequence(seed(0, &case(&[1, 2, 3], 5)));
    let Admission::Admitted(resident) = rank.admit(sequence) else { panic!("not admitted") };
    let mut result = StepResult::default();
    let mut refused = |plan: StepPlan, status: Status| {
        assert_eq!(rank.step(&plan, &mut result).unwrap_err().status(), status);
        assert_eq!(rank.pending(resident).unwrap(), 3);
    };
    let stale = ResidentRef { epoch: resident.epoch + 1, ..resident };
    refused(StepPlan { prefill: vec![], decode: vec![resident] }, Status::State);
    refused(StepPlan { prefill: vec![(stale, 1)], decode: vec![] }, Status::InvalidArgument);
    refused(StepPlan { prefill: vec![(ResidentRef { slot: 9, epoch: 1 }, 1)], decode: vec![] }, Status::InvalidArgument);
    refused(StepPlan { prefill: vec![(resident, 1), (resident, 1)], decode: vec![] }, Status::InvalidArgument);
    refused(StepPlan { prefill: vec![(resident, 0)], decode: vec![] }, Status::InvalidArgument);
}
