//! An estimate of how many tokens a text costs, from one pass over its bytes.
//!
//! A token starts at some bytes of a text and not at others. Whether one starts at a byte depends mostly on the bytes
//! around it: after a letter, before a space, between two digits, inside a Chinese character. So every byte is given
//! the average number of token starts that was seen at such a place, and the estimate is the sum. Two tables hold the
//! averages: one by the pair (byte before, byte), and one correction by the four bytes from two before to one after.
//! Pairs tell the scripts and the classes of characters apart; quads tell common letter sequences from rare ones.
//!
//! The tables are fitted per encoding by `benches/inputs/fit_estimate.py`, on Python's own library and on made-up text.
//! `benches/record/estimate.md` holds the errors measured on texts by others, and says where they miss their bounds.
//!
//! Invariants: the empty text costs 0, any other text at least 1 token; no input panics, valid UTF-8 or not; the result
//! is the same on every platform, since all sums are integers and bytes are read in a fixed order. Time is linear: two
//! table reads per byte, whatever the text. No memory is taken.
//!
//! ```
//! use lithify_core::estimate::{Weights, estimate};
//! assert_eq!(estimate("", &Weights::O200K), 0);
//! let tokens = estimate("The quick brown fox jumps over the lazy dog.", &Weights::O200K);
//! assert!((9..=11).contains(&tokens)); // exactly 10 in o200k_base
//! ```

/// Fixed-point units per token in what [`estimate_units`] returns.
pub const UNITS_PER_TOKEN: u64 = 1024;

/// One table: a weight per 16-bit index, in steps of 1/128 token.
type Table = [u8; 1 << 16];

/// The zeros of both tables together (48 and 128): a weight of either sign fits a byte.
const ZERO: i64 = 48 + 128;

/// The fitted weights for one target.
#[derive(Clone, Copy)]
pub struct Weights {
    pairs: &'static Table,
    quads: &'static Table,
    /// Units per step of a table: 8 when nothing is scaled.
    scale: u64,
}

impl Weights {
    /// For models that count with o200k_base.
    pub const O200K: Self = Self::new(include_bytes!("estimate/o200k.bin"), 8);
    /// For models that count with cl100k_base.
    pub const CL100K: Self = Self::new(include_bytes!("estimate/cl100k.bin"), 8);
    /// For models whose tokenizer is secret (Claude, Gemini), until calibrated: o200k_base and an eighth more.
    pub const DEFAULT: Self = Self { scale: 9, ..Self::O200K };

    const fn new(bytes: &'static [u8; 2 << 16], scale: u64) -> Self {
        let (Some(pairs), Some(quads)) = (bytes.first_chunk(), bytes.last_chunk()) else {
            unreachable!();
        };
        Self { pairs, quads, scale }
    }

    /// Steps at the places of `window` that have two bytes before them and one after.
    #[inline]
    fn sum(&self, window: &[u8]) -> i64 {
        let mut total = 0_i64;
        let mut rest = window;
        // One load serves the five places that lie in eight bytes; two loads a round keep two chains of additions going.
        while let Some(block) = rest.first_chunk::<13>() {
            let (one, two) = (block.first_chunk::<8>(), block.last_chunk::<8>());
            let (one, two) = (u64::from_le_bytes(*one.unwrap_or(&[0; 8])), u64::from_le_bytes(*two.unwrap_or(&[0; 8])));
            let (mut part, mut other) = (0_u32, 0_u32);
            for at in 0..5 {
                part += self.steps(one >> (8 * at));
                other += self.steps(two >> (8 * at));
            }
            total += i64::from(part + other) - 10 * ZERO;
            rest = &rest[10..];
        }
        for quad in rest.windows(4) {
            total += i64::from(self.steps(u64::from(u32::from_le_bytes([quad[0], quad[1], quad[2], quad[3]])))) - ZERO;
        }
        total
    }

    /// The two weights of the place before the third of the low bytes.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the low bytes are what is wanted
    fn steps(&self, low: u64) -> u32 {
        let pair = (low >> 8) as u16;
        let hash = (low as u32).wrapping_mul(0x9E37_79B1) >> 16;
        u32::from(self.pairs[usize::from(pair)]) + u32::from(self.quads[hash as usize])
    }
}

impl std::fmt::Debug for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weights").field("scale", &self.scale).finish_non_exhaustive()
    }
}

/// Bytes of the longest common pieces (runs of one sign).
const LONGEST_PIECE: u64 = 64;
/// Texts up to this length are copied beside zeros; longer ones are read in place.
const SHORT: usize = 64;

/// The estimate of a text in tokens, rounded to the nearest; at least 1 unless the text is empty.
#[must_use]
pub fn estimate(text: &str, weights: &Weights) -> u64 {
    tokens(estimate_units(text.as_bytes(), weights))
}

/// Units as tokens, rounded to the nearest, ties up.
#[must_use]
pub const fn tokens(units: u64) -> u64 {
    (units + UNITS_PER_TOKEN / 2) / UNITS_PER_TOKEN
}

/// The estimate in units of 1/[`UNITS_PER_TOKEN`] token, to be summed before rounding. Any bytes will do.
#[must_use]
pub fn estimate_units(text: &[u8], weights: &Weights) -> u64 {
    let len = text.len();
    if len == 0 {
        return 0;
    }
    let steps = if len <= SHORT {
        let mut padded = [0; SHORT + 3];
        padded[2..len + 2].copy_from_slice(text);
        weights.sum(&padded[..len + 3])
    } else {
        let head = [0, 0, text[0], text[1], text[2]];
        let tail = [text[len - 3], text[len - 2], text[len - 1], 0];
        weights.sum(&head) + weights.sum(text) + weights.sum(&tail)
    };
    // Long runs of one sign cost about a token per 64 bytes; next to nothing else costs less.
    let least = (len as u64 * UNITS_PER_TOKEN).div_ceil(LONGEST_PIECE);
    (steps.max(0).unsigned_abs() * weights.scale).max(least).max(UNITS_PER_TOKEN)
}

#[cfg(test)]
mod tests;
