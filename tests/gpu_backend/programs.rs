//! Random programs against their meaning in double precision, and steps against each other.

use tactus::Status;
use tactus::backend::{Activation, Backend, ExecutorLimits, KvType};
use tactus::weights::StoredType;

use crate::cpu_support::session::{Options, Part, Session};
use crate::cpu_support::{Model, Random, Shape, reference};

fn tokens(random: &mut Random, n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|_| random.below(vocab) as u32).collect()
}

/// max |a - b| over max |b|, the largest of all positions.
fn error(found: &[Vec<f32>], expected: &[Vec<f64>]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let one = |(found, expected): (&Vec<f32>, &Vec<f64>)| {
        assert!(found.iter().all(|v| v.is_finite()));
        let size = expected.iter().fold(0f64, |m, x| m.max(x.abs()));
        found.iter().zip(expected).fold(0f64, |m, (&a, b)| m.max((f64::from(a) - b).abs())) / size
    };
    found.iter().zip(expected).map(one).fold(0.0, f64::max)
}

#[test]
fn whole_models_agree_with_double_precision() {
    let Some(device) = crate::device() else { return };
    let mut random = Random::new(5);
    for (name, shape) in [("llama", Shape::LLAMA), ("gemma", Shape::GEMMA)] {
        let model = Model::random(&shape, 11);
        let tokens = tokens(&mut random, 300, shape.vocab);
        let expected = reference::logits(&model, &tokens);
        for (kv_type, bound) in [(KvType::F32, 1e-4), (KvType::F16, 5e-3), (KvType::BF16, 4e-2)] {
            let options = Options { kv_type, ..Options::default() };
            let found = Session::new(&model, device, options).run(1, &tokens, &[130, 1, 1, 40, 256]);
            let error = error(&found, &expected);
            println!("{name}, KV {kv_type:?}: {error:.1e}");
            assert!(error <= bound, "{name}, KV {kv_type:?}: {error:.1e}, bound {bound:.0e}");
        }
    }
}

#[test]
fn random_shapes_agree_with_double_precision() {
    let Some(device) = crate::device() else { return };
    let mut random = Random::new(99);
    for round in 0..24 {
        let kv_heads = random.pick(&[1, 2, 3]);
        let head_dim = random.pick(&[8, 16, 24, 32, 64, 72, 80, 128, 256]);
        let shape = Shape {
            layers: random.pick(&[1, 2, 3]),
            hidden: random.pick(&[16, 24, 56, 100]),
            heads: kv_heads * random.pick(&[1, 2, 3, 4, 7]),
            kv_heads,
            head_dim,
            rotated: if random.below(3) == 0 { head_dim / 2 } else { head_dim },
            mlp: random.pick(&[16, 40, 64, 90]),
            vocab: random.pick(&[17, 64, 129]),
            act: random.pick(&[Activation::Silu, Activation::GeluTanh, Activation::Gelu]),
            window: random.pick(&[None, Some(1), Some(17), Some(64), Some(300)]),
            softcap: random.pick(&[None, Some(5.0)]),
            logit_softcap: random.pick(&[None, Some(3.0)]),
            head_norms: random.below(2) == 0,
            biases: random.below(2) == 0,
            post_norms: random.below(2) == 0,
            embed_scale: 1.5,
            tied: random.below(2) == 0,
        };
        let model = Model::random(&shape, 1000 + round);
        let n = 40 + random.below(280);
        let tokens = tokens(&mut random, n, shape.vocab);
        let chunks = [1 + random.below(200), 1 + random.below(9), 1 + random.below(100)];
        let options = Options { page_tokens: random.pick(&[16, 32, 64]), ..Options::default() };
        let found = Session::new(&model, device, options).run(1, &tokens, &chunks);
        let error = error(&found, &reference::logits(&model, &tokens));
        assert!(error <= 1e-4, "round {round}, {shape:?}: {error:.1e}");
    }
}

/// Weights and heads of the sizes that the streaming kernels take, in steps of one row, of few and of many.
#[test]
fn bf16_models_of_usual_sizes_agree_with_double_precision() {
    let (Some(fast), Some(exact)) = (crate::device(), crate::exact_device()) else { return };
    let mut random = Random::new(31);
    for (head_dim, kv_type) in [(64, KvType::F16), (128, KvType::BF16), (256, KvType::F16), (128, KvType::F16)] {
        let shape = Shape {
            hidden: 256,
            heads: 6,
            kv_heads: 2,
            head_dim,
            rotated: head_dim,
            mlp: 352,
            vocab: 1000,
            window: Some(70),
            biases: head_dim == 64,
            softcap: (head_dim == 256).then_some(20.0),
            ..Shape::LLAMA
        };
        let mut model = Model::random(&shape, head_dim as u64);
        for (_, _, values) in &mut model.weights {
            values.iter_mut().for_each(|v| *v = half::bf16::from_f32(*v).to_f32());
        }
        // Past 512 positions the last steps share a row's positions out.
        let tokens = tokens(&mut random, 600, shape.vocab);
        let expected = reference::logits(&model, &tokens);
        let options = Options { kv_type, stored: StoredType::BF16, ..Options::default() };
        for (name, device) in [("fast", fast), ("batch-invariant", exact)] {
            let found = Session::new(&model, device, options).run(1, &tokens, &[100, 1, 1, 7, 30, 12, 1, 256, 150, 1]);
            let error = error(&found, &expected);
            println!("heads of {head_dim}, KV {kv_type:?}, {name}: {error:.1e}");
            assert!(error <= 6e-2, "heads of {head_dim}, KV {kv_type:?}, {name}: {error:.1e}");
        }
        let whole = Session::new(&model, exact, options).run(0, &tokens, &[256]);
        let pieces = Session::new(&model, exact, options).run(2, &tokens, &[1, 3, 9, 20, 64]);
        assert_eq!(whole, pieces, "heads of {head_dim}, KV {kv_type:?}: chunks change the bits");
    }
}

