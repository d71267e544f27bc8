//! One sequence run through a decoder by hand: no rank, no pool, one page table.

use tactus::artifacts::ModelArtifacts;
use tactus::backend::{Backend, Executor, ExecutorLimits, KvType, NO_PAGE, PageTable, Retention, Span, StepBatch};

const PAGE: usize = 16;

/// A sequence and its pages. Pages of a group lie in no order, so that a table read wrongly shows.
pub struct Sequence {
    executor: Box<dyn Executor>,
    retentions: Vec<Retention>,
    pages: Vec<u32>,
    vocab: usize,
    length: usize,
    /// Pages wholly below a sliding window are taken away, as a pool would.
    pub give_back: bool,
}

impl Sequence {
    /// `capacity`: tokens it can hold. `rope_length`: what length-dependent rotary tables are fixed for.
    pub fn new(backend: &dyn Backend, model: &ModelArtifacts, kv_type: KvType, capacity: usize, rope_length: usize) -> Self {
        Sequence::with_outputs(backend, model, kv_type, capacity, rope_length, capacity)
    }

    /// Of at most `outputs` rows of a step the logits can be asked for: they are large.
    pub fn with_outputs(
        backend: &dyn Backend,
        model: &ModelArtifacts,
        kv_type: KvType,
        capacity: usize,
        rope_length: usize,
        outputs: usize,
    ) -> Self {
        let packed = model.packed_for(backend, None).unwrap();
        let decoder = model.decoder();
        let program = decoder.program().clone();
        let per_seat = capacity.div_ceil(PAGE);
        let limits = ExecutorLimits {
            max_rows: capacity,
            max_outputs: outputs,
            seats: 1,
            page_tokens: PAGE,
            pages_per_seat: per_seat,
            group_pages: vec![per_seat; program.kv_groups.len()],
            kv_type,
            sampled_vocab: program.vocab,
        };
        let mut executor = backend.executor(program.clone(), packed.weights.clone(), packed.vectors.clone(), &limits).unwrap();
        for (rope, table) in decoder.ropes_for(rope_length) {
            executor.set_rope(rope, 0, Some(&table)).unwrap();
        }
        Sequence {
            executor,
            retentions: program.kv_groups.iter().map(|group| group.retention).collect(),
            pages: (0..per_seat as u32).rev().collect(),
            vocab: program.vocab,
            length: 0,
            give_back: false,
        }
    }

    /// Appends `ids` in one step and returns the logits at each of them.
    pub fn push(&mut self, ids: &[u32]) -> Vec<Vec<f32>> {
        self.push_for(ids, ids.len())
    }

    /// Appends `ids` in one step and returns the logits at the last `wanted` of them.
    pub fn push_for(&mut self, ids: &[u32], wanted: usize) -> Vec<Vec<f32>> {
        let start = self.length;
        let positions: Vec<[u32; 3]> = (start..start + ids.len()).map(|p| [p as u32; 3]).collect();
        let spans = [Span { seat: 0, first_row: 0, rows: ids.len() as u32, start: start as u32 }];
        let outputs: Vec<u32> = (0..ids.len() as u32).skip(ids.len() - wanted).collect();
        let tables: Vec<Vec<u32>> = self.retentions.iter().map(|&retention| self.table(retention)).collect();
        let page_tables: Vec<PageTable> = tables.iter().map(|t| PageTable { pages: t, stride: t.len() }).collect();
        let batch = StepBatch {
            tokens: ids,
            positions: &positions,
            spans: &spans,
            outputs: &outputs,
            page_tables: &page_tables,
            taps: &[],
        };
        self.executor.forward(&batch).unwrap();
        self.length += ids.len();
        (0..outputs.len())
            .map(|output| {
                let mut logits = vec![0.0; self.vocab];
                self.executor.read_logits(output, &mut logits).unwrap();
                logits
            })
            .collect()
    }

    fn table(&self, retention: Retention) -> Vec<u32> {
        let mut table = self.pages.clone();
        if let (Retention::Sliding { window }, true) = (retention, self.give_back) {
            let oldest = (self.length + 1).saturating_sub(window);
            table[..oldest / PAGE].fill(NO_PAGE);
        }
        table
    }
}

/// The lowest id among equal maxima, of ids below `legal`.
pub fn argmax(logits: &[f32], legal: usize) -> u32 {
    let mut best = 0;
    for (id, &logit) in logits[..legal].iter().enumerate() {
        if logit > logits[best] {
            best = id;
        }
    }
    best as u32
}
