//! Choosing tokens from logits, as `backend::SampleRow` defines it.
//!
//! Owns: the order of operations, the draw, log-probabilities. Never: which settings a request means. Rows are independent and may
//! be taken by different threads; memory is reused, so that steady sampling allocates nothing.

mod nucleus;
mod scan;

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::linear::Level;
use super::pool::{FpEnv, Pool};
use super::simd::dispatch;
use crate::backend::{SampleFault, SampleRow, Sampled, philox};
use crate::error::{Error, Result};
use nucleus::{Cut, Nucleus, draw_sorted};
use scan::{Exponentials, Exponentiate, FirstAtLeast, Largest, Survey, descending};

/// Vocabularies up to this size are simply sorted.
const SMALL: usize = 256;

pub(super) struct Sampler {
    vocab: usize,
    /// Tokens from here on are never drawn.
    limit: usize,
    level: Level,
    /// One for each thread.
    memory: Vec<Mutex<Memory>>,
}

/// Memory of one thread.
struct Memory {
    /// Logits after bias, penalties and mask.
    adjusted: Vec<f32>,
    /// Terms of the softmax.
    terms: Vec<f32>,
    list: Vec<(u32, f32)>,
    nucleus: Nucleus,
}

impl Memory {
    fn new(vocab: usize) -> Result<Self> {
        fn room<T>(n: usize) -> Result<Vec<T>> {
            let mut list = Vec::new();
            list.try_reserve_exact(n).map_err(|e| Error::out_of_memory(format!("sampling memory for {n} tokens: {e}")))?;
            Ok(list)
        }
        // A list may hold a vector's worth of candidates too many before it is cut.
        Ok(Memory { adjusted: room(vocab)?, terms: room(vocab)?, list: room(vocab + 64)?, nucleus: Nucleus::default() })
    }
}

/// Rows of logits, and results that go to disjoint rows.
struct Job<'a> {
    logits: *const f32,
    stride: usize,
    rows: &'a [SampleRow<'a>],
    out: *mut Sampled,
}

// SAFETY: members take different rows, whose results lie apart; logits are only read.
unsafe impl Sync for Job<'_> {}

impl Sampler {
    pub(super) fn new(vocab: usize, sampled_vocab: usize, threads: usize, level: Level) -> Result<Self> {
        let memory = (0..threads).map(|_| Memory::new(vocab).map(Mutex::new)).collect::<Result<_>>()?;
        Ok(Sampler { vocab, limit: sampled_vocab.min(vocab), level, memory })
    }

