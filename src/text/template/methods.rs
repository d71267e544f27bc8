//! Python's methods on texts, lists and dicts, for templates that call them.
//!
//! Only methods that do not change their object: transformers' sandbox refuses the others too. Positions count characters.

use minijinja::value::{Tuple, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat::unknown_method_callback as common_methods;

use super::arguments::Arguments;
use super::python::{is_space, line_end};

/// Calls method `name` of `value`, for which the engine itself has none.
pub(super) fn call(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => match text_method(state, value.as_str().unwrap_or_default(), name, args)? {
            Some(result) => Ok(result),
            None => common_methods(state, value, name, args),
        },
        ValueKind::Seq if name == "index" => {
            let (wanted,): (&Value,) = from_args(args)?;
            let at = value.try_iter()?.position(|item| item == *wanted);
            at.map(Value::from).ok_or_else(|| invalid(format!("{wanted} is not in list")))
        }
        ValueKind::Seq | ValueKind::Map if name == "copy" => {
            let () = from_args(args)?;
            Ok(value.clone())
        }
        _ => common_methods(state, value, name, args),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// `None`: not one of these.
fn text_method(state: &State, text: &str, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "strip" | "lstrip" | "rstrip" => {
            let (set,): (Option<&str>,) = from_args(args)?;
            Value::from(strip(text, set, name != "rstrip", name != "lstrip"))
        }
        "split" | "rsplit" => {
            let (separator, most) = split_arguments(args)?;
            let parts: Vec<&str> = match separator.as_deref() {
                Some("") => return Err(invalid("empty separator")),
                Some(separator) if name == "split" => text.splitn(most, separator).collect(),
                Some(separator) => reversed(text.rsplitn(most, separator).collect()),
                None if name == "split" => split_words(text, most),
                None => rsplit_words(text, most),
            };
            parts.into_iter().map(Value::from).collect()
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            if separator.is_empty() {
                return Err(invalid("empty separator"));
            }
            let cut = if name == "partition" { text.split_once(separator) } else { text.rsplit_once(separator) };
            let parts = match (cut, name) {
                (Some((before, after)), _) => [before, separator, after],
                (None, "partition") => [text, "", ""],
                (None, _) => ["", "", text],
            };
            Value::from(Tuple::from(parts.map(Value::from)))
        }
        "splitlines" => {
            let mut args = Arguments::of_call(args)?;
            let keep = args.flag("keepends")?;
            args.finish()?;
            lines(text, keep).into_iter().map(Value::from).collect()
        }
        "startswith" | "endswith" => {
            let (wanted, start, end): (&Value, Option<i64>, Option<i64>) = from_args(args)?;
            let Some(part) = range(text, start, end).map(|(part, _)| part) else { return Ok(Some(Value::from(false))) };
            let has = |wanted: &str| if name == "startswith" { part.starts_with(wanted) } else { part.ends_with(wanted) };
            Value::from(match (wanted.as_str(), wanted.kind()) {
                (Some(wanted), _) => has(wanted),
                (None, ValueKind::Seq) => wanted.try_iter()?.any(|wanted| wanted.as_str().is_some_and(has)),
                (None, other) => return Err(invalid(format!("{name}: expected a text or a tuple of texts, not {other}"))),
            })
        }
        "find" | "rfind" | "index" | "rindex" => {
            let (wanted, start, end): (&str, Option<i64>, Option<i64>) = from_args(args)?;
            let found = range(text, start, end).and_then(|(part, before)| {
                let at = if name.starts_with('r') { part.rfind(wanted) } else { part.find(wanted) };
                Some(before + part[..at?].chars().count())
            });
            match found {
                Some(at) => Value::from(at),
                None if name.ends_with("find") => Value::from(-1),
                None => return Err(invalid("substring not found")),
            }
        }
        "count" => {
            let (wanted, start, end): (&str, Option<i64>, Option<i64>) = from_args(args)?;
            Value::from(range(text, start, end).map_or(0, |(part, _)| part.matches(wanted).count()))
        }
        "join" => {
            let (parts,): (&Value,) = from_args(args)?;
            let mut joined = String::new();
            for (at, part) in parts.try_iter()?.enumerate() {
                let part = part
                    .as_str()
                    .ok_or_else(|| invalid(format!("sequence item {at}: expected a text, not {}", part.kind())))?
                    .to_string();
                charge(state, text.len() + part.len())?;
                if at > 0 {
                    joined.push_str(text);
                }
                joined.push_str(&part);
            }
            Value::from(joined)
        }
        "removeprefix" | "removesuffix" => {
            let (affix,): (&str,) = from_args(args)?;
            let rest = if name == "removeprefix" { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
            Value::from(rest.unwrap_or(text))
        }
        "center" | "ljust" | "rjust" => {
            let (width, fill): (usize, Option<char>) = from_args(args)?;
            let missing = width.saturating_sub(text.chars().count());
            charge(state, missing)?;
            let before = match name {
                "ljust" => 0,
                "rjust" => missing,
                // Python's rule for which side gets the odd one.
                _ => missing / 2 + (missing & width & 1),
            };
            Value::from(padded(text, before, missing - before, fill.unwrap_or(' ')))
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            let missing = width.saturating_sub(text.chars().count());
            charge(state, missing)?;
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            Value::from(format!("{sign}{}", padded(digits, missing, 0, '0')))
        }
        "expandtabs" => {
            let (size,): (Option<usize>,) = from_args(args)?;
            let size = size.unwrap_or(8);
            charge(state, text.matches('\t').count().saturating_mul(size))?;
            Value::from(expand_tabs(text, size))
        }
        "swapcase" => {
            let () = from_args(args)?;
            let swap = |c: char| if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() };
            Value::from(text.chars().map(swap).collect::<String>())
        }
        "casefold" => {
            let () = from_args(args)?;
            // Full case folding differs from lower case in a few characters; the one in common use is ß.
            Value::from(text.to_lowercase().replace('ß', "ss"))
        }
        "title" => {
            let () = from_args(args)?;
            Value::from(title(text))
        }
        "isspace" => {
            let () = from_args(args)?;
            Value::from(!text.is_empty() && text.chars().all(is_space))
        }
        "isdigit" | "isdecimal" => {
            let () = from_args(args)?;
            let digit = |c: char| c.is_ascii_digit() || c.is_numeric() && !c.is_alphabetic() && is_digit(c);
            Value::from(!text.is_empty() && text.chars().all(digit))
        }
        "istitle" => {
            let () = from_args(args)?;
            Value::from(text.chars().any(char::is_alphabetic) && title(text) == text)
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// Pays for `bytes` before they are made.
fn charge(state: &State, bytes: usize) -> Result<(), Error> {
    state.consume_fuel((bytes / 64) as u64)
}

pub(super) fn strip<'a>(text: &'a str, set: Option<&str>, front: bool, back: bool) -> &'a str {
    let gone = |c: char| set.map_or_else(|| is_space(c), |set| set.contains(c));
    let text = if front { text.trim_start_matches(gone) } else { text };
    if back { text.trim_end_matches(gone) } else { text }
}

/// Separator, and the most parts to make.
fn split_arguments(args: &[Value]) -> Result<(Option<String>, usize), Error> {
    let mut args = Arguments::of_call(args)?;
    let separator = args.text("sep")?;
    let most = args.number("maxsplit")?.unwrap_or(-1i64);
    args.finish()?;
    Ok((separator, usize::try_from(most).map_or(usize::MAX, |most| most.saturating_add(1))))
}

fn reversed(mut parts: Vec<&str>) -> Vec<&str> {
    parts.reverse();
    parts
}

/// Words between white space; the last part is what is left of the text.
fn split_words(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() + 1 == most {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

fn rsplit_words(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() + 1 == most {
            parts.push(rest);
            break;
        }
        let start = rest.char_indices().rev().find(|(_, c)| is_space(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    reversed(parts)
}

fn lines(text: &str, keep: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (end, ending) = line_end(rest);
        lines.push(&rest[..if keep { end + ending } else { end }]);
        rest = &rest[end + ending..];
    }
    lines
}

/// `text[start:end]`, and how many characters stand before it. `None`: the start lies beyond the end.
fn range(text: &str, start: Option<i64>, end: Option<i64>) -> Option<(&str, usize)> {
    let length = text.chars().count();
    let position = |at: i64| if at < 0 { length.saturating_sub(at.unsigned_abs() as usize) } else { at as usize };
    let start = start.map_or(0, position);
    let end = end.map_or(length, position).min(length);
    if start > end {
        return None;
    }
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    Some((&text[byte(start)..byte(end)], start))
}

pub(super) fn padded(text: &str, before: usize, after: usize, fill: char) -> String {
    let fill = |n: usize| std::iter::repeat_n(fill, n);
    fill(before).chain(text.chars()).chain(fill(after)).collect()
}

fn expand_tabs(text: &str, size: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let spaces = size - column % size;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\t' => (),
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    out
}

/// Every letter after a character that is no letter in title case, all others in lower case.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        match (c.is_alphabetic(), inside) {
            (true, true) => out.extend(c.to_lowercase()),
            (true, false) => match title_case(c) {
                Some(title) => out.push(title),
                None => {
                    let mut upper = c.to_uppercase();
                    out.extend(upper.next());
                    out.extend(upper.flat_map(char::to_lowercase));
                }
            },
            _ => out.push(c),
        }
        inside = c.is_alphabetic();
    }
    out
}

/// The letters whose title case is not their upper case: the digraphs of Croatian and dz.
fn title_case(c: char) -> Option<char> {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => Some('ǅ'),
        'Ǉ' | 'ǈ' | 'ǉ' => Some('ǈ'),
        'Ǌ' | 'ǋ' | 'ǌ' => Some('ǋ'),
        'Ǳ' | 'ǲ' | 'ǳ' => Some('ǲ'),
        _ => None,
    }
}

/// Digits of any script and superscripts; not fractions, Roman numerals or other numbers.
fn is_digit(c: char) -> bool {
    !matches!(c, '\u{BC}'..='\u{BE}' | '\u{2150}'..='\u{218B}' | '\u{3007}'..='\u{3029}' | '\u{3220}'..='\u{32FF}')
}
