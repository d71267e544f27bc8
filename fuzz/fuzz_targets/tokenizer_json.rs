//! `tokenizer.json`: what loads encodes and decodes without a panic, and a stream of its tokens is the text of its tokens.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tactus::text::{Detokenizer, EncodeOptions, Tokenizer, TokenizerConfig};

const TEXTS: [&str; 3] = ["Hello  world\n<s>é😸</s>", "", "a<|im_end|> \u{1F468}\u{200D}\u{1F469}\0ß"];

fuzz_target!(
    // A panic of the library that is caught and told as an error is none of a crash; libFuzzer's own hook would make it one.
    init: std::panic::set_hook(Box::new(|_| ())),
    |data: &[u8]| {
    let Ok(tokenizer) = Tokenizer::from_json(data, &TokenizerConfig::default()) else { return };
    for text in TEXTS {
        for options in [EncodeOptions::default(), EncodeOptions { add_special: true, parse_special: true }] {
            let Ok(ids) = tokenizer.encode(text, options) else { continue };
            let mut detokenizer = Detokenizer::new(false);
            let mut joined: String = ids.iter().map(|&id| detokenizer.push(&tokenizer, id).to_owned()).collect();
            joined.push_str(detokenizer.finish(&tokenizer));
            assert_eq!(joined, tokenizer.decode(&ids, false));
        }
    }
});
