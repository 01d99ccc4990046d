//! Lends the text of a Python string as `&str`.
//!
//! ASCII strings are lent in place. Others are transcoded into a scratch buffer of the thread: `PyUnicode_AsUTF8` would leave a
//! UTF-8 copy inside the caller's object for ever. Lone surrogates become U+FFFD, and the caller is told.
//!
//! This is the only file of the bindings with `unsafe`; the `abi3` build has none.
#![cfg_attr(not(feature = "abi3"), allow(unsafe_code))]

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::cell::Cell;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Buffers larger than this are given back after use.
const KEEP: usize = 1 << 20;

/// Lends the text of `string`, and whether a lone surrogate was replaced.
pub fn with<R>(string: &Bound<'_, PyString>, f: impl FnOnce(&str, bool) -> R) -> R {
    #[cfg(not(feature = "abi3"))]
    {
        in_place(string, f)
    }
    #[cfg(feature = "abi3")]
    {
        match string.encode_utf8() {
            Ok(bytes) => f(std::str::from_utf8(pyo3::types::PyBytesMethods::as_bytes(&bytes)).unwrap_or(""), false),
            Err(_) => {
                let units = string.call_method1("encode", ("utf-16-le", "surrogatepass"));
                let units: Vec<u8> = units.and_then(|b| b.extract()).unwrap_or_default();
                let units: Vec<u16> = units.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
                f(&String::from_utf16_lossy(&units), true)
            }
        }
    }
}

#[cfg(not(feature = "abi3"))]
fn in_place<R>(string: &Bound<'_, PyString>, f: impl FnOnce(&str, bool) -> R) -> R {
    use pyo3::ffi;
    let object = string.as_ptr();
    // SAFETY: `object` is a live `str`; its kind, length and data belong together, and a `str` never changes while it is referenced,
    // which `string` does until `f` returns. The data of an ASCII string is valid UTF-8.
    unsafe {
        let length = usize::try_from(ffi::PyUnicode_GET_LENGTH(object)).unwrap_or(0);
        let data = ffi::PyUnicode_DATA(object).cast::<u8>();
        if ffi::PyUnicode_IS_ASCII(object) != 0 {
            return f(std::str::from_utf8_unchecked(std::slice::from_raw_parts(data, length)), false);
        }
        match ffi::PyUnicode_KIND(object) {
            ffi::PyUnicode_1BYTE_KIND => lend(std::slice::from_raw_parts(data, length), length * 2, f),
            ffi::PyUnicode_2BYTE_KIND => lend(std::slice::from_raw_parts(data.cast::<u16>(), length), length * 3, f),
            _ => lend(std::slice::from_raw_parts(data.cast::<u32>(), length), length * 4, f),
        }
    }
}

/// So many code points are looked at together: most are ASCII, and those are narrowed without a branch each.
#[cfg(not(feature = "abi3"))]
const RUN: usize = 16;

/// Transcodes code points into the scratch buffer and lends it. `most` is what they can take at most, in bytes. The buffer is taken
/// out while it is lent, so that a nested call simply works with one of its own.
#[cfg(not(feature = "abi3"))]
fn lend<C: Copy + Into<u32>, R>(points: &[C], most: usize, f: impl FnOnce(&str, bool) -> R) -> R {
    let mut buffer = SCRATCH.take();
    buffer.clear();
    buffer.reserve(most);
    let free = buffer.spare_capacity_mut();
    let (mut lossy, mut end) = (false, 0);
    for run in points.chunks(RUN) {
        let all = run.iter().fold(0, |all, &point| all | point.into());
        if all < 0x80 {
            for (slot, &point) in free[end..].iter_mut().zip(run) {
                let [low, ..] = point.into().to_le_bytes();
                slot.write(low);
            }
            end += run.len();
            continue;
        }
        for &point in run {
            let (bytes, length) = encoded(point.into());
            lossy |= (0xd800..=0xdfff).contains(&point.into());
            for (slot, byte) in free[end..].iter_mut().zip(bytes).take(length) {
                slot.write(byte);
            }
            end += length;
        }
    }
    // SAFETY: the first `end` bytes were written above, one after the other: ASCII bytes and whole encoded characters, nothing else.
    let result = unsafe {
        buffer.set_len(end);
        f(std::str::from_utf8_unchecked(&buffer), lossy)
    };
    if buffer.capacity() <= KEEP {
        SCRATCH.set(buffer);
    }
    result
}

/// A code point in UTF-8 and how many bytes that is; a surrogate as U+FFFD.
#[cfg(not(feature = "abi3"))]
fn encoded(point: u32) -> ([u8; 4], usize) {
    let [low, ..] = point.to_le_bytes();
    let tail = |shift: u32| 0x80 | ((point >> shift) & 0x3f).to_le_bytes()[0];
    let head = |mark: u8, shift: u32| mark | (point >> shift).to_le_bytes()[0];
    match point {
        0..=0x7f => ([low, 0, 0, 0], 1),
        0x80..=0x7ff => ([head(0xc0, 6), tail(0), 0, 0], 2),
        0xd800..=0xdfff => ([0xef, 0xbf, 0xbd, 0], 3),
        0x800..=0xffff => ([head(0xe0, 12), tail(6), tail(0), 0], 3),
        _ => ([head(0xf0, 18), tail(12), tail(6), tail(0)], 4),
    }
}
