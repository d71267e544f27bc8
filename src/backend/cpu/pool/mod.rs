//! A persistent team of threads that runs one job at a time, all members together.
//!
//! Owns: the threads, how they wait, the barrier between the stages of a job. Never: what a job computes.
//!
//! The caller of [`Pool::run`] is member 0; the other members are threads named `tactus-cpu-N`. Members keep spinning for a short
//! while between stages and between jobs and then sleep, so an idle pool costs nothing. Nothing allocates after creation.

mod fp_env;
mod gate;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub(crate) use fp_env::FpEnv;
use gate::Gate;

use crate::error::{Error, Result, Status};
use crate::threads::start;

/// Most threads a pool may have.
pub const MAX_THREADS: usize = 512;

/// Most threads a pool has when their number is left open.
pub const MAX_DEFAULT_THREADS: usize = 64;

/// Looks at a condition before a member goes to sleep: some 100 µs, longer than the caller needs between two decode steps.
const SPINS: u32 = 8_000;

/// Another member panicked; the job is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

type Job<'a> = dyn Fn(&Member<'_>) -> Result<(), Abandoned> + Sync + 'a;

/// A value on cache lines of its own (two: the adjacent line is fetched with it).
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

struct Shared {
    members: usize,
    /// Counts jobs; a change starts the workers.
    epoch: Apart<AtomicU32>,
    start: Gate,
    /// The job of this epoch. Written by the caller before the epoch moves, read by workers after.
    job: UnsafeCell<Option<*const Job<'static>>>,
    stopping: AtomicBool,

    /// Workers that are through with the job.
    finished: Apart<AtomicUsize>,
    all_finished: Gate,

    arrived: Apart<AtomicUsize>,
    /// Counts barriers; a change lets the members on.
    generation: Apart<AtomicU32>,
    barrier: Gate,
    /// Hands out the work of the current stage.
    next: Apart<AtomicUsize>,

    abandoned: AtomicBool,
    panic: Mutex<Option<String>>,
}

// SAFETY: `job` is the only field without its own synchronisation. It is written while no worker runs a job (they are between
// `finished` and the next `epoch`), and read after an acquiring look at `epoch`. What it points to is `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// One of the threads that run a job.
pub struct Member<'a> {
    pub index: usize,
    pub count: usize,
    shared: &'a Shared,
}

impl Member<'_> {
    /// This member's share of `0..items`: contiguous, shares differ by at most one.
    pub fn share(&self, items: usize) -> std::ops::Range<usize> {
        share(items, self.index, self.count)
    }

    /// Takes the next `chunk` of `0..items` that no member has taken since the last barrier.
    #[inline]
    pub fn claim(&self, items: usize, chunk: usize) -> Option<std::ops::Range<usize>> {
        let next = &self.shared.next.0;
        if next.load(Ordering::Relaxed) >= items {
            return None;
        }
        let start = next.fetch_add(chunk, Ordering::Relaxed);
        (start < items).then(|| start..items.min(start + chunk))
    }

    /// Waits until all members are here. The last one runs `alone` before it lets the others on.
    #[inline]
    pub fn meet(&self, alone: impl FnOnce()) -> Result<(), Abandoned> {
        let shared = self.shared;
        if self.count == 1 {
            alone();
            shared.next.0.store(0, Ordering::Relaxed);
            return Ok(());
        }
        let generation = shared.generation.0.load(Ordering::Relaxed);
        if shared.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            alone();
            shared.next.0.store(0, Ordering::Relaxed);
            shared.arrived.0.store(0, Ordering::Relaxed);
            shared.generation.0.store(generation.wrapping_add(1), Ordering::SeqCst);
            shared.barrier.ring();
            return Ok(());
        }
        shared
            .barrier
            .wait(SPINS, || shared.generation.0.load(Ordering::SeqCst) != generation || shared.abandoned.load(Ordering::SeqCst));
        if shared.generation.0.load(Ordering::SeqCst) == generation { Err(Abandoned) } else { Ok(()) }
    }
}

/// The part of `0..items` that falls to `index` of `count`.
fn share(items: usize, index: usize, count: usize) -> std::ops::Range<usize> {
    let (each, more) = (items / count, items % count);
    let start = index * each + index.min(more);
    start..start + each + usize::from(index < more)
}

