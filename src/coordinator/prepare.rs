//! From a request to seeds: merged settings, rendered and encoded prompts, everything checked before anything runs.

use std::collections::HashSet;
use std::sync::Arc;

use super::request::{CommitPolicy, Input, Request, SequenceOptions};
use crate::artifacts::{GenerationDefaults, ModelArtifacts};
use crate::backend::{RopeId, RopeTable, SamplingParams};
use crate::cache::CacheIdentity;
use crate::decoding::{LazyGuideCompiler, SettingSource, Settings, limits};
use crate::error::{CapacityNumbers, Error, Result};
use crate::rank::{CacheCommit, CachePolicy, Guidance, HiddenStates, Seed, Warning};
use crate::text::{EncodeOptions, Message, RenderInput, Rendered};

/// Prompts of every sequence of `request`, in order: exactly the ids inference feeds.
///
/// A text that is longer than `most_text` bytes is not encoded, which would take many times its size in memory.
pub(super) fn prompts(artifacts: &ModelArtifacts, request: &Request, most_text: usize) -> Result<Vec<Vec<u32>>> {
    if request.sequences.is_empty() {
        return Err(Error::invalid("request: no sequences, expected at least one"));
    }
    // Templates and tokenizers may need more stack than a host's thread has.
    crate::text::on_deep_stack(|| {
        let encode = |(index, sequence): (usize, &super::request::Sequence)| {
            prompt(artifacts, &sequence.input, &sequence.options.or(&request.defaults), most_text)
                .map_err(|e| e.context(format!("sequence {index}")))
        };
        request.sequences.iter().enumerate().map(encode).collect()
    })
}

/// Seeds for every sequence of `request`, without their streams: nothing has been claimed yet.
pub(super) fn seeds(
    artifacts: &ModelArtifacts,
    request: &Request,
    bounds: Bounds,
    guides: &LazyGuideCompiler,
) -> Result<Vec<Seed>> {
    let most_text = bounds.capacity.saturating_mul(MOST_BYTES_PER_TOKEN).clamp(64 << 10, MOST_TEXT);
    let prompts = prompts(artifacts, request, most_text)?;
    let model_end = Arc::<[u32]>::from(artifacts.end_tokens());
    let mut seeds = Vec::with_capacity(prompts.len());
    for (index, (sequence, prompt)) in request.sequences.iter().zip(prompts).enumerate() {
        let options = sequence.options.or(&request.defaults);
        let seed = Preparation { artifacts, options: &options, bounds, guides }
            .seed(index as u32, prompt, &model_end, sequence)
            .map_err(|e| e.context(format!("sequence {index}")))?;
        seeds.push(Seed { on_token: request.on_token.clone(), ..seed });
    }
    Ok(seeds)
}

/// Longest text that is encoded at all, in bytes.
pub(super) const MOST_TEXT: usize = 64 << 20;

/// No text fills a context with tokens that are longer than this on average: words have some 5 bytes, runs of spaces up to 128.
const MOST_BYTES_PER_TOKEN: usize = 128;

fn refuse_hopeless(text: &str, most_text: usize) -> Result<()> {
    if text.len() <= most_text {
        return Ok(());
    }
    let (least, most) = ((text.len() / MOST_BYTES_PER_TOKEN) as u64, (most_text / MOST_BYTES_PER_TOKEN) as u64);
    Err(Error::context_full(format!("prompt: a text of {} bytes, expected at most {most_text} here", text.len()))
        .with_capacity(CapacityNumbers { prompt: least, requested: 1, limit: most }))
}

fn prompt(artifacts: &ModelArtifacts, input: &Input, options: &SequenceOptions, most_text: usize) -> Result<Vec<u32>> {
    let tokenizer = artifacts.tokenizer();
    let ids = match input {
        Input::Ids(ids) => {
            let rows = artifacts.info().vocab_size;
            let checked = ids.iter().enumerate().map(|(at, &id)| match u32::try_from(id) {
                Ok(id) if (id as usize) < rows => Ok(id),
                _ => Err(Error::invalid(format!("prompt id {at}: {id}, expected a token id in 0..{rows}"))),
            });
            checked.collect::<Result<Vec<_>>>()?
        }
        Input::Text(text) => {
            refuse_hopeless(text, most_text)?;
            tokenizer.encode(text, EncodeOptions { add_special: true, parse_special: true })?
        }
        Input::Messages(messages) if options.apply_chat_template.unwrap_or(true) => {
            let rendered = render(artifacts, messages, options)?;
            refuse_hopeless(rendered.text(), most_text)?;
            tokenizer.encode_rendered(&rendered)?
        }
        Input::Messages(messages) => {
            let text = messages.iter().map(Message::text).collect::<Result<Vec<String>>>()?.concat();
            refuse_hopeless(&text, most_text)?;
            tokenizer.encode(&text, EncodeOptions { add_special: true, parse_special: true })?
        }
    };
    if ids.is_empty() {
        return Err(Error::invalid("empty prompt: 0 tokens, expected at least 1"));
    }
    Ok(ids)
}

