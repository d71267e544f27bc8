//! What a fork does to process-wide state.
//!
//! After a fork the child has only the thread that forked: locks may be held by threads that are gone, and the parent's workers
//! do not exist. So every process-wide value lives in a [`PerProcess`]: the child abandons the parent's and starts with a new one.
//! The child handler only stores to atomics, which is all that is allowed there.

use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Values to abandon in a child: addresses of `PerProcess` pointers. A handful exist.
static REGISTERED: [AtomicPtr<AtomicPtr<()>>; 4] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 4];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The first generation of handles this process made itself; 0 where it is no fork of a process that used the library.
static FIRST_OF_CHILD: AtomicU64 = AtomicU64::new(0);
static HANDLER: Once = Once::new();

/// A process-wide value that a forked child does not share with its parent. Never freed: it lives as long as its process.
pub(super) struct PerProcess<T: 'static> {
    value: AtomicPtr<T>,
    make: fn() -> T,
    registered: Once,
}

impl<T: Send + Sync> PerProcess<T> {
    pub(super) const fn new(make: fn() -> T) -> Self {
        PerProcess { value: AtomicPtr::new(std::ptr::null_mut()), make, registered: Once::new() }
    }

    pub(super) fn get(&'static self) -> &'static T {
        let current = self.value.load(Ordering::Acquire);
        if current.is_null() {
            return self.create();
        }
        // SAFETY: only `create` stores a non-null pointer, to a leaked box.
        unsafe { &*current }
    }

    #[cold]
    fn create(&'static self) -> &'static T {
        self.registered.call_once(|| {
            let at = COUNT.fetch_add(1, Ordering::Relaxed);
            // An `AtomicPtr<T>` is laid out as a pointer whatever T is; the child stores null through it and nothing else.
            REGISTERED[at].store((&raw const self.value).cast_mut().cast(), Ordering::Release);
            HANDLER.call_once(|| {
                // SAFETY: the handler is a function of this library that touches atomics only. On failure (out of memory) a
                // child is not told apart from its parent; nothing else depends on it.
                unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            });
        });
        let fresh = Box::into_raw(Box::new((self.make)()));
        match self.value.compare_exchange(std::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked above.
            Ok(_) => unsafe { &*fresh },
            Err(winner) => {
                // SAFETY: `fresh` was not published; `winner` is another call's leaked box.
                unsafe {
                    drop(Box::from_raw(fresh));
                    &*winner
                }
            }
        }
    }
}

/// Whether a handle of this generation was made by a process this one was forked from.
pub(super) fn inherited(generation: u64) -> bool {
    generation < FIRST_OF_CHILD.load(Ordering::Acquire)
}

extern "C" fn in_child() {
    FIRST_OF_CHILD.store(super::handle::next_generation(), Ordering::Release);
    for slot in &REGISTERED {
        let value = slot.load(Ordering::Acquire);
        if !value.is_null() {
            // SAFETY: points at the `value` field of a static.
            unsafe { (*value).store(std::ptr::null_mut(), Ordering::Release) };
        }
    }
}
