//! DECISIONS 31: a loaded model takes at most 1.2 times its file, its KV pool, and 48 MiB, at every moment of its life, whatever type it
//! is stored in and however large it is, mapped or read. And each weight is read once. Each model is loaded and run in a process of its own, whose peak the system keeps.

#[path = "support/gguf_writer.rs"]
mod gguf_writer;
mod support;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use gguf_writer::{GgufFile, Value};
use support::Scratch;
use tactus::coordinator::{Config, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions};
use tactus::weights::{Access, StoredType};

const MIB: u64 = 1 << 20;

/// Number of a type in the file (the GGUF specification's `ggml_type`).
fn number(ty: StoredType) -> u32 {
    use StoredType::*;
    match ty {
        F32 => 0,
        F16 => 1,
        Q4_0 => 2,
        Q4_1 => 3,
        Q5_0 => 6,
        Q5_1 => 7,
        Q8_0 => 8,
        Q2_K => 10,
        Q3_K => 11,
        Q4_K => 12,
        Q5_K => 13,
        Q6_K => 14,
        IQ4_NL => 20,
        IQ4_XS => 23,
        BF16 => 30,
    }
}

/// A llama of 2,048 columns and `layers` layers whose matrices are stored as `ty`. Every byte of a matrix is 0x11: small, finite
/// values in every type.
fn write_model(path: &Path, ty: StoredType, layers: u32) {
    const HIDDEN: u64 = 2048;
    const INNER: u64 = 5632;
    const HEADS: u64 = 16;
    const KV_HEADS: u64 = 8;
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(String::from).to_vec();
    tokens.extend((0..256).map(|byte| format!("<0x{byte:02X}>")));
    let types = (0..tokens.len()).map(|id| Value::I32([2, 3, 3].get(id).copied().unwrap_or(6)));
    let vocab = tokens.len() as u64;
    let mut file = GgufFile::new()
        .key("general.architecture", "llama")
        .key("llama.block_count", Value::U32(layers))
        .key("llama.context_length", Value::U32(1024))
        .key("llama.embedding_length", Value::U32(HIDDEN as u32))
        .key("llama.feed_forward_length", Value::U32(INNER as u32))
        .key("llama.attention.head_count", Value::U32(HEADS as u32))
        .key("llama.attention.head_count_kv", Value::U32(KV_HEADS as u32))
        .key("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5))
        .key("tokenizer.ggml.model", "llama")
        .key("tokenizer.ggml.tokens", Value::array(tokens.iter().map(|token| token.as_str().into()).collect()))
        .key("tokenizer.ggml.scores", Value::array(tokens.iter().map(|_| Value::F32(0.0)).collect()))
        .key("tokenizer.ggml.token_type", Value::array(types.collect()))
        .key("tokenizer.ggml.bos_token_id", Value::U32(1))
        .key("tokenizer.ggml.eos_token_id", Value::U32(2))
        .key("tokenizer.ggml.unknown_token_id", Value::U32(0));

    // The table names the places; the data, which may be larger than memory allows, goes out piece by piece.
    let mut sizes = Vec::new();
    let mut offset = 0;
    let mut add = |file: &mut GgufFile, name: String, shape: &[u64], ty: StoredType| {
        let elements = shape.iter().product::<u64>() as usize;
        let bytes = ty.bytes_for(elements).unwrap() as u64;
        *file = std::mem::replace(file, GgufFile::new()).tensor(&name, shape, number(ty), Vec::new());
        file.tensors.last_mut().unwrap().offset = Some(offset);
        offset += bytes.next_multiple_of(32);
        sizes.push(bytes);
    };
    add(&mut file, "token_embd.weight".into(), &[vocab, HIDDEN], ty);
    add(&mut file, "output_norm.weight".into(), &[HIDDEN], StoredType::F32);
    for layer in 0..layers {
        for (name, rows, cols) in [
            ("attn_q", HIDDEN, HIDDEN),
            ("attn_k", KV_HEADS * HIDDEN / HEADS, HIDDEN),
            ("attn_v", KV_HEADS * HIDDEN / HEADS, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN),
            ("ffn_gate", INNER, HIDDEN),
            ("ffn_up", INNER, HIDDEN),
            ("ffn_down", HIDDEN, INNER),
        ] {
            add(&mut file, format!("blk.{layer}.{name}.weight"), &[rows, cols], ty);
        }
        for name in ["attn_norm", "ffn_norm"] {
            add(&mut file, format!("blk.{layer}.{name}.weight"), &[HIDDEN], StoredType::F32);
        }
    }
    let mut out = BufWriter::new(File::create(path).unwrap());
    out.write_all(&file.to_bytes()).unwrap();
    let piece = vec![0x11; MIB as usize];
    for bytes in sizes {
        let mut left = bytes.next_multiple_of(32);
        while left > 0 {
            let now = left.min(piece.len() as u64);
            out.write_all(&piece[..now as usize]).unwrap();
            left -= now;
        }
    }
    out.flush().unwrap();
}

const CHILD: &str = "TACTUS_TEST_MEMORY_OF";
const READ: &str = "TACTUS_TEST_MEMORY_READ";

/// Bytes this process has asked the system to read.
fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// Not a test of its own: what [`peak_of`] runs in a process of its own.
#[test]
fn child() {
    let Ok(model) = std::env::var(CHILD) else { return };
    let config = Config {
        engine_dir: model.into(),
        cpu_threads: 2,
        max_batch: 1,
        max_sequence_length: 512,
        weights_access: if std::env::var_os(READ).is_some() { Access::Read } else { Access::Map },
        ..Config::default()
    };
    let before = bytes_read();
    let coordinator = RuntimeCoordinator::new(config).unwrap();
    println!("read {}", bytes_read() - before);
    let options = SequenceOptions { max_generate_length: Some(4), ignore_eos: Some(true), ..Default::default() };
    let sequence = Sequence { options, ..Sequence::new(Input::Ids((0..300).map(|i| 5 + i % 200).collect())) };
    let request = Request { sequences: vec![sequence], ..Request::default() };
    coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    assert_eq!(coordinator.take_rank_response(0).unwrap().sequences[0].output_ids.len(), 4);
    println!("kv {}", coordinator.limits().rank.kv_bytes);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024);
}

