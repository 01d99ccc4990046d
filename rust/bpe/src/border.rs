//! Places where a piece starts whatever stands before or after them, and what follows: suffixes and growing texts.
//!
//! A border is known from the two characters that meet there. The count of a text is the sum of the counts of the parts
//! between its borders, so a suffix can be counted from the end, and a growing text need be counted only from its last
//! border on.
//!
//! Invariant: `count(left) + count(right) == count(left + right)` at a border, for all texts (a test tries it).
//!
//! Example: in `don't stop 42` the borders are at both spaces and at `4`.

use crate::classes::{Class, Classes};
use crate::tokenizer::Tokenizer;
use crate::vocab::LONGEST;

/// Longest part whose suffixes are all tried.
const TRY_ALL: usize = 1024;

/// Whether a piece always starts between two characters.
fn is_border(before: Class, after: Class, first_byte: u8) -> bool {
    match (before, after) {
        // Behind blanks, the number of blanks that stay behind depends on what follows.
        (Class::Space, _) | (_, Class::Newline) | (Class::Newline, Class::Space) => false,
        // Slashes after a line break may belong to punctuation before it.
        (Class::Newline, _) => first_byte != b'/',
        (_, Class::Space) => true,
        (Class::Number, after) => after != Class::Number,
        (_, Class::Number) => true,
        // A quote may begin a contraction, a mark may continue a word.
        (Class::Upper | Class::Lower | Class::Caseless, Class::Other) => first_byte != b'\'',
        _ => false,
    }
}

/// Start of the character that ends at `end`.
fn step_back(text: &str, end: usize) -> usize {
    text.floor_char_boundary(end - 1)
}

/// The last border of `text` in `from..end`, where `from` is above 0.
fn last_border(classes: &Classes, text: &str, from: usize, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if end <= from {
        return None;
    }
    let mut at = step_back(text, end);
    let mut after = classes.at(bytes, at).0;
    while at >= from {
        let previous = step_back(text, at);
        let before = classes.at(bytes, previous).0;
        if is_border(before, after, bytes[at]) {
            return Some(at);
        }
        (at, after) = (previous, before);
    }
    None
}

/// Start of the longest suffix of `text` within `max` tokens.
///
/// Where more than `TRY_ALL` bytes have no border among them, a suffix that starts there fits but may not be the longest.
pub(crate) fn suffix_start(tokenizer: &Tokenizer, text: &str, max: u64) -> usize {
    let mut left = max;
    let mut end = text.len();
    while end > 0 && left > 0 {
        // Farther back, the part alone takes too many tokens.
        let reach = usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(LONGEST);
        let lowest = text.ceil_char_boundary(end.saturating_sub(reach));
        let border = last_border(tokenizer.classes, text, lowest.max(1), end);
        let start = border.unwrap_or(lowest);
        let tokens = tokenizer.count(&text[start..end]);
        if tokens > left || (border.is_none() && lowest > 0) {
            return within(tokenizer, &text[..end], start, left);
        }
        left -= tokens;
        end = start;
    }
    end
}

/// The first position from `start` on from which `text` takes at most `max` tokens.
fn within(tokenizer: &Tokenizer, text: &str, mut start: usize, max: u64) -> usize {
    let fits = |at: usize| tokenizer.count(&text[at..]) <= max;
    if text.len() - start > TRY_ALL {
        // Double what is kept, then halve the doubt.
        let mut kept = TRY_ALL.min(text.len() - start);
        while kept < text.len() - start && fits(text.ceil_char_boundary(text.len() - kept)) {
            kept *= 2;
        }
        let mut high = text.ceil_char_boundary(text.len() - kept / 2);
        start = start.max(text.floor_char_boundary(text.len().saturating_sub(kept)));
        while high - start > TRY_ALL {
            let middle = text.floor_char_boundary(start + (high - start) / 2);
            if fits(middle) { high = middle } else { start = middle }
        }
        let mut low = start;
        while high - low > 4 {
            let middle = text.floor_char_boundary(low + (high - low) / 2);
            if fits(middle) { high = middle } else { low = middle }
        }
        start = low;
    }
    (start..=text.len()).find(|&at| text.is_char_boundary(at) && fits(at)).expect("no text, no tokens")
}

/// Counts a text that grows at its end.
///
/// `append` costs time for the new text alone. `total` counts from the last border on, and remembers.
#[derive(Clone)]
pub struct StreamCounter {
    tokenizer: &'static Tokenizer,
    settled: u64,
    open: String,
    open_tokens: Option<u64>,
}

impl StreamCounter {
    /// A counter for an empty text.
    #[must_use]
    pub fn new(tokenizer: &'static Tokenizer) -> StreamCounter {
        StreamCounter { tokenizer, settled: 0, open: String::new(), open_tokens: Some(0) }
    }

    /// Adds `text` to the end.
    pub fn append(&mut self, text: &str) {
        let from = self.open.len().max(1);
        self.open.push_str(text);
        self.open_tokens = None;
        if let Some(border) = last_border(self.tokenizer.classes, &self.open, from, self.open.len()) {
            self.settled += self.tokenizer.count(&self.open[..border]);
            self.open.drain(..border);
        }
    }

    /// Tokens of everything appended so far.
    pub fn total(&mut self) -> u64 {
        let open = *self.open_tokens.get_or_insert_with(|| self.tokenizer.count(&self.open));
        self.settled + open
    }
}
