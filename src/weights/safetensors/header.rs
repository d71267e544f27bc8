//! The header of a safetensors file: eight bytes of length, that many bytes of JSON, then the data.
//!
//! Read here and not by the `safetensors` crate, whose errors name no tensor, which merges tensors of one name, and whose sums can
//! overflow on hostile offsets. The tests hold this reader to what the crate accepts.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::weights::access::head;
use crate::weights::shown::Shown;
use crate::weights::{FileData, StoredType};

/// What the format allows.
const LONGEST_HEADER: u64 = 100_000_000;
const MOST_DIMENSIONS: usize = 8;
const LONGEST_NAME: usize = 1024;
/// The largest shards have some thousands. The limit bounds what a malformed header can make us keep.
const MOST_TENSORS: usize = 65_536;

/// A tensor of the header.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// In the file.
    pub(super) start: usize,
    pub(super) len: usize,
}

/// The type of a tensor's elements.
#[derive(Debug)]
pub(super) enum Dtype {
    Stored(StoredType),
    /// One that does not load, which is told when the tensor is asked for.
    Foreign(Box<str>),
}

impl Dtype {
    fn of(name: &str) -> Self {
        match name {
            "F32" => Dtype::Stored(StoredType::F32),
            "F16" => Dtype::Stored(StoredType::F16),
            "BF16" => Dtype::Stored(StoredType::BF16),
            other => Dtype::Foreign(Shown(other).to_string().into()),
        }
    }

    /// Bits of an element; `None` for a type this version does not know.
    fn bits(&self) -> Option<usize> {
        Some(match self {
            Dtype::Stored(ty) => ty.block_bytes() * 8,
            Dtype::Foreign(name) => match &**name {
                "F64" | "C64" | "I64" | "U64" => 64,
                "I32" | "U32" => 32,
                "I16" | "U16" => 16,
                "BOOL" | "I8" | "U8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
                "F6_E2M3" | "F6_E3M2" => 6,
                "F4" => 4,
                _ => return None,
            },
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtype::Stored(ty) => ty.fmt(f),
            Dtype::Foreign(name) => f.write_str(name),
        }
    }
}

/// Reads and checks the header of a file: tensors in the order of their data, which they fill without gaps or overlaps.
pub(super) fn read(file: &FileData, path: &Path) -> Result<Vec<Row>> {
    let malformed = |what: fmt::Arguments<'_>| Error::format(format!("{}: {what}", path.display()));
    let first = head(file, 9)?;
    let Some((len, rest)) = first.split_first_chunk::<8>() else {
        return Err(malformed(format_args!("{} bytes, expected at least the 8 of a safetensors header's length", file.len())));
    };
    let len = u64::from_le_bytes(*len);
    if len > LONGEST_HEADER || rest.first().is_some_and(|&byte| byte != b'{') {
        return Err(malformed(format_args!(
            "not a safetensors file: no header of at most {LONGEST_HEADER} bytes that starts with {{"
        )));
    }
    let begin = 8 + len as usize;
    if begin > file.len() {
        return Err(malformed(format_args!(
            "header: {len} bytes, but the file has {} after its length (truncated?)",
            file.len() - 8
        )));
    }
    let head = head(file, begin)?;
    let header = &head[8..begin];
    let data_len = (file.len() - begin) as u64;
    let json =
        std::str::from_utf8(header).map_err(|e| malformed(format_args!("header: not UTF-8 at byte {}", 8 + e.valid_up_to())))?;
    let mut raw = serde_json::from_str::<Table>(json).map_err(|e| malformed(format_args!("header: {e}")))?.0;
    for row in &raw {
        row.check_size().map_err(|what| malformed(format_args!("tensor {}: {what}", Shown(&row.name))))?;
    }
    raw.sort_by_key(|row| row.range);
    let declared = raw.iter().map(|row| row.range.1).max().unwrap_or(0);
    if declared > data_len {
        let expected = u128::from(declared) + begin as u128;
        return Err(malformed(format_args!("{} bytes, expected {expected} by the header (truncated?)", file.len())));
    }
    if declared < data_len {
        return Err(malformed(format_args!("{} bytes after the last tensor", data_len - declared)));
    }
    let mut next = 0;
    let mut rows = Vec::new();
    rows.try_reserve_exact(raw.len()).map_err(|_| Error::out_of_memory(format!("{}: {} tensors", path.display(), raw.len())))?;
    for row in raw {
        let (start, end) = row.range;
        if start != next {
            return Err(malformed(format_args!(
                "tensor {}: data_offsets start at {start}, expected {next}, where the data before it ends",
                Shown(&row.name)
            )));
        }
        next = end;
        // Within the data, whose end was compared above.
        rows.push(Row {
            name: row.name,
            dtype: row.dtype,
            shape: row.shape,
            start: begin + start as usize,
            len: (end - start) as usize,
        });
    }
    Ok(rows)
}

/// A tensor as the header has it.
struct RawRow {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    range: (u64, u64),
}

impl RawRow {
    fn check_size(&self) -> Result<(), String> {
        let (start, end) = self.range;
        let Some(found) = end.checked_sub(start) else {
            return Err(format!("data_offsets [{start}, {end}], expected the end not before the start"));
        };
        let elements = self.shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        let Some(elements) = elements.filter(|&n| n <= isize::MAX as usize) else {
            return Err(format!("shape {:?}: more elements than can be addressed", self.shape));
        };
        let Some(bits) = self.dtype.bits() else { return Ok(()) };
        let needed = elements as u128 * bits as u128;
        match needed == u128::from(found) * 8 {
            true => Ok(()),
            false => Err(format!(
                "shape {:?} of {} takes {} bytes, data_offsets [{start}, {end}] give {found}",
                self.shape,
                self.dtype,
                needed.div_ceil(8)
            )),
        }
    }
}

/// The whole header.
struct Table(Vec<RawRow>);

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from names to tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Table, M::Error> {
        let mut rows = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if name.len() > LONGEST_NAME {
                let shown = Shown(&name);
                return Err(M::Error::custom(format_args!(
                    "tensor {shown}: a name of {} bytes, expected at most {LONGEST_NAME}",
                    name.len()
                )));
            }
            if rows.len() == MOST_TENSORS {
                return Err(M::Error::custom(format_args!("more than {MOST_TENSORS} tensors in one file")));
            }
            rows.push(map.next_value_seed(RowSeed(name))?);
        }
        Ok(Table(rows))
    }
}

struct RowSeed(String);

#[derive(Deserialize)]
struct RawFields<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Shape,
    data_offsets: (u64, u64),
}

impl<'de> DeserializeSeed<'de> for RowSeed {
    type Value = RawRow;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawRow, D::Error> {
        match RawFields::deserialize(deserializer) {
            Ok(fields) => {
                Ok(RawRow { name: self.0, dtype: Dtype::of(&fields.dtype), shape: fields.shape.0, range: fields.data_offsets })
            }
            Err(e) => Err(D::Error::custom(format_args!("tensor {}: {e}", Shown(&self.0)))),
        }
    }
}

/// At most [`MOST_DIMENSIONS`] sizes.
struct Shape(Vec<usize>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a shape of at most {MOST_DIMENSIONS} sizes")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Shape, S::Error> {
        let mut shape = Vec::new();
        while let Some(size) = seq.next_element()? {
            if shape.len() == MOST_DIMENSIONS {
                return Err(S::Error::invalid_length(MOST_DIMENSIONS + 1, &self));
            }
            shape.push(size);
        }
        shape.shrink_to_fit();
        Ok(Shape(shape))
    }
}
