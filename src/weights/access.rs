//! How the bytes of a weight file come into memory, and leave it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::Bytes;
use crate::error::{Error, Result, Status};

/// How weight files are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped: pages come in as they are touched and cost nothing twice. A mapped file that another process truncates while it is
    /// in use ends this process with SIGBUS; use [`Access::Read`] where that can happen.
    #[default]
    Map,
    /// Read into memory. Safe whatever happens to the file.
    Read,
}

struct Mapping(Mmap);

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The whole of the file at `path`. Errors: NOT_FOUND, IO (no permission, a directory), OUT_OF_MEMORY when read.
pub fn open(path: &Path, access: Access) -> Result<Bytes> {
    let mut file = File::open(path).map_err(|e| Error::io(path, &e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, &e))?;
    if !metadata.is_file() {
        return Err(Error::new(Status::Io, format!("{}: not a file", path.display())));
    }
    let len =
        usize::try_from(metadata.len()).map_err(|_| Error::out_of_memory(format!("{}: too large to address", path.display())))?;
    if access == Access::Map && len > 0 {
        // SAFETY: the mapping is read-only and private to this process; that nobody truncates the file meanwhile is what the
        // caller's choice of `Map` says, and documents.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, &e))?;
        return Ok(Bytes::mapped(Arc::new(Mapping(map))));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(format!("{}: {len} bytes", path.display())))?;
    file.by_ref().take(len as u64).read_to_end(&mut bytes).map_err(|e| Error::io(path, &e))?;
    Ok(Bytes::from_vec(bytes))
}

/// Tells the system that `bytes` will not be read again soon: their pages of a mapped file stop counting as this process's
/// memory. They stay readable, at the cost of another read. Nothing happens to bytes that were read into memory.
pub fn release_pages(bytes: &Bytes) {
    advise(bytes, libc::MADV_DONTNEED);
}

/// Tells the system that `bytes` will be read from start to end soon.
pub fn prefetch(bytes: &Bytes) {
    advise(bytes, libc::MADV_WILLNEED);
}

fn advise(bytes: &Bytes, advice: libc::c_int) {
    const PAGE: usize = 4096;
    if !bytes.is_mapped() {
        return;
    }
    let start = (bytes.as_ptr() as usize).next_multiple_of(PAGE);
    let end = (bytes.as_ptr() as usize + bytes.len()) / PAGE * PAGE;
    if end > start {
        // SAFETY: the range lies within a live file mapping; for a read-only mapping both pieces of advice leave its contents as
        // they are.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, advice) };
    }
}
