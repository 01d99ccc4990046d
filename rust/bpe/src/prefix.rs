//! The longest prefix of a text within a number of tokens.
//!
//! Counts do not grow steadily with the text: `hel` may take two tokens where `hello` takes one. So the longest prefix
//! may lie behind shorter ones that do not fit, and all cuts that could still fit must be looked at. Few can: all before
//! the piece where the budget runs out are certain, all behind it are out of reach. Two facts limit the work:
//!
//! 1. A cut inside a piece leaves the pieces before it as they are, except in a run of white space, whose pieces depend
//!    on what follows the run. Such a run is looked at as a whole, from its start.
//! 2. Every prefix of a piece has exactly one encoding, which extends the encoding of a shorter prefix by one compatible
//!    token. So the counts of all prefixes follow in one pass (`counts`), which ends once 128 prefixes in a row (the
//!    longest token) have used up the budget.
//!
//! Invariant: the result is the longest prefix at a character boundary whose own count is within the budget (a test
//! compares with trying all). Time grows with the budget, not with the text; finding the end of a piece may take longer
//! when that piece is longer than the budget can reach.
//!
//! Example (`o200k_base`): `prefix("hello world", 1)` is `hello`.

use crate::classes::{Class, Classes};
use crate::encoder::compatible;
use crate::pieces::{self, Pattern};
use crate::tokenizer::Tokenizer;
use crate::vocab::{LONGEST, PAD, Vocab};

/// Cuts of a piece after `from` up to and with `to`: the last piece of the cut text starts at `start`.
struct Segment {
    start: usize,
    from: usize,
    to: usize,
}

/// State of the search: the best cut so far, and the cuts up to `covered` are settled.
struct Search<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a str,
    best: usize,
    covered: usize,
}

/// End of the longest prefix of `text` within `max` tokens. `at` is a piece start that no white space precedes, `total`
/// the tokens before it, at most `max`.
pub(crate) fn longest(tokenizer: &Tokenizer, text: &str, max: u64, mut at: usize, mut total: u64) -> usize {
    let mut search = Search { tokenizer, text, best: at, covered: at };
    while at < text.len() && total < max {
        let left = max - total;
        let end = pieces::next(tokenizer.pattern, tokenizer.classes, text.as_bytes(), at);
        let run = white_end(tokenizer.classes, text.as_bytes(), at);
        let too_long = (end - at) as u64 > left.saturating_mul(LONGEST as u64);
        let tokens = if too_long { u64::MAX } else { tokenizer.count(&text[at..end]) };
        if end <= run {
            search.white(at, run, left);
        } else if tokens <= left {
            search.best = end;
        } else {
            search.cut(at, end, left);
        }
        total = total.saturating_add(tokens);
        at = end;
    }
    search.best
}

/// End of the white space that starts at `at`.
fn white_end(classes: &Classes, text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        let (class, length) = classes.at(text, at);
        if !matches!(class, Class::Space | Class::Newline) {
            break;
        }
        at += length;
    }
    at
}

