//! Reading little-endian values from the head of a file, every length checked against what is left.

use std::fmt::Display;
use std::path::Path;

use crate::error::{Error, Result};

/// A place in a file. Messages of its errors name the file, what was being read, and the byte.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Cursor<'a> {
    /// At byte `at`, which lies within `bytes`.
    pub(super) fn new(bytes: &'a [u8], at: usize, path: &'a Path) -> Self {
        Cursor { bytes, at: at.min(bytes.len()), path }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// What lies between here and `end`, a later place of the same file.
    pub(super) fn up_to(&self, end: &Cursor<'_>) -> &'a [u8] {
        self.bytes.get(self.at..end.at).unwrap_or_default()
    }

    /// A FORMAT error at this place of the file.
    pub(super) fn malformed(&self, what: impl Display) -> Error {
        Error::format(format!("{}: {what} (at byte {})", self.path.display(), self.at))
    }

    pub(super) fn take(&mut self, len: usize, what: impl Display) -> Result<&'a [u8]> {
        if len > self.left() {
            return Err(self.malformed(format_args!("{what}: {len} bytes, but the file has {} left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: impl Display) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self, what: impl Display) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: impl Display) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of things that take at least `smallest` bytes each: no more than the file has room for.
    pub(super) fn count(&mut self, smallest: usize, what: impl Display) -> Result<usize> {
        let count = self.u64(&what)?;
        let room = self.left() / smallest;
        match usize::try_from(count) {
            Ok(count) if count <= room => Ok(count),
            _ => Err(self.malformed(format_args!("{what}: {count}, but the file has room for {room}"))),
        }
    }

    /// A length, and that many bytes.
    pub(super) fn string(&mut self, what: impl Display) -> Result<&'a [u8]> {
        let len = self.u64(&what)?;
        match usize::try_from(len) {
            Ok(len) => self.take(len, what),
            Err(_) => Err(self.malformed(format_args!("{what}: a string of {len} bytes"))),
        }
    }
}
