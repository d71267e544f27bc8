//! One dispatch: a loop over the rank's step until every sequence of a request has ended.
//!
//! Decides who is admitted, what each step runs, and who makes room when pages are short. Executes nothing itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::response::Timings;
use crate::error::{Error, Result, Status};
use crate::rank::{Admission, RankRuntime, ResidentRef, Sequence, SequenceResult, StepPlan, StepResult};

/// Prompt tokens per step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    /// While nobody decodes.
    pub alone: u32,
    /// Beside residents that decode, so that they do not wait long.
    pub mixed: u32,
}

pub(super) struct Dispatch<'a> {
    rank: &'a mut RankRuntime,
    chunks: Chunks,
    stop: &'a AtomicBool,
    waiting: VecDeque<Box<Sequence>>,
    /// Residents, longest resident first.
    seated: Vec<ResidentRef>,
    /// Someone was parked for want of pages: nobody is admitted until a resident ends. Admitting earlier would take the very
    /// pages the others were short of.
    full: bool,
    results: Vec<SequenceResult>,
    plan: StepPlan,
    step: StepResult,
    timings: Timings,
    started: Instant,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        rank: &'a mut RankRuntime,
        chunks: Chunks,
        stop: &'a AtomicBool,
        sequences: VecDeque<Box<Sequence>>,
        started: Instant,
    ) -> Self {
        Dispatch {
            rank,
            chunks,
            stop,
            results: Vec::with_capacity(sequences.len()),
            waiting: sequences,
            seated: Vec::new(),
            full: false,
            plan: StepPlan::default(),
            step: StepResult::default(),
            timings: Timings::default(),
            started,
        }
    }

    /// Runs to the end. Results are in the order of the request; each sequence has exactly one.
    pub(super) fn run(mut self) -> (Vec<SequenceResult>, Timings) {
        loop {
            self.end_waiting();
            self.admit();
            self.plan_step();
            if self.plan.is_empty() {
                break;
            }
            let begun = Instant::now();
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
        self.timings.total = self.started.elapsed();
        (self.results, self.timings)
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
                Admission::Admitted(resident) => self.seated.push(resident),
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

    /// A tick for everyone who decodes, and prompt chunks in order of arrival as far as the step's share for them goes.
    fn plan_step(&mut self) {
        self.plan.clear();
        for &resident in &self.seated {
            if matches!(self.rank.is_prefilling(resident), Ok(false)) {
                self.plan.decode.push(resident);
            }
        }
        let mut left = if self.plan.decode.is_empty() { self.chunks.alone } else { self.chunks.mixed };
        for &resident in &self.seated {
            if left > 0 && matches!(self.rank.is_prefilling(resident), Ok(true)) {
                let others = self.plan.prefill.iter().map(|&(other, _)| other);
                let rows = self.rank.prefill_rows(resident, others).unwrap_or(0).min(left);
                if rows > 0 {
                    self.plan.prefill.push((resident, rows));
                    left -= rows;
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
        timings.steps += 1;
        timings.prefill_tokens += u64::from(self.step.prefill_rows);
        timings.decode_tokens += u64::from(self.step.decode_rows);
        if self.step.prefill_rows > 0 {
            timings.prefill += spent;
        } else {
            timings.decode += spent;
        }
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
