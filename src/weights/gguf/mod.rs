//! GGUF files, version 2 and 3, split sets included.
//!
//! Format: the GGUF specification (`docs/gguf.md` in the ggml repository); split sets as `gguf-split` of llama.cpp writes them:
//! `split.no` counts from 0 while file names count from 1, `split.tensors.count` is that of the whole set.

mod cursor;
mod metadata;
mod split;

pub use metadata::{Metadata, Value};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::access::{Access, open};
use super::{Bytes, StoredTensor, StoredType};
use crate::error::{Error, Result};
use cursor::Cursor;

const MAGIC: &[u8; 4] = b"GGUF";
const MAX_DIMENSIONS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
/// A tensor's entry is at least a name's length, a name of one byte, dimensions, type and offset.
const SMALLEST_ENTRY: usize = 8 + 1 + 4 + 8 + 4 + 8;
/// A key's entry is at least its length, one byte, a type and a value.
const SMALLEST_KEY: usize = 8 + 1 + 4 + 1;

/// A GGUF model: one file or a set of parts.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    metadata: Metadata,
    tensors: HashMap<String, Entry>,
    /// In file order.
    order: Vec<String>,
    parts: Vec<PathBuf>,
}

#[derive(Debug)]
struct Entry {
    kind: u32,
    shape: Vec<usize>,
    /// `None` where the type is not one of ours: told when the tensor is asked for.
    tensor: Option<StoredTensor>,
    part: usize,
}

impl Gguf {
    /// Opens the model that `path` belongs to; of a split set any part will do.
    ///
    /// Errors: NOT_FOUND (no such file, a missing part), IO, FORMAT naming the file and the field, UNSUPPORTED (version, byte order).
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let first = Part::open(path, access)?;
        match split::Split::of(&first.metadata, path)? {
            None => Gguf::assemble(path, vec![first]),
            Some(split) => {
                let parts = split.open_all(first, access)?;
                let model = Gguf::assemble(path, parts)?;
                split.check_count(model.tensors.len())?;
                Ok(model)
            }
        }
    }

    fn assemble(path: &Path, parts: Vec<Part>) -> Result<Self> {
        let mut model = Gguf {
            path: path.to_path_buf(),
            metadata: Metadata::default(),
            tensors: HashMap::new(),
            order: Vec::new(),
            parts: Vec::new(),
        };
        for (index, part) in parts.into_iter().enumerate() {
            for (name, mut entry) in part.entries {
                entry.part = index;
                if model.tensors.contains_key(&name) {
                    return Err(Error::format(format!("{}: tensor {name} occurs twice", part.path.display())));
                }
                model.order.push(name.clone());
                model.tensors.insert(name, entry);
            }
            if index == 0 {
                model.metadata = part.metadata;
            }
            model.parts.push(part.path);
        }
        Ok(model)
    }

    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files of the model.
    pub fn files(&self) -> &[PathBuf] {
        &self.parts
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.tensors.get(name).map(|entry| self.parts[entry.part].as_path())
    }

    /// A tensor, `None` where the file has none of that name. Errors: UNSUPPORTED naming tensor and type.
    pub fn tensor(&self, name: &str) -> Result<Option<&StoredTensor>> {
        let Some(entry) = self.tensors.get(name) else { return Ok(None) };
        entry.tensor.as_ref().map(Some).ok_or_else(|| {
            let supported: Vec<_> = StoredType::ALL.iter().map(|ty| ty.name()).collect();
            Error::unsupported(format!(
                "{}: tensor {name}: stored type {} ({}), expected one of {}",
                self.parts[entry.part].display(),
                entry.kind,
                type_name(entry.kind),
                supported.join(", ")
            ))
        })
    }

    /// Shape of a tensor, whatever its type.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|entry| entry.shape.as_slice())
    }
}

/// One file.
struct Part {
    path: PathBuf,
    metadata: Metadata,
    entries: Vec<(String, Entry)>,
}

impl Part {
    fn open(path: &Path, access: Access) -> Result<Self> {
        let bytes = open(path, access)?;
        Part::read(path, &bytes)
    }

