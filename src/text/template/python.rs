//! Values as Python prints them, and characters as Python classes them.

use minijinja::value::{Value, ValueKind};

use super::mark::is_candidate;

/// `repr` of a float: shortest digits that read back the same, exponents outside 1e-4..1e16.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    // Rust's debug form has the same digits and limits, and writes `1e16` for `1e+16`, `1e-5` for `1e-05`.
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

/// `str` of a value: what `{{ value }}` prints.
pub(super) fn write_str(value: &Value, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    match value.kind() {
        ValueKind::Undefined => Ok(()),
        ValueKind::String => out.write_str(value.as_str().unwrap_or_default()),
        ValueKind::Number if !value.is_integer() => {
            out.write_str(&f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float))
        }
        ValueKind::Seq | ValueKind::Map if value.as_object().is_some() => write_repr(value, 0, out),
        _ => write!(out, "{value}"),
    }
}

/// `repr` of a value: what stands inside a printed list or dict.
fn write_repr(value: &Value, depth: usize, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    const MAX_DEPTH: usize = 256;
    if depth > MAX_DEPTH {
        return out.write_str("...");
    }
    match value.kind() {
        ValueKind::Undefined => out.write_str("Undefined"),
        ValueKind::String => write_quoted(value.as_str().unwrap_or_default(), out),
        ValueKind::Seq => {
            let (open, close) = if value.is_tuple() { ('(', ')') } else { ('[', ']') };
            out.write_char(open)?;
            let mut count = 0;
            for item in value.try_iter().into_iter().flatten() {
                if count > 0 {
                    out.write_str(", ")?;
                }
                write_repr(&item, depth + 1, out)?;
                count += 1;
            }
            if value.is_tuple() && count == 1 {
                out.write_char(',')?;
            }
            out.write_char(close)
        }
        ValueKind::Map => {
            out.write_char('{')?;
            for (at, key) in value.try_iter().into_iter().flatten().enumerate() {
                if at > 0 {
                    out.write_str(", ")?;
                }
                write_repr(&key, depth + 1, out)?;
                out.write_str(": ")?;
                write_repr(&value.get_item(&key).unwrap_or_default(), depth + 1, out)?;
            }
            out.write_char('}')
        }
        _ => write_str(value, out),
    }
}

/// A text in quotes: single ones, unless it has single ones and no double ones.
fn write_quoted(text: &str, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c == quote => write!(out, "\\{c}")?,
            c if is_printable(c) => out.write_char(c)?,
            c if (c as u32) < 0x100 => write!(out, "\\x{:02x}", c as u32)?,
            c if (c as u32) < 0x1_0000 => write!(out, "\\u{:04x}", c as u32)?,
            c => write!(out, "\\U{:08x}", c as u32)?,
        }
    }
    out.write_char(quote)
}

/// Whether `repr` shows the character as it is: not a control, format, private or separator character, but for the space. Marks are
/// shown, since they are taken out of the rendered text later.
fn is_printable(c: char) -> bool {
    let hidden = c.is_control()
        || c.is_whitespace() && c != ' '
        || matches!(c, '\u{AD}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}' | '\u{180E}' | '\u{200B}'..='\u{200F}')
        || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{E000}'..='\u{F8FF}' | '\u{FEFF}')
        || matches!(c, '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}' | '\u{F0000}'..)
        || (c as u32) & 0xFFFE == 0xFFFE;
    !hidden || is_candidate(c)
}

/// What `str.strip` and `str.split` take for white space: Unicode's, and the four separators of ASCII.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}')
}

/// Where the first line of `text` ends, and how long what ends it is.
pub(super) fn line_end(text: &str) -> (usize, usize) {
    let ends = |c: char| matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    match text.char_indices().find(|&(_, c)| ends(c)) {
        Some((at, '\r')) if text[at..].starts_with("\r\n") => (at, 2),
        Some((at, c)) => (at, c.len_utf8()),
        None => (text.len(), 0),
    }
}
