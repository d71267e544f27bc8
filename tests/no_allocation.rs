//! DECISIONS 32: once its buffers are in place, decoding allocates nothing, on any thread of the process.
//!
//! One test in a binary of its own: whatever the process allocates while the count runs is the library's or the host code's below.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tactus::coordinator::{Config, DispatchOptions, GenerationBoundary, Input, Request, RuntimeCoordinator, Sequence};
use tactus::coordinator::{ContextCacheConfig, SequenceOptions};
use tactus::rank::{StreamChannel, TokenCallback};

/// Counts what all threads allocate while it is armed, and remembers where the first came from.
struct Counting;

static ARMED: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static FIRST: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// Set while this thread records an allocation, which allocates.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

fn note() {
    if !ARMED.load(Ordering::SeqCst) || RECORDING.get() {
        return;
    }
    if COUNT.fetch_add(1, Ordering::SeqCst) == 0 {
        RECORDING.set(true);
        let trace = Backtrace::force_capture().to_string();
        *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = Some(trace);
        RECORDING.set(false);
    }
}

// SAFETY: everything is the system allocator's; counting touches atomics only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's contract.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn arm() {
    COUNT.store(0, Ordering::SeqCst);
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    ARMED.store(true, Ordering::SeqCst);
}

/// Allocations since [`arm`], and where the first came from.
fn disarm() -> (usize, Option<String>) {
    ARMED.store(false, Ordering::SeqCst);
    (COUNT.load(Ordering::SeqCst), FIRST.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Ticks before the count: buffers that a stream hands round have been through every place by then.
const WARM: usize = 40;
/// Counted ticks; more than 12 pages of 16 tokens.
const COUNTED: usize = 208;

fn coordinator(model: &str, context_cache: bool) -> Arc<RuntimeCoordinator> {
    let config = Config {
        engine_dir: model.into(),
        cpu_threads: 2,
        max_batch: 4,
        max_sequence_length: 400,
        page_tokens: 16,
        context_cache: ContextCacheConfig { enabled: context_cache, max_records: 16 },
        ..Config::default()
    };
    Arc::new(RuntimeCoordinator::new(config).unwrap())
}

/// Four sequences of different lengths: greedy; all the cuts; penalties and a bias; a small top-k with a stop string.
fn sequences(channels: &[Arc<StreamChannel>]) -> Vec<Sequence> {
    let base = SequenceOptions {
        max_generate_length: Some((WARM + COUNTED + 20) as i64),
        ignore_eos: Some(true),
        num_logprobs: Some(5),
        seed: Some(3),
        ..Default::default()
    };
    let options = [
        SequenceOptions { temperature: Some(0.0), ..base.clone() },
        SequenceOptions { temperature: Some(1.1), top_p: Some(0.95), min_p: Some(1e-3), ..base.clone() },
        SequenceOptions {
            temperature: Some(0.9),
            repetition_penalty: Some(1.1),
            presence_penalty: Some(0.2),
            frequency_penalty: Some(0.1),
            logit_bias: Some(vec![(7, -100.0), (9, 2.0)]),
            ..base.clone()
        },
        SequenceOptions { temperature: Some(1.0), top_k: Some(20), stop: Some(vec!["\u{1}\u{2}\u{3}".into()]), ..base },
    ];
    let sequence = |(index, options): (usize, SequenceOptions)| Sequence {
        options,
        stream: Some(channels[index].clone()),
        ..Sequence::new(Input::Ids((0..20 + 9 * index as i32).map(|i| 5 + (i * 31 + index as i32) % 80).collect()))
    };
    options.into_iter().enumerate().map(sequence).collect()
}

/// Takes every chunk as it comes and hands its memory back, as a steady consumer does.
fn consumer(channels: Vec<Arc<StreamChannel>>, more: impl Fn() + Send + Sync + 'static) -> TokenCallback {
    Arc::new(move |info| {
        let channel = &channels[info.sequence as usize];
        while let Some(chunk) = channel.try_pop() {
            assert_eq!(chunk.logprobs.len(), chunk.token_ids.len());
            channel.recycle(chunk);
        }
        more();
        true
    })
}

/// Allocations over [`COUNTED`] ticks of a dispatch; `more` runs with every token.
fn dispatched(whole: &RuntimeCoordinator, more: impl Fn() + Send + Sync + 'static) -> (usize, Option<String>) {
    let channels: Vec<_> = (0..4).map(|_| StreamChannel::new()).collect();
    let request =
        Request { sequences: sequences(&channels), on_token: Some(consumer(channels.clone(), more)), ..Request::default() };
    let (mut ticks, mut found) = (0, None);
    let mut hook = |boundary: &mut GenerationBoundary<'_, '_>| {
        ticks += 1;
        if ticks == WARM {
            assert_eq!(boundary.resident_count(), 4);
            arm();
        }
        if ticks == WARM + COUNTED {
            found = Some(disarm());
            assert_eq!(boundary.resident_count(), 4, "all four decode in every counted tick");
        }
    };
    whole.dispatch_request(&request, &DispatchOptions { profiling: true, stream: 0 }, Some(&mut hook)).unwrap();
    assert!(channels.iter().all(|channel| channel.is_finished()));
    found.expect("the dispatch is long enough")
}

/// As [`dispatched`], for an execution that the host drives.
fn stepped(whole: &Arc<RuntimeCoordinator>) -> (usize, Option<String>) {
    let channels: Vec<_> = (0..4).map(|_| StreamChannel::new()).collect();
    let request =
        Request { sequences: sequences(&channels), on_token: Some(consumer(channels.clone(), || ())), ..Request::default() };
    let execution = whole.begin_stepped(&request, 1, &DispatchOptions::default()).unwrap();
    let residents = execution.residents().unwrap();
    let ticks = |n: usize| {
        for _ in 0..n {
            execution.decode(&residents).unwrap();
            assert_eq!(execution.last_step().unwrap().decode_rows, 4);
        }
    };
    ticks(WARM);
    arm();
    ticks(COUNTED);
    let found = disarm();
    execution.abort();
    found
}

fn nothing(what: &str, (count, first): (usize, Option<String>)) {
    assert_eq!(count, 0, "{what}: {count} allocations over {COUNTED} ticks, the first at\n{}", first.unwrap_or_default());
}

#[test]
fn steady_decode_allocates_nothing_on_any_thread() {
    let tiny = coordinator("tests/data/gguf/llama-f32.gguf", false);
    // The counter counts: on this thread, on another, and in the very place a dispatch is counted.
    arm();
    std::hint::black_box(Box::new(1));
    assert_eq!(disarm().0, 1);
    arm();
    std::thread::spawn(|| std::hint::black_box(vec![1u8; 100]).len()).join().unwrap();
    assert!(disarm().0 > 1);
    let (count, first) = dispatched(&tiny, || drop(std::hint::black_box(Box::new(1))));
    assert!(count >= 4 * COUNTED, "{count} allocations, expected one for each token of the callback");
    assert!(first.unwrap().contains("no_allocation"), "the first allocation's place is told");

    nothing("tiny llama, dispatch", dispatched(&tiny, || ()));
    nothing("tiny llama, stepped", stepped(&tiny));
    // Sliding windows: pages are given back and taken again.
    let sliding = coordinator("tests/data/gguf/gemma3-f32.gguf", false);
    nothing("tiny gemma3, dispatch", dispatched(&sliding, || ()));
    let quantised = coordinator("tests/data/gguf/llama-q4_k.gguf", false);
    nothing("tiny llama in Q4_K, dispatch", dispatched(&quantised, || ()));
    // The context cache makes a record of every full page; that is all it may allocate.
    let caching = coordinator("tests/data/gguf/llama-f32.gguf", true);
    let (count, first) = dispatched(&caching, || ());
    let pages = 4 * (COUNTED / 16 + 1);
    assert!(count <= 8 * pages, "{count} allocations for {pages} pages, the first at\n{}", first.unwrap_or_default());

    let real = concat!(env!("CARGO_MANIFEST_DIR"), "/target/models/SmolLM2-135M-Instruct.Q4_1.gguf");
    match Path::new(real).exists() {
        true => nothing("SmolLM2, dispatch", dispatched(&coordinator(real, false), || ())),
        false => eprintln!("skipped: {real} is not there; `make models` fetches it"),
    }
}
