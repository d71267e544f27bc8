//! Which files make up the model a user points at.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::{read_json, read_json_if_there};
use super::gguf::set_of;
use super::shown::List;
use crate::error::{Error, Result};

/// A model as users have it.
#[derive(Debug)]
pub enum ModelFiles {
    /// One GGUF file; of a split set, one of its parts.
    Gguf(PathBuf),
    HuggingFace(Box<HfDirectory>),
}

/// A Hugging Face directory: its configuration files, read, and where its tokenizer is. Chat templates are read by `text`.
#[derive(Debug)]
pub struct HfDirectory {
    pub dir: PathBuf,
    /// `config.json`.
    pub config: Value,
    pub generation_config: Option<Value>,
    pub tokenizer_config: Option<Value>,
    pub special_tokens_map: Option<Value>,
    /// `tokenizer.json`, where it is there.
    pub tokenizer: Option<PathBuf>,
}

const CONFIG: &str = "config.json";

impl ModelFiles {
    /// What `path` is: a GGUF file under any name, or a directory with `config.json`, or one with a single GGUF model. A directory
    /// with a configuration and weights of both kinds is a Hugging Face directory; one whose only weights are a GGUF model is that
    /// model. Files that go with a model (`mmproj*`) and hidden ones do not count.
    ///
    /// Errors: NOT_FOUND (no such path, nothing to load in it), IO, FORMAT (a configuration file, with line and column),
    /// INVALID_ARGUMENT (several models in one directory, with the list; a single shard).
    pub fn resolve(path: &Path) -> Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("the model's path is empty, expected a .gguf file or a directory"));
        }
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, &e))?;
        if !metadata.is_dir() {
            if ends_with(path.as_os_str(), ".safetensors") {
                let what = "weights without their configuration, expected the directory they are in";
                return Err(Error::invalid(format!("{}: {what}", path.display())));
            }
            return Ok(ModelFiles::Gguf(path.to_path_buf()));
        }
        let names = names_in(path)?;
        let models = gguf_models(&names);
        let has_config = names.iter().any(|name| name == CONFIG);
        let has_safetensors =
            names.iter().any(|name| ends_with(name, ".safetensors") || ends_with(name, ".safetensors.index.json"));
        if has_config && (models.is_empty() || has_safetensors) {
            return Ok(ModelFiles::HuggingFace(Box::new(HfDirectory::read(path)?)));
        }
        let shown = |names: &[&OsString]| List(&names.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>()).to_string();
        match models.as_slice() {
            [] => {
                let there = shown(&names.iter().collect::<Vec<_>>());
                Err(Error::not_found(format!("{}: no {CONFIG} and no .gguf file; the directory has {there}", path.display())))
            }
            [model] => Ok(ModelFiles::Gguf(path.join(model))),
            several => {
                let (count, names) = (several.len(), shown(several));
                Err(Error::invalid(format!("{}: {count} models ({names}), expected one: give its file", path.display())))
            }
        }
    }
}

/// What is in a directory, sorted, without hidden files.
fn names_in(dir: &Path) -> Result<Vec<OsString>> {
    let io = |e| Error::io(dir, &e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// GGUF models among the names; a split set counts once, by the first of its parts that is there.
fn gguf_models(names: &[OsString]) -> Vec<&OsString> {
    let mut models = BTreeMap::new();
    for name in names.iter().filter(|name| ends_with(name, ".gguf") && !is_projector(name)) {
        let key = set_of(name).map_or((name.as_encoded_bytes(), None), |(stem, count)| (stem, Some(count)));
        models.entry(key).or_insert(name);
    }
    models.into_values().collect()
}

/// Vision projectors are kept beside their model, under this name by convention.
fn is_projector(name: &OsStr) -> bool {
    name.as_encoded_bytes().windows(6).any(|part| part.eq_ignore_ascii_case(b"mmproj"))
}

fn ends_with(name: &OsStr, ending: &str) -> bool {
    let name = name.as_encoded_bytes();
    name.len() > ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}

impl HfDirectory {
    /// Errors: NOT_FOUND (no `config.json`), IO, FORMAT with line and column.
    pub fn read(dir: &Path) -> Result<Self> {
        let tokenizer = dir.join("tokenizer.json");
        Ok(HfDirectory {
            dir: dir.to_path_buf(),
            config: read_json(&dir.join(CONFIG))?,
            generation_config: read_json_if_there(&dir.join("generation_config.json"))?,
            tokenizer_config: read_json_if_there(&dir.join("tokenizer_config.json"))?,
            special_tokens_map: read_json_if_there(&dir.join("special_tokens_map.json"))?,
            tokenizer: tokenizer.exists().then_some(tokenizer),
        })
    }
}
