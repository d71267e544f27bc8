//! GGUF files, version 2 and 3, split sets included.
//!
//! Owns: reading the head of a file and checking every field of it, and which files make up a set. Nothing of a mapped file is copied: metadata and
//! tensors refer to its bytes. Opening keeps, besides those, less than 16 MiB whatever the file claims.
//!
//! Format: the GGUF specification (`docs/gguf.md` in the ggml repository); split sets as `gguf-split` of llama.cpp writes them:
//! `split.no` counts from 0 while file names count from 1, `split.tensors.count` is that of the whole set, and only the first part has
//! the model's metadata.

mod cursor;
mod metadata;
mod split;
mod table;
mod types;
mod value;

pub use metadata::Metadata;
pub(super) use split::set_of;
pub use types::{stored_type, type_number};
pub use value::{Bools, Floats, Integers, Strings, StringsIter, Value};

use std::path::{Path, PathBuf};

use super::access::{Access, head, open};
use super::shown::Shown;
use super::{Bytes, FileData, StoredTensor, StoredType};
use crate::error::{Error, Result};
use cursor::Cursor;
use split::Split;
use table::{Entry, MOST_TENSORS};
use value::try_collect;

const MAGIC: &[u8; 4] = b"GGUF";
const DEFAULT_ALIGNMENT: u64 = 32;
/// Bytes of a head that are read at first: more than most have, whose vocabularies have some tens of thousands of pieces.
const FIRST_HEAD: usize = 4 << 20;
/// The specification asks for a multiple of 8, llama.cpp for a power of two. Files have 32, 64 or a page.
const ALIGNMENTS: std::ops::RangeInclusive<u64> = 8..=1 << 20;

/// A GGUF model: one file or a set of parts. Shared between threads freely.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    metadata: Metadata,
    /// In file order, part after part.
    entries: Vec<(Entry, u32)>,
    /// Indices into `entries`, sorted by name.
    by_name: Vec<u32>,
    parts: Vec<PathBuf>,
}

impl Gguf {
    /// Opens the model that `path` belongs to; of a split set any part will do.
    ///
    /// Errors: NOT_FOUND (no such file, a missing part, by name), IO (no permission, not a file), FORMAT naming the file and the field
    /// or tensor, UNSUPPORTED (version 1, big-endian), OUT_OF_MEMORY.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let first = Part::open(path, access)?;
        match Split::of(&first.metadata, path)? {
            None => Gguf::assemble(path, vec![first]),
            Some(split) => {
                let parts = split.open_all(first, access)?;
                let model = Gguf::assemble(path, parts)?;
                split.check_count(model.entries.len())?;
                Ok(model)
            }
        }
    }

    /// Reads a model that is in memory, as one whole file. `path` is what errors call it.
    ///
    /// Errors: as [`Gguf::open`]; FORMAT for a part of a split set.
    pub fn from_bytes(bytes: &Bytes, path: &Path) -> Result<Self> {
        let whole = Part::read(path, bytes, &bytes.clone().into())?;
        if let Some(split) = Split::of(&whole.metadata, path)? {
            return Err(split.is_a_part());
        }
        Gguf::assemble(path, vec![whole])
    }

    fn assemble(path: &Path, parts: Vec<Part>) -> Result<Self> {
        let total: usize = parts.iter().map(|part| part.entries.len()).sum();
        if total > MOST_TENSORS {
            return Err(Error::format(format!("{}: {total} tensors, expected at most {MOST_TENSORS}", path.display())));
        }
        let mut entries = Vec::new();
        entries.try_reserve_exact(total).map_err(|_| Error::out_of_memory(format!("{}: {total} tensors", path.display())))?;
        let mut metadata = None;
        let mut files = Vec::with_capacity(parts.len());
        for (index, part) in parts.into_iter().enumerate() {
            entries.extend(part.entries.into_iter().map(|entry| (entry, index as u32)));
            metadata.get_or_insert(part.metadata);
            files.push(part.path);
        }
        let Some(metadata) = metadata else { return Err(Error::internal(format!("{}: no parts", path.display()))) };
        let mut by_name = try_collect(0..total as u32, "tensors")?;
        let name = |index: &u32| entries[*index as usize].0.name();
        by_name.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        if let Some(twice) = by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            let [first, second] =
                [twice[0].min(twice[1]), twice[0].max(twice[1])].map(|index| entries[index as usize].1 as usize);
            let also = if first == second { String::new() } else { format!(", first in {}", files[first].display()) };
            let (file, tensor) = (files[second].display(), Shown(name(&twice[0])));
            return Err(Error::format(format!("{file}: tensor {tensor} occurs twice{also}")));
        }
        Ok(Gguf { path: path.to_path_buf(), metadata, entries, by_name, parts: files })
    }

    /// Of a split set: that of the first part.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Lets go of the pages that reading the metadata has brought into memory, for when everything wanted of it has been taken.
    pub fn release_metadata(&self) {
        self.metadata.release();
    }

    /// As it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files of the model, in order.
    pub fn files(&self) -> &[PathBuf] {
        &self.parts
    }

    fn entry(&self, name: &str) -> Option<&(Entry, u32)> {
        let at = self.by_name.binary_search_by(|&index| self.entries[index as usize].0.name().cmp(name)).ok()?;
        self.entries.get(self.by_name[at] as usize)
    }

    /// Names of all tensors, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(entry, _)| entry.name())
    }

    /// The file a tensor is in.
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.entry(name).map(|(_, part)| self.parts[*part as usize].as_path())
    }

    /// A tensor, `None` where the file has none of that name. Its data refers to the file's bytes.
    ///
    /// Errors: UNSUPPORTED naming the tensor, its type's number and name, and the types that load.
    pub fn tensor(&self, name: &str) -> Result<Option<&StoredTensor>> {
        match self.entry(name) {
            None => Ok(None),
            Some((Entry::Stored(tensor), _)) => Ok(Some(tensor)),
            Some((Entry::Foreign { number, .. }, part)) => Err(Error::unsupported(format!(
                "{}: tensor {}: stored type {number} ({}), expected one of {}",
                self.parts[*part as usize].display(),
                Shown(name),
                types::foreign_name(*number),
                StoredType::ALL.map(|ty| ty.name()).join(", ")
            ))),
        }
    }

    /// Shape of a tensor, outermost first, whatever its type.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entry(name).map(|(entry, _)| entry.shape())
    }
}

