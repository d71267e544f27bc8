//! From files to artifacts, through either door.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::limits::EndTokens;
use super::pack::PackedLayouts;
use super::{GenerationDefaults, LoadOptions, LoadProgress, ModelArtifacts, ModelInfo, TemplateOverride};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::model::families::{self, GgufConfig};
use crate::model::names::Naming;
use crate::model::{Binding, Decoder, Family, Spec, Stored};
use crate::text::{ChatTemplate, GgufVocab, TemplateSources, Tokenizer, TokenizerConfig, on_deep_stack, on_deep_stack_beside};
use crate::weights::gguf::{Gguf, Metadata};
use crate::weights::safetensors::Checkpoint;
use crate::weights::{Access, ConfigReader, HfDirectory, ModelFiles, read_json_if_there};

/// The device whose layout the weights are packed in while the tokenizer is made.
pub(super) struct PackFor<'a> {
    pub backend: &'a dyn Backend,
    pub progress: Option<&'a LoadProgress>,
}

pub(super) fn load(options: &LoadOptions, pack: Option<PackFor<'_>>) -> Result<ModelArtifacts> {
    let artifacts = match ModelFiles::resolve(&options.path)? {
        ModelFiles::Gguf(file) => from_gguf(options, &file, pack)?,
        ModelFiles::HuggingFace(directory) => from_hf(options, &directory, pack)?,
    };
    let info = &artifacts.info;
    tracing::info!(path = %options.path.display(), architecture = %info.architecture, parameters = info.parameters, "model loaded");
    Ok(artifacts)
}

/// What the two doors give alike.
struct Parts {
    architecture: String,
    name: String,
    format: &'static str,
    context_length: usize,
    tokenizer: Tokenizer,
    /// The highest id with a piece, plus one.
    pieces: usize,
    templates: Result<TemplateSources>,
    end: EndTokens,
    generation: GenerationDefaults,
    runnable: Option<Runnable>,
}

const GGUF: &str = "gguf";
const SAFETENSORS: &str = "safetensors";

/// A decoder with its tensors.
struct Runnable {
    spec: Spec,
    decoder: Decoder,
    binding: Binding,
    files: Vec<PathBuf>,
    format: &'static str,
    packed: PackedLayouts,
}

fn from_hf(options: &LoadOptions, directory: &HfDirectory, pack: Option<PackFor<'_>>) -> Result<ModelArtifacts> {
    let dir = &directory.dir;
    let config_path = dir.join("config.json");
    let config = ConfigReader::new(&config_path, &directory.config)?;
    let weights = || {
        if options.vocabulary_only {
            return Ok(None);
        }
        let family = Family::of_hf(config)?;
        let spec = (family.spec_hf)(config)?;
        let weights = Weights::open(options.checkpoint_dir.as_deref().unwrap_or(dir), options.weights_access)?;
        weights.runnable(family, spec).map(Some)
    };
    // A tree of the JSON, then the tokenizer's own tables.
    let json = directory.tokenizer.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
    let (tokenizer, runnable, pack) = both(8 * json, || hf_tokenizer(directory), weights, pack)?;
    let runnable = runnable.map(|runnable| runnable.packed(pack)).transpose()?;

    let mut end = EndTokens::default();
    end.add(tokenizer.eos());
    let mut generation = GenerationDefaults::default();
    let path = dir.join("generation_config.json");
    if let Some(json) = &directory.generation_config {
        read_generation(&path, json, &mut end, &mut generation)?;
    }
    end.add_from(config)?;
    let text_config = config.opt_object("text_config", "text_config.")?;
    text_config.map_or(Ok(()), |text| end.add_from(text))?;

    let architectures = config.opt_array("architectures")?.unwrap_or_default();
    let architecture = architectures.first().and_then(Value::as_str).unwrap_or_default();
    let context_length = match &runnable {
        Some(runnable) => runnable.spec.context_length,
        None => text_config.unwrap_or(config).opt_usize("max_position_embeddings")?.unwrap_or(0),
    };
    assemble(
        options,
        Parts {
            architecture: architecture.to_owned(),
            name: file_name(dir),
            format: SAFETENSORS,
            context_length,
            pieces: tokenizer.len(),
            tokenizer,
            templates: TemplateSources::from_dir(dir, directory.tokenizer_config.as_ref()),
            end,
            generation,
            runnable,
        },
    )
}

