//! A loaded encoding.

use crate::TokenCounter;
use crate::border;
use crate::classes::Classes;
use crate::counter::{Counter, State, Stop};
use crate::encoder::Encoder;
use crate::encoding::Encoding;
use crate::kernels::{self, Scalar};
use crate::pieces::{self, Pattern};
use crate::prefix;
use crate::vocab::Vocab;
use rayon::prelude::*;
use std::cell::RefCell;

/// Bytes from which `count_many` is worth waking other threads: about 0.5 ms of counting.
const PARALLEL: usize = 1 << 17;

/// A vocabulary and a pattern, ready to count. Shared by all threads.
pub struct Tokenizer {
    encoding: Encoding,
    pub(crate) pattern: Pattern,
    pub(crate) classes: &'static Classes,
    pub(crate) vocab: Vocab,
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
        self.run(text.as_bytes(), None).total
    }

    /// Tokens of each text. Several threads share the work when the process may use more than one and it is worth it.
    #[must_use]
    pub fn count_many(&self, texts: &[&str]) -> Vec<u64> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        // Asking for the processors reads files of the system, so it comes last.
        if bytes < PARALLEL || std::thread::available_parallelism().map_or(1, usize::from) == 1 {
            return texts.iter().map(|text| self.count(text)).collect();
        }
        texts.par_iter().map(|text| self.count(text)).collect()
    }

    /// The longest prefix of `text`, up to a character boundary, that takes at most `max` tokens. Time grows with `max`,
    /// not with the text.
    #[must_use]
    pub fn prefix<'t>(&self, text: &'t str, max: u64) -> &'t str {
        let stop = self.run(text.as_bytes(), Some(max));
        if stop.at == text.len() && stop.total <= max {
            return text;
        }
        &text[..prefix::longest(self, text, max, stop.safe_at, stop.safe_total)]
    }

    /// The longest suffix of `text`, from a character boundary, that takes at most `max` tokens. Time grows with `max`,
    /// not with the text.
    ///
    /// In a text that has a thousand bytes without a space, digit or punctuation mark at the cut, the result fits but may
    /// be shorter than the longest by a few characters.
    #[must_use]
    pub fn suffix<'t>(&self, text: &'t str, max: u64) -> &'t str {
        &text[border::suffix_start(self, text, max)..]
    }

    /// Counts up to the end, or to where the count exceeds `limit`.
    fn run(&self, text: &[u8], limit: Option<u64>) -> Stop {
        self.with_state(|state| match (self.pattern, limit) {
            (Pattern::Cl100k, None) => self.dispatch::<false, false>(state, text, u64::MAX),
            (Pattern::O200k, None) => self.dispatch::<true, false>(state, text, u64::MAX),
            (Pattern::Cl100k, Some(limit)) => self.dispatch::<false, true>(state, text, limit),
            (Pattern::O200k, Some(limit)) => self.dispatch::<true, true>(state, text, limit),
        })
    }

    fn dispatch<const O200K: bool, const LIMITED: bool>(&self, state: &mut State, text: &[u8], limit: u64) -> Stop {
        let mut counter = Counter::<O200K, LIMITED> { vocab: &self.vocab, classes: self.classes, state, limit };
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(stop) = kernels::with_avx512(
                #[inline(always)]
                || counter.count::<kernels::Avx512>(text),
            ) {
                return stop;
            }
            if let Some(stop) = kernels::with_avx2(
                #[inline(always)]
                || counter.count::<kernels::Avx2>(text),
            ) {
                return stop;
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