/// One file.
struct Part {
    path: PathBuf,
    metadata: Metadata,
    entries: Vec<Entry>,
    /// Bytes behind the last tensor and its padding; `None` where a type whose size is not known may be there.
    left_over: Option<usize>,
}

impl Part {
    fn open(path: &Path, access: Access) -> Result<Self> {
        let file = open(path, access)?;
        // How long the head is, it says only as it is read. Of a file on the disk more and more is taken until it is all there.
        let mut len = FIRST_HEAD;
        loop {
            match Part::read(path, &head(&file, len)?, &file) {
                Err(_) if len < file.len() && file.in_memory().is_none() => len = len.saturating_mul(2),
                outcome => return outcome,
            }
        }
    }

    /// `head`: the beginning of `file`, or all of it.
    fn read(path: &Path, head: &Bytes, file: &FileData) -> Result<Self> {
        let mut cursor = Cursor::new(head, 0, path);
        let magic = cursor.take(4, "magic")?;
        if magic != MAGIC {
            return Err(Error::format(format!(
                "{}: not a GGUF file: starts with {}, expected \"GGUF\"",
                path.display(),
                magic.escape_ascii()
            )));
        }
        let version = cursor.u32("version")?;
        match version {
            2 | 3 => {}
            _ if matches!(version.swap_bytes(), 1..=3) => {
                return Err(Error::unsupported(format!("{}: a big-endian GGUF file, expected little-endian", path.display())));
            }
            1 => return Err(Error::unsupported(format!("{}: GGUF version 1, expected 2 or 3", path.display()))),
            _ => return Err(cursor.malformed(format_args!("version: {version}, expected 2 or 3"))),
        }
        let tensors = table::count(&mut cursor)?;
        let keys = Metadata::count(&mut cursor)?;
        let metadata = Metadata::read(&mut cursor, keys, head, path)?;
        let alignment = metadata.u64("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
        if !alignment.is_power_of_two() || !ALIGNMENTS.contains(&alignment) {
            let (least, most) = (ALIGNMENTS.start(), ALIGNMENTS.end());
            return Err(Error::format(format!(
                "{}: general.alignment: {alignment}, expected a power of two from {least} to {most}",
                path.display()
            )));
        }
        let (entries, end) = table::read(&mut cursor, tensors, alignment as usize, file, path)?;
        let end = end.or((tensors == 0).then(|| cursor.position()));
        let left_over = end.map(|end| file.len().saturating_sub(end.next_multiple_of(alignment as usize)));
        Ok(Part { path: path.to_path_buf(), metadata, entries, left_over })
    }
}
