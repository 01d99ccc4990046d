//! Strings to small numbers, deterministically.
//!
//! Ids and tool names are compared all the time and stored everywhere; as [`Symbol`]s both are free. The map has a fixed hasher and
//! is never iterated, so that nothing depends on hash order.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

/// A hash map with a fixed hasher. Never iterate it.
#[allow(clippy::disallowed_types)]
pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Fixed>>;

/// A multiply-and-rotate hasher over eight bytes at a time: the same on every run and platform.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 over the golden ratio

impl Hasher for Fixed {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(29) ^ value).wrapping_mul(MULTIPLIER);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// A string known by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

/// The strings seen so far, end to end in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    buffer: String,
    /// Where each string ends.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

/// The same on every run, and strong: whoever chooses texts cannot easily make them collide.
pub(crate) fn strong_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl Symbols {
    /// Makes room for that many strings.
    pub fn reserve(&mut self, strings: usize) {
        self.ends.reserve(strings);
        let (buffer, ends) = (&self.buffer, &self.ends);
        self.numbers.reserve(strings, |&number| strong_hash(at(buffer, ends, number)));
    }
    /// The symbol of a string; the same for the same string.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let (buffer, ends) = (&self.buffer, &self.ends);
        let same = |&number: &u32| at(buffer, ends, number) == text;
        match self.numbers.entry(strong_hash(text), same, |&number| strong_hash(at(buffer, ends, number))) {
            Entry::Occupied(known) => Symbol(*known.get()),
            Entry::Vacant(free) => {
                let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                free.insert(number);
                self.buffer.push_str(text);
                self.ends.push(self.buffer.len());
                Symbol(number)
            }
        }
    }
    /// The string.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        at(&self.buffer, &self.ends, symbol.0)
    }
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn at<'a>(buffer: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &buffer[start..ends[number]]
}
