//! The class of a character, as far as the two patterns tell characters apart.
//!
//! Invariant: `Classes::of(c)` is the class that `RANGES` gives for `c`, and `RANGES` agrees with the `regex` crate on
//! every character (a test compares all of them). One load per character; the table takes 1.1 MB of address space, of
//! which only the pages of scripts in use are touched again after it is filled.
//!
//! Example: `é` is `Lower`, `中` is `Caseless`, U+0301 is `Mark`, `²` is `Number`, U+00A0 is `Space`.

mod ranges;

use ranges::RANGES;
use std::sync::OnceLock;

/// What the patterns can see of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// `\r` or `\n`.
    Newline,
    /// `\s` without `Newline`.
    Space,
    /// `\p{Lu}` or `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}` or `\p{Lo}`: both cases at once for `o200k_base`.
    Caseless,
    /// `\p{M}`: part of a word for `o200k_base`, punctuation for `cl100k_base`.
    Mark,
    /// `\p{N}`.
    Number,
    /// Everything else.
    Other,
}

const CODE_POINTS: usize = 0x11_0000;

/// One class for each code point.
pub(crate) struct Classes(Box<[Class]>);

impl Classes {
    /// The table, filled on first use.
    pub(crate) fn get() -> &'static Classes {
        static CLASSES: OnceLock<Classes> = OnceLock::new();
        CLASSES.get_or_init(Classes::build)
    }

    fn build() -> Classes {
        let mut table = vec![Class::Other; CODE_POINTS].into_boxed_slice();
        for (index, &(first, class)) in RANGES.iter().enumerate() {
            let end = RANGES.get(index + 1).map_or(CODE_POINTS, |next| next.0 as usize);
            table[first as usize..end].fill(class);
        }
        Classes(table)
    }

    /// Class and length in bytes of the character that starts at `at`, which must be a character boundary of UTF-8.
    #[inline]
    pub(crate) fn at(&self, text: &[u8], at: usize) -> (Class, usize) {
        let lead = text[at];
        if lead < 0x80 {
            return (self.0[lead as usize], 1);
        }
        let rest = |n: usize| u32::from(text[at + n] & 0x3F);
        let lead_bits = u32::from(lead);
        let (code, length) = if lead < 0xE0 {
            ((lead_bits & 0x1F) << 6 | rest(1), 2)
        } else if lead < 0xF0 {
            ((lead_bits & 0x0F) << 12 | rest(1) << 6 | rest(2), 3)
        } else {
            ((lead_bits & 0x07) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3), 4)
        };
        (self.0[code as usize], length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_the_class_that_regex_gives() {
        let expressions = [
            (Class::Newline, r"^[\r\n]$"),
            (Class::Space, r"^\s$"),
            (Class::Upper, r"^[\p{Lu}\p{Lt}]$"),
            (Class::Lower, r"^\p{Ll}$"),
            (Class::Caseless, r"^[\p{Lm}\p{Lo}]$"),
            (Class::Mark, r"^\p{M}$"),
            (Class::Number, r"^\p{N}$"),
        ]
        .map(|(class, text)| (class, regex::Regex::new(text).expect("valid expression")));
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let expected = expressions.iter().find(|(_, one)| one.is_match(&text)).map_or(Class::Other, |(class, _)| *class);
            assert_eq!(Classes::get().at(text.as_bytes(), 0), (expected, text.len()), "U+{:04X}", character as u32);
        }
    }
}
