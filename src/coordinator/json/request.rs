//! A request from JSON: the OpenAI chat shape plus our fields.

use super::message::{message, tools, variables};
use super::read::{Fields, Node, parse};
use crate::coordinator::{CommitPolicy, Input, Request, Sequence, SequenceOptions};
use crate::decoding::GuideSpec;
use crate::error::{Error, Result};

/// Reads a request.
///
/// One sequence: `messages`, or `text`, or `ids`. Several: `sequences`, an array of objects with one of these each and options of
/// their own. Options stand at the top, for all sequences, or in a sequence: `temperature`, `top_p`, `top_k`, `min_p`,
/// `repetition_penalty`, `presence_penalty`, `frequency_penalty`, `max_tokens` (also `max_completion_tokens`,
/// `max_generate_length`), `seed`, `stop` (text or array), `logprobs` (true or false) with `top_logprobs`, or `num_logprobs`,
/// `logit_bias` {"id": number}, `extra_eos_ids`, `ignore_eos`, `apply_chat_template`, `add_generation_prompt`, `enable_thinking`,
/// `tools`, `template_variables` (also `chat_template_kwargs`), `template_name`, `skip_special_tokens`, `plain_content`,
/// `cache_bypass`, `cache_commit` "all" | "prompt", `cache_salt`, `save_system_prompt`, `hidden_layer`, and `response_format` (OpenAI's: `text`,
/// `json_object`, `json_schema`) or `guide`, an object with one of `json_object` (true), `json_schema`, `regex`, `grammar`, `choice`.
/// `model` is accepted and has no effect: a coordinator runs one model. `n` must be 1. Null stands for a key that is left out.
///
/// Errors: INVALID_ARGUMENT naming the key; UNSUPPORTED for content that is not text.
pub fn request_from_json(json: &str) -> Result<Request> {
    let mut fields = Node::root(parse(json)?).object()?;
    if let Some(model) = fields.given("model") {
        model.string()?;
    }
    if let Some(n) = fields.given("n")
        && n.value().as_i64() != Some(1)
    {
        return Err(n.wrong("1; list the sequence several times under `sequences` instead"));
    }
    if let Some(stream) = fields.given("stream")
        && stream.value().as_bool() != Some(false)
    {
        return Err(stream.wrong("false; attach a channel to stream"));
    }
    let mut request = Request { defaults: options(&mut fields)?, ..Request::default() };
    let input = input(&mut fields)?;
    match (input, fields.given("sequences")) {
        (Some(input), None) => request.sequences.push(Sequence::new(input)),
        (None, Some(sequences)) => {
            for node in sequences.array()? {
                request.sequences.push(sequence(node)?);
            }
        }
        (None, None) => return Err(Error::invalid("json: no input, expected one of messages, text, ids, sequences")),
        (Some(_), Some(_)) => return Err(Error::invalid("sequences: expected alone or left out, beside messages, text or ids")),
    }
    fields.finish()?;
    Ok(request)
}

fn sequence(node: Node) -> Result<Sequence> {
    let name = node.name().to_string();
    let mut fields = node.object()?;
    let options = options(&mut fields)?;
    let input =
        input(&mut fields)?.ok_or_else(|| Error::invalid(format!("{name}: no input, expected one of messages, text, ids")))?;
    fields.finish()?;
    Ok(Sequence { options, ..Sequence::new(input) })
}

fn input(fields: &mut Fields) -> Result<Option<Input>> {
    let Some(node) = fields.one_of(&["messages", "text", "ids"])? else { return Ok(None) };
    let key = node.name().rsplit('.').next().unwrap_or_default().to_string();
    Ok(Some(match key.as_str() {
        "messages" => Input::Messages(node.array()?.into_iter().map(message).collect::<Result<_>>()?),
        "text" => Input::Text(node.string()?),
        _ => Input::Ids(node.array()?.into_iter().map(Node::token).collect::<Result<_>>()?),
    }))
}

