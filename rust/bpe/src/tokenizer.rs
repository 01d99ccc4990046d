//! A loaded encoding.

use crate::TokenCounter;
use crate::classes::Classes;
use crate::encoder::Encoder;
use crate::encoding::Encoding;
use crate::pieces::{self, Pattern};
use crate::vocab::Vocab;

/// A vocabulary and a pattern, ready to count. Shared by all threads.
pub struct Tokenizer {
    encoding: Encoding,
    pattern: Pattern,
    classes: &'static Classes,
    vocab: Vocab,
}

impl Tokenizer {
    pub(crate) fn new(encoding: Encoding, pattern: Pattern, data: &'static [u8]) -> Tokenizer {
        Tokenizer { encoding, pattern, classes: Classes::get(), vocab: Vocab::load(data) }
    }

    /// Which encoding this is.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Tokens of `text`.
    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        self.encode(text).len() as u64
    }

    /// Ranks of the tokens of `text`: for tests and oracles, slower than `count`.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = text.as_bytes();
        let mut encoder = Encoder::default();
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = pieces::next(self.pattern, self.classes, text, at);
            let piece = &text[at..end];
            match self.vocab.rank(piece) {
                Some(rank) => tokens.push(rank),
                None => tokens.extend_from_slice(encoder.encode(&self.vocab, piece)),
            }
            at = end;
        }
        tokens
    }
}

impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> u64 {
        Tokenizer::count(self, text)
    }
}
