//! Names out of files, as they go into messages.

use std::fmt;

/// A name that came out of a file: control characters escaped, long ones cut.
pub(super) struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 128;
        for (index, letter) in self.0.chars().enumerate() {
            if index == MOST {
                return f.write_str("…");
            }
            match letter.is_control() {
                true => write!(f, "{}", letter.escape_default())?,
                false => fmt::Write::write_char(f, letter)?,
            }
        }
        Ok(())
    }
}

/// A list of names, the first of them where there are many.
pub(super) struct List<'a, T>(pub &'a [T]);

impl<T: AsRef<str>> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 20;
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (index, name) in self.0.iter().take(MOST).enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { "" }, Shown(name.as_ref()))?;
        }
        match self.0.len().checked_sub(MOST) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_control_characters_escaped() {
        assert_eq!(Shown("blk.0\n\u{1b}[31m модель").to_string(), "blk.0\\n\\u{1b}[31m модель");
        assert_eq!(Shown(&"é".repeat(1000)).to_string(), format!("{}…", "é".repeat(128)));
    }

    #[test]
    fn long_lists_say_how_many_they_leave_out() {
        assert_eq!(List::<&str>(&[]).to_string(), "nothing");
        assert_eq!(List(&["a", "b"]).to_string(), "a, b");
        let many: Vec<String> = (0..23).map(|n| n.to_string()).collect();
        assert!(List(&many).to_string().ends_with(", 19 and 3 more"));
    }
}
