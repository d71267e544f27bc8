//! How the bytes of a weight file come into memory, and leave it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

use super::{Bytes, FileData};
use crate::error::{Error, Result, Status};

/// How weight files are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped: pages come in as they are touched, are shared between processes, and cost no memory of their own. A mapped file that
    /// someone truncates while it is in use ends this process (SIGBUS), and one that is written into changes the model: use
    /// [`Access::Read`] where that can happen.
    #[default]
    Map,
    /// Read piece by piece, as weights are packed, into memory of our own. Safe whatever happens to the file: if it becomes shorter
    /// meanwhile, loading fails with a status, and a model that has been loaded no longer needs it.
    Read,
}

/// The whole of the file at `path`. Errors: NOT_FOUND, IO (no permission, not a regular file), FORMAT (a Git LFS pointer).
pub(super) fn open(path: &Path, access: Access) -> Result<FileData> {
    let (file, len) = open_file(path)?;
    match access {
        // An empty file cannot be mapped.
        Access::Map if len > 0 => {
            // SAFETY: the mapping is read-only and private to this process. That nobody truncates or writes the file meanwhile is
            // what the caller's choice of `Map` says, and what its documentation warns of.
            let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, &e))?;
            refuse_pointer(&map, path)?;
            Ok(Bytes::mapped(map).into())
        }
        _ => {
            let data = FileData::in_file(file, len, path);
            refuse_pointer(&head(&data, LFS_POINTER.len())?, path)?;
            Ok(data)
        }
    }
}

/// The first `len` bytes of a file, or all of a shorter one.
pub(super) fn head(data: &FileData, len: usize) -> Result<Bytes> {
    if let Some(bytes) = data.in_memory() {
        return Ok(bytes.clone());
    }
    let len = len.min(data.len());
    if len == 0 {
        return Ok(Bytes::from_vec(Vec::new()));
    }
    // Pages of its own, and not the allocator's, which would keep them for later once they are done with.
    let mut memory = MmapMut::map_anon(len).map_err(|e| Error::out_of_memory(format!("{len} bytes of a file's head: {e}")))?;
    data.read_into(0, &mut memory)?;
    Ok(Bytes::new(Arc::new(memory)))
}

const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// What a clone without Git LFS leaves in the place of a large file.
fn refuse_pointer(bytes: &[u8], path: &Path) -> Result<()> {
    match bytes.starts_with(LFS_POINTER) {
        true => {
            Err(Error::format(format!("{}: a Git LFS pointer and not the file itself: git lfs pull fetches it", path.display())))
        }
        false => Ok(()),
    }
}

/// The contents of a small file. Errors besides those of [`open`]: FORMAT where it is larger than `limit` bytes.
pub(super) fn read_small(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let (file, len) = open_file(path)?;
    if len > limit {
        return Err(Error::format(format!("{}: {len} bytes, expected at most {limit}", path.display())));
    }
    read_all(file, len, path)
}

fn open_file(path: &Path) -> Result<(File, usize)> {
    let io = |e| Error::io(path, &e);
    // Without O_NONBLOCK a pipe in the file's place would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        return Err(Error::new(Status::Io, format!("{}: {found}, expected a file", path.display())));
    }
    let len = usize::try_from(metadata.len());
    len.map(|len| (file, len)).map_err(|_| Error::out_of_memory(format!("{}: too large to address", path.display())))
}

fn read_all(file: File, len: usize, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Error::out_of_memory(format!("{}: {len} bytes", path.display())))?;
    file.take(len as u64).read_to_end(&mut bytes).map_err(|e| Error::io(path, &e))?;
    refuse_pointer(&bytes, path)?;
    Ok(bytes)
}

/// Tells the system that `bytes` will not be read again soon, as after they were packed: whole pages of a mapped file stop counting
/// as this process's memory. They stay readable, at the cost of fetching them again. Nothing happens to bytes in memory of our own.
pub fn release_pages(bytes: &Bytes) {
    if !bytes.is_mapped() || bytes.is_empty() {
        return;
    }
    let page = page_size();
    let (start, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + bytes.len());
    // Pages that lie wholly within: the rest may belong to a neighbour in use.
    let (start, end) = (start.next_multiple_of(page), end / page * page);
    if start < end {
        // SAFETY: the range lies within the pages of a live, read-only file mapping, whose contents the advice does not change. Should
        // the system refuse it, nothing is lost.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(1 << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a mapping that are in memory for this process: bit 63 of the page map's words.
    fn present_pages(bytes: &[u8]) -> usize {
        use std::os::unix::fs::FileExt;
        let page = page_size();
        let first = bytes.as_ptr() as usize / page;
        let last = (bytes.as_ptr() as usize + bytes.len() - 1) / page;
        let file = File::open("/proc/self/pagemap").unwrap();
        let mut words = vec![0; (last - first + 1) * 8];
        file.read_exact_at(&mut words, first as u64 * 8).unwrap();
        words.chunks_exact(8).filter(|word| word[7] & 0x80 != 0).count()
    }

    #[test]
    fn released_pages_leave_the_process_and_stay_readable() {
        let page = page_size();
        let path = std::env::temp_dir().join(format!("tactus-release-{}", std::process::id()));
        let contents: Vec<u8> = (0..16 * page).map(|i| (i / 7) as u8).collect();
        std::fs::write(&path, &contents).unwrap();
        let file = open(&path, Access::Map).unwrap().in_memory().unwrap().clone();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&file[..], &contents[..]);
        assert_eq!(present_pages(&file), 16);
        // 10 whole pages, and parts of two that a neighbour may use.
        release_pages(&file.slice(2 * page + 100, 11 * page).unwrap());
        assert_eq!(present_pages(&file), 6);
        assert_eq!(&file[..], &contents[..]);
    }

    #[test]
    fn a_file_that_has_become_shorter_is_an_io_error() {
        let path = std::env::temp_dir().join(format!("tactus-shorter-{}", std::process::id()));
        std::fs::write(&path, [7; 100]).unwrap();
        let data = open(&path, Access::Read).unwrap();
        assert_eq!((data.len(), data.is_mapped()), (100, false));
        assert_eq!(&*data.slice(90, 10).unwrap().read().unwrap(), &[7; 10]);
        assert!(data.slice(91, 10).is_none() && data.slice(usize::MAX, 2).is_none());
        std::fs::write(&path, [7; 50]).unwrap();
        let error = data.slice(40, 20).unwrap().read().unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.status(), Status::Io);
        assert!(error.message().contains("20 bytes from byte 40"), "{error}");
    }

    #[test]
    fn memory_of_our_own_is_never_given_away() {
        let bytes = Bytes::from_vec((0..5 * page_size()).map(|i| i as u8).collect());
        release_pages(&bytes);
        assert!(bytes.iter().enumerate().all(|(i, &b)| b == i as u8));
    }

    #[test]
    fn a_pipe_in_a_files_place_is_refused_and_not_waited_for() {
        let path = std::env::temp_dir().join(format!("tactus-pipe-{}", std::process::id()));
        let c_path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a valid path.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        let refused = open(&path, Access::Map).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refused.status(), Status::Io);
        assert!(refused.message().contains("not a regular file"), "{refused}");
    }
}
