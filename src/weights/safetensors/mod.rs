//! Hugging Face checkpoints: one `safetensors` file, or shards with an index.
//!
//! Owns: reading the files' headers with every field checked, and that shards and index agree: a checkpoint is whole or refused.
//! Tensors refer to the files' bytes, at whatever alignment the header's length leaves them.
//!
//! Format: <https://github.com/huggingface/safetensors>; shards as `transformers` writes them.

mod header;
mod index;

use std::path::{Path, PathBuf};

use super::access::{Access, open};
use super::shown::{List, Shown};
use super::{Bytes, FileData, StoredTensor};
use crate::error::{Error, Result};
use header::{Dtype, Row};
use index::Index;

pub(super) const SINGLE: &str = "model.safetensors";
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// All tensors of a checkpoint. Shared between threads freely.
#[derive(Debug)]
pub struct Checkpoint {
    files: Vec<PathBuf>,
    data: Vec<FileData>,
    /// File after file, in the order of their data.
    entries: Vec<(Row, u32)>,
    /// Indices into `entries`, sorted by name.
    by_name: Vec<u32>,
}

impl Checkpoint {
    /// Opens the checkpoint in a directory, or a single file. Where a directory has both a single file and an index, the single file
    /// is read, as `transformers` does.
    ///
    /// Errors: NOT_FOUND (no weights; a missing shard, with what the index wants and what is there; a tensor that the index wants and
    /// its shard lacks), IO, FORMAT naming file and tensor (malformed, truncated with both lengths, a tensor in two shards, an index
    /// that leads out of its directory), UNSUPPORTED (weights in pickles only), OUT_OF_MEMORY.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, &e))?;
        if !metadata.is_dir() {
            return Checkpoint::from_files(vec![path.to_path_buf()], access);
        }
        let single = path.join(SINGLE);
        if is_there(&single)? {
            return Checkpoint::from_files(vec![single], access);
        }
        let index = path.join(INDEX);
        if is_there(&index)? {
            return Checkpoint::sharded(path, &index, access);
        }
        Err(no_weights(path))
    }

    /// Reads one file that is in memory. `path` is what errors call it.
    pub fn from_bytes(bytes: &Bytes, path: &Path) -> Result<Self> {
        let mut checkpoint = Checkpoint { files: Vec::new(), data: Vec::new(), entries: Vec::new(), by_name: Vec::new() };
        checkpoint.add(path.to_path_buf(), bytes.clone().into())?;
        checkpoint.sort()?;
        Ok(checkpoint)
    }

    fn sharded(dir: &Path, path: &Path, access: Access) -> Result<Self> {
        let index = Index::read(path)?;
        let missing = index.files.iter().find(|file| !dir.join(file).exists());
        if let Some(missing) = missing {
            return Err(Error::not_found(format!(
                "{}: no such file. {INDEX} wants {}; the directory has {}",
                dir.join(missing).display(),
                List(&index.files),
                List(&shards_in(dir))
            )));
        }
        let checkpoint = Checkpoint::from_files(index.files.iter().map(|file| dir.join(file)).collect(), access)?;
        for (tensor, file) in &index.tensors {
            if checkpoint.entry(tensor).is_none_or(|(_, found)| found != file) {
                let file = checkpoint.files[*file as usize].display();
                return Err(Error::not_found(format!("{file}: no tensor {}, expected by {INDEX}", Shown(tensor))));
            }
        }
        Ok(checkpoint)
    }

    fn from_files(files: Vec<PathBuf>, access: Access) -> Result<Self> {
        let mut checkpoint = Checkpoint { files: Vec::new(), data: Vec::new(), entries: Vec::new(), by_name: Vec::new() };
        for path in files {
            let file = open(&path, access)?;
            checkpoint.add(path, file)?;
        }
        checkpoint.sort()?;
        Ok(checkpoint)
    }

    fn add(&mut self, path: PathBuf, data: FileData) -> Result<()> {
        let rows = header::read(&data, &path)?;
        let file = self.files.len() as u32;
        let reserved = self.entries.try_reserve(rows.len());
        reserved.map_err(|_| Error::out_of_memory(format!("{}: {} tensors", path.display(), rows.len())))?;
        self.entries.extend(rows.into_iter().map(|row| (row, file)));
        self.files.push(path);
        self.data.push(data);
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        self.by_name = (0..self.entries.len() as u32).collect();
        let entries = &self.entries;
        let key = |index: &u32| (entries[*index as usize].0.name.as_str(), *index);
        self.by_name.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let Some(twice) = self.by_name.windows(2).find(|pair| key(&pair[0]).0 == key(&pair[1]).0) else { return Ok(()) };
        let [first, second] = [twice[0], twice[1]].map(|index| entries[index as usize].1 as usize);
        let also = if first == second { String::new() } else { format!(", first in {}", self.files[first].display()) };
        let (file, tensor) = (self.files[second].display(), Shown(key(&twice[0]).0));
        Err(Error::format(format!("{file}: tensor {tensor} occurs twice{also}")))
    }

    fn entry(&self, name: &str) -> Option<&(Row, u32)> {
        let at = self.by_name.binary_search_by(|&index| self.entries[index as usize].0.name.as_str().cmp(name)).ok()?;
        self.entries.get(self.by_name[at] as usize)
    }

    /// Names of all tensors, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(row, _)| row.name.as_str())
    }

    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The file a tensor is in.
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.entry(name).map(|(_, file)| self.files[*file as usize].as_path())
    }

    /// A tensor, `None` where there is none of that name. Its data refers to the file's bytes.
    ///
    /// Errors: UNSUPPORTED naming the tensor, its type, and the types that load.
    pub fn tensor(&self, name: &str) -> Result<Option<StoredTensor>> {
        let Some((row, file)) = self.entry(name) else { return Ok(None) };
        let path = self.files[*file as usize].display();
        let ty = match &row.dtype {
            Dtype::Stored(ty) => *ty,
            Dtype::Foreign(other) => {
                let name = Shown(name);
                return Err(Error::unsupported(format!("{path}: tensor {name}: stored type {other}, expected F32, F16 or BF16")));
            }
        };
        let Some(data) = self.data[*file as usize].slice(row.start, row.len) else {
            return Err(Error::internal(format!("{path}: tensor {} lies outside of its file", Shown(name))));
        };
        Ok(Some(StoredTensor { name: name.to_owned(), ty, shape: row.shape.clone(), data }))
    }

    /// Shape of a tensor, outermost first, whatever its type.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entry(name).map(|(row, _)| row.shape.as_slice())
    }
}

/// A link whose target is gone is there: opening it says so.
fn is_there(path: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(path, &e)),
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Shards that can be read, and are not links to nowhere.
fn shards_in(dir: &Path) -> Vec<String> {
    names_in(dir).into_iter().filter(|name| name.ends_with(".safetensors") && dir.join(name).exists()).collect()
}

fn no_weights(dir: &Path) -> Error {
    let names = names_in(dir);
    let pickled = |name: &&String| [".bin", ".pt", ".pth", ".ckpt"].iter().any(|ending| name.ends_with(ending));
    let pickles: Vec<_> = names.iter().filter(pickled).collect();
    let expected = format!("expected {SINGLE}, or {INDEX} and its shards");
    match pickles.is_empty() {
        true => Error::not_found(format!("{}: no weights, {expected}; the directory has {}", dir.display(), List(&names))),
        false => Error::unsupported(format!("{}: weights in {} only, {expected}", dir.display(), List(&pickles))),
    }
}
