//! From files to specs: every family, both doors, and what is refused.

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{Scratch, data};
use tactus::backend::{Activation, RowOrder};
use tactus::model::families::GgufConfig;
use tactus::model::rope::{RopeScaling, RopeSpec};
use tactus::model::{Binding, Decoder, Family, Spec, Stored, supported_architectures};
use tactus::weights::gguf::Gguf;
use tactus::weights::safetensors::Checkpoint;
use tactus::weights::{Access, ConfigReader, read_json};
use tactus::{Error, Result, Status};

fn read_spec(config: &Value) -> Result<(&'static Family, Spec)> {
    let reader = ConfigReader::new(Path::new("config.json"), config)?;
    let family = Family::of_hf(reader)?;
    Ok((family, (family.spec_hf)(reader)?))
}

fn config(name: &str) -> Value {
    read_json(&data(&format!("tiny/{name}/config.json"))).unwrap()
}

fn hf(name: &str) -> (&'static Family, Spec) {
    read_spec(&config(name)).unwrap()
}

fn gguf(name: &str) -> (&'static Family, Spec, Gguf) {
    let file = Gguf::open(&data(&format!("gguf/{name}.gguf")), Access::Map).unwrap();
    let family = Family::of_gguf(&file).unwrap();
    let spec = (family.spec_gguf)(&GgufConfig::new(&file, family, Stored::gguf(&file)).unwrap()).unwrap();
    (family, spec, file)
}

fn with(mut config: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

fn refused(config: &Value) -> Error {
    read_spec(config).err().expect("this configuration should be refused")
}

fn windows(spec: &Spec) -> Vec<Option<usize>> {
    spec.layers.iter().map(|layer| layer.attention.window).collect()
}

/// Values as in the configuration files, which transformers wrote.
#[test]
fn llama_is_the_plain_decoder() {
    let (family, spec) = hf("llama");
    assert_eq!(family.name, "llama");
    assert_eq!((spec.hidden, spec.vocab, spec.context_length, spec.layers.len()), (64, 291, 256, 3));
    assert_eq!((spec.rms_eps, spec.embed_scale, spec.tied_head), (1e-5, 1.0, false));
    let layer = &spec.layers[0];
    let attention = &layer.attention;
    assert_eq!((attention.heads, attention.kv_heads, attention.head_dim, attention.window), (4, 2, 24, None));
    assert!((attention.scale - 1.0 / 24f32.sqrt()).abs() < 1e-7);
    assert!(!attention.qkv_bias && !attention.qk_norm && !layer.post_norms);
    assert_eq!((layer.mlp.width, layer.mlp.activation), (104, Activation::Silu));
    assert_eq!(spec.ropes, [RopeSpec::plain(10_000.0, 24)]);
}

#[test]
fn mistral_slides_on_every_layer() {
    let (family, spec) = hf("mistral");
    assert_eq!((family.name, windows(&spec)), ("mistral", vec![Some(24); 2]));
    let unlimited = read_spec(&with(config("mistral"), json!({"sliding_window": null}))).unwrap().1;
    assert_eq!(windows(&unlimited), [None, None]);
}

#[test]
fn qwen2_has_biases_and_windows_where_asked() {
    let (_, spec) = hf("qwen2");
    assert!(spec.tied_head && spec.layers.iter().all(|l| l.attention.qkv_bias && !l.attention.output_bias));
    assert_eq!((spec.layers[0].attention.head_dim, windows(&spec)), (16, vec![None; 3]));
    assert_eq!(windows(&hf("qwen2-window").1), [None, Some(24), Some(24)]);
    let listed = json!({"layer_types": ["sliding_attention", "full_attention", "full_attention"]});
    assert_eq!(windows(&read_spec(&with(config("qwen2-window"), listed)).unwrap().1), [Some(24), None, None]);
}

#[test]
fn qwen3_norms_heads_instead() {
    let (_, spec) = hf("qwen3");
    assert!(spec.layers.iter().all(|l| l.attention.qk_norm && !l.attention.qkv_bias));
    assert_eq!((spec.layers[0].attention.head_dim, spec.tied_head), (16, false));
}

#[test]
fn gemma3_alternates_and_norms_both_sides() {
    let (family, spec) = hf("gemma3");
    assert_eq!((family.hf_norm_offset, spec.embed_scale, spec.tied_head), (1.0, 48f32.sqrt(), true));
    assert_eq!(windows(&spec), [Some(24), Some(24), None, Some(24)]);
    let layer = &spec.layers[0];
    assert!(layer.post_norms && layer.attention.qk_norm);
    assert_eq!(layer.mlp.activation, Activation::GeluTanh);
    assert!((layer.attention.scale - 1.0 / 40f32.sqrt()).abs() < 1e-7);
    let theta = |layer: usize| spec.ropes[spec.layers[layer].attention.rope].theta;
    assert_eq!((theta(0), theta(2)), (10_000.0, 1_000_000.0));

    let (_, pattern) = hf("gemma3-pattern");
    assert_eq!(windows(&pattern), [Some(24), None, Some(24), None]);
    let scaling = |layer: usize| &pattern.ropes[pattern.layers[layer].attention.rope].scaling;
    assert_eq!((scaling(0), scaling(1)), (&RopeScaling::None, &RopeScaling::Linear { factor: 8.0 }));
}

/// A multimodal configuration nests the decoder, and leaves out what its class fills in.
#[test]
fn gemma3_is_found_within_a_multimodal_configuration() {
    let nested = json!({
        "architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
        },
    });
    let (_, spec) = read_spec(&nested).unwrap();
    let attention = &spec.layers[0].attention;
    assert_eq!((attention.heads, attention.kv_heads, attention.head_dim, spec.vocab), (8, 4, 256, 262_208));
    assert_eq!(windows(&spec).iter().filter(|w| w.is_none()).count(), 5);
}

