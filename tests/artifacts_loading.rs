//! Models as users have them become artifacts: both doors, limits, what is refused, and weights that are packed once.

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::{Scratch, data};
use tactus::artifacts::{LoadOptions, LoadProgress, ModelArtifacts, TemplateOverride};
use tactus::backend::{Backend, Executor, ExecutorLimits, Packed, Program, Weight, WeightUse};
use tactus::text::{EncodeOptions, Message, RenderInput};
use tactus::weights::{Access, read_json};
use tactus::{Error, Result, Status};

fn load(path: impl AsRef<Path>) -> Result<Arc<ModelArtifacts>> {
    ModelArtifacts::load(&LoadOptions::new(path.as_ref()))
}

fn tiny(model: &str) -> Arc<ModelArtifacts> {
    load(data(model)).unwrap()
}

fn refused(path: impl AsRef<Path>) -> Error {
    load(path).expect_err("this should be refused")
}

/// A copy of a tiny model with changes to one of its JSON files; `null` removes a key.
fn changed(model: &str, file: &str, changes: Value) -> Scratch {
    let copy = Scratch::copy_of(model);
    let mut document = read_json(&copy.path(file)).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(document.as_object_mut().unwrap().remove(key)),
            value => document[key] = value.clone(),
        }
    }
    copy.write(file, document.to_string());
    copy
}

#[test]
fn both_doors_describe_the_model() {
    for (model, format, architecture) in
        [("tiny/llama-f16", "safetensors", "LlamaForCausalLM"), ("gguf/llama-f16.gguf", "gguf", "llama")]
    {
        let artifacts = tiny(model);
        let info = artifacts.info();
        assert_eq!((info.format.as_str(), info.architecture.as_str()), (format, architecture));
        assert_eq!((info.layers, info.heads, info.kv_heads, info.head_dim, info.hidden_size), (2, 4, 2, 24, 64));
        assert_eq!((info.vocab_size, info.context_length, info.tied_head), (291, 256, false));
        // Two tables of 291 × 64, and per layer (96 + 2 · 48) × 64 + 64 × 96 + 3 · 64 × 104 and two norms of 64; the final norm.
        let layer = (96 + 48 + 48) * 64 + 64 * 96 + 3 * 64 * 104 + 2 * 64;
        assert_eq!(info.parameters, 2 * 291 * 64 + 2 * layer + 64);
        assert!(info.file_bytes > 2 * info.parameters);
        assert!(info.stored_types["F16"] > 0);
        let json = serde_json::to_value(info).unwrap();
        assert_eq!(json["layers"], 2);
    }
    // A tied head counts once.
    let tied = tiny("tiny/llama-bf16");
    assert!(tied.info().tied_head && tied.info().parameters < tiny("tiny/llama-f16").info().parameters - 291 * 63);
}

/// Token ids and end tokens do not depend on the door.
#[test]
fn both_doors_tokenize_alike() {
    for (hf, gguf) in [
        ("tiny/llama-f16", "gguf/llama-f16.gguf"),
        ("tiny/mistral", "gguf/llama-spm-f16.gguf"),
        ("tiny/gemma3", "gguf/gemma3-f32.gguf"),
    ] {
        let (hf, gguf) = (tiny(hf), tiny(gguf));
        let options = EncodeOptions { add_special: true, parse_special: true };
        let encode =
            |model: &ModelArtifacts| model.tokenizer().encode("The boats come in at 7, and the town wakes.", options).unwrap();
        assert_eq!(encode(&hf), encode(&gguf));
        assert_eq!(hf.info().bos_token_id, gguf.info().bos_token_id);
        let sorted = |model: &ModelArtifacts| {
            let mut ids = model.end_tokens().to_vec();
            ids.sort_unstable();
            ids
        };
        assert_eq!(sorted(&hf), sorted(&gguf));
    }
}