/// Renders messages through the model's template and encodes them, text of control tokens in contents staying text.
pub(super) fn render_and_encode(artifacts: &ModelArtifacts, messages: &[Message], options: &SequenceOptions) -> Result<Vec<u32>> {
    artifacts.tokenizer().encode_rendered(&render(artifacts, messages, options)?)
}

/// The text a chat sequence of `request` is rendered to: what inference encodes and feeds.
///
/// Errors: INVALID_ARGUMENT where there is no such sequence or it is no chat; TEMPLATE.
pub fn render_chat(artifacts: &ModelArtifacts, request: &Request, sequence: usize) -> Result<String> {
    let Some(sequence) = request.sequences.get(sequence) else {
        let count = request.sequences.len();
        return Err(Error::invalid(format!("sequence: {sequence}, expected less than {count}, the sequences of the request")));
    };
    let Input::Messages(messages) = &sequence.input else {
        return Err(Error::invalid("sequence has a prompt of its own, expected a chat"));
    };
    let options = sequence.options.or(&request.defaults);
    crate::text::on_deep_stack(|| Ok(render(artifacts, messages, &options)?.into_text()))
}

fn render(artifacts: &ModelArtifacts, messages: &[Message], options: &SequenceOptions) -> Result<Rendered> {
    artifacts.chat_template()?.render(&RenderInput {
        messages,
        tools: options.tools.as_deref(),
        template_name: options.template_name.as_deref(),
        add_generation_prompt: options.add_generation_prompt.unwrap_or(true),
        enable_thinking: options.enable_thinking.unwrap_or(false),
        variables: options.template_variables.as_ref(),
        plain_content: options.plain_content.unwrap_or(true),
        now: None,
    })
}

/// Encodes text that a template has rendered already: control tokens are what they say, BOS is added where it is missing.
pub(super) fn encode_rendered_text(artifacts: &ModelArtifacts, text: &str) -> Result<Vec<u32>> {
    artifacts.tokenizer().encode_rendered(&Rendered::from_text(text))
}

/// Settings of a sequence that nobody reads.
pub(super) fn greedy(max_new_tokens: u32) -> Settings {
    Settings {
        sampling: SamplingParams::GREEDY,
        temperature_source: SettingSource::Default,
        top_k_source: SettingSource::Default,
        top_p_source: SettingSource::Default,
        min_p_source: SettingSource::Default,
        repetition_penalty_source: SettingSource::Default,
        seed: 0,
        seed_given: true,
        max_new_tokens,
        num_logprobs: None,
        skip_special_tokens: true,
    }
}

struct Preparation<'a> {
    artifacts: &'a ModelArtifacts,
    options: &'a SequenceOptions,
    bounds: Bounds,
    guides: &'a LazyGuideCompiler,
}

/// What models that think put after it.
const END_OF_THINKING: &str = "</think>";

/// What a coordinator's configuration says about sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Longest sequence, prompt and output.
    pub capacity: usize,
    pub context_cache: bool,
    /// The device gives hidden states.
    pub taps: bool,
}

/// Rotary tables of a sequence's own are part of what its keys mean.
fn rope_content(ropes: &[(RopeId, RopeTable)]) -> Vec<u64> {
    let table = |(id, table): &(RopeId, RopeTable)| {
        let bits = table.inv_freq.iter().chain([&table.factor]).map(|f| u64::from(f.to_bits()));
        [u64::from(id.0)].into_iter().chain(bits).collect::<Vec<_>>()
    };
    ropes.iter().flat_map(table).collect()
}

