//! A decoder's weights and vectors found in a file: every name and shape checked before anything is read.

use std::fmt;
use std::path::Path;

use super::decoder::{Decoder, Extent, PartSlot, WeightSlot};
use super::families::Family;
use super::names::{Kind, Naming, Role, Root, TensorId};
use crate::backend::{RowOrder, Weight, WeightPart, WeightUse};
use crate::error::{Error, Result};
use crate::weights::gguf::Gguf;
use crate::weights::safetensors::Checkpoint;
use crate::weights::{StoredTensor, TensorSource, quant};

/// Where a decoder's tensors are stored, and what they are called there.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub source: &'a dyn TensorSource,
    pub naming: Naming,
    /// What `source` holds, for errors.
    pub path: &'a Path,
}

impl<'a> Stored<'a> {
    /// Tensors of a GGUF file.
    pub fn gguf(file: &'a Gguf) -> Self {
        Stored { source: file, naming: Naming::Gguf, path: file.path() }
    }

    /// Tensors of a Hugging Face checkpoint in `path`, wherever in it `family` keeps its decoder.
    pub fn hugging_face(checkpoint: &'a Checkpoint, family: &Family, path: &'a Path) -> Self {
        let embedding = TensorId::weight(None, Role::Embedding);
        let namings = family.hf_roots.iter().map(|&root| Naming::HuggingFace(root));
        let naming = namings.clone().find(|naming| checkpoint.shape(&naming.name(&embedding, family.names)).is_some());
        let naming = naming.or(namings.into_iter().next()).unwrap_or(Naming::HuggingFace(Root::PLAIN));
        Stored { source: checkpoint, naming, path }
    }

    /// `None` where there is no such tensor.
    pub fn find(&self, id: &TensorId, family: &Family) -> Result<Option<StoredTensor>> {
        self.source.tensor(&self.naming.name(id, family.names))
    }
}

/// A decoder's tensors as they lie in their files: no bytes of theirs have been read yet.
#[derive(Debug)]
pub struct Binding {
    /// Indexed by [`WeightId`](crate::backend::WeightId).
    pub weights: Vec<(Weight, WeightUse)>,
    /// Indexed by [`VectorId`](crate::backend::VectorId).
    pub vectors: Vec<BoundVector>,
}

/// A vector made of one stored tensor after another.
#[derive(Debug)]
pub struct BoundVector {
    parts: Vec<BoundPart>,
}

#[derive(Debug)]
struct BoundPart {
    tensor: StoredTensor,
    order: RowOrder,
    /// Added to every value.
    offset: f32,
}

impl Binding {
    /// Finds every tensor of `decoder`.
    ///
    /// Errors: NOT_FOUND for a missing tensor, FORMAT for a wrong shape, UNSUPPORTED for a stored type that does not load; all name
    /// the tensor and the file.
    pub fn new(decoder: &Decoder, family: &Family, stored: Stored) -> Result<Self> {
        let binder = Binder { family, stored };
        let weights = decoder.weights().iter().map(|slot| Ok((binder.weight(slot)?, slot.uses))).collect::<Result<_>>()?;
        let vectors = decoder.vectors().iter().map(|slot| binder.vector(&slot.parts)).collect::<Result<_>>()?;
        Ok(Binding { weights, vectors })
    }

    /// Every tensor in use, once.
    pub fn tensors(&self) -> impl Iterator<Item = &StoredTensor> {
        let weights = self.weights.iter().flat_map(|(weight, _)| weight.parts.iter().map(|part| &part.tensor));
        weights.chain(self.vectors.iter().flat_map(BoundVector::tensors))
    }
}

impl BoundVector {
    pub fn tensors(&self) -> impl Iterator<Item = &StoredTensor> {
        self.parts.iter().map(|part| &part.tensor)
    }

    /// The values, decoded and in the decoder's order.
    pub fn values(&self) -> Result<Vec<f32>> {
        let mut values = Vec::with_capacity(self.tensors().map(StoredTensor::elements).sum());
        for part in &self.parts {
            let stored = decoded(&part.tensor)?;
            values.extend((0..stored.len()).map(|row| stored[part.order.stored_row(row)] + part.offset));
        }
        Ok(values)
    }
}

