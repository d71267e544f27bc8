//! Mutants of GGUF files: of their structure, of single fields, of bytes.

use std::path::Path;

use tactus::error::Error;
use tactus::weights::Bytes;
use tactus::weights::StoredType;
use tactus::weights::gguf::{Gguf, type_number};

use crate::gguf_writer::{ARRAY, Field, GgufFile, STRING, Tensor, Value, Written};
use crate::memory::peak_of;
use crate::rng::Rng;
use crate::walk::walk_gguf;
use crate::{Current, Tally, base_seed, check_refusal, share};

const PATH: &str = "m.gguf";

/// A tensor of one row of whole blocks.
fn tensor(rng: &mut Rng, name: &str, ty: StoredType, rows: u64) -> Tensor {
    let columns = ty.block_elements() as u64 * if ty.block_elements() == 1 { 24 } else { 1 };
    let len = ty.bytes_for((rows * columns) as usize).unwrap();
    Tensor { name: name.into(), dimensions: vec![columns, rows], kind: type_number(ty), data: rng.bytes(len), offset: None }
}

/// Right files, small and unlike each other.
pub fn seed(rng: &mut Rng) -> GgufFile {
    let mut file = GgufFile::new().key("general.architecture", "llama").key("general.name", "a model");
    match rng.below(5) {
        0 => {
            for ty in StoredType::ALL {
                file.tensors.push(tensor(rng, &format!("blk.0.{ty}.weight"), ty, 1));
            }
        }
        1 => {
            let texts: Vec<String> = (0..60).map(|i| "▁tok".repeat(i % 4) + &i.to_string()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            file = file
                .key("tokenizer.ggml.tokens", Value::strings(&texts))
                .key("tokenizer.ggml.scores", Value::array((0..60).map(|i| Value::F32(-(i as f32))).collect()))
                .key("tokenizer.ggml.token_type", Value::array((0..60).map(|i| Value::I32(i % 7)).collect()));
            file.tensors.push(tensor(rng, "token_embd.weight", StoredType::Q8_0, 2));
        }
        2 => {
            file = file
                .key("u8", Value::U8(7))
                .key("i8", Value::I8(-7))
                .key("u16", Value::U16(700))
                .key("i16", Value::I16(-700))
                .key("u32", Value::U32(70_000))
                .key("i32", Value::I32(-70_000))
                .key("f32", Value::F32(1e-5))
                .key("bool", Value::Bool(1))
                .key("u64", Value::U64(u64::MAX))
                .key("i64", Value::I64(i64::MIN))
                .key("f64", Value::F64(f64::MAX))
                .key("flags", Value::array(vec![Value::Bool(0), Value::Bool(1)]))
                .key("halves", Value::array(vec![Value::I16(-1), Value::I16(1)]))
                .key("doubles", Value::array(vec![Value::F64(0.1)]))
                .key("nested", Value::array(vec![Value::strings(&["x", ""]), Value::array(vec![Value::U8(1)])]))
                .key("none", Value::Array { kind: STRING, values: vec![] });
            file = file.counting("norm.weight", &[3]).counting("b", &[2, 1, 2]);
        }
        3 => {
            file = file.aligned(*rng.pick(&[8, 16, 64, 256]));
            file.version = 2;
            for (name, ty) in [("a", StoredType::Q4_K), ("b", StoredType::F16), ("c", StoredType::Q4_1)] {
                let rows = 1 + rng.below(3) as u64;
                file.tensors.push(tensor(rng, name, ty, rows));
            }
        }
        _ => {
            for layer in 0..12 {
                file = file.counting(&format!("blk.{layer}.attn_norm.weight"), &[8]);
            }
            file = file.tensor("blk.0.ffn_gate_exps.weight", &[32], 39, vec![0; 17]);
        }
    }
    file
}

/// Changes what the file is about; it is still written by the rules.
pub fn mutate_structure(rng: &mut Rng, file: &mut GgufFile) {
    let keys = file.metadata.len();
    let tensors = file.tensors.len();
    match rng.below(12) {
        0 => drop(file.metadata.remove(rng.below(keys))),
        1 => {
            let twice = file.metadata[rng.below(keys)].clone();
            file.metadata.insert(rng.below(keys + 1), twice);
        }
        2 => file.metadata[rng.below(keys)].0 = rng.bytes(4),
        3 => file.metadata[rng.below(keys)].0.clear(),
        4 => {
            let other = file.metadata[rng.below(keys)].1.clone();
            file.metadata[rng.below(keys)].1 = other;
        }
        5 => {
            let alignment = rng.number(32, 4096);
            file.metadata.push((b"general.alignment".to_vec(), Value::U64(alignment)));
        }
        6 => {
            let depth = rng.below(8);
            let nested = (0..depth).fold(Value::strings(&["x"]), |inner, _| Value::Array { kind: ARRAY, values: vec![inner] });
            file.metadata.push((b"deep".to_vec(), nested));
        }
        7 => {
            for (key, value) in [("split.no", rng.below(4)), ("split.count", rng.below(4)), ("split.tensors.count", tensors)] {
                file.metadata.push((key.into(), Value::U16(value as u16)));
            }
        }
        _ if tensors == 0 => {}
        8 => {
            let twice = file.tensors[rng.below(tensors)].clone();
            file.tensors.push(twice);
        }
        9 => {
            let at = rng.below(tensors);
            let other = file.tensors[rng.below(tensors)].offset.unwrap_or(0);
            file.tensors[at].offset = Some(if rng.percent(50) { other } else { rng.number(32, 4096) });
        }
        10 => {
            let at = rng.below(tensors);
            file.tensors[at].kind = rng.below(45) as u32;
        }
        _ => {
            let at = rng.below(tensors);
            let dimensions = &mut file.tensors[at].dimensions;
            match rng.below(4) {
                0 => dimensions.clear(),
                1 => dimensions.push(rng.number(1, 64)),
                2 if !dimensions.is_empty() => dimensions[0] = rng.number(dimensions[0], 4096),
                _ => dimensions.reverse(),
            }
        }
    }
}

/// Changes one field of the written file. The head is left alone most of the time, which would end the reading there.
fn mutate_field(rng: &mut Rng, written: &mut Written) {
    let fields: Vec<_> = written.fields.iter().filter(|(field, range)| !range.is_empty() && *field != Field::Data).collect();
    let (field, range) = fields[rng.below(fields.len())].clone();
    if matches!(field, Field::Magic | Field::Version) && !rng.percent(30) {
        return;
    }
    let size = written.bytes.len();
    let bytes = &mut written.bytes[range];
    let mut old = [0; 8];
    let width = bytes.len().min(8);
    old[..width].copy_from_slice(&bytes[..width]);
    match field {
        Field::Key | Field::Name | Field::String | Field::Padding => {
            let at = rng.below(bytes.len());
            bytes[at] = *rng.pick(&[0, b'a', b'.', 0x7f, 0xff, 0xe6]);
        }
        Field::ValueType | Field::ElementType => bytes[0] = rng.below(15) as u8,
        Field::TensorType => bytes[0] = rng.below(45) as u8,
        _ => {
            let new = rng.number(u64::from_le_bytes(old), size).to_le_bytes();
            bytes[..width].copy_from_slice(&new[..width]);
        }
    }
}

pub fn mutant(rng: &mut Rng) -> Vec<u8> {
    let mut file = seed(rng);
    if rng.percent(40) {
        for _ in 0..=rng.below(2) {
            mutate_structure(rng, &mut file);
            if file.metadata.is_empty() {
                break;
            }
        }
    }
    let mut written = file.write();
    if rng.percent(50) {
        for _ in 0..=rng.below(3) {
            mutate_field(rng, &mut written);
        }
    }
    if rng.percent(15) {
        for _ in 0..=rng.below(2) {
            rng.scramble(&mut written.bytes);
        }
    }
    if rng.percent(5) {
        let fields: Vec<_> = written.fields.iter().map(|(_, range)| range.start).collect();
        let cut = *rng.pick(&fields);
        written.bytes.truncate(cut);
    }
    written.bytes
}

fn is_at_head(error: &Error) -> bool {
    ["not a GGUF file", "magic", "version", "big-endian"].iter().any(|word| error.message().contains(word))
}

fn is_at_tensors(error: &Error) -> bool {
    let place = error.message().strip_prefix("m.gguf: tensor ");
    place.is_some_and(|place| !place.starts_with("count"))
}

#[test]
fn mutated_gguf_files_are_read_whole_or_refused() {
    let mut tally = Tally::default();
    for index in 0..share(60) {
        let _current = Current("GGUF", index);
        let bytes = Bytes::from_vec(mutant(&mut Rng::new(base_seed(), index)));
        let (outcome, peak) = peak_of(|| Gguf::from_bytes(&bytes, Path::new(PATH)));
        tally.made += 1;
        tally.add_peak(peak, bytes.len());
        match outcome {
            Ok(model) => {
                tally.past_head += 1;
                tally.at_tensors += u64::from(model.names().next().is_some());
                let (walked, peak) = peak_of(|| walk_gguf(&model));
                tally.add_peak(peak, bytes.len());
                tally.add_walk(walked);
            }
            Err(error) => {
                check_refusal(&error, PATH);
                tally.past_head += u64::from(!is_at_head(&error));
                tally.at_tensors += u64::from(is_at_tensors(&error));
            }
        }
    }
    tally.report("GGUF");
}

/// What the sizes in a file allow at most, with all of it read into memory besides.
#[test]
fn the_largest_tables_stay_within_the_file_and_16_mib() {
    let mut file = GgufFile::new();
    file.metadata = (0..65_536u32).map(|i| (i.to_string().into_bytes(), Value::U8(0))).collect();
    let data = |i: u32| Tensor {
        name: format!("{i:0>255}").into_bytes(),
        dimensions: vec![1; 4],
        kind: 0,
        data: vec![0; 4],
        offset: (i > 0).then_some(u64::from(i) * 32),
    };
    file.tensors = (0..16_384).map(data).collect();
    let bytes = Bytes::from_vec(file.to_bytes());
    let (outcome, peak) = peak_of(|| Gguf::from_bytes(&bytes, Path::new(PATH)));
    assert_eq!(outcome.unwrap().names().count(), 16_384);
    assert!(peak <= 16 << 20, "{peak} bytes besides the file");
    // Arrays that would take many times their bytes if they were copied.
    let many = GgufFile::new()
        .key("empty", Value::Array { kind: STRING, values: vec![Value::Str(vec![]); 1 << 18] })
        .key("bytes", Value::Array { kind: 0, values: vec![Value::U8(1); 1 << 20] });
    let bytes = Bytes::from_vec(many.to_bytes());
    let (outcome, peak) = peak_of(|| Gguf::from_bytes(&bytes, Path::new(PATH)));
    assert_eq!(outcome.unwrap().metadata().strings("empty").unwrap().unwrap().len(), 1 << 18);
    assert!(peak < 1 << 16, "{peak} bytes besides the file");
}
