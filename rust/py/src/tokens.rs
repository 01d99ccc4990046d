//! Exact token counts for Python.
//!
//! Lone surrogates count as U+FFFD, and a high one followed by a low one as the character the two stand for, as in tiktoken.

use crate::text;
use lithify_bpe::{Encoding, Tokenizer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};
use std::ops::Range;

/// Texts longer than this, in bytes, are counted without the GIL.
const DETACH: usize = 1 << 15;

/// Characters of a text for each token that a prefix may take, to begin with.
const HEAD: usize = 8;
/// Four times the longest token.
const SURE: usize = 512;

fn tokenizer(name: &str) -> PyResult<&'static Tokenizer> {
    let encoding = Encoding::by_name(name).ok_or_else(|| {
        PyValueError::new_err(format!("no exact counter for {name:?}: use 'o200k_base', 'o200k_harmony' or 'cl100k_base'"))
    })?;
    Ok(encoding.load())
}

/// Lends the text of `string` as tiktoken would read it.
fn lend<R>(string: &Bound<'_, PyString>, work: impl FnOnce(&str) -> R) -> PyResult<R> {
    let mut work = Some(work);
    let done = text::with(string, |text, lossy| if lossy { None } else { work.take().map(|work| work(text)) });
    if let Some(result) = done {
        return Ok(result);
    }
    // Through UTF-16, where two halves of a character meet.
    let units: Vec<u8> = string.call_method1("encode", ("utf-16-le", "surrogatepass"))?.extract()?;
    let units: Vec<u16> = units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let text = String::from_utf16_lossy(&units);
    Ok(work.take().map(|work| work(&text)).expect("not called above"))
}

/// Tokens of a text.
#[pyfunction]
pub fn count_text(py: Python<'_>, text: &Bound<'_, PyString>, encoding: &str) -> PyResult<u64> {
    let tokenizer = tokenizer(encoding)?;
    lend(text, |text| if text.len() < DETACH { tokenizer.count(text) } else { py.detach(|| tokenizer.count(text)) })
}

/// Where the text of a string lies while the GIL is away.
enum Place {
    /// In the string itself, which is ASCII.
    String,
    /// In the arena.
    Arena(Range<usize>),
}

/// Tokens of each text of a list; other threads may run meanwhile.
#[pyfunction]
pub fn count_texts(py: Python<'_>, texts: &Bound<'_, PyList>, encoding: &str) -> PyResult<Vec<u64>> {
    let tokenizer = tokenizer(encoding)?;
    // References of our own: the list may change while the GIL is away.
    let strings = texts.iter().map(|text| Ok(text.cast_into::<PyString>()?)).collect::<PyResult<Vec<_>>>()?;
    let mut arena = String::new();
    let mut places = Vec::with_capacity(strings.len());
    for string in &strings {
        let characters = string.len()?;
        places.push(lend(string, |text| {
            if text.len() == characters {
                return Place::String;
            }
            let start = arena.len();
            arena.push_str(text);
            Place::Arena(start..arena.len())
        })?);
    }
    let lent = strings.iter().zip(places).map(|(string, place)| match place {
        Place::String => string.to_str(),
        Place::Arena(range) => Ok(&arena[range]),
    });
    let lent = lent.collect::<PyResult<Vec<&str>>>()?;
    Ok(py.detach(|| tokenizer.count_many(&lent)))
}

/// The longest prefix within `max_tokens`; the string itself when all of it fits.
#[pyfunction]
pub fn prefix<'py>(text: &Bound<'py, PyString>, encoding: &str, max_tokens: u64) -> PyResult<Bound<'py, PyString>> {
    let tokenizer = tokenizer(encoding)?;
    // Reading a long text to its end would cost more than cutting it, so its head comes first. The result stands when it ends
    // `SURE` bytes before the head does: all cuts in between are known not to fit, and no token is longer than that.
    let head = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(HEAD).saturating_add(4 * SURE);
    if text.len()? / 2 > head {
        let head = text.get_item(PySlice::new(text.py(), 0, isize::try_from(head)?, 1))?.cast_into::<PyString>()?;
        let found = lend(&head, |str| {
            let part = tokenizer.prefix(str, max_tokens);
            (part.len() + SURE < str.len()).then(|| PyString::new(text.py(), part))
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    part(text, |str| tokenizer.prefix(str, max_tokens))
}

/// The longest suffix within `max_tokens`; the string itself when all of it fits.
#[pyfunction]
pub fn suffix<'py>(text: &Bound<'py, PyString>, encoding: &str, max_tokens: u64) -> PyResult<Bound<'py, PyString>> {
    let tokenizer = tokenizer(encoding)?;
    part(text, |str| tokenizer.suffix(str, max_tokens))
}

/// A part of `text`, or `text` itself when the part is the whole. Lone surrogates in a part are U+FFFD.
fn part<'py>(text: &Bound<'py, PyString>, cut: impl FnOnce(&str) -> &str) -> PyResult<Bound<'py, PyString>> {
    lend(text, |str| {
        let part = cut(str);
        if part.len() == str.len() { text.clone() } else { PyString::new(text.py(), part) }
    })
}

/// Counts a text that grows at its end. `append` costs time for the new text alone.
#[pyclass(module = "lithify._core")]
pub struct StreamCounter(lithify_bpe::StreamCounter);

#[pymethods]
impl StreamCounter {
    #[new]
    fn new(encoding: &str) -> PyResult<StreamCounter> {
        Ok(StreamCounter(lithify_bpe::StreamCounter::new(tokenizer(encoding)?)))
    }

    /// Adds `text` to the end.
    fn append(&mut self, text: &Bound<'_, PyString>) -> PyResult<()> {
        lend(text, |text| self.0.append(text))
    }

    /// Tokens of everything appended so far.
    #[getter]
    fn total(&mut self) -> u64 {
        self.0.total()
    }
}
