//! The counting loop: windows of ASCII, single pieces of everything else, the table, the cache, the encoder.
//!
//! Invariant: the sum equals the length of `Tokenizer::encode`. Most pieces cost one probe; what the first probe does
//! not answer is put aside and answered after the window, so that the loop over a window has hardly a branch to miss.
//!
//! Example: `"hello wörld"`: a window gives `hello`; ` wörld` comes from `pieces::next`.

use crate::cache::{self, Cache};
use crate::classes::{Class, Classes};
use crate::encoder::Encoder;
use crate::kernels::Kernel;
use crate::pieces::{self, Pattern};
use crate::vocab::{Key, PAD, SHORT, Vocab};
use crate::window;

/// Bytes that a window and the key of its last piece may read.
const REACH: usize = 64 + PAD;

/// A count with a limit leaves pieces longer than this to the caller, who need not encode all of them.
const FAR: usize = 1024;

/// What a thread keeps for one encoding.
pub(crate) struct State {
    pub(crate) cache: Cache,
    pub(crate) encoder: Encoder,
}

impl State {
    pub(crate) fn new() -> State {
        State { cache: Cache::new(), encoder: Encoder::default() }
    }
}

/// Where a count ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stop {
    /// The end of the text, or a piece start behind the limit.
    pub(crate) at: usize,
    /// Tokens before `at`.
    pub(crate) total: u64,
    /// With a limit: the last piece start seen that no white space precedes and up to which the count is within the limit.
    pub(crate) safe_at: usize,
    /// Tokens before `safe_at`.
    pub(crate) safe_total: u64,
}

/// One count in progress; `LIMITED` ends it once it exceeds `limit`.
pub(crate) struct Counter<'a, const O200K: bool, const LIMITED: bool> {
    pub(crate) vocab: &'a Vocab,
    pub(crate) classes: &'static Classes,
    pub(crate) state: &'a mut State,
    pub(crate) limit: u64,
}

