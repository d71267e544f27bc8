//! One step of a decoder, taking a token (or, behind a stage that fuses tokens, a part of one long token) at a time.
//!
//! Each stage is its namesake of the `tokenizers` library. `whole` says which of the two it is given.

use std::mem::take;
use std::sync::LazyLock;

use tokenizers::Decoder;
use tokenizers::decoders::wordpiece::cleanup;
use tokenizers::normalizers::Replace;

const REPLACEMENT: &str = "\u{FFFD}";

#[derive(Debug)]
pub(super) enum Stage {
    /// Characters of the byte-level alphabet back to bytes, bytes to text. Fuses.
    ByteLevel,
    /// Tokens `<0xE6>` to bytes, bytes to text.
    ByteFallback,
    /// Makes one token of all; leaves no trace but in `whole` of the stages behind it.
    Fuse,
    Replace {
        pattern: String,
        content: String,
        whole: bool,
    },
    ReplaceRegex {
        replace: Replace,
        whole: bool,
    },
    /// Takes up to `start` of `content` away in front, up to `stop` at the end.
    Strip {
        content: char,
        start: usize,
        stop: usize,
        whole: bool,
    },
    /// `replacement` to a space, or to nothing in the first token unless it `keeps_first`.
    Metaspace {
        replacement: char,
        keeps_first: bool,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    /// End-of-word suffix to a space, to nothing in the last token.
    Suffix {
        suffix: String,
    },
    Ctc {
        pad: String,
        delimiter: String,
        cleanup: bool,
    },
    /// A space between tokens: no decoder at all.
    Join,
}

/// What one stage remembers of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StageState {
    started: bool,
    /// Bytes of an unfinished character.
    bytes: [u8; 4],
    byte_count: usize,
    /// Text that depends on what comes next.
    held: String,
    /// Strip: characters of the front that have been taken away; `usize::MAX`: done.
    stripped: usize,
    scratch: String,
}

impl StageState {
    pub(super) fn new() -> Self {
        let room = || String::with_capacity(super::TOKEN_ROOM);
        StageState { held: room(), scratch: room(), ..StageState::default() }
    }

    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[..self.byte_count]
    }

    /// As new, but for the room already made.
    pub(super) fn reset(&mut self) {
        self.started = false;
        self.byte_count = 0;
        self.held.clear();
        self.stripped = 0;
    }

    /// Takes a byte; calls `out` with what it finishes: a character, or replacements for bytes that cannot become one.
    fn byte(&mut self, byte: u8, replacement_per_byte: bool, out: &mut dyn FnMut(&str)) {
        self.bytes[self.byte_count] = byte;
        self.byte_count += 1;
        loop {
            let bytes = &self.bytes[..self.byte_count];
            let bad = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    if !text.is_empty() {
                        out(text);
                    }
                    self.byte_count = 0;
                    return;
                }
                // Fewer than 4 bytes that begin a character: the next byte decides.
                Err(e) => match e.error_len() {
                    None => return,
                    Some(bad) => bad,
                },
            };
            // Nothing whole stands before a bad byte: it would have been let go when it was complete.
            for _ in 0..if replacement_per_byte { bad } else { 1 } {
                out(REPLACEMENT);
            }
            self.bytes.copy_within(bad..self.byte_count, 0);
            self.byte_count -= bad;
        }
    }

    fn flush_bytes(&mut self, replacement_per_byte: bool, out: &mut dyn FnMut(&str)) {
        let count = take(&mut self.byte_count);
        for _ in 0..if replacement_per_byte { count } else { count.min(1) } {
            out(REPLACEMENT);
        }
    }

    /// Calls `out` with what `write` makes, without a new allocation once the scratch is large enough.
    fn rewritten(&mut self, out: &mut dyn FnMut(&str), write: impl FnOnce(&mut Self, &mut String)) {
        let mut scratch = take(&mut self.scratch);
        scratch.clear();
        write(self, &mut scratch);
        out(&scratch);
        self.scratch = scratch;
    }
}

