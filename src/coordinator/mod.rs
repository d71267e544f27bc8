//! The runtime coordinator: configuration, requests, responses, and the control plane over the ranks.
//!
//! Owns: the validated plan, the ranks of this process, who runs when. Never: arithmetic, pages, or text beyond preparing prompts.
//!
//! A coordinator runs one dispatch at a time, on the caller's thread; an overlapping call gets BUSY and changes nothing. What only
//! reads the model (counting tokens, limits, metrics) is free at any time.

mod boundary;
mod config;
mod device;
mod dispatch;
pub mod json;
mod plan;
mod prepare;
mod request;
mod response;
mod schedule;
mod stepped;
mod system_prompt;

pub use boundary::{AdmitDecision, BoundaryHook, GenerationBoundary, materialize};
pub use config::{Config, ContextCacheConfig, Device, KvBudget, LaunchMode, LoadProgress, ParallelConfig, TemplateOverride};
pub use prepare::render_chat;
pub use request::{CommitPolicy, Input, Request, Sequence, SequenceOptions};
pub use response::{Response, Timings};
pub use stepped::{AdmissionResult, StepView, SteppedExecution};
pub use system_prompt::SavedPrompt;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::artifacts::{LoadOptions, ModelArtifacts, ModelInfo};
use crate::backend::{Backend, ExecutorLimits, KvType};
use crate::cache::{CacheMetrics, CachePlan, CacheRequest};
use crate::decoding::LazyGuideCompiler;
use crate::error::{Error, Result};
use crate::rank::{RankLimits, RankMetrics, RankRuntime, RankSizes, Seed, StreamProducer};
use dispatch::Dispatch;
use plan::Plan;
use prepare::Bounds;
use schedule::Chunks;
use system_prompt::SystemPrompts;

const DEFAULT_MAX_BATCH: usize = 8;
const DEFAULT_PAGE_TOKENS: usize = 32;
const DEFAULT_PREFILL_CHUNK: usize = 256;
const DEFAULT_MIXED_PREFILL_CHUNK: usize = 32;

/// How a request is dispatched.
#[derive(Clone, Copy, Debug, Default)]
pub struct DispatchOptions {
    /// Fill [`Response::timings`].
    pub profiling: bool,
    /// A `cudaStream_t`; 0 is the rank's own. The CPU ignores it.
    pub stream: usize,
}

/// What a coordinator can hold. Effective values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub rank: RankLimits,
    /// What the model was trained for, in tokens.
    pub context_length: usize,
    pub vocab_size: usize,
    /// Prompt tokens per step while nobody decodes.
    pub prefill_chunk: usize,
    /// Prompt tokens per step beside residents that decode.
    pub mixed_prefill_chunk: usize,
    /// Bytes of weights in the device's layout.
    pub weight_bytes: u64,
}

/// See the module's documentation.
pub struct RuntimeCoordinator {
    plan: Plan,
    artifacts: Arc<ModelArtifacts>,
    backend_description: String,
    limits: Limits,
    chunks: Chunks,
    bounds: Bounds,
    /// `None` while a stepped execution has it.
    rank: Mutex<Option<Box<RankRuntime>>>,
    open: Mutex<Weak<SteppedExecution>>,
    system_prompts: Mutex<SystemPrompts>,
    guides: LazyGuideCompiler,
    /// As of the last step: readable while a dispatch runs.
    metrics: Mutex<RankMetrics>,
    cache_metrics: Mutex<CacheMetrics>,
    response: Mutex<Option<Response>>,
    succeeded: AtomicBool,
    stopping: AtomicBool,
    /// A panic left the rank in an unknown state.
    broken: AtomicBool,
}

