//! An allocator that counts what the calling thread holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn take(bytes: usize) {
    HELD.set(HELD.get() + bytes as isize);
    PEAK.set(PEAK.get().max(HELD.get()));
}

fn give(bytes: usize) {
    HELD.set(HELD.get() - bytes as isize);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new are there together while one is copied.
        take(size);
        give(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What `work` gives, and the most memory that it held at a time.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).max(0) as usize)
}

#[test]
fn the_peak_counts_what_was_given_back_and_growth_twice() {
    let (_, peak) = peak_of(|| drop(std::hint::black_box(vec![0u8; 1 << 20])));
    assert_eq!(peak, 1 << 20);
    let (_, peak) = peak_of(|| {
        let mut bytes = std::hint::black_box(vec![0u8; 1 << 20]);
        bytes.reserve_exact(1 << 20);
        bytes
    });
    assert_eq!(peak, 3 << 20);
}
