//! Writes safetensors files, right ones and wrong ones.

#![allow(dead_code)] // not every test needs all of it

/// A file to be.
#[derive(Clone, Debug, Default)]
pub struct SafetensorsFile {
    pub tensors: Vec<Tensor>,
    /// Spaces after the header, which writers use to align the data.
    pub padding: usize,
}

/// A tensor to be.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<u64>,
    pub data: Vec<u8>,
    /// What the header says of the data's place, if not where it is.
    pub offsets: Option<(u64, u64)>,
}

impl SafetensorsFile {
    pub fn new() -> Self {
        SafetensorsFile::default()
    }

    pub fn tensor(mut self, name: &str, dtype: &str, shape: &[u64], data: Vec<u8>) -> Self {
        self.tensors.push(Tensor { name: name.into(), dtype: dtype.into(), shape: shape.into(), data, offsets: None });
        self
    }

    /// A tensor of F32 values counting up from 0.
    pub fn counting(self, name: &str, shape: &[u64]) -> Self {
        let count: u64 = shape.iter().product();
        self.tensor(name, "F32", shape, (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect())
    }

    /// The header's JSON, without padding.
    pub fn header(&self) -> String {
        let mut at = 0;
        let mut entries = vec![r#""__metadata__":{"format":"pt"}"#.to_owned()];
        for Tensor { name, dtype, shape, data, offsets } in &self.tensors {
            let (start, end) = offsets.unwrap_or((at, at + data.len() as u64));
            let name = serde_json::to_string(name).unwrap();
            entries.push(format!(r#"{name}:{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#));
            at += data.len() as u64;
        }
        format!("{{{}}}", entries.join(","))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let header = self.header() + &" ".repeat(self.padding);
        file(header.as_bytes(), &self.tensors.iter().flat_map(|tensor| tensor.data.clone()).collect::<Vec<_>>())
    }
}

/// A file of this header and these data.
pub fn file(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}
