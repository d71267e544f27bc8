//! Masks of guided sequences, computed while the model runs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::decoding::Guide;
use crate::threads::start;

/// A thread that prepares guides. Started with the first guided sequence; parsers may recurse deeper than a host's stack allows.
pub(super) struct MaskWorker {
    jobs: Option<Sender<(u32, Box<Guide>)>>,
    done: Receiver<(u32, Box<Guide>)>,
    out: usize,
    thread: Option<JoinHandle<()>>,
}

const STACK: usize = 8 << 20;

impl MaskWorker {
    pub(super) fn start() -> std::io::Result<Self> {
        let (jobs, todo) = channel::<(u32, Box<Guide>)>();
        let (finished, done) = channel();
        let work = move || {
            for (seat, mut guide) in todo {
                guide.prepare();
                if finished.send((seat, guide)).is_err() {
                    break;
                }
            }
        };
        let thread = start("masks", Some(STACK), work)?;
        Ok(MaskWorker { jobs: Some(jobs), done, out: 0, thread: Some(thread) })
    }

    /// Hands a seat's guide over. It comes back at once where the worker is gone.
    pub(super) fn give(&mut self, seat: u32, guide: Box<Guide>) -> Result<(), Box<Guide>> {
        let Some(jobs) = &self.jobs else { return Err(guide) };
        jobs.send((seat, guide)).map_err(|refused| refused.0.1)?;
        self.out += 1;
        Ok(())
    }

    /// The next guide that is ready; `None` when all are back, or when the worker has died with the rest.
    pub(super) fn take(&mut self) -> Option<(u32, Box<Guide>)> {
        if self.out == 0 {
            return None;
        }
        match self.done.recv() {
            Ok(ready) => {
                self.out -= 1;
                Some(ready)
            }
            Err(_) => {
                self.out = 0;
                self.jobs = None;
                None
            }
        }
    }
}

impl Drop for MaskWorker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
