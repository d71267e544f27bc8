//! A tensor as it lies in a file: its type, its shape, and the bytes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

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

/// A tensor of a weight file.
///
/// `shape` is row-major, outermost dimension first (`[rows, columns]` for a matrix whose product is `rows` values), whichever
/// order the file used. Blocks run along the last dimension. `data` holds exactly the bytes that shape and type need.
#[derive(Clone, Debug)]
pub struct StoredTensor {
    pub name: String,
    pub ty: StoredType,
    pub shape: Vec<usize>,
    pub data: Bytes,
}

impl StoredTensor {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}
