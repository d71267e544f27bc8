//! Guided decoding: which tokens a grammar allows next.
//!
//! `llguidance` compiles JSON schemas, regular expressions and Lark grammars to a parser over token bytes; this module owns one
//! parser per guided sequence and turns its answers into the masks a backend takes.

use std::sync::{Arc, OnceLock};

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// What the output must be.
#[derive(Clone, Debug, PartialEq)]
pub enum GuideSpec {
    /// Any JSON object.
    JsonObject,
    /// JSON that the schema accepts.
    JsonSchema(Value),
    /// Text that the whole regular expression matches.
    Regex(String),
    /// A Lark grammar (an EBNF with regular terminals), as `llguidance` reads it.
    Grammar(String),
    /// Exactly one of these texts.
    Choice(Vec<String>),
}

/// Longest grammar, schema or expression that is compiled, in bytes.
const MAX_SOURCE: usize = 1 << 20;
/// Most texts of a choice: the library's tables end at some 60,000 symbols, and compiling takes seconds well before.
const MAX_CHOICES: usize = 10_000;

/// A compiler that is made when it is first needed: it walks the whole vocabulary.
#[derive(Default)]
pub struct LazyGuideCompiler(OnceLock<Result<GuideCompiler>>);

impl LazyGuideCompiler {
    pub fn get(&self, tokenizer: &Tokenizer, end_tokens: &[u32]) -> Result<&GuideCompiler> {
        self.0.get_or_init(|| GuideCompiler::new(tokenizer, end_tokens)).as_ref().map_err(Error::clone)
    }
}

/// Compiles guides for one vocabulary. Shared by all sequences of a model.
pub struct GuideCompiler {
    factory: ParserFactory,
    words: usize,
}

impl GuideCompiler {
    /// `end_tokens`: what a finished output may end with; not empty.
    pub fn new(tokenizer: &Tokenizer, end_tokens: &[u32]) -> Result<Self> {
        let Some(&first) = end_tokens.first() else {
            return Err(Error::unsupported(
                "guided decoding: the model has no end-of-sequence token to end a guided output with",
            ));
        };
        let words: Vec<Vec<u8>> = (0..tokenizer.len() as u32)
            .map(|id| match tokenizer.is_control(id) {
                // The mark keeps control tokens from standing for their text.
                true => [&[TokTrie::SPECIAL_TOKEN_MARKER], tokenizer.token_text(id).unwrap_or_default().as_bytes()].concat(),
                false => tokenizer.token_bytes(id).unwrap_or_default(),
            })
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, first), &words).with_eos_tokens(end_tokens);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &slices).map_err(refused)?;
        factory.quiet();
        *factory.limits_mut() = ParserLimits { precompute_large_lexemes: false, ..ParserLimits::default() };
        Ok(GuideCompiler { factory, words: words.len() })
    }

    /// A guide at its start. Errors: INVALID_ARGUMENT with the compiler's words.
    pub fn compile(&self, spec: &GuideSpec) -> Result<Guide> {
        let grammar = match spec {
            GuideSpec::JsonObject => TopLevelGrammar::from_json_schema(json!({ "type": "object" })),
            GuideSpec::JsonSchema(schema) => {
                checked("json schema", schema.to_string().len())?;
                TopLevelGrammar::from_json_schema(schema.clone())
            }
            GuideSpec::Regex(regex) => {
                checked("regex", regex.len())?;
                TopLevelGrammar::from_regex(regex)
            }
            GuideSpec::Grammar(lark) => {
                checked("grammar", lark.len())?;
                TopLevelGrammar::from_lark(lark.clone())
            }
            GuideSpec::Choice(choices) => {
                checked("choice", choices.iter().map(String::len).sum())?;
                if choices.len() > MAX_CHOICES {
                    return Err(Error::invalid(format!("guide choice: {} texts, expected at most {MAX_CHOICES}", choices.len())));
                }
                if choices.is_empty() || choices.iter().any(String::is_empty) {
                    return Err(Error::invalid("guide choice: expected at least one text, and none empty"));
                }
                let quoted: Vec<String> = choices.iter().map(|choice| Value::from(choice.as_str()).to_string()).collect();
                TopLevelGrammar::from_lark(format!("start: {}", quoted.join(" | ")))
            }
        };
        let parser = self.factory.create_parser(grammar).map_err(refused)?;
        let mut matcher = Matcher::new(Ok(parser));
        if let Some(error) = matcher.get_error() {
            return Err(refused(error));
        }
        // A grammar that allows nothing at all shows now, not in the middle of a batch.
        matcher.compute_mask_or_eos().map_err(refused)?;
        Ok(Guide { matcher, mask: SimpleVob::alloc(self.words), ready: false, broken: None })
    }
}

fn checked(what: &str, len: usize) -> Result<()> {
    match len {
        0 => Err(Error::invalid(format!("guide {what}: empty"))),
        _ if len > MAX_SOURCE => Err(Error::invalid(format!("guide {what}: {len} bytes, expected at most {MAX_SOURCE}"))),
        _ => Ok(()),
    }
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::invalid(format!("guide: {}", said(&error.to_string())))
}

/// What the library says to its user, without what it says to its developers: its state, and the trace of a panic it has caught.
fn said(text: &str) -> String {
    let end = ["<state>", "<backtrace>"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    let text = text[..end].trim_end();
    match text.strip_prefix("panic: ") {
        Some(panic) => format!("the grammar is too large or cannot be compiled ({panic})"),
        None => text.to_owned(),
    }
}

/// The state of one guided sequence.
pub struct Guide {
    matcher: Matcher,
    mask: SimpleVob,
    /// `mask` is the current state's.
    ready: bool,
    broken: Option<String>,
}

impl Guide {
    /// Computes the mask of the current state, where that has not been done. May take a while; any thread.
    pub fn prepare(&mut self) {
        if self.ready {
            return;
        }
        match self.matcher.compute_mask_or_eos() {
            Ok(mask) => self.mask = mask,
            Err(error) => {
                self.mask.set_all(false);
                self.broken.get_or_insert(error.to_string());
            }
        }
        self.ready = true;
    }

    /// Tokens the current state allows, one bit each. [`prepare`](Self::prepare) comes first.
    pub fn mask(&self) -> &[u32] {
        self.mask.as_slice()
    }

    /// Goes on by a token.
    pub fn accept(&mut self, token: u32) {
        self.ready = false;
        if self.matcher.is_stopped() {
            return;
        }
        if let Err(error) = self.matcher.consume_token(token) {
            self.broken.get_or_insert(error.to_string());
        }
    }

    /// Why the guide allows nothing any more, where that is an error of its own.
    pub fn error(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}
