//! Models cut into several files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Part;
use super::metadata::Metadata;
use crate::error::{Error, Result};
use crate::weights::Access;

/// A set of parts, as one of them describes it.
pub(super) struct Split {
    /// The part that was opened, and its number, from 0.
    path: PathBuf,
    opened: usize,
    count: usize,
    /// Tensors in all parts.
    tensors: Option<usize>,
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
        let opened = metadata.required("split.no", metadata.usize("split.no")?)?;
        if count > MOST_PARTS || opened >= count {
            let most = MOST_PARTS.min(count) - 1;
            return Err(Error::format(format!(
                "{}: split.no: {opened} of split.count {count}, expected 0 to {most}",
                path.display()
            )));
        }
        Ok(Some(Split { path: path.to_path_buf(), opened, count, tensors: metadata.usize("split.tensors.count")? }))
    }

    /// FORMAT: the file was to be a whole model.
    pub(super) fn is_a_part(&self) -> Error {
        Error::format(format!(
            "{}: this is not one file but part {} of a model in {} (split.count): use the parts, under the names they were made with",
            self.path.display(),
            self.opened + 1,
            self.count
        ))
    }

    /// All parts in order; `opened` is the one that is there already.
    pub(super) fn open_all(&self, opened: Part, access: Access) -> Result<Vec<Part>> {
        let name = self.path.file_name().unwrap_or_default();
        let Some(stem) = stem_of(name, self.opened, self.count) else {
            let expected = suffix(self.opened, self.count);
            return Err(self.is_a_part().context(format_args!("expected a name that ends in {expected}")));
        };
        let mut opened = Some(opened);
        let mut parts = Vec::new();
        for number in 0..self.count {
            let part = match opened.take_if(|_| number == self.opened) {
                Some(part) => part,
                None => {
                    let mut name = stem.to_vec();
                    name.extend(suffix(number, self.count).bytes());
                    let path = self.path.with_file_name(OsString::from_vec(name));
                    self.open_part(&path, number, access)?
                }
            };
            if let Some(left_over) = part.left_over.filter(|&bytes| bytes > 0) {
                return Err(Error::format(format!(
                    "{}: {left_over} bytes after the last tensor (parts joined into one file?): use the parts as they were made",
                    part.path.display()
                )));
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn open_part(&self, path: &Path, number: usize, access: Access) -> Result<Part> {
        let part = Part::open(path, access).map_err(|e| {
            e.context(format_args!("part {} of {} of the model of {}", number + 1, self.count, self.path.display()))
        })?;
        for (key, expected) in [("split.no", number), ("split.count", self.count)] {
            let found = part.metadata.required(key, part.metadata.usize(key)?)?;
            if found != expected {
                let named = "expected from the name (renamed?)";
                return Err(Error::format(format!("{}: {key}: {found}, {expected} {named}", path.display())));
            }
        }
        Ok(part)
    }

    pub(super) fn check_count(&self, found: usize) -> Result<()> {
        match self.tensors {
            Some(expected) if expected != found => Err(Error::format(format!(
                "{}: {found} tensors in the {} parts, expected {expected} (split.tensors.count)",
                self.path.display(),
                self.count
            ))),
            _ => Ok(()),
        }
    }
}

fn suffix(number: usize, count: usize) -> String {
    format!("-{:05}-of-{count:05}.gguf", number + 1)
}

/// The bytes before the part's suffix. Names need not be UTF-8.
fn stem_of(name: &OsStr, number: usize, count: usize) -> Option<&[u8]> {
    name.as_bytes().strip_suffix(suffix(number, count).as_bytes())
}

/// `(stem, count)` where a file is named as a part of a set is.
pub(in crate::weights) fn set_of(name: &OsStr) -> Option<(&[u8], &[u8])> {
    let name = name.as_bytes();
    let (rest, ending) = name.split_at_checked(name.len().checked_sub("-00001-of-00003.gguf".len())?)?;
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let named = ending[0] == b'-'
        && digits(&ending[1..6])
        && &ending[6..10] == b"-of-"
        && digits(&ending[10..15])
        && &ending[15..] == b".gguf";
    named.then_some((rest, &ending[10..15]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_told_from_others() {
        let set = |name: &str| set_of(OsStr::new(name)).map(|(stem, count)| (stem.to_vec(), count.to_vec()));
        assert_eq!(set("m-00001-of-00003.gguf"), Some((b"m".to_vec(), b"00003".to_vec())));
        assert_eq!(set("модель-00002-of-00003.gguf"), Some(("модель".into(), b"00003".to_vec())));
        for other in ["m.gguf", "m-0001-of-00003.gguf", "m-00001-of-0000x.gguf", "", "-of-00003.gguf"] {
            assert_eq!(set(other), None, "{other}");
        }
    }
}
