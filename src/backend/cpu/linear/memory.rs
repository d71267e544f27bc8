//! Memory for tiles and activation rows: aligned, zeroed, refused with a status instead of an abort.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};

const ALIGNMENT: usize = 64;
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed bytes aligned to a cache line (to a huge page from 2 MiB on, and advised to be backed by such).
#[derive(Debug)]
pub struct AlignedBytes {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned and has no interior mutability; it is reached through `&self` and `&mut self` like a `Vec<u8>`.
unsafe impl Send for AlignedBytes {}
// SAFETY: as above.
unsafe impl Sync for AlignedBytes {}

impl AlignedBytes {
    /// `what` names the memory in the error. Errors: OUT_OF_MEMORY with the byte count.
    pub fn zeroed(bytes: usize, what: &str) -> Result<Self> {
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
        let refused = || Error::out_of_memory(format!("{what}: {bytes} bytes could not be allocated"));
        let layout = Layout::from_size_align(bytes.max(ALIGNMENT), align).map_err(|_| refused())?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        #[cfg(target_os = "linux")]
        if bytes >= HUGE_PAGE {
            // SAFETY: the range was just allocated. Advice may be refused, which changes nothing but speed.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes & !(HUGE_PAGE - 1), libc::MADV_HUGEPAGE) };
        }
        Ok(AlignedBytes { start, layout })
    }

    pub fn len(&self) -> usize {
        self.layout.size()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl std::ops::Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the allocation holds `len` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len()) }
    }
}

impl std::ops::DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
