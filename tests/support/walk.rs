//! Looks at everything an opened file gives: each key through each getter, each tensor decoded. For files from anywhere.

#![allow(dead_code)] // not every test needs all of it

use tactus::Status;
use tactus::error::{Error, Result};
use tactus::weights::gguf::{Gguf, Value};
use tactus::weights::{StoredTensor, TensorSource, quant};

/// What a walk met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    pub keys: usize,
    pub tensors: usize,
    /// Tensors of types that do not load.
    pub foreign: usize,
    pub values: usize,
}

/// Panics where something that was accepted does not hold together.
pub fn walk_gguf(model: &Gguf) -> Walked {
    let metadata = model.metadata();
    let mut keys = 0;
    for key in metadata.keys() {
        keys += 1;
        let value = metadata.get(key).expect("a key that is listed");
        let outcomes = [
            status(metadata.str(key)),
            status(metadata.u32(key)),
            status(metadata.u64(key)),
            status(metadata.usize(key)),
            status(metadata.f32(key)),
            status(metadata.bool(key)),
            status(metadata.strings(key)),
            status(metadata.integers(key)),
            status(metadata.floats(key)),
            status(metadata.bools(key)),
        ];
        assert!(outcomes.iter().flatten().all(|&status| status == Status::Format));
        let listed = match value {
            Value::Strings(values) => (values.iter().count(), values.len()),
            Value::Integers(values) => (values.iter().count(), values.len()),
            Value::Floats(values) => (values.iter().count(), values.len()),
            Value::Bools(values) => (values.iter().count(), values.len()),
            _ => (0, 0),
        };
        assert_eq!(listed.0, listed.1, "{key}");
    }
    for name in model.names() {
        if let Ok(tensor) = model.tensor(name) {
            assert_eq!(model.shape(name), tensor.map(|tensor| tensor.shape.as_slice()));
        }
    }
    Walked { keys, ..walk_tensors(model) }
}

/// Panics where something that was accepted does not hold together.
pub fn walk_tensors(source: &dyn TensorSource) -> Walked {
    let mut walked = Walked::default();
    for name in source.names() {
        assert!(source.file_of(name).is_some());
        match source.tensor(name) {
            Ok(Some(tensor)) => {
                walked.tensors += 1;
                walked.values += decode(&tensor);
            }
            Ok(None) => panic!("{name:?} is listed and not there"),
            Err(error) => {
                walked.foreign += 1;
                assert_eq!(error.status(), Status::Unsupported, "{error}");
            }
        }
    }
    walked
}

fn decode(tensor: &StoredTensor) -> usize {
    let elements = tensor.elements();
    assert_eq!(tensor.ty.bytes_for(elements), Some(tensor.data.len()), "{}", tensor.name);
    let mut values = vec![0.0; elements];
    quant::dequantize(tensor.ty, &tensor.data.read().unwrap(), &mut values).unwrap();
    elements
}

fn status<T>(outcome: Result<T>) -> Option<Status> {
    outcome.as_ref().err().map(Error::status)
}