fn hf_tokenizer(directory: &HfDirectory) -> Result<Tokenizer> {
    let Some(path) = &directory.tokenizer else {
        return Err(Error::not_found(format!("{}: no such file", directory.dir.join("tokenizer.json").display())));
    };
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    let read = || {
        let config = TokenizerConfig::from_json(directory.tokenizer_config.as_ref(), directory.special_tokens_map.as_ref())?;
        Tokenizer::from_json(&bytes, &config)
    };
    read().map_err(|e| e.context(directory.dir.display()))
}

fn from_gguf(options: &LoadOptions, path: &Path, pack: Option<PackFor<'_>>) -> Result<ModelArtifacts> {
    let file = Gguf::open(path, options.weights_access)?;
    let metadata = file.metadata();
    let architecture = families::architecture(&file)?;
    let weights = || {
        if options.vocabulary_only {
            return Ok(None);
        }
        let family = Family::of_gguf(&file)?;
        let read_spec = |stored: Stored| (family.spec_gguf)(&GgufConfig::new(&file, family, stored)?);
        let runnable = match &options.checkpoint_dir {
            None => Runnable::new(family, read_spec(Stored::gguf(&file))?, Stored::gguf(&file), file.files())?,
            Some(dir) => {
                let weights = Weights::open(dir, options.weights_access)?;
                weights.runnable(family, read_spec(weights.stored(family))?)?
            }
        };
        Ok(Some(runnable))
    };
    let vocabulary = gguf_vocabulary(metadata)?;
    // About two merges a piece, two short strings a merge.
    let scratch = 256 * vocabulary.tokens.len() as u64;
    let read_tokenizer = || Tokenizer::from_gguf(&vocabulary).map_err(|e| e.context(path.display()));
    let (tokenizer, runnable, pack) = both(scratch, read_tokenizer, weights, pack)?;

    let mut end = EndTokens::default();
    let special = tokenizer.special_ids();
    end.add([special.eos, special.eot, special.eom].into_iter().flatten());
    let mut generation = GenerationDefaults::default();
    if options.path.is_dir() {
        let path = options.path.join("generation_config.json");
        if let Some(json) = read_json_if_there(&path)? {
            read_generation(&path, &json, &mut end, &mut generation)?;
        }
    }
    end.add_by_name(&tokenizer);

    let context_length = match &runnable {
        Some(runnable) => runnable.spec.context_length,
        None => metadata.usize(&format!("{architecture}.context_length"))?.unwrap_or(0),
    };
    let pieces = gguf_pieces(metadata)?.unwrap_or(tokenizer.len());
    let templates = gguf_templates(metadata);
    let name = metadata.str("general.name")?.map_or_else(|| file_name(path), str::to_owned);
    let architecture = architecture.to_owned();
    // Before weights come into memory: the vocabulary's texts have all been copied.
    file.release_metadata();
    drop(file);
    let runnable = runnable.map(|runnable| runnable.packed(pack)).transpose()?;
    assemble(
        options,
        Parts { architecture, name, format: GGUF, context_length, pieces, tokenizer, templates, end, generation, runnable },
    )
}

fn gguf_vocabulary(metadata: &Metadata) -> Result<GgufVocab<'_>> {
    const MODEL: &str = "tokenizer.ggml.model";
    const TOKENS: &str = "tokenizer.ggml.tokens";
    let id = |name: &str| metadata.u32(&format!("tokenizer.ggml.{name}_token_id"));
    Ok(GgufVocab {
        model: metadata.required(MODEL, metadata.str(MODEL)?)?,
        pre: metadata.str("tokenizer.ggml.pre")?,
        tokens: metadata.required(TOKENS, metadata.strings(TOKENS)?)?.collect()?,
        scores: metadata.floats("tokenizer.ggml.scores")?.unwrap_or_default(),
        token_types: metadata.integers("tokenizer.ggml.token_type")?.unwrap_or_default(),
        merges: metadata.strings("tokenizer.ggml.merges")?.unwrap_or_default().collect()?,
        bos: id("bos")?,
        eos: id("eos")?,
        eot: id("eot")?,
        eom: id("eom")?,
        unk: id("unknown")?,
        pad: id("padding")?,
        add_bos: metadata.bool("tokenizer.ggml.add_bos_token")?,
        add_eos: metadata.bool("tokenizer.ggml.add_eos_token")?,
        add_space_prefix: metadata.bool("tokenizer.ggml.add_space_prefix")?,
    })
}

