//! The effective settings of a sequence: resolved once at admission, echoed in the response.

use crate::backend::SamplingParams;

/// Limits on what a request may ask for.
pub mod limits {
    pub const MAX_LOGPROBS: u32 = 50;
    pub const MAX_LOGIT_BIAS: usize = 1024;
    pub const MAX_ABS_LOGIT_BIAS: f32 = 100.0;
}

/// Where an effective setting came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingSource {
    /// The sequence, or its request's defaults.
    Request,
    /// The model's `generation_config.json`.
    Model,
    /// Tactus: greedy, no penalties.
    #[default]
    Default,
}

/// Settings in force for one sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub sampling: SamplingParams,
    pub temperature_source: SettingSource,
    pub top_k_source: SettingSource,
    pub top_p_source: SettingSource,
    pub min_p_source: SettingSource,
    pub repetition_penalty_source: SettingSource,
    pub seed: u64,
    /// False where the seed was drawn for this request.
    pub seed_given: bool,
    /// Most tokens to generate, after clamping to the KV capacity.
    pub max_new_tokens: u32,
    pub num_logprobs: Option<u32>,
    pub skip_special_tokens: bool,
}
