//! Piece starts of up to 64 ASCII bytes at once, by arithmetic on bit masks.
//!
//! A window begins at a piece start, so nothing before it matters. `starts` returns a mask of piece starts that are
//! certain whatever follows the window, and how far they reach; the next window begins at the last of them. What cannot
//! be decided inside the window (a piece longer than it, a character that is not ASCII) is left to `pieces::next`.
//!
//! Invariant: the starts are those that repeated `pieces::next` finds (a test compares them). About 60 operations for a
//! window, and a short loop for each contraction, each number of more than three digits and each rare shape.
//!
//! Example, `cl100k_base`: in `"It's  12345\n"` the starts are at `I`, `'`, the first space, the second, `1`, `4`, `\n`.

use crate::kernels::Masks;
use crate::pieces::contraction;

/// Piece starts of a window. Bit 0 is always set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts {
    /// A bit for each piece start below `end`.
    pub(crate) mask: u64,
    /// Where the last of these pieces ends, in bytes from the start of the window; 0 when not even one piece is certain.
    pub(crate) end: usize,
}

/// Bits below `count`, which may be 64.
#[inline(always)]
fn below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Starts in `window`, of which `length` bytes are text, the last of the text if `last`. `O200K` selects the pattern.
/// The first byte must be ASCII text.
#[inline(always)]
pub(crate) fn starts<const O200K: bool>(masks: Masks, window: &[u8], length: usize, last: bool) -> Starts {
    let valid = below((masks.high.trailing_zeros() as usize).min(length));
    let ascii = valid.count_ones() as usize;
    debug_assert!(ascii > 0, "the caller handles other characters");
    let last = last && ascii == length;
    let letter = masks.letter & valid;
    let digit = masks.digit & valid;
    let blank = (masks.space | masks.tab) & valid;
    let all_newlines = masks.newline & valid;
    let all_other = valid & !(letter | digit | blank | all_newlines);

    // Line breaks (for o200k also slashes after them) belong to the punctuation before them.
    let absorbed = absorbed::<O200K>(all_other, all_newlines, masks.slash & valid);
    let newline = all_newlines & !absorbed;
    let other = all_other & !absorbed;
    let white = blank | newline;

    // Punctuation starts a piece unless it continues a run or a space leads it.
    let mut other_start = other & !(other << 1) & !(masks.space << 1);
    // A word starts at its first letter, unless a blank or a single punctuation mark leads it.
    let mut letter_start = letter & !(letter << 1) & !(blank << 1) & !(other_start << 1);
    let mut limit = ascii;
    if O200K {
        // A capital after a small letter starts a word.
        let upper = masks.upper & letter;
        letter_start |= upper & ((letter & !upper) << 1);
    }
    let quotes = if O200K { masks.quote & valid & (letter << 1) } else { masks.quote & other_start & (letter >> 1) };
    if quotes != 0 {
        limit = contractions::<O200K>(quotes, letter, window, ascii, last, &mut other_start, &mut letter_start);
    }

    let mut mask = 1 | other_start | letter_start | digits(digit) | white_starts(white, blank, newline, valid, last);
    if last {
        if !O200K {
            // At the end of the text `cl100k_base` takes the whole run of white space, line breaks included.
            let run = (white << (64 - ascii)).leading_ones() as usize;
            mask &= below(ascii - run + 1) | below(1);
        }
        return Starts { mask: mask & valid, end: ascii };
    }
    // A run of white space that reaches the end of the window is known only at its first character.
    let run = (white << (64 - ascii)).leading_ones() as usize;
    limit = limit.min(if run > 0 { ascii - run + 1 } else { ascii });
    mask &= below(limit);
    let end = 63 - mask.leading_zeros() as usize;
    Starts { mask: mask & below(end), end }
}

/// Line breaks directly after punctuation, with the slashes among them for o200k.
#[inline(always)]
fn absorbed<const O200K: bool>(other: u64, newline: u64, slash: u64) -> u64 {
    let first = newline & (other << 1);
    if first == 0 {
        return 0;
    }
    if !O200K || slash & (newline << 1) == 0 {
        // Adding the first bit of a run to the run carries through it: what changed is the run.
        return newline & !(newline.wrapping_add(first));
    }
    let run = newline | slash;
    let (mut open, mut absorbed) = (first, 0u64);
    while open != 0 {
        let from = open.trailing_zeros();
        let filled = ((run >> from).trailing_ones() + from) as usize;
        absorbed |= below(filled) & !below(from as usize);
        open &= !below(filled);
    }
    absorbed
}

