//! Keeps the host's signals away from our threads.

/// Runs `start` with all asynchronous signals blocked on this thread, so that threads it starts never run a host's handler.
/// Faults (SIGSEGV and its like) stay deliverable: they belong to the thread that causes them.
#[cfg(unix)]
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set was filled in by `pthread_sigmask`.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
        }
    }
    // SAFETY: signal sets are plain data, filled in by the calls below before they are read.
    let restore = unsafe {
        let mut block: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut block);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT] {
            libc::sigdelset(&mut block, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &block, &mut before);
        Restore(before)
    };
    let started = start();
    drop(restore);
    started
}

#[cfg(not(unix))]
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}
