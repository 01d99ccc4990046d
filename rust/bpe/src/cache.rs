//! Counts of pieces that are no token, remembered for each thread.
//!
//! Two tables of fixed size: pieces of up to 15 bytes, two to a bucket of 32 bytes, and pieces of up to 62 bytes, one
//! cache line each. A new piece replaces an old one, so nothing grows and no input can make a lookup slow. Entries hold
//! the whole piece, so an answer is never a guess.
//!
//! Invariant: `get(key) == Some(n)` only after `put(key, n)` for the same bytes. O(1). About 2 MB a thread and encoding,
//! touched as needed.

use crate::vocab::Key;

const SHORT_BITS: u32 = 15;
const LONG_BITS: u32 = 14;
/// Longest piece that the long table holds.
pub(crate) const LONG: usize = 62;

/// The count sits above the length in the top byte: both are at most 15.
const COUNT_SHIFT: u32 = 60;
const KEY_BITS: u64 = (1 << COUNT_SHIFT) - 1;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    bytes: [u8; LONG],
    length: u8,
    count: u8,
}

const EMPTY: Line = Line { bytes: [0; LONG], length: 0, count: 0 };

/// The two tables of one thread and encoding.
pub(crate) struct Cache {
    short: Box<[[Key; 2]]>,
    long: Box<[Line]>,
}

impl Cache {
    pub(crate) fn new() -> Cache {
        Cache {
            short: vec![[Key::default(); 2]; 1 << SHORT_BITS].into_boxed_slice(),
            long: vec![EMPTY; 1 << LONG_BITS].into_boxed_slice(),
        }
    }

    /// Count of a short piece.
    #[inline(always)]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<u32> {
        let bucket = &self.short[(hash >> (64 - SHORT_BITS)) as usize];
        bucket
            .iter()
            .find(|entry| entry.low == key.low && entry.high & KEY_BITS == key.high)
            .map(|entry| (entry.high >> COUNT_SHIFT) as u32)
    }

    /// Remembers the count, 1 to 15, of a short piece.
    pub(crate) fn put(&mut self, key: Key, hash: u64, count: u32) {
        let bucket = &mut self.short[(hash >> (64 - SHORT_BITS)) as usize];
        bucket[1] = bucket[0];
        bucket[0] = Key { low: key.low, high: key.high | u64::from(count) << COUNT_SHIFT };
    }

    /// Count of a piece of 16 to 62 bytes.
    #[inline]
    pub(crate) fn get_long(&self, piece: &[u8], hash: u64) -> Option<u32> {
        let line = &self.long[(hash >> (64 - LONG_BITS)) as usize];
        (line.length as usize == piece.len() && line.bytes[..piece.len()] == *piece).then_some(u32::from(line.count))
    }

    /// Remembers the count of a piece of 16 to 62 bytes.
    pub(crate) fn put_long(&mut self, piece: &[u8], hash: u64, count: u32) {
        let line = &mut self.long[(hash >> (64 - LONG_BITS)) as usize];
        line.bytes[..piece.len()].copy_from_slice(piece);
        line.length = piece.len() as u8;
        line.count = count as u8;
    }
}

/// Hash of a piece of at least 16 bytes.
#[inline]
pub(crate) fn hash_long(piece: &[u8]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(piece[at..at + 8].try_into().expect("eight bytes"));
    let mut hash = piece.len() as u64;
    let mut at = 0;
    while at + 16 <= piece.len() {
        hash = Key { low: word(at) ^ hash, high: word(at + 8) }.hash();
        at += 16;
    }
    let at = piece.len() - 16;
    Key { low: word(at) ^ hash, high: word(at + 8) }.hash()
}