impl<const O200K: bool, const LIMITED: bool> Counter<'_, O200K, LIMITED> {
    const PATTERN: Pattern = if O200K { Pattern::O200k } else { Pattern::Cl100k };

    /// Counts the text, from its start.
    #[inline(always)]
    pub(crate) fn count<K: Kernel>(&mut self, text: &[u8]) -> Stop {
        let mut stop = Stop::default();
        while stop.at < text.len() && !self.is_over(text, &mut stop) {
            let before = stop.at;
            if text[before] < 0x80 {
                let (advance, tokens) = match text[before..].first_chunk::<REACH>() {
                    Some(chunk) => self.window::<K>(chunk, 64, false),
                    None => self.tail::<K>(&text[before..]),
                };
                stop.at += advance;
                stop.total += tokens;
            }
            if stop.at == before && self.singles(text, &mut stop) {
                break;
            }
        }
        stop
    }

    /// Whether the limit is exceeded; notes the place when it is not.
    #[inline(always)]
    fn is_over(&self, text: &[u8], stop: &mut Stop) -> bool {
        if !LIMITED {
            return false;
        }
        if stop.total > self.limit {
            return true;
        }
        if !self.is_white_before(text, stop.at) {
            (stop.safe_at, stop.safe_total) = (stop.at, stop.total);
        }
        false
    }

    fn is_white_before(&self, text: &[u8], at: usize) -> bool {
        let start = (0..at).rev().find(|&start| text[start] & 0xC0 != 0x80);
        start.is_some_and(|start| matches!(self.classes.at(text, start).0, Class::Space | Class::Newline))
    }

    /// Single pieces for as long as windows would not get far; whether the count must end here.
    #[inline(always)]
    fn singles(&mut self, text: &[u8], stop: &mut Stop) -> bool {
        loop {
            let at = stop.at;
            let end = pieces::next(Self::PATTERN, self.classes, text, at);
            if LIMITED && end - at > FAR {
                return true;
            }
            stop.total += self.piece(text, at, end);
            stop.at = end;
            let foreign = |offset: usize| text.get(end + offset).is_some_and(|byte| *byte >= 0x80);
            if !(foreign(0) || foreign(1)) {
                return false;
            }
            if self.is_over(text, stop) {
                return true;
            }
        }
    }

    /// The last bytes of a text, copied so that a window may read past them.
    #[inline(always)]
    fn tail<K: Kernel>(&mut self, rest: &[u8]) -> (usize, u64) {
        let mut padded = [0; REACH];
        padded[..rest.len()].copy_from_slice(rest);
        self.window::<K>(&padded, rest.len().min(64), rest.len() <= 64)
    }

    /// Bytes and tokens of the certain pieces of a window.
    #[inline(always)]
    fn window<K: Kernel>(&mut self, chunk: &[u8; REACH], length: usize, last: bool) -> (usize, u64) {
        let block: &[u8; 64] = chunk.first_chunk().expect("a chunk is longer than a block");
        let starts = window::starts::<O200K>(K::classify(block), block, length, last);
        if starts.end == 0 {
            return (0, 0);
        }
        let mut missed = [0u16; 64];
        let mut misses = 0;
        let mut hits = 0;
        let mut rest = starts.mask;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let end = if rest == 0 { starts.end } else { rest.trailing_zeros() as usize };
            let length = end - at;
            let bytes: &[u8; PAD] = chunk[at & 63..(at & 63) + PAD].try_into().expect("inside the chunk");
            let key = Key::load(bytes, length);
            let hit = self.vocab.hit(key, key.hash()) & (length <= SHORT);
            hits += u64::from(hit);
            missed[misses & 63] = (at | length << 8) as u16;
            misses += usize::from(!hit);
        }
        let mut total = hits;
        for &packed in &missed[..misses] {
            let (at, length) = ((packed & 63) as usize, (packed >> 8) as usize);
            total += self.missed(chunk, at, at + length);
        }
        (starts.end, total)
    }

    /// Tokens of a piece of a text that may end soon after it.
    #[inline]
    fn piece(&mut self, text: &[u8], at: usize, end: usize) -> u64 {
        if end - at <= SHORT {
            let key = match text[at..].first_chunk::<PAD>() {
                Some(bytes) => Key::load(bytes, end - at),
                None => Key::of(&text[at..end]),
            };
            let hash = key.hash();
            return if self.vocab.hit(key, hash) { 1 } else { self.short(key, hash, &text[at..end]) };
        }
        self.long(&text[at..end])
    }

    #[inline]
    fn missed(&mut self, chunk: &[u8; REACH], at: usize, end: usize) -> u64 {
        if end - at <= SHORT {
            let key = Key::load(chunk[at..at + PAD].try_into().expect("inside the chunk"), end - at);
            return self.short(key, key.hash(), &chunk[at..end]);
        }
        self.long(&chunk[at..end])
    }

    #[inline]
    fn short(&mut self, key: Key, hash: u64, piece: &[u8]) -> u64 {
        if let Some(count) = self.state.cache.get(key, hash) {
            return u64::from(count);
        }
        self.resolve_short(key, hash, piece)
    }

    #[inline(never)]
    fn resolve_short(&mut self, key: Key, hash: u64, piece: &[u8]) -> u64 {
        let count = match self.vocab.rank_of_key(key, hash) {
            Some(_) => 1,
            None => self.state.encoder.encode(self.vocab, piece).len() as u32,
        };
        self.state.cache.put(key, hash, count);
        u64::from(count)
    }

    #[inline(never)]
    fn long(&mut self, piece: &[u8]) -> u64 {
        if piece.len() > cache::LONG {
            return self.encoded(piece);
        }
        let hash = cache::hash_long(piece);
        if let Some(count) = self.state.cache.get_long(piece, hash) {
            return u64::from(count);
        }
        let count = self.encoded(piece);
        self.state.cache.put_long(piece, hash, count as u32);
        count
    }

    fn encoded(&mut self, piece: &[u8]) -> u64 {
        match self.vocab.rank(piece) {
            Some(_) => 1,
            None => self.state.encoder.encode(self.vocab, piece).len() as u64,
        }
    }
}
