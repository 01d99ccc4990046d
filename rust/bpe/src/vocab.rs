//! The vocabulary: from the bytes of a token to its rank.
//!
//! Tokens of up to 15 bytes (98 in 100) lie in an open-addressing table. A key is 16 bytes: the token padded with
//! zeros, its length in the last byte, so no two tokens share a key and one comparison of two words decides. The table is
//! less than half full and is filled in order of rank, so that frequent tokens lie in the slot they hash to. Longer
//! tokens are found by their first 16 bytes. For the longest token at a position, `lengths` gives for the next 4 bytes
//! which lengths are worth a probe.
//!
//! Invariant: `rank(bytes)` is `Some(r)` exactly when token r has these bytes. Lookup O(1) expected over a fixed,
//! known set of keys. Loading inserts each token once (a few milliseconds; see DESIGN.md).
//!
//! Example (`o200k_base`): `rank(b"hello")` is `Some(24912)`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Longest token or piece that fits a key.
pub(crate) const SHORT: usize = 15;
/// Bytes that must be readable after the start of a piece to load its key without a copy.
pub(crate) const PAD: usize = 16;
/// Longest token of both vocabularies, in bytes; loading checks it.
pub(crate) const LONGEST: usize = 128;
/// Tokens that loading inserts at once.
const AHEAD: usize = 32;
/// Bits of the filter, one for about twenty of which is set: most lookups find nothing, and learn it from the 512 KB of
/// the filter instead of from the much larger table.
const FILTER_BITS: u32 = 22;
/// Shortest token that length masks speak of. Their bit n stands for length n, and bit 0 for every length above `SHORT`.
const MASKED: usize = 4;
const LONG_BIT: u32 = 1;
const LENGTH_BITS: u32 = 17;

/// Up to 15 bytes, padded, with the length in the top byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Key {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// For each length up to 15, which bits of the two words belong to the piece.
const KEEP: [(u64, u64); 16] = {
    let mut keep = [(0, 0); 16];
    let mut length = 0;
    while length < 16 {
        keep[length] = match length {
            0..=7 => ((1 << (8 * length)) - 1, 0),
            8 => (u64::MAX, 0),
            _ => (u64::MAX, (1 << (8 * (length - 8))) - 1),
        };
        length += 1;
    }
    keep
};

impl Key {
    /// The key of the first `length` (at most 15) bytes of `bytes`, of which 16 must be there.
    #[inline(always)]
    pub(crate) fn load(bytes: &[u8; PAD], length: usize) -> Key {
        let (low, high) = bytes.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half of 16 bytes"));
        let (keep_low, keep_high) = KEEP[length & SHORT];
        Key { low: word(low) & keep_low, high: word(high) & keep_high | (length as u64) << 56 }
    }

    /// The key of a whole slice of at most 15 bytes.
    pub(crate) fn of(bytes: &[u8]) -> Key {
        let mut padded = [0; PAD];
        padded[..bytes.len()].copy_from_slice(bytes);
        Key::load(&padded, bytes.len())
    }

    /// A 64-bit hash; the top bits are the best ones.
    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        let left = self.low ^ 0x9E37_79B9_7F4A_7C15;
        let right = self.high ^ 0xD1B5_4A32_D192_ED03;
        let product = u128::from(left) * u128::from(right);
        (product as u64 ^ (product >> 64) as u64).wrapping_mul(0x9FB2_1C65_1E98_DF25)
    }
}

/// Hashes the first 16 bytes of a long token.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, bytes: u128) {
        self.0 = Key { low: bytes as u64, high: (bytes >> 64) as u64 }.hash();
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u128");
    }
}