    /// Samples `rows` from logits that lie `stride` apart.
    ///
    /// # Safety
    /// `logits` holds `vocab` f32 for every output that `rows` name, and nobody writes them meanwhile.
    pub(super) unsafe fn sample(
        &mut self,
        pool: &Pool,
        logits: *const f32,
        stride: usize,
        rows: &[SampleRow<'_>],
        out: &mut [Sampled],
    ) -> Result<()> {
        debug_assert_eq!(rows.len(), out.len());
        let job = Job { logits, stride, rows, out: out.as_mut_ptr() };
        if rows.len() < 2 || pool.threads() == 1 {
            let _env = FpEnv::enter();
            let mut memory = self.memory(0);
            for row in 0..rows.len() {
                self.one(&job, row, &mut memory);
            }
            return Ok(());
        }
        pool.run(&|member| {
            // Members are as many as memories, so none waits for another here.
            let mut memory = self.memory(member.index);
            while let Some(range) = member.claim(job.rows.len(), 1) {
                // SAFETY: as above; a claimed row is this member's.
                unsafe { self.one(&job, range.start, &mut memory) };
            }
            Ok(())
        })
    }

    fn memory(&self, index: usize) -> MutexGuard<'_, Memory> {
        self.memory[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    unsafe fn one(&self, job: &Job<'_>, index: usize, memory: &mut Memory) {
        let row = &job.rows[index];
        let logits = std::slice::from_raw_parts(job.logits.add(row.output as usize * job.stride), self.vocab);
        self.row(logits, row, memory, &mut *job.out.add(index));
    }

    fn row(&self, logits: &[f32], row: &SampleRow<'_>, memory: &mut Memory, out: &mut Sampled) {
        out.token = 0;
        out.logprob = 0.0;
        out.top.clear();
        out.fault = None;
        // SAFETY: kernels read and write the slices they are given, here and below.
        let (largest, finite) = unsafe { dispatch(self.level, Survey(logits)) };
        let fault = if finite { self.choose(logits, largest, row, memory, out).err() } else { Some(SampleFault::NonFinite) };
        if fault.is_some() {
            out.fault = fault;
            return;
        }
        if let Some(top) = row.logprobs {
            self.logprobs(logits, largest, top as usize, &mut memory.list, out);
        }
    }

    fn choose(
        &self,
        logits: &[f32],
        largest: f32,
        row: &SampleRow<'_>,
        memory: &mut Memory,
        out: &mut Sampled,
    ) -> Result<(), SampleFault> {
        let Memory { adjusted, terms, list, nucleus } = memory;
        let changed = !row.bias.is_empty() || !row.counts.is_empty() || row.mask.is_some();
        let values = if changed {
            adjust(logits, row, adjusted)?;
            &adjusted[..self.limit]
        } else {
            &logits[..self.limit]
        };
        let largest = if changed || self.limit < self.vocab {
            // SAFETY: as in `row`.
            unsafe { dispatch(self.level, Survey(values)).0 }
        } else {
            largest
        };
        if largest == f32::NEG_INFINITY {
            return Err(SampleFault::NothingAllowed);
        }
        let params = &row.params;
        if params.is_greedy() {
            // SAFETY: as in `row`.
            let first = unsafe { dispatch(self.level, FirstAtLeast(values, largest)) };
            out.token = first.unwrap_or(0) as u32;
            return Ok(());
        }
        let uniform = philox::uniform(row.seed, row.draw);
        let scale = 1.0 / params.temperature;
        let cut = Cut { top_p: params.top_p, min_p: params.min_p };
        let k = match params.top_k as usize {
            0 => values.len(),
            k => k.min(values.len()),
        };
        if k < values.len() || k <= SMALL {
            // SAFETY: as in `row`.
            unsafe { dispatch(self.level, Largest { values, k, into: list }) };
            list.sort_unstable_by(descending);
            terms.clear();
            terms.extend(list.iter().map(|&(_, x)| x));
            // SAFETY: as in `row`.
            unsafe { dispatch(self.level, Exponentiate { values: terms, largest, scale }) };
            list.iter_mut().zip(&*terms).for_each(|(entry, &term)| entry.1 = term);
            out.token = draw_sorted(list, &cut, uniform);
            return Ok(());
        }
        terms.resize(values.len(), 0.0);
        // SAFETY: as in `row`.
        let total = unsafe { dispatch(self.level, Exponentials { values, largest, scale, out: Some(terms) }) };
        out.token = nucleus.draw(self.level, terms, total, &cut, uniform, list);
        Ok(())
    }

    fn logprobs(&self, logits: &[f32], largest: f32, top: usize, list: &mut Vec<(u32, f32)>, out: &mut Sampled) {
        // SAFETY: as in `row`.
        let sum = unsafe { dispatch(self.level, Exponentials { values: logits, largest, scale: 1.0, out: None }) };
        let log_sum = f64::from(largest) + sum.ln();
        let logprob = |x: f32| (f64::from(x) - log_sum) as f32;
        out.logprob = logprob(logits[out.token as usize]);
        let top = top.min(self.limit);
        if top > 0 {
            // SAFETY: as in `row`.
            unsafe { dispatch(self.level, Largest { values: &logits[..self.limit], k: top, into: list }) };
            list.sort_unstable_by(descending);
            out.top.extend(list.iter().map(|&(token, x)| (token, logprob(x))));
        }
    }
}

/// Copies `logits` with bias, penalties and mask applied.
fn adjust(logits: &[f32], row: &SampleRow<'_>, into: &mut Vec<f32>) -> Result<(), SampleFault> {
    into.clear();
    into.extend_from_slice(logits);
    for &(token, bias) in row.bias {
        if let Some(x) = into.get_mut(token as usize) {
            *x += bias;
        }
    }
    let params = &row.params;
    for count in row.counts {
        let Some(x) = into.get_mut(count.token as usize) else { continue };
        if count.in_prompt || count.in_output > 0 {
            *x = if *x > 0.0 { *x / params.repetition_penalty } else { *x * params.repetition_penalty };
        }
        if count.in_output > 0 {
            *x -= params.presence_penalty + params.frequency_penalty * count.in_output as f32;
        }
    }
    let touched = row.bias.iter().map(|b| b.0).chain(row.counts.iter().map(|c| c.token));
    if touched.filter_map(|token| into.get(token as usize)).any(|&x| x.is_nan() || x == f32::INFINITY) {
        return Err(SampleFault::NonFinite);
    }
    if let Some(mask) = row.mask {
        for (index, chunk) in into.chunks_mut(32).enumerate() {
            match mask.get(index).copied().unwrap_or(0) {
                u32::MAX => (),
                0 => chunk.fill(f32::NEG_INFINITY),
                word => {
                    for (bit, x) in chunk.iter_mut().enumerate() {
                        *x = if word >> bit & 1 == 1 { *x } else { f32::NEG_INFINITY };
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