fn options(fields: &mut Fields) -> Result<SequenceOptions> {
    let mut number = |key: &str| fields.given(key).map(Node::f32).transpose();
    let mut options = SequenceOptions {
        temperature: number("temperature")?,
        top_p: number("top_p")?,
        min_p: number("min_p")?,
        repetition_penalty: number("repetition_penalty")?,
        presence_penalty: number("presence_penalty")?,
        frequency_penalty: number("frequency_penalty")?,
        ..SequenceOptions::default()
    };
    options.top_k = fields.given("top_k").map(|n| n.integer("a whole number")).transpose()?;
    let length = fields.one_of(&["max_tokens", "max_completion_tokens", "max_generate_length"])?;
    options.max_generate_length = length.map(|n| n.integer("a number of tokens")).transpose()?;
    options.seed = fields.given("seed").map(|n| n.integer("a whole number of 0 or more")).transpose()?;
    options.num_logprobs = num_logprobs(fields)?;
    options.stop = fields.given("stop").map(stop).transpose()?;
    options.logit_bias = fields.given("logit_bias").map(logit_bias).transpose()?;
    let ids = |node: Node| node.array()?.into_iter().map(Node::token).collect::<Result<Vec<_>>>();
    options.extra_eos_ids = fields.given("extra_eos_ids").map(ids).transpose()?;
    options.hidden_layer = fields.given("hidden_layer").map(|n| n.integer("a layer, or -1")).transpose()?;
    let mut flag = |key: &str| fields.given(key).map(Node::bool).transpose();
    options.ignore_eos = flag("ignore_eos")?;
    options.apply_chat_template = flag("apply_chat_template")?;
    options.add_generation_prompt = flag("add_generation_prompt")?;
    options.enable_thinking = flag("enable_thinking")?;
    options.skip_special_tokens = flag("skip_special_tokens")?;
    options.plain_content = flag("plain_content")?;
    options.tools = fields.given("tools").map(tools).transpose()?;
    options.template_variables = fields.one_of(&["template_variables", "chat_template_kwargs"])?.map(variables).transpose()?;
    options.template_name = fields.given("template_name").map(Node::string).transpose()?;
    options.cache_bypass = fields.given("cache_bypass").map(Node::bool).transpose()?;
    options.cache_commit = fields.given("cache_commit").map(cache_commit).transpose()?;
    options.cache_salt = fields.given("cache_salt").map(Node::string).transpose()?;
    options.save_system_prompt = fields.given("save_system_prompt").map(Node::bool).transpose()?;
    options.guide = match fields.one_of(&["guide", "response_format"])? {
        Some(node) if node.name().ends_with("guide") => Some(guide(node)?),
        Some(node) => response_format(node)?,
        None => None,
    };
    Ok(options)
}

fn cache_commit(node: Node) -> Result<CommitPolicy> {
    match node.value().as_str() {
        Some("all") => Ok(CommitPolicy::IncludingGeneratedTokens),
        Some("prompt") => Ok(CommitPolicy::PrefillStateOnly),
        _ => Err(node.wrong("\"all\" or \"prompt\"")),
    }
}

fn guide(node: Node) -> Result<GuideSpec> {
    const KINDS: &[&str] = &["json_object", "json_schema", "regex", "grammar", "choice"];
    let name = node.name().to_string();
    let mut fields = node.object()?;
    let kind = fields.one_of(KINDS)?.ok_or_else(|| Error::invalid(format!("{name}: expected one of {}", KINDS.join(", "))))?;
    let spec = match kind.name().rsplit('.').next().unwrap_or_default() {
        "json_object" if kind.value().as_bool() == Some(true) => GuideSpec::JsonObject,
        "json_object" => return Err(kind.wrong("true")),
        "json_schema" => GuideSpec::JsonSchema(kind.value().clone()),
        "regex" => GuideSpec::Regex(kind.string()?),
        "grammar" => GuideSpec::Grammar(kind.string()?),
        _ => GuideSpec::Choice(kind.array()?.into_iter().map(Node::string).collect::<Result<_>>()?),
    };
    fields.finish()?;
    Ok(spec)
}

