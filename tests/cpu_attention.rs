//! Attention of the CPU backend alone: a program whose logits are the attention's output, against double precision, and bit for bit
//! over every way to cut a sequence into steps.

mod cpu_support;

use std::sync::Arc;

use cpu_support::session::{Options, Part, Session};
use cpu_support::{Model, Random, Shape, reference};
use tactus::backend::cpu::linear::Level;
use tactus::backend::cpu::{CpuBackend, CpuOptions};
use tactus::backend::{
    AttentionLayer, KvGroup, KvType, Op, Program, Retention, RopeId, RopeTable, RowClass, Slot, SlotId, WeightId,
};
use tactus::weights::StoredType;

fn backend(threads: usize, level: Level) -> CpuBackend {
    CpuBackend::new(CpuOptions { threads, level: Some(level) }).unwrap()
}

/// One attention layer.
#[derive(Clone, Copy, Debug)]
struct Case {
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    window: Option<usize>,
    softcap: Option<f32>,
    page_tokens: usize,
    kv_type: KvType,
}

/// Ids of ordinary tokens; the next id's embedding is NaN.
const TOKENS: usize = 60;
const POISON: u32 = TOKENS as u32;

impl Case {
    fn layer(&self) -> AttentionLayer {
        AttentionLayer {
            group: 0,
            layer: 0,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            rope: RopeId(0),
            scale: 2.0 / (self.head_dim as f32).sqrt(),
            softcap: self.softcap,
            window: self.window,
        }
    }

    /// Embedding → rotation and keys → attention → the identity, whose products are exact.
    fn model(&self, random: &mut Random) -> Model {
        let (qkv_width, width) = ((self.heads + 2 * self.kv_heads) * self.head_dim, self.heads * self.head_dim);
        let half = self.head_dim / 2;
        let retention = self.window.map_or(Retention::Full, |window| Retention::Sliding { window });
        let [qkv, out, selected] = [0, 1, 2].map(SlotId);
        let slot = |rows, width| Slot { rows, width };
        let program = Program {
            slots: vec![slot(RowClass::Tokens, qkv_width), slot(RowClass::Tokens, width), slot(RowClass::Outputs, width)],
            ropes: vec![RopeTable {
                inv_freq: (0..half).map(|i| 1000f32.powf(-(i as f32) / half as f32)).collect(),
                factor: 1.1,
            }],
            kv_groups: vec![KvGroup { layers: 1, kv_heads: self.kv_heads, head_dim: self.head_dim, retention }],
            ops: vec![
                Op::Embed { table: WeightId(0), scale: 1.0, out: qkv },
                Op::RopeKvWrite { qkv, attention: self.layer(), q_norm: None, k_norm: None },
                Op::Attention { qkv, attention: self.layer(), out },
                Op::SelectOutputs { x: out, out: selected },
                Op::Logits { x: selected, weight: WeightId(1), softcap: None },
            ],
            vocab: width,
            ..Program::default()
        };
        let mut table = random.values(TOKENS * qkv_width, 1.5);
        table.extend(std::iter::repeat_n(f32::NAN, qkv_width));
        let mut identity = vec![0.0; width * width];
        (0..width).for_each(|i| identity[i * width + i] = 1.0);
        let weights = vec![(TOKENS + 1, qkv_width, table), (width, width, identity)];
        Model { program: Arc::new(program), weights, vectors: Vec::new() }
    }

    /// The attention's output for `rows`, keys and values rounded as the pool rounds them.
    fn expected(&self, model: &Model, tokens: &[u32], rows: &[usize]) -> Vec<Vec<f64>> {
        let (_, cols, table) = &model.weights[0];
        let stored = |x: &mut f64| match self.kv_type {
            KvType::F32 => {}
            KvType::F16 => *x = half::f16::from_f64(*x).to_f64(),
            KvType::BF16 => *x = half::bf16::from_f64(*x).to_f64(),
        };
        let row = |(position, &token): (usize, &u32)| {
            let mut x: Vec<f64> = table[token as usize * cols..][..*cols].iter().map(|&v| f64::from(v)).collect();
            reference::rope(model, &mut x, position, &self.layer(), None, None);
            x[self.heads * self.head_dim..].iter_mut().for_each(stored);
            x
        };
        let qkv: Vec<Vec<f64>> = tokens.iter().enumerate().map(row).collect();
        rows.iter().map(|&row| reference::attend(&qkv, row, &self.layer())).collect()
    }