/// All values of a tensor in f32, by the plain reference decoding: for vectors, not for matrices.
pub(super) fn decoded(tensor: &StoredTensor) -> Result<Vec<f32>> {
    let mut values = vec![0.0; tensor.elements()];
    quant::dequantize(tensor.ty, &tensor.data.read()?, &mut values)?;
    Ok(values)
}

struct Binder<'a> {
    family: &'a Family,
    stored: Stored<'a>,
}

impl Binder<'_> {
    fn weight(&self, slot: &WeightSlot) -> Result<Weight> {
        let cols = slot.cols.size();
        let mut parts = Vec::with_capacity(slot.parts.len());
        for part in &slot.parts {
            let (name, tensor) = self.find(part, Some(slot.cols))?;
            if *tensor.shape != [part.rows.size(), cols] {
                return Err(self.wrong_shape(&name, &tensor, part.rows, Some(slot.cols)));
            }
            let order = self.order(part);
            parts.push(WeightPart { name: part.tensor.module(self.family.names), tensor, order });
        }
        let rows = slot.parts.iter().map(|part| part.rows.size()).sum();
        Ok(Weight { rows, cols, parts })
    }

    fn vector(&self, slots: &[PartSlot]) -> Result<BoundVector> {
        let mut parts = Vec::with_capacity(slots.len());
        for part in slots {
            let (name, tensor) = self.find(part, None)?;
            if *tensor.shape != [part.rows.size()] {
                return Err(self.wrong_shape(&name, &tensor, part.rows, None));
            }
            let is_norm = part.tensor.kind == Kind::Weight;
            let offset = match self.stored.naming {
                Naming::HuggingFace(_) if is_norm => self.family.hf_norm_offset,
                _ => 0.0,
            };
            parts.push(BoundPart { tensor, order: self.order(part), offset });
        }
        Ok(BoundVector { parts })
    }

    fn find(&self, part: &PartSlot, cols: Option<Extent>) -> Result<(String, StoredTensor)> {
        let name = self.stored.naming.name(&part.tensor, self.family.names);
        match self.stored.source.tensor(&name)? {
            Some(tensor) => Ok((name, tensor)),
            None => Err(Error::not_found(format!(
                "{name}: missing, expected {}{}, in {}",
                Expected { rows: part.rows, cols },
                untied(&part.tensor),
                self.stored.path.display()
            ))),
        }
    }

    fn order(&self, part: &PartSlot) -> RowOrder {
        match (self.stored.naming, part.tensor.role, part.rows) {
            (Naming::Gguf, Role::Query, Extent::Heads { head_dim, .. })
            | (Naming::Gguf, Role::Key, Extent::KvHeads { head_dim, .. })
                if self.family.gguf_pairs =>
            {
                RowOrder::InterleavedPairs { head_dim }
            }
            _ => RowOrder::AsStored,
        }
    }

    fn wrong_shape(&self, name: &str, tensor: &StoredTensor, rows: Extent, cols: Option<Extent>) -> Error {
        let file = self.stored.source.file_of(name).unwrap_or(self.stored.path);
        let found = match tensor.shape[..] {
            [values] => format!("{values} values"),
            [rows, cols] => format!("{rows} rows of {cols}"),
            _ => format!("shape {:?}", tensor.shape),
        };
        // Columns are mentioned where it is they that differ.
        let cols = cols.filter(|cols| tensor.shape.last() != Some(&cols.size()) || tensor.shape.len() != 2);
        Error::format(format!("{name}: {found} expected {} in {}", Expected { rows, cols }, file.display()))
    }
}

/// Prints `192 rows (3 KV heads × 64) of 576 (hidden size)`.
struct Expected {
    rows: Extent,
    cols: Option<Extent>,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows ({})", self.rows.size(), self.rows)?;
        match self.cols {
            Some(cols) => write!(f, " of {} ({cols})", cols.size()),
            None => Ok(()),
        }
    }
}

/// Why the head was looked for at all.
fn untied(tensor: &TensorId) -> &'static str {
    if tensor.role == Role::Head { " (tie_word_embeddings is false)" } else { "" }
}
