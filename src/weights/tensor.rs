//! A tensor as it lies in a file: its type, its shape, and the bytes.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use super::access::release_pages;
use crate::error::{Error, Result};

/// How the elements of a tensor are stored. Block layouts follow the GGUF format (`ggml-common.h` in the ggml sources is the
/// definition of the block structs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types)]
pub enum StoredType {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
}

impl StoredType {
    pub const ALL: [StoredType; 15] = {
        use StoredType::*;
        [F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS]
    };

    /// Elements and bytes of one block.
    pub const fn block(self) -> (usize, usize) {
        use StoredType::*;
        match self {
            F32 => (1, 4),
            F16 | BF16 => (1, 2),
            Q4_0 | IQ4_NL => (32, 18),
            Q4_1 => (32, 20),
            Q5_0 => (32, 22),
            Q5_1 => (32, 24),
            Q8_0 => (32, 34),
            Q2_K => (256, 84),
            Q3_K => (256, 110),
            Q4_K => (256, 144),
            Q5_K => (256, 176),
            Q6_K => (256, 210),
            IQ4_XS => (256, 136),
        }
    }

    pub const fn block_elements(self) -> usize {
        self.block().0
    }

    pub const fn block_bytes(self) -> usize {
        self.block().1
    }

    /// Bytes of `elements` elements; `None` where they do not fill whole blocks or the product overflows.
    pub const fn bytes_for(self, elements: usize) -> Option<usize> {
        let (n, b) = self.block();
        if elements.is_multiple_of(n) { (elements / n).checked_mul(b) } else { None }
    }

    /// The type's name as GGUF tools print it.
    pub const fn name(self) -> &'static str {
        use StoredType::*;
        match self {
            F32 => "F32",
            F16 => "F16",
            BF16 => "BF16",
            Q4_0 => "Q4_0",
            Q4_1 => "Q4_1",
            Q5_0 => "Q5_0",
            Q5_1 => "Q5_1",
            Q8_0 => "Q8_0",
            Q2_K => "Q2_K",
            Q3_K => "Q3_K",
            Q4_K => "Q4_K",
            Q5_K => "Q5_K",
            Q6_K => "Q6_K",
            IQ4_NL => "IQ4_NL",
            IQ4_XS => "IQ4_XS",
        }
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A range of bytes together with what keeps it alive: a mapped file, or memory the file was read into. Cloning shares the owner.
#[derive(Clone)]
pub struct Bytes {
    owner: Owner,
    start: usize,
    len: usize,
}

#[derive(Clone)]
enum Owner {
    Mapped(Arc<Mmap>),
    Other(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Owner {
    fn all(&self) -> &[u8] {
        match self {
            Owner::Mapped(map) => map,
            Owner::Other(owner) => (**owner).as_ref(),
        }
    }
}

impl Bytes {
    /// The whole of `owner`, which gives the same bytes whenever it is asked.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        let len = (*owner).as_ref().len();
        Bytes { owner: Owner::Other(owner), start: 0, len }
    }

    /// The whole of a mapped file.
    pub(super) fn mapped(map: Mmap) -> Self {
        let len = map.len();
        Bytes { owner: Owner::Mapped(Arc::new(map)), start: 0, len }
    }

    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Bytes::new(Arc::new(bytes))
    }

    /// Whether these are bytes of a mapped file, not of memory that belongs to this process.
    pub fn is_mapped(&self) -> bool {
        matches!(self.owner, Owner::Mapped(_))
    }

