//! Weights in a device's layout: packed once per layout, shared by everyone who runs there.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::LoadProgress;
use crate::backend::{Backend, Packed};
use crate::error::{Error, Result};
use crate::model::Binding;
use crate::weights::StoredTensor;

/// A decoder's weights and vectors in one device's layout, indexed as its program names them.
pub struct PackedModel {
    pub weights: Arc<[Packed]>,
    pub vectors: Arc<[Packed]>,
    bytes: u64,
}

impl PackedModel {
    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Debug for PackedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} weights and {} vectors, {} bytes", self.weights.len(), self.vectors.len(), self.bytes)
    }
}

/// What has been packed, by layout. A second caller of a layout waits for the first one's work and shares it.
#[derive(Debug, Default)]
pub(super) struct PackedLayouts(Mutex<HashMap<String, Entry>>);

/// Locked while its layout is being packed.
type Entry = Arc<Mutex<Option<Arc<PackedModel>>>>;

impl PackedLayouts {
    /// Packs `binding` for `backend`, or hands out what was packed before. A failed or cancelled attempt leaves nothing behind.
    pub(super) fn get(
        &self,
        binding: &Binding,
        backend: &dyn Backend,
        progress: Option<&LoadProgress>,
    ) -> Result<Arc<PackedModel>> {
        let entry = self.0.lock().entry(backend.layout_key()).or_default().clone();
        let mut packed = entry.lock();
        if let Some(packed) = &*packed {
            return Ok(packed.clone());
        }
        let model = Arc::new(pack(binding, backend, &mut Progress::new(binding, progress))?);
        *packed = Some(model.clone());
        Ok(model)
    }
}

fn pack(binding: &Binding, backend: &dyn Backend, progress: &mut Progress) -> Result<PackedModel> {
    progress.report()?;
    let mut weights = Vec::with_capacity(binding.weights.len());
    for (weight, uses) in &binding.weights {
        weights.push(backend.pack(weight, *uses).map_err(|error| error.context(weight_name(weight)))?);
        progress.done(weight.parts.iter().map(|part| &part.tensor))?;
    }
    let mut vectors = Vec::with_capacity(binding.vectors.len());
    for vector in &binding.vectors {
        vectors.push(backend.pack_vector(&vector.values()?)?);
        progress.done(vector.tensors())?;
    }
    let bytes = weights.iter().chain(&vectors).map(Packed::bytes).sum();
    Ok(PackedModel { weights: weights.into(), vectors: vectors.into(), bytes })
}

fn weight_name(weight: &crate::backend::Weight) -> String {
    weight.parts.first().map_or_else(String::new, |part| part.name.clone())
}

/// Bytes of files read so far. Pages of mapped files are given back as soon as a weight has been packed from them.
struct Progress<'a> {
    callback: Option<&'a LoadProgress>,
    done: u64,
    total: u64,
}

impl<'a> Progress<'a> {
    fn new(binding: &Binding, callback: Option<&'a LoadProgress>) -> Self {
        Progress { callback, done: 0, total: binding.tensors().map(|tensor| tensor.data.len() as u64).sum() }
    }

    fn done<'t>(&mut self, tensors: impl Iterator<Item = &'t StoredTensor>) -> Result<()> {
        for tensor in tensors {
            self.done += tensor.data.len() as u64;
            tensor.data.release();
        }
        self.report()
    }

    fn report(&self) -> Result<()> {
        match self.callback {
            Some(proceed) if !proceed(self.done, self.total) => {
                Err(Error::cancelled(format!("loading was cancelled after {} of {} bytes", self.done, self.total)))
            }
            _ => Ok(()),
        }
    }
}
