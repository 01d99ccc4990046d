//! Token counting: bytes in, counts out. This crate knows no messages.

/// Counts the tokens of a text.
pub trait TokenCounter {
    /// Tokens of `text`. Text of special tokens counts as plain text.
    fn count(&self, text: &str) -> u64;
}
