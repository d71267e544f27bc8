//! The rank: seats, and the one step that runs everything.

use std::sync::Arc;

use super::masks::MaskWorker;
use super::resident::{ResidentRef, Seed, Sequence, SequenceResult};
use super::step::{StepBuffers, StepPlan, StepResult};
use crate::backend::{Executor, KvGroup, MemoryUse, PageTable, Span, StepBatch};
use crate::cache::{CacheIdentity, CacheMetrics, CachePlan, Extent, KvCache, MAX_GROUPS, NodeId};
use crate::decoding::FinishReason;
use crate::error::{CapacityNumbers, Error, Result};
use crate::text::Tokenizer;

/// Sizes of a rank's steps.
#[derive(Clone, Copy, Debug)]
pub struct RankSizes {
    /// Most token rows in one step.
    pub max_rows: usize,
    /// Sequences the context cache remembers.
    pub max_records: usize,
}

/// What a rank can hold. Effective values, after the KV budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankLimits {
    /// Residents at once.
    pub seats: usize,
    /// Longest sequence, prompt and output, in tokens.
    pub max_sequence: usize,
    pub page_tokens: usize,
    pub max_step_rows: usize,
    pub kv_bytes: u64,
    pub scratch_bytes: u64,
}

/// Counters since creation, and the state of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankMetrics {
    pub steps: u64,
    pub prefill_tokens: u64,
    pub generated_tokens: u64,
    pub admitted: u64,
    pub finished: u64,
    pub parked: u64,
    pub residents: usize,
    pub pages_free: usize,
    pub pages_total: usize,
}

/// The answer to [`RankRuntime::admit`].
pub enum Admission {
    Admitted(ResidentRef),
    /// No seat or no pages for it now; nothing has changed. The sequence comes back.
    NoCapacity(Box<Sequence>, Error),
    /// It can never run here; the sequence comes back.
    Rejected(Box<Sequence>, Error),
}

struct Seat {
    epoch: u32,
    sequence: Option<Box<Sequence>>,
}

/// One rank. Used by one thread at a time.
pub struct RankRuntime {
    executor: Box<dyn Executor>,
    tokenizer: Arc<Tokenizer>,
    cache: KvCache,
    seats: Vec<Seat>,
    buffers: StepBuffers,
    extents: Vec<Extent>,
    masks: Option<MaskWorker>,
    limits: RankLimits,
    metrics: RankMetrics,
}

impl RankRuntime {
    /// `executor` was built with the sizes of `plan` and at least `sizes.max_rows` rows.
    pub fn new(
        executor: Box<dyn Executor>,
        tokenizer: Arc<Tokenizer>,
        groups: &[KvGroup],
        plan: &CachePlan,
        sizes: RankSizes,
    ) -> Result<Self> {
        if groups.len() > MAX_GROUPS {
            return Err(Error::unsupported(format!("{} KV groups, expected at most {MAX_GROUPS}", groups.len())));
        }
        let MemoryUse { kv, scratch } = executor.memory();
        Ok(RankRuntime {
            executor,
            tokenizer,
            cache: KvCache::new(groups, plan, sizes.max_records),
            seats: (0..plan.seats).map(|_| Seat { epoch: 0, sequence: None }).collect(),
            buffers: StepBuffers::new(sizes.max_rows, plan.seats),
            extents: Vec::with_capacity(plan.seats),
            masks: None,
            limits: RankLimits {
                seats: plan.seats,
                max_sequence: plan.max_sequence,
                page_tokens: plan.page_tokens,
                max_step_rows: sizes.max_rows,
                kv_bytes: kv,
                scratch_bytes: scratch,
            },
            metrics: RankMetrics::default(),
        })
    }

    pub fn limits(&self) -> RankLimits {
        self.limits
    }

    /// Whether sequences can have hidden states.
    pub fn gives_hidden_states(&self) -> bool {
        self.executor.has_taps()
    }

    /// Captures decode steps for replay; see [`Executor::capture`].
    pub fn capture(&mut self) -> Result<bool> {
        self.executor.capture()
    }

    /// Orders what comes behind the host's stream; see [`Executor::follow`]. 0: the rank's own, nothing to do.
    pub fn follow(&mut self, stream: usize) -> Result<()> {
        if stream == 0 { Ok(()) } else { self.executor.follow(stream) }
    }

    pub fn metrics(&self) -> RankMetrics {
        let (pages_free, pages_total) = self.cache.pages();
        RankMetrics { residents: self.residents().count(), pages_free, pages_total, ..self.metrics }
    }