/// The tokens of one encoding, in the layouts that lookups need.
pub(crate) struct Vocab {
    keys: Box<[Key]>,
    ranks: Box<[u32]>,
    shift: u32,
    lengths: Box<[u16]>,
    filter: Box<[u64]>,
    long: HashMap<u128, Vec<u32>, BuildHasherDefault<Mixer>>,
    offsets: Box<[u32]>,
    token_lengths: &'static [u8],
    splits: &'static [u8],
    blob: &'static [u8],
    parts: Box<[AtomicU64]>,
    shorter: Box<[AtomicU32]>,
}

impl Vocab {
    /// Reads a file written by `tools/build_data.py`, unpacked by `build.rs`.
    pub(crate) fn load(data: &'static [u8]) -> Vocab {
        let (count, rest) = data.split_at(4);
        let count = u32::from_le_bytes(count.try_into().expect("four bytes")) as usize;
        let (token_lengths, rest) = rest.split_at(count);
        let (splits, blob) = rest.split_at(count);
        let slots = (2 * count).next_power_of_two();
        let mut vocab = Vocab {
            keys: vec![Key::default(); slots].into_boxed_slice(),
            ranks: vec![0; slots].into_boxed_slice(),
            shift: 64 - slots.trailing_zeros(),
            lengths: vec![0; 1 << LENGTH_BITS].into_boxed_slice(),
            filter: vec![0; 1 << (FILTER_BITS - 6)].into_boxed_slice(),
            long: HashMap::default(),
            offsets: vec![0; count].into_boxed_slice(),
            token_lengths,
            splits,
            blob,
            parts: (0..count).map(|_| AtomicU64::new(0)).collect(),
            shorter: (0..count).map(|_| AtomicU32::new(0)).collect(),
        };
        vocab.fill();
        vocab
    }

    fn fill(&mut self) {
        let mut offset = 0;
        let mut short = Vec::with_capacity(AHEAD);
        for rank in 0..self.token_lengths.len() {
            let length = self.token_lengths[rank] as usize;
            assert!(length <= LONGEST, "token {rank} is longer than any known before");
            self.offsets[rank] = offset as u32;
            let token = &self.blob[offset..offset + length];
            if length <= SHORT {
                let key = match self.blob[offset..].first_chunk::<PAD>() {
                    Some(bytes) => Key::load(bytes, length),
                    None => Key::of(token),
                };
                short.push((key, key.hash(), rank as u32));
            } else {
                let head: [u8; PAD] = token[..PAD].try_into().expect("longer than 15");
                self.long.entry(u128::from_le_bytes(head)).or_default().push(rank as u32);
            }
            if length >= MASKED {
                self.lengths[head_slot(token)] |= if length <= SHORT { 1 << length } else { LONG_BIT as u16 };
            }
            if short.len() == AHEAD {
                self.insert(&mut short);
            }
            offset += length;
        }
        self.insert(&mut short);
        for ranks in self.long.values_mut() {
            ranks.sort_unstable_by_key(|&rank| std::cmp::Reverse(self.token_lengths[rank as usize]));
        }
    }

    /// Inserts some tokens. They are all looked at first: so the processor waits for memory once and not for each.
    fn insert(&mut self, tokens: &mut Vec<(Key, u64, u32)>) {
        let home = |hash: u64| (hash >> self.shift) as usize;
        std::hint::black_box(tokens.iter().fold(0, |sum, token| sum ^ self.keys[home(token.1)].low));
        for (key, hash, rank) in tokens.drain(..) {
            self.filter[(hash >> (64 - FILTER_BITS + 6)) as usize] |= 1 << (hash >> (64 - FILTER_BITS) & 63);
            let mut slot = (hash >> self.shift) as usize;
            while self.keys[slot] != Key::default() {
                slot = (slot + 1) & (self.keys.len() - 1);
            }
            self.keys[slot] = key;
            self.ranks[slot] = rank;
        }
    }

    /// Whether the key lies in the very slot it hashes to: the one-probe answer for most pieces.
    #[inline(always)]
    pub(crate) fn hit(&self, key: Key, hash: u64) -> bool {
        self.keys[(hash >> self.shift) as usize] == key
    }

