//! Filters and tests of Jinja that the engine lacks or defines otherwise.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use super::arguments::Arguments;
use super::methods::{padded, strip};
use super::{json, python};

pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("trim", trim);
    environment.add_filter("indent", indent);
    environment.add_filter("center", center);
    environment.add_filter("truncate", truncate);
    environment.add_filter("wordcount", |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).count()
    });
    environment.add_filter("attr", |_: &Value, _: &str| Value::UNDEFINED);
    environment.add_filter("sum", sum);
    environment.add_filter("max", |value: &Value, keywords: Kwargs| extreme(value, &keywords, std::cmp::Ordering::Greater));
    environment.add_filter("min", |value: &Value, keywords: Kwargs| extreme(value, &keywords, std::cmp::Ordering::Less));
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    environment.add_test("sequence", is_sequence);
    environment.add_test("callable", is_callable);
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn default(value: &Value, args: Rest<Value>, keywords: Kwargs) -> Result<Value, Error> {
    let mut args = Arguments::new(args, keywords);
    let other = args.value("default_value")?.unwrap_or_else(|| Value::from(""));
    let falsy = args.flag("boolean")?;
    args.finish()?;
    Ok(if value.is_undefined() || falsy && !value.is_true() { other } else { value.clone() })
}

fn int(value: &Value, args: Rest<Value>, keywords: Kwargs) -> Result<Value, Error> {
    let mut args = Arguments::new(args, keywords);
    let other = args.value("default")?.unwrap_or_else(|| Value::from(0));
    let base = args.number("base")?.unwrap_or(10);
    args.finish()?;
    let whole = |float: f64| (float.is_finite()).then(|| Value::from(float.trunc() as i64));
    let number = match (value.as_str(), value.kind()) {
        (Some(text), _) => parse_int(text, base).map(Value::from).or_else(|| whole(parse_float(text)?)),
        (None, ValueKind::Bool) => Some(Value::from(i64::from(value.is_true()))),
        (None, ValueKind::Number) if value.is_integer() => Some(value.clone()),
        (None, ValueKind::Number) => f64::try_from(value.clone()).ok().and_then(whole),
        _ => None,
    };
    Ok(number.unwrap_or(other))
}

fn float(value: &Value, args: Rest<Value>, keywords: Kwargs) -> Result<Value, Error> {
    let mut args = Arguments::new(args, keywords);
    let other = args.value("default")?.unwrap_or_else(|| Value::from(0.0));
    args.finish()?;
    let number = match (value.as_str(), value.kind()) {
        (Some(text), _) => parse_float(text),
        (None, ValueKind::Bool) => Some(f64::from(u8::from(value.is_true()))),
        (None, ValueKind::Number) => f64::try_from(value.clone()).ok(),
        _ => None,
    };
    Ok(number.map_or(other, Value::from))
}

fn parse_int(text: &str, base: u32) -> Option<i64> {
    let text = text.trim().replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    let prefix: &[&str] = match base {
        16 => &["0x", "0X"],
        8 => &["0o", "0O"],
        2 => &["0b", "0B"],
        _ => &[],
    };
    let digits = prefix.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
    if !(2..=36).contains(&base) || !digits.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

fn parse_float(text: &str) -> Option<f64> {
    text.trim().replace('_', "").parse().ok()
}

fn trim(value: &Value, set: Option<&str>) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = python::write_str(value, &mut text);
    strip(&text, set, true, true).to_string()
}

