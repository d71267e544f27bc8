//! One dispatch: a loop over the rank's step until every sequence of a request has ended.
//!
//! Decides who is admitted, what each step runs, and who makes room when pages are short. Executes nothing itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::response::Timings;
use super::schedule::{Chunks, plan_step};
use crate::error::{Error, Result, Status};
use crate::rank::{Admission, RankRuntime, ResidentRef, Sequence, SequenceResult, StepPlan, StepResult};

pub(super) struct Dispatch<'a> {
    rank: &'a mut RankRuntime,
    chunks: Chunks,
    stop: &'a AtomicBool,
    waiting: VecDeque<Box<Sequence>>,
    /// Residents, longest resident first.
    seated: Vec<ResidentRef>,
    /// Every sequence of the request has had a seat.
    all_seated: bool,
    /// Someone was parked for want of pages: nobody is admitted until a resident ends. Admitting earlier would take the very
    /// pages the others were short of.
    full: bool,
    results: Vec<SequenceResult>,
    plan: StepPlan,
    step: StepResult,
    timings: Timings,
    prepared: Instant,
    started: Instant,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        rank: &'a mut RankRuntime,
        chunks: Chunks,
        stop: &'a AtomicBool,
        waiting: VecDeque<Box<Sequence>>,
        started: Instant,
    ) -> Self {
        let timings = Timings::for_seats(rank.limits().seats);
        Dispatch {
            rank,
            chunks,
            stop,
            results: Vec::with_capacity(waiting.len()),
            waiting,
            seated: Vec::new(),
            all_seated: false,
            full: false,
            plan: StepPlan::default(),
            step: StepResult::default(),
            timings,
            prepared: Instant::now(),
            started,
        }
    }

    /// Runs to the end. `boundary` is called before every step, and once more when nothing is left to run; what it admits then
    /// goes on. Results are in the order of their indices; each sequence has exactly one, taken by the boundary or returned.
    pub(super) fn run(mut self, mut boundary: impl FnMut(&mut Self)) -> (Vec<SequenceResult>, Timings) {
        loop {
            self.end_waiting();
            self.admit();
            boundary(&mut self);
            plan_step(self.rank, &self.seated, self.chunks, &mut self.plan);
            if self.plan.is_empty() {
                break;
            }
            let begun = Instant::now();
            self.step.clear();
            let outcome = self.rank.step(&self.plan, &mut self.step);
            self.account(begun.elapsed());
            self.collect();
            match outcome {
                Ok(()) => {}
                Err(error) if error.status() == Status::NoCapacity && self.seated.len() > 1 => self.make_room(),
                Err(error) => self.fail_planned(&error),
            }
        }
        self.results.sort_by_key(|result| result.index);
        self.timings.count_results(&self.results);
        self.timings.total = self.started.elapsed();
        (self.results, self.timings)
    }

    /// Sequences that have not ended, with a seat or waiting for one.
    pub(super) fn live(&self) -> usize {
        self.seated.len() + self.waiting.len()
    }

    pub(super) fn rank(&self) -> &RankRuntime {
        self.rank
    }

    /// Gives a sequence of a boundary's a seat, if there is one now. It comes back where there is none.
    pub(super) fn join(&mut self, sequence: Box<Sequence>) -> Admission {
        // Those who came first have the next seat.
        if self.full || !self.waiting.is_empty() {
            return Admission::NoCapacity(sequence, Error::no_capacity("others wait for a seat or for pages"));
        }
        let admission = self.rank.admit(sequence);
        if let Admission::Admitted(resident) = admission {
            self.seated.push(resident);
        }
        admission
    }

    /// Hands over what has ended at or above an index.
    pub(super) fn take_completed(&mut self, first_index: u32) -> Vec<SequenceResult> {
        let (taken, kept) = std::mem::take(&mut self.results).into_iter().partition(|result| result.index >= first_index);
        self.results = kept;
        taken
    }

    /// Ends those that were cancelled before they had a seat; all of them when the coordinator shuts down.
    fn end_waiting(&mut self) {
        let stopping = self.stop.load(Ordering::Acquire);
        for _ in 0..self.waiting.len() {
            let Some(sequence) = self.waiting.pop_front() else { break };
            if stopping || sequence.is_cancelled() {
                self.results.push(self.rank.conclude(sequence, None));
            } else {
                self.waiting.push_back(sequence);
            }
        }
        if stopping {
            for resident in std::mem::take(&mut self.seated) {
                self.results.extend(self.rank.retire(resident, None));
            }
        }
    }

    fn admit(&mut self) {
        self.full &= !self.seated.is_empty();
        while !self.full
            && let Some(sequence) = self.waiting.pop_front()
        {
            let index = sequence.index();
            match self.rank.admit(sequence) {
                Admission::Admitted(resident) => {
                    self.seated.push(resident);
                    if !self.all_seated && self.waiting.is_empty() {
                        self.all_seated = true;
                        self.timings.queue = self.prepared.elapsed();
                    }
                }
                Admission::NoCapacity(sequence, _) if !self.seated.is_empty() => {
                    self.waiting.push_front(sequence);
                    return;
                }
                // Nobody will make room: it can never fit.
                Admission::NoCapacity(sequence, error) | Admission::Rejected(sequence, error) => {
                    self.results.push(self.rank.conclude(sequence, Some(error.context(format!("sequence {index}")))));
                }
            }
        }
    }

    fn collect(&mut self) {
        for (resident, result) in self.step.finished.drain(..) {
            self.seated.retain(|seated| *seated != resident);
            self.results.push(result);
            self.full = false;
        }
    }

    /// Parks whoever came last; it goes on when pages are free again.
    fn make_room(&mut self) {
        if let Some(youngest) = self.seated.pop()
            && let Ok(sequence) = self.rank.park(youngest)
        {
            self.waiting.push_front(sequence);
            self.full = true;
        }
    }

    /// The step failed as a whole: those who were in it end with its error, the others go on.
    fn fail_planned(&mut self, error: &Error) {
        let planned: Vec<_> = self.plan.residents().collect();
        for resident in planned {
            self.seated.retain(|seated| *seated != resident);
            self.results.extend(self.rank.retire(resident, Some(error.clone())));
        }
    }

    fn account(&mut self, spent: Duration) {
        let timings = &mut self.timings;
        timings.count_step(spent, self.plan.residents().count(), self.step.prefill_rows, self.step.decode_rows);
        if timings.first_token.is_zero() && !self.step.deltas.is_empty() {
            timings.first_token = self.started.elapsed();
        }
    }
}

/// The error a dispatch reports: the first sequence's that has one.
pub(super) fn first_error(results: &[SequenceResult]) -> Result<()> {
    match results.iter().find_map(|result| result.error.as_ref()) {
        Some(error) => Err(error.clone()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
