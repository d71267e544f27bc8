//! The JSON doors: configurations and requests from JSON, responses and figures to JSON.
//!
//! Keys are snake_case as in the OpenAI chat shape; the camelCase spelling of the coordinator's own names is accepted too. A key
//! that is not known is refused by name, so that a misspelt option is never ignored.

mod config;
mod info;
mod message;
mod read;
mod request;
mod response;

pub use config::config_from_json;
pub use info::{capabilities_to_json, info_to_json};
pub use message::{message_from_json, tools_from_json, variables_from_json};
pub use request::{guide_from_text, request_from_json};
pub use response::{coordinator_to_json, response_to_json, saved_prompts_to_json};
