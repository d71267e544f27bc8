//! Models cut into several files.

use std::path::{Path, PathBuf};

use super::Part;
use super::metadata::Metadata;
use crate::error::{Error, Result};
use crate::weights::Access;

/// A set of parts, as one of them describes it.
pub(super) struct Split {
    count: usize,
    tensors: Option<usize>,
    /// File name before `-00001-of-00003.gguf`.
    stem: String,
    dir: PathBuf,
    opened: usize,
    path: PathBuf,
}

/// Names have five digits.
const MOST_PARTS: usize = 99_999;

impl Split {
    /// `None`: the file is a whole model.
    pub(super) fn of(metadata: &Metadata, path: &Path) -> Result<Option<Self>> {
        let count = metadata.usize("split.count")?.unwrap_or(0);
        if count <= 1 {
            return Ok(None);
        }
        let number = metadata.required("split.no", metadata.usize("split.no")?)?;
        if count > MOST_PARTS || number >= count {
            return Err(Error::format(format!("{}: split.no {number} of split.count {count}", path.display())));
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ending = suffix(number, count);
        let Some(stem) = name.strip_suffix(&ending) else {
            return Err(Error::format(format!(
                "{}: this is part {} of a model in {count} files, expected a name that ends in {ending} (renamed, or parts joined into one file?)",
                path.display(),
                number + 1
            )));
        };
        Ok(Some(Split {
            count,
            tensors: metadata.usize("split.tensors.count")?,
            stem: stem.to_string(),
            dir: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            opened: number,
            path: path.to_path_buf(),
        }))
    }

    /// All parts in order; `opened` is the one that is there already.
    pub(super) fn open_all(&self, opened: Part, access: Access) -> Result<Vec<Part>> {
        let mut opened = Some(opened);
        let mut parts = Vec::new();
        for number in 0..self.count {
            let part = match opened.take_if(|_| number == self.opened) {
                Some(part) => part,
                None => {
                    let path = self.dir.join(format!("{}{}", self.stem, suffix(number, self.count)));
                    let context =
                        |e: Error| e.context(format!("part {} of {} of {}", number + 1, self.count, self.path.display()));
                    let part = Part::open(&path, access).map_err(context)?;
                    let found = (part.metadata.usize("split.no")?, part.metadata.usize("split.count")?);
                    if found != (Some(number), Some(self.count)) {
                        return Err(Error::format(format!(
                            "{}: split.no {:?} of split.count {:?}, expected {number} of {}",
                            path.display(),
                            found.0,
                            found.1,
                            self.count
                        )));
                    }
                    part
                }
            };
            parts.push(part);
        }
        Ok(parts)
    }

    pub(super) fn check_count(&self, found: usize) -> Result<()> {
        match self.tensors {
            Some(expected) if expected != found => {
                Err(Error::format(format!("{}: {found} tensors in all parts, expected {expected}", self.path.display())))
            }
            _ => Ok(()),
        }
    }
}

fn suffix(number: usize, count: usize) -> String {
    format!("-{:05}-of-{count:05}.gguf", number + 1)
}
