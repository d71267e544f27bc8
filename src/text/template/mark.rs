//! Marks in user text that keep it from forging control tokens.
//!
//! Before rendering, one character is put where a special token would arise in user text ([`ControlTexts::barriers`]); after rendering
//! the marks are taken out and their places become barriers for the tokenizer. Template code runs on the marked text, so trimming,
//! joining and searching go on working. The character is one that no input contains, and user text without such a place gets no mark:
//! nearly every chat is rendered and encoded exactly as it would be without any of this.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::RenderInput;
use crate::error::{Error, Result};
use crate::text::message::{Content, Message, Part};
use crate::text::tokenizer::ControlTexts;

/// Characters that may serve as the mark: Unicode's noncharacters for internal use, then a plane for private use.
fn candidates() -> impl Iterator<Item = char> {
    ('\u{FDD0}'..='\u{FDEF}').chain('\u{F0000}'..='\u{F00FF}')
}

pub(super) fn is_candidate(c: char) -> bool {
    matches!(c, '\u{FDD0}'..='\u{FDEF}' | '\u{F0000}'..='\u{F00FF}')
}

/// How user text of one render is marked.
pub(super) struct Marker {
    /// `None`: nothing is marked.
    mark: Option<char>,
    controls: Option<Arc<ControlTexts>>,
}

impl Marker {
    /// Marks nothing.
    pub(super) fn none() -> Self {
        Marker { mark: None, controls: None }
    }

    /// Errors: INVALID_ARGUMENT where the inputs use up every character that could be the mark.
    pub(super) fn new(input: &RenderInput, template: &str, controls: &Arc<ControlTexts>) -> Result<Self> {
        let mut needed = false;
        each_text(input, &mut |text, is_user| needed |= is_user && !controls.barriers(text).is_empty());
        if !needed {
            return Ok(Marker::none());
        }
        let mut used: HashSet<char> = template.chars().filter(|&c| is_candidate(c)).collect();
        each_text(input, &mut |text, _| used.extend(text.chars().filter(|&c| is_candidate(c))));
        let mark = candidates().find(|c| !used.contains(c));
        let mark = mark.ok_or_else(|| {
            Error::invalid("chat: it contains all 288 characters U+FDD0.. and U+F0000.., expected one to be free")
        })?;
        Ok(Marker { mark: Some(mark), controls: Some(controls.clone()) })
    }

    /// `text` of a user, with marks where it needs them.
    pub(super) fn user<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (Some(mark), Some(controls)) = (self.mark, &self.controls) else { return Cow::Borrowed(text) };
        let barriers = controls.barriers(text);
        if barriers.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut marked = String::with_capacity(text.len() + barriers.len() * mark.len_utf8());
        let mut from = 0;
        for barrier in barriers {
            marked.push_str(&text[from..barrier]);
            marked.push(mark);
            from = barrier;
        }
        marked.push_str(&text[from..]);
        Cow::Owned(marked)
    }

    /// `value` with every text in it treated as a user's. Keys stay as they are.
    pub(super) fn user_value<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        if self.mark.is_none() { Cow::Borrowed(value) } else { Cow::Owned(self.marked_value(value)) }
    }

    fn marked_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.user(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.marked_value(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), self.marked_value(item))).collect(),
            other => other.clone(),
        }
    }

    /// The rendered text without marks, and where they were.
    pub(super) fn take_out(&self, text: String) -> (String, Vec<usize>) {
        let Some(mark) = self.mark else { return (text, Vec::new()) };
        let mut barriers = Vec::new();
        let mut clean = String::with_capacity(text.len());
        for (at, part) in text.split(mark).enumerate() {
            if at > 0 && barriers.last() != Some(&clean.len()) {
                barriers.push(clean.len());
            }
            clean.push_str(part);
        }
        (clean, barriers)
    }
}

/// Calls `see` with every text of the input, and whether it is one to be marked.
fn each_text(input: &RenderInput, see: &mut dyn FnMut(&str, bool)) {
    for message in input.messages {
        let is_user = !message.is_assistant();
        match &message.content {
            Content::Text(text) => see(text, is_user),
            Content::Parts(parts) => parts.iter().for_each(|part| {
                if let Part::Text(text) = part {
                    see(text, is_user);
                }
            }),
        }
        let Message { name, tool_call_id, reasoning_content, role, tool_calls, .. } = message;
        for text in [name, tool_call_id].into_iter().flatten() {
            see(text, is_user);
        }
        see(role, false);
        reasoning_content.iter().for_each(|text| see(text, false));
        tool_calls.iter().for_each(|call| each_value(call, false, see));
    }
    input.tools.into_iter().flatten().for_each(|tool| each_value(tool, true, see));
    for (name, value) in input.variables.into_iter().flatten() {
        each_value(value, name == super::values::DOCUMENTS, see);
    }
}

fn each_value(value: &Value, is_user: bool, see: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => see(text, is_user),
        Value::Array(items) => items.iter().for_each(|item| each_value(item, is_user, see)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            see(key, false);
            each_value(item, is_user, see);
        }),
        _ => (),
    }
}
