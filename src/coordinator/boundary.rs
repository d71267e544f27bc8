//! What a boundary hook may do: look at a running dispatch between its steps, bring sequences in, take results out.

use std::collections::{BTreeMap, BTreeSet};

use super::dispatch::Dispatch;
use super::request::Request;
use super::{RuntimeCoordinator, single_sequence};
use crate::decoding::{FinishReason, StopMatcher, StopScan};
use crate::error::{Error, Result};
use crate::rank::{Admission, SequenceResult};

/// Called at every step boundary of a dispatch, and once more when nothing is left to run. Runs on the thread that dispatches; a
/// call into the coordinator from inside gets BUSY.
pub type BoundaryHook<'a> = &'a mut dyn FnMut(&mut GenerationBoundary<'_, '_>);

/// The answer to [`GenerationBoundary::admit_request`].
#[derive(Clone, Debug)]
pub enum AdmitDecision {
    Admitted,
    /// Not now: no seat or no pages. Nothing has changed.
    NoCapacity(Error),
    /// Never, as it is. Nothing has changed.
    Failed(Error),
}

/// See the module's documentation.
pub struct GenerationBoundary<'a, 'd> {
    pub(super) coordinator: &'a RuntimeCoordinator,
    pub(super) dispatch: &'a mut Dispatch<'d>,
    /// Indices in use: the founding request's and every joiner's.
    pub(super) indices: &'a mut BTreeSet<u32>,
}

impl GenerationBoundary<'_, '_> {
    /// Sequences that have not ended.
    pub fn resident_count(&self) -> usize {
        self.dispatch.live()
    }

    /// Brings in the one sequence of `request` under `original_index`, which nobody in this dispatch has had.
    pub fn admit_request(&mut self, request: &Request, original_index: u32, request_id: u64) -> AdmitDecision {
        match self.try_admit(request, original_index, request_id) {
            Ok(decision) => decision,
            Err(error) => AdmitDecision::Failed(error),
        }
    }

    fn try_admit(&mut self, request: &Request, index: u32, request_id: u64) -> Result<AdmitDecision> {
        check_joiner(request_id, index, |index| self.indices.contains(&index))?;
        let seed = single_sequence(self.coordinator.seeds(request)?, index)?;
        let sequence = self.dispatch.rank().sequence(seed);
        Ok(match self.dispatch.join(sequence) {
            Admission::Admitted(_) => {
                self.indices.insert(index);
                AdmitDecision::Admitted
            }
            Admission::NoCapacity(sequence, error) => {
                sequence.release();
                AdmitDecision::NoCapacity(error)
            }
            Admission::Rejected(sequence, error) => {
                sequence.release();
                AdmitDecision::Failed(error)
            }
        })
    }

    /// Moves out the results that are there at or above an index. What nobody takes is in the dispatch's response.
    pub fn take_completed_at_or_above(&mut self, first_index: u32) -> BTreeMap<u32, SequenceResult> {
        self.dispatch.take_completed(first_index).into_iter().map(|result| (result.index, result)).collect()
    }
}

/// What admissions at a boundary and in a stepped execution share.
pub(super) fn check_joiner(request_id: u64, index: u32, taken: impl FnOnce(u32) -> bool) -> Result<()> {
    if request_id == 0 {
        return Err(Error::invalid("requestId: 0, expected a number above 0"));
    }
    if taken(index) {
        return Err(Error::invalid(format!("originalIndex: {index} has been used in this execution, expected one that has not")));
    }
    Ok(())
}

/// A finished result with further stop strings applied to its text, beside those the sequence had. Ids and log-probabilities stay.
pub fn materialize(result: &SequenceResult, stops: &[String]) -> SequenceResult {
    let mut result = result.clone();
    let mut matcher = StopMatcher::new(stops.iter().cloned());
    let end = match matcher.scan(&result.text) {
        StopScan::Stopped(at) => Some(at),
        StopScan::Clear(_) => matcher.finish(&result.text),
    };
    if let Some(at) = end {
        result.text.truncate(at);
        if matches!(result.finish_reason, FinishReason::EndOfSequence | FinishReason::MaxLength) {
            result.finish_reason = FinishReason::StopWords;
        }
    }
    result
}
