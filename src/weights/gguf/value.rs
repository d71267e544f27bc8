//! Values of metadata, read where they lie.
//!
//! Nothing is copied: vocabularies have hundreds of thousands of strings, and a file could claim more than memory holds.

use std::fmt::Display;

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::weights::shown::Shown;

/// A value, borrowed from the file. Strings are bytes: vocabularies hold pieces that are not UTF-8.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Any of the integer types.
    Integer(i128),
    Float(f64),
    Bool(bool),
    String(&'a [u8]),
    Integers(Integers<'a>),
    Floats(Floats<'a>),
    Bools(Bools<'a>),
    Strings(Strings<'a>),
    /// An array of so many arrays. No key in use has one; a file may hold them.
    Nested(usize),
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

/// Arrays within arrays that are followed.
const DEEPEST: usize = 4;

impl<'a> Value<'a> {
    /// Reads the value of type `kind` at the cursor, which ends up behind it. Every length, count and type is checked.
    pub(super) fn read(cursor: &mut Cursor<'a>, kind: u32, key: &str) -> Result<Self> {
        let name = Shown(key);
        Ok(match kind {
            kind::STRING => Value::String(cursor.string(name)?),
            kind::ARRAY => return Value::array(cursor, key, 1),
            kind::BOOL => Value::Bool(Bools::checked(cursor.take(1, name)?, cursor, key)?.bytes[0] != 0),
            kind::F32 | kind::F64 => Value::Float(float(kind, cursor.take(width(kind).unwrap_or(8), name)?)),
            _ => match width(kind) {
                Some(width) => Value::Integer(integer(kind, cursor.take(width, name)?)),
                None => return Err(cursor.malformed(format_args!("{name}: value type {kind}, expected 0 to 12"))),
            },
        })
    }

    fn array(cursor: &mut Cursor<'a>, key: &str, depth: usize) -> Result<Self> {
        let name = Shown(key);
        let kind = cursor.u32(format_args!("{name}: element type"))?;
        let what = format_args!("{name}: element count");
        match kind {
            kind::STRING => {
                let count = cursor.count(8, what)?;
                let start = *cursor;
                for index in 0..count {
                    cursor.string(format_args!("{name}[{index}]"))?;
                }
                Ok(Value::Strings(Strings { bytes: start.up_to(cursor), count }))
            }
            kind::ARRAY if depth == DEEPEST => Err(cursor.malformed(format_args!("{name}: arrays nested deeper than {DEEPEST}"))),
            kind::ARRAY => {
                let count = cursor.count(4 + 8, what)?;
                for _ in 0..count {
                    Value::array(cursor, key, depth + 1)?;
                }
                Ok(Value::Nested(count))
            }
            _ => {
                let Some(width) = width(kind) else {
                    return Err(cursor.malformed(format_args!("{name}: element type {kind}, expected 0 to 12")));
                };
                let count = cursor.count(width, what)?;
                let bytes = cursor.take(count * width, name)?;
                Ok(match kind {
                    kind::BOOL => Value::Bools(Bools::checked(bytes, cursor, key)?),
                    kind::F32 | kind::F64 => Value::Floats(Floats { kind, width, bytes }),
                    _ => Value::Integers(Integers { kind, width, bytes }),
                })
            }
        }
    }

    /// What it is, for messages: the value of a scalar, the type of the rest.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Bool(value) => value.to_string(),
            Value::String(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => format!("\"{}\"", Shown(text)),
                Err(_) => format!("a string of {} bytes that is not UTF-8", bytes.len()),
            },
            Value::Integers(values) => format!("an array of {} integers", values.len()),
            Value::Floats(values) => format!("an array of {} floats", values.len()),
            Value::Bools(values) => format!("an array of {} bools", values.len()),
            Value::Strings(values) => format!("an array of {} strings", values.len()),
            Value::Nested(count) => format!("an array of {count} arrays"),
        }
    }
}

/// An array of one of the integer types.
#[derive(Clone, Copy, Debug)]
pub struct Integers<'a> {
    kind: u32,
    width: usize,
    bytes: &'a [u8],
}

impl<'a> Integers<'a> {
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = i128> + use<'a> {
        let kind = self.kind;
        self.bytes.chunks_exact(self.width).map(move |bytes| integer(kind, bytes))
    }
}

/// An array of f32 or f64.
#[derive(Clone, Copy, Debug)]
pub struct Floats<'a> {
    kind: u32,
    width: usize,
    bytes: &'a [u8],
}

impl<'a> Floats<'a> {
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The values, those of f64 rounded.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        let kind = self.kind;
        self.bytes.chunks_exact(self.width).map(move |bytes| float(kind, bytes) as f32)
    }
}

/// An array of bools.
#[derive(Clone, Copy, Debug)]
pub struct Bools<'a> {
    bytes: &'a [u8],
}

impl<'a> Bools<'a> {
    fn checked(bytes: &'a [u8], cursor: &Cursor, key: &str) -> Result<Self> {
        match bytes.iter().find(|&&byte| byte > 1) {
            None => Ok(Bools { bytes }),
            Some(other) => Err(cursor.malformed(format_args!("{}: a bool of {other}, expected 0 or 1", Shown(key)))),
        }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = bool> + use<'a> {
        self.bytes.iter().map(|&byte| byte != 0)
    }
}

/// An array of strings. Their lengths lie between them, so that they are walked, not indexed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strings<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Strings<'a> {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> StringsIter<'a> {
        StringsIter { left: *self }
    }

    /// All of them, as references into the file.
    pub fn collect(&self) -> Result<Vec<&'a [u8]>> {
        try_collect(self.iter(), "strings")
    }
}

/// The strings of an array, in order.
#[derive(Clone, Debug)]
pub struct StringsIter<'a> {
    left: Strings<'a>,
}

impl<'a> Iterator for StringsIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // Lengths were checked when the file was opened. They are checked again since someone may have written into a mapped file.
        let (len, rest) = self.left.bytes.split_first_chunk::<8>()?;
        let (string, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        self.left.bytes = rest;
        self.left.count = self.left.count.saturating_sub(1);
        Some(string)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left.count))
    }
}

/// The values in a vector of their own. Errors: OUT_OF_MEMORY.
pub(super) fn try_collect<T>(values: impl Iterator<Item = T>, what: impl Display) -> Result<Vec<T>> {
    let count = values.size_hint().1.unwrap_or(0);
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| Error::out_of_memory(format!("{what}: {count} values")))?;
    vector.extend(values.take(count));
    Ok(vector)
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
