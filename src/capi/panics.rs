//! Panics of this library: caught, worded, never printed.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Threads of this library are named with this prefix; their panics are caught where they are joined.
const THREAD_PREFIX: &str = "tactus";

/// Runs `body`; a panic in it becomes an INTERNAL error with the panic's text and place.
pub(super) fn catching<T>(body: impl FnOnce() -> T) -> Result<T> {
    quiet_hook();
    INSIDE.set(INSIDE.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(INSIDE.get() - 1);
    outcome.map_err(internal)
}

fn internal(payload: Box<dyn Any + Send>) -> Error {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => text,
        None => payload.downcast_ref::<String>().map_or("a panic without a text", String::as_str),
    };
    let place = PLACE.try_with(RefCell::take).ok().flatten().map_or(String::new(), |place| format!(" at {place}"));
    let error = Error::internal(format!("internal error{place}: {text}"));
    // A payload's own drop may panic.
    if catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        tracing::error!("a panic's payload panicked when it was dropped");
    }
    error
}

/// Replaces the panic hook by one that leaves the host's panics to the hook before it and prints nothing for ours.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let ours = INSIDE.get() > 0 || std::thread::current().name().is_some_and(|name| name.starts_with(THREAD_PREFIX));
            if !ours {
                return before(info);
            }
            let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
            tracing::error!(place = place.as_deref().unwrap_or("unknown"), "a panic inside the library");
            let _ = PLACE.try_with(|at| at.replace(place));
        }));
    });
}
