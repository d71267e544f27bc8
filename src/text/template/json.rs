//! JSON text as Python's `json.dumps` writes it.

use std::fmt::Write;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::arguments::Arguments;
use super::mark::is_candidate;
use super::python;

/// Nesting beyond this is an error rather than a deep recursion.
const MAX_DEPTH: usize = 256;

struct Style {
    ascii: bool,
    /// One level of indentation; `None`: all on one line.
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The `tojson` filter as transformers defines it: `json.dumps` with `ensure_ascii=False`, nothing escaped for HTML, and the arguments
/// `ensure_ascii`, `indent`, `separators`, `sort_keys` in this order.
pub(super) fn tojson(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let mut args = Arguments::new(args, kwargs);
    let ascii = args.flag("ensure_ascii")?;
    let indent = match args.given("indent")? {
        None => None,
        Some(value) => Some(match (value.as_str(), i64::try_from(value.clone())) {
            (Some(text), _) => text.to_string(),
            (None, Ok(columns)) => " ".repeat(usize::try_from(columns.min(1024)).unwrap_or(0)),
            (None, Err(_)) => return Err(invalid("tojson: indent: expected a number of columns or a text")),
        }),
    };
    let separators = match args.given("separators")? {
        None => None,
        Some(value) => {
            let texts: Vec<Value> = value.try_iter()?.collect();
            match texts.as_slice() {
                [item, key] if item.as_str().is_some() && key.as_str().is_some() => Some((item.to_string(), key.to_string())),
                _ => return Err(invalid("tojson: separators: expected a pair of texts")),
            }
        }
    };
    let sort_keys = args.flag("sort_keys")?;
    args.finish()?;
    let default = if indent.is_some() { "," } else { ", " };
    let (item_separator, key_separator) = separators.unwrap_or((default.to_string(), ": ".to_string()));
    let style = Style { ascii, indent, item_separator, key_separator, sort_keys };
    let mut out = String::new();
    style.write(value, 0, &mut out)?;
    Ok(out)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!("tojson: nested deeper than {MAX_DEPTH}")));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                self.items(value.try_iter()?.map(|item| (None, item)), ('[', ']'), depth, out)?;
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for key in value.try_iter()? {
                    entries.push((Some(self.key(&key)?), value.get_item(&key)?));
                }
                if self.sort_keys {
                    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                self.items(entries.into_iter(), ('{', '}'), depth, out)?;
            }
            ValueKind::Undefined => return Err(invalid("tojson: an undefined value is not JSON serializable")),
            other => return Err(invalid(format!("tojson: a value of type {other} is not JSON serializable"))),
        }
        Ok(())
    }

    fn items(
        &self,
        items: impl Iterator<Item = (Option<String>, Value)>,
        (open, close): (char, char),
        depth: usize,
        out: &mut String,
    ) -> Result<(), Error> {
        out.push(open);
        let mut empty = true;
        for (key, item) in items {
            if !empty {
                out.push_str(&self.item_separator);
            }
            empty = false;
            self.new_line(depth + 1, out);
            if let Some(key) = key {
                self.string(&key, out);
                out.push_str(&self.key_separator);
            }
            self.write(&item, depth + 1, out)?;
        }
        if !empty {
            self.new_line(depth, out);
        }
        out.push(close);
        Ok(())
    }

    fn new_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(indent.as_str(), depth));
        }
    }

    /// Keys that are not texts become the text of their JSON.
    fn key(&self, key: &Value) -> Result<String, Error> {
        Ok(match key.kind() {
            ValueKind::String => key.to_string(),
            ValueKind::None => "null".to_string(),
            ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_string(),
            ValueKind::Number => number(key),
            other => return Err(invalid(format!("tojson: keys must be texts or numbers, not {other}"))),
        })
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' => escape(c, out),
                // A mark is taken out of the rendered text later, and must be found there.
                c if self.ascii && !(' '..='~').contains(&c) && !is_candidate(c) => escape(c, out),
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String does not fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(float) if !value.is_integer() => match float {
            f if f.is_nan() => "NaN".to_string(),
            f if f.is_infinite() => if f > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
            f => python::float(f),
        },
        _ => value.to_string(),
    }
}
