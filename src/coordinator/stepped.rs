//! Stepped execution: the host decides every prefill and decode tick, over the very steps a dispatch runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use super::boundary::check_joiner;
use super::request::Request;
use super::response::{Response, Timings};
use super::schedule::{Chunks, plan_step};
use super::{RuntimeCoordinator, single_sequence};
use crate::error::{Error, Result, Status};
use crate::rank::{Admission, RankRuntime, ResidentRef, SequenceResult, StepPlan, StepResult};

/// An execution that the host drives. Holds the coordinator until it is finished, aborted or dropped: dispatches get BUSY.
/// One call at a time; an overlapping one gets BUSY and changes nothing.
pub struct SteppedExecution {
    coordinator: Weak<RuntimeCoordinator>,
    state: Mutex<Option<State>>,
}

struct State {
    rank: Box<RankRuntime>,
    chunks: Chunks,
    /// Founding sequences have the indices below this.
    founding: u32,
    indices: BTreeSet<u32>,
    residents: Vec<ResidentRef>,
    plan: StepPlan,
    step: StepResult,
    /// `step` holds what the founding prefill gave, for the first step to lead with.
    unread: bool,
    /// Results of founding sequences that have ended.
    founded: Vec<SequenceResult>,
    profiling: bool,
    timings: Timings,
    started: Instant,
}

/// The answer to [`SteppedExecution::admit`].
#[derive(Clone, Debug)]
pub enum AdmissionResult {
    Admitted(ResidentRef),
    /// Not now: no seat or no pages. Nothing has changed.
    NoCapacity(Error),
    /// Never, as it is. Nothing has changed.
    Rejected(Error),
}

/// A step's result, readable until the next call on the execution.
pub type StepView<'a> = MappedMutexGuard<'a, StepResult>;

impl SteppedExecution {
    /// Prepares `request`, gives all its sequences seats and runs their prompts. `rank` comes back with the error where that fails.
    pub(super) fn begin(
        coordinator: &Arc<RuntimeCoordinator>,
        rank: Box<RankRuntime>,
        chunks: Chunks,
        request: &Request,
        request_id: u64,
        profiling: bool,
    ) -> Result<SteppedExecution, (Box<RankRuntime>, Error)> {
        let started = Instant::now();
        let seeds = match check_joiner(request_id, 0, |_| false).and_then(|()| coordinator.seeds(request)) {
            Ok(seeds) => seeds,
            Err(error) => return Err((rank, error)),
        };
        let founding = seeds.len() as u32;
        let timings = Timings { prepare: started.elapsed(), ..Timings::for_seats(rank.limits().seats) };
        let mut state = State {
            rank,
            chunks,
            founding,
            indices: (0..founding).collect(),
            residents: Vec::new(),
            plan: StepPlan::default(),
            step: StepResult::default(),
            unread: true,
            founded: Vec::new(),
            profiling,
            timings,
            started,
        };
        let outcome = seeds.into_iter().try_for_each(|seed| {
            let sequence = state.rank.sequence(seed);
            state.seat(sequence).map(drop).map_err(|(_, error)| error)
        });
        match outcome.and_then(|()| state.founding_prefill()) {
            Ok(()) => Ok(SteppedExecution { coordinator: Arc::downgrade(coordinator), state: Mutex::new(Some(state)) }),
            Err(error) => {
                state.retire_all();
                Err((state.rank, error))
            }
        }
    }

    /// Live residents, longest resident first.
    pub fn residents(&self) -> Result<Vec<ResidentRef>> {
        Ok(self.lock()?.residents.clone())
    }

