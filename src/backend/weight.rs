//! A weight as the model names it, before a backend has packed it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

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
