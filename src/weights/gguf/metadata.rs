//! The key-value part of a GGUF file.
//!
//! Format: the GGUF specification (`docs/gguf.md` in the ggml repository).

use std::path::{Path, PathBuf};

use super::cursor::Cursor;
use super::value::{Strings, Value, try_collect};
use crate::error::{Error, Result};
use crate::weights::Bytes;
use crate::weights::access::release_pages;
use crate::weights::shown::Shown;

/// All keys of a file. Getters give `None` for a missing key, and a FORMAT error that names file, key, value and expectation for one of
/// another type. Integers of any width are taken where they fit.
///
/// Only the keys' places are kept; values are read from the file's bytes when they are asked for.
#[derive(Clone, Debug)]
pub struct Metadata {
    bytes: Bytes,
    path: PathBuf,
    /// Sorted by key.
    keys: Vec<Place>,
}

/// Where a key and its value lie.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: usize,
    len: u32,
    kind: u32,
    value: usize,
}

/// The longest key the specification allows.
const LONGEST_KEY: usize = 65_535;
/// A key's entry is at least its length, one byte, a type and a value.
const SMALLEST_KEY: usize = 8 + 1 + 4 + 1;
/// Files have some dozens. The limit bounds what a malformed one can make us keep.
const MOST_KEYS: usize = 65_536;

impl Metadata {
    pub(super) fn count(cursor: &mut Cursor<'_>) -> Result<usize> {
        let count = cursor.count(SMALLEST_KEY, "key count")?;
        match count <= MOST_KEYS {
            true => Ok(count),
            false => Err(cursor.malformed(format_args!("key count: {count}, expected at most {MOST_KEYS}"))),
        }
    }

    pub(super) fn release(&self) {
        release_pages(&self.bytes);
    }

    /// `bytes` is the file that `cursor` reads.
    pub(super) fn read(cursor: &mut Cursor<'_>, count: usize, bytes: &Bytes, path: &Path) -> Result<Self> {
        let mut keys = try_collect((0..count).map(|_| Place { key: 0, len: 0, kind: 0, value: 0 }), "keys")?;
        for (index, place) in keys.iter_mut().enumerate() {
            let what = format_args!("key {} of {count}", index + 1);
            let key = cursor.string(what)?;
            if key.is_empty() || key.len() > LONGEST_KEY {
                return Err(cursor.malformed(format_args!("{what}: {} bytes, expected 1 to {LONGEST_KEY}", key.len())));
            }
            let name = std::str::from_utf8(key).map_err(|_| cursor.malformed(format_args!("{what}: not UTF-8")))?;
            let start = cursor.position() - key.len();
            let kind = cursor.u32(format_args!("{}: value type", Shown(name)))?;
            *place = Place { key: start, len: key.len() as u32, kind, value: cursor.position() };
            Value::read(cursor, kind, name)?;
        }
        keys.sort_unstable_by(|a, b| a.name(bytes).cmp(b.name(bytes)));
        if let Some(twice) = keys.windows(2).find(|pair| pair[0].name(bytes) == pair[1].name(bytes)) {
            let key = Shown(twice[0].name(bytes));
            return Err(Error::format(format!("{}: key {key} occurs twice", path.display())));
        }
        Ok(Metadata { bytes: bytes.clone(), path: path.to_path_buf(), keys })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|place| place.name(&self.bytes))
    }

    pub fn get(&self, key: &str) -> Option<Value<'_>> {
        let index = self.keys.binary_search_by(|place| place.name(&self.bytes).cmp(key)).ok()?;
        let place = self.keys[index];
        Value::read(&mut Cursor::new(&self.bytes, place.value, &self.path), place.kind, key).ok()
    }

    fn typed<'a, T>(&'a self, key: &str, expected: &str, convert: impl FnOnce(Value<'a>) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| self.refuse(key, value.describe(), expected))
    }

    fn refuse(&self, key: &str, value: impl std::fmt::Display, expected: &str) -> Error {
        Error::format(format!("{}: {}: {value}, expected {expected}", self.path.display(), Shown(key)))
    }

    pub fn u64(&self, key: &str) -> Result<Option<u64>> {
        self.typed(key, "an integer of 0 or more", |value| match value {
            Value::Integer(value) => u64::try_from(value).ok(),
            _ => None,
        })
    }

    pub fn u32(&self, key: &str) -> Result<Option<u32>> {
        self.typed(key, "an integer of 0 to 4294967295", |value| match value {
            Value::Integer(value) => u32::try_from(value).ok(),
            _ => None,
        })
    }

    /// A size: at most 32 bits.
    pub fn usize(&self, key: &str) -> Result<Option<usize>> {
        Ok(self.u32(key)?.map(|value| value as usize))
    }

    /// Integers are taken as well. Not-a-number and infinities are refused.
    pub fn f32(&self, key: &str) -> Result<Option<f32>> {
        self.typed(key, "a finite number", |value| match value {
            Value::Float(value) => Some(value as f32).filter(|v| v.is_finite()),
            Value::Integer(value) => Some(value as f32),
            _ => None,
        })
    }

    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "a bool", |value| match value {
            Value::Bool(value) => Some(value),
            _ => None,
        })
    }

    pub fn str(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "a UTF-8 string", |value| match value {
            Value::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        })
    }

    pub fn strings(&self, key: &str) -> Result<Option<Strings<'_>>> {
        self.typed(key, "an array of strings", |value| match value {
            Value::Strings(values) => Some(values),
            _ => None,
        })
    }

    /// Integers of any width in 64 bits. Errors besides: OUT_OF_MEMORY.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<i64>>> {
        let array = self.typed(key, "an array of integers", |value| match value {
            Value::Integers(values) => Some(values),
            _ => None,
        })?;
        let Some(array) = array else { return Ok(None) };
        if let Some((index, value)) = array.iter().enumerate().find(|(_, value)| i64::try_from(*value).is_err()) {
            return Err(self.refuse(key, format_args!("{value} at index {index}"), "integers of 64 bits with a sign"));
        }
        try_collect(array.iter().map(|value| value as i64), Shown(key)).map(Some)
    }

    /// Errors besides: OUT_OF_MEMORY.
    pub fn floats(&self, key: &str) -> Result<Option<Vec<f32>>> {
        let array = self.typed(key, "an array of floats", |value| match value {
            Value::Floats(values) => Some(values),
            _ => None,
        })?;
        array.map(|array| try_collect(array.iter(), Shown(key))).transpose()
    }

    /// Errors besides: OUT_OF_MEMORY.
    pub fn bools(&self, key: &str) -> Result<Option<Vec<bool>>> {
        let array = self.typed(key, "an array of bools", |value| match value {
            Value::Bools(values) => Some(values),
            _ => None,
        })?;
        array.map(|array| try_collect(array.iter(), Shown(key))).transpose()
    }

    /// A missing key as an error.
    pub fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| Error::format(format!("{}: {key} is missing", self.path.display())))
    }
}

impl Place {
    /// UTF-8 was checked when the file was opened; a mapped file may have been written into since.
    fn name(self, bytes: &Bytes) -> &str {
        bytes.get(self.key..self.key + self.len as usize).and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
    }
}