/// A guide of a kind that [`request_from_json`] knows, whose text is JSON where the kind's value is.
pub fn guide_from_text(kind: &str, text: &str) -> Result<GuideSpec> {
    let value = match kind {
        "json_object" => serde_json::Value::Bool(true),
        "json_schema" | "choice" => parse(text).map_err(|e| e.context("guide"))?,
        _ => text.into(),
    };
    guide(Node::root(serde_json::json!({ kind: value })))
}

/// OpenAI's way to say it.
fn response_format(node: Node) -> Result<Option<GuideSpec>> {
    let name = node.name().to_string();
    let mut fields = node.object()?;
    let kind = fields.given("type").ok_or_else(|| Error::invalid(format!("{name}.type: missing")))?;
    let schema = fields.given("json_schema");
    let spec = match (kind.value().as_str(), schema) {
        (Some("text"), None) => None,
        (Some("json_object"), None) => Some(GuideSpec::JsonObject),
        (Some("json_schema"), Some(schema)) => {
            let mut inner = schema.object()?;
            for known in ["name", "description", "strict"] {
                inner.given(known);
            }
            let schema = inner.given("schema").ok_or_else(|| Error::invalid(format!("{name}.json_schema.schema: missing")))?;
            let spec = GuideSpec::JsonSchema(schema.value().clone());
            inner.finish()?;
            Some(spec)
        }
        _ => return Err(kind.wrong("\"text\", \"json_object\", or \"json_schema\" with json_schema beside it")),
    };
    fields.finish()?;
    Ok(spec)
}

/// OpenAI's pair of `logprobs` and `top_logprobs`, or our one number.
fn num_logprobs(fields: &mut Fields) -> Result<Option<u32>> {
    let count = |node: Node| node.integer::<u32>("a whole number of 0 or more");
    let wanted = fields.given("logprobs").map(Node::bool).transpose()?;
    let top = fields.given("top_logprobs");
    match (wanted, top, fields.given("num_logprobs")) {
        (None, None, ours) => ours.map(count).transpose(),
        (_, _, Some(ours)) => Err(ours.error("expected without logprobs and top_logprobs, which say the same")),
        (Some(true), top, None) => Ok(Some(top.map(count).transpose()?.unwrap_or(0))),
        (Some(false), None, None) => Ok(None),
        (_, Some(top), None) => Err(top.error("expected with logprobs set to true")),
    }
}

fn stop(node: Node) -> Result<Vec<String>> {
    if node.value().is_string() {
        return Ok(vec![node.string()?]);
    }
    node.array()?.into_iter().map(Node::string).collect()
}

