//! Exact token counts: bytes in, counts out. This crate knows no messages.
//!
//! Counts equal the number of tokens of tiktoken's `encode_ordinary` for `cl100k_base` and `o200k_base`, on every
//! string; the text of special tokens counts as plain text. Counting takes linear time on every input. `DESIGN.md`
//! beside this crate explains how, before the code.
//!
//! ```
//! use lithify_bpe::Encoding;
//!
//! let tokenizer = Encoding::by_name("o200k_base").unwrap().load();
//! assert_eq!(tokenizer.count("hello world"), 2);
//! assert_eq!(tokenizer.encode("hello world"), [24912, 2375]);
//! ```

mod border;
mod cache;
mod classes;
mod counter;
mod encoder;
mod encoding;
mod kernels;
mod pieces;
mod prefix;
mod tokenizer;
mod vocab;
mod window;

pub use border::StreamCounter;
pub use encoding::{Encoding, cl100k, o200k};
pub use tokenizer::Tokenizer;

/// Counts the tokens of a text.
pub trait TokenCounter {
    /// Tokens of `text`. Text of special tokens counts as plain text.
    fn count(&self, text: &str) -> u64;
}
