//! A request: a batch of sequences, with defaults that each sequence may override.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::decoding::GuideSpec;
use crate::rank::{StreamChannel, TokenCallback};
use crate::text::Message;

/// What a sequence starts from.
#[derive(Clone, Debug)]
pub enum Input {
    /// Rendered through the model's chat template, unless `apply_chat_template` is off: then the contents are concatenated.
    Messages(Vec<Message>),
    /// Encoded as it is; BOS is added where the tokenizer's rules say so.
    Text(String),
    /// Fed as they are.
    Ids(Vec<i32>),
}

/// Settings of a sequence, or a request's defaults for all its sequences. `None` falls back: sequence, request, the model's
/// `generation_config.json`, the value named here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceOptions {
    /// Below 1e-3 is greedy. Unset everywhere: greedy.
    pub temperature: Option<f32>,
    /// 1: off.
    pub top_p: Option<f32>,
    /// 0 or less: off.
    pub top_k: Option<i64>,
    /// 0: off.
    pub min_p: Option<f32>,
    /// 1: off.
    pub repetition_penalty: Option<f32>,
    /// 0: off.
    pub presence_penalty: Option<f32>,
    /// 0: off.
    pub frequency_penalty: Option<f32>,
    /// Most tokens to generate. Unset: to the end of the context.
    pub max_generate_length: Option<i64>,
    /// Unset: drawn for this request, and reported in the response.
    pub seed: Option<u64>,
    /// Log-probabilities of this many most probable tokens (0..=50) beside the chosen one's. Unset: none at all.
    pub num_logprobs: Option<u32>,
    /// Generation ends before the earliest occurrence of any of these; not empty strings. `Some` replaces the request's.
    pub stop: Option<Vec<String>>,
    /// Added to raw logits; at most 1,024 entries in -100..=100 or -inf, ids within the vocabulary, each id once.
    pub logit_bias: Option<Vec<(i32, f32)>>,
    /// Further ids that end generation, beside the model's own.
    pub extra_eos_ids: Option<Vec<i32>>,
    /// End-of-sequence ids do not end generation. Default false.
    pub ignore_eos: Option<bool>,
    /// Default true.
    pub apply_chat_template: Option<bool>,
    /// Default true.
    pub add_generation_prompt: Option<bool>,
    /// Passed to the template. Default false.
    pub enable_thinking: Option<bool>,
    /// Tool descriptions for the template, as the OpenAI chat shape has them.
    pub tools: Option<Vec<Value>>,
    /// Further variables for the template.
    pub template_variables: Option<Map<String, Value>>,
    /// Picks a named template of the model; unset: the default one, or `tool_use` where there are tools and it exists.
    pub template_name: Option<String>,
    /// Special tokens are left out of the text. Default true.
    pub skip_special_tokens: Option<bool>,
    /// Text of control tokens inside messages that are not the assistant's stays plain text. Default true.
    pub plain_content: Option<bool>,
    /// Compute everything, whatever the context cache holds. Default false.
    pub cache_bypass: Option<bool>,
    /// What the context cache keeps of this sequence.
    pub cache_commit: Option<CommitPolicy>,
    /// Sequences share cached pages only with those of the same salt. Default empty.
    pub cache_salt: Option<String>,
    /// Save the system message's keys and values before running. Default false.
    pub save_system_prompt: Option<bool>,
    /// Hidden states of the prompt come with the response: 0, the input embeddings; i, the input of layer i; -1, after the final norm.
    /// Everything is computed then, whatever the context cache holds.
    pub hidden_layer: Option<i32>,
    /// What the output must be. With thinking it holds after the end of the thinking.
    pub guide: Option<GuideSpec>,
}

/// What the context cache keeps of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitPolicy {
    /// Prompt and output: a chat's next turn finds both.
    #[default]
    IncludingGeneratedTokens,
    PrefillStateOnly,
}

/// One sequence of a request.
#[derive(Clone)]
pub struct Sequence {
    pub input: Input,
    pub options: SequenceOptions,
    /// Receives the text as it is generated. A channel serves one sequence once.
    pub stream: Option<Arc<StreamChannel>>,
}

impl Sequence {
    pub fn new(input: Input) -> Self {
        Sequence { input, options: SequenceOptions::default(), stream: None }
    }
}

/// A batch of sequences that are dispatched together.
#[derive(Clone, Default)]
pub struct Request {
    pub sequences: Vec<Sequence>,
    pub defaults: SequenceOptions,
    pub on_token: Option<TokenCallback>,
}

impl SequenceOptions {
    /// These options with gaps filled from `defaults`.
    pub fn or(&self, defaults: &SequenceOptions) -> SequenceOptions {
        macro_rules! merge {
            ($($field:ident),* $(,)?) => {
                SequenceOptions { $($field: self.$field.clone().or_else(|| defaults.$field.clone())),* }
            };
        }
        merge!(
            temperature,
            top_p,
            top_k,
            min_p,
            repetition_penalty,
            presence_penalty,
            frequency_penalty,
            max_generate_length,
            seed,
            num_logprobs,
            stop,
            logit_bias,
            extra_eos_ids,
            ignore_eos,
            apply_chat_template,
            add_generation_prompt,
            enable_thinking,
            tools,
            template_variables,
            template_name,
            skip_special_tokens,
            plain_content,
            cache_bypass,
            cache_commit,
            cache_salt,
            save_system_prompt,
            hidden_layer,
            guide,
        )
    }
}