impl Search<'_> {
    /// Cuts in a run of white space from its start on. At the end of a text `cl100k_base` takes it as one piece;
    /// `o200k_base` makes a second one of what follows the last line break.
    fn white(&mut self, start: usize, end: usize, left: u64) {
        if end <= self.covered {
            return;
        }
        let mut segments = vec![Segment { start, from: start, to: start }];
        for (offset, character) in self.text[start..end].char_indices() {
            let from = start + offset;
            let to = from + character.len_utf8();
            let is_break = matches!(character, '\n' | '\r') || self.tokenizer.pattern == Pattern::Cl100k;
            let last = segments.last_mut().expect("never empty");
            if is_break && last.start == start {
                last.to = to;
            } else if is_break {
                segments.push(Segment { start, from, to });
            } else if last.start == start && last.to > start && self.text[..last.to].ends_with(['\n', '\r']) {
                segments.push(Segment { start: from, from, to });
            } else {
                last.to = to;
            }
        }
        self.try_segments(start, end, left, &segments);
        self.covered = end;
    }

    /// Cuts in any other piece.
    fn cut(&mut self, start: usize, end: usize, left: u64) {
        let segments = match self.tokenizer.pattern {
            Pattern::Cl100k => vec![Segment { start, from: start, to: end }],
            Pattern::O200k => self.word_segments(start, end),
        };
        self.try_segments(start, end, left, &segments);
        self.covered = end;
    }

    /// A cut before the first small letter of a word leaves the capitals after its last caseless character alone; a cut
    /// in a contraction leaves the part of the contraction alone. All other cuts leave one piece.
    fn word_segments(&self, start: usize, end: usize) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let (mut caseless, mut small, mut word) = (None, false, false);
        let mut at = start;
        while at < end {
            let (class, length) = self.tokenizer.classes.at(self.text.as_bytes(), at);
            let to = at + length;
            let mut piece = start;
            match class {
                Class::Upper if !small => piece = caseless.unwrap_or(start),
                Class::Caseless | Class::Mark => caseless = Some(to),
                Class::Lower => small = true,
                Class::Upper => {}
                _ if word => {
                    segments.push(Segment { start: at, from: at, to: end });
                    break;
                }
                _ if at > start || class == Class::Number => {
                    return vec![Segment { start, from: start, to: end }];
                }
                _ => {}
            }
            word |= matches!(class, Class::Upper | Class::Lower | Class::Caseless | Class::Mark);
            match segments.last_mut() {
                Some(last) if last.start == piece => last.to = to,
                _ => segments.push(Segment { start: piece, from: at, to }),
            }
            at = to;
        }
        segments
    }

    /// Tries the cuts of all segments; they lie in order.
    fn try_segments(&mut self, start: usize, end: usize, left: u64, segments: &[Segment]) {
        let (vocab, text) = (&self.tokenizer.vocab, self.text.as_bytes());
        let whole = counts(vocab, &text[start..end], left);
        for segment in segments {
            let own;
            let (base, found) = if segment.start == start {
                (0, &whole)
            } else {
                let Some(&base) = whole.get(segment.start - start) else { continue };
                if u64::from(base) >= left {
                    continue;
                }
                own = counts(vocab, &text[segment.start..segment.to], left - u64::from(base));
                (base, &own)
            };
            let reach = segment.to.min(segment.start + found.len() - 1);
            let fits = |cut: usize| u64::from(base + found[cut - segment.start]) <= left;
            let first = segment.from.max(self.covered) + 1;
            if let Some(cut) = (first..=reach).rev().find(|&cut| self.text.is_char_boundary(cut) && fits(cut)) {
                self.best = self.best.max(cut);
            }
        }
    }
}

/// Tokens of each prefix of a piece, by length, until all longer ones exceed `max`.
pub(crate) fn counts(vocab: &Vocab, piece: &[u8], max: u64) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let end = piece.len().min(usize::try_from(max).unwrap_or(usize::MAX).saturating_add(1).saturating_mul(LONGEST));
    let mut padded = Vec::with_capacity(end + PAD);
    padded.extend_from_slice(&piece[..end]);
    padded.extend_from_slice(&[0; PAD]);
    let mut last = vec![UNKNOWN; end + 1];
    let mut counts = vec![0; end + 1];
    let mut spent = 0;
    for at in 0..end {
        spent = if u64::from(counts[at]) >= max { spent + 1 } else { 0 };
        if spent > LONGEST {
            counts.truncate(at + 1);
            break;
        }
        let before = last[at];
        vocab.each_at(&padded, at, end, |token, length| {
            let next = at + length;
            if last[next] == UNKNOWN && (at == 0 || compatible(vocab, &padded, at, before, token)) {
                last[next] = token;
                counts[next] = counts[at] + 1;
            }
        });
    }
    counts
}
