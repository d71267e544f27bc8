//! FIELD_CASES A: chat templates. Expected texts are those of jinja2 3.1.6 set up as transformers does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tactus::text::{ChatTemplate, Message, RenderInput, TemplateSources, Tokenizer, TokenizerConfig};
use tactus::{Result, Status};

fn tokenizer() -> Tokenizer {
    let config = json!({
        "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false},
        "eos_token": "</s>",
    });
    let config = TokenizerConfig::from_json(Some(&config), None).unwrap();
    let file = json!({"model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1, "</s>": 2}, "merges": []}});
    Tokenizer::from_json(file.to_string().as_bytes(), &config).unwrap()
}

fn variables(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn render_with(template: &str, input: &RenderInput) -> Result<String> {
    let template = ChatTemplate::new(TemplateSources::single(template), &tokenizer());
    Ok(template.render(input)?.into_text())
}

fn render(template: &str, given: Value) -> Result<String> {
    let given = variables(given);
    render_with(template, &RenderInput { variables: Some(&given), ..RenderInput::default() })
}

fn rendered(template: &str, given: Value) -> String {
    render(template, given).unwrap()
}

/// FIELD_CASES 1: insertion order, Python's separators, nothing escaped for HTML.
#[test]
fn tool_json_is_pythons() {
    let tool = json!({
        "name": "get_weather",
        "description": "Compare if temp > 10 & humidity < 50 (user's choice)",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    });
    assert_eq!(
        rendered("{{ t | tojson }}", json!({"t": tool})),
        r#"{"name": "get_weather", "description": "Compare if temp > 10 & humidity < 50 (user's choice)", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}"#
    );
}

/// FIELD_CASES 2.
#[test]
fn tojson_takes_the_arguments_of_json_dumps() {
    let cases = [
        ("{{ {'a':'é<&>'} | tojson(ensure_ascii=False) }}", r#"{"a": "é<&>"}"#),
        ("{{ {'a':'é<&>'} | tojson }}", r#"{"a": "é<&>"}"#),
        ("{{ {'a':'é<&>😸'} | tojson(ensure_ascii=True) }}", r#"{"a": "\u00e9<&>\ud83d\ude38"}"#),
        ("{{ {'b':1,'a':[1,2]} | tojson(indent=2) }}", "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    2\n  ]\n}"),
        ("{{ {'b':1,'a':[1,2]} | tojson(separators=(',',':')) }}", r#"{"b":1,"a":[1,2]}"#),
        ("{{ {'b':1,'a':[]} | tojson(sort_keys=True, indent=1) }}", "{\n \"a\": [],\n \"b\": 1\n}"),
        ("{{ [1.0, 1e16, 1e-5, true, none, '\\n\\u007f'] | tojson }}", "[1.0, 1e+16, 1e-05, true, null, \"\\n\u{7f}\"]"),
    ];
    for (template, expected) in cases {
        assert_eq!(rendered(template, json!({})), expected, "{template}");
    }
}

/// FIELD_CASES 3.
#[test]
fn generation_blocks_are_transparent() {
    let template = "{% for m in ms %}{% if m.role=='assistant' %}{% generation %}<A>{{ m.content }}</A>{% endgeneration %}{% else %}<U>{{ m.content }}</U>{% endif %}{% endfor %}";
    let ms = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]);
    assert_eq!(rendered(template, json!({"ms": ms})), "<U>hi</U><A>yo</A>");
    assert_eq!(
        rendered(
            "{%- generation -%} x {%- endgeneration -%}{# {% generation %} #}{% raw %}{% generation %}{% endraw %}",
            json!({})
        ),
        "x{% generation %}"
    );
}

/// FIELD_CASES 4: every format, a pinned clock, and the function is defined.
#[test]
fn strftime_now_formats_as_c_does() {
    // A time of day that is on the same date in every zone from -11 to +11.
    let now = UNIX_EPOCH + Duration::from_secs(1_772_366_400);
    let shown = |template: &str| render_with(template, &RenderInput { now: Some(now), ..RenderInput::default() }).unwrap();
    assert_eq!(shown("{{ strftime_now is defined }}"), "True");
    assert_eq!(shown("{{ strftime_now('%Y-%m-%d') }}"), "2026-03-01");
    assert_eq!(shown("{{ strftime_now('%d %b %Y') }}"), "01 Mar 2026");
    assert_eq!(shown("{{ strftime_now('%A, %B %-d') }}"), "Sunday, March 1");
    assert_eq!(shown("{{ strftime_now('%j %U %W %G-W%V %y %C %e %h %%') }}"), "060 09 08 2026-W09 26 20  1 Mar %");
}

/// FIELD_CASES 6.
#[test]
fn reverse_slices_and_string_methods_work() {
    let template = "{%- set ns = namespace(last=-1) %}{%- for m in ms[::-1] %}{%- set index = (ms|length - 1) - loop.index0 %}{%- if ns.last == -1 and m.role == 'user' and m.content is string and not(m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}{%- set ns.last = index %}{%- endif %}{%- endfor %}{{ ns.last }}";
    let ms = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "<tool_response>x</tool_response>"},
    ]);
    assert_eq!(rendered(template, json!({"ms": ms})), "0");
    assert_eq!(rendered("{{ 'abcdef'[1:5:2] }} {{ 'abc'[::-1] }} {{ [1,2,3,4][-1:0:-2] }}", json!({})), "bd cba [4, 2]");
}

/// FIELD_CASES 8.
#[test]
fn filters_of_shipped_templates_work() {
    let reject = "{{ ['brave_search','code_interpreter','wolfram_alpha'] | reject('equalto','code_interpreter') | join(', ') }}";
    assert_eq!(rendered(reject, json!({})), "brave_search, wolfram_alpha");
    let ms = json!([{"role": "user"}, {"role": "tool"}, {"role": "assistant"}]);
    let rejectattr = "{{ ms | rejectattr('role','equalto','tool') | map(attribute='role') | join(',') }}";
    assert_eq!(rendered(rejectattr, json!({"ms": ms})), "user,assistant");
    let p = json!({"type": 1, "enum": 2, "description": 3, "x": 4, "items": 5});
    assert_eq!(rendered("{{ p.keys() | reject('in',['type','description','items']) | join(',') }}", json!({"p": p})), "enum,x");
    let none = "{% if not tools %}{% set tools = none %}{% endif %}{% if tools is not none %}some{% else %}none{% endif %}";
    assert_eq!(rendered(none, json!({})), "none");
    assert_eq!(
        rendered(
            "{% for k, v in p.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in p|items %}{{ k }}{% endfor %}",
            json!({"p": p})
        ),
        "type=1;enum=2;description=3;x=4;items=5;typeenumdescriptionxitems"
    );
}

/// FIELD_CASES 9: a template that does not parse is kept as an error with its place.
#[test]
fn a_template_that_does_not_parse_is_an_error_of_rendering() {
    let template = ChatTemplate::new(TemplateSources::single("{{ 'a' }}\n  {% frobnicate %}"), &tokenizer());
    let error = template.render(&RenderInput::default()).unwrap_err();
    assert_eq!(error.status(), Status::Template);
    assert_eq!(error.message(), "chat template \"default\", line 2, column 6: unknown statement frobnicate");
}

/// FIELD_CASES 10, 11: the template's own words come back, nothing else is used in its place, and the next request works.
#[test]
fn raise_exception_keeps_its_text() {
    let source = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}{{ m.content }}{% endfor %}";
    let template = ChatTemplate::new(TemplateSources::single(source), &tokenizer());
    let late = [Message::new("user", "a"), Message::new("system", "b")];
    let error = template.render(&RenderInput { messages: &late, ..RenderInput::default() }).unwrap_err();
    assert_eq!(error.status(), Status::Template);
    assert!(error.message().contains("System message must be at the beginning."), "{error}");
    let early = [Message::new("system", "b"), Message::new("user", "a")];
    assert_eq!(template.render(&RenderInput { messages: &early, ..RenderInput::default() }).unwrap().text(), "ba");
}

/// FIELD_CASES 12: the file wins over the configuration, additional templates are found by name.
#[test]
fn templates_live_in_files_too() {
    let dir = std::env::temp_dir().join(format!("tactus-templates-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("additional_chat_templates")).unwrap();
    std::fs::write(dir.join("chat_template.jinja"), "file").unwrap();
    std::fs::write(dir.join("additional_chat_templates/tool_use.jinja"), "tools").unwrap();
    let config = json!({"chat_template": "key"});
    let sources = TemplateSources::from_dir(&dir, Some(&config)).unwrap();
    let template = ChatTemplate::new(sources, &tokenizer());
    assert_eq!(template.names().collect::<Vec<_>>(), ["default", "tool_use"]);
    let text = |input: &RenderInput| template.render(input).map(|rendered| rendered.into_text());
    assert_eq!(text(&RenderInput::default()).unwrap(), "file");
    assert_eq!(text(&RenderInput { template_name: Some("tool_use"), ..RenderInput::default() }).unwrap(), "tools");
    let tools = [json!({"type": "function"})];
    assert_eq!(text(&RenderInput { tools: Some(&tools), ..RenderInput::default() }).unwrap(), "tools");
    let error = text(&RenderInput { template_name: Some("rag"), ..RenderInput::default() }).unwrap_err();
    assert_eq!((error.status(), error.message()), (Status::NotFound, "chat template \"rag\", expected one of default, tool_use"));

    std::fs::remove_file(dir.join("chat_template.jinja")).unwrap();
    let sources = TemplateSources::from_dir(&dir, Some(&config)).unwrap();
    assert_eq!(ChatTemplate::new(sources, &tokenizer()).source("default"), Some("key"));
    std::fs::remove_dir_all(&dir).unwrap();

    let list = json!({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]});
    let template = ChatTemplate::new(TemplateSources::from_tokenizer_config(&list).unwrap(), &tokenizer());
    assert_eq!(template.names().collect::<Vec<_>>(), ["default", "tool_use"]);
}

/// FIELD_CASES 14: tokens as objects.
#[test]
fn bos_token_may_be_an_object() {
    assert_eq!(rendered("{{ bos_token }}X{{ eos_token }}", json!({})), "<s>X</s>");
}

/// FIELD_CASES 15: no content is empty content; calls reach the template, with their arguments as an object.
#[test]
fn a_turn_without_content_renders() {
    let source = "{% for m in messages %}[{{ m.role + ':' + m.content }}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}]{% endfor %}";
    let mut call = Message::new("assistant", "");
    call.tool_calls = vec![json!({"type": "function", "function": {"name": "w", "arguments": "{\"city\":\"Paris\"}"}})];
    let messages = [Message::new("user", "w?"), call, Message::new("tool", "21C")];
    let text = render_with(source, &RenderInput { messages: &messages, ..RenderInput::default() }).unwrap();
    assert_eq!(text, "[user:w?][assistant:{\"city\": \"Paris\"}][tool:21C]");
}

#[test]
fn work_memory_and_recursion_are_bounded() {
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let doubling = "{% set ns = namespace(s='x' * 1000) %}{% for a in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
    let deep = "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}";
    for template in
        [endless, doubling, deep, "{{ ", &"(".repeat(5000), &format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000))]
    {
        let outcome = tactus::text::on_deep_stack(|| render(template, json!({})));
        if let Err(error) = outcome {
            assert_eq!(error.status(), Status::Template, "{error}");
        } else {
            assert!(!template.contains("{{") && !template.contains("{%"));
        }
    }
}