/// Converters fill a vocabulary up to the rows of the head with placeholders, which are marked unused: what comes before them.
fn gguf_pieces(metadata: &Metadata) -> Result<Option<usize>> {
    const UNUSED: i64 = 5;
    let types = metadata.integers("tokenizer.ggml.token_type")?;
    Ok(types.and_then(|types| types.iter().rposition(|&kind| kind != UNUSED)).map(|last| last + 1))
}

fn gguf_templates(metadata: &Metadata) -> Result<TemplateSources> {
    const KEY: &str = "tokenizer.chat_template";
    let mut named = Vec::new();
    for key in metadata.keys() {
        if let Some(name) = key.strip_prefix(KEY).and_then(|rest| rest.strip_prefix('.'))
            && let Some(source) = metadata.str(key)?
        {
            named.push((name, source));
        }
    }
    named.sort_unstable();
    Ok(TemplateSources::from_gguf(metadata.str(KEY)?, named))
}

fn read_generation(path: &Path, json: &Value, end: &mut EndTokens, generation: &mut GenerationDefaults) -> Result<()> {
    let config = ConfigReader::new(path, json)?;
    end.add_from(config)?;
    *generation = GenerationDefaults::read(config)?;
    Ok(())
}

/// Memory that making a tokenizer may take, in passing, while weights come into memory beside it.
const MOST_BESIDE: u64 = 24 << 20;

/// Makes the tokenizer, and finds and packs the weights, the two longest parts of a load: beside each other where the `scratch` bytes
/// that the tokenizer takes in passing are few. Where both at once would be the most memory the model ever takes, packing is left
/// for later: what was to be packed for comes back. Of two errors the tokenizer's is told.
fn both<'p>(
    scratch: u64,
    tokenizer: impl FnOnce() -> Result<Tokenizer> + Send,
    weights: impl FnOnce() -> Result<Option<Runnable>>,
    pack: Option<PackFor<'p>>,
) -> Result<(Tokenizer, Option<Runnable>, Option<PackFor<'p>>)> {
    if scratch <= MOST_BESIDE {
        let packed = || weights()?.map(|runnable| runnable.packed(pack)).transpose();
        let (tokenizer, runnable) = on_deep_stack_beside(tokenizer, packed);
        return Ok((tokenizer?, runnable?, None));
    }
    let tokenizer = on_deep_stack(tokenizer)?;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: gives free memory back to the system and touches nothing else.
    unsafe {
        libc::malloc_trim(0);
    }
    Ok((tokenizer, weights()?, pack))
}

/// Files that hold tensors.
enum Weights {
    Gguf(Gguf),
    HuggingFace(Checkpoint, PathBuf),
}

impl Weights {
    /// `path`: a GGUF file, a safetensors file, or a directory with either.
    fn open(path: &Path, access: Access) -> Result<Self> {
        let has = |name: &str| path.join(name).exists();
        let is_checkpoint = match path.is_dir() {
            true => has("model.safetensors") || has("model.safetensors.index.json") || has("config.json"),
            false => path.extension().is_some_and(|extension| extension == "safetensors"),
        };
        if is_checkpoint {
            return Ok(Weights::HuggingFace(Checkpoint::open(path, access)?, path.to_path_buf()));
        }
        match ModelFiles::resolve(path)? {
            ModelFiles::Gguf(file) => Ok(Weights::Gguf(Gguf::open(&file, access)?)),
            ModelFiles::HuggingFace(directory) => {
                Ok(Weights::HuggingFace(Checkpoint::open(&directory.dir, access)?, directory.dir))
            }
        }
    }

