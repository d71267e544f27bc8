//! The tensor table of a GGUF file: one row per tensor, each checked, then placed in the data.

use std::path::Path;

use super::cursor::Cursor;
use super::types::stored_type;
use super::value::try_collect;
use crate::error::{Error, Result};
use crate::weights::shown::Shown;
use crate::weights::{FileData, StoredTensor};

/// A tensor's row is at least a name's length, one byte, a dimension count, a dimension, type and offset.
const SMALLEST_ROW: usize = 8 + 1 + 4 + 8 + 4 + 8;
const MOST_DIMENSIONS: u32 = 4;
/// Names in use have some 30 bytes; llama.cpp takes 63.
const LONGEST_NAME: usize = 255;
/// The largest models have some thousands. The limit bounds what a malformed file can make us keep.
pub(super) const MOST_TENSORS: usize = 16_384;

/// A tensor of a file.
#[derive(Debug)]
pub(super) enum Entry {
    Stored(StoredTensor),
    /// Its type is not one of ours, which is told when it is asked for.
    Foreign {
        name: String,
        shape: Vec<usize>,
        number: u32,
    },
}

impl Entry {
    pub(super) fn name(&self) -> &str {
        match self {
            Entry::Stored(tensor) => &tensor.name,
            Entry::Foreign { name, .. } => name,
        }
    }

    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Entry::Stored(tensor) => &tensor.shape,
            Entry::Foreign { shape, .. } => shape,
        }
    }
}

/// A row, before its place in the file is known.
struct Row {
    name: String,
    /// Outermost first; the file has it the other way round.
    shape: Vec<usize>,
    elements: usize,
    number: u32,
    offset: u64,
}

pub(super) fn count(cursor: &mut Cursor<'_>) -> Result<usize> {
    let count = cursor.count(SMALLEST_ROW, "tensor count")?;
    match count <= MOST_TENSORS {
        true => Ok(count),
        false => Err(cursor.malformed(format_args!("tensor count: {count}, expected at most {MOST_TENSORS}"))),
    }
}

/// Reads `count` rows and places their tensors in `file`, whose head `cursor` reads. Also gives the end of the last tensor, where
/// all types are known.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    count: usize,
    alignment: usize,
    file: &FileData,
    path: &Path,
) -> Result<(Vec<Entry>, Option<usize>)> {
    let mut rows = Vec::new();
    rows.try_reserve_exact(count).map_err(|_| Error::out_of_memory(format!("{}: {count} tensors", path.display())))?;
    for index in 0..count {
        rows.push(Row::read(cursor, index, count)?);
    }
    let data = cursor.position().next_multiple_of(alignment);
    let mut entries = Vec::new();
    entries.try_reserve_exact(count).map_err(|_| Error::out_of_memory(format!("{}: {count} tensors", path.display())))?;
    for row in rows {
        entries.push(row.place(file, data, alignment as u64, path)?);
    }
    let end = refuse_overlaps(&entries, file, path)?;
    Ok((entries, end))
}

impl Row {
    fn read(cursor: &mut Cursor<'_>, index: usize, count: usize) -> Result<Self> {
        let what = format_args!("tensor {} of {count}", index + 1);
        let name = cursor.string(what)?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(cursor.malformed(format_args!("{what}: a name of {} bytes, expected 1 to {LONGEST_NAME}", name.len())));
        }
        let name = std::str::from_utf8(name).map_err(|_| cursor.malformed(format_args!("{what}: the name is not UTF-8")))?;
        let shown = format_args!("tensor {}", Shown(name)).to_string();
        let dimensions = cursor.u32(format_args!("{shown}: dimension count"))?;
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(cursor.malformed(format_args!("{shown}: {dimensions} dimensions, expected 1 to {MOST_DIMENSIONS}")));
        }
        let mut shape = Vec::with_capacity(dimensions as usize);
        let mut elements = 1usize;
        for dimension in 0..dimensions {
            let size = cursor.u64(format_args!("{shown}: dimension {dimension}"))?;
            let fits = usize::try_from(size).ok().filter(|&size| size > 0);
            let product = fits.and_then(|size| elements.checked_mul(size)).filter(|&n| n <= isize::MAX as usize);
            let (Some(size), Some(product)) = (fits, product) else {
                return Err(cursor.malformed(format_args!(
                    "{shown}: dimension {dimension}: {size}, expected at least 1, and less than 2^63 elements in all"
                )));
            };
            elements = product;
            shape.push(size);
        }
        shape.reverse();
        let number = cursor.u32(format_args!("{shown}: type"))?;
        let offset = cursor.u64(format_args!("{shown}: offset"))?;
        Ok(Row { name: name.to_owned(), shape, elements, number, offset })
    }

    fn place(self, file: &FileData, data: usize, alignment: u64, path: &Path) -> Result<Entry> {
        let Row { name, shape, elements, number, offset } = self;
        let malformed =
            |what: &dyn std::fmt::Display| Error::format(format!("{}: tensor {}: {what}", path.display(), Shown(&name)));
        if offset % alignment != 0 {
            return Err(malformed(&format_args!("offset {offset}, expected a multiple of {alignment}")));
        }
        let Some(ty) = stored_type(number) else { return Ok(Entry::Foreign { name, shape, number }) };
        let columns = shape.last().copied().unwrap_or(1);
        if !columns.is_multiple_of(ty.block_elements()) {
            let block = ty.block_elements();
            return Err(malformed(&format_args!("rows of {columns} values of type {ty}, expected a multiple of {block}")));
        }
        let Some(len) = ty.bytes_for(elements) else {
            return Err(malformed(&format_args!("{elements} values of type {ty} are more bytes than can be addressed")));
        };
        let start = usize::try_from(offset).ok().and_then(|offset| data.checked_add(offset));
        let Some(data) = start.and_then(|start| file.slice(start, len)) else {
            return Err(malformed(&format_args!(
                "{len} bytes at offset {offset} of the data, which starts at byte {data}; the file has {} bytes (truncated?)",
                file.len()
            )));
        };
        Ok(Entry::Stored(StoredTensor { name, ty, shape, data }))
    }
}

/// Two tensors in the same bytes: one of the offsets is wrong, and the model would load and be wrong.
fn refuse_overlaps(entries: &[Entry], file: &FileData, path: &Path) -> Result<Option<usize>> {
    let ranges = entries.iter().filter_map(|entry| match entry {
        Entry::Stored(tensor) => Some((tensor.data.start() - file.start(), tensor.data.len(), tensor.name.as_str())),
        Entry::Foreign { .. } => None,
    });
    let mut ranges = try_collect(ranges, "tensors")?;
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let ((start, len, name), (next, _, other)) = (pair[0], pair[1]);
        if next < start + len {
            return Err(Error::format(format!(
                "{}: tensor {}: its data starts at byte {next}, within tensor {} at {start}..{}",
                path.display(),
                Shown(other),
                Shown(name),
                start + len
            )));
        }
    }
    let all_known = ranges.len() == entries.len();
    Ok(ranges.last().filter(|_| all_known).map(|(start, len, _)| start + len))
}