    /// Live sequences, by seat.
    pub fn residents(&self) -> impl Iterator<Item = ResidentRef> + '_ {
        self.seats
            .iter()
            .enumerate()
            .filter(|(_, seat)| seat.sequence.is_some())
            .map(|(slot, seat)| ResidentRef { slot: slot as u32, epoch: seat.epoch })
    }

    /// Makes a sequence of a seed; it has no seat yet.
    pub fn sequence(&self, seed: Seed) -> Box<Sequence> {
        Box::new(Sequence::new(seed, &self.tokenizer))
    }

    /// Gives a sequence a seat and the pages of all its tokens and one page more.
    pub fn admit(&mut self, mut sequence: Box<Sequence>) -> Admission {
        let needed = sequence.len() as usize;
        if needed > self.limits.max_sequence {
            let capacity = CapacityNumbers { prompt: needed as u64, requested: 0, limit: self.limits.max_sequence as u64 };
            let message = format!("{needed} tokens, expected at most {} (the longest sequence)", self.limits.max_sequence);
            return Admission::Rejected(sequence, Error::context_full(message).with_capacity(capacity));
        }
        let Some(slot) = self.seats.iter().position(|seat| seat.sequence.is_none()) else {
            let error = Error::no_capacity(format!("all {} seats are taken", self.seats.len()));
            return Admission::NoCapacity(sequence, error);
        };
        sequence.begin(slot as u32, &mut self.cache);
        let to = (needed + self.limits.page_tokens).min(self.limits.max_sequence) as u32;
        if let Err(short) = self.cache.reserve_retained(slot as u32, to) {
            let error = Error::no_capacity(format!("{} KV pages needed, {} are free", short.wanted, short.free));
            sequence.forget_pages();
            self.cache.release(slot as u32);
            return Admission::NoCapacity(sequence, error);
        }
        for (rope, table) in sequence.ropes() {
            if let Err(error) = self.executor.set_rope(*rope, slot as u32, Some(table)) {
                let error = error.clone();
                sequence.forget_pages();
                self.cache.release(slot as u32);
                return Admission::Rejected(sequence, error);
            }
        }
        let seat = &mut self.seats[slot];
        seat.epoch = seat.epoch.wrapping_add(1);
        seat.sequence = Some(sequence);
        self.metrics.admitted += 1;
        Admission::Admitted(ResidentRef { slot: slot as u32, epoch: seat.epoch })
    }

    /// Whether a resident has yet to reach the end of its prompt.
    pub fn is_prefilling(&self, resident: ResidentRef) -> Result<bool> {
        self.get(resident).map(Sequence::is_prefilling)
    }

    /// Tokens of a resident that a prefill has yet to run.
    pub fn pending(&self, resident: ResidentRef) -> Result<u32> {
        self.get(resident).map(|sequence| sequence.pending().len() as u32)
    }

    /// Tokens a prefill of `resident` has to run, once it has taken what the context cache has by now; 0 where it does well to
    /// sit a step out because one of `others`, who run in it, fills the very page it needs next.
    pub fn prefill_rows(&mut self, resident: ResidentRef, mut others: impl Iterator<Item = ResidentRef>) -> Result<u32> {
        self.get(resident)?;
        if let Some(sequence) = self.seats[resident.slot as usize].sequence.as_deref_mut() {
            sequence.adopt(resident.slot, &mut self.cache);
        }
        let sequence = self.get(resident)?;
        let begun = !(sequence.kv_len() as usize).is_multiple_of(self.limits.page_tokens);
        let wanted = sequence.next_page(&self.cache).filter(|_| sequence.would_take() && !begun);
        let fills = |other| self.get(other).is_ok_and(|s| s.publishes() && s.next_page(&self.cache) == wanted);
        if wanted.is_some() && others.any(fills) { Ok(0) } else { Ok(sequence.pending().len() as u32) }
    }

    /// Counters of the context cache.
    pub fn context_metrics(&self) -> CacheMetrics {
        self.cache.context_metrics()
    }

    /// Forgets everything in the context cache that is neither pinned nor in use.
    pub fn forget_context(&mut self) {
        self.cache.forget_all();
    }

    /// Keeps what the context cache holds of `tokens` from eviction; see [`KvCache::pin`].
    pub fn pin(&mut self, identity: &CacheIdentity, tokens: &[u32]) -> Option<(NodeId, usize)> {
        self.cache.pin(identity, tokens)
    }

    pub fn unpin(&mut self, node: NodeId) {
        self.cache.unpin(node);
    }

    /// Runs `plan` in one pass of the model, commits what it gave, and adds that to `result`.
    ///
    /// Residents that were cancelled, planned or not, end first and without running. After an error nothing of the step is
    /// visible but those, in `result.finished`. Errors: INVALID_ARGUMENT (a stale or repeated resident, too many rows), STATE (a
    /// decode before the prompt's end), NO_CAPACITY (pages are short; retire or park someone), and what the executor reports.
    pub fn step(&mut self, plan: &StepPlan, result: &mut StepResult) -> Result<()> {
        result.step_id = self.metrics.steps + 1;
        self.check(plan)?;
        self.end_cancelled(result);
        self.gather(plan)?;
        if self.buffers.spans.is_empty() {
            return Ok(());
        }
        self.execute()?;
        self.commit(plan, result);
        Ok(())
    }

    /// Takes a resident's seat away and keeps the sequence, to be admitted again later: it goes on as if nothing had happened.
    pub fn park(&mut self, resident: ResidentRef) -> Result<Box<Sequence>> {
        self.get(resident)?;
        let mut sequence = self.vacate(resident.slot)?;
        sequence.forget_pages();
        self.metrics.parked += 1;
        Ok(sequence)
    }

    /// Ends a resident now, as cancelled or with `error`.
    pub fn retire(&mut self, resident: ResidentRef, error: Option<Error>) -> Result<SequenceResult> {
        self.get(resident)?;
        let sequence = self.vacate(resident.slot)?;
        self.metrics.finished += 1;
        Ok(self.conclude(sequence, error))
    }

    /// Ends a sequence that has no seat, as cancelled or with `error`.
    pub fn conclude(&self, mut sequence: Box<Sequence>, error: Option<Error>) -> SequenceResult {
        let reason = if error.is_some() { FinishReason::Error } else { FinishReason::Cancelled };
        sequence.finish(&self.tokenizer, reason, error);
        sequence.into_result(&self.tokenizer)
    }

    fn get(&self, resident: ResidentRef) -> Result<&Sequence> {
        self.seats
            .get(resident.slot as usize)
            .filter(|seat| seat.epoch == resident.epoch)
            .and_then(|seat| seat.sequence.as_deref())
            .ok_or_else(|| {
                Error::invalid(format!(
                    "resident {{slot {}, epoch {}}}: no such resident, expected a live one",
                    resident.slot, resident.epoch
                ))
            })
    }

    fn vacate(&mut self, slot: u32) -> Result<Box<Sequence>> {
        let sequence =
            self.seats[slot as usize].sequence.take().ok_or_else(|| Error::internal(format!("seat {slot} is empty")))?;
        self.cache.release(slot);
        // What took a table takes it back; only a device that is gone cannot, and its next step says so. The result is not lost for it.
        for (rope, _) in sequence.ropes() {
            if let Err(error) = self.executor.set_rope(*rope, slot, None) {
                tracing::error!(slot, %error, "the rotary table of a seat could not be reset");
            }
        }
        Ok(sequence)
    }

    fn check(&self, plan: &StepPlan) -> Result<()> {
        let mut rows = plan.decode.len();
        for &(resident, most) in &plan.prefill {
            if most == 0 {
                return Err(Error::invalid(format!("prefill of resident {}: 0 tokens, expected at least 1", resident.slot)));
            }
            rows += self.get(resident)?.pending().len().min(most as usize);
        }
        for &resident in &plan.decode {
            if self.get(resident)?.is_prefilling() {
                return Err(Error::state(format!(
                    "decode of resident {}: its prompt has not been prefilled to the end",
                    resident.slot
                )));
            }
        }
        for (at, resident) in plan.residents().enumerate() {
            if plan.residents().take(at).any(|other| other.slot == resident.slot) {
                return Err(Error::invalid(format!("resident {} is planned twice in one step", resident.slot)));
            }
        }
        if rows > self.limits.max_step_rows {
            return Err(Error::invalid(format!("{rows} rows in one step, expected at most {}", self.limits.max_step_rows)));
        }
        Ok(())
    }

    fn end_cancelled(&mut self, result: &mut StepResult) {
        for slot in 0..self.seats.len() {
            if self.seats[slot].sequence.as_deref().is_some_and(Sequence::is_cancelled) {
                self.end(slot as u32, result);
            }
        }
    }

    /// Frees a seat and moves its result out.
    fn end(&mut self, slot: u32, result: &mut StepResult) {
        let resident = ResidentRef { slot, epoch: self.seats[slot as usize].epoch };
        if let Ok(sequence) = self.vacate(slot) {
            self.metrics.finished += 1;
            result.finished.push((resident, sequence.into_result(&self.tokenizer)));
        }
    }

    /// Lays out the rows of everyone planned who is still there, and finds pages for them.
    fn gather(&mut self, plan: &StepPlan) -> Result<()> {
        let buffers = &mut self.buffers;
        buffers.clear();
        self.extents.clear();
        let planned = plan.prefill.iter().copied().chain(plan.decode.iter().map(|&resident| (resident, 1)));
        for (resident, most) in planned {
            let Some(sequence) = self.seats[resident.slot as usize].sequence.as_deref() else { continue };
            let pending = sequence.pending();
            let span = &pending[..pending.len().min(most as usize)];
            let (from, to) = (sequence.kv_len(), sequence.kv_len() + span.len() as u32);
            if let Some((layer, _)) = sequence.wanted_hidden(from, to) {
                buffers.want_tap(layer);
            }
            buffers.push_span(resident.slot, from, span, span.len() == pending.len());
            self.extents.push(Extent { seat: resident.slot, from, to });
        }
        self.cache.reserve(&self.extents).map_err(|short| {
            let numbers = CapacityNumbers { prompt: 0, requested: short.wanted as u64, limit: short.free as u64 };
            Error::no_capacity(format!("{} KV pages needed for this step, {} are free", short.wanted, short.free))
                .with_capacity(numbers)
        })
    }

    fn execute(&mut self) -> Result<()> {
        self.lend_guides();
        let mut tables = [PageTable { pages: &[], stride: 0 }; MAX_GROUPS];
        let mut groups = 0;
        for table in self.cache.tables() {
            tables[groups] = table;
            groups += 1;
        }
        let buffers = &mut self.buffers;
        let ran = self.executor.forward(&StepBatch {
            tokens: &buffers.tokens,
            positions: &buffers.positions,
            spans: &buffers.spans,
            outputs: &buffers.outputs,
            page_tables: &tables[..groups],
            taps: &buffers.taps,
        });
        while let Some((seat, guide)) = self.masks.as_mut().and_then(MaskWorker::take) {
            if let Some(sequence) = &mut self.seats[seat as usize].sequence {
                sequence.return_guide(guide);
            }
        }
        ran?;
        if !buffers.taps.is_empty() {
            collect_hidden(&mut *self.executor, &mut self.seats, &self.buffers.spans)?;
        }
        let buffers = &mut self.buffers;
        let mut rows = buffers.borrow_rows();
        rows.extend(buffers.output_seats.iter().enumerate().filter_map(|(output, &seat)| {
            self.seats[seat as usize].sequence.as_deref().map(|sequence| sequence.sample_row(output as u32))
        }));
        let count = rows.len();
        let outcome = if count == 0 { Ok(()) } else { self.executor.sample(&rows, &mut buffers.sampled[..count]) };
        buffers.return_rows(rows);
        outcome
    }

    /// Has the masks of guided sequences computed beside the model's pass.
    fn lend_guides(&mut self) {
        for &seat in &self.buffers.output_seats {
            let Some(sequence) = self.seats[seat as usize].sequence.as_deref_mut() else { continue };
            let Some(guide) = sequence.lend_guide() else { continue };
            if self.masks.is_none() {
                self.masks = MaskWorker::start().ok();
            }
            let refused = match &mut self.masks {
                Some(worker) => worker.give(seat, guide),
                None => Err(guide),
            };
            if let Err(mut guide) = refused {
                guide.prepare();
                sequence.return_guide(guide);
            }
        }
    }

    fn commit(&mut self, plan: &StepPlan, result: &mut StepResult) {
        self.metrics.steps += 1;
        for &extent in &self.extents {
            let Some(sequence) = self.seats[extent.seat as usize].sequence.as_deref_mut() else { continue };
            sequence.advance(extent.to - extent.from, extent.seat, &mut self.cache);
            self.cache.trim(extent.seat, extent.to);
        }
        let decoded = plan.decode.iter().filter(|r| self.seats[r.slot as usize].sequence.is_some()).count() as u32;
        let prefilled = self.buffers.tokens.len() as u32 - decoded;
        result.decode_rows += decoded;
        result.prefill_rows += prefilled;
        self.metrics.prefill_tokens += u64::from(prefilled);
        for output in 0..self.buffers.output_seats.len() {
            let slot = self.buffers.output_seats[output];
            let seat = &mut self.seats[slot as usize];
            let resident = ResidentRef { slot, epoch: seat.epoch };
            let Some(sequence) = seat.sequence.as_deref_mut() else { continue };
            let sampled = &self.buffers.sampled[output];
            if sequence.take(sampled, &self.tokenizer) {
                result.push_token(resident, sampled.token);
                self.metrics.generated_tokens += 1;
            }
            if sequence.is_finished() {
                self.end(slot, result);
            }
        }
    }
}

/// Copies the hidden states that the last forward was asked for to the sequences that asked.
fn collect_hidden(executor: &mut dyn Executor, seats: &mut [Seat], spans: &[Span]) -> Result<()> {
    for span in spans {
        let Some(sequence) = seats[span.seat as usize].sequence.as_deref_mut() else { continue };
        let Some((layer, wanted)) = sequence.wanted_hidden(span.start, span.start + span.rows) else { continue };
        let first_row = (span.first_row + (wanted.start - span.start)) as usize;
        if let Some(hidden) = sequence.hidden_mut() {
            hidden.extend(wanted.len(), |into| executor.read_tap(layer, first_row, into))?;
        }
    }
    Ok(())
}