    fn options(&self) -> Options {
        Options { length: 768, page_tokens: self.page_tokens, kv_type: self.kv_type, ..Options::default() }
    }

    /// max |a - b| over max |b| that rounding explains.
    fn bound(&self) -> f64 {
        match self.kv_type {
            KvType::F32 => 1e-5,
            // A rotated key that lies half-way between two stored values may be rounded to the other of them.
            KvType::F16 => 1e-3,
            KvType::BF16 => 8e-3,
        }
    }
}

fn tokens(random: &mut Random, n: usize) -> Vec<u32> {
    (0..n).map(|_| random.below(TOKENS) as u32).collect()
}

/// Rows at the borders of blocks, pages and chunks of keys, and some others.
fn looked_at(random: &mut Random, n: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = [16, 32, 64, 256, 512].iter().flat_map(|b| [b - 1, *b, b + 1]).chain([0, 1, n - 1]).collect();
    rows.extend((0..12).map(|_| random.below(n)));
    rows.retain(|&row| row < n);
    rows
}

/// Every row's output of `tokens` on seat 1, in random chunks beside rows of two other residents.
fn in_company(session: &mut Session, tokens: &[u32], random: &mut Random) -> Vec<Vec<u32>> {
    let (mut at, mut all) = (0, Vec::new());
    let mut others = [0, 0];
    session.release(1);
    while at < tokens.len() {
        let most = random.pick(&[4, 150, 150]);
        let n = (1 + random.below(most)).min(tokens.len() - at);
        let company = [0, 2].map(|seat| {
            let n = 1 + random.below(40);
            (seat, self::tokens(random, n))
        });
        for (other, (seat, rows)) in others.iter_mut().zip(&company) {
            if *other + rows.len() > 700 {
                session.release(*seat);
                *other = 0;
            }
            *other += rows.len();
        }
        let mut parts = vec![Part { seat: 1, tokens: &tokens[at..at + n], all_outputs: true }];
        parts.extend(company.iter().map(|(seat, rows)| Part { seat: *seat, tokens: rows, all_outputs: false }));
        let first = random.below(3);
        parts.swap(0, first);
        session.step(&parts);
        // Each of the parts before it has one output.
        all.extend((0..n).map(|i| bits(&session.logits(first + i))));
        at += n;
    }
    session.release(1);
    all
}

fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|x| x.to_bits()).collect()
}

fn check(case: Case, n: usize, random: &mut Random) {
    let model = case.model(random);
    let tokens = tokens(random, n);
    let rows = looked_at(random, n);
    let expected = case.expected(&model, &tokens, &rows);
    for level in Level::available() {
        let mut session = Session::new(&model, &backend(2, level), case.options());
        let found = session.run(1, &tokens, &[256]);
        for (&row, expected) in rows.iter().zip(&expected) {
            let size = expected.iter().fold(0f64, |m, x| m.max(x.abs()));
            let error = found[row].iter().zip(expected).fold(0f64, |m, (&a, b)| m.max((f64::from(a) - b).abs())) / size;
            assert!(error <= case.bound(), "{level}, {case:?}, row {row}: error {error:.1e}");
        }
        let whole: Vec<_> = found.iter().map(|row| bits(row)).collect();
        let threads = random.pick(&[1, 2, 3, 5]);
        let mut session = Session::new(&model, &backend(threads, level), Options { seed: 5, ..case.options() });
        assert!(in_company(&mut session, &tokens, random) == whole, "{level}, {threads} threads, {case:?}: chunks differ");
    }
}

const PLAIN: Case =
    Case { heads: 2, kv_heads: 1, head_dim: 64, window: None, softcap: None, page_tokens: 32, kv_type: KvType::F32 };