impl RuntimeCoordinator {
    /// Validates `config`, loads the model (or takes the artifacts given), and makes the rank.
    ///
    /// Errors name the field, the file or the tensor; a failure leaves nothing behind.
    pub fn new(config: Config) -> Result<Self> {
        let plan = Plan::new(&config)?;
        let sizes = Sizes::new(&config)?;
        // One rank, inline: the plan has made sure of it.
        let backend = device::open(&config, plan.local_ranks.first().copied().unwrap_or(0))?;
        let artifacts = load(&config, &*backend)?;
        let packed = artifacts.packed_for(&*backend, config.load_progress.as_ref())?;
        let decoder = artifacts.decoder();
        let context_length = artifacts.info().context_length;
        let max_sequence = match config.max_sequence_length {
            0 => context_length,
            length => length,
        };
        if max_sequence > context_length {
            tracing::warn!(max_sequence, context_length, "maximum sequence length is above the length the model was trained for");
        }
        let groups = &decoder.program().kv_groups;
        let cache = CachePlan::new(
            groups,
            &CacheRequest {
                seats: sizes.max_batch,
                max_sequence,
                page_tokens: sizes.page_tokens,
                chunk: sizes.prefill_chunk.max(sizes.mixed_prefill_chunk),
                kv_type: sizes.kv_type,
                budget_bytes: sizes.kv_budget(config.kv_budget, backend.free_memory())?,
            },
        )?;
        if cache.max_sequence < max_sequence {
            tracing::warn!(wanted = max_sequence, effective = cache.max_sequence, "the KV budget lowers the longest sequence");
        }
        // A step holds a chunk alone, or one row per decoding resident and a mixed chunk.
        let max_rows = sizes.prefill_chunk.max(sizes.mixed_prefill_chunk + cache.seats);
        let executor = backend.executor(
            decoder.program().clone(),
            packed.weights.clone(),
            packed.vectors.clone(),
            &ExecutorLimits {
                max_rows,
                max_outputs: cache.seats,
                seats: cache.seats,
                page_tokens: cache.page_tokens,
                pages_per_seat: cache.pages_per_seat,
                group_pages: cache.group_pages.clone(),
                kv_type: sizes.kv_type,
                sampled_vocab: artifacts.sampled_vocab(),
            },
        )?;
        let rank = RankRuntime::new(
            executor,
            artifacts.tokenizer().clone(),
            groups,
            &cache,
            RankSizes { max_rows, max_records: sizes.max_records },
        )?;
        let limits = Limits {
            rank: rank.limits(),
            context_length,
            vocab_size: artifacts.info().vocab_size,
            prefill_chunk: sizes.prefill_chunk,
            mixed_prefill_chunk: sizes.mixed_prefill_chunk,
            weight_bytes: packed.bytes(),
        };
        let backend_description = backend.description();
        tracing::info!(backend = %backend_description, ?limits, "coordinator ready");
        Ok(RuntimeCoordinator {
            plan,
            artifacts,
            backend_description,
            limits,
            chunks: Chunks { alone: sizes.prefill_chunk as u32, mixed: sizes.mixed_prefill_chunk as u32 },
            bounds: Bounds {
                capacity: limits.rank.max_sequence,
                context_cache: config.context_cache.enabled,
                taps: rank.gives_hidden_states(),
            },
            metrics: Mutex::new(rank.metrics()),
            cache_metrics: Mutex::default(),
            rank: Mutex::new(Some(Box::new(rank))),
            open: Mutex::new(Weak::new()),
            system_prompts: Mutex::default(),
            guides: LazyGuideCompiler::default(),
            response: Mutex::new(None),
            succeeded: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        })
    }

    /// Runs `request` to its end on the calling thread; then [`take_rank_response`](Self::take_rank_response) has the results.
    ///
    /// `hook`, where given, is called at every step boundary and once after the loop. A request that is refused (bad settings, a
    /// prompt that cannot fit) runs nothing and leaves nothing to take. Where a sequence fails in a step its error is returned, and
    /// the response still holds every sequence's result.
    /// Errors: BUSY, STATE after shut-down, INVALID_ARGUMENT, TEMPLATE, TOKENIZER, CONTEXT_FULL, and what a step reports.
    pub fn dispatch_request(&self, request: &Request, options: &DispatchOptions, hook: Option<BoundaryHook<'_>>) -> Result<()> {
        let started = Instant::now();
        let mut rank = self.lock_rank()?;
        self.check_usable()?;
        self.succeeded.store(false, Ordering::Release);
        *self.response.lock() = None;
        rank.follow(options.stream)?;
        let outcome = self.run(&mut rank, request, options, hook, started);
        self.succeeded.store(outcome.is_ok(), Ordering::Release);
        outcome
    }