    /// A part of these bytes, sharing the owner; `None` where it does not lie inside.
    pub fn slice(&self, start: usize, len: usize) -> Option<Self> {
        if start.checked_add(len)? > self.len {
            return None;
        }
        Some(Bytes { owner: self.owner.clone(), start: self.start + start, len })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.owner.all()[self.start..self.start + self.len]
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

/// Bytes of a weight file: in memory, or still in the file and read when they are wanted. Cloning shares the owner.
#[derive(Clone, Debug)]
pub struct FileData(Source);

#[derive(Clone, Debug)]
enum Source {
    Memory(Bytes),
    File { file: Arc<OpenFile>, start: usize, len: usize },
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
}

impl FileData {
    /// The whole of a file that is read piece by piece.
    pub(super) fn in_file(file: File, len: usize, path: &Path) -> Self {
        FileData(Source::File { file: Arc::new(OpenFile { file, path: path.to_path_buf() }), start: 0, len })
    }

    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Memory(bytes) => bytes.len(),
            Source::File { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether these are bytes of a mapped file.
    pub fn is_mapped(&self) -> bool {
        self.in_memory().is_some_and(Bytes::is_mapped)
    }

    /// The bytes: borrowed where they are in memory, else read now, into memory that goes with what is returned.
    ///
    /// Errors: OUT_OF_MEMORY; IO where the file cannot be read or has become shorter since it was opened.
    pub fn read(&self) -> Result<Cow<'_, [u8]>> {
        let len = match &self.0 {
            Source::Memory(bytes) => return Ok(Cow::Borrowed(bytes)),
            Source::File { len, .. } => *len,
        };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(format!("{len} bytes of a weight file")))?;
        bytes.resize(len, 0);
        self.read_into(0, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Copies what lies from byte `from` on to `into`, which it has to fill. Errors: IO, as [`read`](FileData::read).
    pub fn read_into(&self, from: usize, into: &mut [u8]) -> Result<()> {
        match &self.0 {
            Source::Memory(bytes) => match bytes.get(from..).and_then(|rest| rest.get(..into.len())) {
                Some(found) => into.copy_from_slice(found),
                None => return Err(Error::internal(format!("{} bytes from byte {from} of {}", into.len(), bytes.len()))),
            },
            Source::File { file, start, .. } => {
                let at = start + from;
                file.file.read_exact_at(into, at as u64).map_err(|e| {
                    let what = format!("{} bytes from byte {at}, which were there when it was opened", into.len());
                    Error::io(&file.path, &e).context(what)
                })?;
            }
        }
        Ok(())
    }

    /// A part of these bytes, sharing the owner; `None` where it does not lie inside.
    pub fn slice(&self, start: usize, len: usize) -> Option<Self> {
        match &self.0 {
            Source::Memory(bytes) => bytes.slice(start, len).map(FileData::from),
            Source::File { file, start: own, len: all } => {
                let inside = start.checked_add(len)? <= *all;
                inside.then(|| FileData(Source::File { file: file.clone(), start: own + start, len }))
            }
        }
    }

    /// Says that the bytes will not be read again soon; see [`release_pages`].
    pub fn release(&self) {
        if let Some(bytes) = self.in_memory() {
            release_pages(bytes);
        }
    }

    pub(super) fn in_memory(&self) -> Option<&Bytes> {
        match &self.0 {
            Source::Memory(bytes) => Some(bytes),
            Source::File { .. } => None,
        }
    }

    /// Where the bytes begin in their file, or in the memory it is in.
    pub(super) fn start(&self) -> usize {
        match &self.0 {
            Source::Memory(bytes) => bytes.start,
            Source::File { start, .. } => *start,
        }
    }
}

impl From<Bytes> for FileData {
    fn from(bytes: Bytes) -> Self {
        FileData(Source::Memory(bytes))
    }
}

/// A tensor of a weight file.
///
/// `shape` is row-major, outermost dimension first (`[rows, columns]` for a matrix whose product is `rows` values), whichever
/// order the file used. Blocks run along the last dimension. `data` holds exactly the bytes that shape and type need.
#[derive(Clone, Debug)]
pub struct StoredTensor {
    pub name: String,
    pub ty: StoredType,
    pub shape: Vec<usize>,
    pub data: FileData,
}

impl StoredTensor {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}