    /// Brings in the one sequence of `request` under `original_index`, which nobody in this execution has had.
    pub fn admit(&self, request: &Request, original_index: u32, request_id: u64) -> Result<AdmissionResult> {
        let coordinator = self.coordinator.upgrade().ok_or_else(gone)?;
        let mut state = self.lock()?;
        let seed = check_joiner(request_id, original_index, |index| state.indices.contains(&index))
            .and_then(|()| coordinator.seeds(request))
            .and_then(|seeds| single_sequence(seeds, original_index));
        let seed = match seed {
            Ok(seed) => seed,
            Err(error) => return Ok(AdmissionResult::Rejected(error)),
        };
        let sequence = state.rank.sequence(seed);
        Ok(match state.seat(sequence) {
            Ok(resident) => {
                state.indices.insert(original_index);
                AdmissionResult::Admitted(resident)
            }
            Err((true, error)) => AdmissionResult::NoCapacity(error),
            Err((false, error)) => AdmissionResult::Rejected(error),
        })
    }

    /// What the last step gave; the founding prefill's deltas before the first.
    pub fn last_step(&self) -> Result<StepView<'_>> {
        Ok(MappedMutexGuard::map(self.lock()?, |state| &mut state.step))
    }

    /// Runs the next chunk of a resident's prompt. Returns how many tokens of it remain.
    pub fn prefill(&self, resident: ResidentRef) -> Result<u32> {
        let mut state = self.lock()?;
        if !state.rank.is_prefilling(resident)? {
            return Err(Error::state(format!("prefill of resident {}: its prompt is in place", resident.slot)));
        }
        let rows = state.rank.prefill_rows(resident, std::iter::empty())?.min(state.chunks.alone);
        state.run_planned(|plan| plan.prefill.push((resident, rows)))?;
        Ok(match state.rank.is_prefilling(resident) {
            Ok(true) => state.rank.pending(resident)?,
            _ => 0,
        })
    }

    /// One token for each of `residents`, all or some of those whose prompts are in place.
    pub fn decode(&self, residents: &[ResidentRef]) -> Result<()> {
        self.lock()?.run_planned(|plan| plan.decode.extend_from_slice(residents))
    }

    /// Prompt chunks and decode ticks in one pass of the model.
    ///
    /// Errors: INVALID_ARGUMENT (an empty plan, a stale or repeated resident, too many rows), STATE (a decode before the prompt's
    /// end), NO_CAPACITY (pages are short: nothing has changed).
    pub fn step(&self, plan: StepPlan) -> Result<()> {
        self.lock()?.run(&plan)
    }

    /// Ends a resident now, as cancelled; its result is the step's.
    pub fn retire(&self, resident: ResidentRef) -> Result<()> {
        let mut state = self.lock()?;
        let result = state.rank.retire(resident, None)?;
        state.lead();
        state.step.finished.push((resident, result));
        state.note_finished(0);
        Ok(())
    }

    /// Ends the execution and returns the founding request's response. Errors: STATE while there are residents.
    pub fn finish(&self) -> Result<Response> {
        let mut guard = self.lock_state()?;
        let live = guard.as_ref().map_or(0, |state| state.residents.len());
        if live > 0 {
            return Err(Error::state(format!("finish with {live} residents, expected none (let them end, or abort)")));
        }
        let Some(state) = guard.take() else { return Err(gone()) };
        Ok(self.conclude(state))
    }

    /// Ends every resident as cancelled and the execution with them. Nothing to do where it has ended already.
    pub fn abort(&self) {
        if let Some(mut state) = self.state.lock().take() {
            state.retire_all();
            self.conclude(state);
        }
    }

    fn conclude(&self, mut state: State) -> Response {
        state.founded.sort_by_key(|result| result.index);
        state.timings.total = state.started.elapsed();
        state.timings.count_results(&state.founded);
        let timings = state.profiling.then(|| std::mem::take(&mut state.timings));
        let response = Response { sequences: std::mem::take(&mut state.founded), timings };
        if let Some(coordinator) = self.coordinator.upgrade() {
            coordinator.give_back(state.rank);
        }
        response
    }

    fn lock_state(&self) -> Result<MutexGuard<'_, Option<State>>> {
        let guard = self.state.try_lock().ok_or_else(|| Error::busy("another call on this execution is running"))?;
        if guard.is_some() { Ok(guard) } else { Err(gone()) }
    }

    fn lock(&self) -> Result<MappedMutexGuard<'_, State>> {
        MutexGuard::try_map(self.lock_state()?, Option::as_mut).map_err(|_| gone())
    }
}

