//! A weight as the model names it, before a backend has packed it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::weights::StoredTensor;

/// How the rows of a stored tensor map to the rows of the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    AsStored,
    /// The file holds each head's rows as interleaved rotary pairs (GGUF files of the llama family); the weight has them
    /// half-split: row `h * head_dim + i + j * head_dim / 2` of the weight is stored row `h * head_dim + 2 * i + j`, j in {0, 1}.
    InterleavedPairs {
        head_dim: usize,
    },
}

impl RowOrder {
    /// The stored row that becomes row `row`.
    pub fn stored_row(self, row: usize) -> usize {
        match self {
            RowOrder::AsStored => row,
            RowOrder::InterleavedPairs { head_dim } => {
                let (head, within) = (row / head_dim, row % head_dim);
                let half = head_dim / 2;
                head * head_dim + 2 * (within % half) + within / half
            }
        }
    }
}

/// A stored matrix `[rows, cols]` that makes up consecutive rows of a weight.
#[derive(Clone, Debug)]
pub struct WeightPart {
    /// What adapters and errors call it, e.g. `model.layers.0.self_attn.q_proj`.
    pub name: String,
    pub tensor: StoredTensor,
    pub order: RowOrder,
}

/// A matrix of `rows` outputs and `cols` inputs, made of parts stacked along the rows. Parts may be stored in different types.
#[derive(Clone, Debug)]
pub struct Weight {
    pub rows: usize,
    pub cols: usize,
    pub parts: Vec<WeightPart>,
}

impl Weight {
    /// Whether the parts make up the weight.
    ///
    /// Errors: FORMAT naming the part whose shape or size is not what the weight needs.
    pub(in crate::backend) fn check(&self) -> Result<()> {
        let mut rows = 0usize;
        for part in &self.parts {
            let tensor = &part.tensor;
            let found = || format!("{}: {:?} {}", tensor.name, tensor.shape, tensor.ty);
            let &[part_rows, cols] = tensor.shape.as_slice() else {
                return Err(Error::format(format!("{}, expected a matrix of {} columns ({})", found(), self.cols, part.name)));
            };
            if cols != self.cols {
                return Err(Error::format(format!("{}, expected {} columns ({})", found(), self.cols, part.name)));
            }
            let per_row = tensor.ty.bytes_for(cols).ok_or_else(|| {
                Error::format(format!("{}, expected columns in whole blocks of {}", found(), tensor.ty.block_elements()))
            })?;
            if per_row.checked_mul(part_rows) != Some(tensor.data.len()) {
                return Err(Error::format(format!(
                    "{}, expected {part_rows} rows of {per_row} bytes, found {} bytes",
                    found(),
                    tensor.data.len()
                )));
            }
            if let RowOrder::InterleavedPairs { head_dim } = part.order
                && (head_dim == 0 || head_dim % 2 != 0 || part_rows % head_dim != 0)
            {
                return Err(Error::format(format!("{}, expected rows in heads of an even width, here {head_dim}", found())));
            }
            rows = rows.saturating_add(part_rows);
        }
        if rows != self.rows {
            let names: Vec<&str> = self.parts.iter().map(|p| p.tensor.name.as_str()).collect();
            return Err(Error::format(format!("{}: {rows} rows, expected {}", names.join(" + "), self.rows)));
        }
        Ok(())
    }
}

/// What ops read a weight, so that `pack` lays it out for all of them once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeightUse {
    /// Rows are gathered by token id.
    pub embed: bool,
    /// The matrix is multiplied with activations.
    pub linear: bool,
}

/// A weight or vector in a backend's own layout.
#[derive(Clone)]
pub struct Packed {
    pub(crate) data: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

impl Packed {
    pub fn new<T: Any + Send + Sync>(data: T, bytes: u64) -> Self {
        Packed { data: Arc::new(data), bytes }
    }

    /// The backend's own type; `None` where another backend packed it.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.data.downcast_ref()
    }

    /// Bytes it holds on its device.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packed, {} bytes", self.bytes)
    }
}
