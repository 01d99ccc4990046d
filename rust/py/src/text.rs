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
            ffi::PyUnicode_1BYTE_KIND => {
                lend(std::slice::from_raw_parts(data, length).iter().map(|&c| u32::from(c)), length * 2, f)
            }
            ffi::PyUnicode_2BYTE_KIND => {
                lend(std::slice::from_raw_parts(data.cast::<u16>(), length).iter().map(|&c| u32::from(c)), length * 3, f)
            }
            _ => lend(std::slice::from_raw_parts(data.cast::<u32>(), length).iter().copied(), length * 4, f),
        }
    }
}

/// Transcodes code points into the scratch buffer and lends it. The buffer is taken out while it is lent, so that a nested call simply
/// works with one of its own.
#[cfg(not(feature = "abi3"))]
fn lend<R>(points: impl Iterator<Item = u32>, most: usize, f: impl FnOnce(&str, bool) -> R) -> R {
    let mut buffer = SCRATCH.take();
    buffer.clear();
    buffer.reserve(most);
    let mut lossy = false;
    for point in points {
        if point < 0x80 {
            buffer.push(point.to_le_bytes()[0]);
        } else {
            let character = char::from_u32(point).unwrap_or_else(|| {
                lossy = true;
                char::REPLACEMENT_CHARACTER
            });
            let mut bytes = [0u8; 4];
            buffer.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
        }
    }
    // SAFETY: the buffer holds ASCII bytes and whole encoded characters, nothing else.
    let result = f(unsafe { std::str::from_utf8_unchecked(&buffer) }, lossy);
    if buffer.capacity() <= KEEP {
        SCRATCH.set(buffer);
    }
    result
}