    fn run(
        &self,
        rank: &mut RankRuntime,
        request: &Request,
        options: &DispatchOptions,
        hook: Option<BoundaryHook<'_>>,
        started: Instant,
    ) -> Result<()> {
        for prompt in system_prompt::asked_for(request) {
            self.save_prompt(rank, &prompt)?;
        }
        let sequences: VecDeque<_> = self.seeds(request)?.into_iter().map(|seed| rank.sequence(seed)).collect();
        let prepared = started.elapsed();
        let mut indices: BTreeSet<u32> = (0..sequences.len() as u32).collect();
        let poison = Poison(&self.broken);
        let dispatch = Dispatch::new(rank, self.chunks, &self.stopping, sequences, started);
        let (results, timings) = match hook {
            None => dispatch.run(|_| ()),
            Some(hook) => dispatch.run(|dispatch| {
                hook(&mut GenerationBoundary { coordinator: self, dispatch, indices: &mut indices });
            }),
        };
        std::mem::forget(poison);
        self.publish_metrics(rank);
        let outcome = dispatch::first_error(&results);
        let timings = options.profiling.then_some(Timings { prepare: prepared, ..timings });
        *self.response.lock() = Some(Response { sequences: results, timings });
        outcome
    }

    /// Opens a stepped execution: prepares `request`, runs its prompts, and holds the coordinator until the execution ends.
    ///
    /// Errors: those of [`dispatch_request`](Self::dispatch_request), INVALID_ARGUMENT for request id 0, and NO_CAPACITY where not
    /// every sequence finds a seat.
    pub fn begin_stepped(
        self: &Arc<Self>,
        request: &Request,
        request_id: u64,
        options: &DispatchOptions,
    ) -> Result<Arc<SteppedExecution>> {
        let mut slot = self.rank.try_lock().ok_or_else(busy)?;
        self.check_usable()?;
        self.succeeded.store(false, Ordering::Release);
        slot.as_mut().ok_or_else(busy)?.follow(options.stream)?;
        let rank = slot.take().ok_or_else(busy)?;
        let poison = Poison(&self.broken);
        let outcome = SteppedExecution::begin(self, rank, self.chunks, request, request_id, options.profiling);
        std::mem::forget(poison);
        match outcome {
            Ok(execution) => {
                let execution = Arc::new(execution);
                *self.open.lock() = Arc::downgrade(&execution);
                self.succeeded.store(true, Ordering::Release);
                Ok(execution)
            }
            Err((rank, error)) => {
                *slot = Some(rank);
                Err(error)
            }
        }
    }

    /// Computes a system prompt's keys and values and keeps them until it is removed. `prompt` is the system message's text, or its
    /// rendered form. Saved or empty already: nothing to do.
    pub fn gen_and_save_system_prompt_kv_cache(&self, prompt: &str, stream: usize) -> Result<()> {
        let mut rank = self.lock_rank()?;
        self.check_usable()?;
        rank.follow(stream)?;
        self.save_prompt(&mut rank, prompt)
    }

    fn save_prompt(&self, rank: &mut RankRuntime, prompt: &str) -> Result<()> {
        let poison = Poison(&self.broken);
        let outcome = self.system_prompts.lock().save(&self.artifacts, rank, self.chunks, prompt, &self.stopping);
        std::mem::forget(poison);
        self.publish_metrics(rank);
        outcome
    }

    pub fn saved_system_prompts(&self) -> Vec<SavedPrompt> {
        self.system_prompts.lock().list()
    }

    /// Lets a saved prompt go. Errors: BUSY, NOT_FOUND where it is not saved.
    pub fn remove_system_prompt(&self, prompt: &str) -> Result<()> {
        let mut rank = self.lock_rank()?;
        let removed = self.system_prompts.lock().remove(&mut rank, prompt);
        self.publish_metrics(&rank);
        match removed {
            true => Ok(()),
            false => Err(Error::not_found(format!("system prompt of {} bytes is not saved", prompt.len()))),
        }
    }

    fn publish_metrics(&self, rank: &RankRuntime) {
        *self.metrics.lock() = rank.metrics();
        *self.cache_metrics.lock() = rank.context_metrics();
    }

    /// A stepped execution is over.
    fn give_back(&self, rank: Box<RankRuntime>) {
        self.publish_metrics(&rank);
        *self.rank.lock() = Some(rank);
    }

    /// Seeds of every sequence with their streams claimed; none is claimed where one is refused.
    fn seeds(&self, request: &Request) -> Result<Vec<Seed>> {
        let mut seeds = prepare::seeds(&self.artifacts, request, self.bounds, &self.guides)?;
        for (seed, stream) in seeds.iter_mut().zip(attach(request)?) {
            seed.stream = stream;
        }
        Ok(seeds)
    }