impl Preparation<'_> {
    fn seed(&self, index: u32, prompt: Vec<u32>, model_end: &Arc<[u32]>, sequence: &super::request::Sequence) -> Result<Seed> {
        let options = self.options;
        let mut warnings = Vec::new();
        let max_new_tokens = self.max_new_tokens(prompt.len(), &mut warnings)?;
        let stops = options.stop.clone().unwrap_or_default();
        if let Some(at) = stops.iter().position(String::is_empty) {
            return Err(Error::invalid(format!("stop[{at}]: empty, expected text")));
        }
        let skip_special = sequence.stream.as_ref().and_then(|s| s.skip_special_tokens()).or(options.skip_special_tokens);
        let mut settings = settings(options, self.artifacts.generation_defaults())?;
        settings.max_new_tokens = max_new_tokens;
        settings.skip_special_tokens = skip_special.unwrap_or(true);
        let ropes = self.artifacts.decoder().ropes_for(prompt.len() + max_new_tokens as usize);
        Ok(Seed {
            index,
            settings,
            bias: self.bias()?,
            end_tokens: self.end_tokens(model_end)?,
            stops,
            stream: None,
            on_token: None,
            identity: CacheIdentity { content: rope_content(&ropes), salt: options.cache_salt.clone().unwrap_or_default() },
            cache: self.cache_policy(),
            hidden: self.hidden_states(prompt.len())?,
            guide: self.guidance()?,
            ropes,
            warnings,
            prompt,
        })
    }

    fn guidance(&self) -> Result<Option<Guidance>> {
        let Some(spec) = &self.options.guide else { return Ok(None) };
        let tokenizer = self.artifacts.tokenizer();
        let compiler = self.guides.get(tokenizer, self.artifacts.end_tokens())?;
        let guide = Box::new(crate::text::on_deep_stack(|| compiler.compile(spec))?);
        let after = self.options.enable_thinking.unwrap_or(false).then(|| tokenizer.find(END_OF_THINKING)).flatten();
        Ok(Some(Guidance { guide, after }))
    }

    /// With the context cache off, pinned system prompts are still found.
    fn cache_policy(&self) -> CachePolicy {
        let commit = match self.options.cache_commit.unwrap_or_default() {
            _ if !self.bounds.context_cache => CacheCommit::Nothing,
            CommitPolicy::IncludingGeneratedTokens => CacheCommit::PromptAndOutput,
            CommitPolicy::PrefillStateOnly => CacheCommit::Prompt,
        };
        // Hidden states are there only of what is computed (DECISIONS 21).
        let bypass = self.options.cache_bypass.unwrap_or(false) || self.options.hidden_layer.is_some();
        CachePolicy { lookup: !bypass, commit }
    }

    /// Memory for the hidden states of a prompt of `rows` tokens.
    fn hidden_states(&self, rows: usize) -> Result<Option<HiddenStates>> {
        let Some(layer) = self.options.hidden_layer else { return Ok(None) };
        let info = self.artifacts.info();
        let layers = info.layers as i32;
        if !(-1..=layers).contains(&layer) {
            return Err(Error::invalid(format!(
                "hiddenLayer: {layer}, expected -1 (after the final norm) to {layers} (the number of layers)"
            )));
        }
        if !self.bounds.taps {
            return Err(Error::unsupported("hiddenLayer: this device does not give hidden states"));
        }
        HiddenStates::for_prompt(layer, if layer < 0 { layers } else { layer } as u32, rows, info.hidden_size).map(Some)
    }

    /// What is left of the capacity beside the prompt, or less if less was asked for.
    fn max_new_tokens(&self, prompt: usize, warnings: &mut Vec<Warning>) -> Result<u32> {
        let asked = self.options.max_generate_length;
        if let Some(asked) = asked.filter(|&n| n < 1) {
            return Err(Error::invalid(format!("maxGenerateLength: {asked}, expected at least 1")));
        }
        let left = self.bounds.capacity.saturating_sub(prompt) as u64;
        if left == 0 {
            let capacity = CapacityNumbers {
                prompt: prompt as u64,
                requested: asked.unwrap_or(1) as u64,
                limit: self.bounds.capacity as u64,
            };
            return Err(Error::context_full(format!(
                "prompt: {prompt} tokens, expected at most {} (capacity {} tokens, at least one of them for output)",
                self.bounds.capacity.saturating_sub(1),
                self.bounds.capacity
            ))
            .with_capacity(capacity));
        }
        match asked.map(|n| n as u64) {
            Some(requested) if requested > left => {
                warnings.push(Warning::MaxLengthClamped { requested, effective: left });
                Ok(left as u32)
            }
            Some(requested) => Ok(requested as u32),
            None => Ok(left as u32),
        }
    }

    fn bias(&self) -> Result<Vec<(u32, f32)>> {
        let entries = self.options.logit_bias.as_deref().unwrap_or_default();
        if entries.len() > limits::MAX_LOGIT_BIAS {
            return Err(Error::invalid(format!(
                "logitBias: {} entries, expected at most {}",
                entries.len(),
                limits::MAX_LOGIT_BIAS
            )));
        }
        let vocab = self.artifacts.info().vocab_size;
        let mut seen = HashSet::with_capacity(entries.len());
        let checked = entries.iter().map(|&(id, bias)| {
            let token = self.token("logitBias", id, vocab)?;
            if !(bias == f32::NEG_INFINITY || bias.abs() <= limits::MAX_ABS_LOGIT_BIAS) {
                let most = limits::MAX_ABS_LOGIT_BIAS;
                return Err(Error::invalid(format!(
                    "logitBias of token {id}: {bias}, expected a number in -{most}..={most} or -inf"
                )));
            }
            if !seen.insert(token) {
                return Err(Error::invalid(format!("logitBias: token {id} occurs twice")));
            }
            Ok((token, bias))
        });
        checked.collect()
    }

    fn end_tokens(&self, model: &Arc<[u32]>) -> Result<Arc<[u32]>> {
        let extra = self.options.extra_eos_ids.as_deref().unwrap_or_default();
        let vocab = self.artifacts.info().vocab_size;
        let extra = extra.iter().map(|&id| self.token("extraEosIds", id, vocab)).collect::<Result<Vec<_>>>()?;
        let ignored = self.options.ignore_eos.unwrap_or(false);
        if extra.is_empty() && !ignored {
            return Ok(model.clone());
        }
        let own: &[u32] = if ignored { &[] } else { model };
        Ok(own.iter().copied().chain(extra).collect())
    }

    fn token(&self, what: &str, id: i32, vocab: usize) -> Result<u32> {
        u32::try_from(id)
            .ok()
            .filter(|&token| (token as usize) < vocab)
            .ok_or_else(|| Error::invalid(format!("{what}: token {id}, expected a token id in 0..{vocab}")))
    }
}

