//! Reading little-endian values from the head of a file, every length checked against what is left.

use std::path::Path;

use crate::error::{Error, Result};

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], path: &'a Path) -> Self {
        Cursor { bytes, at: 0, path }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// A FORMAT error at this place of the file.
    pub(super) fn malformed(&self, what: impl std::fmt::Display) -> Error {
        Error::format(format!("{}: {what} (at byte {})", self.path.display(), self.at))
    }

    pub(super) fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8]> {
        if len > self.left() {
            return Err(self.malformed(format_args!("{what}: {len} bytes, but the file has {} left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length or count: at most `most`.
    pub(super) fn count(&mut self, what: &str, most: usize) -> Result<usize> {
        let count = self.u64(what)?;
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(self.malformed(format_args!("{what}: {count}, expected at most {most}"))),
        }
    }

    pub(super) fn string(&mut self, what: &str) -> Result<&'a [u8]> {
        let len = self.u64(what)?;
        match usize::try_from(len) {
            Ok(len) => self.take(len, what),
            Err(_) => Err(self.malformed(format_args!("{what}: a string of {len} bytes"))),
        }
    }
}
