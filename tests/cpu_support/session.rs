//! Sequences of a model in an executor: pages handed out in random order, spans of any length, several residents a step.

use tactus::backend::{
    Backend, Executor, ExecutorLimits, KvType, NO_PAGE, PageTable, Retention, SampleRow, Sampled, Span, StepBatch,
};
use tactus::weights::StoredType;

use super::{Model, Random};

pub struct Session {
    pub executor: Box<dyn Executor>,
    limits: ExecutorLimits,
    windows: Vec<Option<usize>>,
    free: Vec<Vec<u32>>,
    tables: Vec<Vec<u32>>,
    lengths: Vec<usize>,
    vocab: usize,
}

/// Tokens of one seat in a step, and which of them want logits.
pub struct Part<'a> {
    pub seat: usize,
    pub tokens: &'a [u32],
    pub all_outputs: bool,
}

#[derive(Clone, Copy)]
pub struct Options {
    pub seats: usize,
    pub length: usize,
    pub max_rows: usize,
    pub page_tokens: usize,
    pub kv_type: KvType,
    pub stored: StoredType,
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { seats: 3, length: 1024, max_rows: 256, page_tokens: 32, kv_type: KvType::F32, stored: StoredType::F32, seed: 1 }
    }
}

impl Session {
    pub fn new(model: &Model, backend: &dyn Backend, o: Options) -> Session {
        let groups = &model.program.kv_groups;
        let pages_per_seat = o.length.div_ceil(o.page_tokens);
        let limits = ExecutorLimits {
            max_rows: o.max_rows,
            max_outputs: o.max_rows,
            seats: o.seats,
            page_tokens: o.page_tokens,
            pages_per_seat,
            group_pages: vec![pages_per_seat * o.seats + 3; groups.len()],
            kv_type: o.kv_type,
            sampled_vocab: model.program.vocab,
        };
        let (weights, vectors) = model.pack_as(backend, o.stored);
        let executor = backend.executor(model.program.clone(), weights, vectors, &limits).unwrap();
        let mut random = Random::new(o.seed);
        let free = limits.group_pages.iter().map(|&pages| {
            let mut free: Vec<u32> = (0..pages as u32).collect();
            random.shuffle(&mut free);
            free
        });
        let windows = groups.iter().map(|g| match g.retention {
            Retention::Full => None,
            Retention::Sliding { window } => Some(window),
        });
        Session {
            executor,
            windows: windows.collect(),
            free: free.collect(),
            tables: vec![vec![NO_PAGE; pages_per_seat * o.seats]; groups.len()],
            lengths: vec![0; o.seats],
            limits,
            vocab: model.program.vocab,
        }
    }

    /// Runs one step; returns how many outputs it has.
    pub fn step(&mut self, parts: &[Part<'_>]) -> usize {
        let (mut tokens, mut positions, mut spans, mut outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let start = self.lengths[part.seat];
            let first_row = tokens.len() as u32;
            self.prepare(part.seat, start, start + part.tokens.len());
            tokens.extend_from_slice(part.tokens);
            positions.extend((start..start + part.tokens.len()).map(|p| [p as u32; 3]));
            spans.push(Span { seat: part.seat as u32, first_row, rows: part.tokens.len() as u32, start: start as u32 });
            let all = first_row..tokens.len() as u32;
            outputs.extend(if part.all_outputs { all } else { all.end - 1..all.end });
            self.lengths[part.seat] += part.tokens.len();
        }
        let stride = self.limits.pages_per_seat;
        let tables: Vec<PageTable<'_>> = self.tables.iter().map(|pages| PageTable { pages, stride }).collect();
        let batch = StepBatch {
            tokens: &tokens,
            positions: &positions,
            spans: &spans,
            outputs: &outputs,
            page_tables: &tables,
            taps: &[],
        };
        self.executor.forward(&batch).unwrap();
        outputs.len()
    }

    /// Takes pages for new positions and gives back those below every window.
    fn prepare(&mut self, seat: usize, start: usize, end: usize) {
        let (page, stride) = (self.limits.page_tokens, self.limits.pages_per_seat);
        for (group, table) in self.tables.iter_mut().enumerate() {
            let first = self.windows[group].map_or(0, |w| (start + 1).saturating_sub(w)) / page;
            for entry in &mut table[seat * stride..][..first] {
                if *entry != NO_PAGE {
                    self.free[group].insert(0, std::mem::replace(entry, NO_PAGE));
                }
            }
            for entry in &mut table[seat * stride + first..][..end.div_ceil(page) - first] {
                if *entry == NO_PAGE {
                    *entry = self.free[group].pop().expect("a free page");
                }
            }
        }
    }

    pub fn release(&mut self, seat: usize) {
        let stride = self.limits.pages_per_seat;
        for (group, table) in self.tables.iter_mut().enumerate() {
            for entry in &mut table[seat * stride..][..stride] {
                if *entry != NO_PAGE {
                    self.free[group].insert(0, std::mem::replace(entry, NO_PAGE));
                }
            }
        }
        self.lengths[seat] = 0;
    }

    pub fn logits(&mut self, output: usize) -> Vec<f32> {
        let mut logits = vec![0.0; self.vocab];
        self.executor.read_logits(output, &mut logits).unwrap();
        logits
    }

    /// Logits of every row of `tokens` on `seat`, run in chunks of the lengths given (the last repeats).
    pub fn run(&mut self, seat: usize, tokens: &[u32], chunks: &[usize]) -> Vec<Vec<f32>> {
        let (mut at, mut index, mut all) = (0, 0, Vec::new());
        while at < tokens.len() {
            let n = chunks[index.min(chunks.len() - 1)].min(tokens.len() - at);
            let count = self.step(&[Part { seat, tokens: &tokens[at..at + n], all_outputs: true }]);
            all.extend((0..count).map(|i| self.logits(i)));
            at += n;
            index += 1;
        }
        all
    }

    pub fn sample(&mut self, rows: &[SampleRow<'_>], out: &mut [Sampled]) {
        self.executor.sample(rows, out).unwrap();
    }
}