/// The effective settings: request, then model, then off. `max_new_tokens` and `skip_special_tokens` are the caller's to fill.
fn settings(options: &SequenceOptions, model: &GenerationDefaults) -> Result<Settings> {
    // A model that does not ask to be sampled is run greedily, whatever temperature it lists.
    let model_samples = model.do_sample == Some(true);
    let model_temperature = model_samples.then(|| model.temperature.unwrap_or(1.0));
    let (temperature, temperature_source) = pick(options.temperature, model_temperature, 0.0);
    let (top_k, top_k_source) = pick(options.top_k, model.top_k.filter(|_| model_samples), 0);
    let (top_p, top_p_source) = pick(options.top_p, model.top_p.filter(|_| model_samples), 1.0);
    let (min_p, min_p_source) = pick(options.min_p, model.min_p.filter(|_| model_samples), 0.0);
    let (repetition_penalty, repetition_penalty_source) = pick(options.repetition_penalty, model.repetition_penalty, 1.0);
    let presence_penalty = options.presence_penalty.unwrap_or(0.0);
    let frequency_penalty = options.frequency_penalty.unwrap_or(0.0);

    within("temperature", temperature, "a finite number of 0 or more", |t| t >= 0.0)?;
    within("topP", top_p, "a number in 0..=1", |p| (0.0..=1.0).contains(&p))?;
    within("minP", min_p, "a number in 0..=1", |p| (0.0..=1.0).contains(&p))?;
    within("repetitionPenalty", repetition_penalty, "a finite number above 0", |p| p > 0.0)?;
    within("presencePenalty", presence_penalty, "a finite number", |_| true)?;
    within("frequencyPenalty", frequency_penalty, "a finite number", |_| true)?;
    if let Some(k) = options.num_logprobs.filter(|&k| k > limits::MAX_LOGPROBS) {
        return Err(Error::invalid(format!("numLogprobs: {k}, expected at most {}", limits::MAX_LOGPROBS)));
    }
    let sampling = SamplingParams {
        temperature,
        top_k: u32::try_from(top_k.max(0)).unwrap_or(0),
        top_p,
        min_p,
        repetition_penalty,
        presence_penalty,
        frequency_penalty,
    };
    Ok(Settings {
        sampling,
        temperature_source,
        top_k_source,
        top_p_source,
        min_p_source,
        repetition_penalty_source,
        seed: options.seed.unwrap_or_else(fresh_seed),
        seed_given: options.seed.is_some(),
        max_new_tokens: 0,
        num_logprobs: options.num_logprobs,
        skip_special_tokens: true,
    })
}

