//! The one error type, and the status code every error carries.
//!
//! Callers match on [`Status`]; people read the message. A message names the thing, its value, what was expected, and where.

use std::fmt;

/// Status codes of the C ABI. Values never change; new ones are added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Status {
    Ok = 0,
    InvalidArgument = 1,
    NotFound = 2,
    Io = 3,
    /// A file is malformed.
    Format = 4,
    Unsupported = 5,
    Template = 6,
    Tokenizer = 7,
    /// A prompt, or prompt and requested output, does not fit; see [`CapacityNumbers`].
    ContextFull = 8,
    /// No seat or no page is free; see [`CapacityNumbers`].
    NoCapacity = 9,
    Busy = 10,
    Cancelled = 11,
    Cuda = 12,
    Collective = 13,
    OutOfMemory = 14,
    /// Wrong call order.
    State = 15,
    /// A caught panic.
    Internal = 16,
    Timeout = 17,
    DeviceLost = 18,
    /// The process forked after the library was used; the child cannot go on with the parent's handles.
    Forked = 19,
    DeviceOutOfMemory = 20,
}

/// The figures of a `ContextFull` or `NoCapacity` error, in tokens (or in seats or pages where the message says so).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityNumbers {
    pub prompt: u64,
    pub requested: u64,
    pub limit: u64,
}

/// What went wrong, for code ([`Status`]) and for people (the message).
#[derive(Clone, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    status: Status,
    message: String,
    capacity: Option<CapacityNumbers>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { status, message: message.into(), capacity: None }))
    }

    pub fn with_capacity(mut self, numbers: CapacityNumbers) -> Self {
        self.0.capacity = Some(numbers);
        self
    }

    /// Puts `what` before the message, keeping the status: `"rank 1: no such file: …"`.
    pub fn context(mut self, what: impl fmt::Display) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    pub fn status(&self) -> Status {
        self.0.status
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn capacity(&self) -> Option<CapacityNumbers> {
        self.0.capacity
    }

    /// An I/O error on `path`: NotFound where the file is missing, Io otherwise.
    pub fn io(path: &std::path::Path, error: &std::io::Error) -> Self {
        let status = match error.kind() {
            std::io::ErrorKind::NotFound => Status::NotFound,
            std::io::ErrorKind::OutOfMemory => Status::OutOfMemory,
            _ => Status::Io,
        };
        Error::new(status, format!("{}: {error}", path.display()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.status, self.0.message)
    }
}

macro_rules! constructors {
    ($($name:ident => $status:ident),* $(,)?) => {
        impl Error {
            $(pub fn $name(message: impl Into<String>) -> Self {
                Error::new(Status::$status, message)
            })*
        }
    };
}

constructors! {
    invalid => InvalidArgument, not_found => NotFound, format => Format, unsupported => Unsupported, template => Template,
    tokenizer => Tokenizer, context_full => ContextFull, no_capacity => NoCapacity, busy => Busy, cancelled => Cancelled,
    out_of_memory => OutOfMemory, state => State, internal => Internal, timeout => Timeout,
}