/// Several residents decode and prefill side by side; each has the bits it has alone.
#[test]
fn neighbours_do_not_change_a_row_in_batch_invariant_mode() {
    let Some(device) = crate::exact_device() else { return };
    let mut random = Random::new(7);
    for (stored, shape) in [(StoredType::F32, Shape::GEMMA), (StoredType::BF16, Shape::LLAMA)] {
        let model = Model::random(&shape, 3);
        let lists: Vec<Vec<u32>> = [70, 90, 55].iter().map(|&n| tokens(&mut random, n, shape.vocab)).collect();
        let options = Options { stored, kv_type: KvType::BF16, ..Options::default() };
        let alone: Vec<Vec<Vec<f32>>> =
            (0..3).map(|seat| Session::new(&model, device, options).run(seat, &lists[seat], &[50, 1])).collect();
        let mut session = Session::new(&model, device, options);
        let mut at = [0; 3];
        let mut compared = 0;
        while (0..3).any(|seat| at[seat] < lists[seat].len()) {
            let parts: Vec<Part> = (0..3)
                .filter(|&seat| at[seat] < lists[seat].len())
                .map(|seat| {
                    let left = lists[seat].len() - at[seat];
                    let n = if random.below(3) == 0 { 1 + random.below(left.min(20)) } else { 1 };
                    Part { seat, tokens: &lists[seat][at[seat]..at[seat] + n], all_outputs: true }
                })
                .collect();
            let spans: Vec<(usize, usize)> = parts.iter().map(|part| (part.seat, part.tokens.len())).collect();
            session.step(&parts);
            let mut output = 0;
            for (seat, n) in spans {
                for _ in 0..n {
                    assert_eq!(session.logits(output), alone[seat][at[seat]], "{stored}, seat {seat}, position {}", at[seat]);
                    at[seat] += 1;
                    output += 1;
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 70 + 90 + 55);
    }
}

/// Issue: captured steps and launched ones are the same bit for bit, and the host finds its steps replayed.
#[test]
fn captured_steps_give_the_same_bits() {
    let Some(device) = crate::device() else { return };
    let mut random = Random::new(17);
    let shape = Shape::GEMMA;
    let model = Model::random(&shape, 5);
    let options = Options { seats: 11, length: 512, kv_type: KvType::F16, stored: StoredType::BF16, ..Options::default() };
    let prompts: Vec<Vec<u32>> = (0..11).map(|i| tokens(&mut random, 3 + 30 * i, shape.vocab)).collect();
    let steps: Vec<(Vec<usize>, Vec<u32>)> = (0..40)
        .map(|_| {
            let seats: Vec<usize> = (0..11).filter(|_| random.below(3) > 0).collect();
            let tokens = tokens(&mut random, seats.len(), shape.vocab);
            (seats, tokens)
        })
        .collect();
    let run = |capture: bool| {
        let mut session = Session::new(&model, device, options);
        if capture {
            assert!(session.executor.capture().unwrap());
        }
        for (seat, prompt) in prompts.iter().enumerate() {
            for tokens in prompt.chunks(200) {
                session.step(&[Part { seat, tokens, all_outputs: false }]);
            }
        }
        let mut all = Vec::new();
        for (seats, tokens) in &steps {
            let parts: Vec<Part> =
                seats.iter().enumerate().map(|(i, &seat)| Part { seat, tokens: &tokens[i..i + 1], all_outputs: true }).collect();
            let outputs = session.step(&parts);
            all.extend((0..outputs).map(|output| session.logits(output)));
        }
        all
    };
    let (eager, captured) = (run(false), run(true));
    assert!(eager.len() > 200);
    assert_eq!(eager, captured);
}

#[test]
fn memory_that_is_not_there_is_refused_with_its_figures_and_nothing_is_kept() {
    let Some(device) = crate::device() else { return };
    let model = Model::random(&Shape::LLAMA, 1);
    let (weights, vectors) = model.pack(device);
    let before = device.free_memory().unwrap();
    let limits = ExecutorLimits {
        max_rows: 16,
        max_outputs: 16,
        seats: 2,
        page_tokens: 32,
        pages_per_seat: 1 << 20,
        group_pages: vec![1 << 30; model.program.kv_groups.len()],
        kv_type: KvType::F16,
        sampled_vocab: model.program.vocab,
    };
    let error = device.executor(model.program.clone(), weights, vectors, &limits).err().unwrap();
    assert_eq!(error.status(), Status::DeviceOutOfMemory, "{error}");
    assert!(error.message().contains("bytes of device memory needed, ") && error.message().contains(" free"), "{error}");
    println!("{error}");
    assert!(device.free_memory().unwrap() + (64 << 20) >= before, "{} of {before} bytes are free", device.free_memory().unwrap());
}
