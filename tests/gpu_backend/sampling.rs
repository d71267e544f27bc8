//! Sampling on the device against the CPU's, on the same logits.
//!
//! A program whose head is the identity says its embedding table: both backends' logits are the same bits.

use std::sync::Arc;

use tactus::backend::{
    Backend, Executor, ExecutorLimits, KvType, Op, Packed, Program, RowClass, RowOrder, SampleFault, SampleRow, Sampled,
    SamplingParams, Slot, SlotId, StepBatch, TokenCount, VectorId, Weight, WeightId, WeightPart, WeightUse,
};
use tactus::weights::{Bytes, StoredTensor, StoredType};

use crate::cpu_support::Random;

/// More than one block of the survey, and no multiple of anything.
const VOCAB: usize = 5003;
const LIMIT: usize = 4990;
const ROWS: usize = 24;

fn program() -> Arc<Program> {
    let slot = |rows| Slot { rows, width: VOCAB };
    let (x, selected, normed) = (SlotId(0), SlotId(1), SlotId(2));
    Arc::new(Program {
        slots: vec![slot(RowClass::Tokens), slot(RowClass::Outputs), slot(RowClass::Outputs)],
        vocab: VOCAB,
        ops: vec![
            Op::Embed { table: WeightId(0), scale: 1.0, out: x },
            Op::SelectOutputs { x, out: selected },
            // Of rows whose mean square is 1, so that it changes next to nothing; then both backends read what it gave.
            Op::RmsNorm { x: selected, weight: VectorId(0), eps: 0.0, out: normed },
            Op::Logits { x: normed, weight: WeightId(1), softcap: None },
        ],
        ..Program::default()
    })
}

fn pack(backend: &dyn Backend, ty: StoredType, rows: usize, data: Vec<u8>) -> Packed {
    let tensor = StoredTensor { name: "w".into(), ty, shape: vec![rows, VOCAB], data: Bytes::from_vec(data).into() };
    let parts = vec![WeightPart { name: "w".into(), tensor, order: RowOrder::AsStored }];
    backend.pack(&Weight { rows, cols: VOCAB, parts }, WeightUse { embed: true, linear: true }).unwrap()
}

fn executor(backend: &dyn Backend, table: &[f32]) -> Box<dyn Executor> {
    let one = half::f16::from_f32(1.0).to_le_bytes();
    let mut identity = vec![0u8; VOCAB * VOCAB * 2];
    for i in 0..VOCAB {
        identity[2 * (i * VOCAB + i)..][..2].copy_from_slice(&one);
    }
    let table: Vec<u8> = table.iter().flat_map(|v| v.to_le_bytes()).collect();
    let weights = [pack(backend, StoredType::F32, ROWS, table), pack(backend, StoredType::F16, VOCAB, identity)];
    let vectors = [backend.pack_vector(&vec![1.0; VOCAB]).unwrap()];
    let limits = ExecutorLimits {
        max_rows: ROWS,
        max_outputs: ROWS,
        seats: ROWS,
        page_tokens: 16,
        pages_per_seat: 1,
        group_pages: vec![],
        kv_type: KvType::F16,
        sampled_vocab: LIMIT,
    };
    backend.executor(program(), Arc::new(weights), Arc::new(vectors), &limits).unwrap()
}

/// Rows of logits of different shapes: spread, peaked, nearly flat, of few values, so that many are equal.
fn table(random: &mut Random) -> Vec<f32> {
    (0..ROWS)
        .flat_map(|row| {
            let mut values: Vec<f32> = (0..VOCAB)
                .map(|_| {
                    let normal = (0..6).map(|_| random.uniform()).sum::<f32>() - 3.0;
                    match row % 4 {
                        0 => normal * 3.0,
                        1 => normal.powi(3),
                        2 => normal * 0.01,
                        _ => (normal * 2.0).round(),
                    }
                })
                .collect();
            if row % 4 == 1 {
                values[random.below(LIMIT)] = 30.0;
            }
            values
        })
        .collect()
}

struct Settings {
    params: SamplingParams,
    bias: Vec<(u32, f32)>,
    counts: Vec<TokenCount>,
    mask: Option<Vec<u32>>,
    logprobs: Option<u32>,
}

fn settings(random: &mut Random) -> Settings {
    let params = SamplingParams {
        temperature: random.pick(&[0.0, 0.3, 0.8, 1.0, 2.5]),
        top_k: random.pick(&[0, 0, 1, 2, 40, 300, 4000, 100_000]),
        top_p: random.pick(&[1.0, 1.0, 0.0, 0.3, 0.9, 0.99]),
        min_p: random.pick(&[0.0, 0.0, 0.05, 0.5, 1.0]),
        repetition_penalty: random.pick(&[1.0, 1.3, 0.7]),
        presence_penalty: random.pick(&[0.0, 0.5]),
        frequency_penalty: random.pick(&[0.0, 0.2]),
    };
    let few = |random: &mut Random| -> Vec<u32> {
        let mut tokens: Vec<u32> = (0..random.below(60)).map(|_| random.below(VOCAB) as u32).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    };
    let bias = match random.below(3) {
        0 => few(random).into_iter().map(|t| (t, random.pick(&[-3.0, 2.0, 7.5, f32::NEG_INFINITY]))).collect(),
        _ => vec![],
    };
    let counts = match params.has_penalties() {
        true => few(random)
            .into_iter()
            .map(|token| TokenCount { token, in_prompt: random.below(2) == 0, in_output: random.below(4) as u32 })
            .collect(),
        false => vec![],
    };
    // At times shorter than the vocabulary: what it does not reach is not allowed.
    let words = random.pick(&[VOCAB.div_ceil(32), 20]);
    let word = |random: &mut Random| {
        let any = (random.uniform() * 4e9) as u32;
        random.pick(&[0, u32::MAX, 0x8000_0001, any])
    };
    let mask = (random.below(4) == 0).then(|| (0..words).map(|_| word(random)).collect());
    Settings { params, bias, counts, mask, logprobs: random.pick(&[None, None, Some(0), Some(3), Some(50)]) }
}

