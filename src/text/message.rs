//! Chat messages as hosts give them.

use serde_json::Value;

use crate::error::{Error, Result};

/// One piece of a message's content. Media are placeholders: what they show travels beside the messages, in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Image,
    Video,
    Audio,
}

impl Part {
    /// The name that chat templates know a part by.
    pub fn kind(&self) -> &'static str {
        match self {
            Part::Text(_) => "text",
            Part::Image => "image",
            Part::Video => "video",
            Part::Audio => "audio",
        }
    }
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl Default for Content {
    fn default() -> Self {
        Content::Text(String::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Text(text.to_string())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Content::Text(text)
    }
}

/// One turn of a chat.
///
/// There is always a content: a turn without one (an assistant that only calls tools) has the empty text, so that templates which
/// concatenate it render (FIELD_CASES 15).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// "system", "user", "assistant", "tool", or what else the model's template knows.
    pub role: String,
    pub content: Content,
    /// Calls as the OpenAI chat shape has them. Arguments may be an object or its JSON text.
    pub tool_calls: Vec<Value>,
    pub tool_call_id: Option<String>,
    pub name: Option<String>,
    pub reasoning_content: Option<String>,
}

impl Message {
    pub fn new(role: impl Into<String>, content: impl Into<Content>) -> Self {
        Message { role: role.into(), content: content.into(), ..Message::default() }
    }

    /// All of the content, joined without separators.
    ///
    /// Errors: UNSUPPORTED where there is more than text.
    pub fn text(&self) -> Result<String> {
        match &self.content {
            Content::Text(text) => Ok(text.clone()),
            Content::Parts(parts) => {
                let text = parts.iter().map(|part| match part {
                    Part::Text(text) => Ok(text.as_str()),
                    other => {
                        Err(Error::unsupported(format!("{} message: a part of type {}, expected text", self.role, other.kind())))
                    }
                });
                text.collect()
            }
        }
    }

    /// Whether the model said this.
    pub(crate) fn is_assistant(&self) -> bool {
        self.role == "assistant"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_joins_text_parts_and_names_others() {
        let parts = |parts| Message::new("user", Content::Parts(parts)).text();
        assert_eq!(parts(vec![Part::Text("a".into()), Part::Text("b".into())]).unwrap(), "ab");
        let error = parts(vec![Part::Text("a".into()), Part::Image]).unwrap_err();
        assert_eq!(error.message(), "user message: a part of type image, expected text");
    }
}
