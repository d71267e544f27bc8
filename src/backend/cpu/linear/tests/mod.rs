mod reference;

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use proptest::prelude::*;

use self::reference::{Rng, decode, random_tensor};
use super::*;
use crate::backend::{RowOrder, Weight, WeightPart};
use crate::error::Status;
use crate::weights::{Bytes, StoredTensor, StoredType};

fn weight(tensors: Vec<StoredTensor>) -> Weight {
    let (rows, cols) = (tensors.iter().map(|t| t.shape[0]).sum(), tensors[0].shape[1]);
    let part = |tensor: StoredTensor| WeightPart { name: tensor.name.clone(), tensor, order: RowOrder::AsStored };
    Weight { rows, cols, parts: tensors.into_iter().map(part).collect() }
}

fn packed(weight: &Weight, level: Level) -> PackedMatrix {
    pack(weight, level, &in_order, &|_, _| ()).unwrap()
}

/// Columns of a valid width for `ty`.
fn some_cols(ty: StoredType, rng: &mut Rng) -> usize {
    match ty.block_elements() {
        1 => 1 + rng.below(150),
        n => n * (1 + rng.below(768 / n)),
    }
}

struct Activations {
    f32: Vec<f32>,
    cols: usize,
    converted: Vec<(ActFormat, ActBuffer)>,
}

impl Activations {
    fn new(level: Level, rows: usize, cols: usize, f32: Vec<f32>) -> Self {
        let converted = [ActFormat::Bf16, ActFormat::Q8].map(|format| {
            let mut buffer = ActBuffer::new(format, rows, cols).unwrap();
            for row in 0..rows {
                quantize_row(level, format, &f32[row * cols..][..cols], buffer.row_mut(row));
            }
            (format, buffer)
        });
        Activations { f32, cols, converted: converted.into() }
    }

    fn rows(&self, from: usize, rows: usize) -> ActRows<'_> {
        let mut acts = ActRows::new(rows, self.cols).with_f32(&self.f32[from * self.cols..], self.cols);
        for (format, buffer) in &self.converted {
            let bytes = format.row_bytes(self.cols);
            acts = acts.with(*format, &buffer.bytes()[from * bytes..], bytes);
        }
        acts
    }
}

