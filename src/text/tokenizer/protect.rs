//! Keeping control tokens out of user text.
//!
//! A *barrier* is a place in a text that no special token may span. [`ControlTexts::barriers`] finds where they belong in a piece of
//! user text, [`extract`] is the library's splitting at added tokens with barriers respected. The text itself is untouched, so all
//! else (spaces in front of words, merges) is as if the forged token had never been special.

use std::collections::HashMap;

use tokenizers::normalizer::Range;
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::{AddedToken, NormalizedString, Normalizer, PreTokenizedString, Token};

/// The special tokens' texts, for finding them in user text.
#[derive(Debug)]
pub(crate) struct ControlTexts {
    matcher: Matcher,
    /// Text may become a special token only by being normalised: `＜s＞` by NFKC, `<S>` by lower-casing.
    normalizer: Option<NormalizerWrapper>,
    /// Characters that special tokens end with.
    last: Vec<char>,
}

impl ControlTexts {
    pub(super) fn new(inner: &tokenizers::Tokenizer) -> Self {
        let special = inner.get_added_tokens_decoder().into_iter().filter(|(_, token)| token.special);
        let matcher = Matcher::new(special.map(|(id, token)| (token.content.clone(), id, token)));
        let mut last: Vec<char> = matcher.entries.keys().filter_map(|text| text.chars().next_back()).collect();
        last.sort_unstable();
        last.dedup();
        ControlTexts { matcher, normalizer: inner.get_normalizer().cloned(), last }
    }