/// FIELD_CASES 36: the union, with the tokenizer's own first.
#[test]
fn every_file_adds_to_the_end_tokens() {
    assert_eq!(tiny("tiny/llama").end_tokens(), [2, 0]);
    let listed = changed("tiny/llama", "generation_config.json", json!({"eos_token_id": [5, 6]}));
    assert_eq!(load(listed.dir()).unwrap().end_tokens(), [2, 5, 6]);
    let config = changed("tiny/llama", "config.json", json!({"eos_token_id": [7]}));
    assert_eq!(load(config.dir()).unwrap().end_tokens(), [2, 0, 7]);
    // Ids the model cannot produce are no end.
    let outside = changed("tiny/llama", "generation_config.json", json!({"eos_token_id": 400}));
    assert_eq!(load(outside.dir()).unwrap().end_tokens(), [2]);
}

/// FIELD_CASES 46: rows above the highest id with a piece are never drawn.
#[test]
fn padded_rows_are_not_sampled() {
    for model in ["tiny/qwen3", "gguf/qwen3-f32.gguf"] {
        let artifacts = tiny(model);
        assert_eq!((artifacts.info().vocab_size, artifacts.sampled_vocab()), (291, 281), "{model}");
    }
}

/// DECISIONS 17.
#[test]
fn recommendations_come_from_the_generation_configuration() {
    let sampled =
        json!({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.1, "repetition_penalty": 1.05});
    let copy = changed("tiny/llama", "generation_config.json", sampled);
    let artifacts = load(copy.dir()).unwrap();
    let defaults = artifacts.generation_defaults();
    assert_eq!((defaults.do_sample, defaults.temperature, defaults.top_k), (Some(true), Some(0.6), Some(20)));
    assert_eq!((defaults.top_p, defaults.min_p, defaults.repetition_penalty), (Some(0.95), Some(0.1), Some(1.05)));
    assert_eq!(tiny("tiny/gemma3").generation_defaults().do_sample, Some(false));
    let wrong = changed("tiny/llama", "generation_config.json", json!({"temperature": "warm"}));
    let error = refused(wrong.dir());
    assert!(error.message().contains("generation_config.json") && error.message().contains("temperature: \"warm\""), "{error}");
}

fn render(artifacts: &ModelArtifacts) -> Result<String> {
    let messages = [Message { role: "user".into(), content: "hi".into(), ..Message::default() }];
    let input = RenderInput { messages: &messages, ..RenderInput::default() };
    Ok(artifacts.chat_template()?.render(&input)?.into_text())
}

/// FIELD_CASES 9, 10.
#[test]
fn a_broken_template_does_not_keep_a_model_from_loading() {
    let copy = Scratch::copy_of("tiny/gemma3");
    copy.write("chat_template.jinja", "{% frobnicate %}");
    let artifacts = load(copy.dir()).unwrap();
    assert!(artifacts.tokenizer().encode("hi", EncodeOptions::default()).is_ok());
    assert_eq!(render(&artifacts).unwrap_err().status(), Status::Template);
}

#[test]
fn a_template_can_be_given_as_text_or_file() {
    let options = LoadOptions::new(data("tiny/llama"));
    let given = |template| ModelArtifacts::load(&LoadOptions { chat_template: Some(template), ..options.clone() });
    let source = "<{{ messages[0].content }}>";
    assert_eq!(render(&given(TemplateOverride::Text(source.into())).unwrap()).unwrap(), "<hi>");
    let scratch = Scratch::new();
    scratch.write("mine.jinja", source);
    assert_eq!(render(&given(TemplateOverride::File(scratch.path("mine.jinja"))).unwrap()).unwrap(), "<hi>");
    let error = given(TemplateOverride::File(scratch.path("absent.jinja"))).unwrap_err();
    assert!(error.status() == Status::NotFound && error.message().contains("absent.jinja"), "{error}");
}

