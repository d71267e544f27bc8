//! Logits of the tiny checkpoints against transformers, through both doors, for every family and every stored type.

mod support;

use support::decoder::{Sequence, argmax};
use support::reference::{Prompt, Reference};
use support::{data, relative_error};
use tactus::artifacts::{LoadOptions, ModelArtifacts};
use tactus::backend::KvType;
use tactus::backend::cpu::{CpuBackend, CpuOptions};

fn backend() -> CpuBackend {
    CpuBackend::new(CpuOptions { threads: 2, level: None }).unwrap()
}

fn load(model: &str) -> std::sync::Arc<ModelArtifacts> {
    ModelArtifacts::load(&LoadOptions::new(data(model))).unwrap()
}

fn rope_length(prompt: &Prompt) -> usize {
    prompt.rope_length.unwrap_or(prompt.ids.len() + prompt.greedy.len())
}

/// Every prompt of a reference, whole and in chunks of 7 (pages below a window given back), and where the bound allows no other
/// choice its greedy continuation.
fn check(name: &str, bound: f32) {
    let reference = Reference::read(name);
    let model = load(&reference.document.model);
    let backend = backend();
    for prompt in &reference.document.prompts {
        let capacity = prompt.ids.len() + prompt.greedy.len();
        let sequence = || Sequence::new(&backend, &model, KvType::F32, capacity, rope_length(prompt));
        let expected = reference.logits(prompt);
        let compare = |logits: &[Vec<f32>], how: &str| {
            for (row, logits) in logits.iter().enumerate() {
                let error = relative_error(logits, &expected[row]);
                assert!(error <= bound, "{name}, {}, {how}: position {row} is off by {error:.2e} relative", prompt.name);
            }
        };
        let mut whole = sequence();
        let logits = whole.push(&prompt.ids);
        compare(&logits, "whole");

        let mut chunked = sequence();
        chunked.give_back = true;
        let in_chunks: Vec<Vec<f32>> = prompt.ids.chunks(7).flat_map(|ids| chunked.push(ids)).collect();
        compare(&in_chunks, "in chunks");
        assert_eq!(logits, in_chunks, "{name}, {}: chunks change the logits", prompt.name);

        if bound <= EXACT {
            let legal = model.sampled_vocab();
            let mut next = argmax(logits.last().unwrap(), legal);
            for (step, &expected) in prompt.greedy.iter().enumerate() {
                assert_eq!(next, expected, "{name}, {}: greedy token {step}", prompt.name);
                next = argmax(&whole.push(&[next])[0], legal);
            }
        }
    }
}

/// DECISIONS 18. Also of F16, whose values are f32 values: products are in f32.
const EXACT: f32 = 1e-4;
/// Processors with the bf16 dot product round activations to 8 bits of mantissa; others are exact.
const BF16: f32 = 4e-2;
/// Activations are rounded to 8-bit integers with a scale per block. docs/FORMATS.md has what was measured.
const BLOCKS: f32 = 6e-2;

macro_rules! goldens {
    ($bound:expr; $($test:ident: $name:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            check($name, $bound);
        })*
    };
}

goldens! { EXACT;
    llama: "llama",
    llama_in_f16: "llama-f16",
    llama_with_llama3_scaling: "llama-rope-llama3",
    llama_with_linear_scaling: "llama-rope-linear",
    llama_with_yarn: "llama-rope-yarn",
    llama_with_dynamic_scaling: "llama-rope-dynamic",
    mistral: "mistral",
    qwen2: "qwen2",
    qwen2_with_a_window: "qwen2-window",
    qwen3: "qwen3",
    gemma3: "gemma3",
    gemma3_with_a_pattern: "gemma3-pattern",
    gguf_llama: "gguf-llama-f32",
    gguf_llama_in_f16: "gguf-llama-f16",
    gguf_llama_with_sentencepiece: "gguf-llama-spm-f16",
    gguf_llama_with_llama3_scaling: "gguf-llama-rope-llama3",
    gguf_llama_with_linear_scaling: "gguf-llama-rope-linear",
    gguf_llama_with_yarn: "gguf-llama-rope-yarn",
    gguf_qwen2: "gguf-qwen2-f32",
    gguf_qwen3: "gguf-qwen3-f32",
    gguf_gemma3: "gguf-gemma3-f32",
}

