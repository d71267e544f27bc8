//! Log lines for the host: by callback, or from a queue that it polls.
//!
//! The library logs through `tracing`. In a host that is not Rust the subscriber here is the only one; in a Rust program that
//! has a subscriber already, that one receives our events and registering here is refused.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

use super::args::{TextZ, UserData, choice, out, out_pointer};
use super::boundary::{boundary, callback};
use super::fork::PerProcess;
use super::handle;
use super::string::tactus_string_t;
use crate::error::{Error, Result};

/// No lines.
pub const TACTUS_LOG_OFF: i32 = 0;
/// What failed. It is also told by a status.
pub const TACTUS_LOG_ERROR: i32 = 1;
/// What a user should know although nothing failed.
pub const TACTUS_LOG_WARN: i32 = 2;
/// What was loaded, created, chosen.
pub const TACTUS_LOG_INFO: i32 = 3;
/// What each request does.
pub const TACTUS_LOG_DEBUG: i32 = 4;
/// What each step does.
pub const TACTUS_LOG_TRACE: i32 = 5;

/// Receives a log line: its level (TACTUS_LOG_ERROR and up), `text_len` bytes of UTF-8 without a line break at the end and with a
/// NUL after them, and the pointer given at registration. The text lives until the callback returns.
pub type tactus_log_callback_t =
    Option<unsafe extern "C" fn(level: i32, text: *const c_char, text_len: usize, user_data: *mut c_void)>;

/// Sends log lines up to `max_level` to `log_callback`, instead of the callback before. A null `log_callback`, or TACTUS_LOG_OFF,
/// ends it.
///
/// The callback runs on the thread that logs, on several at once where several work, and should return soon. It may call any
/// function of this library; lines logged inside it are dropped. When this function returns, the callback before is not running
/// (but for the caller's own, where this is called from inside it) and will never be called again. A forked child starts
/// without a callback. The polling alternative is tactus_log_pop.
///
/// Errors: INVALID_ARGUMENT; STATE in a Rust program that has installed a `tracing` subscriber of its own, which receives the lines.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_log_set_callback(
    max_level: i32,
    log_callback: tactus_log_callback_t,
    user_data: *mut c_void,
) -> i32 {
    boundary(|_| {
        let level = level(max_level)?;
        let sink = log_callback
            .filter(|_| level != TACTUS_LOG_OFF)
            .map(|call| Arc::new(Sink { level, call, user_data: UserData(user_data), running: AtomicU64::new(0) }));
        if sink.is_some() {
            install()?;
        }
        LOG.get().replace_sink(sink);
        Ok(())
    })
}

/// Keeps the last `capacity` log lines up to `max_level` for tactus_log_pop; older ones are dropped. 0, or TACTUS_LOG_OFF, ends it
/// and forgets the lines.
///
/// Errors and threads: as tactus_log_set_callback.
#[unsafe(no_mangle)]
pub extern "C" fn tactus_log_set_queue(max_level: i32, capacity: usize) -> i32 {
    boundary(|_| {
        let level = level(max_level)?;
        if level != TACTUS_LOG_OFF && capacity != 0 {
            install()?;
        }
        LOG.get().set_queue(if capacity == 0 { TACTUS_LOG_OFF } else { level }, capacity);
        Ok(())
    })
}

/// Takes the oldest line from the queue. `*out_text` is owned by the caller; where there is none, it is null and `*out_level`
/// TACTUS_LOG_OFF.
///
/// Errors: INVALID_ARGUMENT. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_log_pop(out_level: *mut i32, out_text: *mut *mut tactus_string_t) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let (level, text) = unsafe { (out(out_level, "out_level")?, out_pointer(out_text, "out_text")?) };
        let line = LOG.get().queue().lines.pop_front();
        level.set(line.as_ref().map_or(TACTUS_LOG_OFF, |line| line.0));
        if let Some((_, line)) = line {
            text.set(handle::give::<tactus_string_t>(line)?);
        }
        Ok(())
    })
}

fn level(value: i32) -> Result<i32> {
    const LEVELS: &[(i32, &str, i32)] = &[
        (TACTUS_LOG_OFF, "TACTUS_LOG_OFF", TACTUS_LOG_OFF),
        (TACTUS_LOG_ERROR, "TACTUS_LOG_ERROR", TACTUS_LOG_ERROR),
        (TACTUS_LOG_WARN, "TACTUS_LOG_WARN", TACTUS_LOG_WARN),
        (TACTUS_LOG_INFO, "TACTUS_LOG_INFO", TACTUS_LOG_INFO),
        (TACTUS_LOG_DEBUG, "TACTUS_LOG_DEBUG", TACTUS_LOG_DEBUG),
        (TACTUS_LOG_TRACE, "TACTUS_LOG_TRACE", TACTUS_LOG_TRACE),
    ];
    choice(value, "max_level", LEVELS)
}

