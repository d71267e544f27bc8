//! Hugging Face checkpoints: one `safetensors` file, or shards with an index.
//!
//! Format: <https://github.com/huggingface/safetensors>; the `safetensors` crate reads the header and checks that tensors fill the
//! data part without gaps or overlaps. Shards: `model.safetensors.index.json` maps each tensor to its file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

use super::access::{Access, open};
use super::config::read_json;
use super::{Bytes, StoredTensor, StoredType};
use crate::error::{Error, Result};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// All tensors of a checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    files: Vec<PathBuf>,
    tensors: HashMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    file: usize,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Bytes,
}

impl Checkpoint {
    /// Opens the checkpoint in a directory, or a single file.
    ///
    /// Errors: NOT_FOUND (no weights, a missing shard), FORMAT naming file and tensor (a truncated shard, a tensor the index wants
    /// and its shard lacks, one that two shards hold), UNSUPPORTED (weights in a pickle only).
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        if path.is_file() {
            return Checkpoint::from_files(&[path.to_path_buf()], access);
        }
        let index = path.join(INDEX);
        if index.exists() {
            return Checkpoint::sharded(path, &index, access);
        }
        let single = path.join(SINGLE);
        if single.exists() {
            return Checkpoint::from_files(&[single], access);
        }
        Err(no_weights(path))
    }

    fn sharded(dir: &Path, index: &Path, access: Access) -> Result<Self> {
        let json = read_json(index)?;
        let Some(map) = json.get("weight_map").and_then(|map| map.as_object()) else {
            return Err(Error::format(format!(
                "{}: weight_map is missing, expected an object from tensors to files",
                index.display()
            )));
        };
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (tensor, file) in map {
            let Some(file) = file.as_str().filter(|file| is_plain_name(file)) else {
                return Err(Error::format(format!(
                    "{}: {tensor} is in {file}, expected the name of a file beside the index",
                    index.display()
                )));
            };
            wanted.entry(file).or_default().push(tensor);
        }
        if let Some(missing) = wanted.keys().find(|file| !dir.join(file).exists()) {
            let there: BTreeSet<String> = shards_in(dir);
            return Err(Error::not_found(format!(
                "{}: no such file; {INDEX} wants {:?}, the directory has {there:?}",
                dir.join(missing).display(),
                wanted.keys().collect::<Vec<_>>()
            )));
        }
        let files: Vec<PathBuf> = wanted.keys().map(|file| dir.join(file)).collect();
        let checkpoint = Checkpoint::from_files(&files, access)?;
        for (file, tensors) in wanted.values().enumerate() {
            for &tensor in tensors {
                let found = checkpoint.tensors.get(tensor);
                if found.is_none_or(|entry| entry.file != file) {
                    return Err(Error::format(format!("{}: no tensor {tensor}, though {INDEX} says so", files[file].display())));
                }
            }
        }
        Ok(checkpoint)
    }

    fn from_files(files: &[PathBuf], access: Access) -> Result<Self> {
        let mut tensors = HashMap::new();
        for (file, path) in files.iter().enumerate() {
            let bytes = open(path, access)?;
            for (name, entry) in read(path, &bytes, file)? {
                if let Some(other) = tensors.get(&name).map(|entry: &Entry| entry.file) {
                    return Err(Error::format(format!(
                        "tensor {name} is in {} and in {}",
                        files[other].display(),
                        path.display()
                    )));
                }
                tensors.insert(name, entry);
            }
        }
        Ok(Checkpoint { files: files.to_vec(), tensors })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.tensors.get(name).map(|entry| self.files[entry.file].as_path())
    }

    /// A tensor, `None` where there is none of that name. Errors: UNSUPPORTED naming tensor and type.
    pub fn tensor(&self, name: &str) -> Result<Option<StoredTensor>> {
        let Some(entry) = self.tensors.get(name) else { return Ok(None) };
        let ty = match entry.dtype {
            Dtype::F32 => StoredType::F32,
            Dtype::F16 => StoredType::F16,
            Dtype::BF16 => StoredType::BF16,
            other => {
                let file = self.files[entry.file].display();
                return Err(Error::unsupported(format!(
                    "{file}: tensor {name}: stored type {other:?}, expected F32, F16 or BF16"
                )));
            }
        };
        Ok(Some(StoredTensor { name: name.to_string(), ty, shape: entry.shape.clone(), data: entry.data.clone() }))
    }

    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|entry| entry.shape.as_slice())
    }
}

fn read(path: &Path, bytes: &Bytes, file: usize) -> Result<Vec<(String, Entry)>> {
    let malformed = |what: String| Error::format(format!("{}: {what}", path.display()));
    let (header, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| {
        // The crate's words for a short file do not say how short it is.
        let expected = declared_size(bytes);
        match expected {
            Some(expected) if expected > bytes.len() as u64 => {
                malformed(format!("{} bytes, expected {expected} (truncated?)", bytes.len()))
            }
            _ => malformed(format!("not a safetensors file: {e}")),
        }
    })?;
    let data = 8 + header;
    let mut entries = Vec::new();
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let slice = data.checked_add(start).and_then(|at| bytes.slice(at, end.checked_sub(start)?));
        let Some(slice) = slice else {
            return Err(malformed(format!(
                "tensor {name}: bytes {start}..{end} of the data, but the file has {} (truncated?)",
                bytes.len()
            )));
        };
        entries.push((name, Entry { file, dtype: info.dtype, shape: info.shape.clone(), data: slice }));
    }
    Ok(entries)
}

/// Size the header's tensors need, as far as it can be read.
fn declared_size(bytes: &[u8]) -> Option<u64> {
    let header = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let end = usize::try_from(header).ok()?.checked_add(8)?;
    let Some(text) = bytes.get(8..end) else { return Some(header.saturating_add(8)) };
    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
    let ends = json.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    Some(ends.max().unwrap_or(0).saturating_add(end as u64))
}

/// Index entries name files beside the index and nothing else.
fn is_plain_name(file: &str) -> bool {
    let mut components = Path::new(file).components();
    matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
}

fn shards_in(dir: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".safetensors")).collect()
}

fn no_weights(dir: &Path) -> Error {
    let pickled = std::fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let pickled: Vec<String> = pickled.filter(|name| name.ends_with(".bin") || name.ends_with(".pth")).collect();
    if pickled.is_empty() {
        return Error::not_found(format!("{}: no weights, expected {SINGLE} or {INDEX}", dir.display()));
    }
    Error::unsupported(format!("{}: weights in {pickled:?} only, expected safetensors ({SINGLE} or {INDEX})", dir.display()))
}
