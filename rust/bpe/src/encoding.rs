//! The encodings and their one-time loading.
//!
//! Invariant: each encoding is loaded at most once in a process, by the first thread that asks; others wait for it.
//!
//! Example: `Encoding::by_name("o200k_harmony")` is `Some(Encoding::O200kBase)`: harmony differs in special tokens only.

use crate::pieces::Pattern;
use crate::tokenizer::Tokenizer;
use std::sync::OnceLock;

/// A vocabulary with its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// GPT-3.5 and GPT-4.
    Cl100kBase,
    /// GPT-4o and later; also `o200k_harmony`, which has the same ranks and pattern.
    O200kBase,
}

impl Encoding {
    /// The encoding with this tiktoken name, `None` for a name that is not embedded.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Encoding> {
        match name {
            "cl100k_base" => Some(Encoding::Cl100kBase),
            "o200k_base" | "o200k_harmony" => Some(Encoding::O200kBase),
            _ => None,
        }
    }

    /// The name in tiktoken.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Cl100kBase => "cl100k_base",
            Encoding::O200kBase => "o200k_base",
        }
    }

    /// The tokenizer of this encoding, built by the first call (milliseconds), free afterwards.
    #[must_use]
    pub fn load(self) -> &'static Tokenizer {
        static CL100K: OnceLock<Tokenizer> = OnceLock::new();
        static O200K: OnceLock<Tokenizer> = OnceLock::new();
        match self {
            Encoding::Cl100kBase => CL100K.get_or_init(|| {
                let data = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.bin"));
                Tokenizer::new(self, Pattern::Cl100k, data)
            }),
            Encoding::O200kBase => O200K.get_or_init(|| {
                let data = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.bin"));
                Tokenizer::new(self, Pattern::O200k, data)
            }),
        }
    }
}

/// The tokenizer of `o200k_base`.
///
/// ```
/// assert_eq!(lithify_bpe::o200k().count("hello world"), 2);
/// ```
#[must_use]
pub fn o200k() -> &'static Tokenizer {
    Encoding::O200kBase.load()
}

/// The tokenizer of `cl100k_base`.
#[must_use]
pub fn cl100k() -> &'static Tokenizer {
    Encoding::Cl100kBase.load()
}
