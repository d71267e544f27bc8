//! The border between C and Rust: the only place that catches panics, sets the last error and turns a `Result` into a status.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::handle::{self, Handle, Health};
use super::{fpenv, panics};
use crate::error::{Error, Result, Status};

thread_local! {
    static LAST_ERROR: RefCell<Option<LastError>> = const { RefCell::new(None) };
    /// The floating-point environment of the host, for its callbacks.
    static HOST_FPENV: Cell<Option<u64>> = const { Cell::new(None) };
    /// Callbacks of the host that are running on this thread.
    static CALLBACKS: Cell<u32> = const { Cell::new(0) };
}

/// The failure a thread saw last, with its message as C reads it.
pub(super) struct LastError {
    pub(super) error: Error,
    /// NUL-terminated.
    pub(super) text: Vec<u8>,
}

/// One call from C. The first handle it resolves is its subject: a failure is readable from there too, on any thread.
#[derive(Default)]
pub(super) struct Call {
    subject: RefCell<Option<Arc<Health>>>,
}

impl Call {
    /// What `handle` stands for, or INVALID_ARGUMENT naming the parameter.
    pub(super) fn get<H: Handle>(&self, handle: *const H, name: &str) -> Result<Arc<H::Object>> {
        let (object, health) = handle::resolve(handle, name)?;
        self.subject.borrow_mut().get_or_insert(health);
        #[cfg(feature = "testing")]
        forced::panic_if(&forced::AFTER_HANDLE);
        Ok(object)
    }
}

/// Runs the body of a function that answers with a status.
pub(super) fn boundary(body: impl FnOnce(&Call) -> Result<()>) -> i32 {
    match run(body) {
        Ok(()) => Status::Ok as i32,
        Err(status) => status as i32,
    }
}

/// Runs the body of a predicate: 1 or 0, and 0 with the last error set where it fails.
pub(super) fn predicate(body: impl FnOnce(&Call) -> Result<bool>) -> i32 {
    run(body).map_or(0, i32::from)
}

fn run<T>(body: impl FnOnce(&Call) -> Result<T>) -> Result<T, Status> {
    let call = Call::default();
    let fpenv = fpenv::ours();
    let before = HOST_FPENV.replace(Some(fpenv.before()));
    let outcome = panics::catching(|| {
        #[cfg(feature = "testing")]
        forced::panic_if(&forced::AT_ENTRY);
        body(&call)
    });
    HOST_FPENV.set(before);
    let error = match outcome {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(panic) => {
            if let Some(health) = &*call.subject.borrow() {
                health.poison(panic.message());
            }
            panic
        }
    };
    if let Some(health) = &*call.subject.borrow() {
        health.record(&error);
    }
    let status = error.status();
    set_last_error(error);
    Err(status)
}

/// Calls the host, in the floating-point environment it had when it called us.
pub(super) fn callback<T>(call: impl FnOnce() -> T) -> T {
    let _environment = HOST_FPENV.get().map(fpenv::hosts);
    CALLBACKS.set(CALLBACKS.get() + 1);
    let answer = call();
    CALLBACKS.set(CALLBACKS.get() - 1);
    answer
}

/// Whether this thread is inside a callback of the host.
pub(super) fn in_callback() -> bool {
    CALLBACKS.get() > 0
}

fn set_last_error(error: Error) {
    let mut text = error.message().as_bytes().to_vec();
    text.push(0);
    // A thread that is ending has no place for an error any more.
    let _ = LAST_ERROR.try_with(|last| last.replace(Some(LastError { error, text })));
}

pub(super) fn with_last_error<T>(read: impl FnOnce(Option<&LastError>) -> T) -> T {
    let mut read = Some(read);
    let answer = LAST_ERROR.try_with(|last| read.take().map(|read| read(last.borrow().as_ref()))).ok().flatten();
    match (answer, read) {
        (Some(answer), _) => answer,
        (None, Some(read)) => read(None),
        (None, None) => unreachable!("`read` is taken only where it is called"),
    }
}

pub(super) fn clear_last_error() {
    let _ = LAST_ERROR.try_with(RefCell::take);
}

/// Panics that tests ask for (FIELD_CASES 132).
#[cfg(feature = "testing")]
mod forced {
    use std::cell::Cell;
    use std::thread::LocalKey;

    thread_local! {
        pub(super) static AT_ENTRY: Cell<bool> = const { Cell::new(false) };
        pub(super) static AFTER_HANDLE: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn panic_if(wanted: &'static LocalKey<Cell<bool>>) {
        if wanted.replace(false) {
            panic!("forced by a test");
        }
    }
}

/// Makes the next entry of this thread panic inside.
#[cfg(feature = "testing")]
pub fn panic_at_next_entry() {
    forced::AT_ENTRY.set(true);
}

/// Makes the next entry of this thread that takes a handle panic once it has looked it up.
#[cfg(feature = "testing")]
pub fn panic_after_first_handle() {
    forced::AFTER_HANDLE.set(true);
}