impl Shared {
    /// Runs the job as member `index`; a panic is kept for the caller and frees whoever waits at the barrier.
    fn take_part(&self, index: usize, job: &Job<'_>) {
        let member = Member { index, count: self.members, shared: self };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(&member))) {
            let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            panic.get_or_insert_with(|| text_of(&*payload));
            drop(panic);
            self.abandoned.store(true, Ordering::SeqCst);
            self.barrier.ring();
        }
    }

    fn work(&self, index: usize) {
        let _env = FpEnv::enter();
        let mut seen = 0;
        loop {
            self.start.wait(SPINS, || self.epoch.0.load(Ordering::SeqCst) != seen || self.stopping.load(Ordering::SeqCst));
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            seen = self.epoch.0.load(Ordering::SeqCst);
            // SAFETY: the caller wrote the job before it moved the epoch, and keeps it alive until this worker has finished.
            if let Some(job) = unsafe { *self.job.get() } {
                // SAFETY: as above.
                self.take_part(index, unsafe { &*job });
            }
            self.finished.0.fetch_add(1, Ordering::SeqCst);
            self.all_finished.ring();
        }
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

/// The threads of a CPU backend. Dropping it ends and joins them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the caller whose job runs.
    turn: Mutex<()>,
    process: u32,
}

impl Pool {
    /// A pool of `threads` members; 0 takes as many as the process may run on (its affinity and its cgroup), at most
    /// [`MAX_DEFAULT_THREADS`].
    ///
    /// Errors: INVALID_ARGUMENT above [`MAX_THREADS`]; OUT_OF_MEMORY where the system refuses a thread.
    pub fn new(threads: usize) -> Result<Self> {
        let members = match threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_DEFAULT_THREADS),
            n if n > MAX_THREADS => return Err(Error::invalid(format!("CPU threads: {n}, expected at most {MAX_THREADS}"))),
            n => n,
        };
        let shared = Arc::new(Shared {
            members,
            epoch: Apart::default(),
            start: Gate::default(),
            job: UnsafeCell::new(None),
            stopping: AtomicBool::new(false),
            finished: Apart::default(),
            all_finished: Gate::default(),
            arrived: Apart::default(),
            generation: Apart::default(),
            barrier: Gate::default(),
            next: Apart::default(),
            abandoned: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let mut pool =
            Pool { shared, workers: Vec::with_capacity(members - 1), turn: Mutex::new(()), process: std::process::id() };
        for index in 1..members {
            let shared = pool.shared.clone();
            let started = start(&format!("cpu-{index}"), None, move || shared.work(index));
            pool.workers.push(started.map_err(|e| Error::out_of_memory(format!("thread tactus-cpu-{index} of {members}: {e}")))?);
        }
        Ok(pool)
    }

    /// Members, the caller included.
    pub fn threads(&self) -> usize {
        self.shared.members
    }

    /// Runs `job` on all members and returns when all are through. Jobs of several callers run one after the other. Must not be
    /// called from inside a job.
    ///
    /// Errors: INTERNAL where a member panicked (the pool stays usable); FORKED in a child process, which has no such threads.
    pub fn run(&self, job: &Job<'_>) -> Result<()> {
        if std::process::id() != self.process {
            return Err(Error::new(Status::Forked, "the process forked: this child has none of the threads that compute"));
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let env = FpEnv::enter();
        let shared = &*self.shared;
        shared.next.0.store(0, Ordering::Relaxed);
        if shared.members > 1 {
            shared.finished.0.store(0, Ordering::Relaxed);
            let erased: *const Job<'_> = job;
            // SAFETY: only the lifetime changes; no worker touches the job after `all_finished` below. Workers are idle, so
            // nobody reads the cell now.
            unsafe { *shared.job.get() = Some(std::mem::transmute::<*const Job<'_>, *const Job<'static>>(erased)) };
            shared.epoch.0.fetch_add(1, Ordering::SeqCst);
            shared.start.ring();
        }
        shared.take_part(0, job);
        if shared.members > 1 {
            let workers = shared.members - 1;
            shared.all_finished.wait(SPINS, || shared.finished.0.load(Ordering::SeqCst) == workers);
            // SAFETY: all workers have finished and wait for the next epoch.
            unsafe { *shared.job.get() = None };
        }
        let panicked = self.clear_fault();
        drop(env);
        drop(turn);
        match panicked {
            Some(message) => Err(Error::internal(format!("a CPU thread panicked: {message}"))),
            None => Ok(()),
        }
    }

    /// Puts the barrier back in order after a job that was given up.
    fn clear_fault(&self) -> Option<String> {
        let shared = &*self.shared;
        if !shared.abandoned.load(Ordering::SeqCst) {
            return None;
        }
        shared.abandoned.store(false, Ordering::SeqCst);
        shared.arrived.0.store(0, Ordering::SeqCst);
        let mut panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
        Some(panic.take().unwrap_or_default())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // The threads are the parent's; joining them here would wait for ever.
            self.workers.drain(..).for_each(std::mem::forget);
            return;
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.start.ring();
        for worker in self.workers.drain(..) {
            // A worker catches its panics, so there is nothing to hear from it.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests;