#[test]
fn the_clock_is_now_unless_it_is_pinned() {
    let year: i64 = rendered("{{ strftime_now('%s') }}", json!({})).parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!((year - now).abs() < 60);
}

/// FIELD_CASES 20, 21: the BOS that a template writes stays, whether or not the tokenizer adds one to raw text, and is the only one.
#[test]
fn a_templates_own_bos_stays_and_is_the_only_one() {
    for adds in [true, false] {
        let mut file = json!({
            "model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1}, "merges": []},
            "added_tokens": [{"id": 1, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
        });
        if adds {
            let bos = json!({"SpecialToken": {"id": "<s>", "type_id": 0}});
            let text = json!({"Sequence": {"id": "A", "type_id": 0}});
            file["post_processor"] = json!({
                "type": "TemplateProcessing", "single": [bos, text], "pair": [bos, text],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
            });
        }
        let config = json!({"bos_token": "<s>", "add_bos_token": adds});
        let config = TokenizerConfig::from_json(Some(&config), None).unwrap();
        let tokenizer = Tokenizer::from_json(file.to_string().as_bytes(), &config).unwrap();
        let template = ChatTemplate::new(TemplateSources::single("{{ bos_token }}{{ messages[0].content }}"), &tokenizer);
        let messages = [Message::new("user", "a<s>a")];
        for (plain_content, expected) in [(false, [1, 0, 1, 0].as_slice()), (true, [1, 0].as_slice())] {
            let input = RenderInput { messages: &messages, plain_content, ..RenderInput::default() };
            let ids = tokenizer.encode_rendered(&template.render(&input).unwrap()).unwrap();
            assert!(
                ids.starts_with(&expected[..2]) && ids.iter().filter(|&&id| id == 1).count() == expected.len() / 2,
                "{ids:?}"
            );
        }
    }
}