fn pick<T>(request: Option<T>, model: Option<T>, default: T) -> (T, SettingSource) {
    match (request, model) {
        (Some(value), _) => (value, SettingSource::Request),
        (None, Some(value)) => (value, SettingSource::Model),
        (None, None) => (default, SettingSource::Default),
    }
}

fn within(name: &str, value: f32, expected: &str, holds: impl FnOnce(f32) -> bool) -> Result<()> {
    if value.is_finite() && holds(value) { Ok(()) } else { Err(Error::invalid(format!("{name}: {value}, expected {expected}"))) }
}

/// A seed that differs from call to call: the standard library's per-instance random hash keys.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(options: SequenceOptions, model: GenerationDefaults) -> Settings {
        settings(&options, &model).unwrap()
    }

    /// DECISIONS 17: request, then generation_config.json, then greedy; the source is told.
    #[test]
    fn settings_fall_back_from_request_to_model_to_greedy() {
        let sampled = GenerationDefaults { do_sample: Some(true), top_k: Some(64), ..Default::default() };
        let s = resolve(SequenceOptions { top_p: Some(0.5), ..Default::default() }, sampled.clone());
        assert_eq!((s.sampling.temperature, s.temperature_source), (1.0, SettingSource::Model));
        assert_eq!((s.sampling.top_k, s.top_k_source), (64, SettingSource::Model));
        assert_eq!((s.sampling.top_p, s.top_p_source), (0.5, SettingSource::Request));

        let listed =
            GenerationDefaults { do_sample: Some(false), temperature: Some(0.6), top_p: Some(0.9), ..Default::default() };
        let s = resolve(SequenceOptions::default(), listed);
        assert!(s.sampling.is_greedy());
        assert_eq!((s.temperature_source, s.sampling.top_p), (SettingSource::Default, 1.0));

        // FIELD_CASES 41: a temperature alone samples.
        let s = resolve(SequenceOptions { temperature: Some(1.5), ..Default::default() }, GenerationDefaults::default());
        assert!(!s.sampling.is_greedy());
        assert_eq!((s.sampling.top_k, s.sampling.top_p), (0, 1.0));
    }

    /// FIELD_CASES 42, 43.
    #[test]
    fn out_of_range_settings_are_refused_and_off_means_off() {
        let refuse = |options: SequenceOptions, name: &str| {
            let error = settings(&options, &GenerationDefaults::default()).unwrap_err();
            assert!(error.status() == crate::Status::InvalidArgument && error.message().starts_with(name), "{error}");
        };
        for temperature in [-1.0, f32::NAN, f32::INFINITY] {
            refuse(SequenceOptions { temperature: Some(temperature), ..Default::default() }, "temperature");
        }
        refuse(SequenceOptions { top_p: Some(1.1), ..Default::default() }, "topP");
        refuse(SequenceOptions { min_p: Some(-0.1), ..Default::default() }, "minP");
        refuse(SequenceOptions { repetition_penalty: Some(0.0), ..Default::default() }, "repetitionPenalty");
        refuse(SequenceOptions { presence_penalty: Some(f32::NAN), ..Default::default() }, "presencePenalty");
        refuse(SequenceOptions { num_logprobs: Some(51), ..Default::default() }, "numLogprobs");
        for (asked, effective) in [(-1, 0), (0, 0), (1, 1), (i64::MAX, 0)] {
            let s = resolve(SequenceOptions { top_k: Some(asked), ..Default::default() }, GenerationDefaults::default());
            assert_eq!(s.sampling.top_k, effective);
        }
    }

    /// FIELD_CASES 51: without a seed, draws differ; the one in use is told.
    #[test]
    fn seeds_are_kept_or_drawn() {
        let given = resolve(SequenceOptions { seed: Some(7), ..Default::default() }, GenerationDefaults::default());
        assert_eq!((given.seed, given.seed_given), (7, true));
        let drawn = || resolve(SequenceOptions::default(), GenerationDefaults::default());
        assert!(!drawn().seed_given && drawn().seed != drawn().seed);
    }
}
