//! What a loaded model is, for people and for hosts that choose by it.

use std::collections::BTreeMap;

use serde::Serialize;

/// Facts about a loaded model. Serialises to JSON with these names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelInfo {
    /// As the files call it: `LlamaForCausalLM`, `llama`.
    pub architecture: String,
    /// What the files call themselves, or else the name of the directory or file.
    pub name: String,
    /// `safetensors` or `gguf`.
    pub format: String,
    /// Values in all tensors the decoder uses; a tied head counts once.
    pub parameters: u64,
    /// Bytes of the weight files.
    pub file_bytes: u64,
    /// Bytes of tensors by stored type.
    pub stored_types: BTreeMap<String, u64>,
    /// Longest sequence the model was trained for, in tokens.
    pub context_length: usize,
    /// Rows of the embedding table: ids below this can be fed.
    pub vocab_size: usize,
    /// Ids below this can be generated.
    pub sampled_vocab: usize,
    pub hidden_size: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    /// Of layers that look back a limited number of tokens; `None` where there are no such layers.
    pub sliding_window: Option<usize>,
    pub tied_head: bool,
    /// Only tokenizer and templates were loaded.
    pub vocabulary_only: bool,
    pub bos_token_id: Option<u32>,
    /// Ids that end a sequence.
    pub eos_token_ids: Vec<u32>,
    /// Names of the chat templates.
    pub chat_templates: Vec<String>,
}
