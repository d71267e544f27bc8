//! Running text work where the stack is deep enough, whatever thread the host calls from.

use std::cell::Cell;
use std::panic::resume_unwind;

use crate::error::{Error, Result};
use crate::threads::start_scoped;

/// Enough for the template engine at its recursion limit and for backtracking in a pre-tokenizer's pattern.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` on a thread with a stack of 8 MiB and returns what it returns; a panic in `f` goes on in the caller. Hosts call from
/// threads of any stack size, and templates and tokenizers recurse.
///
/// A call from within `f` runs at once. Costs a thread start, tens of microseconds.
///
/// Errors: what `f` returns; OUT_OF_MEMORY where the system refuses a thread.
pub fn on_deep_stack<T: Send>(f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if IS_DEEP.get() {
        return f();
    }
    std::thread::scope(|scope| {
        let deep = || {
            IS_DEEP.set(true);
            f()
        };
        match start_scoped(scope, "text", STACK_BYTES, deep) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(e) => Err(Error::out_of_memory(format!("thread for text work: {e}, expected a stack of {STACK_BYTES} bytes"))),
        }
    })
}

/// Runs `deep` as [`on_deep_stack`] does and `here` meanwhile on this thread. Both end before it returns, in panics too.
pub fn on_deep_stack_beside<T: Send, U>(
    deep: impl FnOnce() -> Result<T> + Send,
    here: impl FnOnce() -> Result<U>,
) -> (Result<T>, Result<U>) {
    std::thread::scope(|scope| {
        let started = start_scoped(scope, "text", STACK_BYTES, || {
            IS_DEEP.set(true);
            deep()
        });
        let here = here();
        let deep = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(e) => Err(Error::out_of_memory(format!("thread for text work: {e}, expected a stack of {STACK_BYTES} bytes"))),
        };
        (deep, here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recurses through about 4 MiB of stack.
    fn recurse(depth: u32) -> u64 {
        let frame = std::hint::black_box([u64::from(depth); 512]);
        if depth == 0 { frame[0] } else { recurse(depth - 1) + frame[511] }
    }

    #[test]
    fn deep_work_runs_from_a_shallow_thread() {
        let shallow = std::thread::Builder::new().stack_size(64 << 10);
        let answer = shallow.spawn(|| on_deep_stack(|| Ok(recurse(1000))).unwrap()).unwrap().join().unwrap();
        assert_eq!(answer, 500_500);
    }

    #[test]
    fn nested_calls_stay_on_one_thread_and_errors_come_back() {
        let ids = on_deep_stack(|| {
            let outer = std::thread::current().id();
            on_deep_stack(|| Ok((outer, std::thread::current().id())))
        });
        let (outer, inner) = ids.unwrap();
        assert_eq!(outer, inner);
        assert_eq!(on_deep_stack(|| Err::<(), _>(Error::invalid("no"))).unwrap_err().message(), "no");
    }

    #[test]
    fn work_beside_the_deep_stack_stays_on_its_thread() {
        let own = std::thread::current().id();
        let (deep, here) = on_deep_stack_beside(|| Ok(std::thread::current().id()), || Ok(std::thread::current().id()));
        assert_eq!(here.unwrap(), own);
        assert_ne!(deep.unwrap(), own);
        let (deep, here) = on_deep_stack_beside(|| Ok(1), || Err::<(), _>(Error::invalid("no")));
        assert!(deep.is_ok() && here.is_err());
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        let caught = std::panic::catch_unwind(|| on_deep_stack(|| -> Result<()> { resume_unwind(Box::new("deep")) }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"deep"));
    }
}
