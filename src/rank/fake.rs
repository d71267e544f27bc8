//! An executor for tests of the control plane: its "keys and values" are the tokens themselves, its logits a hash of everything a
//! row can read. A wrong page, a lost chunk or a neighbour's token changes what a sequence says.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{RankRuntime, RankSizes};
use crate::backend::{
    Executor, KvGroup, KvType, MemoryUse, NO_PAGE, Retention, RopeId, RopeTable, SampleFault, SampleRow, Sampled, StepBatch,
    philox,
};
use crate::cache::{CachePlan, CacheRequest};
use crate::error::{Error, Result};
use crate::text::Tokenizer;

pub(crate) const PAGE: usize = 16;

pub(crate) struct FakeExecutor {
    vocab: u32,
    window: usize,
    /// (group, page, offset) → token.
    kv: HashMap<(usize, u32, u32), u32>,
    hashes: Vec<u64>,
    steps: Arc<AtomicU64>,
    /// Fails the step of this number.
    pub fail_at: Option<u64>,
    /// A sequence that reads this token gets non-finite logits.
    pub poison: Option<u32>,
    poisoned: Vec<bool>,
}

fn mix(hash: u64, value: u64) -> u64 {
    let mut x = (hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (x >> 32)
}

impl Executor for FakeExecutor {
    fn forward(&mut self, batch: &StepBatch<'_>) -> Result<()> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if self.fail_at == Some(step) {
            return Err(Error::internal("forced fault"));
        }
        self.hashes.clear();
        self.poisoned.clear();
        for span in batch.spans {
            for i in 0..span.rows {
                let position = span.start + i;
                let row = (span.first_row + i) as usize;
                assert_eq!(batch.positions[row], [position; 3]);
                for (group, table) in batch.page_tables.iter().enumerate() {
                    let page = table.pages[span.seat as usize * table.stride + position as usize / PAGE];
                    assert_ne!(page, NO_PAGE, "no page for position {position} of seat {}", span.seat);
                    self.kv.insert((group, page, position % PAGE as u32), batch.tokens[row]);
                }
                if !batch.outputs.contains(&(row as u32)) {
                    continue;
                }
                let (mut hash, mut poisoned) = (7, false);
                for (group, table) in batch.page_tables.iter().enumerate() {
                    let first = if group == 0 { 0 } else { (position as usize + 1).saturating_sub(self.window) as u32 };
                    for read in first..=position {
                        let page = table.pages[span.seat as usize * table.stride + read as usize / PAGE];
                        let token = self.kv[&(group, page, read % PAGE as u32)];
                        hash = mix(hash, u64::from(token));
                        poisoned |= self.poison == Some(token);
                    }
                }
                self.hashes.push(hash);
                self.poisoned.push(poisoned);
            }
        }
        Ok(())
    }

    fn sample(&mut self, rows: &[SampleRow<'_>], out: &mut [Sampled]) -> Result<()> {
        for (row, out) in rows.iter().zip(out) {
            let hash = self.hashes[row.output as usize];
            let draw = if row.params.is_greedy() { 0 } else { (philox::uniform(row.seed, row.draw) * 1e6) as u64 };
            out.token = (mix(hash, draw) % u64::from(self.vocab)) as u32;
            out.logprob = -((hash % 100) as f32);
            out.top.clear();
            out.fault = self.poisoned[row.output as usize].then_some(SampleFault::NonFinite);
        }
        Ok(())
    }

    fn read_logits(&mut self, _: usize, _: &mut [f32]) -> Result<()> {
        Err(Error::unsupported("no logits"))
    }

    fn set_rope(&mut self, _: RopeId, _: u32, _: Option<&RopeTable>) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> MemoryUse {
        MemoryUse::default()
    }
}

/// Sizes of a rank over the fake executor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FakeSizes {
    pub seats: usize,
    pub max_sequence: usize,
    /// Pages of the full-retention group.
    pub pages: usize,
    pub chunk: usize,
}

pub(crate) fn rank(tokenizer: Arc<Tokenizer>, sizes: FakeSizes, change: impl FnOnce(&mut FakeExecutor)) -> RankRuntime {
    const WINDOW: usize = 24;
    let group = |retention| KvGroup { layers: 1, kv_heads: 1, head_dim: 8, retention };
    let groups = [group(Retention::Full), group(Retention::Sliding { window: WINDOW })];
    let want = CacheRequest {
        seats: sizes.seats,
        max_sequence: sizes.max_sequence,
        page_tokens: PAGE,
        chunk: sizes.chunk,
        kv_type: KvType::F16,
        budget_bytes: u64::MAX,
    };
    let mut plan = CachePlan::new(&groups, &want).unwrap();
    plan.group_pages[0] = sizes.pages;
    let mut executor = FakeExecutor {
        vocab: tokenizer.len() as u32,
        window: WINDOW,
        kv: HashMap::new(),
        hashes: Vec::new(),
        steps: Arc::default(),
        fail_at: None,
        poison: None,
        poisoned: Vec::new(),
    };
    change(&mut executor);
    let max_rows = sizes.chunk.max(sizes.seats + sizes.chunk);
    RankRuntime::new(Box::new(executor), tokenizer, &groups, &plan, RankSizes { max_rows, max_records: 64 }).unwrap()
}