fn indent(state: &State, text: &str, args: Rest<Value>, keywords: Kwargs) -> Result<String, Error> {
    let mut args = Arguments::new(args, keywords);
    let width = args.value("width")?.unwrap_or_else(|| Value::from(4));
    let (first, blank) = (args.flag("first")?, args.flag("blank")?);
    args.finish()?;
    let margin = match (width.as_str(), usize::try_from(width.clone())) {
        (Some(text), _) => text.to_string(),
        (None, Ok(columns)) if columns <= 1024 => " ".repeat(columns),
        _ => return Err(invalid("indent: expected up to 1024 columns or a text")),
    };
    let mut out = String::new();
    for (at, line) in text.split('\n').enumerate() {
        state.consume_fuel(((margin.len() + line.len()) / 64) as u64)?;
        if at > 0 {
            out.push('\n');
        }
        let wanted = if at == 0 { first } else { blank || !line.is_empty() };
        if wanted {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(out)
}

fn center(state: &State, text: &str, width: Option<usize>) -> Result<String, Error> {
    let width = width.unwrap_or(80);
    let missing = width.saturating_sub(text.chars().count());
    state.consume_fuel((missing / 64) as u64)?;
    let before = missing / 2 + (missing & width & 1);
    Ok(padded(text, before, missing - before, ' '))
}

/// Cuts at a word's end unless `killwords`; texts that are at most `leeway` too long stay whole.
fn truncate(text: &str, args: Rest<Value>, keywords: Kwargs) -> Result<String, Error> {
    let mut args = Arguments::new(args, keywords);
    let length = args.number("length")?.unwrap_or(255usize);
    let killwords = args.flag("killwords")?;
    let end = args.text("end")?.unwrap_or_else(|| "...".to_string());
    let leeway = args.number("leeway")?.unwrap_or(5usize);
    args.finish()?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text.to_string());
    }
    let kept =
        length.checked_sub(end.chars().count()).ok_or_else(|| invalid("truncate: the end is longer than the text may be"))?;
    let kept: String = text.chars().take(kept).collect();
    let kept = if killwords { kept.as_str() } else { kept.rsplit_once(' ').map_or(kept.as_str(), |(whole, _)| whole) };
    Ok(format!("{kept}{end}"))
}

fn attribute(item: &Value, path: &Option<Value>) -> Result<Value, Error> {
    match path {
        None => Ok(item.clone()),
        Some(path) => match path.as_str() {
            None => item.get_item(path),
            Some(path) => path.split('.').try_fold(item.clone(), |item, part| match part.parse::<usize>() {
                Ok(at) => item.get_item_by_index(at),
                Err(_) => item.get_attr(part),
            }),
        },
    }
}

fn sum(state: &mut State, value: &Value, args: Rest<Value>, keywords: Kwargs) -> Result<Value, Error> {
    let mut args = Arguments::new(args, keywords);
    let path = args.value("attribute")?.filter(|path| !path.is_none());
    let start = args.value("start")?.unwrap_or_else(|| Value::from(0));
    args.finish()?;
    let add = state.env().compile_expression("a + b").map_err(|e| invalid(e.to_string()))?;
    let mut total = start;
    for item in value.try_iter()? {
        state.consume_fuel(8)?;
        total = add.eval(Value::from_pairs([("a", total), ("b", attribute(&item, &path)?)]))?;
    }
    Ok(total)
}

fn extreme(value: &Value, keywords: &Kwargs, wanted: std::cmp::Ordering) -> Result<Value, Error> {
    let path: Option<Value> = keywords.get("attribute")?;
    let case_sensitive: Option<bool> = keywords.get("case_sensitive")?;
    keywords.assert_all_used()?;
    let key = |item: &Value| -> Result<Value, Error> {
        let key = attribute(item, &path)?;
        Ok(match key.as_str() {
            Some(text) if !case_sensitive.unwrap_or(false) => Value::from(text.to_lowercase()),
            _ => key,
        })
    };
    let mut best: Option<(Value, Value)> = None;
    for item in value.try_iter()? {
        let key = key(&item)?;
        if best.as_ref().is_none_or(|(_, other)| key.cmp(other) == wanted) {
            best = Some((item, key));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(item, _)| item))
}

/// Has a length and can be subscripted: lists, and in Python texts and dicts too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map)
        || value.kind() == ValueKind::Iterable && value.len().is_some()
}

/// Functions and macros are objects without a value of their own.
fn is_callable(value: &Value) -> bool {
    value.kind() == ValueKind::Plain
}
