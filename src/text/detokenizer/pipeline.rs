//! A decoder's stages in order, built from the library's decoder.

use std::borrow::Cow;

use serde_json::Value;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;

use super::stage::{Stage, StageState, byte_of};
use crate::error::{Error, Result};

/// How tokens become text. Immutable; what a stream remembers is its `StageState`s, one per stage.
#[derive(Debug)]
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
}

impl Pipeline {
    /// `None`: a tokenizer without a decoder, whose tokens are joined with spaces.
    pub(crate) fn new(decoder: Option<&DecoderWrapper>) -> Result<Self> {
        let mut stages = Vec::new();
        match decoder {
            Some(decoder) => add(decoder, &mut stages)?,
            None => stages.push(Stage::Join),
        }
        // From a stage that fuses tokens on, what follows sees one long token in parts.
        let mut fused = false;
        for stage in &mut stages {
            match stage {
                Stage::Fuse | Stage::ByteLevel => fused = true,
                Stage::Strip { whole, .. } | Stage::Replace { whole, .. } | Stage::ReplaceRegex { whole, .. } => *whole = !fused,
                _ => (),
            }
        }
        stages.retain(|stage| !matches!(stage, Stage::Fuse));
        Ok(Pipeline { stages })
    }

    pub(super) fn prepare(&self, states: &mut Vec<StageState>) {
        states.resize_with(self.stages.len(), StageState::new);
    }

    pub(super) fn push(&self, states: &mut [StageState], token: &str, out: &mut String) {
        feed(&self.stages, states, token, out);
    }

    pub(super) fn finish(&self, states: &mut [StageState], out: &mut String) {
        for at in 0..self.stages.len() {
            let (stages, states) = (&self.stages[at..], &mut states[at..]);
            let (state, rest) = states.split_first_mut().expect("one state per stage");
            stages[0].finish(state, &mut |piece| feed(&stages[1..], rest, piece, out));
        }
    }

    /// The bytes that `token` stands for inside a text, whatever stands before and after it.
    pub(crate) fn bytes(&self, token: &str) -> Vec<u8> {
        if self.stages.iter().any(|stage| matches!(stage, Stage::ByteFallback))
            && let Some(byte) = byte_of(token)
        {
            return vec![byte];
        }
        let text = self.stages.iter().fold(Cow::Borrowed(token), |text, stage| match stage.inside(&text) {
            Some(changed) => Cow::Owned(changed),
            None => text,
        });
        if self.stages.iter().any(|stage| matches!(stage, Stage::ByteLevel))
            && let Some(bytes) = super::stage::alphabet_bytes(&text)
        {
            return bytes;
        }
        text.into_owned().into_bytes()
    }
}

fn feed(stages: &[Stage], states: &mut [StageState], piece: &str, out: &mut String) {
    match (stages.split_first(), states.split_first_mut()) {
        (Some((stage, stages)), Some((state, states))) => stage.push(state, piece, &mut |piece| feed(stages, states, piece, out)),
        _ => out.push_str(piece),
    }
}

fn add(decoder: &DecoderWrapper, stages: &mut Vec<Stage>) -> Result<()> {
    stages.push(match decoder {
        DecoderWrapper::Sequence(sequence) => return sequence.get_decoders().iter().try_for_each(|decoder| add(decoder, stages)),
        DecoderWrapper::ByteLevel(_) => Stage::ByteLevel,
        DecoderWrapper::ByteFallback(_) => Stage::ByteFallback,
        DecoderWrapper::Fuse(_) => Stage::Fuse,
        DecoderWrapper::Strip(strip) => {
            Stage::Strip { content: strip.content, start: strip.start, stop: strip.stop, whole: true }
        }
        DecoderWrapper::Metaspace(space) => {
            let keeps_first = space.get_prepend_scheme() == PrependScheme::Never;
            Stage::Metaspace { replacement: space.get_replacement(), keeps_first }
        }
        DecoderWrapper::WordPiece(pieces) => Stage::WordPiece { prefix: pieces.prefix.clone(), cleanup: pieces.cleanup },
        DecoderWrapper::BPE(bpe) => Stage::Suffix { suffix: bpe.suffix.clone() },
        DecoderWrapper::CTC(ctc) => {
            Stage::Ctc { pad: ctc.pad_token.clone(), delimiter: ctc.word_delimiter_token.clone(), cleanup: ctc.cleanup }
        }
        DecoderWrapper::Replace(replace) => {
            // The library keeps the pattern to itself; its serialised form has it.
            let fields = serde_json::to_value(replace).map_err(|e| Error::format(format!("decoder Replace: {e}")))?;
            let field = |value: &Value| value.as_str().map(str::to_string);
            match (field(&fields["pattern"]["String"]), field(&fields["content"])) {
                (Some(pattern), Some(content)) => Stage::Replace { pattern, content, whole: true },
                _ => Stage::ReplaceRegex { replace: replace.clone(), whole: true },
            }
        }
    });
    Ok(())
}
