//! Chat templates: from messages to the text a model was trained on.
//!
//! Templates are Jinja as transformers runs it (`trim_blocks`, `lstrip_blocks`, loop controls, `tojson` as `json.dumps`,
//! `raise_exception`, `strftime_now`, Python's methods on strings and dicts). They come with models, so they are untrusted: work,
//! memory and recursion are bounded, and nothing outside the rendered variables can be reached.

mod arguments;
mod clock;
mod engine;
mod filters;
mod json;
mod mark;
mod methods;
mod python;
mod sources;
mod values;

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::message::Message;
use super::tokenizer::{ControlTexts, Tokenizer};
use crate::error::{Error, Result};
use engine::Engine;
use mark::Marker;
pub use sources::TemplateSources;

/// The templates of one model, compiled. Safe to share between threads; render through [`on_deep_stack`](super::on_deep_stack).
///
/// A template that does not parse does not stop a model from loading: the error is kept and given by [`ChatTemplate::render`]
/// (FIELD_CASES 9). No other template is ever used in its place (FIELD_CASES 10).
#[derive(Debug)]
pub struct ChatTemplate {
    templates: Vec<Named>,
    /// `bos_token` and the like, as templates know them.
    tokens: Vec<(&'static str, String)>,
    controls: Arc<ControlTexts>,
}

#[derive(Debug)]
struct Named {
    name: String,
    source: String,
    engine: Result<Engine>,
}

/// What to render.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderInput<'a> {
    pub messages: &'a [Message],
    /// Tool descriptions in the OpenAI shape.
    pub tools: Option<&'a [Value]>,
    /// Picks a named template; unset: `tool_use` where there are tools and it exists, or else `default`.
    pub template_name: Option<&'a str>,
    pub add_generation_prompt: bool,
    pub enable_thinking: bool,
    /// Further variables (`documents`, `reasoning_effort`, …); they replace ours of the same name.
    pub variables: Option<&'a Map<String, Value>>,
    /// Texts of special tokens in tools, documents and messages that are not the assistant's stay text (FIELD_CASES 22).
    pub plain_content: bool,
    /// The clock that `strftime_now` reads; unset: now.
    pub now: Option<SystemTime>,
}

/// A rendered chat, ready for [`Tokenizer::encode_rendered`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    text: String,
    /// Byte offsets that no special token may span, ascending.
    barriers: Vec<usize>,
    wants_bos: bool,
}

impl Rendered {
    /// A text that was rendered elsewhere. Its control tokens are what they say; a BOS that the tokenizer adds to prompts is added if
    /// the text does not begin with it.
    pub fn from_text(text: impl Into<String>) -> Self {
        Rendered { text: text.into(), barriers: Vec::new(), wants_bos: true }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub(super) fn barriers(&self) -> &[usize] {
        &self.barriers
    }

    pub(super) fn wants_bos(&self) -> bool {
        self.wants_bos
    }
}

impl ChatTemplate {
    /// Compiles `sources`. The tokenizer of the model says what `bos_token` and the like are, and which texts user content must not
    /// turn into control tokens.
    pub fn new(sources: TemplateSources, tokenizer: &Tokenizer) -> Self {
        let templates = sources.into_templates().map(|(name, source)| {
            let engine = Engine::new(&name, &source);
            if let Err(e) = &engine {
                tracing::warn!("{e}");
            }
            Named { name, source, engine }
        });
        ChatTemplate {
            templates: templates.collect(),
            tokens: tokenizer.special_texts().to_vec(),
            controls: tokenizer.controls().clone(),
        }
    }

    /// Names of the templates, `default` first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.iter().map(|template| template.name.as_str())
    }

    /// The Jinja text of a template.
    pub fn source(&self, name: &str) -> Option<&str> {
        self.templates.iter().find(|template| template.name == name).map(|template| template.source.as_str())
    }

    /// Renders a chat.
    ///
    /// Errors: TEMPLATE where the template does not parse (with line and column), where it refuses the chat (the text of its
    /// `raise_exception` is in the message) or runs out of bounds; NOT_FOUND for a name that is not there.
    pub fn render(&self, input: &RenderInput) -> Result<Rendered> {
        let template = self.pick(input)?;
        let engine = template.engine.as_ref().map_err(Clone::clone)?;
        let marker = if input.plain_content { Marker::new(input, &template.source, &self.controls)? } else { Marker::none() };
        let variables = values::variables(input, &self.tokens, &marker);
        let text = engine.render(variables, input.now.unwrap_or_else(SystemTime::now))?;
        let (text, barriers) = marker.take_out(text);
        Ok(Rendered { text, barriers, wants_bos: false })
    }

    fn pick(&self, input: &RenderInput) -> Result<&Named> {
        let find = |name: &str| self.templates.iter().find(|template| template.name == name);
        if self.templates.is_empty() {
            return Err(Error::template("the model has no chat template, expected one in its files or in the configuration"));
        }
        let found = match input.template_name {
            Some(name) => find(name),
            None => input.tools.filter(|tools| !tools.is_empty()).and_then(|_| find("tool_use")).or_else(|| find("default")),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let wanted = input.template_name.unwrap_or("default");
            Error::not_found(format!("chat template \"{wanted}\", expected one of {}", names.join(", ")))
        })
    }
}
