//! FIELD_CASES 5: dates are local. Alone in its process, because the time zone belongs to the process.

use std::time::{Duration, UNIX_EPOCH};

use tactus::text::{ChatTemplate, RenderInput, TemplateSources, Tokenizer, TokenizerConfig};

#[test]
fn dates_are_of_the_local_time_zone() {
    // SAFETY: the only thread of this process that reads or writes the environment.
    unsafe { std::env::set_var("TZ", "Pacific/Auckland") };
    let file = br#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;
    let tokenizer = Tokenizer::from_json(file, &TokenizerConfig::default()).unwrap();
    let template = ChatTemplate::new(TemplateSources::single("{{ strftime_now('%Y-%m-%d %H:%M:%S %z') }}"), &tokenizer);
    let now = UNIX_EPOCH + Duration::from_secs(1_772_370_000);
    let rendered = template.render(&RenderInput { now: Some(now), ..RenderInput::default() }).unwrap();
    assert_eq!(rendered.text(), "2026-03-02 02:00:00 +1300");
}