    fn runnable(&self, family: &Family, spec: Spec) -> Result<Runnable> {
        let files = match self {
            Weights::Gguf(file) => file.files(),
            Weights::HuggingFace(checkpoint, _) => checkpoint.files(),
        };
        Runnable::new(family, spec, self.stored(family), files)
    }

    fn stored<'a>(&'a self, family: &Family) -> Stored<'a> {
        match self {
            Weights::Gguf(file) => Stored::gguf(file),
            Weights::HuggingFace(checkpoint, path) => Stored::hugging_face(checkpoint, family, path),
        }
    }
}

impl Runnable {
    fn new(family: &Family, spec: Spec, stored: Stored, files: &[PathBuf]) -> Result<Self> {
        let decoder = Decoder::build(&spec);
        let binding = Binding::new(&decoder, family, stored)?;
        let format = match stored.naming {
            Naming::Gguf => GGUF,
            Naming::HuggingFace(_) => SAFETENSORS,
        };
        Ok(Runnable { spec, decoder, binding, files: files.to_vec(), format, packed: PackedLayouts::default() })
    }

    fn packed(self, pack: Option<PackFor<'_>>) -> Result<Self> {
        if let Some(PackFor { backend, progress }) = pack {
            self.packed.get(&self.binding, backend, progress)?;
        }
        Ok(self)
    }
}

fn assemble(options: &LoadOptions, parts: Parts) -> Result<ModelArtifacts> {
    let Parts { architecture, name, format, context_length, pieces, tokenizer, templates, end, generation, runnable } = parts;
    let sources = match &options.chat_template {
        Some(given) => Ok(TemplateSources::single(override_text(given)?)),
        None => templates,
    };
    if let Err(error) = &sources {
        tracing::warn!("{error}");
    }
    let template = sources.map(|sources| ChatTemplate::new(sources, &tokenizer));

    let vocab_size = runnable.as_ref().map_or(tokenizer.len(), |runnable| runnable.spec.vocab);
    let end_tokens = end.below(vocab_size);
    let mut info = ModelInfo {
        architecture,
        name,
        format: format.to_owned(),
        context_length,
        vocab_size,
        sampled_vocab: pieces.min(vocab_size),
        vocabulary_only: runnable.is_none(),
        bos_token_id: tokenizer.bos(),
        eos_token_ids: end_tokens.clone(),
        chat_templates: template.iter().flat_map(ChatTemplate::names).map(str::to_owned).collect(),
        ..ModelInfo::default()
    };
    let (decoder, binding, packed) = match runnable {
        None => (Decoder::default(), None, PackedLayouts::default()),
        Some(runnable) => {
            describe(&mut info, &runnable)?;
            (runnable.decoder, Some(runnable.binding), runnable.packed)
        }
    };
    let (path, tokenizer) = (options.path.clone(), Arc::new(tokenizer));
    Ok(ModelArtifacts { path, tokenizer, template, end_tokens, generation, info, decoder, binding, packed })
}

fn override_text(given: &TemplateOverride) -> Result<String> {
    match given {
        TemplateOverride::Text(text) => Ok(text.clone()),
        TemplateOverride::File(path) => std::fs::read_to_string(path).map_err(|e| Error::io(path, &e).context("chat template")),
    }
}

fn describe(info: &mut ModelInfo, runnable: &Runnable) -> Result<()> {
    let Runnable { spec, binding, files, format, .. } = runnable;
    info.format = (*format).to_owned();
    for tensor in binding.tensors() {
        info.parameters += tensor.elements() as u64;
        *info.stored_types.entry(tensor.ty.name().to_owned()).or_default() += tensor.data.len() as u64;
    }
    for file in files {
        info.file_bytes += std::fs::metadata(file).map_err(|e| Error::io(file, &e))?.len();
    }
    info.hidden_size = spec.hidden;
    info.layers = spec.layers.len();
    info.tied_head = spec.tied_head;
    info.sliding_window = spec.layers.iter().find_map(|layer| layer.attention.window);
    if let Some(layer) = spec.layers.first() {
        info.heads = layer.attention.heads;
        info.kv_heads = layer.attention.kv_heads;
        info.head_dim = layer.attention.head_dim;
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    // A directory given as `.` has a name all the same.
    let name = path.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| path.display().to_string())
}
