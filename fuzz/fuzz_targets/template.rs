//! Chat templates, which come with models: any source compiles or does not, and renders a chat or does not, within its bounds.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tactus::text::{ChatTemplate, Message, RenderInput, TemplateSources, Tokenizer, TokenizerConfig, on_deep_stack};

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let file = br#"{"model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1}, "merges": []},
        "added_tokens": [{"id": 1, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}]}"#;
    Tokenizer::from_json(file, &TokenizerConfig::default()).expect("a valid tokenizer")
});

fuzz_target!(|source: &str| {
    let messages = [Message::new("system", "Be brief. <s>"), Message::new("user", "a<s>"), Message::new("assistant", "")];
    let _ = on_deep_stack(|| {
        let template = ChatTemplate::new(TemplateSources::single(source), &TOKENIZER);
        template.render(&RenderInput {
            messages: &messages,
            add_generation_prompt: true,
            plain_content: true,
            ..RenderInput::default()
        })
    });
});
