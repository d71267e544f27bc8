//! Memory that costs nothing until it is written: KV pools, scratch, logits.

use memmap2::MmapMut;

use crate::error::{Error, Result};

/// Zeroed, page-aligned bytes, backed by physical memory page by page as they are first touched.
pub(super) struct LazyBytes {
    map: Option<MmapMut>,
    start: *mut u8,
    len: usize,
}

// SAFETY: the mapping is owned; who accesses which part is the business of those who take addresses from it.
unsafe impl Send for LazyBytes {}
// SAFETY: as above.
unsafe impl Sync for LazyBytes {}

impl LazyBytes {
    /// `what` names the memory in the error. Errors: OUT_OF_MEMORY with the bytes needed and free.
    pub(super) fn zeroed(len: usize, what: &str) -> Result<Self> {
        if len == 0 {
            return Ok(LazyBytes { map: None, start: std::ptr::NonNull::<u64>::dangling().as_ptr().cast(), len });
        }
        let refused = |e: &dyn std::fmt::Display| {
            let free = free_bytes().map_or_else(|| "an unknown number".to_owned(), |n| n.to_string());
            Error::out_of_memory(format!("{what}: {len} bytes needed, {free} free: {e}"))
        };
        if len > isize::MAX as usize {
            return Err(refused(&"larger than the address space"));
        }
        let mut map = MmapMut::map_anon(len).map_err(|e| refused(&e))?;
        let start = map.as_mut_ptr();
        Ok(LazyBytes { map: Some(map), start, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first byte; dangling where there are none.
    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Asks for huge pages, where memory is going to be used as a whole.
    pub(super) fn expect_use(&self) {
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map {
            // Refusal changes speed only.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = &self.map;
    }
}

/// Physical memory the system could give out now.
pub(super) fn free_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: reads system constants.
        let (pages, size) = unsafe { (libc::sysconf(libc::_SC_AVPHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        Some(u64::try_from(pages).ok()? * u64::try_from(size).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn memory_is_zero_and_an_impossible_size_is_refused_by_name() {
        let memory = LazyBytes::zeroed(100_000, "test").unwrap();
        // SAFETY: the bytes are there and nobody else has their address.
        let bytes = unsafe { std::slice::from_raw_parts(memory.start(), memory.len()) };
        assert!(bytes.iter().all(|&b| b == 0));
        assert_eq!(LazyBytes::zeroed(0, "none").unwrap().len(), 0);
        let error = LazyBytes::zeroed(1 << 62, "keys and values").err().unwrap();
        assert_eq!(error.status(), Status::OutOfMemory);
        assert!(error.message().starts_with("keys and values: 4611686018427387904 bytes needed, "), "{error}");
    }
}
