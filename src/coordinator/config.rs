//! What a coordinator is made of: the deployment's configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::artifacts::ModelArtifacts;
pub use crate::artifacts::{LoadProgress, TemplateOverride};
use crate::backend::KvType;
use crate::weights::Access;

/// Where ranks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// CUDA where this build and machine have it, the CPU otherwise.
    #[default]
    Auto,
    Cpu,
    Cuda,
}

/// How ranks of one deployment are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchMode {
    #[default]
    Thread,
    Mpi,
}

/// Tensor-parallel plan. `devices` empty means device r for rank r.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelConfig {
    pub tensor_parallel_size: i32,
    pub launch_mode: LaunchMode,
    pub devices: Vec<i32>,
}

impl Default for ParallelConfig {
    fn default() -> Self {
        ParallelConfig { tensor_parallel_size: 1, launch_mode: LaunchMode::Thread, devices: Vec::new() }
    }
}

/// How much memory the KV pool may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum KvBudget {
    /// Every seat can hold the longest sequence, within half of the memory that is available at creation.
    #[default]
    Auto,
    Bytes(u64),
    /// Of the device's available memory at creation, in (0, 1].
    Fraction(f64),
}

/// Whether finished pages are remembered for later requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextCacheConfig {
    pub enabled: bool,
    /// Most sequences that are remembered; the longest unused goes first.
    pub max_records: i32,
}

impl Default for ContextCacheConfig {
    fn default() -> Self {
        ContextCacheConfig { enabled: false, max_records: 1024 }
    }
}

/// Configuration of a [`RuntimeCoordinator`](super::RuntimeCoordinator). `Default` is complete but for `engine_dir`.
#[derive(Clone, Default)]
pub struct Config {
    /// The model as users have it: a Hugging Face directory, a `.gguf` file, or a directory that holds one.
    pub engine_dir: PathBuf,
    /// Weights are read from here instead; configuration and tokenizer still come from `engine_dir`.
    pub checkpoint_dir: Option<PathBuf>,
    pub parallel: ParallelConfig,
    /// Ranks of this process; empty means all.
    pub local_ranks: Vec<i32>,
    /// Device of a local rank, where it is not the plan's.
    pub local_rank_devices: BTreeMap<i32, i32>,
    /// A model that is loaded already. Its path must match `engine_dir` where both are set.
    pub artifacts: Option<Arc<ModelArtifacts>>,
    pub device: Device,
    /// 0: one per core this process may run on.
    pub cpu_threads: usize,
    /// Sequences that can be resident at once; 0: 8.
    pub max_batch: usize,
    /// Longest sequence, prompt and output, in tokens; 0: the model's context length. Lowered to what the KV budget holds.
    pub max_sequence_length: usize,
    pub kv_budget: KvBudget,
    /// Unset: f16.
    pub kv_type: Option<KvType>,
    /// Tokens per KV page, a power of two in 16..=64; 0: 32.
    pub page_tokens: usize,
    /// Most prompt tokens in one step while nobody decodes; 0: 256.
    pub prefill_chunk: usize,
    /// Most prompt tokens in a step that also decodes, so that a long joiner does not stall residents; 0: 32.
    pub mixed_prefill_chunk: usize,
    pub context_cache: ContextCacheConfig,
    pub weights_access: Access,
    pub chat_template: Option<TemplateOverride>,
    pub load_progress: Option<LoadProgress>,
}
