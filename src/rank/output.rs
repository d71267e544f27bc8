//! What a sequence has said so far: text, stop strings, and what of it may be shown.

use crate::decoding::{StopMatcher, StopScan};
use crate::text::{Detokenizer, Tokenizer};

/// The text side of one sequence. Invariant: the shown parts, joined, are a prefix of the final text; after `finish` they are it.
pub(super) struct Output {
    detokenizer: Detokenizer,
    text: String,
    /// Bytes of `text` that have been shown.
    shown: usize,
    /// Bytes of `text` in which no stop string can begin any more.
    clear: usize,
    stops: StopMatcher,
    /// Stop strings that are the text of one special token: they never show up in text (FIELD_CASES 35).
    stop_tokens: Vec<u32>,
}

impl Output {
    pub(super) fn new(tokenizer: &Tokenizer, stops: &[String], skip_special: bool, capacity: usize) -> Self {
        let special = |stop: &String| tokenizer.find(stop).filter(|&id| tokenizer.is_special(id));
        Output {
            detokenizer: Detokenizer::new(skip_special),
            text: String::with_capacity(capacity),
            shown: 0,
            clear: 0,
            stops: StopMatcher::new(stops.iter().cloned()),
            stop_tokens: stops.iter().filter_map(special).collect(),
        }
    }

    /// Takes a token. `true`: a stop string has ended the text, which is final now.
    pub(super) fn push(&mut self, tokenizer: &Tokenizer, token: u32) -> bool {
        if self.stop_tokens.contains(&token) {
            self.finish(tokenizer, true);
            return true;
        }
        self.text.push_str(self.detokenizer.push(tokenizer, token));
        match self.stops.scan(&self.text) {
            StopScan::Clear(at) => {
                self.clear = at;
                false
            }
            StopScan::Stopped(at) => {
                self.text.truncate(at);
                self.clear = at;
                true
            }
        }
    }

    /// Text that can be shown and has not been.
    pub(super) fn show(&mut self) -> &str {
        let fresh = &self.text[self.shown..self.clear];
        self.shown = self.clear;
        fresh
    }

    /// No more tokens will come: lets go of all that was held back. `true`: a stop string was among it (looked for only where
    /// `match_stops`), and the text ends before it.
    pub(super) fn finish(&mut self, tokenizer: &Tokenizer, match_stops: bool) -> bool {
        self.text.push_str(self.detokenizer.finish(tokenizer));
        let stop = if match_stops { self.stops.finish(&self.text) } else { None };
        if let Some(at) = stop {
            self.text.truncate(at);
        }
        self.clear = self.text.len();
        stop.is_some()
    }

    pub(super) fn take_text(&mut self) -> String {
        self.shown = 0;
        self.clear = 0;
        std::mem::take(&mut self.text)
    }
}
