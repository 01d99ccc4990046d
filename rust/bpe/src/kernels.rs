//! Classes of 64 ASCII bytes as bit masks. The only file with `unsafe`.
//!
//! Bit i of a mask speaks of byte i. Invariant: every kernel returns what `Scalar` returns, the safe twin and oracle
//! (a test compares them on all byte values and on random blocks). Constant work for each block.
//!
//! Example: `"Hi 42\n"` has `letter` 0b000011, `upper` 0b000001, `digit` 0b011000, `space` 0b000100, `newline` 0b100000.
#![allow(unsafe_code)]

/// Masks of one block. `high` marks bytes that are not ASCII; the other masks are 0 there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    pub(crate) letter: u64,
    pub(crate) upper: u64,
    pub(crate) digit: u64,
    /// The space itself.
    pub(crate) space: u64,
    /// Tab, vertical tab, form feed.
    pub(crate) tab: u64,
    pub(crate) newline: u64,
    pub(crate) quote: u64,
    pub(crate) slash: u64,
    pub(crate) high: u64,
}

/// A way to classify a block. `enter` runs a whole count compiled for the features that the kernel needs.
pub(crate) trait Kernel {
    /// Masks of a block.
    fn classify(block: &[u8; 64]) -> Masks;
}

/// Plain Rust, for processors without a kernel of their own.
pub(crate) struct Scalar;

impl Kernel for Scalar {
    fn classify(block: &[u8; 64]) -> Masks {
        let mut masks = Masks::default();
        for (index, &byte) in block.iter().enumerate() {
            let bit = |yes: bool| u64::from(yes) << index;
            masks.letter |= bit(byte.is_ascii_alphabetic());
            masks.upper |= bit(byte.is_ascii_uppercase());
            masks.digit |= bit(byte.is_ascii_digit());
            masks.space |= bit(byte == b' ');
            masks.tab |= bit(matches!(byte, b'\t' | 0x0B | 0x0C));
            masks.newline |= bit(matches!(byte, b'\n' | b'\r'));
            masks.quote |= bit(byte == b'\'');
            masks.slash |= bit(byte == b'/');
            masks.high |= bit(byte >= 0x80);
        }
        masks
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, with_avx2, with_avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, Masks};
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm512_add_epi8, _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask,
        _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8,
    };

    /// 32 bytes at a time. Only `with_avx2` may run it.
    pub(crate) struct Avx2;

    /// 64 bytes at a time, masks for nothing. Only `with_avx512` may run it.
    pub(crate) struct Avx512;

    impl Kernel for Avx2 {
        #[inline(always)]
        fn classify(block: &[u8; 64]) -> Masks {
            // SAFETY: crate-private, and called only below `with_avx2`, which is called after detection.
            unsafe { classify_avx2(block) }
        }
    }

    impl Kernel for Avx512 {
        #[inline(always)]
        fn classify(block: &[u8; 64]) -> Masks {
            // SAFETY: crate-private, and called only below `with_avx512`, which is called after detection.
            unsafe { classify_avx512(block) }
        }
    }

    /// Runs `work`, inlined and compiled for AVX2 and bit manipulation; `None` where the processor lacks them.
    #[inline]
    pub(crate) fn with_avx2<R>(work: impl FnOnce() -> R) -> Option<R> {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        let usable = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        // SAFETY: every feature that `run` is compiled for was just detected.
        usable.then(|| unsafe { run(work) })
    }

    /// Runs `work`, inlined and compiled for AVX-512 and bit manipulation; `None` where the processor lacks them.
    #[inline]
    pub(crate) fn with_avx512<R>(work: impl FnOnce() -> R) -> Option<R> {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        let usable = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        // SAFETY: every feature that `run` is compiled for was just detected.
        usable.then(|| unsafe { run(work) })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn classify_avx2(block: &[u8; 64]) -> Masks {
        // SAFETY: both loads read 32 bytes inside the block of 64; they need no alignment.
        let halves: [__m256i; 2] =
            unsafe { [_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block.as_ptr().add(32).cast())] };
        let join = |test: &dyn Fn(__m256i) -> __m256i| {
            let low = _mm256_movemask_epi8(test(halves[0])) as u32;
            let high = _mm256_movemask_epi8(test(halves[1])) as u32;
            u64::from(low) | u64::from(high) << 32
        };
        let set = |byte: u8| _mm256_set1_epi8(byte as i8);
        let equal = |byte: u8| join(&|half| _mm256_cmpeq_epi8(half, set(byte)));
        // Within `first..=first + span`: the difference, unsigned, is its own minimum with the span.
        let range = |half: __m256i, first: u8, span: u8| {
            let offset = _mm256_add_epi8(half, set(first.wrapping_neg()));
            _mm256_cmpeq_epi8(offset, _mm256_min_epu8(offset, set(span)))
        };
        let newline = join(&|half| _mm256_or_si256(_mm256_cmpeq_epi8(half, set(b'\n')), _mm256_cmpeq_epi8(half, set(b'\r'))));
        Masks {
            letter: join(&|half| range(_mm256_or_si256(half, set(0x20)), b'a', 25)),
            upper: join(&|half| range(half, b'A', 25)),
            digit: join(&|half| range(half, b'0', 9)),
            space: equal(b' '),
            tab: join(&|half| range(half, 9, 4)) & !newline,
            newline,
            quote: equal(b'\''),
            slash: equal(b'/'),
            high: join(&|half| _mm256_and_si256(half, set(0x80))),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn classify_avx512(block: &[u8; 64]) -> Masks {
        // SAFETY: the load reads the 64 bytes of the block; it needs no alignment.
        let bytes: __m512i = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let set = |byte: u8| _mm512_set1_epi8(byte as i8);
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, set(byte));
        let range = |bytes: __m512i, first: u8, span: u8| {
            _mm512_cmple_epu8_mask(_mm512_add_epi8(bytes, set(first.wrapping_neg())), set(span))
        };
        let newline = equal(b'\n') | equal(b'\r');
        Masks {
            letter: range(_mm512_or_si512(bytes, set(0x20)), b'a', 25),
            upper: range(bytes, b'A', 25),
            digit: range(bytes, b'0', 9),
            space: equal(b' '),
            tab: range(bytes, 9, 4) & !newline,
            newline,
            quote: equal(b'\''),
            slash: equal(b'/'),
            high: _mm512_movepi8_mask(bytes),
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    #[test]
    fn kernels_agree_with_their_safe_twin() {
        let mut state = 1u64;
        for round in 0..20_000u64 {
            let block: [u8; 64] = std::array::from_fn(|index| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if round < 256 {
                    (round as u8).wrapping_add(index as u8)
                } else {
                    (state >> 33) as u8 & if round % 2 == 0 { 0x7F } else { 0xFF }
                }
            });
            let expected = Scalar::classify(&block);
            for found in [with_avx2(|| Avx2::classify(&block)), with_avx512(|| Avx512::classify(&block))] {
                assert!(found.is_none_or(|found| found == expected), "{block:?}");
            }
        }
    }
}
