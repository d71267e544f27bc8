//! Which files make up the model a user points at.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::{read_json, read_json_if_there};
use crate::error::{Error, Result};

/// A model as users have it.
#[derive(Debug)]
pub enum ModelFiles {
    /// One GGUF file; of a split set, one of its parts.
    Gguf(PathBuf),
    HuggingFace(Box<HfDirectory>),
}

/// A Hugging Face directory: everything but the weights, read.
#[derive(Debug)]
pub struct HfDirectory {
    pub dir: PathBuf,
    pub config: Value,
    pub generation_config: Option<Value>,
    pub tokenizer_config: Option<Value>,
    pub special_tokens_map: Option<Value>,
    /// `tokenizer.json`, where it is there.
    pub tokenizer: Option<PathBuf>,
    /// `chat_template.jinja`.
    pub chat_template: Option<String>,
    /// `additional_chat_templates/<name>.jinja`, by name.
    pub additional_chat_templates: Vec<(String, String)>,
}

impl ModelFiles {
    /// Errors: NOT_FOUND (no such path, nothing to load in it), IO, FORMAT (a configuration file), INVALID_ARGUMENT (several models
    /// in one directory, with the list).
    pub fn resolve(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, &e))?;
        if metadata.is_file() {
            return Ok(ModelFiles::Gguf(path.to_path_buf()));
        }
        if path.join("config.json").exists() {
            return Ok(ModelFiles::HuggingFace(Box::new(HfDirectory::read(path)?)));
        }
        let mut models = gguf_models(path)?;
        match models.len() {
            0 => Err(Error::not_found(format!("{}: no config.json and no .gguf file", path.display()))),
            1 => Ok(ModelFiles::Gguf(models.remove(0))),
            _ => {
                let names: Vec<_> = models.iter().filter_map(|path| path.file_name()).collect();
                Err(Error::invalid(format!("{}: {} models, expected one: {names:?}", path.display(), models.len())))
            }
        }
    }
}

/// GGUF models in a directory; a split set counts once, by its first part.
fn gguf_models(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(|e| Error::io(dir, &e))?;
    let mut models: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "gguf")).collect();
    models.sort();
    models.dedup_by(|later, earlier| matches!((set_of(later), set_of(earlier)), (Some(a), Some(b)) if a == b));
    Ok(models)
}

/// `("model", "00003")` of `model-00001-of-00003.gguf`.
fn set_of(path: &Path) -> Option<(String, String)> {
    let name = path.file_stem()?.to_str()?;
    let (rest, count) = name.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    (digits(number) && digits(count)).then(|| (stem.to_string(), count.to_string()))
}

impl HfDirectory {
    pub fn read(dir: &Path) -> Result<Self> {
        let tokenizer = dir.join("tokenizer.json");
        Ok(HfDirectory {
            dir: dir.to_path_buf(),
            config: read_json(&dir.join("config.json"))?,
            generation_config: read_json_if_there(&dir.join("generation_config.json"))?,
            tokenizer_config: read_json_if_there(&dir.join("tokenizer_config.json"))?,
            special_tokens_map: read_json_if_there(&dir.join("special_tokens_map.json"))?,
            tokenizer: tokenizer.exists().then_some(tokenizer),
            chat_template: read_text_if_there(&dir.join("chat_template.jinja"))?,
            additional_chat_templates: additional_templates(&dir.join("additional_chat_templates"))?,
        })
    }
}

fn read_text_if_there(path: &Path) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    std::fs::read_to_string(path).map(Some).map_err(|e| Error::io(path, &e))
}

fn additional_templates(dir: &Path) -> Result<Vec<(String, String)>> {
    let mut templates = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "jinja")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
            && let Some(text) = read_text_if_there(&path)?
        {
            templates.push((name.to_string(), text));
        }
    }
    templates.sort();
    Ok(templates)
}
