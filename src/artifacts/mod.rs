//! A loaded model that coordinators share: decoder, weights, tokenizer, chat templates, limits.
//!
//! Owns: putting a model together from its files, which ids end a sequence, what the model recommends for sampling, and its weights
//! in every device layout that was asked for. Never: requests, or anything that changes while tokens are generated. All of it is
//! immutable after loading but for the packed layouts, and safe to share between threads.

mod info;
mod limits;
mod load;
mod pack;

pub use info::ModelInfo;
pub use limits::GenerationDefaults;
pub use pack::PackedModel;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::model::{Binding, Decoder};
use crate::text::{ChatTemplate, Tokenizer};
use crate::weights::Access;
use pack::PackedLayouts;

/// Replaces the model's own chat template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateOverride {
    Text(String),
    File(PathBuf),
}

/// Called while weights load, with bytes done and bytes in all; `false` stops the load with CANCELLED. Runs on the loading thread.
pub type LoadProgress = Arc<dyn Fn(u64, u64) -> bool + Send + Sync>;

/// What to load, and how.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The model as users have it: a Hugging Face directory, a `.gguf` file, or a directory that holds one.
    pub path: PathBuf,
    /// Weights are read from here instead; configuration and tokenizer still come from `path`.
    pub checkpoint_dir: Option<PathBuf>,
    pub weights_access: Access,
    pub chat_template: Option<TemplateOverride>,
    /// Tokenizer and templates only: no weights are looked for, and nothing can be run.
    pub vocabulary_only: bool,
}

impl LoadOptions {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        LoadOptions { path: path.into(), ..LoadOptions::default() }
    }
}

/// See the module's documentation.
pub struct ModelArtifacts {
    path: PathBuf,
    tokenizer: Arc<Tokenizer>,
    /// A template that does not parse does not keep the model from loading.
    template: Result<ChatTemplate>,
    end_tokens: Vec<u32>,
    generation: GenerationDefaults,
    info: ModelInfo,
    decoder: Decoder,
    /// `None`: vocabulary only.
    binding: Option<Binding>,
    packed: PackedLayouts,
}

impl ModelArtifacts {
    /// Loads the model at `options.path`. Weights are found and checked, but not read before
    /// [`packed_for`](ModelArtifacts::packed_for).
    ///
    /// Errors: NOT_FOUND (no such path, a missing shard or tensor), IO, FORMAT (a malformed file, a wrong shape), UNSUPPORTED
    /// (architecture, stored type, scaling), TOKENIZER, INVALID_ARGUMENT (several models in one directory). All name the file.
    pub fn load(options: &LoadOptions) -> Result<Arc<Self>> {
        load::load(options, None).map(Arc::new)
    }

    /// As [`load`](ModelArtifacts::load) and [`packed_for`](ModelArtifacts::packed_for) together, which takes less time than one
    /// after the other: weights are packed while the tokenizer is made.
    pub fn load_for(options: &LoadOptions, backend: &dyn Backend, progress: Option<&LoadProgress>) -> Result<Arc<Self>> {
        load::load(options, Some(load::PackFor { backend, progress })).map(Arc::new)
    }

    /// The path it was loaded from, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `path` leads to the model this was loaded from.
    pub fn is_from(&self, path: &Path) -> bool {
        match (self.path.canonicalize(), path.canonicalize()) {
            (Ok(own), Ok(other)) => own == other,
            _ => self.path == path,
        }
    }

    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// The model's chat templates, or the one that was given in their place.
    ///
    /// Errors: TEMPLATE where there is none, or where it does not parse.
    pub fn chat_template(&self) -> Result<&ChatTemplate> {
        self.template.as_ref().map_err(Error::clone)
    }

    /// Ids that end a sequence, the tokenizer's own end-of-sequence first: those of tokenizer, `generation_config.json` and
    /// `config.json` together, and of GGUF metadata.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// What the model recommends for sampling.
    pub fn generation_defaults(&self) -> &GenerationDefaults {
        &self.generation
    }

    /// Ids at and above this are never drawn: the highest id with a piece, plus one. Heads are often padded wider.
    pub fn sampled_vocab(&self) -> usize {
        self.info.sampled_vocab
    }

    /// The program to run; empty where only the vocabulary was loaded.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The weights in `backend`'s layout. Each is read once; backends with the same layout share the result, which lives as long as
    /// these artifacts. `progress` counts bytes of stored tensors.
    ///
    /// Blocks while another thread packs the same layout. Errors: STATE where only the vocabulary was loaded, CANCELLED by
    /// `progress`, OUT_OF_MEMORY, and what the backend says of a weight.
    pub fn packed_for(&self, backend: &dyn Backend, progress: Option<&LoadProgress>) -> Result<Arc<PackedModel>> {
        let Some(binding) = &self.binding else {
            return Err(Error::state(format!(
                "{}: only its vocabulary was loaded, there are no weights to run",
                self.path.display()
            )));
        };
        self.packed.get(binding, backend, progress)
    }
}

impl std::fmt::Debug for ModelArtifacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelArtifacts").field("path", &self.path).field("info", &self.info).finish_non_exhaustive()
    }
}
