//! The references of `tests/data/reference` (see the README there).

use std::collections::HashMap;

use safetensors::SafeTensors;
use serde::Deserialize;

use super::data;

/// Arrays of a safetensors file by name, f32 or i32.
pub struct Arrays(HashMap<String, (Vec<usize>, Vec<u8>)>);

impl Arrays {
    pub fn read(path: &str) -> Self {
        let bytes = std::fs::read(data(path)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        Arrays(tensors.tensors().into_iter().map(|(key, view)| (key, (view.shape().to_vec(), view.data().to_vec()))).collect())
    }

    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.words(name).map(f32::from_le_bytes).collect()
    }

    pub fn ids(&self, name: &str) -> Vec<u32> {
        self.words(name).map(u32::from_le_bytes).collect()
    }

    pub fn columns(&self, name: &str) -> usize {
        *self.0[name].0.last().unwrap()
    }

    fn words(&self, name: &str) -> impl Iterator<Item = [u8; 4]> {
        self.0[name].1.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]])
    }
}

/// What transformers computes for one checkpoint.
pub struct Reference {
    pub name: String,
    pub document: Document,
    arrays: Arrays,
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

impl Reference {
    pub fn read(name: &str) -> Self {
        let json = std::fs::read(data(&format!("reference/{name}.json"))).unwrap();
        let arrays = Arrays::read(&format!("reference/{name}.safetensors"));
        Reference { name: name.to_string(), document: serde_json::from_slice(&json).unwrap(), arrays }
    }

    /// Logits at every position of `prompt`.
    pub fn logits(&self, prompt: &Prompt) -> Vec<Vec<f32>> {
        self.arrays.f32(&prompt.logits).chunks(self.arrays.columns(&prompt.logits)).map(<[f32]>::to_vec).collect()
    }
}