/// A GGUF file that is all vocabulary: key-values and no tensors.
fn vocabulary_file() -> Scratch {
    let scratch = Scratch::new();
    let mut bytes = std::fs::read(data("gguf/llama-f32.gguf")).unwrap();
    // The tensor count of the header.
    bytes[8..16].fill(0);
    scratch.write("vocab.gguf", bytes);
    scratch
}

#[test]
fn a_vocabulary_loads_alone_and_runs_nothing() {
    let scratch = vocabulary_file();
    let error = refused(scratch.path("vocab.gguf"));
    assert_eq!(error.status(), Status::NotFound);
    assert!(error.message().contains("token_embd.weight"), "{error}");

    let options = LoadOptions { vocabulary_only: true, ..LoadOptions::new(scratch.path("vocab.gguf")) };
    let artifacts = ModelArtifacts::load(&options).unwrap();
    let whole = tiny("gguf/llama-f32.gguf");
    let encode = |model: &ModelArtifacts| model.tokenizer().encode("the town wakes", EncodeOptions::default()).unwrap();
    assert_eq!(encode(&artifacts), encode(&whole));
    assert!(artifacts.info().vocabulary_only && artifacts.info().context_length == 256);
    assert_eq!(artifacts.packed_for(&Counting::default(), None).unwrap_err().status(), Status::State);
    assert!(artifacts.decoder().program().ops.is_empty());

    let options = LoadOptions { vocabulary_only: true, ..LoadOptions::new(data("tiny/llama")) };
    assert_eq!(ModelArtifacts::load(&options).unwrap().end_tokens(), [2, 0]);
}

/// DESIGN 5: configuration and tokenizer from one place, weights from another, in either format.
#[test]
fn weights_can_come_from_elsewhere() {
    let engine = Scratch::copy_of("tiny/llama-f16");
    std::fs::remove_file(engine.path("model.safetensors")).unwrap();
    assert_eq!(refused(engine.dir()).status(), Status::NotFound);
    let from = |dir: &str| {
        let options = LoadOptions { checkpoint_dir: Some(data(dir)), ..LoadOptions::new(engine.dir()) };
        ModelArtifacts::load(&options).unwrap()
    };
    assert_eq!(from("tiny/llama-f16").info().format, "safetensors");
    assert_eq!(from("gguf/llama-f16.gguf").info().format, "gguf");
    let options = LoadOptions { checkpoint_dir: Some(data("tiny/llama-f16")), ..LoadOptions::new(data("gguf/llama-f16.gguf")) };
    assert_eq!(ModelArtifacts::load(&options).unwrap().info().format, "safetensors");
}

/// FIELD_CASES 109, 152.
#[test]
fn what_is_missing_or_malformed_is_told_with_its_path() {
    let scratch = Scratch::new();
    let absent = scratch.path("модель é");
    let error = refused(&absent);
    assert!(error.status() == Status::NotFound && error.message().contains("модель é"), "{error}");
    assert_eq!(refused(scratch.dir()).status(), Status::NotFound);

    let copy = Scratch::copy_of("tiny/llama");
    copy.write("config.json", "{");
    let error = refused(copy.dir());
    assert!(error.status() == Status::Format && error.message().contains("config.json"), "{error}");

    let wrong = changed("tiny/llama", "config.json", json!({"hidden_size": "64"}));
    assert!(refused(wrong.dir()).message().contains("hidden_size: \"64\""));

    let copy = Scratch::copy_of("tiny/llama");
    std::fs::remove_file(copy.path("tokenizer.json")).unwrap();
    let error = refused(copy.dir());
    assert!(error.status() == Status::NotFound && error.message().contains("tokenizer.json"), "{error}");

    let file = Scratch::new();
    file.write("model.gguf", "GGML");
    assert_eq!(refused(file.path("model.gguf")).status(), Status::Format);
}