    /// Rank of the token with this key.
    #[inline]
    pub(crate) fn rank_of_key(&self, key: Key, hash: u64) -> Option<u32> {
        if self.filter[(hash >> (64 - FILTER_BITS + 6)) as usize] >> (hash >> (64 - FILTER_BITS) & 63) & 1 == 0 {
            return None;
        }
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let found = self.keys[slot];
            if found == key {
                return Some(self.ranks[slot]);
            }
            if found == Key::default() {
                return None;
            }
            slot = (slot + 1) & (self.keys.len() - 1);
        }
    }

    /// Rank of the token `padded[start..start + length]`; 16 bytes must be readable from `start`.
    #[inline]
    pub(crate) fn rank_at(&self, padded: &[u8], start: usize, length: usize) -> Option<u32> {
        let head = head(padded, start);
        if length <= SHORT {
            let key = Key::load(head, length);
            return self.rank_of_key(key, key.hash());
        }
        let wanted = &padded[start..start + length];
        self.long.get(&u128::from_le_bytes(*head))?.iter().copied().find(|&rank| self.token(rank) == wanted)
    }

    /// The longest token that `padded[start..end]`, of at least one byte, starts with.
    pub(crate) fn longest(&self, padded: &[u8], start: usize, end: usize) -> u32 {
        let room = end - start;
        let mask = self.lengths_at(padded, start, room);
        if mask & LONG_BIT != 0
            && let Some(found) = self.longest_long(padded, start, room)
        {
            return found;
        }
        let head = head(padded, start);
        let mut mask = mask & !LONG_BIT;
        loop {
            let length = 31 - mask.leading_zeros();
            let key = Key::load(head, length as usize);
            if let Some(found) = self.rank_of_key(key, key.hash()) {
                return found;
            }
            mask ^= 1 << length;
            debug_assert!(mask != 0, "every byte is a token");
        }
    }

    /// Lengths that a token at `start` may have: bits 1 to 15, and `LONG_BIT`.
    #[inline(always)]
    fn lengths_at(&self, padded: &[u8], start: usize, room: usize) -> u32 {
        const ALWAYS: u32 = 0b1110;
        let long_fits = if room > SHORT { LONG_BIT } else { 0 };
        let fits = u32::MAX >> (31 - room.min(SHORT)) & !LONG_BIT | long_fits;
        (u32::from(self.lengths[head_slot(&padded[start..])]) | ALWAYS) & fits
    }

    /// The longest token that `rank`'s bytes start with, other than itself; `None` for a single byte. Found once, then
    /// remembered.
    #[inline]
    pub(crate) fn shorter(&self, rank: u32) -> Option<u32> {
        if self.length(rank) == 1 {
            return None;
        }
        let known = self.shorter[rank as usize].load(Ordering::Relaxed);
        if known != 0 {
            return Some(known - 1);
        }
        let mut padded = [0; LONGEST + PAD];
        let token = self.token(rank);
        padded[..token.len()].copy_from_slice(token);
        let found = self.longest(&padded, 0, token.len() - 1);
        self.shorter[rank as usize].store(found + 1, Ordering::Relaxed);
        Some(found)
    }

    /// Calls `found` with rank and length of each token that `padded[start..end]` starts with.
    pub(crate) fn each_at(&self, padded: &[u8], start: usize, end: usize, mut found: impl FnMut(u32, usize)) {
        let room = end - start;
        let head = head(padded, start);
        let mask = self.lengths_at(padded, start, room);
        let mut short = mask & !LONG_BIT;
        while short != 0 {
            let length = short.trailing_zeros() as usize;
            let key = Key::load(head, length);
            if let Some(rank) = self.rank_of_key(key, key.hash()) {
                found(rank, length);
            }
            short &= short - 1;
        }
        if mask & LONG_BIT != 0 {
            let text = &padded[start..end];
            let long = self.long.get(&u128::from_le_bytes(*head)).into_iter().flatten();
            for &rank in long.filter(|&&rank| text.starts_with(self.token(rank))) {
                found(rank, self.length(rank));
            }
        }
    }

    fn longest_long(&self, padded: &[u8], start: usize, room: usize) -> Option<u32> {
        let text = &padded[start..start + room];
        let ranks = self.long.get(&u128::from_le_bytes(*head(padded, start)))?;
        let fitting = ranks.partition_point(|&rank| self.length(rank) > room);
        ranks[fitting..].iter().copied().find(|&rank| text.starts_with(self.token(rank)))
    }

    /// Bytes of a token.
    pub(crate) fn token(&self, rank: u32) -> &'static [u8] {
        let start = self.offsets[rank as usize] as usize;
        &self.blob[start..start + self.length(rank)]
    }

    /// Length of a token in bytes.
    #[inline]
    pub(crate) fn length(&self, rank: u32) -> usize {
        self.token_lengths[rank as usize] as usize
    }

    /// The two tokens whose merge forms `rank`; `None` for a single byte. Found once, then remembered.
    #[inline]
    pub(crate) fn parts(&self, rank: u32) -> Option<(u32, u32)> {
        let split = self.splits[rank as usize] as usize;
        if split == 0 {
            return None;
        }
        let known = self.parts[rank as usize].load(Ordering::Relaxed);
        if known != 0 {
            return Some(((known >> 32) as u32 - 1, known as u32));
        }
        let (left, right) = self.token(rank).split_at(split);
        let found = |bytes: &[u8]| self.rank(bytes).expect("a merge joins two tokens");
        let (left, right) = (found(left), found(right));
        // One more than `left`, so that 0 can mean unknown.
        self.parts[rank as usize].store(u64::from(left + 1) << 32 | u64::from(right), Ordering::Relaxed);
        Some((left, right))
    }

    /// Rank of the token with these bytes, off the hot path.
    pub(crate) fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() <= SHORT {
            let key = Key::of(bytes);
            return self.rank_of_key(key, key.hash());
        }
        self.rank_at(bytes, 0, bytes.len())
    }
}