impl Stage {
    /// Takes `piece` and calls `out` for each piece that goes on to the next stage.
    pub(super) fn push(&self, state: &mut StageState, piece: &str, out: &mut dyn FnMut(&str)) {
        let first = !std::mem::replace(&mut state.started, true);
        match self {
            Stage::Fuse => out(piece),
            Stage::ByteLevel => {
                if piece.chars().all(|c| alphabet_byte(c).is_some()) {
                    piece.chars().filter_map(alphabet_byte).for_each(|byte| state.byte(byte, false, out));
                } else {
                    piece.bytes().for_each(|byte| state.byte(byte, false, out));
                }
            }
            Stage::ByteFallback => match byte_of(piece) {
                Some(byte) => state.byte(byte, true, out),
                None => {
                    state.flush_bytes(true, out);
                    out(piece);
                }
            },
            Stage::Replace { pattern, content, whole } => {
                if pattern.is_empty() || *whole && !piece.contains(pattern) {
                    return out(piece);
                }
                state.rewritten(out, |state, text| {
                    state.held.push_str(piece);
                    let mut held = state.held.as_str();
                    while let Some(at) = held.find(pattern) {
                        text.push_str(&held[..at]);
                        text.push_str(content);
                        held = &held[at + pattern.len()..];
                    }
                    let keep = if *whole { 0 } else { overlap(held, pattern) };
                    text.push_str(&held[..held.len() - keep]);
                    let keep_from = state.held.len() - keep;
                    state.held.drain(..keep_from);
                });
            }
            Stage::ReplaceRegex { replace, whole: true } => out(&replaced(replace, piece)),
            // A pattern may match any length of the fused text: nothing of it is certain before its end.
            Stage::ReplaceRegex { whole: false, .. } => state.held.push_str(piece),
            Stage::Strip { content, start, stop, whole: true } => {
                let front = leading(piece, *content, *start);
                let back = trailing(&piece[front..], *content, *stop);
                out(&piece[front..piece.len() - back]);
            }
            Stage::Strip { content, start, stop, whole: false } => {
                let mut piece = piece;
                if state.stripped < *start {
                    let front = leading(piece, *content, start - state.stripped);
                    state.stripped += front / content.len_utf8();
                    piece = &piece[front..];
                    if !piece.is_empty() {
                        state.stripped = usize::MAX;
                    }
                }
                if *stop == 0 {
                    return out(piece);
                }
                state.rewritten(out, |state, text| {
                    state.held.push_str(piece);
                    let certain = state.held.len() - trailing(&state.held, *content, *stop);
                    text.extend(state.held.drain(..certain));
                });
            }
            Stage::Metaspace { replacement, keeps_first } => state.rewritten(out, |_, text| {
                let space = |c| {
                    if c != *replacement {
                        Some(c)
                    } else if first && !keeps_first {
                        None
                    } else {
                        Some(' ')
                    }
                };
                text.extend(piece.chars().filter_map(space));
            }),
            Stage::WordPiece { prefix, cleanup: clean } => {
                let piece = match piece.strip_prefix(prefix.as_str()) {
                    _ if first => piece.to_string(),
                    Some(rest) => rest.to_string(),
                    None => format!(" {piece}"),
                };
                out(&if *clean { cleanup(&piece) } else { piece });
            }
            Stage::Suffix { suffix } => {
                if suffix.is_empty() {
                    return out(piece);
                }
                state.rewritten(out, |state, text| {
                    text.push_str(&state.held.replace(suffix.as_str(), " "));
                    state.held.clear();
                    let certain = piece.find(suffix.as_str()).unwrap_or(piece.len());
                    text.push_str(&piece[..certain]);
                    state.held.push_str(&piece[certain..]);
                });
            }
            Stage::Ctc { pad, delimiter, cleanup: clean } => {
                if !first && state.held == piece {
                    return;
                }
                state.held.clear();
                state.held.push_str(piece);
                let mut text = piece.replace(pad.as_str(), "");
                if *clean {
                    text = cleanup(&text).replace(delimiter.as_str(), " ");
                }
                out(&text);
            }
            Stage::Join => {
                if !first {
                    out(" ");
                }
                out(piece);
            }
        }
    }