/// The first of every three digits.
#[inline(always)]
fn digits(digit: u64) -> u64 {
    let mut starts = digit & !(digit << 1);
    let fourth = digit & (digit << 1) & (digit << 2) & (digit << 3);
    if fourth != 0 {
        let mut next = starts;
        loop {
            next = (next << 3) & fourth;
            if next == 0 {
                break;
            }
            starts |= next;
        }
    }
    starts
}

/// Starts inside white space: a run's first character, the first after its last line break, and its last if blank.
#[inline(always)]
fn white_starts(white: u64, blank: u64, newline: u64, valid: u64, last: bool) -> u64 {
    let first = white & !(white << 1);
    let followed = if last { valid >> 1 } else { u64::MAX };
    let final_blank = blank & !(white >> 1) & followed;
    let mut after_break = blank & (newline << 1);
    if newline & (blank << 1) != 0 && after_break != 0 {
        // Rare: blanks before a line break. Such a run of blanks does not start a piece.
        let mut open = after_break;
        while open != 0 {
            let from = open.trailing_zeros();
            let end = from + (blank >> from).trailing_ones();
            if end < 64 && newline >> end & 1 == 1 {
                after_break &= !(1 << from);
            }
            open &= open - 1;
        }
    }
    first | final_blank | after_break
}

/// Corrects the starts around contractions; returns the position from which the window leaves them open.
#[inline(never)]
fn contractions<const O200K: bool>(
    mut quotes: u64,
    letter: u64,
    window: &[u8],
    ascii: usize,
    last: bool,
    other_start: &mut u64,
    letter_start: &mut u64,
) -> usize {
    let mut done = 0;
    while quotes != 0 {
        let at = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        if at < done {
            continue;
        }
        // In o200k a quote that directly follows a contraction leads the next word.
        if O200K && done > 0 && at == done {
            continue;
        }
        if O200K && !last && at + 3 > ascii {
            return at;
        }
        let length = contraction(&window[..ascii], at);
        if length == 0 {
            continue;
        }
        done = at + length;
        *letter_start &= !(below(done) & !below(at));
        if O200K {
            *other_start &= !(1 << at);
        }
        if done < 64 {
            *letter_start |= letter & (1 << done);
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Classes;
    use crate::kernels::{Kernel, Scalar};
    use crate::pieces::{self, Pattern};

    fn check<const O200K: bool>(text: &[u8]) {
        let pattern = if O200K { Pattern::O200k } else { Pattern::Cl100k };
        let length = text.len().min(64);
        let mut block = [0; 64];
        block[..length].copy_from_slice(&text[..length]);
        let found = starts::<O200K>(Scalar::classify(&block), &block, length, length == text.len());
        let mut at = 0;
        let mut expected = 0u64;
        while at < found.end {
            expected |= 1 << at;
            at = pieces::next(pattern, Classes::get(), text, at);
        }
        assert_eq!((found.mask, found.end), (expected, at), "{:?} {O200K}", String::from_utf8_lossy(text));
    }

    #[test]
    fn windows_agree_with_the_plain_pieces() {
        let alphabets: [&[u8]; 6] = [
            b"aB'sl \n",
            b"ab /\n\r!",
            b"a1 2345678",
            b"a \t\n\r!x",
            b"abcDEF'tTrReEvVlL",
            b"The quick_(brown) fox's\n\t 10,000/%",
        ];
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for round in 0..300_000 {
            let alphabet = alphabets[round % alphabets.len()];
            let mut text: Vec<u8> = (0..1 + random(90)).map(|_| alphabet[random(alphabet.len())]).collect();
            if random(4) == 0 {
                let extra = ["é", "中", "\u{301}", "\u{17F}", "²", "\u{3000}"][random(6)];
                let at = random(text.len());
                text.splice(at..at, extra.bytes());
            }
            if text[0] < 0x80 {
                check::<false>(&text);
                check::<true>(&text);
            }
        }
    }
}