#[inline(always)]
fn head(padded: &[u8], start: usize) -> &[u8; PAD] {
    padded[start..start + PAD].try_into().expect("16 bytes were asked for")
}

/// Slot in `lengths` of the first four bytes.
#[inline(always)]
fn head_slot(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    (word.wrapping_mul(0x9E37_79B1) >> (32 - LENGTH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use crate::{Tokenizer, cl100k, o200k};
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    /// Left part of a token that merging never forms, in the data files.
    const UNREACHABLE: u8 = 255;

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for group in bytes.chunks(3) {
            let bits = group.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
                out.push(if place <= group.len() { char::from(digit) } else { '=' });
            }
        }
        out
    }

    fn check(tokenizer: &Tokenizer, count: usize, pinned: &str) {
        let vocab = &tokenizer.vocab;
        assert_eq!(vocab.token_lengths.len(), count);
        let mut file = String::new();
        for rank in 0..count as u32 {
            let token = vocab.token(rank);
            assert_eq!(vocab.rank(token), Some(rank));
            assert_ne!(vocab.splits[rank as usize], UNREACHABLE);
            writeln!(file, "{} {rank}", base64(token)).unwrap();
        }
        let digest: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, pinned);
    }

    #[test]
    fn ranks_are_those_that_tiktoken_pins() {
        check(cl100k(), 100_256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7");
        check(o200k(), 199_998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d");
    }

    #[test]
    fn shorter_is_the_longest_proper_prefix() {
        let vocab = &o200k().vocab;
        for rank in (0..vocab.token_lengths.len() as u32).step_by(37) {
            let token = vocab.token(rank);
            let expected = (1..token.len()).rev().find_map(|length| vocab.rank(&token[..length]));
            assert_eq!((vocab.shorter(rank), vocab.shorter(rank)), (expected, expected));
        }
    }
}
