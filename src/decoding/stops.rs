//! Stop strings: where generated text ends, and how much of it must be held back until that is known.
//!
//! Text arrives in pieces. A piece may complete a stop string that began pieces ago; text that could still become one is held.
//! The stop that *begins* earliest wins, whichever was completed first; of two that begin together both end the text at the same
//! place (FIELD_CASES 37).

/// What a piece of text led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopScan {
    /// Text up to this byte offset (of all text so far) can be shown.
    Clear(usize),
    /// A stop string begins at this byte offset: the text ends there.
    Stopped(usize),
}

/// The stop strings of one sequence and the state of their search. Bytes are compared, so a match can only begin and end at
/// character borders of valid UTF-8.
#[derive(Clone, Debug, Default)]
pub struct StopMatcher {
    stops: Vec<String>,
    longest: usize,
    /// Offset below which no stop string can begin any more.
    settled: usize,
}

impl StopMatcher {
    /// Empty strings are ignored: they would end every text at once.
    pub fn new(stops: impl IntoIterator<Item = String>) -> Self {
        let mut stops: Vec<String> = stops.into_iter().filter(|s| !s.is_empty()).collect();
        stops.sort();
        stops.dedup();
        let longest = stops.iter().map(String::len).max().unwrap_or(0);
        StopMatcher { stops, longest, settled: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    /// Looks at `text`, all text so far, of which at least what an earlier call saw is unchanged.
    pub fn scan(&mut self, text: &str) -> StopScan {
        if self.stops.is_empty() {
            return StopScan::Clear(text.len());
        }
        let bytes = text.as_bytes();
        while self.settled < bytes.len() {
            let rest = &bytes[self.settled..];
            if self.stops.iter().any(|stop| rest.starts_with(stop.as_bytes())) {
                return StopScan::Stopped(self.settled);
            }
            if rest.len() < self.longest && self.stops.iter().any(|stop| stop.as_bytes().starts_with(rest)) {
                return StopScan::Clear(self.settled);
            }
            self.settled += 1;
        }
        StopScan::Clear(text.len())
    }

    /// No more text will come: the beginning of the earliest stop string among what was held, if there is one.
    pub fn finish(&self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        (self.settled..bytes.len()).find(|&at| self.stops.iter().any(|stop| bytes[at..].starts_with(stop.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pieces: &[&str], stops: &[&str]) -> (Vec<usize>, Option<String>) {
        let mut matcher = StopMatcher::new(stops.iter().map(|s| s.to_string()));
        let (mut text, mut shown) = (String::new(), Vec::new());
        for piece in pieces {
            text.push_str(piece);
            match matcher.scan(&text) {
                StopScan::Clear(n) => shown.push(n),
                StopScan::Stopped(n) => return (shown, Some(text[..n].to_string())),
            }
        }
        (shown, None)
    }

    /// FIELD_CASES 32: a stop string over several tokens.
    #[test]
    fn a_stop_over_several_pieces_is_held_and_found() {
        let (shown, text) = run(&[" L M N", " O", " P", " Q", " R"], &["O P Q"]);
        assert_eq!(text.as_deref(), Some(" L M N "));
        assert_eq!(shown, [6, 7, 7]);
    }

    /// FIELD_CASES 33: the text before a stop inside one piece is kept.
    #[test]
    fn text_before_the_stop_in_the_same_piece_is_kept() {
        assert_eq!(run(&["?\n"], &["\n"]).1.as_deref(), Some("?"));
    }

    /// FIELD_CASES 37: the earliest beginning wins; only what may still match is held.
    #[test]
    fn overlapping_stops_end_at_the_earliest_beginning() {
        let pieces: Vec<String> = "a##b###c".chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(run(&pieces, &["###", "##"]).1.as_deref(), Some("a"));
        assert_eq!(run(&["aab", "aaab"], &["aaab"]).1.as_deref(), Some("aab"));
    }

    #[test]
    fn a_prefix_that_cannot_go_on_is_released() {
        assert_eq!(run(&["ab", "x"], &["abc"]).0, [0, 3]);
        assert_eq!(run(&["aa", "a", "ab"], &["aab"]), (vec![0, 1], Some("aa".into())));
    }

    /// A stop that lies inside the held beginning of another one still ends the text.
    #[test]
    fn a_held_stop_is_found_at_the_end() {
        let mut matcher = StopMatcher::new(["abcd".to_string(), "bc".to_string()]);
        assert_eq!(matcher.scan("abc"), StopScan::Clear(0));
        assert_eq!(matcher.finish("abc"), Some(1));
        assert_eq!(StopMatcher::new(["abcd".to_string()]).finish("abc"), None);
    }

    #[test]
    fn multibyte_text_is_cut_at_characters() {
        let (shown, text) = run(&["é😸", "é", "!"], &["😸é!"]);
        assert_eq!(text.as_deref(), Some("é"));
        assert_eq!(shown, [2, 2]);
    }
}