impl Drop for SteppedExecution {
    fn drop(&mut self) {
        self.abort();
    }
}

fn gone() -> Error {
    Error::state("the stepped execution has ended")
}

impl State {
    /// `Err((true, _))`: not now; `Err((false, _))`: never. The sequence's stream is free again.
    fn seat(&mut self, sequence: Box<crate::rank::Sequence>) -> Result<ResidentRef, (bool, Error)> {
        match self.rank.admit(sequence) {
            Admission::Admitted(resident) => {
                self.residents.push(resident);
                Ok(resident)
            }
            Admission::NoCapacity(sequence, error) => {
                sequence.release();
                Err((true, error))
            }
            Admission::Rejected(sequence, error) => {
                sequence.release();
                Err((false, error))
            }
        }
    }

    fn founding_prefill(&mut self) -> Result<()> {
        loop {
            plan_step(&mut self.rank, &self.residents, self.chunks, &mut self.plan);
            self.plan.decode.clear();
            if self.plan.is_empty() {
                return Ok(());
            }
            let plan = std::mem::take(&mut self.plan);
            let outcome = self.execute(&plan);
            self.plan = plan;
            outcome?;
        }
    }

    fn run(&mut self, plan: &StepPlan) -> Result<()> {
        if plan.is_empty() {
            return Err(Error::invalid("step: an empty plan, expected at least one resident"));
        }
        self.lead();
        self.execute(plan)
    }

    /// Runs what `fill` plans, in memory that is reused from step to step.
    fn run_planned(&mut self, fill: impl FnOnce(&mut StepPlan)) -> Result<()> {
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        fill(&mut plan);
        let outcome = self.run(&plan);
        self.plan = plan;
        outcome
    }

    /// Makes room for a step's result, behind what has not been read of the founding prefill's.
    fn lead(&mut self) {
        if !std::mem::take(&mut self.unread) {
            self.step.clear();
        }
    }

    fn execute(&mut self, plan: &StepPlan) -> Result<()> {
        let begun = Instant::now();
        let (seen, prefilled, decoded) = (self.step.finished.len(), self.step.prefill_rows, self.step.decode_rows);
        let outcome = self.rank.step(plan, &mut self.step);
        if let Err(error) = &outcome
            && !matches!(error.status(), Status::NoCapacity | Status::InvalidArgument | Status::State)
        {
            // The device failed under those in the step: they end with its error.
            for resident in plan.residents() {
                if let Ok(result) = self.rank.retire(resident, Some(error.clone())) {
                    self.step.finished.push((resident, result));
                }
            }
        }
        self.note_finished(seen);
        let spent = begun.elapsed();
        let (prefilled, decoded) = (self.step.prefill_rows - prefilled, self.step.decode_rows - decoded);
        self.timings.count_step(spent, plan.residents().count(), prefilled, decoded);
        if self.timings.first_token.is_zero() && !self.step.deltas.is_empty() {
            self.timings.first_token = self.started.elapsed();
        }
        outcome
    }

    fn note_finished(&mut self, from: usize) {
        for (resident, result) in &self.step.finished[from..] {
            self.residents.retain(|live| live != resident);
            if result.index < self.founding {
                self.founded.push(result.clone());
            }
        }
    }

    fn retire_all(&mut self) {
        for resident in std::mem::take(&mut self.residents) {
            if let Ok(result) = self.rank.retire(resident, None)
                && result.index < self.founding
            {
                self.founded.push(result);
            }
        }
    }
}
