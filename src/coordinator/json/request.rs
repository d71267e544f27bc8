//! A request from JSON: the OpenAI chat shape plus our fields.

use super::message::{message, tools, variables};
use super::read::{Fields, Node, parse};
use crate::coordinator::{Input, Request, Sequence, SequenceOptions};
use crate::error::{Error, Result};

/// Reads a request.
///
/// One sequence: `messages`, or `text`, or `ids`. Several: `sequences`, an array of objects with one of these each and options of
/// their own. Options stand at the top, for all sequences, or in a sequence: `temperature`, `top_p`, `top_k`, `min_p`,
/// `repetition_penalty`, `presence_penalty`, `frequency_penalty`, `max_tokens` (also `max_completion_tokens`,
/// `max_generate_length`), `seed`, `stop` (text or array), `logprobs` (true or false) with `top_logprobs`, or `num_logprobs`,
/// `logit_bias` {"id": number}, `extra_eos_ids`, `ignore_eos`, `apply_chat_template`, `add_generation_prompt`, `enable_thinking`,
/// `tools`, `template_variables` (also `chat_template_kwargs`), `template_name`, `skip_special_tokens`, `plain_content`.
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
    Ok(options)
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
