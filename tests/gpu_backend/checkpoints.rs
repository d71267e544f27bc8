//! Every committed checkpoint and stored format: logits against transformers in float32.

use tactus::artifacts::{LoadOptions, ModelArtifacts};
use tactus::backend::KvType;

use crate::support::decoder::{Sequence, argmax};
use crate::support::reference::Reference;
use crate::support::{data, relative_error};

/// Products and activations in f32: DECISIONS 18.
const EXACT: f32 = 1e-4;
/// Activations are bf16, 8 bits of mantissa. docs/FORMATS.md has what was measured.
const BF16: f32 = 6e-2;

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(data("reference"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".json").map(str::to_string))
        .collect();
    names.sort();
    names
}

#[test]
fn logits_of_every_checkpoint_agree_with_transformers() {
    let (Some(device), Some(exact)) = (crate::device(), crate::exact_device()) else { return };
    let mut failed = Vec::new();
    let names = names();
    assert!(names.len() >= 35, "{names:?}");
    for name in &names {
        let reference = Reference::read(name);
        let model = ModelArtifacts::load(&LoadOptions::new(data(&reference.document.model))).unwrap();
        let is_exact = model.info().stored_types.keys().all(|ty| ty == "F32" || ty == "F16");
        let bound = if is_exact { EXACT } else { BF16 };
        let (mut worst, mut chunks_agree, mut greedy_agrees) = (0f32, true, true);
        for prompt in &reference.document.prompts {
            let capacity = prompt.ids.len() + prompt.greedy.len();
            let rope_length = prompt.rope_length.unwrap_or(capacity);
            let sequence = |device| Sequence::new(device, &model, KvType::F32, capacity, rope_length);
            let fast = sequence(device).push(&prompt.ids);
            let mut whole = sequence(exact);
            let logits = whole.push(&prompt.ids);
            for logits in [&fast, &logits] {
                for (ours, theirs) in logits.iter().zip(reference.logits(prompt)) {
                    worst = worst.max(relative_error(ours, &theirs));
                }
            }
            let mut chunked = sequence(exact);
            chunked.give_back = true;
            let in_chunks: Vec<Vec<f32>> = prompt.ids.chunks(7).flat_map(|ids| chunked.push(ids)).collect();
            chunks_agree &= logits == in_chunks;
            if is_exact {
                let legal = model.sampled_vocab();
                let mut next = argmax(logits.last().unwrap(), legal);
                for &expected in &prompt.greedy {
                    greedy_agrees &= next == expected;
                    next = argmax(&whole.push(&[next])[0], legal);
                }
            }
        }
        println!("{name}: {worst:.1e} (bound {bound:.0e}), chunks {chunks_agree}, greedy {greedy_agrees}");
        if worst > bound || !chunks_agree || !greedy_agrees {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
