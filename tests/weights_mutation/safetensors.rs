//! Mutants of safetensors files: of the header's structure, of its text, of bytes. The `safetensors` crate reads the same files.

use std::path::Path;

use safetensors::{SafeTensorError, SafeTensors};
use tactus::error::{Error, Result};
use tactus::weights::Bytes;
use tactus::weights::safetensors::Checkpoint;

use crate::memory::peak_of;
use crate::rng::Rng;
use crate::safetensors_writer::{SafetensorsFile, file};
use crate::walk::walk_tensors;
use crate::{Current, Tally, base_seed, check_refusal, share};

const PATH: &str = "m.safetensors";

/// Right files, small and unlike each other.
pub fn seed(rng: &mut Rng) -> SafetensorsFile {
    let mut made = SafetensorsFile { padding: rng.below(9), ..SafetensorsFile::new() };
    let count = rng.below(8);
    for index in 0..count {
        let (dtype, width) =
            *rng.pick(&[("F32", 4), ("F16", 2), ("BF16", 2), ("F32", 4), ("I64", 8), ("F8_E4M3", 1), ("BOOL", 1)]);
        let shape: Vec<u64> = (0..rng.below(4)).map(|_| rng.below(6) as u64).collect();
        let len = shape.iter().product::<u64>() as usize * width;
        let name = rng.pick(&["model.layers.0.mlp", "norm", "модель", "a\"b"]).to_string() + &index.to_string();
        made = made.tensor(&name, dtype, &shape, rng.bytes(len));
    }
    made
}

fn mutate_structure(rng: &mut Rng, made: &mut SafetensorsFile) {
    if made.tensors.is_empty() {
        return;
    }
    let at = rng.below(made.tensors.len());
    let size: usize = made.tensors.iter().map(|tensor| tensor.data.len()).sum();
    let start = made.tensors[..at].iter().map(|tensor| tensor.data.len() as u64).sum::<u64>();
    let tensor = &mut made.tensors[at];
    match rng.below(9) {
        0 => drop(made.tensors.remove(at)),
        1 => {
            let twice = tensor.clone();
            made.tensors.push(twice);
        }
        2 => tensor.dtype = rng.pick(&["F32", "F16", "F64", "F4", "F6_E2M3", "U128", "", "f32"]).to_string(),
        3 => tensor.shape.push(rng.number(1, size)),
        4 if !tensor.shape.is_empty() => tensor.shape[0] = rng.number(tensor.shape[0], size),
        5 => tensor.shape.reverse(),
        6 => tensor.offsets = Some((start, rng.number(start + tensor.data.len() as u64, size))),
        7 => tensor.offsets = Some((rng.number(start, size), start + tensor.data.len() as u64)),
        _ => tensor.data.push(0),
    }
}

/// Changes the header's text: a number, a sign, a piece of it.
fn mutate_text(rng: &mut Rng, header: &mut String) {
    let bytes = header.as_bytes();
    let digits: Vec<usize> = (1..bytes.len()).filter(|&i| bytes[i].is_ascii_digit() && !bytes[i - 1].is_ascii_digit()).collect();
    if rng.percent(50) && !digits.is_empty() {
        let start = *rng.pick(&digits);
        let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
        let numbers = ["-1", "1.0", "1e2", "00", "null", "\"1\"", "18446744073709551615", "18446744073709551616", "[]"];
        let new = if rng.percent(50) { rng.number(4, bytes.len()).to_string() } else { rng.pick(&numbers).to_string() };
        header.replace_range(start..end, &new);
        return;
    }
    let mut text = header.clone().into_bytes();
    match rng.below(3) {
        0 => {
            let signs: Vec<usize> = (0..text.len()).filter(|&i| b"{}[],:\"".contains(&text[i])).collect();
            text[*rng.pick(&signs)] = *rng.pick(b"{}[],:\" \\0");
        }
        1 => {
            let words = ["dtype", "shape", "data_offsets", "__metadata__", "F32"];
            let word = *rng.pick(&words);
            if let Some(at) = header.find(word) {
                text.splice(at..at + word.len(), rng.pick(&words).bytes());
            }
        }
        _ => rng.scramble(&mut text),
    }
    *header = String::from_utf8_lossy(&text).into_owned();
}