fn logit_bias(node: Node) -> Result<Vec<(i32, f32)>> {
    let serde_json::Value::Object(map) = node.value() else { return Err(node.wrong("an object from token id to number")) };
    map.iter()
        .map(|(id, bias)| match (id.parse(), bias.as_f64()) {
            (Ok(id), Some(bias)) => Ok((id, bias as f32)),
            _ => Err(node.wrong("token ids as keys and numbers as values")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> (crate::Status, String) {
        let error = request_from_json(json).err().unwrap();
        (error.status(), error.message().to_string())
    }

    #[test]
    fn the_openai_shape_is_read() {
        let request = request_from_json(
            r#"{"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.7, "top_p": 0.9, "max_tokens": 5,
                "stop": "\n", "seed": 18446744073709551615, "logprobs": true, "top_logprobs": 3, "logit_bias": {"7": -100}, "n": 1,
                "frequency_penalty": 0.5, "stream": false, "tools": null}"#
        )
        .unwrap();
        assert_eq!(request.sequences.len(), 1);
        assert!(matches!(&request.sequences[0].input, Input::Messages(m) if m.len() == 1));
        let expected = SequenceOptions {
            temperature: Some(0.7),
            top_p: Some(0.9),
            max_generate_length: Some(5),
            stop: Some(vec!["\n".into()]),
            seed: Some(u64::MAX),
            num_logprobs: Some(3),
            logit_bias: Some(vec![(7, -100.0)]),
            frequency_penalty: Some(0.5),
            ..SequenceOptions::default()
        };
        assert_eq!(request.defaults, expected);
    }

    #[test]
    fn a_batch_has_options_of_its_own_in_every_sequence() {
        let request = request_from_json(
            r#"{"temperature": 1, "sequences": [{"text": "a"}, {"ids": [1, 2], "temperature": 0, "stop": ["x", "y"]}]}"#,
        )
        .unwrap();
        assert!(matches!(&request.sequences[0].input, Input::Text(t) if t == "a"));
        assert!(matches!(&request.sequences[1].input, Input::Ids(i) if i == &[1, 2]));
        assert_eq!((request.defaults.temperature, request.sequences[1].options.temperature), (Some(1.0), Some(0.0)));
        assert_eq!(request.sequences[1].options.stop.as_deref(), Some(&["x".to_string(), "y".to_string()][..]));
    }

    #[test]
    fn guides_are_read_in_either_shape() {
        let schema = serde_json::json!({ "type": "object" });
        for (json, expected) in [
            (r#"{"text": "a", "guide": {"json_object": true}}"#, Some(GuideSpec::JsonObject)),
            (r#"{"text": "a", "guide": {"json_schema": {"type": "object"}}}"#, Some(GuideSpec::JsonSchema(schema.clone()))),
            (r#"{"text": "a", "guide": {"regex": "a+"}}"#, Some(GuideSpec::Regex("a+".into()))),
            (r#"{"text": "a", "guide": {"choice": ["x", "y"]}}"#, Some(GuideSpec::Choice(vec!["x".into(), "y".into()]))),
            (r#"{"text": "a", "response_format": {"type": "text"}}"#, None),
            (r#"{"text": "a", "response_format": {"type": "json_object"}}"#, Some(GuideSpec::JsonObject)),
            (
                r#"{"text": "a", "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}}"#,
                Some(GuideSpec::JsonSchema(schema)),
            ),
        ] {
            assert_eq!(request_from_json(json).unwrap().defaults.guide, expected, "{json}");
        }
        assert!(refused(r#"{"text": "a", "guide": {}}"#).1.starts_with("guide: expected one of json_object"));
        assert!(refused(r#"{"text": "a", "response_format": {"type": "xml"}}"#).1.contains("response_format.type"));
    }

    #[test]
    fn mistakes_are_refused_by_name() {
        for (json, message) in [
            (r#"{"text": "a", "temprature": 1}"#, "temprature: unknown key"),
            (r#"{"sequences": [{"text": "a"}, {"text": "b", "x": 1}]}"#, "sequences[1].x: unknown key"),
            (r#"{"sequences": [{"temperature": 1}]}"#, "sequences[0]: no input, expected one of messages, text, ids"),
            ("{}", "json: no input, expected one of messages, text, ids, sequences"),
            (r#"{"text": "a", "ids": [1]}"#, "text and ids: expected one of them"),
            (
                r#"{"text": "a", "max_tokens": 1, "maxGenerateLength": 2}"#,
                "max_tokens and max_generate_length: expected one of them",
            ),
            (r#"{"ids": [1.5]}"#, "ids[0]: 1.5, expected a token id"),
            (r#"{"text": "a", "top_logprobs": 2}"#, "top_logprobs: expected with logprobs set to true"),
            (r#"{"text": "a", "n": 2}"#, "n: 2, expected 1; list the sequence several times under `sequences` instead"),
            (r#"{"text": "a", "stream": true}"#, "stream: true, expected false; attach a channel to stream"),
        ] {
            assert_eq!(refused(json), (crate::Status::InvalidArgument, message.to_string()));
        }
    }
}