    fn lock_rank(&self) -> Result<MappedMutexGuard<'_, RankRuntime>> {
        let guard = self.rank.try_lock().ok_or_else(busy)?;
        MutexGuard::try_map(guard, |rank| rank.as_deref_mut()).map_err(|_| busy())
    }

    /// Moves the response of the latest dispatch out.
    ///
    /// Errors: INVALID_ARGUMENT where `rank` is not of this process, BUSY while a dispatch runs, STATE where there is nothing to
    /// take: nothing was dispatched, the dispatch was refused, or the response has been taken.
    pub fn take_rank_response(&self, rank: i32) -> Result<Response> {
        if !self.plan.owns(rank) {
            return Err(Error::invalid(format!("rank {rank}, expected a local rank ({:?})", self.plan.local_ranks)));
        }
        let _idle = self.lock_rank()?;
        self.response
            .lock()
            .take()
            .ok_or_else(|| Error::state("no response to take: nothing was dispatched, or it has been taken"))
    }

    /// Tokens of each sequence's prompt: exactly those inference feeds.
    pub fn count_prompt_tokens(&self, request: &Request) -> Result<Vec<i32>> {
        Ok(prepare::prompts(&self.artifacts, request, prepare::MOST_TEXT)?.iter().map(|prompt| prompt.len() as i32).collect())
    }

    /// Captures decode steps of every batch size for replay. `false`: the device cannot, and steps run as before. On the CPU there is
    /// nothing to capture: `true`.
    pub fn capture_decoding_cuda_graph(&self, stream: usize) -> Result<bool> {
        let mut rank = self.lock_rank()?;
        self.check_usable()?;
        rank.follow(stream)?;
        rank.capture()
    }

    /// Ranks this plan spans.
    pub fn world_size(&self) -> i32 {
        self.plan.world_size
    }

    pub fn owns_global_rank(&self, rank: i32) -> bool {
        self.plan.owns(rank)
    }

    /// Whether the latest dispatch attempt, refused ones included, succeeded on every local rank. False before the first.
    pub fn local_ranks_succeeded(&self) -> bool {
        self.succeeded.load(Ordering::Acquire)
    }

    /// Whether a dispatch can honour a boundary hook: its one rank runs inline.
    pub fn supports_boundary_scheduling(&self) -> bool {
        true
    }

    /// Whether [`begin_stepped`](Self::begin_stepped) can succeed for this deployment.
    pub fn supports_stepped_execution(&self) -> bool {
        true
    }

    pub fn artifacts(&self) -> &Arc<ModelArtifacts> {
        &self.artifacts
    }

    pub fn model_info(&self) -> &ModelInfo {
        self.artifacts.info()
    }

    /// The device and how it is used, for people.
    pub fn backend_description(&self) -> &str {
        &self.backend_description
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Counters as of the last dispatch or execution that ended. Never in the way of one that runs or begins.
    pub fn metrics(&self) -> RankMetrics {
        *self.metrics.lock()
    }

    /// Counters of the context cache, as [`metrics`](Self::metrics) has the rank's.
    pub fn context_cache_metrics(&self) -> CacheMetrics {
        *self.cache_metrics.lock()
    }

    /// Cancels a running dispatch at its next step and refuses all later ones with STATE, without waiting.
    pub fn begin_shut_down(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Cancels a running dispatch and waits for it to end, aborts an open stepped execution, and refuses all later ones with STATE.
    /// Not from within a callback: [`begin_shut_down`](Self::begin_shut_down) is for those.
    pub fn shut_down(&self) {
        self.begin_shut_down();
        let open = self.open.lock().upgrade();
        if let Some(execution) = open {
            execution.abort();
        }
        drop(self.rank.lock());
    }

    fn check_usable(&self) -> Result<()> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Error::state("the coordinator has been shut down"));
        }
        if self.broken.load(Ordering::Acquire) {
            return Err(Error::internal("the coordinator is unusable after an internal error; create a new one"));
        }
        Ok(())
    }
}

/// The one seed of a joiner, under its index. Its stream is free again where there is not exactly one.
fn single_sequence(mut seeds: Vec<Seed>, index: u32) -> Result<Seed> {
    match (seeds.pop(), seeds.len()) {
        (Some(seed), 0) => Ok(Seed { index, ..seed }),
        (last, others) => {
            seeds.into_iter().chain(last).filter_map(|seed| seed.stream).for_each(StreamProducer::release);
            Err(Error::invalid(format!("a joining request has {} sequences, expected one", others + 1)))
        }
    }
}

fn busy() -> Error {
    Error::busy("the coordinator is running a request")
}

/// Sets its flag when dropped by a panic; forgotten otherwise.
struct Poison<'a>(&'a AtomicBool);

