//! Mutants of sets of files on disk: split GGUF models, and shards with their index, mapped and read.

use tactus::weights::gguf::Gguf;
use tactus::weights::safetensors::Checkpoint;
use tactus::weights::{Access, TensorSource};

use crate::gguf_writer::{GgufFile, Value};
use crate::memory::peak_of;
use crate::rng::Rng;
use crate::safetensors_writer::SafetensorsFile;
use crate::scratch::Scratch;
use crate::walk::{walk_gguf, walk_tensors};
use crate::{ALLOWANCE, Current, base_seed, check_refusal, gguf, share};

fn access(rng: &mut Rng) -> Access {
    *rng.pick(&[Access::Map, Access::Read])
}

#[test]
fn mutated_split_sets_are_read_whole_or_refused() {
    let (mut accepted, mut refused) = (0, 0);
    for index in 0..share(3) {
        let _current = Current("split set", index);
        let mut rng = Rng::new(base_seed() ^ 0x5e7, index);
        let scratch = Scratch::new();
        let (mut size, mut paths) = (0, Vec::new());
        let spoilt = rng.below(4);
        for number in 0..3 {
            let mut part = GgufFile::new().key("split.no", Value::U16(number)).key("split.count", Value::U16(3));
            part = part.key("split.tensors.count", Value::U16(3)).counting(&format!("t{number}"), &[2]);
            if usize::from(number) == spoilt {
                gguf::mutate_structure(&mut rng, &mut part);
            }
            let mut bytes = part.to_bytes();
            if usize::from(number) == spoilt && rng.percent(30) {
                rng.scramble(&mut bytes);
            }
            size += bytes.len();
            paths.push(scratch.write(format!("m-0000{}-of-00003.gguf", number + 1), bytes));
        }
        if rng.percent(10) {
            std::fs::remove_file(&paths[rng.below(3)]).unwrap();
        }
        let access = access(&mut rng);
        let path = &paths[rng.below(3)];
        let (outcome, peak) = peak_of(|| Gguf::open(path, access));
        assert!(peak <= size + ALLOWANCE);
        match outcome {
            Ok(model) => {
                walk_gguf(&model);
                accepted += 1;
            }
            Err(error) => {
                check_refusal(&error, scratch.path().to_str().unwrap());
                refused += 1;
            }
        }
    }
    println!("split sets: {accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}

#[test]
fn mutated_sharded_checkpoints_are_read_whole_or_refused() {
    let (mut accepted, mut refused) = (0, 0);
    for index in 0..share(2) {
        let _current = Current("sharded checkpoint", index);
        let mut rng = Rng::new(base_seed() ^ 0x54a2d, index);
        let scratch = Scratch::new();
        let mut names = vec!["one.safetensors", "two.safetensors"];
        let mut map = serde_json::Map::new();
        for (number, name) in names.iter().enumerate() {
            let tensors = [format!("a{number}"), format!("b{number}")];
            let mut bytes = SafetensorsFile::new().counting(&tensors[0], &[2]).counting(&tensors[1], &[1, 3]).to_bytes();
            for tensor in tensors {
                map.insert(tensor, (*name).into());
            }
            if rng.percent(20) {
                rng.scramble(&mut bytes);
            }
            scratch.write(name, bytes);
        }
        names.extend(["three.safetensors", "../x", "/", ""]);
        if rng.percent(30) {
            let tensor = rng.pick(&["a0", "b0", "a1", "c0"]).to_string();
            map.insert(tensor, (*rng.pick(&names)).into());
        }
        let mut text = serde_json::json!({ "weight_map": map }).to_string().into_bytes();
        if rng.percent(20) {
            rng.scramble(&mut text);
        }
        scratch.write("model.safetensors.index.json", text);
        let access = access(&mut rng);
        let (outcome, peak) = peak_of(|| Checkpoint::open(scratch.path(), access));
        assert!(peak <= ALLOWANCE);
        match outcome {
            Ok(checkpoint) => {
                let source: &dyn TensorSource = &checkpoint;
                let walked = walk_tensors(source);
                assert_eq!(walked.tensors + walked.foreign, source.names().len());
                accepted += 1;
            }
            Err(error) => {
                check_refusal(&error, scratch.path().to_str().unwrap());
                refused += 1;
            }
        }
    }
    println!("sharded checkpoints: {accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}
