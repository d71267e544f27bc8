//! Products of packed weights on their own: what the linear layers of a model allow.
//!
//! `cargo bench --bench linear -- [types,…] [shapes,…] [rows,…] [level] [threads]`, each optional, `-` for the default. Every line is a
//! pass over all matrices of a model's layers: weights come from memory as in a real step, threads meet after each matrix.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use tactus::backend::cpu::linear::{
    ActBuffer, ActFormat, Level, OutRows, PackedMatrix, Store, act_format, in_order, pack, quantize_row,
};
use tactus::backend::{RowOrder, Weight, WeightPart};
use tactus::weights::{Bytes, StoredTensor, StoredType};

struct Shape {
    name: &'static str,
    /// Rows and columns of each matrix of a layer.
    layer: &'static [(usize, usize)],
    layers: usize,
}

const SHAPES: [Shape; 4] = [
    // Stays in the second-level cache: what the instructions allow.
    Shape { name: "cached", layer: &[(512, 768)], layers: 1 },
    Shape { name: "smollm2", layer: &[(960, 576), (576, 576), (3072, 576), (576, 1536)], layers: 30 },
    Shape { name: "gemma3", layer: &[(1536, 640), (640, 1024), (4096, 640), (640, 2048)], layers: 18 },
    Shape { name: "wide2048", layer: &[(3072, 2048), (2048, 2048), (11264, 2048), (2048, 5632)], layers: 4 },
];

fn random_weight(ty: StoredType, rows: usize, cols: usize, state: &mut u64) -> Weight {
    let bytes = ty.bytes_for(rows * cols).expect("whole blocks");
    let mut data = Vec::with_capacity(bytes + 8);
    while data.len() < bytes {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        // The mask keeps every 16 bits a small finite f16 and bf16.
        data.extend_from_slice(&(*state & 0x3bff_3bff_3bff_3bff).to_le_bytes());
    }
    data.truncate(bytes);
    let tensor = StoredTensor { name: "bench".into(), ty, shape: vec![rows, cols], data: Bytes::from_vec(data).into() };
    Weight { rows, cols, parts: vec![WeightPart { name: "bench".into(), tensor, order: RowOrder::AsStored }] }
}

struct Barrier {
    arrived: AtomicUsize,
    threads: usize,
}

impl Barrier {
    fn wait(&self) {
        let ticket = self.arrived.fetch_add(1, Ordering::AcqRel);
        let end = (ticket / self.threads + 1) * self.threads;
        while self.arrived.load(Ordering::Acquire) < end {
            std::hint::spin_loop();
        }
    }
}

/// Seconds of one pass, the best of several.
fn pass(matrices: &[PackedMatrix], format: ActFormat, level: Level, m: usize, threads: usize) -> f64 {
    let most_cols = matrices.iter().map(PackedMatrix::cols).max().unwrap_or(0);
    let most_rows = matrices.iter().map(PackedMatrix::rows).max().unwrap_or(0);
    let x: Vec<f32> = (0..most_cols).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
    let buffers: Vec<(usize, ActBuffer)> = {
        let mut all: Vec<usize> = matrices.iter().map(PackedMatrix::cols).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
            .map(|cols| {
                let mut buffer = ActBuffer::new(format, m, cols).expect("memory");
                (0..m).for_each(|row| quantize_row(level, format, &x[..cols], buffer.row_mut(row)));
                (cols, buffer)
            })
            .collect()
    };
    let mut out = vec![0.0f32; m * most_rows];
    let out = OutRows { start: out.as_mut_ptr(), stride: most_rows, store: Store::Write };
    let barrier = Barrier { arrived: AtomicUsize::new(0), threads };
    let (best, done) = (Mutex::new(f64::MAX), AtomicBool::new(false));
    let run = |thread: usize| {
        let started = Instant::now();
        while !done.load(Ordering::Relaxed) {
            barrier.wait();
            let time = Instant::now();
            for matrix in matrices {
                let (_, buffer) = buffers.iter().find(|(cols, _)| *cols == matrix.cols()).expect("made above");
                let (tiles, grain) = (matrix.tiles(), matrix.grain());
                let cut = |i: usize| if i == threads { tiles } else { (tiles * i / threads).next_multiple_of(grain).min(tiles) };
                // SAFETY: `out` has a row of the largest matrix for every activation row; threads have disjoint tiles.
                unsafe { matrix.matmul(&buffer.rows(m), cut(thread)..cut(thread + 1), out, None) };
                barrier.wait();
            }
            if thread == 0 {
                let mut best = best.lock().expect("no thread panics");
                *best = best.min(time.elapsed().as_secs_f64());
                done.store(started.elapsed().as_secs_f64() > 1.2, Ordering::Relaxed);
            }
            barrier.wait();
        }
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            scope.spawn(move || run(thread));
        }
        run(0);
    });
    best.into_inner().expect("no thread panics")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let list = |i: usize| args.get(i).filter(|a| *a != "-").map(|a| a.split(',').map(str::to_owned).collect::<Vec<_>>());
    let types = list(0);
    let shapes = list(1);
    let rows: Vec<usize> = list(2).map_or(vec![1, 16, 512], |l| l.iter().map(|m| m.parse().expect("rows are numbers")).collect());
    let level = list(3).map_or(Level::detect(), |l| {
        Level::available().find(|level| level.name() == l[0]).unwrap_or_else(|| panic!("no level {} here", l[0]))
    });
    let threads: usize = list(4).map_or(2, |l| l[0].parse().expect("threads are a number"));
    println!("level {level}, {threads} threads");
    println!(
        "{:9} {:8} {:>7} {:>9} {:>5} {:>9} {:>8} {:>9} {:>9}",
        "shape", "type", "MB", "pack MB/s", "rows", "ms", "GB/s", "GMAC/s", "tokens/s"
    );
    for shape in SHAPES.iter().filter(|s| shapes.as_ref().is_none_or(|l| l.iter().any(|n| n == s.name))) {
        for ty in StoredType::ALL.into_iter().filter(|ty| types.as_ref().is_none_or(|l| l.iter().any(|n| n == ty.name()))) {
            if shape.layer.iter().any(|(_, cols)| cols % ty.block_elements() != 0) {
                continue;
            }
            let mut state = 0x9e37_79b9_7f4a_7c15;
            let mut packing = 0.0;
            let mut matrices = Vec::new();
            for _ in 0..shape.layers {
                for &(rows, cols) in shape.layer {
                    let weight = random_weight(ty, rows, cols, &mut state);
                    let time = Instant::now();
                    matrices.push(pack(&weight, level, &in_order, &|_, _| ()).expect("a good weight"));
                    packing += time.elapsed().as_secs_f64();
                }
            }
            let bytes: u64 = matrices.iter().map(PackedMatrix::bytes).sum();
            let macs: f64 = matrices.iter().map(|w| (w.rows() * w.cols()) as f64).sum();
            for &m in &rows {
                let seconds = pass(&matrices, act_format(ty, level), level, m, threads);
                println!(
                    "{:9} {:8} {:7.1} {:9.0} {m:5} {:9.3} {:8.1} {:9.1} {:9.1}",
                    shape.name,
                    ty.name(),
                    bytes as f64 / 1e6,
                    bytes as f64 / packing / 1e6,
                    seconds * 1e3,
                    bytes as f64 / seconds / 1e9,
                    macs * m as f64 / seconds / 1e9,
                    m as f64 / seconds
                );
            }
        }
    }
}