/// Where lines go. Lines up to `level`, the higher of the two receivers', are worded; the others cost one load.
struct Log {
    level: AtomicI32,
    sink: Mutex<Option<Arc<Sink>>>,
    /// Signalled when a sink that is being replaced has one running call less.
    idle: (Mutex<()>, Condvar),
    queue: Mutex<Queue>,
}

struct Sink {
    level: i32,
    call: unsafe extern "C" fn(i32, *const c_char, usize, *mut c_void),
    user_data: UserData,
    running: AtomicU64,
}

#[derive(Default)]
struct Queue {
    level: i32,
    capacity: usize,
    lines: VecDeque<(i32, TextZ)>,
}

static LOG: PerProcess<Log> = PerProcess::new(|| Log {
    level: AtomicI32::new(TACTUS_LOG_OFF),
    sink: Mutex::default(),
    idle: (Mutex::default(), Condvar::new()),
    queue: Mutex::default(),
});

thread_local! {
    /// Calls of the host's callback on this thread.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
}

impl Log {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    fn replace_sink(&self, sink: Option<Arc<Sink>>) {
        let before = std::mem::replace(&mut *lock(&self.sink), sink);
        self.update_level();
        let Some(before) = before else { return };
        let own = INSIDE.get();
        let mut guard = lock(&self.idle.0);
        while before.running.load(Ordering::Acquire) > own {
            guard = self.idle.1.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set_queue(&self, level: i32, capacity: usize) {
        let mut queue = self.queue();
        queue.level = level;
        queue.capacity = if level == TACTUS_LOG_OFF { 0 } else { capacity };
        let excess = queue.lines.len().saturating_sub(queue.capacity);
        queue.lines.drain(..excess);
        drop(queue);
        self.update_level();
    }

    fn update_level(&self) {
        let level = lock(&self.sink).as_ref().map_or(TACTUS_LOG_OFF, |sink| sink.level).max(self.queue().level);
        self.level.store(level, Ordering::Release);
        tracing::callsite::rebuild_interest_cache();
    }

    fn line(&self, level: i32, text: &str) {
        // A sink counts as running from before the lock that `replace_sink` takes is free again.
        let sink = {
            let sink = lock(&self.sink);
            let wanted = sink.as_ref().filter(|sink| level <= sink.level && INSIDE.get() == 0).cloned();
            if let Some(sink) = &wanted {
                sink.running.fetch_add(1, Ordering::AcqRel);
            }
            wanted
        };
        if let Some(sink) = sink {
            let text = TextZ::new(text);
            INSIDE.set(INSIDE.get() + 1);
            // SAFETY: the host's function, under the contract it was registered with; it is registered until `running` is 0.
            callback(|| unsafe { (sink.call)(level, text.as_ptr(), text.len(), sink.user_data.0) });
            INSIDE.set(INSIDE.get() - 1);
            let _guard = lock(&self.idle.0);
            sink.running.fetch_sub(1, Ordering::AcqRel);
            self.idle.1.notify_all();
        }
        let mut queue = self.queue();
        if level <= queue.level && queue.capacity > 0 {
            if queue.lines.len() == queue.capacity {
                queue.lines.pop_front();
            }
            queue.lines.push_back((level, TextZ::new(text)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes our subscriber the process's, once.
fn install() -> Result<()> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if *INSTALLED.get_or_init(|| tracing::subscriber::set_global_default(Router).is_ok()) {
        return Ok(());
    }
    Err(Error::state("another `tracing` subscriber is installed in this process; it receives the library's events"))
}

/// Hands our own events to [`Log`]. Spans are not kept.
struct Router;

fn number(level: &Level) -> i32 {
    match *level {
        Level::ERROR => TACTUS_LOG_ERROR,
        Level::WARN => TACTUS_LOG_WARN,
        Level::INFO => TACTUS_LOG_INFO,
        Level::DEBUG => TACTUS_LOG_DEBUG,
        Level::TRACE => TACTUS_LOG_TRACE,
    }
}

fn is_ours(target: &str) -> bool {
    target.strip_prefix("tactus").is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl Subscriber for Router {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && is_ours(metadata.target()) && number(metadata.level()) <= LOG.get().level.load(Ordering::Acquire)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match LOG.get().level.load(Ordering::Acquire) {
            TACTUS_LOG_OFF => LevelFilter::OFF,
            TACTUS_LOG_ERROR => LevelFilter::ERROR,
            TACTUS_LOG_WARN => LevelFilter::WARN,
            TACTUS_LOG_INFO => LevelFilter::INFO,
            TACTUS_LOG_DEBUG => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        LOG.get().line(number(event.metadata().level()), &(line.message + &line.fields));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// An event as a line: the message, then ` name=value` for each field.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_of_this_crate_are_ours() {
        assert!(is_ours("tactus") && is_ours("tactus::rank"));
        assert!(!is_ours("tactusx") && !is_ours("tokenizers::models"));
    }
}
