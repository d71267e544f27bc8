//! Chat messages, tools and template variables from JSON, in the OpenAI shape.

use serde_json::{Map, Value};

use super::read::{Node, parse};
use crate::error::{Error, Result};
use crate::text::{Content, Message};

/// Reads one message: `role`, `content` (text, null, or an array of {"type": "text", "text": …}), `name`, `tool_calls`,
/// `tool_call_id`, `reasoning_content`.
///
/// Errors: INVALID_ARGUMENT naming the key; UNSUPPORTED for content that is not text.
pub fn message_from_json(json: &str) -> Result<Message> {
    message(Node::root(parse(json)?))
}

/// Reads an array of tool descriptions.
pub fn tools_from_json(json: &str) -> Result<Vec<Value>> {
    tools(Node::root(parse(json)?))
}

/// Reads an object of template variables.
pub fn variables_from_json(json: &str) -> Result<Map<String, Value>> {
    variables(Node::root(parse(json)?))
}

pub(super) fn tools(node: Node) -> Result<Vec<Value>> {
    node.array()?
        .into_iter()
        .map(|tool| if tool.value().is_object() { Ok(tool.into_value()) } else { Err(tool.wrong("an object")) })
        .collect()
}

pub(super) fn variables(node: Node) -> Result<Map<String, Value>> {
    if !node.value().is_object() {
        return Err(node.wrong("an object"));
    }
    match node.into_value() {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

pub(super) fn message(node: Node) -> Result<Message> {
    let mut fields = node.object()?;
    let role = fields.required("role")?.string()?;
    let content = fields.given("content").map(content).transpose()?;
    let mut text = |key: &str| fields.given(key).map(Node::string).transpose();
    let (name, tool_call_id) = (text("name")?, text("tool_call_id")?);
    let reasoning_content = text("reasoning_content")?;
    let tool_calls = match fields.given("tool_calls") {
        Some(calls) => calls.array()?.into_iter().map(tool_call).collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    fields.finish()?;
    let mut message = Message::new(role, Content::from(content.unwrap_or_default().as_str()));
    message.name = name;
    message.tool_call_id = tool_call_id;
    message.reasoning_content = reasoning_content;
    message.tool_calls = tool_calls;
    Ok(message)
}

/// Text, or the joined texts of parts.
fn content(node: Node) -> Result<String> {
    if node.value().is_string() {
        return node.string();
    }
    if !node.value().is_array() {
        return Err(node.wrong("text, an array of parts, or null"));
    }
    let mut joined = String::new();
    for part in node.array()? {
        let mut fields = part.object()?;
        let kind = fields.required("type")?;
        match kind.value().as_str() {
            Some("text") => joined.push_str(&fields.required("text")?.string()?),
            Some(other) => return Err(Error::unsupported(format!("{}: \"{other}\", expected \"text\"", kind.name()))),
            None => return Err(kind.wrong("a string")),
        }
        fields.finish()?;
    }
    Ok(joined)
}

/// A call is kept as templates read it; its shape is checked here so that a mistake is named and not rendered.
fn tool_call(node: Node) -> Result<Value> {
    let value = node.value().clone();
    let mut fields = node.object()?;
    for key in ["id", "type"] {
        fields.given(key).map(Node::string).transpose()?;
    }
    let mut function = fields.required("function")?.object()?;
    function.required("name")?.string()?;
    if let Some(arguments) = function.given("arguments")
        && !(arguments.value().is_string() || arguments.value().is_object())
    {
        return Err(arguments.wrong("an object, or its JSON text"));
    }
    function.finish()?;
    fields.given("index");
    fields.finish()?;
    Ok(value)
}
