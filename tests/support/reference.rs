//! The references of `tests/data/reference` (see the README there).

use std::collections::HashMap;

use safetensors::SafeTensors;
use serde::Deserialize;

use super::data;

/// What transformers computes for one checkpoint.
pub struct Reference {
    pub name: String,
    pub document: Document,
    arrays: HashMap<String, Array>,
}

#[derive(Deserialize)]
pub struct Document {
    /// Path below `tests/data`.
    pub model: String,
    /// GGUF: the stored type of the matrices.
    pub stored: Option<String>,
    pub prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
pub struct Prompt {
    pub name: String,
    pub text: Option<String>,
    pub ids: Vec<u32>,
    pub logits: String,
    pub hidden: Option<String>,
    pub greedy: Vec<u32>,
    /// llama.cpp's error relative to the reference.
    pub peer_error: Option<f32>,
    pub rope_length: Option<usize>,
}

struct Array {
    columns: usize,
    values: Vec<f32>,
}

impl Reference {
    pub fn read(name: &str) -> Self {
        let json = std::fs::read(data(&format!("reference/{name}.json"))).unwrap();
        let bytes = std::fs::read(data(&format!("reference/{name}.safetensors"))).unwrap();
        let arrays = SafeTensors::deserialize(&bytes).unwrap().tensors().into_iter().map(|(key, view)| {
            let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            (key, Array { columns: *view.shape().last().unwrap(), values })
        });
        Reference { name: name.to_string(), document: serde_json::from_slice(&json).unwrap(), arrays: arrays.collect() }
    }

    /// Logits at position `row` of `prompt`.
    pub fn logits(&self, prompt: &Prompt, row: usize) -> &[f32] {
        let array = &self.arrays[&prompt.logits];
        &array.values[row * array.columns..][..array.columns]
    }
}