    fn read(path: &Path, bytes: &Bytes) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, path);
        let magic = cursor.take(4, "magic")?;
        if magic != MAGIC {
            return Err(cursor.malformed(format_args!("magic {magic:02x?}, expected {MAGIC:02x?} (\"GGUF\")")));
        }
        let version = cursor.u32("version")?;
        match version {
            2 | 3 => {}
            _ if matches!(version.swap_bytes(), 1..=3) => {
                return Err(Error::unsupported(format!("{}: a big-endian GGUF file, expected little-endian", path.display())));
            }
            1 => return Err(Error::unsupported(format!("{}: GGUF version 1, expected 2 or 3", path.display()))),
            _ => return Err(cursor.malformed(format_args!("version {version}, expected 2 or 3"))),
        }
        let tensors = cursor.count("tensor count", cursor.left() / SMALLEST_ENTRY)?;
        let keys = cursor.count("key count", cursor.left() / SMALLEST_KEY)?;
        let metadata = Metadata::read(&mut cursor, keys, path)?;
        let alignment = metadata.u64("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
        if !alignment.is_power_of_two() || !(8..=1 << 20).contains(&alignment) {
            return Err(cursor.malformed(format_args!("general.alignment: {alignment}, expected a power of two in 8..=1048576")));
        }
        let mut infos = Vec::new();
        for index in 0..tensors {
            infos.push(Info::read(&mut cursor, index, tensors)?);
        }
        let data = cursor.position().next_multiple_of(alignment as usize);
        let entries = infos.into_iter().map(|info| info.place(bytes, data, alignment, path)).collect::<Result<_>>()?;
        Ok(Part { path: path.to_path_buf(), metadata, entries })
    }
}

/// A row of the tensor table.
struct Info {
    name: String,
    kind: u32,
    shape: Vec<usize>,
    elements: usize,
    offset: u64,
}

impl Info {
    fn read(cursor: &mut Cursor<'_>, index: usize, count: usize) -> Result<Self> {
        let what = format!("tensor {index} of {count}");
        let name = cursor.string(&what)?;
        if name.is_empty() {
            return Err(cursor.malformed(format_args!("{what}: an empty name")));
        }
        let name =
            std::str::from_utf8(name).map_err(|_| cursor.malformed(format_args!("{what}: name is not UTF-8")))?.to_string();
        let dimensions = cursor.u32(&name)?;
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(cursor.malformed(format_args!("{name}: {dimensions} dimensions, expected 1 to {MAX_DIMENSIONS}")));
        }
        let mut shape = Vec::with_capacity(dimensions as usize);
        let mut elements = 1usize;
        for _ in 0..dimensions {
            let size = cursor.u64(&name)?;
            let fits = usize::try_from(size).ok().filter(|&size| size > 0);
            let product = fits.and_then(|size| elements.checked_mul(size)).filter(|&n| n <= isize::MAX as usize);
            let (Some(size), Some(product)) = (fits, product) else {
                return Err(cursor.malformed(format_args!("{name}: dimension {size} after {elements} elements")));
            };
            elements = product;
            shape.push(size);
        }
        shape.reverse();
        let kind = cursor.u32(&name)?;
        let offset = cursor.u64(&name)?;
        Ok(Info { name, kind, shape, elements, offset })
    }

    fn place(self, bytes: &Bytes, data: usize, alignment: u64, path: &Path) -> Result<(String, Entry)> {
        let Info { name, kind, shape, elements, offset } = self;
        let malformed = |what: String| Error::format(format!("{}: tensor {name}: {what}", path.display()));
        if offset % alignment != 0 {
            return Err(malformed(format!("offset {offset}, expected a multiple of {alignment}")));
        }
        let tensor = match stored_type(kind) {
            None => None,
            Some(ty) => {
                let columns = shape.last().copied().unwrap_or(0);
                if !columns.is_multiple_of(ty.block_elements()) {
                    let block = ty.block_elements();
                    return Err(malformed(format!("rows of {columns} values stored as {ty}, expected a multiple of {block}")));
                }
                let len = ty.bytes_for(elements).ok_or_else(|| malformed(format!("{elements} elements of {ty} overflow")))?;
                let start = usize::try_from(offset).ok().and_then(|offset| data.checked_add(offset));
                let Some(data) = start.and_then(|start| bytes.slice(start, len)) else {
                    return Err(malformed(format!(
                        "{len} bytes at offset {offset} of the data at {data}, but the file has {} bytes (truncated?)",
                        bytes.len()
                    )));
                };
                Some(StoredTensor { name: name.clone(), ty, shape: shape.clone(), data })
            }
        };
        Ok((name, Entry { kind, shape, tensor, part: 0 }))
    }
}

/// The type of a number of the format's table, where it is one of ours.
pub fn stored_type(kind: u32) -> Option<StoredType> {
    use StoredType::*;
    Some(match kind {
        0 => F32,
        1 => F16,
        2 => Q4_0,
        3 => Q4_1,
        6 => Q5_0,
        7 => Q5_1,
        8 => Q8_0,
        10 => Q2_K,
        11 => Q3_K,
        12 => Q4_K,
        13 => Q5_K,
        14 => Q6_K,
        20 => IQ4_NL,
        23 => IQ4_XS,
        30 => BF16,
        _ => return None,
    })
}

/// What a type number is called, for those we do not load.
fn type_name(kind: u32) -> &'static str {
    match kind {
        4 => "Q4_2, withdrawn",
        5 => "Q4_3, withdrawn",
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        31..=33 => "Q4_0 interleaved, withdrawn",
        34 => "TQ1_0",
        35 => "TQ2_0",
        36..=38 => "IQ4_NL interleaved, withdrawn",
        39 => "MXFP4",
        _ => "unknown",
    }
}