/// DESIGN 8, FIELD_CASES 80: double precision's answer, and the same bits however the sequence is cut and whoever is beside it.
#[test]
fn every_head_width_agrees_with_double_precision() {
    let mut random = Random::new(21);
    for (at, head_dim) in [64, 72, 80, 96, 100, 112, 128, 160, 192, 256, 34, 50].into_iter().enumerate() {
        for kv_type in [KvType::F32, [KvType::F16, KvType::BF16][at % 2]] {
            let page_tokens = random.pick(&[16, 32, 64]);
            check(Case { head_dim, kv_type, page_tokens, ..PLAIN }, 270, &mut random);
        }
    }
}

#[test]
fn every_grouping_of_heads_agrees_with_double_precision() {
    let mut random = Random::new(22);
    // 25 and 32 heads of a group are more than a task takes at once otherwise.
    for (kv_heads, group) in [(1, 1), (3, 1), (2, 3), (1, 5), (1, 7), (2, 8), (1, 12), (1, 25), (1, 32)] {
        let kv_type = random.pick(&[KvType::F32, KvType::F16, KvType::BF16]);
        check(Case { heads: kv_heads * group, kv_heads, head_dim: 32, kv_type, ..PLAIN }, 290, &mut random);
    }
}

#[test]
fn every_window_and_cap_agrees_with_double_precision() {
    let mut random = Random::new(23);
    for window in [None, Some(1), Some(2), Some(15), Some(16), Some(17), Some(64), Some(255), Some(256), Some(257), Some(500)] {
        let softcap = random.pick(&[None, Some(50.0), Some(3.0)]);
        let (kv_type, page_tokens) = (random.pick(&[KvType::F32, KvType::F16]), random.pick(&[16, 32, 64]));
        check(Case { heads: 4, kv_heads: 2, head_dim: 40, window, softcap, kv_type, page_tokens }, 560, &mut random);
    }
}

/// What others left in a page, NaN included, is never read: not behind a row's own position, not before its window.
#[test]
fn what_lies_in_recycled_pages_is_never_read() {
    let mut random = Random::new(24);
    for level in Level::available() {
        for (kv_type, window) in [(KvType::F32, None), (KvType::F16, Some(37)), (KvType::BF16, Some(300))] {
            let case = Case { kv_type, window, ..PLAIN };
            let model = case.model(&mut random);
            let tokens = tokens(&mut random, 280);
            let mut session = Session::new(&model, &backend(3, level), case.options());
            let clean = session.run(1, &tokens, &[256]);
            session.release(1);
            for seat in 0..3 {
                session.run(seat, &[POISON; 768], &[256]);
            }
            (0..3).for_each(|seat| session.release(seat));
            for chunks in [[256, 1], [19, 7]] {
                let found = session.run(1, &tokens, &chunks);
                session.release(1);
                assert!(found.iter().flatten().all(|x| x.is_finite()), "{level}, {case:?}");
                assert!(found.iter().zip(&clean).all(|(a, b)| bits(a) == bits(b)), "{level}, {case:?}");
            }
        }
    }
}

/// The whole model's logits have the same bits on 1, 2, 3 and 5 threads, at every level and for stored types of every kind of
/// product, in prefill and in decode over a context long enough to be split among threads.
#[test]
fn logits_do_not_depend_on_the_number_of_threads() {
    let mut random = Random::new(25);
    for level in Level::available() {
        for (shape, stored, kv_type) in [
            (Shape { hidden: 64, mlp: 96, ..Shape::LLAMA }, StoredType::Q8_0, KvType::F16),
            (Shape::GEMMA, StoredType::BF16, KvType::BF16),
            (Shape::LLAMA, StoredType::F32, KvType::F32),
        ] {
            let model = Model::random(&shape, 31);
            let tokens: Vec<u32> = (0..290).map(|_| random.below(shape.vocab) as u32).collect();
            let run = |threads| {
                let options = Options { stored, kv_type, ..Options::default() };
                let found = Session::new(&model, &backend(threads, level), options).run(0, &tokens, &[200, 80, 1]);
                found.iter().map(|row| bits(row)).collect::<Vec<_>>()
            };
            let one = run(1);
            for threads in [2, 3, 5] {
                assert!(run(threads) == one, "{level}, {stored}, {threads} threads");
            }
        }
    }
}
