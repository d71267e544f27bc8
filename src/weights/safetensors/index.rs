//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::error::{Error, Result};
use crate::weights::access::read_small;
use crate::weights::shown::Shown;

/// An index of 150,000 tensors has some 20 MB.
const LARGEST: usize = 128 << 20;

/// What an index says.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Files, sorted, below the directory of the index.
    pub(super) files: Vec<String>,
    /// Tensors and the numbers of their files.
    pub(super) tensors: Vec<(String, u32)>,
}

impl Index {
    /// Errors: IO, FORMAT (malformed, or a file that is not below the index's directory), naming tensor and value.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = read_small(path, LARGEST)?;
        let whole: Whole = serde_json::from_slice(&bytes).map_err(|e| Error::format(format!("{}: {e}", path.display())))?;
        let Index { files, tensors } = whole.weight_map.0;
        if let Some((tensor, file)) =
            tensors.iter().map(|(name, file)| (name, &files[*file as usize])).find(|(_, file)| !is_below(file))
        {
            return Err(Error::format(format!(
                "{}: weight_map: tensor {} is in \"{}\", expected a file beside the index",
                path.display(),
                Shown(tensor),
                Shown(file)
            )));
        }
        Ok(Index { files, tensors })
    }
}

/// A relative path that stays below its directory.
fn is_below(file: &str) -> bool {
    !file.is_empty() && !file.contains('\0') && Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}

#[derive(Deserialize)]
struct Whole {
    weight_map: WeightMap,
}

struct WeightMap(Index);

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WeightMapVisitor)
    }
}

struct WeightMapVisitor;

impl<'de> Visitor<'de> for WeightMapVisitor {
    type Value = WeightMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from tensors to files")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<WeightMap, M::Error> {
        // Shards are named thousands of times: each name is kept once.
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut tensors = Vec::new();
        while let Some(tensor) = map.next_key::<String>()? {
            let file: String = map.next_value().map_err(|e| M::Error::custom(format_args!("tensor {}: {e}", Shown(&tensor))))?;
            let next = numbers.len() as u32;
            tensors.push((tensor, *numbers.entry(file).or_insert(next)));
        }
        // From order of appearance to sorted order.
        let mut sorted = vec![0; numbers.len()];
        for (position, &number) in numbers.values().enumerate() {
            sorted[number as usize] = position as u32;
        }
        for (_, file) in &mut tensors {
            *file = sorted[*file as usize];
        }
        Ok(WeightMap(Index { files: numbers.into_keys().collect(), tensors }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_directory_are_told_from_those_below_it() {
        for below in ["model-00001-of-00002.safetensors", "part/one.safetensors", "..name", "модель"] {
            assert!(is_below(below), "{below}");
        }
        for other in ["", "/etc/passwd", "../x", "a/../b", "./x", "..", "a\0b"] {
            assert!(!is_below(other), "{other:?}");
        }
    }
}