impl Drop for Poison<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Claims every sequence's channel, or none.
fn attach(request: &Request) -> Result<Vec<Option<StreamProducer>>> {
    let mut claimed = Vec::with_capacity(request.sequences.len());
    for (index, sequence) in request.sequences.iter().enumerate() {
        match sequence.stream.as_ref().map(|channel| channel.attach()).transpose() {
            Ok(producer) => claimed.push(producer),
            Err(error) => {
                claimed.into_iter().flatten().for_each(StreamProducer::release);
                return Err(error.context(format!("sequence {index}")));
            }
        }
    }
    Ok(claimed)
}

fn load(config: &Config, backend: &dyn Backend) -> Result<Arc<ModelArtifacts>> {
    if let Some(artifacts) = &config.artifacts {
        let same = config.engine_dir.as_os_str().is_empty() || artifacts.is_from(&config.engine_dir);
        if !same {
            return Err(Error::invalid(format!(
                "engineDir: {}, expected the path of the artifacts given ({})",
                config.engine_dir.display(),
                artifacts.path().display()
            )));
        }
        return Ok(artifacts.clone());
    }
    if config.engine_dir.as_os_str().is_empty() {
        return Err(Error::invalid("engineDir: empty, expected the path of a model"));
    }
    let options = LoadOptions {
        path: config.engine_dir.clone(),
        checkpoint_dir: config.checkpoint_dir.clone(),
        weights_access: config.weights_access,
        chat_template: config.chat_template.clone(),
        vocabulary_only: false,
    };
    ModelArtifacts::load_for(&options, backend, config.load_progress.as_ref())
}

/// The configuration's sizes with defaults filled in.
struct Sizes {
    max_batch: usize,
    page_tokens: usize,
    prefill_chunk: usize,
    mixed_prefill_chunk: usize,
    kv_type: KvType,
    max_records: usize,
}

impl Sizes {
    fn new(config: &Config) -> Result<Self> {
        let or = |value: usize, default: usize| if value == 0 { default } else { value };
        let page_tokens = or(config.page_tokens, DEFAULT_PAGE_TOKENS);
        if !matches!(page_tokens, 16 | 32 | 64) {
            return Err(Error::invalid(format!("pageTokens: {page_tokens}, expected 16, 32 or 64")));
        }
        within("maxSequenceLength", config.max_sequence_length, 2, MAX_LENGTH)?;
        within("maxBatch", config.max_batch, 1, MAX_BATCH)?;
        within("prefillChunk", config.prefill_chunk, 1, MAX_CHUNK)?;
        within("mixedPrefillChunk", config.mixed_prefill_chunk, 1, MAX_CHUNK)?;
        Ok(Sizes {
            max_batch: or(config.max_batch, DEFAULT_MAX_BATCH),
            page_tokens,
            prefill_chunk: or(config.prefill_chunk, DEFAULT_PREFILL_CHUNK),
            mixed_prefill_chunk: or(config.mixed_prefill_chunk, DEFAULT_MIXED_PREFILL_CHUNK),
            kv_type: config.kv_type.unwrap_or(KvType::F16),
            max_records: usize::try_from(config.context_cache.max_records)
                .map_err(|_| Error::invalid(format!("maxRecords: {}, expected 0 or more", config.context_cache.max_records)))?,
        })
    }

    /// `available`: free bytes of the device, the weights being there already.
    fn kv_budget(&self, budget: KvBudget, available: Option<u64>) -> Result<u64> {
        let available = available.unwrap_or(FALLBACK_MEMORY);
        match budget {
            KvBudget::Bytes(bytes) => Ok(bytes),
            KvBudget::Auto => Ok(available / 2),
            KvBudget::Fraction(fraction) if fraction > 0.0 && fraction <= 1.0 => Ok((available as f64 * fraction) as u64),
            KvBudget::Fraction(fraction) => {
                Err(Error::invalid(format!("KV budget fraction: {fraction}, expected a number above 0 and at most 1")))
            }
        }
    }
}

/// Where the system does not say how much memory it has.
const FALLBACK_MEMORY: u64 = 4 << 30;
const MAX_LENGTH: usize = 1 << 30;
const MAX_BATCH: usize = 4096;
const MAX_CHUNK: usize = 1 << 16;

/// 0 stands for the default.
fn within(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if value == 0 || (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(Error::invalid(format!("{name}: {value}, expected 0 (the default) or {least}..={most}")))
    }
}