/// The same model says the same through either door.
#[test]
fn gguf_metadata_gives_the_specs_of_the_checkpoints_it_was_made_from() {
    for (name, from, layers) in
        [("llama-f16", "llama-f16", 2), ("llama-bf16", "llama-bf16", 2), ("qwen2-f32", "qwen2", 1), ("qwen3-f32", "qwen3", 1)]
    {
        let (_, ours, _) = gguf(name);
        let (_, mut theirs) = hf(from);
        theirs.layers.truncate(layers);
        assert_eq!(ours, theirs, "{name}");
    }
    let (family, gemma, _) = gguf("gemma3-f32");
    assert_eq!((family.name, windows(&gemma)), ("gemma3", vec![Some(24), Some(24), None]));
    let global = &gemma.ropes[gemma.layers[2].attention.rope];
    assert_eq!(global.scaling, RopeScaling::Linear { factor: 8.0 });
    assert_eq!(gemma.ropes[gemma.layers[0].attention.rope], RopeSpec::plain(10_000.0, 24));
    assert_eq!(gemma.layers[0].mlp.activation, Activation::GeluTanh);
}

/// FIELD_CASES 116: divisors in a tensor and parameters in `config.json` are the same table.
#[test]
fn llama3_scaling_is_the_same_through_both_doors() {
    let (_, spec, _) = gguf("llama-rope-llama3");
    let (_, theirs) = hf("llama-rope-llama3");
    let (ours, theirs) = (spec.ropes[0].table_for(0), theirs.ropes[0].table_for(0));
    for (a, b) in ours.inv_freq.iter().zip(&theirs.inv_freq) {
        assert!((a - b).abs() <= 1e-6 * b, "{a} and {b}");
    }
}

