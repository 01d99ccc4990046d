//! Cuts a text into pieces, one piece at a time, by the patterns of `cl100k_base` and `o200k_base`.
//!
//! `next(text, at)` gives the end of the piece that starts at `at`, for any text and any piece start. It is the plain
//! form of the two regular expressions: each function below is one alternative, tried in the order of the pattern. The
//! fast path (`window`) only shortens the common case and falls back to this; tests compare the two.
//!
//! Invariant: the pieces are those that `fancy-regex` finds in tiktoken. A piece depends on nothing before its start.
//! Each character is read a bounded number of times, so a text takes linear time.
//!
//! Example, `o200k_base`: `"HTTPServer's  x\n"` gives `HTTPServer's`, one space, ` x`, `\n`.

use crate::classes::{Class, Classes};

/// Which of the two patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The pattern of `cl100k_base`.
    Cl100k,
    /// The pattern of `o200k_base` and `o200k_harmony`.
    O200k,
}

/// A text and the class table, so that the functions below read like the pattern.
struct Scanner<'a> {
    text: &'a [u8],
    classes: &'static Classes,
}

/// End of the piece that starts at `at`; `at` must be below the length and at the start of a piece.
pub(crate) fn next(pattern: Pattern, classes: &'static Classes, text: &[u8], at: usize) -> usize {
    let scanner = Scanner { text, classes };
    match pattern {
        Pattern::Cl100k => scanner.next_cl100k(at),
        Pattern::O200k => scanner.next_o200k(at),
    }
}

/// Length of the contraction that starts at `at` (`'s 't 're 've 'm 'll 'd` in any case, and `'ſ`), else 0.
pub(crate) fn contraction(text: &[u8], at: usize) -> usize {
    let lower = |n: usize| text.get(at + n).map_or(0, |byte| byte | 0x20);
    if text.get(at) != Some(&b'\'') {
        return 0;
    }
    match (lower(1), lower(2)) {
        (b's' | b'd' | b'm' | b't', _) => 2,
        (b'l', b'l') | (b'v' | b'r', b'e') => 3,
        // U+017F, the long s, is `s` when case does not count.
        _ if text[at + 1..].starts_with("\u{17F}".as_bytes()) => 3,
        _ => 0,
    }
}

const fn is_letter(class: Class) -> bool {
    matches!(class, Class::Upper | Class::Lower | Class::Caseless)
}

const fn is_caseless(class: Class) -> bool {
    matches!(class, Class::Caseless | Class::Mark)
}

const fn is_other(class: Class) -> bool {
    matches!(class, Class::Other | Class::Mark)
}

impl Scanner<'_> {
    /// Class and end of the character at `at`, `None` at the end of the text.
    #[inline]
    fn peek(&self, at: usize) -> Option<(Class, usize)> {
        if at >= self.text.len() {
            return None;
        }
        let (class, length) = self.classes.at(self.text, at);
        Some((class, at + length))
    }

    /// End of the run of characters from `at` whose class satisfies `wanted`.
    #[inline]
    fn run(&self, mut at: usize, wanted: impl Fn(Class) -> bool) -> usize {
        while let Some((class, end)) = self.peek(at) {
            if !wanted(class) {
                break;
            }
            at = end;
        }
        at
    }

    fn next_cl100k(&self, at: usize) -> usize {
        let (class, end) = self.classes.at(self.text, at);
        let end = at + end;
        let apostrophe = contraction(self.text, at);
        if apostrophe > 0 {
            return at + apostrophe;
        }
        match class {
            Class::Upper | Class::Lower | Class::Caseless => self.run(end, is_letter),
            Class::Number => self.numbers(end),
            Class::Newline => self.white(Pattern::Cl100k, at),
            Class::Space | Class::Mark | Class::Other => {
                let letters = self.run(end, is_letter);
                if letters > end {
                    return letters;
                }
                self.other(Pattern::Cl100k, at).unwrap_or_else(|| self.white(Pattern::Cl100k, at))
            }
        }
    }

    fn next_o200k(&self, at: usize) -> usize {
        let (class, length) = self.classes.at(self.text, at);
        let end = at + length;
        match class {
            Class::Upper | Class::Lower | Class::Caseless => {
                let word = self.word(at).unwrap_or_else(|capitals| capitals);
                word + contraction(self.text, word)
            }
            Class::Number => self.numbers(end),
            Class::Newline => self.white(Pattern::O200k, at),
            Class::Space | Class::Mark | Class::Other => match self.prefixed_word(class, at, end) {
                Some(word) => word + contraction(self.text, word),
                None => self.other(Pattern::O200k, at).unwrap_or_else(|| self.white(Pattern::O200k, at)),
            },
        }
    }

    /// A word after one character that is no letter: with the character, else (a mark) from it, else capitals.
    fn prefixed_word(&self, class: Class, at: usize, end: usize) -> Option<usize> {
        match self.word(end) {
            Ok(word) => Some(word),
            Err(_) if class == Class::Mark => self.word(at).ok(),
            Err(capitals) if capitals > end => Some(capitals),
            Err(_) => None,
        }
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` from `at`: its end, or in `Err` the end of the run of
    /// capitals, which the second alternative takes. The first part is greedy: without a small letter after it, it gives
    /// back characters up to its last caseless one, and the second part matches that one alone.
    fn word(&self, at: usize) -> Result<usize, usize> {
        let mut here = at;
        let mut caseless_end = None;
        while let Some((class, end)) = self.peek(here) {
            match class {
                Class::Upper => {}
                Class::Caseless | Class::Mark => caseless_end = Some(end),
                Class::Lower => return Ok(self.run(end, |class| class == Class::Lower || is_caseless(class))),
                Class::Newline | Class::Space | Class::Number | Class::Other => break,
            }
            here = end;
        }
        caseless_end.ok_or(here)
    }

    /// `\p{N}{1,3}`, the first of which ends at `end`.
    fn numbers(&self, mut end: usize) -> usize {
        for _ in 0..2 {
            match self.peek(end) {
                Some((Class::Number, next)) => end = next,
                _ => break,
            }
        }
        end
    }

    /// ` ?[^\s\p{L}\p{N}]+[\r\n]*`, and for `o200k_base` `[\r\n/]*`.
    fn other(&self, pattern: Pattern, at: usize) -> Option<usize> {
        let start = at + usize::from(self.text[at] == b' ');
        let end = self.run(start, is_other);
        if end == start {
            return None;
        }
        let tail = |byte: &u8| matches!(byte, b'\r' | b'\n') || (*byte == b'/' && pattern == Pattern::O200k);
        Some(end + self.text[end..].iter().take_while(|byte| tail(byte)).count())
    }

    /// The alternatives for white space: up to the last line break; or all but the last character; or one character.
    /// At the end of the text `cl100k_base` takes the whole run before it looks for a line break.
    fn white(&self, pattern: Pattern, at: usize) -> usize {
        let (mut here, mut last, mut after_break) = (at, at, at);
        while let Some((class @ (Class::Space | Class::Newline), end)) = self.peek(here) {
            (last, here) = (here, end);
            if class == Class::Newline {
                after_break = end;
            }
        }
        let at_end = here == self.text.len();
        if after_break > at && !(at_end && pattern == Pattern::Cl100k) {
            after_break
        } else if at_end || last == at {
            here
        } else {
            last
        }
    }
}
