//! Reading JSON configuration files, with errors that name file, key, value and what was expected.

use std::fmt::Display;
use std::path::Path;

use serde_json::{Map, Value};

use super::access::read_small;
use super::shown::Shown;
use crate::error::{Error, Result, Status};

/// Files in use have up to some 2 MB. A parsed one takes many times its size in memory.
const LARGEST: usize = 16 << 20;

/// A JSON file of at most 16 MiB. Errors: NOT_FOUND, IO (no permission, a directory), FORMAT with line and column.
pub fn read_json(path: &Path) -> Result<Value> {
    let bytes = read_small(path, LARGEST)?;
    serde_json::from_slice(&bytes).map_err(|e| Error::format(format!("{}: {e}", path.display())))
}

/// A JSON file that may be missing. A link whose target is missing is an error: the download is not complete.
pub fn read_json_if_there(path: &Path) -> Result<Option<Value>> {
    match read_json(path) {
        Err(error) if error.status() == Status::NotFound && !path.is_symlink() => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// A value for messages, cut where it is long.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(values) if values.len() > 8 => format!("an array of {} values", values.len()),
        Value::Object(_) => "an object".to_owned(),
        other => Shown(&other.to_string()).to_string(),
    }
}

/// An object of a configuration file. A missing key and `null` are the same.
#[derive(Clone, Copy, Debug)]
pub struct ConfigReader<'a> {
    path: &'a Path,
    /// Where in the file, for errors: `"rope_scaling."`.
    within: &'a str,
    object: &'a Map<String, Value>,
}

impl<'a> ConfigReader<'a> {
    pub fn new(path: &'a Path, value: &'a Value) -> Result<Self> {
        match value.as_object() {
            Some(object) => Ok(ConfigReader { path, within: "", object }),
            None => Err(Error::format(format!("{}: {}, expected an object", path.display(), shown(value)))),
        }
    }

    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// An error about a key's value.
    pub fn refuse(&self, key: &str, value: impl Display, expected: impl Display) -> Error {
        Error::format(format!("{}: {}{key}: {value}, expected {expected}", self.path.display(), self.within))
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.object.keys().map(String::as_str)
    }

    fn typed<T>(&self, key: &str, expected: &str, convert: impl FnOnce(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| self.refuse(key, shown(value), expected))
    }

    fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| Error::format(format!("{}: {}{key} is missing", self.path.display(), self.within)))
    }

    /// A size: an integer of 1 or more.
    pub fn opt_usize(&self, key: &str) -> Result<Option<usize>> {
        self.typed(key, "an integer of 1 or more", |value| {
            value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0 && n <= u32::MAX as usize)
        })
    }

    pub fn usize(&self, key: &str) -> Result<usize> {
        self.needed(key, self.opt_usize(key)?)
    }

    pub fn opt_i64(&self, key: &str) -> Result<Option<i64>> {
        self.typed(key, "an integer", Value::as_i64)
    }

    pub fn opt_f32(&self, key: &str) -> Result<Option<f32>> {
        self.typed(key, "a finite number", |value| value.as_f64().map(|n| n as f32).filter(|n| n.is_finite()))
    }

    pub fn f32(&self, key: &str) -> Result<f32> {
        self.needed(key, self.opt_f32(key)?)
    }

    pub fn opt_bool(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub fn opt_str(&self, key: &str) -> Result<Option<&'a str>> {
        self.typed(key, "a string", Value::as_str)
    }

    pub fn str(&self, key: &str) -> Result<&'a str> {
        self.needed(key, self.opt_str(key)?)
    }

    pub fn opt_array(&self, key: &str) -> Result<Option<&'a [Value]>> {
        self.typed(key, "an array", |value| value.as_array().map(Vec::as_slice))
    }

    pub fn opt_f32s(&self, key: &str) -> Result<Option<Vec<f32>>> {
        self.typed(key, "an array of finite numbers", |value| {
            value.as_array()?.iter().map(|n| n.as_f64().map(|n| n as f32).filter(|n| n.is_finite())).collect()
        })
    }

    /// Token ids given as one number or as a list.
    pub fn ids(&self, key: &str) -> Result<Vec<u32>> {
        let id = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
        let ids = self.typed(key, "a token id or a list of them", |value| match value {
            Value::Array(values) => values.iter().map(id).collect(),
            value => id(value).map(|id| vec![id]),
        })?;
        Ok(ids.unwrap_or_default())
    }

    /// An object within this one. `within` is its path for errors, with a dot at its end.
    pub fn opt_object(&self, key: &str, within: &'a str) -> Result<Option<ConfigReader<'a>>> {
        let object = self.typed(key, "an object", Value::as_object)?;
        Ok(object.map(|object| ConfigReader { path: self.path, within, object }))
    }
}
