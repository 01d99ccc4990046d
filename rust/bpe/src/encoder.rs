//! Byte pair encoding of one piece in linear time.
//!
//! The definition is a loop: of all neighbours whose joined bytes are a token, join the pair with the lowest rank, the
//! leftmost first. Taken literally that is quadratic. This file uses two facts instead (DESIGN.md gives the argument):
//!
//! 1. A sequence of tokens is the encoding of its bytes exactly when each pair of neighbours is the encoding of its own
//!    bytes.
//! 2. Whether a pair is one, `compatible`, follows from undoing its last merges, one at a time.
//!
//! So: take the longest token that is compatible with the one before; when none is, step back and mark the position as
//! dead. Each position dies at most once, which bounds the work by (bytes x token lengths) and makes it linear.
//!
//! Invariant: the result equals the merge loop (`tests::merge_loop`, the oracle).
//!
//! Example (`o200k_base`): `" tokenizer"` gives ` token`, `izer`.

use crate::vocab::{PAD, Vocab};

/// Answers of `compatible` that were asked for lately. A new one replaces an old one.
struct Pairs(Box<[u64]>);

impl Pairs {
    const BITS: u32 = 15;

    #[inline]
    fn compatible(&mut self, vocab: &Vocab, padded: &[u8], at: usize, left: u32, right: u32) -> bool {
        let pair = u64::from(left) << 32 | u64::from(right) << 2 | 2;
        let slot = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Pairs::BITS);
        let known = self.0[slot as usize];
        if known & !1 == pair {
            return known & 1 == 1;
        }
        let answer = compatible(vocab, padded, at, left, right);
        self.0[slot as usize] = pair | u64::from(answer);
        answer
    }
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs(vec![0; 1 << Pairs::BITS].into_boxed_slice())
    }
}

/// Buffers that live from piece to piece.
#[derive(Default)]
pub(crate) struct Encoder {
    pairs: Pairs,
    padded: Vec<u8>,
    dead: Vec<u64>,
    tokens: Vec<u32>,
}

impl Encoder {
    /// The tokens of a piece.
    pub(crate) fn encode(&mut self, vocab: &Vocab, piece: &[u8]) -> &[u32] {
        self.tokens.clear();
        self.padded.clear();
        self.padded.extend_from_slice(piece);
        self.padded.extend_from_slice(&[0; PAD]);
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        self.search(vocab, piece.len());
        &self.tokens
    }

    fn search(&mut self, vocab: &Vocab, end: usize) {
        let mut at = 0;
        while at < end {
            let mut candidate = Some(vocab.longest(&self.padded, at, end));
            loop {
                let Some(token) = candidate else {
                    // Nothing fits here: the token before must be shorter.
                    self.dead[at / 64] |= 1 << (at % 64);
                    let last = self.tokens.pop().expect("every byte is a token, so every text has an encoding");
                    at -= vocab.length(last);
                    candidate = vocab.shorter(last);
                    continue;
                };
                let next = at + vocab.length(token);
                let alive = self.dead[next / 64] >> (next % 64) & 1 == 0;
                if alive && self.tokens.last().is_none_or(|&last| self.pairs.compatible(vocab, &self.padded, at, last, token)) {
                    self.tokens.push(token);
                    at = next;
                    break;
                }
                candidate = vocab.shorter(token);
            }
        }
    }
}

/// Whether the encoding of the bytes of `left` and `right`, which meet at `at` in `padded`, is these two tokens.
///
/// Walks back through the merges that formed the two, latest first. At each step the parts that touch the border would
/// have been joined, had their joined token a lower rank than the merges still to come; then the pair is impossible.
pub(crate) fn compatible(vocab: &Vocab, padded: &[u8], at: usize, left: u32, right: u32) -> bool {
    let (mut left, mut right) = (left, right);
    let mut limit = u32::MAX;
    loop {
        let (before, after) = (vocab.length(left), vocab.length(right));
        if vocab.rank_at(padded, at - before, before + after).is_some_and(|joined| joined < limit) {
            return false;
        }
        // Undo the later merge. Of two equal merges the left one comes first, so the right one is undone first.
        let undo_left = if left > right { vocab.parts(left) } else { None };
        if let Some((_, part)) = undo_left {
            limit = left;
            left = part;
        } else if let Some((part, _)) = vocab.parts(right) {
            limit = right + 1;
            right = part;
        } else if let Some((_, part)) = vocab.parts(left) {
            limit = left;
            left = part;
        } else {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tokenizer, cl100k, o200k, prefix};

    /// The definition, taken literally: quadratic.
    fn merge_loop(vocab: &Vocab, piece: &[u8]) -> Vec<u32> {
        let mut tokens: Vec<&[u8]> = piece.chunks(1).collect();
        let mut start: Vec<usize> = (0..=piece.len()).collect();
        loop {
            let joined = |at: usize| vocab.rank(&piece[start[at]..start[at + 2]]).map(|rank| (rank, at));
            let Some((_, at)) = (0..tokens.len().saturating_sub(1)).filter_map(joined).min() else { break };
            start.remove(at + 1);
            tokens.remove(at + 1);
            tokens[at] = &piece[start[at]..start[at + 1]];
        }
        tokens.iter().map(|token| vocab.rank(token).unwrap()).collect()
    }

    fn check(tokenizer: &Tokenizer, encoder: &mut Encoder, piece: &[u8]) {
        let vocab = &tokenizer.vocab;
        let expected = merge_loop(vocab, piece);
        assert_eq!(encoder.encode(vocab, piece), expected, "{piece:?}");
        let counts = prefix::counts(vocab, piece, u64::MAX >> 8);
        assert_eq!(counts.len(), piece.len() + 1);
        assert_eq!(counts[piece.len()] as usize, expected.len());
    }

    #[test]
    fn encoder_agrees_with_the_merge_loop() {
        let alphabets: [&[u8]; 6] =
            [b"ab", b"abcdefghijklmnopqrstuvwxyz", b"= ", " \n\t=-_".as_bytes(), "的一是不了人".as_bytes(), b"\x00\x80\xFF\xE4a"];
        let mut state = 3u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut encoders = [Encoder::default(), Encoder::default()];
        for round in 0..6_000 {
            let alphabet = alphabets[round % alphabets.len()];
            let piece: Vec<u8> = if round % 7 == 0 {
                let unit = 1 + random(3);
                let unit: Vec<u8> = (0..unit).map(|_| alphabet[random(alphabet.len())]).collect();
                unit.repeat(1 + random(60))
            } else {
                (0..1 + random(80)).map(|_| alphabet[random(alphabet.len())]).collect()
            };
            check(o200k(), &mut encoders[0], &piece);
            check(cl100k(), &mut encoders[1], &piece);
        }
    }
}
