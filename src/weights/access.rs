//! How the bytes of a weight file come into memory, and leave it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memmap2::Mmap;

use super::Bytes;
use crate::error::{Error, Result, Status};

/// How weight files are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped: pages come in as they are touched, are shared between processes, and cost no memory of their own. A mapped file that
    /// someone truncates while it is in use ends this process (SIGBUS), and one that is written into changes the model: use
    /// [`Access::Read`] where that can happen.
    #[default]
    Map,
    /// Read into memory. Safe whatever happens to the file.
    Read,
}

/// The whole of the file at `path`. Errors: NOT_FOUND, IO (no permission, not a regular file), OUT_OF_MEMORY when read.
pub(super) fn open(path: &Path, access: Access) -> Result<Bytes> {
    let (file, len) = open_file(path)?;
    match access {
        // An empty file cannot be mapped.
        Access::Map if len > 0 => {
            // SAFETY: the mapping is read-only and private to this process. That nobody truncates or writes the file meanwhile is
            // what the caller's choice of `Map` says, and what its documentation warns of.
            let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, &e))?;
            refuse_pointer(&map, path)?;
            Ok(Bytes::mapped(map))
        }
        _ => read_all(file, len, path).map(Bytes::from_vec),
    }
}

/// What a clone without Git LFS leaves in the place of a large file.
fn refuse_pointer(bytes: &[u8], path: &Path) -> Result<()> {
    match bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
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
    advise(bytes, Round::Inward, libc::MADV_DONTNEED);
}

/// Tells the system that `bytes` will be read from start to end soon. Nothing happens to bytes in memory of our own.
pub fn prefetch(bytes: &Bytes) {
    advise(bytes, Round::Outward, libc::MADV_WILLNEED);
}

#[derive(PartialEq)]
enum Round {
    /// Pages that lie wholly within: the rest may belong to a neighbour in use.
    Inward,
    Outward,
}

fn advise(bytes: &Bytes, round: Round, advice: libc::c_int) {
    if !bytes.is_mapped() || bytes.is_empty() {
        return;
    }
    let page = page_size();
    let (start, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + bytes.len());
    let (start, end) = match round {
        Round::Inward => (start.next_multiple_of(page), end / page * page),
        Round::Outward => (start / page * page, end),
    };
    if start < end {
        // SAFETY: the range lies within the pages of a live, read-only file mapping, whose contents neither advice changes. Should
        // the system refuse the advice, nothing is lost.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, advice) };
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
        let file = open(&path, Access::Map).unwrap();
        std::fs::remove_file(&path).unwrap();
        prefetch(&file);
        assert_eq!(&file[..], &contents[..]);
        assert_eq!(present_pages(&file), 16);
        // 10 whole pages, and parts of two that a neighbour may use.
        release_pages(&file.slice(2 * page + 100, 11 * page).unwrap());
        assert_eq!(present_pages(&file), 6);
        assert_eq!(&file[..], &contents[..]);
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
