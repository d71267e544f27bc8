//! The variables a template sees.

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::RenderInput;
use super::mark::Marker;
use crate::text::message::{Content, Message, Part};

/// The variable that holds retrieved documents: text of others, like tools.
pub(super) const DOCUMENTS: &str = "documents";

/// Everything `input` gives to a template, by name.
///
/// As in transformers, `tools` and `documents` are always there (`none` when there are none), special tokens only where the model has
/// them, and the caller's variables replace ours.
pub(super) fn variables(input: &RenderInput, tokens: &[(&'static str, String)], marker: &Marker) -> Value {
    let messages: Vec<Value> = input.messages.iter().map(|message| message_value(message, marker)).collect();
    let tools: Option<Vec<Value>> = input.tools.map(|tools| tools.iter().map(|tool| value(&marker.user_value(tool))).collect());
    let mut variables: Vec<(String, Value)> =
        tokens.iter().map(|(name, text)| (name.to_string(), Value::from(text.as_str()))).collect();
    variables.push(("messages".into(), Value::from(messages)));
    variables.push(("tools".into(), tools.map_or(Value::from(()), Value::from)));
    variables.push((DOCUMENTS.into(), Value::from(())));
    variables.push(("add_generation_prompt".into(), Value::from(input.add_generation_prompt)));
    variables.push(("enable_thinking".into(), Value::from(input.enable_thinking)));
    for (name, given) in input.variables.into_iter().flatten() {
        let given = if name == DOCUMENTS { value(&marker.user_value(given)) } else { value(given) };
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = given,
            None => variables.push((name.clone(), given)),
        }
    }
    Value::from_pairs(variables)
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (_, Some(number)) => Value::from(number),
            _ => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value).collect(),
        Json::Object(map) => Value::from_pairs(map.iter().map(|(key, item)| (key.as_str(), value(item)))),
    }
}

fn message_value(message: &Message, marker: &Marker) -> Value {
    let own = |text: &str| match message.is_assistant() {
        true => Value::from(text),
        false => Value::from(marker.user(text)),
    };
    let mut fields: Vec<(&str, Value)> = vec![("role", Value::from(message.role.as_str()))];
    fields.push((
        "content",
        match &message.content {
            Content::Text(text) => own(text),
            // Most templates know content as one text only.
            Content::Parts(parts) if parts.iter().all(|part| matches!(part, Part::Text(_))) => {
                let texts =
                    parts.iter().map(|part| if let Part::Text(text) = part { own(text).to_string() } else { String::new() });
                Value::from(texts.collect::<String>())
            }
            Content::Parts(parts) => parts.iter().map(|part| part_value(part, &own)).collect(),
        },
    ));
    // The names that templates know reasoning by, the way transformers fills them.
    if let Some(reasoning) = &message.reasoning_content {
        fields.push(("reasoning_content", own(reasoning)));
        fields.push(("thinking", own(reasoning)));
    }
    if !message.tool_calls.is_empty() {
        fields.push(("tool_calls", message.tool_calls.iter().map(|call| value(&with_arguments(call))).collect()));
    }
    if let Some(name) = &message.name {
        fields.push(("name", own(name)));
    }
    if let Some(id) = &message.tool_call_id {
        fields.push(("tool_call_id", own(id)));
    }
    Value::from_pairs(fields)
}

fn part_value(part: &Part, own: &dyn Fn(&str) -> Value) -> Value {
    let kind = ("type", Value::from(part.kind()));
    match part {
        Part::Text(text) => Value::from_pairs([kind, ("text", own(text))]),
        Part::Image | Part::Video | Part::Audio => Value::from_pairs([kind]),
    }
}

/// A call whose arguments are an object: the OpenAI shape sends its JSON text, templates want the object.
fn with_arguments(call: &Json) -> Json {
    let mut call = call.clone();
    let function = if call.get("function").is_some() { call.get_mut("function") } else { Some(&mut call) };
    if let Some(arguments) = function.and_then(|function| function.get_mut("arguments"))
        && let Some(text) = arguments.as_str()
        && let Ok(object) = serde_json::from_str::<Map<String, Json>>(text)
    {
        *arguments = Json::Object(object);
    }
    call
}