fn product(matrix: &PackedMatrix, acts: &ActRows<'_>, bias: Option<&[f32]>) -> Vec<f32> {
    let mut out = vec![f32::NAN; acts.rows() * matrix.rows()];
    let rows = OutRows { start: out.as_mut_ptr(), stride: matrix.rows(), store: Store::Write };
    // SAFETY: `out` has a row of the matrix for every activation row.
    unsafe { matrix.matmul(acts, 0..matrix.tiles(), rows, bias) };
    out
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Largest error that converting the activations may bring, against exact arithmetic on the stored weights: half a step of the
/// activation code per element for 8-bit, half a unit in the last place for bf16, and f32 rounding of the sum.
fn allowed(format: ActFormat, w: &[f32], x: &[f32]) -> f64 {
    let rounding: f64 = w.iter().zip(x).map(|(&w, &x)| (w as f64 * x as f64).abs()).sum::<f64>() * 2e-6;
    let conversion: f64 = match format {
        ActFormat::F32 => 0.0,
        ActFormat::Bf16 => w.iter().zip(x).map(|(&w, &x)| (w as f64 * x as f64).abs() / 256.0).sum(),
        ActFormat::Q8 => w
            .chunks(32)
            .zip(x.chunks(32))
            .map(|(w, x)| {
                let step = x.iter().fold(0.0f32, |m, x| m.max(x.abs())) as f64 / 127.0;
                w.iter().map(|w| w.abs() as f64).sum::<f64>() * step * 0.5001
            })
            .sum(),
    };
    conversion + rounding + 1e-30
}

#[test]
fn products_agree_with_the_reference_decoder_for_every_type_and_level() {
    for level in Level::available() {
        for ty in StoredType::ALL {
            let mut rng = Rng::new(7);
            for _ in 0..4 {
                let (rows, cols, m) = (1 + rng.below(70), some_cols(ty, &mut rng), 1 + rng.below(9));
                let tensor = random_tensor(ty, rows, cols, &mut rng, |r| r.signed());
                let dense = decode(&tensor);
                let x: Vec<f32> = (0..m * cols).map(|_| rng.signed() * 3.0).collect();
                let bias: Vec<f32> = (0..rows).map(|_| rng.signed()).collect();
                let acts = Activations::new(level, m, cols, x.clone());
                let matrix = packed(&weight(vec![tensor]), level);
                let out = product(&matrix, &acts.rows(0, m), Some(&bias));
                for i in 0..m {
                    for row in 0..rows {
                        let (w, x) = (&dense[row * cols..][..cols], &x[i * cols..][..cols]);
                        let exact: f64 = w.iter().zip(x).map(|(&w, &x)| w as f64 * x as f64).sum::<f64>() + bias[row] as f64;
                        let error = (out[i * rows + row] as f64 - exact).abs();
                        let most = allowed(act_format(ty, level), w, x) + 1e-6;
                        assert!(error <= most, "{ty} {level}: {error} > {most} at row {row} of {rows} × {cols}");
                    }
                }
            }
        }
    }
}

#[test]
fn gathered_rows_have_the_bits_of_the_reference_decoder() {
    for level in Level::available() {
        for ty in StoredType::ALL {
            let mut rng = Rng::new(11);
            let (rows, cols) = (37, some_cols(ty, &mut rng));
            let tensor = random_tensor(ty, rows, cols, &mut rng, |r| r.signed());
            let expected = decode(&tensor);
            let matrix = packed(&weight(vec![tensor]), level);
            let mut out = vec![0.0; cols];
            for row in 0..rows {
                matrix.gather_row(row, &mut out);
                assert_eq!(bits(&out), bits(&expected[row * cols..][..cols]), "{ty} {level} row {row}");
            }
        }
    }
}

#[test]
fn block_types_give_the_same_bits_at_every_level() {
    for ty in StoredType::ALL.into_iter().filter(|ty| ty.block_elements() > 1) {
        let mut rng = Rng::new(13);
        let (rows, cols, m) = (50, some_cols(ty, &mut rng), 7);
        let tensor = random_tensor(ty, rows, cols, &mut rng, |r| r.signed());
        let x: Vec<f32> = (0..m * cols).map(|_| rng.signed()).collect();
        let results: Vec<Vec<u32>> = Level::available()
            .map(|level| {
                let acts = Activations::new(level, m, cols, x.clone());
                bits(&product(&packed(&weight(vec![tensor.clone()]), level), &acts.rows(0, m), None))
            })
            .collect();
        for (level, result) in Level::available().zip(&results) {
            assert_eq!(result, &results[0], "{ty} {level}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The invariant of the module: the number of activation rows and the split into tiles change no bit.
    #[test]
    fn neither_batch_nor_split_changes_a_bit(ty in 0..StoredType::ALL.len(), level in 0..8usize, seed: u64, m in 1..40usize) {
        let ty = StoredType::ALL[ty];
        let levels: Vec<Level> = Level::available().collect();
        let level = levels[level % levels.len()];
        let mut rng = Rng::new(seed);
        let (rows, cols) = (1 + rng.below(150), some_cols(ty, &mut rng));
        let tensor = random_tensor(ty, rows, cols, &mut rng, |r| r.signed());
        let x = (0..m * cols).map(|_| rng.signed()).collect();
        let acts = Activations::new(level, m, cols, x);
        let matrix = packed(&weight(vec![tensor]), level);
        let whole = product(&matrix, &acts.rows(0, m), None);

        let mut pieces = vec![f32::NAN; m * rows];
        let mut row = 0;
        while row < m {
            let some = (1 + rng.below(13)).min(m - row);
            let mut tile = 0;
            while tile < matrix.tiles() {
                let end = (tile + 1 + rng.below(6)).min(matrix.tiles());
                let out = OutRows { start: pieces[row * rows..].as_mut_ptr(), stride: rows, store: Store::Write };
                // SAFETY: `pieces` has a row of the matrix for every activation row.
                unsafe { matrix.matmul(&acts.rows(row, some), tile..end, out, None) };
                tile = end;
            }
            row += some;
        }
        prop_assert_eq!(bits(&whole), bits(&pieces), "{} {}", ty, level);
    }
}

/// Scales at the ends of the f16 range and zero, activations from denormal to large: no level traps, and each stays within
/// the bound.
#[test]
fn extreme_scales_and_activations_stay_within_the_bound() {
    let scales = [0.0, 65504.0, -65504.0, 5.96e-8, 6.1e-5, 1.0];
    let sizes = [0.0, 1e-42, 1e-37, 1e-20, 1.0, 1e8];
    for level in Level::available() {
        for ty in StoredType::ALL {
            let mut rng = Rng::new(17);
            let (rows, cols, m) = (20, some_cols(ty, &mut rng), 6);
            let tensor = random_tensor(ty, rows, cols, &mut rng, |r| scales[r.below(scales.len())]);
            let dense = decode(&tensor);
            let x: Vec<f32> = (0..m * cols).map(|i| rng.signed() * sizes[(i / cols + i / 32) % sizes.len()]).collect();
            let acts = Activations::new(level, m, cols, x.clone());
            let out = product(&packed(&weight(vec![tensor]), level), &acts.rows(0, m), None);
            for i in 0..m {
                for row in 0..rows {
                    let (w, x) = (&dense[row * cols..][..cols], &x[i * cols..][..cols]);
                    let exact: f64 = w.iter().zip(x).map(|(&w, &x)| w as f64 * x as f64).sum();
                    let error = (out[i * rows + row] as f64 - exact).abs();
                    // Blocks of activations below 1e-35 count as zero.
                    let most = allowed(act_format(ty, level), w, x) + w.iter().map(|w| w.abs() as f64).sum::<f64>() * 1e-35;
                    assert!(error <= most, "{ty} {level}: {error} > {most}");
                }
            }
        }
    }
}

/// FIELD_CASES 45: what is not finite reaches the logits, where it is reported.
#[test]
fn what_is_not_finite_propagates() {
    for level in Level::available() {
        for ty in StoredType::ALL {
            let mut rng = Rng::new(19);
            let (rows, cols) = (20, some_cols(ty, &mut rng));
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut x: Vec<f32> = (0..2 * cols).map(|_| rng.signed()).collect();
                x[cols - 1] = bad;
                let tensor = random_tensor(ty, rows, cols, &mut rng, |_| 1.0);
                let acts = Activations::new(level, 2, cols, x);
                let out = product(&packed(&weight(vec![tensor.clone()]), level), &acts.rows(0, 2), None);
                assert!(out[..rows].iter().all(|v| !v.is_finite()), "{ty} {level}: activation {bad}");
                assert!(out[rows..].iter().all(|v| v.is_finite()), "{ty} {level}: the next row");

                let tensor = random_tensor(ty, rows, cols, &mut rng, |_| bad);
                let acts = Activations::new(level, 1, cols, vec![1.0; cols]);
                let out = product(&packed(&weight(vec![tensor]), level), &acts.rows(0, 1), None);
                assert!(out.iter().all(|v| !v.is_finite()), "{ty} {level}: weight {bad}");
            }
        }
    }
}

#[test]
fn f32_products_are_exact_to_rounding() {
    for level in Level::available() {
        let mut rng = Rng::new(23);
        let (rows, cols) = (33, 1536);
        let tensor = random_tensor(StoredType::F32, rows, cols, &mut rng, |r| r.signed());
        let w = decode(&tensor);
        let x: Vec<f32> = (0..cols).map(|_| rng.signed()).collect();
        let out = product(&packed(&weight(vec![tensor]), level), &Activations::new(level, 1, cols, x.clone()).rows(0, 1), None);
        let exact: Vec<f64> = w.chunks(cols).map(|w| w.iter().zip(&x).map(|(&w, &x)| w as f64 * x as f64).sum()).collect();
        let largest = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let error = out.iter().zip(&exact).fold(0.0f64, |m, (&o, e)| m.max((o as f64 - e).abs()));
        assert!(error <= 2e-6 * largest, "{level}: {error} of {largest}");
    }
}

#[test]
fn parts_of_unlike_types_and_row_orders_make_one_weight() {
    let level = Level::detect();
    let mut rng = Rng::new(29);
    let cols = 256;
    let kinds = [(StoredType::Q4_K, 64), (StoredType::F16, 40), (StoredType::Q8_0, 24), (StoredType::BF16, 8)];
    let tensors: Vec<StoredTensor> = kinds.map(|(ty, rows)| random_tensor(ty, rows, cols, &mut rng, |r| r.signed())).into();
    let mut weight = weight(tensors.clone());
    weight.parts[0].order = RowOrder::InterleavedPairs { head_dim: 32 };
    let matrix = packed(&weight, level);
    assert_eq!(matrix.tiles(), 4 + 3 + 2 + 1);

    let mut expected: Vec<Vec<f32>> =
        tensors.iter().flat_map(|t| decode(t).chunks(cols).map(<[f32]>::to_vec).collect::<Vec<_>>()).collect();
    let stored = expected.clone();
    for (row, expected) in expected.iter_mut().enumerate().take(64) {
        // Head of 32 rows: first all even stored rows, then all odd ones.
        let (head, within) = (row / 32, row % 32);
        *expected = stored[head * 32 + if within < 16 { 2 * within } else { 2 * (within - 16) + 1 }].clone();
    }
    let mut out = vec![0.0; cols];
    for (row, expected) in expected.iter().enumerate() {
        matrix.gather_row(row, &mut out);
        assert_eq!(bits(&out), bits(expected), "row {row}");
    }
    let x: Vec<f32> = (0..cols).map(|_| rng.signed()).collect();
    let acts = Activations::new(level, 1, cols, x.clone());
    for (row, (value, w)) in product(&matrix, &acts.rows(0, 1), None).iter().zip(&expected).enumerate() {
        let exact: f64 = w.iter().zip(&x).map(|(&w, &x)| w as f64 * x as f64).sum();
        assert!((*value as f64 - exact).abs() <= allowed(ActFormat::Q8, w, &x), "row {row}");
    }
}

#[test]
fn adding_to_the_output_adds() {
    let level = Level::detect();
    let mut rng = Rng::new(31);
    let (rows, cols) = (40, 64);
    let matrix = packed(&weight(vec![random_tensor(StoredType::Q4_1, rows, cols, &mut rng, |r| r.signed())]), level);
    let acts = Activations::new(level, 3, cols, (0..3 * cols).map(|_| rng.signed()).collect());
    let product = product(&matrix, &acts.rows(0, 3), None);
    let mut out: Vec<f32> = (0..3 * rows).map(|_| rng.signed()).collect();
    let expected: Vec<f32> = out.iter().zip(&product).map(|(a, b)| a + b).collect();
    let to = OutRows { start: out.as_mut_ptr(), stride: rows, store: Store::AddTo };
    // SAFETY: `out` has a row of the matrix for every activation row.
    unsafe { matrix.matmul(&acts.rows(0, 3), 0..matrix.tiles(), to, None) };
    assert_eq!(bits(&out), bits(&expected));
}

/// Portions on three threads, in whatever order they come.
fn on_three_threads(count: usize, work: &(dyn Fn(usize) + Sync)) -> crate::Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < count) {
                    work(index);
                }
            });
        }
    });
    Ok(())
}