    /// The stream ends: calls `out` with what was held.
    pub(super) fn finish(&self, state: &mut StageState, out: &mut dyn FnMut(&str)) {
        match self {
            Stage::ByteLevel => state.flush_bytes(false, out),
            Stage::ByteFallback => state.flush_bytes(true, out),
            Stage::Replace { .. } => out(&take(&mut state.held)),
            Stage::ReplaceRegex { replace, .. } => out(&replaced(replace, &take(&mut state.held))),
            Stage::Suffix { suffix } if !suffix.is_empty() => out(&take(&mut state.held).replace(suffix.as_str(), "")),
            _ => (),
        }
    }

    /// What this stage makes of a token in the middle of a text; `None`: nothing else.
    pub(super) fn inside(&self, token: &str) -> Option<String> {
        match self {
            Stage::Replace { pattern, content, .. } if !pattern.is_empty() => Some(token.replace(pattern.as_str(), content)),
            Stage::ReplaceRegex { replace, .. } => Some(replaced(replace, token)),
            Stage::Metaspace { replacement, .. } => Some(token.replace(*replacement, " ")),
            Stage::WordPiece { prefix, .. } => Some(match token.strip_prefix(prefix.as_str()) {
                Some(rest) => rest.to_string(),
                None => format!(" {token}"),
            }),
            Stage::Suffix { suffix } if !suffix.is_empty() => Some(token.replace(suffix.as_str(), " ")),
            Stage::Join => Some(format!(" {token}")),
            _ => None,
        }
    }
}

fn replaced(replace: &Replace, text: &str) -> String {
    match replace.decode_chain(vec![text.to_string()]) {
        Ok(texts) => texts.concat(),
        // A pattern that gives up (backtracking limit) changes nothing.
        Err(_) => text.to_string(),
    }
}

/// Bytes of up to `most` of `c` in front of `text`.
fn leading(text: &str, c: char, most: usize) -> usize {
    text.chars().take(most).take_while(|&x| x == c).count() * c.len_utf8()
}

fn trailing(text: &str, c: char, most: usize) -> usize {
    text.chars().rev().take(most).take_while(|&x| x == c).count() * c.len_utf8()
}

/// Length of the longest end of `text` that could be the beginning of `pattern`.
fn overlap(text: &str, pattern: &str) -> usize {
    let most = text.len().min(pattern.len() - 1);
    let fits = |n: &usize| pattern.as_bytes().starts_with(&text.as_bytes()[text.len() - n..]);
    (1..=most).rev().find(fits).unwrap_or(0)
}

/// The byte of a token like `<0xE6>`.
pub(super) fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 { None } else { u8::from_str_radix(digits, 16).ok() }
}

/// The bytes that `text` stands for in the byte-level alphabet; `None` where a character is not of it.
pub(super) fn alphabet_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(alphabet_byte).collect()
}

/// The byte that a character of the byte-level alphabet stands for. Printable bytes of Latin-1 stand for themselves; the other 68, in
/// order, are U+0100 and up (GPT-2's `bytes_to_unicode`).
fn alphabet_byte(c: char) -> Option<u8> {
    static BYTES: LazyLock<[Option<u8>; 324]> = LazyLock::new(|| {
        let mut bytes = [None; 324];
        let mut next = 0x100;
        for byte in 0..=255u8 {
            let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            bytes[if printable { usize::from(byte) } else { next }] = Some(byte);
            next += usize::from(!printable);
        }
        bytes
    });
    BYTES.get(c as usize).copied().flatten()
}