/// FIELD_CASES 63: what scaling reaches is part of the model's length.
#[test]
fn scaling_that_starts_from_the_original_length_lengthens_the_context() {
    let yarn = json!({"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}});
    assert_eq!(read_spec(&with(config("qwen2"), yarn)).unwrap().1.context_length, 131_072);
    assert_eq!(hf("llama-rope-dynamic").1.context_length, 96);
    // Llama 3 configurations give the length after scaling.
    assert_eq!(hf("llama-rope-llama3").1.context_length, 128);
}

/// FIELD_CASES 108.
#[test]
fn unknown_architectures_are_refused_with_the_list_of_known_ones() {
    let error = refused(&json!({"architectures": ["FooForCausalLM"]}));
    assert_eq!(error.status(), Status::Unsupported);
    assert!(error.message().contains("unsupported architecture FooForCausalLM"), "{error}");
    assert!(error.message().contains("Qwen3ForCausalLM"), "{error}");
    assert_eq!(refused(&json!({"model_type": "llama"})).status(), Status::Unsupported);
    assert_eq!(refused(&json!({"architectures": []})).status(), Status::Unsupported);
    let known = supported_architectures();
    assert!(
        ["LlamaForCausalLM", "llama", "MistralForCausalLM", "qwen2", "qwen3", "gemma3"].iter().all(|name| known.contains(name))
    );
}

/// A GGUF file with a string of its metadata replaced by one of the same length.
fn patched(name: &str, key: &str, from: &str, to: &str) -> (Scratch, Gguf) {
    let mut bytes = fs::read(data(&format!("gguf/{name}.gguf"))).unwrap();
    // A value of type string (8): its length, then its bytes.
    let value = |text: &str| [key.as_bytes(), &8u32.to_le_bytes(), &(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let (old, new) = (value(from), value(to));
    let at = bytes.windows(old.len()).position(|window| window == old).expect("the file has this key and value");
    bytes[at..at + new.len()].copy_from_slice(&new);
    let scratch = Scratch::new();
    scratch.write("model.gguf", bytes);
    let file = Gguf::open(&scratch.path("model.gguf"), Access::Map).unwrap();
    (scratch, file)
}

/// FIELD_CASES 108, 120.
#[test]
fn unknown_names_in_gguf_files_are_refused() {
    let (_scratch, file) = patched("llama-f32", "general.architecture", "llama", "foooo");
    let error = Family::of_gguf(&file).err().unwrap();
    assert_eq!(error.status(), Status::Unsupported);
    assert!(error.message().contains("unsupported architecture foooo, expected one of llama, qwen2"), "{error}");

    let (_scratch, file) = patched("llama-rope-linear", "llama.rope.scaling.type", "linear", "spiral");
    let family = Family::of_gguf(&file).unwrap();
    let error = (family.spec_gguf)(&GgufConfig::new(&file, family, Stored::gguf(&file)).unwrap()).unwrap_err();
    assert_eq!(error.status(), Status::Unsupported);
    assert!(error.message().contains("llama.rope.scaling.type: spiral"), "{error}");
}

/// FIELD_CASES 109: the key, its value and what was expected.
#[test]
fn impossible_values_are_refused_by_key() {
    let cases = [
        (json!({"hidden_size": "64"}), "hidden_size: \"64\""),
        (json!({"hidden_size": 0}), "hidden_size: 0"),
        (json!({"hidden_size": null}), "hidden_size"),
        (json!({"num_hidden_layers": 1_000_000}), "num_hidden_layers: 1000000"),
        (json!({"num_key_value_heads": 3}), "attention heads: 4, expected a multiple of the 3"),
        (json!({"head_dim": 23}), "rotary dimensions: 23"),
        (json!({"vocab_size": 4_000_000_000u32}), "vocab_size: 4000000000"),
        (json!({"hidden_act": "relu2"}), "hidden_act: relu2"),
        (json!({"quantization_config": {"quant_method": "fp8"}}), "quantization_config.quant_method: fp8"),
        (json!({"rope_theta": -1}), "rope_theta: -1"),
    ];
    for (change, expected) in cases {
        let error = refused(&with(config("llama"), change));
        assert!(matches!(error.status(), Status::Format | Status::Unsupported), "{error:?}");
        assert!(error.message().contains(expected) && error.message().contains("config.json"), "{error}, expected {expected}");
    }
}

fn bind_hf(name: &str, change: Value) -> Result<Binding> {
    let dir = data(&format!("tiny/{name}"));
    let (family, spec) = read_spec(&with(config(name), change))?;
    let checkpoint = Checkpoint::open(&dir, Access::Map)?;
    Binding::new(&Decoder::build(&spec), family, Stored::hugging_face(&checkpoint, family, &dir))
}

#[test]
fn every_tiny_checkpoint_has_all_its_tensors() {
    for entry in fs::read_dir(data("tiny")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        bind_hf(&name, json!({})).unwrap();
    }
    for entry in fs::read_dir(data("gguf")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (family, spec, file) = gguf(name.trim_end_matches(".gguf"));
        Binding::new(&Decoder::build(&spec), family, Stored::gguf(&file)).unwrap();
    }
}

/// GGUF files of the llama family keep rotary pairs side by side; the others do not.
#[test]
fn rows_of_q_and_k_are_unpaired_for_llama_files_only() {
    let orders = |name: &str| {
        let (family, spec, file) = gguf(name);
        let binding = Binding::new(&Decoder::build(&spec), family, Stored::gguf(&file)).unwrap();
        binding.weights[1].0.parts.iter().map(|part| part.order).collect::<Vec<_>>()
    };
    let pairs = RowOrder::InterleavedPairs { head_dim: 24 };
    assert_eq!(orders("llama-f32"), [pairs, pairs, RowOrder::AsStored]);
    for name in ["qwen2-f32", "qwen3-f32", "gemma3-f32"] {
        assert_eq!(orders(name), [RowOrder::AsStored; 3], "{name}");
    }
    let binding = bind_hf("llama", json!({})).unwrap();
    assert!(binding.weights.iter().flat_map(|(weight, _)| &weight.parts).all(|part| part.order == RowOrder::AsStored));
}

/// Gemma's checkpoints store norms as their difference from one; its GGUF files, and everyone else, the norms themselves.
#[test]
fn stored_norm_offsets_are_added_once() {
    let (family, spec, file) = gguf("gemma3-f32");
    let gguf = Binding::new(&Decoder::build(&spec), family, Stored::gguf(&file)).unwrap();
    let hf = bind_hf("gemma3", json!({})).unwrap();
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(close(&gguf.vectors[0].values().unwrap(), &hf.vectors[0].values().unwrap()));
}

/// FIELD_CASES 103.
#[test]
fn a_tied_model_ignores_a_stored_head() {
    let (_, spec) = hf("qwen2-tied-head");
    assert!(spec.tied_head);
    let binding = bind_hf("qwen2-tied-head", json!({})).unwrap();
    assert!(binding.tensors().all(|tensor| tensor.name != "lm_head.weight"));
    // With the flag false the stored head is used.
    let binding = bind_hf("qwen2-tied-head", json!({"tie_word_embeddings": false})).unwrap();
    assert!(binding.tensors().any(|tensor| tensor.name == "lm_head.weight"));
}

/// FIELD_CASES 104, 100.
#[test]
fn a_missing_tensor_is_named() {
    let error = bind_hf("qwen2", json!({"tie_word_embeddings": false})).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    assert!(
        error.message().starts_with("lm_head.weight: missing, expected 291 rows (vocabulary) of 64 (hidden size)"),
        "{error}"
    );
    let error = bind_hf("llama", json!({"num_hidden_layers": 4})).unwrap_err();
    assert!(error.message().contains("model.layers.3.") && error.message().contains("tiny/llama"), "{error}");
}

#[test]
fn a_wrong_shape_is_told_with_where_the_expected_one_comes_from() {
    let error = bind_hf("llama", json!({"num_key_value_heads": 1})).unwrap_err();
    assert_eq!(error.status(), Status::Format);
    let expected = "model.layers.0.self_attn.k_proj.weight: 48 rows of 64 expected 24 rows (1 KV heads × 24) in ";
    assert!(error.message().starts_with(expected) && error.message().ends_with("tiny/llama/model.safetensors"), "{error}");
    let error = bind_hf("llama", json!({"hidden_size": 96})).unwrap_err();
    let expected = "model.embed_tokens.weight: 291 rows of 64 expected 291 rows (vocabulary) of 96 (hidden size) in ";
    assert!(error.message().starts_with(expected), "{error}");
}
