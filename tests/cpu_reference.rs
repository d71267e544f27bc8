//! The CPU backend against the meaning of its ops in double precision.

mod cpu_support;

use cpu_support::session::{Options, Session};
use cpu_support::{Model, Random, Shape, reference};
use tactus::backend::cpu::linear::Level;
use tactus::backend::cpu::{CpuBackend, CpuOptions};
use tactus::backend::{Activation, KvType};

fn backend(threads: usize, level: Level) -> CpuBackend {
    CpuBackend::new(CpuOptions { threads, level: Some(level) }).unwrap()
}

fn tokens(random: &mut Random, n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|_| random.below(vocab) as u32).collect()
}

/// max |a - b| over max |b|.
fn error(found: &[f32], expected: &[f64]) -> f64 {
    let size = expected.iter().fold(0f64, |m, x| m.max(x.abs()));
    found.iter().zip(expected).fold(0f64, |m, (&a, b)| m.max((f64::from(a) - b).abs())) / size
}

fn check(model: &Model, options: Options, threads: usize, level: Level, tokens: &[u32], chunks: &[usize], bound: f64) {
    let expected = reference::logits(model, tokens);
    let found = Session::new(model, &backend(threads, level), options).run(1, tokens, chunks);
    assert_eq!(found.len(), expected.len());
    for (position, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let error = error(found, expected);
        assert!(error <= bound, "{level}, position {position}: error {error:.1e}");
    }
}

#[test]
fn whole_models_agree_with_double_precision_at_every_level() {
    let mut random = Random::new(5);
    for level in Level::available() {
        for shape in [Shape::LLAMA, Shape::GEMMA] {
            let model = Model::random(&shape, 11);
            let tokens = tokens(&mut random, 300, shape.vocab);
            check(&model, Options::default(), 2, level, &tokens, &[130, 1, 1, 40, 256], 1e-4);
        }
    }
}

#[test]
fn random_shapes_agree_with_double_precision() {
    let mut random = Random::new(99);
    for round in 0..24 {
        let kv_heads = random.pick(&[1, 2, 3]);
        let head_dim = random.pick(&[8, 16, 24, 32, 64, 72, 80, 128]);
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
        let level = random.pick(&Level::available().collect::<Vec<_>>());
        check(&model, options, 1 + random.below(3), level, &tokens, &chunks, 1e-4);
    }
}

#[test]
fn half_precision_keys_stay_within_their_rounding() {
    let mut random = Random::new(3);
    for (kv_type, bound) in [(KvType::F16, 5e-3), (KvType::BF16, 4e-2)] {
        for level in Level::available() {
            for shape in [Shape::LLAMA, Shape::GEMMA] {
                let model = Model::random(&shape, 12);
                let tokens = tokens(&mut random, 290, shape.vocab);
                check(&model, Options { kv_type, ..Options::default() }, 2, level, &tokens, &[200, 1], bound);
            }
        }
    }
}
