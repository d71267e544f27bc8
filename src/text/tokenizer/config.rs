//! What `tokenizer_config.json` and `special_tokens_map.json` say beside `tokenizer.json`.

use serde_json::Value;
use tokenizers::AddedToken;

use crate::error::{Error, Result};

/// An added token as `added_tokens_decoder` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedTokenConfig {
    pub content: String,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
    pub normalized: bool,
    pub special: bool,
}

impl AddedTokenConfig {
    pub(super) fn to_added(&self) -> AddedToken {
        AddedToken {
            content: self.content.clone(),
            single_word: self.single_word,
            lstrip: self.lstrip,
            rstrip: self.rstrip,
            normalized: self.normalized,
            special: self.special,
        }
    }
}

/// The parts of the configuration that change which ids a text becomes, and the texts that templates are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenizerConfig {
    pub bos: Option<String>,
    pub eos: Option<String>,
    pub unk: Option<String>,
    pub pad: Option<String>,
    pub sep: Option<String>,
    pub cls: Option<String>,
    pub mask: Option<String>,
    /// Further special tokens.
    pub additional: Vec<String>,
    /// Entries of `added_tokens_decoder`, in order of their ids.
    pub added_tokens: Vec<AddedTokenConfig>,
    /// `add_bos_token` and `add_eos_token`, if either is present; followed where `tokenizer.json` has no rule of its own.
    pub add_bos_eos: Option<(bool, bool)>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json`; what it leaves open is taken from `special_tokens_map.json`. A token may be a string or an object
    /// with `content` (FIELD_CASES 14).
    ///
    /// Errors: FORMAT naming the key.
    pub fn from_json(tokenizer_config: Option<&Value>, special_tokens_map: Option<&Value>) -> Result<Self> {
        let files = [("tokenizer_config.json", tokenizer_config), ("special_tokens_map.json", special_tokens_map)];
        for (name, file) in files {
            if let Some(other) = file.filter(|file| !file.is_object()) {
                return Err(Error::format(format!("{name}: {}, expected an object", kind(other))));
            }
        }
        let token = |key: &str| -> Result<Option<String>> {
            for (name, file) in files {
                if let Some(value) = file.and_then(|file| file.get(key)).filter(|value| !value.is_null()) {
                    return Ok(Some(
                        token_text(value).ok_or_else(|| wrong(name, key, value, "a string or an object with content"))?,
                    ));
                }
            }
            Ok(None)
        };
        let mut additional = Vec::new();
        for (name, file) in files {
            for key in ["additional_special_tokens", "extra_special_tokens"] {
                match file.and_then(|file| file.get(key)) {
                    None | Some(Value::Null) => (),
                    Some(Value::Array(tokens)) => {
                        for value in tokens {
                            additional.push(token_text(value).ok_or_else(|| wrong(name, key, value, "tokens"))?);
                        }
                    }
                    Some(Value::Object(tokens)) => {
                        for value in tokens.values() {
                            additional.push(token_text(value).ok_or_else(|| wrong(name, key, value, "tokens"))?);
                        }
                    }
                    Some(value) => return Err(wrong(name, key, value, "an array of tokens")),
                }
            }
        }
        let config = tokenizer_config.and_then(Value::as_object);
        let flag = |key: &str| -> Result<Option<bool>> {
            match config.and_then(|config| config.get(key)) {
                None => Ok(None),
                Some(Value::Null) => Ok(Some(false)),
                Some(Value::Bool(flag)) => Ok(Some(*flag)),
                Some(value) => Err(wrong("tokenizer_config.json", key, value, "true or false")),
            }
        };
        let (add_bos, add_eos) = (flag("add_bos_token")?, flag("add_eos_token")?);
        let explicit = add_bos.is_some() || add_eos.is_some();
        Ok(TokenizerConfig {
            bos: token("bos_token")?,
            eos: token("eos_token")?,
            unk: token("unk_token")?,
            pad: token("pad_token")?,
            sep: token("sep_token")?,
            cls: token("cls_token")?,
            mask: token("mask_token")?,
            additional,
            added_tokens: added_tokens(config.and_then(|config| config.get("added_tokens_decoder")))?,
            add_bos_eos: explicit.then(|| (add_bos.unwrap_or(false), add_eos.unwrap_or(false))),
        })
    }
}

impl TokenizerConfig {
    /// Tokens with a role, by the name templates know.
    pub(super) fn texts(&self) -> Vec<(&'static str, String)> {
        let roles = [
            ("bos_token", &self.bos),
            ("eos_token", &self.eos),
            ("unk_token", &self.unk),
            ("sep_token", &self.sep),
            ("pad_token", &self.pad),
            ("cls_token", &self.cls),
            ("mask_token", &self.mask),
        ];
        roles.into_iter().filter_map(|(role, text)| Some((role, text.clone()?))).collect()
    }
}

fn added_tokens(entries: Option<&Value>) -> Result<Vec<AddedTokenConfig>> {
    const KEY: &str = "added_tokens_decoder";
    let name = "tokenizer_config.json";
    let entries = match entries {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(entries)) => entries,
        Some(value) => return Err(wrong(name, KEY, value, "an object")),
    };
    let mut tokens = Vec::with_capacity(entries.len());
    for (id, value) in entries {
        let number: u32 = id.parse().map_err(|_| Error::format(format!("{name}: {KEY}: key \"{id}\", expected a token id")))?;
        let content = token_text(value).ok_or_else(|| wrong(name, KEY, value, "objects with content"))?;
        let flag = |key: &str| value.get(key).and_then(Value::as_bool);
        let special = flag("special").unwrap_or(false);
        let token = AddedTokenConfig {
            content,
            single_word: flag("single_word").unwrap_or(false),
            lstrip: flag("lstrip").unwrap_or(false),
            rstrip: flag("rstrip").unwrap_or(false),
            normalized: flag("normalized").unwrap_or(!special),
            special,
        };
        tokens.push((number, token));
    }
    tokens.sort_by_key(|(id, _)| *id);
    Ok(tokens.into_iter().map(|(_, token)| token).collect())
}

/// The text of a token given as a string or as an object with `content`.
fn token_text(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_string)
}

fn wrong(file: &str, key: &str, value: &Value, expected: &str) -> Error {
    Error::format(format!("{file}: {key}: {}, expected {expected}", kind(value)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