pub fn mutant(rng: &mut Rng) -> Vec<u8> {
    let mut made = seed(rng);
    if rng.percent(60) {
        for _ in 0..=rng.below(2) {
            mutate_structure(rng, &mut made);
        }
    }
    let mut header = made.header();
    if rng.percent(30) {
        mutate_text(rng, &mut header);
    }
    let data: Vec<u8> = made.tensors.iter().flat_map(|tensor| tensor.data.clone()).collect();
    let mut bytes = file((header + &" ".repeat(made.padding)).as_bytes(), &data);
    if rng.percent(5) {
        let len = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let new = rng.number(len, bytes.len());
        bytes[..8].copy_from_slice(&new.to_le_bytes());
    }
    if rng.percent(10) {
        rng.scramble(&mut bytes);
    }
    bytes
}

fn is_at_head(error: &Error) -> bool {
    let message = error.message();
    ["not a safetensors file", "header: ", "expected at least the 8"].iter().any(|word| message.contains(word))
        && !is_at_tensors(error)
}

fn is_at_tensors(error: &Error) -> bool {
    ["tensor ", "by the header (truncated?)", "after the last tensor"].iter().any(|word| error.message().contains(word))
}

/// What the reference reader accepts we accept, and the other way round, but for what we do on purpose.
fn compare(ours: &Result<Checkpoint>, bytes: &[u8]) {
    // Its sums overflow on such numbers, in a build that checks.
    if bytes.windows(19).any(|window| window.iter().all(u8::is_ascii_digit)) {
        return;
    }
    match (ours, SafeTensors::deserialize(bytes)) {
        (Ok(ours), Ok(reference)) => {
            assert_eq!(ours.names().count(), reference.len());
            for (name, expected) in reference.iter() {
                assert_eq!(ours.shape(name), Some(expected.shape()));
                if let Ok(found) = ours.tensor(name) {
                    let found = found.unwrap();
                    assert_eq!(
                        (&*found.data.read().unwrap(), found.ty.name()),
                        (expected.data(), format!("{:?}", expected.dtype()).as_str())
                    );
                }
            }
        }
        (Err(_), Err(_)) => {}
        // Types we do not know are told when they are asked for, and `__metadata__` is nothing to us.
        (Ok(_), Err(SafeTensorError::InvalidHeaderDeserialization(_))) => {}
        (Ok(_), Err(error)) => panic!("accepted, the reference says {error:?}"),
        (Err(error), Ok(_)) => {
            let stricter = ["occurs twice", "starts with {", "sizes", "a name of"];
            let on_purpose = stricter.iter().any(|word| error.message().contains(word)) || named_twice(error.message(), bytes);
            assert!(on_purpose, "{error:?}, the reference accepts");
        }
    }
}

/// Whether the tensor that a refusal names stands twice in the header: the reference takes the last, we refuse the first bad one.
fn named_twice(message: &str, bytes: &[u8]) -> bool {
    let Some(name) = message.split("tensor ").nth(1).and_then(|rest| rest.split(": ").next()) else { return false };
    let key = serde_json::Value::from(name).to_string().into_bytes();
    bytes.windows(key.len()).filter(|window| *window == key).count() > 1
}

#[test]
fn mutated_safetensors_files_are_read_whole_or_refused() {
    let mut tally = Tally::default();
    for index in 0..share(35) {
        let _current = Current("safetensors", index);
        let bytes = Bytes::from_vec(mutant(&mut Rng::new(base_seed() ^ 0x5afe, index)));
        let (outcome, peak) = peak_of(|| Checkpoint::from_bytes(&bytes, Path::new(PATH)));
        tally.made += 1;
        tally.add_peak(peak, bytes.len());
        compare(&outcome, &bytes);
        match outcome {
            Ok(checkpoint) => {
                tally.past_head += 1;
                tally.at_tensors += u64::from(checkpoint.names().next().is_some());
                let (walked, peak) = peak_of(|| walk_tensors(&checkpoint));
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
    tally.report("safetensors");
}

/// The most tensors a file may have, and what would multiply in memory if it were not bounded.
#[test]
fn the_largest_headers_stay_within_the_file_and_16_mib() {
    let rows = |count: usize| {
        let row = |i: usize| format!(r#""{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#);
        format!("{{{}}}", (0..count).map(row).collect::<Vec<_>>().join(","))
    };
    let endless = format!(r#"{{"a":{{"dtype":"U8","shape":[{}1],"data_offsets":[0,1]}}}}"#, "1,".repeat(1 << 20));
    for (header, accepted) in [(rows(65_536), true), (rows(65_537), false), (endless, false)] {
        let bytes = Bytes::from_vec(file(header.as_bytes(), &[]));
        let (outcome, peak) = peak_of(|| Checkpoint::from_bytes(&bytes, Path::new(PATH)));
        assert_eq!(outcome.is_ok(), accepted);
        assert!(peak <= 16 << 20, "{peak} bytes besides the file");
    }
}
