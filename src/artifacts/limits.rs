//! Where generation ends, and what the model recommends for it.

use crate::error::Result;
use crate::text::Tokenizer;
use crate::weights::ConfigReader;

/// What a model recommends (`generation_config.json`). `None`: it does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationDefaults {
    pub do_sample: Option<bool>,
    pub temperature: Option<f32>,
    pub top_k: Option<i64>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repetition_penalty: Option<f32>,
}

impl GenerationDefaults {
    pub(super) fn read(config: ConfigReader) -> Result<Self> {
        Ok(GenerationDefaults {
            do_sample: config.opt_bool("do_sample")?,
            temperature: config.opt_f32("temperature")?,
            top_k: config.opt_i64("top_k")?,
            top_p: config.opt_f32("top_p")?,
            min_p: config.opt_f32("min_p")?,
            repetition_penalty: config.opt_f32("repetition_penalty")?,
        })
    }
}

/// Ids that end a sequence, each once, in the order they were found.
#[derive(Debug, Default)]
pub(super) struct EndTokens(Vec<u32>);

impl EndTokens {
    pub(super) fn add(&mut self, ids: impl IntoIterator<Item = u32>) {
        for id in ids {
            if !self.0.contains(&id) {
                self.0.push(id);
            }
        }
    }

    /// `eos_token_id` of a configuration, one id or a list.
    pub(super) fn add_from(&mut self, config: ConfigReader) -> Result<()> {
        self.add(config.ids("eos_token_id")?);
        Ok(())
    }

    /// Control tokens that end a turn by their name. GGUF files often name one end token only, and not the one that chats end with.
    pub(super) fn add_by_name(&mut self, tokenizer: &Tokenizer) {
        const NAMES: [&str; 11] = [
            "<|im_end|>",
            "<|eot_id|>",
            "<|eom_id|>",
            "<end_of_turn>",
            "<|end|>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "</s>",
            "<eos>",
            "<EOT>",
            "[EOS]",
        ];
        let ids = NAMES.iter().filter_map(|name| tokenizer.find(name));
        self.add(ids.filter(|&id| tokenizer.is_control(id)));
    }

    /// Ids the model can produce.
    pub(super) fn below(self, vocab: usize) -> Vec<u32> {
        self.0.into_iter().filter(|&id| (id as usize) < vocab).collect()
    }
}