#[test]
fn artifacts_know_where_they_are_from() {
    let artifacts = tiny("tiny/llama");
    assert!(artifacts.is_from(&data("tiny/../tiny/llama")));
    assert!(!artifacts.is_from(&data("tiny/qwen2")));
}

/// A device that packs nothing and counts.
#[derive(Default)]
struct Counting {
    packed: AtomicUsize,
    layout: &'static str,
}

impl Backend for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn description(&self) -> String {
        "counts".into()
    }

    fn layout_key(&self) -> String {
        self.layout.into()
    }

    fn pack(&self, weight: &Weight, _: WeightUse) -> Result<Packed> {
        self.packed.fetch_add(1, Ordering::Relaxed);
        Ok(Packed::new((), (weight.rows * weight.cols) as u64))
    }

    fn pack_vector(&self, values: &[f32]) -> Result<Packed> {
        Ok(Packed::new((), 4 * values.len() as u64))
    }

    fn executor(&self, _: Arc<Program>, _: Arc<[Packed]>, _: Arc<[Packed]>, _: &ExecutorLimits) -> Result<Box<dyn Executor>> {
        Err(Error::unsupported("a counting device runs nothing"))
    }
}

#[test]
fn weights_are_packed_once_per_layout() {
    let artifacts = tiny("tiny/llama");
    let (one, two, other) = (Counting::default(), Counting::default(), Counting { layout: "other", ..Counting::default() });
    let first = artifacts.packed_for(&one, None).unwrap();
    let second = artifacts.packed_for(&two, None).unwrap();
    assert!(Arc::ptr_eq(&first.weights, &second.weights));
    artifacts.packed_for(&other, None).unwrap();
    let packed = [&one, &two, &other].map(|device| device.packed.load(Ordering::Relaxed));
    // Embeddings, four matrices in each of three layers, head.
    assert_eq!(packed, [14, 0, 14]);
    assert_eq!(first.weights.len(), 14);
    assert!(first.bytes() > artifacts.info().parameters / 2);
}

#[test]
fn progress_counts_bytes_up_to_all_of_them() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let progress: LoadProgress = {
        let seen = seen.clone();
        Arc::new(move |done, total| {
            seen.lock().unwrap().push((done, total));
            true
        })
    };
    let artifacts = tiny("tiny/llama");
    artifacts.packed_for(&Counting::default(), Some(&progress)).unwrap();
    let seen = seen.lock().unwrap();
    let total = 4 * artifacts.info().parameters;
    assert_eq!((seen.first(), seen.last()), (Some(&(0, total)), Some(&(total, total))));
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn a_cancelled_load_leaves_nothing_and_can_be_tried_again() {
    let artifacts = tiny("tiny/llama");
    let stop: LoadProgress = Arc::new(|done, _| done == 0);
    let device = Counting::default();
    let error = artifacts.packed_for(&device, Some(&stop)).unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    assert_eq!(device.packed.load(Ordering::Relaxed), 1);
    artifacts.packed_for(&device, None).unwrap();
    assert_eq!(device.packed.load(Ordering::Relaxed), 15);
}

/// DECISIONS 16.
#[test]
fn files_can_be_read_instead_of_mapped() {
    for model in ["tiny/llama-f16", "gguf/llama-f16.gguf"] {
        let options = LoadOptions { weights_access: Access::Read, ..LoadOptions::new(data(model)) };
        let read = ModelArtifacts::load(&options).unwrap();
        assert_eq!(read.info().parameters, tiny(model).info().parameters);
    }
}

/// FIELD_CASES 114: any part opens the whole set.
#[test]
fn any_part_of_a_split_model_opens_all_of_it() {
    let whole = tiny("gguf/llama-f16.gguf");
    for part in 1..=3 {
        let artifacts = tiny(&format!("gguf/llama-f16-split-0000{part}-of-00003.gguf"));
        assert_eq!(artifacts.info().parameters, whole.info().parameters);
    }
}
