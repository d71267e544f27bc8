//! Text in, tokens out, and back: tokenizer, chat templates, incremental detokenisation.
//!
//! Owns: vocabularies (from `tokenizer.json` or from GGUF metadata, both become one [`Tokenizer`]), chat templates and how they are
//! rendered, and how tokens become text while they arrive. Never reads weights, never opens a model file (bytes and metadata come
//! from the caller), knows nothing of requests, sampling or stop strings.
//!
//! | file | what it owns |
//! |---|---|
//! | [`message`] | chat messages as templates read them |
//! | [`template`] | the set of a model's templates, rendering, and the marks that keep user text from forging control tokens |
//! | [`tokenizer`] | vocabulary, encoding, decoding |
//! | [`detokenizer`] | the decoder as a pipeline that takes one token at a time |
//! | `deep_stack` | running all of that where the stack is deep enough |

mod deep_stack;
pub mod detokenizer;
pub mod message;
pub mod template;
pub mod tokenizer;

pub use deep_stack::{on_deep_stack, on_deep_stack_beside};
pub use detokenizer::Detokenizer;
pub use message::{Content, Message, Part};
pub use template::{ChatTemplate, RenderInput, Rendered, TemplateSources};
pub use tokenizer::{EncodeOptions, GgufVocab, Tokenizer, TokenizerConfig};

#[cfg(test)]
pub(crate) mod test_support;