goldens! { BF16;
    llama_in_bf16: "llama-bf16",
    gguf_llama_in_bf16: "gguf-llama-bf16",
}

goldens! { BLOCKS;
    q4_0: "gguf-llama-q4_0",
    q4_1: "gguf-llama-q4_1",
    q5_0: "gguf-llama-q5_0",
    q5_1: "gguf-llama-q5_1",
    q8_0: "gguf-llama-q8_0",
    q2_k: "gguf-llama-q2_k",
    q3_k: "gguf-llama-q3_k",
    q4_k: "gguf-llama-q4_k",
    q5_k: "gguf-llama-q5_k",
    q6_k: "gguf-llama-q6_k",
    iq4_nl: "gguf-llama-iq4_nl",
    iq4_xs: "gguf-llama-iq4_xs",
}

/// Largest error over all prompts of a reference.
fn error(name: &str, kv_type: KvType) -> f32 {
    let reference = Reference::read(name);
    let model = load(&reference.document.model);
    let backend = backend();
    let errors = reference.document.prompts.iter().flat_map(|prompt| {
        let mut sequence = Sequence::new(&backend, &model, kv_type, prompt.ids.len(), rope_length(prompt));
        let logits = sequence.push(&prompt.ids);
        logits.iter().zip(reference.logits(prompt)).map(|(ours, theirs)| relative_error(ours, &theirs)).collect::<Vec<_>>()
    });
    errors.fold(0.0, f32::max)
}

/// Keys and values keep 11 bits of mantissa in F16 and 8 in BF16.
#[test]
fn caches_of_16_bits_cost_their_own_rounding_only() {
    for name in ["llama", "gemma3", "qwen3"] {
        let (f16, bf16) = (error(name, KvType::F16), error(name, KvType::BF16));
        assert!(f16 <= 4e-3, "{name}: {f16:.1e} with F16");
        assert!(bf16 <= 3e-2, "{name}: {bf16:.1e} with BF16");
        assert!(f16 < bf16, "{name}: F16 {f16:.1e}, BF16 {bf16:.1e}");
    }
}

/// FIELD_CASES 103: the stored head of a tied model is all zeros; logits come from the embeddings.
#[test]
fn a_tied_models_logits_come_from_its_embeddings() {
    let reference = Reference::read("qwen2");
    let model = load("tiny/qwen2-tied-head");
    let prompt = &reference.document.prompts[0];
    let logits = Sequence::new(&backend(), &model, KvType::F32, prompt.ids.len(), 0).push(&prompt.ids);
    for (ours, theirs) in logits.iter().zip(reference.logits(prompt)) {
        assert!(relative_error(ours, &theirs) <= EXACT);
    }
}

/// FIELD_CASES 114: a split set is the whole file.
#[test]
fn a_split_model_gives_the_logits_of_the_whole_one() {
    let run = |model: &str| Sequence::new(&backend(), &load(model), KvType::F32, 8, 8).push(&[3, 1, 4, 1, 5, 9, 2, 6]);
    assert_eq!(run("gguf/llama-f16-split-00002-of-00003.gguf"), run("gguf/llama-f16.gguf"));
}

/// DECISIONS 28: the same weights through either door, bit for bit.
#[test]
fn both_doors_give_the_same_logits() {
    let run = |model: &str| Sequence::new(&backend(), &load(model), KvType::F32, 8, 8).push(&[3, 1, 4, 1, 5, 9, 2, 6]);
    assert_eq!(run("tiny/llama-f16"), run("gguf/llama-f16.gguf"));
    assert_eq!(run("tiny/llama-bf16"), run("gguf/llama-bf16.gguf"));
}
