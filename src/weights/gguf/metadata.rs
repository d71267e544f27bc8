//! The key-value part of a GGUF file.
//!
//! Format: the GGUF specification (`docs/gguf.md` in the ggml repository). Strings are kept as bytes: vocabularies hold pieces that
//! are no UTF-8.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// A value. Arrays keep their element type; nested arrays are refused where they are read, none are in use.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any of the integer types and bool.
    Integer(i128),
    Float(f64),
    Bool(bool),
    String(Vec<u8>),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    Bools(Vec<bool>),
    Strings(Vec<Vec<u8>>),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a bool",
            Value::String(_) => "a string",
            Value::Integers(_) => "an array of integers",
            Value::Floats(_) => "an array of floats",
            Value::Bools(_) => "an array of bools",
            Value::Strings(_) => "an array of strings",
        }
    }
}

/// All keys of a file. Getters give `None` for a missing key and an error for one of another type.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    values: HashMap<String, Value>,
    path: PathBuf,
}

const LONGEST_KEY: usize = 65_535;

impl Metadata {
    pub(super) fn read(cursor: &mut Cursor<'_>, count: usize, path: &Path) -> Result<Self> {
        let mut values = HashMap::new();
        for index in 0..count {
            let what = format!("key {index} of {count}");
            let key = cursor.string(&what)?;
            if key.is_empty() || key.len() > LONGEST_KEY {
                return Err(cursor.malformed(format_args!("{what}: {} bytes, expected 1 to {LONGEST_KEY}", key.len())));
            }
            let key = std::str::from_utf8(key).map_err(|_| cursor.malformed(format_args!("{what}: not UTF-8")))?.to_string();
            let kind = cursor.u32(&key)?;
            let value = read_value(cursor, kind, &key)?;
            if values.contains_key(&key) {
                return Err(cursor.malformed(format_args!("{key}: occurs twice")));
            }
            values.insert(key, value);
        }
        Ok(Metadata { values, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    fn typed<'a, T>(&'a self, key: &str, expected: &str, convert: impl FnOnce(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        match convert(value) {
            Some(value) => Ok(Some(value)),
            None => {
                let shown = match value {
                    Value::Integer(value) => format!("{value}"),
                    Value::Float(value) => format!("{value}"),
                    other => other.kind().to_string(),
                };
                Err(Error::format(format!("{}: {key}: {shown}, expected {expected}", self.path.display())))
            }
        }
    }

    pub fn u64(&self, key: &str) -> Result<Option<u64>> {
        self.typed(key, "an integer of 0 or more", |value| match value {
            Value::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        })
    }

    pub fn u32(&self, key: &str) -> Result<Option<u32>> {
        self.typed(key, "an integer of 32 bits", |value| match value {
            Value::Integer(value) => u32::try_from(*value).ok(),
            _ => None,
        })
    }

    pub fn usize(&self, key: &str) -> Result<Option<usize>> {
        Ok(self.u32(key)?.map(|value| value as usize))
    }

    /// Integers are taken as well. Not-a-number and infinities are refused.
    pub fn f32(&self, key: &str) -> Result<Option<f32>> {
        self.typed(key, "a finite number", |value| match value {
            Value::Float(value) => Some(*value as f32).filter(|v| v.is_finite()),
            Value::Integer(value) => Some(*value as f32),
            _ => None,
        })
    }

    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "a bool", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    pub fn str(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "a UTF-8 string", |value| match value {
            Value::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        })
    }

    pub fn strings(&self, key: &str) -> Result<Option<&[Vec<u8>]>> {
        self.typed(key, "an array of strings", |value| match value {
            Value::Strings(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    pub fn integers(&self, key: &str) -> Result<Option<&[i64]>> {
        self.typed(key, "an array of integers", |value| match value {
            Value::Integers(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    pub fn floats(&self, key: &str) -> Result<Option<&[f32]>> {
        self.typed(key, "an array of floats", |value| match value {
            Value::Floats(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    pub fn bools(&self, key: &str) -> Result<Option<&[bool]>> {
        self.typed(key, "an array of bools", |value| match value {
            Value::Bools(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    /// A missing key as an error.
    pub fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| Error::format(format!("{}: {key} is missing", self.path.display())))
    }
}

/// Type numbers of the specification.
mod kind {
    pub const U8: u32 = 0;
    pub const I8: u32 = 1;
    pub const U16: u32 = 2;
    pub const I16: u32 = 3;
    pub const U32: u32 = 4;
    pub const I32: u32 = 5;
    pub const F32: u32 = 6;
    pub const BOOL: u32 = 7;
    pub const STRING: u32 = 8;
    pub const ARRAY: u32 = 9;
    pub const U64: u32 = 10;
    pub const I64: u32 = 11;
    pub const F64: u32 = 12;
}

fn width(kind: u32) -> Option<usize> {
    use kind::*;
    Some(match kind {
        U8 | I8 | BOOL => 1,
        U16 | I16 => 2,
        U32 | I32 | F32 => 4,
        U64 | I64 | F64 => 8,
        _ => return None,
    })
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn integer(kind: u32, bytes: &[u8]) -> i128 {
    let value = little(bytes);
    match kind {
        kind::I8 => i128::from(value as u8 as i8),
        kind::I16 => i128::from(value as u16 as i16),
        kind::I32 => i128::from(value as u32 as i32),
        kind::I64 => i128::from(value as i64),
        _ => i128::from(value),
    }
}

fn float(kind: u32, bytes: &[u8]) -> f64 {
    match kind {
        kind::F32 => f64::from(f32::from_bits(little(bytes) as u32)),
        _ => f64::from_bits(little(bytes)),
    }
}

fn read_value(cursor: &mut Cursor<'_>, kind: u32, key: &str) -> Result<Value> {
    Ok(match kind {
        kind::STRING => Value::String(cursor.string(key)?.to_vec()),
        kind::ARRAY => return read_array(cursor, key),
        kind::BOOL => Value::Bool(cursor.take(1, key)?[0] != 0),
        kind::F32 | kind::F64 => Value::Float(float(kind, cursor.take(if kind == kind::F32 { 4 } else { 8 }, key)?)),
        _ => match width(kind) {
            Some(width) => Value::Integer(integer(kind, cursor.take(width, key)?)),
            None => return Err(cursor.malformed(format_args!("{key}: value type {kind}, expected 0 to 12"))),
        },
    })
}

fn read_array(cursor: &mut Cursor<'_>, key: &str) -> Result<Value> {
    let kind = cursor.u32(key)?;
    // An element is at least a byte, a string at least its length: what cannot be there is not reserved for.
    if kind == kind::STRING {
        let count = cursor.count(key, cursor.left() / 8)?;
        let mut strings = Vec::new();
        strings.try_reserve_exact(count).map_err(|_| Error::out_of_memory(format!("{key}: {count} strings")))?;
        for _ in 0..count {
            strings.push(cursor.string(key)?.to_vec());
        }
        return Ok(Value::Strings(strings));
    }
    let Some(width) = width(kind) else {
        return Err(cursor.malformed(format_args!("{key}: an array of type {kind}, expected numbers, bools or strings")));
    };
    let count = cursor.count(key, cursor.left() / width)?;
    let elements = cursor.take(count * width, key)?.chunks_exact(width);
    Ok(match kind {
        kind::BOOL => Value::Bools(elements.map(|bytes| bytes[0] != 0).collect()),
        kind::F32 | kind::F64 => Value::Floats(elements.map(|bytes| float(kind, bytes) as f32).collect()),
        _ => Value::Integers(elements.map(|bytes| integer(kind, bytes) as i64).collect()),
    })
}