fn forward(executor: &mut dyn Executor) {
    // Rows of one span: nothing here looks at pages.
    let tokens: Vec<u32> = (0..ROWS as u32).collect();
    let positions: Vec<[u32; 3]> = (0..ROWS as u32).map(|_| [0; 3]).collect();
    let spans: Vec<_> = (0..ROWS as u32).map(|r| tactus::backend::Span { seat: r, first_row: r, rows: 1, start: 0 }).collect();
    let batch =
        StepBatch { tokens: &tokens, positions: &positions, spans: &spans, outputs: &tokens, page_tables: &[], taps: &[] };
    executor.forward(&batch).unwrap();
}

#[test]
fn tokens_and_log_probabilities_are_the_cpus() {
    let Some(device) = crate::device() else { return };
    let mut random = Random::new(2024);
    let mut table = table(&mut random);
    for row in table.chunks_mut(VOCAB) {
        let rms = (row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / VOCAB as f64).sqrt();
        row.iter_mut().for_each(|v| *v = (f64::from(*v) / rms) as f32);
    }
    let mut theirs = executor(device, &table);
    forward(&mut *theirs);
    // The CPU's table is what the device's logits are: the CPU divides by its own idea of 1.
    let mut logits = vec![0.0; VOCAB * ROWS];
    logits.chunks_mut(VOCAB).enumerate().for_each(|(row, into)| theirs.read_logits(row, into).unwrap());
    let cpu = crate::cpu();
    let mut ours = executor(&cpu, &logits);
    forward(&mut *ours);
    let mut cpu_logits = vec![0.0; VOCAB];
    let mut differing = 0;
    for row in 0..ROWS {
        ours.read_logits(row, &mut cpu_logits).unwrap();
        differing += cpu_logits.iter().zip(&logits[row * VOCAB..]).filter(|(a, b)| a != b).count();
    }
    println!("{differing} of {} logits differ in their last bit", logits.len());

    let (mut draws, mut other) = (0, 0);
    for round in 0..200 {
        let all: Vec<Settings> = (0..ROWS).map(|_| settings(&mut random)).collect();
        let rows: Vec<SampleRow> = all
            .iter()
            .enumerate()
            .map(|(output, s)| SampleRow {
                output: output as u32,
                params: s.params,
                seed: 0x1234_5678_9abc_def0 ^ (round * 977 + output) as u64,
                draw: round as u64,
                bias: &s.bias,
                counts: &s.counts,
                mask: s.mask.as_deref(),
                logprobs: s.logprobs,
            })
            .collect();
        let (mut expected, mut found) = (vec![Sampled::default(); ROWS], vec![Sampled::default(); ROWS]);
        ours.sample(&rows, &mut expected).unwrap();
        theirs.sample(&rows, &mut found).unwrap();
        for ((row, found), expected) in all.iter().zip(&found).zip(&expected) {
            assert_eq!(found.fault, expected.fault, "round {round}, {:?}", row.params);
            draws += 1;
            if found.token != expected.token {
                // Of a draw that falls on the border between two tokens, to a rounding.
                println!("round {round}: token {} for {}, {:?}", found.token, expected.token, row.params);
                assert!(!row.params.is_greedy());
                other += 1;
                continue;
            }
            assert!((found.logprob - expected.logprob).abs() <= 2e-5 * expected.logprob.abs().max(1.0), "{found:?} {expected:?}");
            assert_eq!(found.top.len(), expected.top.len());
            for (found, expected) in found.top.iter().zip(&expected.top) {
                assert_eq!(found.0, expected.0, "round {round}");
                assert!((found.1 - expected.1).abs() <= 2e-5 * expected.1.abs().max(1.0));
            }
        }
    }
    println!("{other} of {draws} draws differ");
    assert!(other * 1000 <= draws, "{other} of {draws} draws differ");
}

#[test]
fn a_rows_fault_is_its_own() {
    let Some(device) = crate::device() else { return };
    let mut random = Random::new(3);
    let mut table = table(&mut random);
    table[VOCAB + 17] = f32::NAN;
    table[2 * VOCAB + VOCAB - 1] = f32::INFINITY;
    let mut executor = executor(device, &table);
    forward(&mut *executor);
    let nothing = vec![0u32; VOCAB.div_ceil(32)];
    let all: Vec<(u32, f32)> = vec![(5, f32::INFINITY)];
    let row = |output: u32| SampleRow {
        output,
        params: SamplingParams::GREEDY,
        seed: 0,
        draw: 0,
        bias: &[],
        counts: &[],
        mask: None,
        logprobs: None,
    };
    let rows = [row(0), row(1), row(2), SampleRow { mask: Some(&nothing), ..row(3) }, SampleRow { bias: &all, ..row(4) }, row(5)];
    let mut out = vec![Sampled::default(); rows.len()];
    executor.sample(&rows, &mut out).unwrap();
    let faults: Vec<Option<SampleFault>> = out.iter().map(|s| s.fault).collect();
    let non_finite = Some(SampleFault::NonFinite);
    assert_eq!(faults, [None, non_finite, non_finite, Some(SampleFault::NothingAllowed), non_finite, None]);
}
