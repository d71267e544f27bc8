//! Reading JSON values with errors that name the place: `sequences[1].messages[0].role: 5, expected a string`.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Parses `json`. Errors: INVALID_ARGUMENT with line and column.
pub(super) fn parse(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|e| Error::invalid(format!("json: {e}")))
}

/// A value and where it stands. The root's path is empty.
pub(super) struct Node {
    path: String,
    value: Value,
}

impl Node {
    pub(super) fn root(value: Value) -> Self {
        Node { path: String::new(), value }
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn into_value(self) -> Value {
        self.value
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// INVALID_ARGUMENT: the place, the value, what was expected.
    pub(super) fn wrong(&self, expected: &str) -> Error {
        Error::invalid(format!("{}: {}, expected {expected}", self.name(), brief(&self.value)))
    }

    pub(super) fn error(&self, message: &str) -> Error {
        Error::invalid(format!("{}: {message}", self.name()))
    }

    pub(super) fn name(&self) -> &str {
        if self.path.is_empty() { "json" } else { &self.path }
    }

    pub(super) fn object(self) -> Result<Fields> {
        match self.value {
            Value::Object(map) => Fields::new(self.path, map),
            _ => Err(self.wrong("an object")),
        }
    }

    pub(super) fn array(self) -> Result<Vec<Node>> {
        match self.value {
            Value::Array(values) => {
                let element = |(at, value)| Node { path: format!("{}[{at}]", self.path), value };
                Ok(values.into_iter().enumerate().map(element).collect())
            }
            _ => Err(self.wrong("an array")),
        }
    }

    pub(super) fn string(self) -> Result<String> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong("a string")),
        }
    }

    pub(super) fn bool(self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn f64(self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.wrong("a number"))
    }

    pub(super) fn f32(self) -> Result<f32> {
        let wide = self.value.as_f64().ok_or_else(|| self.wrong("a number"))?;
        let value = wide as f32;
        if value.is_finite() { Ok(value) } else { Err(self.wrong("a number within ±3.4e38")) }
    }

    /// A whole number that `T` holds.
    pub(super) fn integer<T: TryFrom<i128>>(self, expected: &str) -> Result<T> {
        let wide = self.value.as_i64().map(i128::from).or_else(|| self.value.as_u64().map(i128::from));
        wide.and_then(|wide| T::try_from(wide).ok()).ok_or_else(|| self.wrong(expected))
    }

    pub(super) fn count(self) -> Result<usize> {
        self.integer("a whole number of 0 or more")
    }

    pub(super) fn token(self) -> Result<i32> {
        self.integer("a token id")
    }
}

/// The members of an object, taken one by one; what is left at the end is unknown.
pub(super) struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    fn new(path: String, map: Map<String, Value>) -> Result<Self> {
        let mut fields = Fields { path, map: Map::with_capacity(map.len()) };
        for (key, value) in map {
            let snake = snake_case(&key);
            if fields.map.contains_key(&snake) {
                return Err(Error::invalid(format!("{}: given twice", fields.path_of(&key))));
            }
            fields.map.insert(snake, value);
        }
        Ok(fields)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// The member `key`, where there is one.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let value = self.map.shift_remove(key)?;
        Some(Node { path: self.path_of(key), value })
    }

    /// The member `key`, where there is one and it is not null.
    pub(super) fn given(&mut self, key: &str) -> Option<Node> {
        self.take(key).filter(|node| !node.is_null())
    }

    /// The member that goes by any of `keys`; two of them are refused.
    pub(super) fn one_of(&mut self, keys: &[&str]) -> Result<Option<Node>> {
        let mut found: Option<Node> = None;
        for key in keys {
            match (&found, self.given(key)) {
                (Some(first), Some(second)) => {
                    return Err(Error::invalid(format!("{} and {}: expected one of them", first.name(), second.name())));
                }
                (None, second) => found = second,
                (Some(_), None) => {}
            }
        }
        Ok(found)
    }

    pub(super) fn required(&mut self, key: &str) -> Result<Node> {
        let path = self.path_of(key);
        self.take(key).ok_or_else(|| Error::invalid(format!("{path}: missing")))
    }

    /// Refuses what has not been taken.
    pub(super) fn finish(self) -> Result<()> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(key) => Err(Error::invalid(format!("{}: unknown key", self.path_of(key)))),
        }
    }
}

/// `topP` and `top_p` are one key.
fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A value short enough for a message.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place_and_the_value() {
        let mut fields = Node::root(parse(r#"{"a": [{"b": "x"}], "other": 1}"#).unwrap()).object().unwrap();
        let mut inner = fields.take("a").unwrap().array().unwrap().remove(0).object().unwrap();
        let error = inner.take("b").unwrap().count().unwrap_err();
        assert_eq!(error.message(), "a[0].b: \"x\", expected a whole number of 0 or more");
        assert_eq!(inner.required("c").err().unwrap().message(), "a[0].c: missing");
        assert_eq!(fields.finish().unwrap_err().message(), "other: unknown key");
        assert_eq!(parse("{\"a\":}").unwrap_err().message(), "json: expected value at line 1 column 6");
    }

    #[test]
    fn both_spellings_are_one_key() {
        assert_eq!(snake_case("localRankDevices"), "local_rank_devices");
        assert_eq!(snake_case("top_p"), "top_p");
        let twice = Node::root(parse(r#"{"topP": 1, "top_p": 1}"#).unwrap()).object().err().unwrap();
        assert_eq!(twice.message(), "top_p: given twice");
    }

    #[test]
    fn whole_numbers_are_not_rounded_into_shape() {
        for json in ["1.5", "-1", "1e3", "18446744073709551616", "true", "\"1\""] {
            assert!(Node::root(parse(json).unwrap()).count().is_err(), "{json}");
        }
        assert_eq!(Node::root(parse("18446744073709551615").unwrap()).integer::<u64>("").unwrap(), u64::MAX);
        assert!(Node::root(parse("1e39").unwrap()).f32().is_err());
    }
}
