//! Where templates come from.

use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};

/// The template used unless another is named.
const DEFAULT: &str = "default";

/// Named templates, not compiled yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSources {
    /// Names are unique.
    templates: Vec<(String, String)>,
}

impl TemplateSources {
    /// One template for everything, such as an override from the configuration.
    pub fn single(source: impl Into<String>) -> Self {
        TemplateSources { templates: vec![(DEFAULT.to_string(), source.into())] }
    }

    /// Adds a template; one of the same name is replaced.
    pub fn add(&mut self, name: impl Into<String>, source: impl Into<String>) {
        let (name, source) = (name.into(), source.into());
        match self.templates.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = source,
            None => self.templates.push((name, source)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// The `chat_template` of a `tokenizer_config.json`: one text, or a list of objects with `name` and `template`.
    ///
    /// Errors: FORMAT naming the entry.
    pub fn from_tokenizer_config(config: &Value) -> Result<Self> {
        let mut sources = TemplateSources::default();
        match config.get("chat_template") {
            None | Some(Value::Null) => (),
            Some(Value::String(source)) => sources.add(DEFAULT, source),
            Some(Value::Array(entries)) => {
                for (at, entry) in entries.iter().enumerate() {
                    let text = |key: &str| entry.get(key).and_then(Value::as_str);
                    let (Some(name), Some(source)) = (text("name"), text("template")) else {
                        return Err(Error::format(format!(
                            "tokenizer_config.json: chat_template[{at}]: expected an object with the texts name and template"
                        )));
                    };
                    sources.add(name, source);
                }
            }
            Some(_) => {
                return Err(Error::format("tokenizer_config.json: chat_template: expected a text or a list of named texts"));
            }
        }
        Ok(sources)
    }

    /// All templates of a model directory: those of its `tokenizer_config.json` (given parsed, if there is one), replaced by
    /// `chat_template.jinja`, joined by every `additional_chat_templates/NAME.jinja`, as transformers loads them (FIELD_CASES 12).
    ///
    /// Errors: FORMAT for a malformed configuration or a file that is not UTF-8; IO.
    pub fn from_dir(dir: &Path, tokenizer_config: Option<&Value>) -> Result<Self> {
        let mut sources = match read(&dir.join("chat_template.jinja"))? {
            // Where files are, the configuration's templates are not read at all.
            Some(source) => TemplateSources::single(source),
            None => tokenizer_config.map(Self::from_tokenizer_config).transpose()?.unwrap_or_default(),
        };
        let additional = dir.join("additional_chat_templates");
        let entries = match std::fs::read_dir(&additional) {
            Ok(entries) => entries,
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(sources),
            Err(e) => return Err(Error::io(&additional, &e)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|e| Error::io(&additional, &e))?.path());
        }
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "jinja")) {
            if let (Some(name), Some(source)) = (path.file_stem().and_then(|stem| stem.to_str()), read(path)?) {
                sources.add(name, source);
            }
        }
        Ok(sources)
    }

    /// The templates of a GGUF file: `tokenizer.chat_template`, and `tokenizer.chat_template.NAME` by name.
    pub fn from_gguf<'a>(default: Option<&str>, named: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut sources = default.map(Self::single).unwrap_or_default();
        for (name, source) in named {
            sources.add(name, source);
        }
        sources
    }

    /// The default one first, then in the order they were added.
    pub(super) fn into_templates(self) -> impl Iterator<Item = (String, String)> {
        let (default, named): (Vec<_>, Vec<_>) = self.templates.into_iter().partition(|(name, _)| name == DEFAULT);
        default.into_iter().chain(named)
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(e) => Err(Error::format(format!("{}: not UTF-8 at byte {}", path.display(), e.utf8_error().valid_up_to()))),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path, &e)),
    }
}
