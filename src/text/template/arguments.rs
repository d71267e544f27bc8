//! Arguments of a filter or method, by position or by name as Python has them.

use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Error, ErrorKind};

/// Arguments that have not been asked for yet. They are asked for in the order of their positions.
pub(super) struct Arguments {
    positional: std::vec::IntoIter<Value>,
    keywords: Kwargs,
}

impl Arguments {
    pub(super) fn new(positional: Rest<Value>, keywords: Kwargs) -> Self {
        Arguments { positional: positional.0.into_iter(), keywords }
    }

    /// From a call's arguments, of which the last may hold those by name.
    pub(super) fn of_call(args: &[Value]) -> Result<Self, Error> {
        match args.split_last() {
            Some((last, rest)) if last.is_kwargs() => Ok(Arguments::new(Rest(rest.to_vec()), Kwargs::try_from(last.clone())?)),
            _ => Ok(Arguments::new(Rest(args.to_vec()), Kwargs::from_iter(std::iter::empty::<(&str, Value)>()))),
        }
    }

    /// The next argument, which has this name.
    pub(super) fn value(&mut self, name: &str) -> Result<Option<Value>, Error> {
        match self.positional.next() {
            Some(value) => Ok(Some(value)),
            None => self.keywords.get(name),
        }
    }

    /// The next argument, where `None` is as good as no argument.
    pub(super) fn given(&mut self, name: &str) -> Result<Option<Value>, Error> {
        Ok(self.value(name)?.filter(|value| !value.is_none()))
    }

    /// The next argument as a number.
    pub(super) fn number<T: TryFrom<Value, Error = Error>>(&mut self, name: &str) -> Result<Option<T>, Error> {
        self.given(name)?.map(T::try_from).transpose()
    }

    /// The next argument as a text.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.given(name)? else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_string())),
            None => Err(Error::new(ErrorKind::InvalidOperation, format!("{name}: expected a text, not {}", value.kind()))),
        }
    }

    /// The next argument as a condition.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.value(name)?.is_some_and(|value| value.is_true()))
    }

    /// Everything has been asked for: what is left was not expected.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        match self.positional.next() {
            Some(_) => Err(Error::from(ErrorKind::TooManyArguments)),
            None => self.keywords.assert_all_used(),
        }
    }
}