    /// Byte offsets in `text` where a barrier keeps special tokens from arising, alone or together with what a template puts before
    /// and after it. Ascending; empty for nearly every text.
    pub(crate) fn barriers(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        // Within the text: every occurrence, overlapping ones too.
        for (at, c) in text.char_indices() {
            if self.matcher.candidates(text, at).next().is_some() {
                found.push(at + c.len_utf8());
            }
        }
        // Across its ends. A template may trim, so the ends without white space count as well.
        let ends = [text.len(), text.trim_end().len()];
        found.extend(ends.into_iter().filter(|&end| self.could_continue(&text[..end])));
        let starts = [0, text.len() - text.trim_start().len()];
        found.extend(starts.into_iter().filter(|&start| self.could_have_begun(&text[start..])));
        self.barriers_of_normalized(text, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds the barriers that `text` needs for what it becomes when it is normalised.
    fn barriers_of_normalized(&self, text: &str, found: &mut Vec<usize>) {
        let Some(normalizer) = &self.normalizer else { return };
        let mut normal = NormalizedString::from(text);
        if normalizer.normalize(&mut normal).is_err() || normal.get() == text {
            return;
        }
        let original = |range| normal.convert_offsets(Range::Normalized(range));
        for (at, c) in normal.get().char_indices() {
            for (length, _) in self.matcher.candidates(normal.get(), at) {
                if let (Some(first), Some(whole)) = (original(at..at + c.len_utf8()), original(at..at + length))
                    && first.end < whole.end
                {
                    found.push(first.end);
                }
            }
        }
        if self.could_continue(normal.get().trim_end()) {
            found.extend([text.len(), text.trim_end().len()]);
        }
        if self.could_have_begun(normal.get().trim_start()) {
            found.extend([0, text.len() - text.trim_start().len()]);
        }
    }

    /// Whether `text` ends with the beginning of a special token.
    fn could_continue(&self, text: &str) -> bool {
        let longest = self.matcher.longest();
        let from = text.len().saturating_sub(longest);
        text.char_indices().rev().map(|(at, _)| at).take_while(|&at| at >= from).any(|at| {
            let end = &text[at..];
            self.matcher.begins(end) && self.matcher.entries.keys().any(|token| token.len() > end.len() && token.starts_with(end))
        })
    }

    /// Whether `text` begins with the end, or is the middle, of a special token.
    fn could_have_begun(&self, text: &str) -> bool {
        let longest = self.matcher.longest();
        let head = text.char_indices().take_while(|&(at, _)| at < longest);
        // Most texts are longer than any token and do not have a token's last character near their beginning.
        if text.is_empty() || text.len() >= longest && !head.map(|(_, c)| c).any(|c| self.last.contains(&c)) {
            return false;
        }
        self.matcher.entries.keys().any(|token| {
            let ends = token.char_indices().skip(1).map(|(at, _)| &token[at..]);
            ends.into_iter().any(|end| text.starts_with(end) || end.starts_with(text))
        })
    }
}

/// Finds tokens in text, the longest at each place.
#[derive(Debug)]
struct Matcher {
    entries: HashMap<String, (u32, AddedToken)>,
    /// Lengths of the texts in bytes, longest first.
    lengths: Vec<usize>,
    first: Box<[bool; 256]>,
}

impl Matcher {
    fn new(tokens: impl Iterator<Item = (String, u32, AddedToken)>) -> Self {
        let mut matcher = Matcher { entries: HashMap::new(), lengths: Vec::new(), first: Box::new([false; 256]) };
        for (text, id, token) in tokens {
            let Some(&first) = text.as_bytes().first() else { continue };
            matcher.first[usize::from(first)] = true;
            matcher.lengths.push(text.len());
            matcher.entries.insert(text, (id, token));
        }
        matcher.lengths.sort_unstable_by(|a, b| b.cmp(a));
        matcher.lengths.dedup();
        matcher
    }

    fn longest(&self) -> usize {
        self.lengths.first().copied().unwrap_or(0)
    }

    fn begins(&self, text: &str) -> bool {
        text.as_bytes().first().is_some_and(|&byte| self.first[usize::from(byte)])
    }

    /// Tokens at byte `at` of `text`, longest first: their length, id and properties.
    fn candidates<'a>(&'a self, text: &'a str, at: usize) -> impl Iterator<Item = (usize, &'a (u32, AddedToken))> {
        let rest = &text[at..];
        let lengths: &[usize] = if self.begins(rest) { &self.lengths } else { &[] };
        lengths.iter().filter_map(|&length| Some((length, self.entries.get(rest.get(..length)?)?)))
    }
}

/// Splits `text` at added tokens as the library does, except that no special token spans a barrier.
pub(super) fn extract(inner: &tokenizers::Tokenizer, text: &str, barriers: &[usize]) -> tokenizers::Result<PreTokenizedString> {
    let normalizer = inner.get_normalizer();
    let (mut raw, mut normal) = (Vec::new(), Vec::new());
    for (id, token) in inner.get_added_tokens_decoder() {
        if !token.normalized {
            raw.push((token.content.clone(), id, token));
            continue;
        }
        let mut content = NormalizedString::from(token.content.as_str());
        if let Some(normalizer) = normalizer {
            normalizer.normalize(&mut content)?;
        }
        normal.push((content.get().to_string(), id, token));
    }
    let raw = Matcher::new(raw.into_iter());
    let normal = Matcher::new(normal.into_iter());
    let mut split = PreTokenizedString::from(text);
    split.split(|_, piece| Ok(cut(&piece, &raw, barriers)))?;
    split.split(|_, mut piece| {
        if let Some(normalizer) = normalizer {
            normalizer.normalize(&mut piece)?;
        }
        Ok(cut(&piece, &normal, barriers))
    })?;
    Ok(split)
}

fn cut(piece: &NormalizedString, matcher: &Matcher, barriers: &[usize]) -> Vec<(NormalizedString, Option<Vec<Token>>)> {
    let text = piece.get();
    let spans_barrier = |start: usize, end: usize| {
        let base = piece.offsets_original().0;
        let original = piece.convert_offsets(Range::Normalized(start..end)).unwrap_or(start..end);
        let (start, end) = (base + original.start, base + original.end);
        let next = barriers.partition_point(|&barrier| barrier <= start);
        barriers.get(next).is_some_and(|&barrier| barrier < end)
    };
    let mut found = Vec::new();
    let mut push = |range: std::ops::Range<usize>, id: Option<u32>| {
        let Some(slice) = piece.slice(Range::Normalized(range)) else { return };
        let token = id.map(|id| vec![Token::new(id, slice.get().to_string(), (0, slice.get().len()))]);
        found.push((slice, token));
    };
    let (mut at, mut copied) = (0, 0);
    while at < text.len() {
        let hit = matcher.candidates(text, at).find(|(length, (_, token))| !(token.special && spans_barrier(at, at + length)));
        let Some((length, (id, token))) = hit else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let (mut start, mut end) = (at, at + length);
        at = end;
        if token.single_word {
            let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            if is_word(text[..start].chars().next_back()) || is_word(text[end..].chars().next()) {
                continue;
            }
        }
        if token.lstrip {
            start = text[..start].trim_end().len().max(copied);
        }
        if token.rstrip {
            end = text.len() - text[end..].trim_start().len();
        }
        if copied < start {
            push(copied..start, None);
        }
        push(start..end, Some(*id));
        copied = end;
        at = at.max(end);
    }
    if copied < text.len() {
        push(copied..text.len(), None);
    }
    found
}
