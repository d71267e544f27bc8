//! The one way in which this library starts threads: named, and with the host's signals kept away from them.
//!
//! Their names begin with `tactus-`, by which a panic on them is told from the host's.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

fn builder(name: &str, stack_bytes: Option<usize>) -> Builder {
    let builder = Builder::new().name(format!("tactus-{name}"));
    stack_bytes.into_iter().fold(builder, Builder::stack_size)
}

/// Starts a thread `tactus-NAME` with a stack of `stack_bytes`, or of the standard library's default.
pub(crate) fn start<T: Send + 'static>(
    name: &str,
    stack_bytes: Option<usize>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    without_signals(|| builder(name, stack_bytes).spawn(work))
}

/// As [`start`], for work that borrows.
pub(crate) fn start_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    without_signals(|| builder(name, Some(stack_bytes)).spawn_scoped(scope, work))
}

/// Runs `start` with all asynchronous signals blocked on this thread, so that threads it starts never run a host's handler.
/// Faults (SIGSEGV and its like) stay deliverable: they belong to the thread that causes them.
#[cfg(unix)]
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
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
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        // SAFETY: reads this thread's mask into a set of its own.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set);
            libc::sigismember(&set, signal) == 1
        }
    }

    /// FIELD_CASES 154: a host's handler must not run on our threads, and the thread that starts them stays as it was.
    #[test]
    fn threads_block_asynchronous_signals_and_their_starter_does_not() {
        let host = [libc::SIGINT, libc::SIGTERM, libc::SIGALRM, libc::SIGCHLD, libc::SIGUSR1, libc::SIGPROF];
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE];
        let look = move || {
            let name = std::thread::current().name().map(String::from);
            (name, host.into_iter().all(is_blocked), faults.into_iter().any(is_blocked))
        };
        let expected = (Some("tactus-t".to_string()), true, false);
        assert_eq!(start("t", None, look).unwrap().join().unwrap(), expected);
        let scoped = std::thread::scope(|scope| start_scoped(scope, "t", 64 << 10, look).unwrap().join().unwrap());
        assert_eq!(scoped, expected);
        assert!(!host.into_iter().any(is_blocked));
    }
}
