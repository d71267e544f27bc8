//! Templates against jinja2 set up as transformers does: small expressions, and chats through templates of every common style.
//! The expected texts were made by scripts/make_text_goldens.py.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value};
use tactus::Status;
use tactus::text::{ChatTemplate, Message, RenderInput, TemplateSources, Tokenizer, TokenizerConfig, on_deep_stack};

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/data/text/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

fn tokenizer(tokens: &Value) -> Tokenizer {
    let config = TokenizerConfig::from_json(Some(tokens), None).unwrap();
    Tokenizer::from_json(br#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#, &config).unwrap()
}

/// All cases that differ, in one panic.
fn report(differences: Vec<String>, cases: usize) {
    assert!(differences.is_empty(), "{} of {cases} cases differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn expressions_mean_what_they_mean_in_python() {
    let golden = golden("expressions.json");
    let tokenizer = tokenizer(&serde_json::json!({"bos_token": "<s>", "eos_token": "</s>"}));
    let variables = golden["variables"].as_object();
    let input = RenderInput { variables, ..RenderInput::default() };
    let cases = golden["cases"].as_array().unwrap();
    let differences = cases.iter().filter_map(|case| {
        let source = case["template"].as_str().unwrap();
        let template = ChatTemplate::new(TemplateSources::single(source), &tokenizer);
        let shown =
            on_deep_stack(|| template.render(&input)).map_or_else(|e| format!("ERROR {e}"), |rendered| rendered.into_text());
        let expected = case["text"].as_str().unwrap();
        (shown != expected).then(|| format!("  {source:?}\n    expected {expected:?}\n    rendered {shown:?}"))
    });
    report(differences.collect(), cases.len());
}

#[test]
fn what_fails_in_python_fails_here() {
    let golden = golden("expressions.json");
    let tokenizer = tokenizer(&serde_json::json!({}));
    let input = RenderInput { variables: golden["variables"].as_object(), ..RenderInput::default() };
    let cases = golden["errors"].as_array().unwrap();
    let differences = cases.iter().filter_map(|case| {
        let source = case["template"].as_str().unwrap();
        let template = ChatTemplate::new(TemplateSources::single(source), &tokenizer);
        let expected = case["error"].as_str().unwrap();
        match template.render(&input) {
            Err(e) if e.status() != Status::Template => Some(format!("  {source:?}: {e:?}")),
            Err(e) if source.contains("raise_exception") && !e.message().contains(expected) => {
                Some(format!("  {source:?}: {e:?}"))
            }
            Err(_) => None,
            Ok(rendered) => Some(format!("  {source:?}: {:?}, expected {expected}", rendered.text())),
        }
    });
    report(differences.collect(), cases.len());
}

fn message(value: &Value) -> Message {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    let mut message = Message::new(text("role").unwrap(), text("content").unwrap());
    message.tool_calls = value.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
    message.tool_call_id = text("tool_call_id");
    message.name = text("name");
    message.reasoning_content = text("reasoning_content");
    message
}

#[test]
fn chats_render_as_transformers_renders_them() {
    let golden = golden("chats.json");
    let tokenizer = tokenizer(&golden["tokens"]);
    let now = Some(UNIX_EPOCH + Duration::from_secs(golden["now"].as_u64().unwrap()));
    let cases = golden["cases"].as_array().unwrap();
    let differences = cases.iter().filter_map(|case| {
        let (template, chat) = (case["template"].as_str().unwrap(), case["chat"].as_str().unwrap());
        let source = golden["templates"][template].as_str().unwrap();
        let chat_given = &golden["chats"][chat];
        let messages: Vec<Message> = chat_given["messages"].as_array().unwrap().iter().map(message).collect();
        let empty = Map::new();
        let input = RenderInput {
            messages: &messages,
            tools: chat_given["tools"].as_array().map(Vec::as_slice),
            add_generation_prompt: chat_given["add_generation_prompt"].as_bool().unwrap(),
            enable_thinking: chat_given["enable_thinking"].as_bool().unwrap_or(false),
            variables: Some(chat_given["variables"].as_object().unwrap_or(&empty)),
            plain_content: true,
            now,
            ..RenderInput::default()
        };
        let rendered = ChatTemplate::new(TemplateSources::single(source), &tokenizer).render(&input);
        let matches = match (&rendered, case["text"].as_str()) {
            (Ok(rendered), Some(expected)) => rendered.text() == expected,
            (Err(e), None) => e.status() == Status::Template && e.message().contains(case["error"].as_str().unwrap()),
            _ => false,
        };
        (!matches).then(|| format!("  {template}, {chat}\n    expected {case}\n    rendered {rendered:?}"))
    });
    report(differences.collect(), cases.len());
}