#[test]
fn packing_reports_every_stored_byte_once_and_keeps_the_size() {
    let mut rng = Rng::new(37);
    for ty in StoredType::ALL {
        let tensor = random_tensor(ty, 64, 512, &mut rng, |r| r.signed());
        let stored = tensor.data.len();
        let told = Mutex::new(Vec::new());
        let matrix =
            pack(&weight(vec![tensor]), Level::detect(), &on_three_threads, &|_, range| told.lock().push(range)).unwrap();
        let mut told = told.into_inner();
        told.sort_by_key(|range| range.start);
        let end = told.iter().fold(0, |next, range| {
            assert_eq!(range.start, next);
            range.end
        });
        assert_eq!(end, stored, "{ty}");
        assert!(matrix.bytes() as f64 <= stored as f64 * 1.06, "{ty}: {} bytes for {stored}", matrix.bytes());
    }
}

/// Several portions, with rows that change places inside them and a last tile that is not full.
#[test]
fn threads_pack_what_one_packs() {
    let mut rng = Rng::new(43);
    let head_dim = 24;
    for order in [RowOrder::AsStored, RowOrder::InterleavedPairs { head_dim }] {
        let (rows, cols) = (head_dim * 85, 2048);
        let tensor = random_tensor(StoredType::F32, rows, cols, &mut rng, |r| r.signed());
        let mut weight = weight(vec![tensor]);
        weight.parts[0].order = order;
        let matrix = pack(&weight, Level::detect(), &on_three_threads, &|_, _| ()).unwrap();
        let data = weight.parts[0].tensor.data.read().unwrap();
        let mut row = vec![0.0; cols];
        for index in 0..rows {
            matrix.gather_row(index, &mut row);
            let stored = &data[order.stored_row(index) * cols * 4..][..cols * 4];
            let expected = stored.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            assert!(row.iter().copied().eq(expected), "row {index}, {order:?}");
        }
    }
}

#[test]
fn a_wrong_shape_is_refused_with_what_was_expected() {
    let mut rng = Rng::new(41);
    let good = random_tensor(StoredType::Q4_1, 32, 64, &mut rng, |r| r.signed());
    let refused = |change: &dyn Fn(&mut Weight)| {
        let mut weight = weight(vec![good.clone()]);
        change(&mut weight);
        let error = pack(&weight, Level::detect(), &in_order, &|_, _| ()).unwrap_err();
        assert_eq!(error.status(), Status::Format);
        error.message().to_string()
    };
    assert_eq!(refused(&|w| w.rows = 48), "random.Q4_1: 32 rows, expected 48");
    assert!(refused(&|w| w.cols = 96).contains("[32, 64] Q4_1, expected 96 columns"));
    assert!(refused(&|w| w.parts[0].tensor.shape = vec![2048]).contains("[2048] Q4_1, expected a matrix of 64 columns"));
    assert!(refused(&|w| w.parts[0].tensor.data = Bytes::from_vec(vec![0; 10]).into()).contains("32 rows of 40 bytes, found 10"));
    assert!(
        refused(&|w| w.parts[0].order = RowOrder::InterleavedPairs { head_dim: 24 }).contains("heads of an even width, here 24")
    );
}
