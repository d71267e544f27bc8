//! Waiting for a condition that another thread makes true: a bounded spin, then sleep.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The sleeping half of a condition kept in atomics elsewhere.
///
/// The condition must be read and written with `SeqCst`: a waiter announces itself before it looks a last time, a ringer looks for
/// waiters after it has written, so one of the two sees the other.
#[derive(Default)]
pub(super) struct Gate {
    sleepers: AtomicU32,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Gate {
    /// Returns once `open` is true, after at most `spins` looks followed by sleep.
    #[inline]
    pub(super) fn wait(&self, spins: u32, open: impl Fn() -> bool) {
        for _ in 0..spins {
            if open() {
                return;
            }
            spin_loop();
        }
        self.sleep(open);
    }

    #[cold]
    fn sleep(&self, open: impl Fn() -> bool) {
        let mut guard = self.lock();
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !open() {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the sleepers. Call after the write that opens the gate.
    #[inline]
    pub(super) fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock());
            self.bell.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
