//! Writes GGUF files, right ones and wrong ones: what it is told is written, whether or not it makes sense.
//!
//! The bytes come with the place of every field, so that a test can go for one. Format: the GGUF specification (`docs/gguf.md` in the
//! ggml repository).

#![allow(dead_code)] // not every test needs all of it

use std::ops::Range;

/// A file to be.
#[derive(Clone, Debug)]
pub struct GgufFile {
    pub version: u32,
    /// What tensor data is laid out by; the key `general.alignment` is the caller's to add.
    pub alignment: u64,
    pub metadata: Vec<(Vec<u8>, Value)>,
    pub tensors: Vec<Tensor>,
}

/// A metadata value. `Array` takes its element type from `kind`, so that empty and lying arrays can be written.
#[derive(Clone, Debug)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(u8),
    Str(Vec<u8>),
    Array { kind: u32, values: Vec<Value> },
    U64(u64),
    I64(i64),
    F64(f64),
}

pub const STRING: u32 = 8;
pub const ARRAY: u32 = 9;

impl Value {
    /// The type's number in the file.
    pub fn kind(&self) -> u32 {
        match self {
            Value::U8(_) => 0,
            Value::I8(_) => 1,
            Value::U16(_) => 2,
            Value::I16(_) => 3,
            Value::U32(_) => 4,
            Value::I32(_) => 5,
            Value::F32(_) => 6,
            Value::Bool(_) => 7,
            Value::Str(_) => STRING,
            Value::Array { .. } => ARRAY,
            Value::U64(_) => 10,
            Value::I64(_) => 11,
            Value::F64(_) => 12,
        }
    }

    /// An array of at least one value, all of one type.
    pub fn array(values: Vec<Value>) -> Value {
        Value::Array { kind: values[0].kind(), values }
    }

    pub fn strings(texts: &[&str]) -> Value {
        Value::Array { kind: STRING, values: texts.iter().map(|&text| text.into()).collect() }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Str(text.as_bytes().to_vec())
    }
}

/// A tensor to be.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: Vec<u8>,
    /// As the file has them: the innermost first.
    pub dimensions: Vec<u64>,
    /// The type's number.
    pub kind: u32,
    pub data: Vec<u8>,
    /// Where the table says the data is, if not where it is.
    pub offset: Option<u64>,
}

/// What a range of a file's bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Magic,
    Version,
    TensorCount,
    KeyCount,
    KeyLength,
    Key,
    ValueType,
    Scalar,
    StringLength,
    String,
    ElementType,
    ElementCount,
    NameLength,
    Name,
    DimensionCount,
    Dimension,
    TensorType,
    Offset,
    Padding,
    Data,
}

/// Bytes and the place of each field, in order.
pub struct Written {
    pub bytes: Vec<u8>,
    pub fields: Vec<(Field, Range<usize>)>,
}

impl GgufFile {
    pub fn new() -> Self {
        GgufFile { version: 3, alignment: 32, metadata: Vec::new(), tensors: Vec::new() }
    }

    pub fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.push((key.as_bytes().to_vec(), value.into()));
        self
    }

    /// `shape` is row-major, the outermost first.
    pub fn tensor(mut self, name: &str, shape: &[u64], kind: u32, data: Vec<u8>) -> Self {
        let dimensions = shape.iter().rev().copied().collect();
        self.tensors.push(Tensor { name: name.as_bytes().to_vec(), dimensions, kind, data, offset: None });
        self
    }

    /// A tensor of F32 values counting up from 0.
    pub fn counting(self, name: &str, shape: &[u64]) -> Self {
        let count: u64 = shape.iter().product();
        self.tensor(name, shape, 0, (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect())
    }

    /// Sets `general.alignment` and lays data out by it.
    pub fn aligned(mut self, alignment: u32) -> Self {
        self.alignment = alignment.into();
        self.key("general.alignment", Value::U32(alignment))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.write().bytes
    }

    pub fn write(&self) -> Written {
        let mut out = Written { bytes: Vec::new(), fields: Vec::new() };
        out.put(Field::Magic, b"GGUF");
        out.put(Field::Version, &self.version.to_le_bytes());
        out.put(Field::TensorCount, &(self.tensors.len() as u64).to_le_bytes());
        out.put(Field::KeyCount, &(self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            out.string(Field::KeyLength, Field::Key, key);
            out.put(Field::ValueType, &value.kind().to_le_bytes());
            out.value(value);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            out.string(Field::NameLength, Field::Name, &tensor.name);
            out.put(Field::DimensionCount, &(tensor.dimensions.len() as u32).to_le_bytes());
            for dimension in &tensor.dimensions {
                out.put(Field::Dimension, &dimension.to_le_bytes());
            }
            out.put(Field::TensorType, &tensor.kind.to_le_bytes());
            out.put(Field::Offset, &tensor.offset.unwrap_or(offset).to_le_bytes());
            offset += (tensor.data.len() as u64).next_multiple_of(self.alignment);
        }
        for tensor in &self.tensors {
            out.pad(self.alignment);
            out.put(Field::Data, &tensor.data);
        }
        out.pad(self.alignment);
        out
    }
}

impl Written {
    /// Fields of a kind, in order.
    pub fn of(&self, field: Field) -> impl Iterator<Item = Range<usize>> {
        self.fields.iter().filter(move |(found, _)| *found == field).map(|(_, range)| range.clone())
    }

    fn put(&mut self, field: Field, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.fields.push((field, start..self.bytes.len()));
    }

    fn string(&mut self, length: Field, contents: Field, bytes: &[u8]) {
        self.put(length, &(bytes.len() as u64).to_le_bytes());
        self.put(contents, bytes);
    }

    fn pad(&mut self, alignment: u64) {
        let padding = (self.bytes.len() as u64).next_multiple_of(alignment) - self.bytes.len() as u64;
        self.put(Field::Padding, &vec![0; padding as usize]);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::U8(value) => self.put(Field::Scalar, &[*value]),
            Value::I8(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::U16(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::I16(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::U32(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::I32(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::F32(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::Bool(value) => self.put(Field::Scalar, &[*value]),
            Value::Str(bytes) => self.string(Field::StringLength, Field::String, bytes),
            Value::U64(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::I64(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::F64(value) => self.put(Field::Scalar, &value.to_le_bytes()),
            Value::Array { kind, values } => {
                self.put(Field::ElementType, &kind.to_le_bytes());
                self.put(Field::ElementCount, &(values.len() as u64).to_le_bytes());
                for value in values {
                    self.value(value);
                }
            }
        }
    }
}
