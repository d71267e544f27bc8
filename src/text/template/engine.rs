//! One compiled template: the Jinja engine set up as transformers sets up its own.

use std::cell::Cell;
use std::time::SystemTime;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};

use super::{clock, filters, methods, python};
use crate::error::{Error, Result};

/// Work and memory one render may use: about this many instructions, or 64 times as many bytes.
const FUEL: u64 = 8_000_000;

thread_local! {
    /// The clock of the render that runs on this thread.
    static NOW: Cell<Option<SystemTime>> = const { Cell::new(None) };
}

#[derive(Debug)]
pub(super) struct Engine {
    name: String,
    environment: Environment<'static>,
}

impl Engine {
    /// Errors: TEMPLATE with line and column.
    pub(super) fn new(name: &str, source: &str) -> Result<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| Error::internal(format!("template syntax: {e}")))?);
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_debug(true);
        environment.set_fuel(Some(FUEL));
        environment.set_formatter(|out, _, value| python::write_str(value, out).map_err(minijinja::Error::from));
        environment.set_unknown_method_callback(methods::call);
        filters::register(&mut environment);
        environment.add_function("raise_exception", |message: String| -> Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        });
        environment
            .add_function("strftime_now", |format: &str| clock::strftime(format, NOW.get().unwrap_or_else(SystemTime::now)));
        environment
            .add_template_owned(name.to_string(), plain_generation_blocks(source))
            .map_err(|e| described(name, source, &e))?;
        Ok(Engine { name: name.to_string(), environment })
    }

    pub(super) fn render(&self, variables: Value, now: SystemTime) -> Result<String> {
        NOW.set(Some(now));
        let rendered = self.environment.get_template(&self.name).and_then(|template| template.render(variables));
        NOW.set(None);
        rendered.map_err(|e| described(&self.name, "", &e))
    }
}

/// The engine's error with its place, and with the innermost cause where errors are nested.
fn described(name: &str, source: &str, error: &minijinja::Error) -> Error {
    let mut cause = error;
    while let Some(inner) = std::error::Error::source(cause).and_then(|inner| inner.downcast_ref::<minijinja::Error>()) {
        cause = inner;
    }
    let mut message = format!("chat template \"{name}\"");
    if let Some(line) = error.line() {
        message += &format!(", line {line}");
        let text = error.template_source().unwrap_or(source);
        if let Some(before) = error.range().and_then(|range| text.get(..range.start)) {
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            message += &format!(", column {column}");
        }
    }
    match cause.detail() {
        Some(detail) => message += &format!(": {detail}"),
        None => message += &format!(": {}", cause.kind()),
    }
    Error::template(message)
}

/// `{% generation %}` … `{% endgeneration %}` marks what the assistant said for training; for rendering it is a scope that changes
/// nothing (FIELD_CASES 3). Lines and columns stay as they are.
fn plain_generation_blocks(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    // Tags in comments and raw blocks are text.
    while let Some(open) = rest.find("{%").into_iter().chain(rest.find("{#")).min() {
        let (before, tag) = rest.split_at(open);
        plain.push_str(before);
        let close = if tag.starts_with("{#") { "#}" } else { "%}" };
        let end = tag.find(close).map_or(tag.len(), |at| at + close.len());
        let (tag, after) = tag.split_at(end);
        rest = after;
        let word = tag.trim_start_matches(['{', '%', '-', '+']).trim_start();
        let word = &word[..word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len())];
        match word {
            _ if tag.starts_with("{#") => plain.push_str(tag),
            "generation" => plain.push_str(&tag.replacen("generation", "with      ", 1)),
            "endgeneration" => plain.push_str(&tag.replacen("endgeneration", "endwith      ", 1)),
            "raw" => {
                let end = rest.find("endraw").unwrap_or(rest.len());
                plain.push_str(tag);
                plain.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            _ => plain.push_str(tag),
        }
    }
    plain.push_str(rest);
    plain
}
