//! A loaded encoding.

use crate::TokenCounter;
use crate::classes::Classes;
use crate::counter::{Counter, State};
use crate::encoder::Encoder;
use crate::encoding::Encoding;
use crate::kernels::{self, Scalar};
use crate::pieces::{self, Pattern};
use crate::vocab::Vocab;
use rayon::prelude::*;
use std::cell::RefCell;

/// Bytes from which `count_many` is worth waking other threads: about 0.2 ms of counting.
const PARALLEL: usize = 1 << 16;

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
        self.with_state(|state| match self.pattern {
            Pattern::Cl100k => self.dispatch::<false>(state, text.as_bytes()),
            Pattern::O200k => self.dispatch::<true>(state, text.as_bytes()),
        })
    }

    /// Tokens of each text. Several threads share the work when the process may use more than one and it is worth it.
    #[must_use]
    pub fn count_many(&self, texts: &[&str]) -> Vec<u64> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if threads == 1 || bytes < PARALLEL {
            return texts.iter().map(|text| self.count(text)).collect();
        }
        texts.par_iter().map(|text| self.count(text)).collect()
    }

    fn dispatch<const O200K: bool>(&self, state: &mut State, text: &[u8]) -> u64 {
        let mut counter = Counter::<O200K> { vocab: &self.vocab, classes: self.classes, state };
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(count) = kernels::with_avx512(
                #[inline(always)]
                || counter.count::<kernels::Avx512>(text),
            ) {
                return count;
            }
            if let Some(count) = kernels::with_avx2(
                #[inline(always)]
                || counter.count::<kernels::Avx2>(text),
            ) {
                return count;
            }
        }
        counter.count::<Scalar>(text)
    }

    /// Runs `work` with what this thread keeps for this encoding, made on first use.
    fn with_state<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        thread_local! {
            static STATES: [RefCell<Option<Box<State>>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
        }
        STATES.with(|states| {
            let mut state = states[self.encoding as usize].borrow_mut();
            work(state.get_or_insert_with(|| Box::new(State::new())))
        })
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
