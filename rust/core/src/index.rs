//! Strings to small numbers, deterministically.
//!
//! Ids and tool names are compared all the time and stored everywhere; as [`Symbol`]s both are free. The map has a fixed hasher and
//! is never iterated, so that nothing depends on hash order.

use std::hash::{BuildHasherDefault, Hasher};

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

/// The strings seen so far.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    texts: Vec<Box<str>>,
    numbers: Map<Box<str>, u32>,
}

impl Symbols {
    /// The symbol of a string; the same for the same string.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&number) = self.numbers.get(text) {
            return Symbol(number);
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        Symbol(number)
    }
    /// The symbol of a string that was interned before.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.numbers.get(text).copied().map(Symbol)
    }
    /// The string.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