/// What a process did that loaded a model and ran it, in bytes.
struct Child {
    peak: u64,
    kv: u64,
    read: u64,
}

fn run(model: &Path, access: Access) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    if access == Access::Read {
        child.env(READ, "1");
    }
    let output = child.args(["--exact", "child", "--nocapture"]).env(CHILD, model).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).expect(name);
    Child { peak: number("peak "), kv: number("kv "), read: number("read ") }
}

fn check(model: &Path, access: Access) {
    let file = std::fs::metadata(model).unwrap().len();
    let Child { peak, kv, read } = run(model, access);
    let allowed = file + file / 5 + kv + 48 * MIB;
    println!(
        "{}, {access:?}: file {} MiB, KV {} MiB, peak {} MiB, {} MiB read",
        model.display(),
        file / MIB,
        kv / MIB,
        peak / MIB,
        read / MIB
    );
    assert!(peak <= allowed, "{}: {peak} bytes at most, expected at most {allowed} (file {file}, KV {kv})", model.display());
    // A model that is in memory takes its own size: less, and something was not measured.
    assert!(peak >= file, "{}: {peak} bytes for a file of {file}", model.display());
    // The head is read for itself, in steps that double.
    let expected = if access == Access::Read { file..file + 21 * MIB } else { 0..MIB };
    assert!(expected.contains(&read), "{}: {read} bytes read, expected {expected:?}", model.display());
}

#[test]
fn every_stored_type_stays_in_its_size() {
    for ty in StoredType::ALL {
        let scratch = Scratch::new();
        let model = scratch.path(&format!("{ty}.gguf"));
        write_model(&model, ty, if ty.bytes_for(256).unwrap() >= 512 { 1 } else { 2 });
        check(&model, Access::Map);
    }
}

#[test]
fn a_file_of_more_than_a_gigabyte_does_too() {
    let scratch = Scratch::new();
    let model = scratch.path("large.gguf");
    write_model(&model, StoredType::BF16, 12);
    assert!(std::fs::metadata(&model).unwrap().len() > 1 << 30);
    check(&model, Access::Map);
    check(&model, Access::Read);
}

#[test]
fn the_real_models_do_too() {
    for model in ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"] {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/models").join(model);
        check(&model, Access::Map);
        check(&model, Access::Read);
    }
}
