//! Compact JSON text of a node, and the node that knows no Python.
//!
//! [`Writer`] writes what an argument mapping or an unknown block costs. Told to, it takes *blobs* out: long strings that are a
//! `data:` URL or only base64 characters are written as `""` and counted apart, because they are images or signatures,
//! never prose. Linear in the text.

use crate::build::Build;
use crate::node::{Key, Kind, Node, Text};
use serde_json::Value;

/// Shorter strings are never taken for blobs.
const BLOB_LENGTH: usize = 512;

/// Deeper nesting is refused: a value that contains itself has no end, and no provider accepts such depth.
pub const MAX_DEPTH: u32 = 200;
/// More values than these are refused: a few lists that share each other can stand for billions.
pub const MAX_VALUES: u64 = 4_000_000;

/// Most arguments of calls fit in this many bytes: they are written without a second allocation.
const USUAL_LENGTH: usize = 1_000;

/// Collects compact JSON.
#[derive(Debug, Default)]
pub struct Writer {
    /// The JSON so far.
    pub out: String,
    /// How many blobs were taken out.
    pub blobs: u32,
    /// Whether blobs are taken out.
    pub skip_blobs: bool,
    /// Current nesting.
    depth: u32,
    /// Values so far.
    values: u64,
    /// The value is nested too deep or holds too many values; what was written is not the whole.
    pub excess: bool,
    /// Whether a string held a lone surrogate.
    pub lossy: bool,
}

impl Writer {
    /// A writer that keeps every string.
    #[must_use]
    pub fn plain() -> Self {
        Self { out: String::with_capacity(USUAL_LENGTH), ..Self::default() }
    }
    /// A writer that takes blobs out.
    #[must_use]
    pub fn without_blobs() -> Self {
        Self { skip_blobs: true, ..Self::plain() }
    }
    /// Called before a value is written; says whether there is still room for it. [`leave`](Self::leave) follows in any case.
    pub fn enter(&mut self) -> bool {
        self.depth += 1;
        self.values += 1;
        self.excess |= self.depth > MAX_DEPTH || self.values > MAX_VALUES;
        !self.excess
    }
    /// Called after a value was written.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }
    /// Appends a string value.
    pub fn string(&mut self, text: &str) {
        if self.skip_blobs && is_blob(text) {
            self.blobs += 1;
            self.out.push_str("\"\"");
        } else {
            quote(text, &mut self.out);
        }
    }
}

/// Builds a value: how the no-Python binding makes a message.
#[must_use]
pub fn value(build: &Build<&Value>) -> Value {
    match build {
        Build::Same(value) | Build::Sendable(value) => (*value).clone(),
        Build::Text(text) => Value::from(text.as_str()),
        Build::Bool(truth) => Value::Bool(*truth),
        Build::Number(number) => Value::from(*number),
        Build::List(list) => list.iter().map(value).collect(),
        Build::Map(entries) => entries.iter().map(|(key, entry)| ((*key).to_owned(), value(entry))).collect(),
        Build::Patch { base, set, unset } => {
            let mut map = base.as_object().cloned().unwrap_or_default();
            map.retain(|key, _| !unset.contains(&Key::parse(key.as_bytes())));
            for (key, entry) in set {
                map.insert(key.as_str().to_owned(), value(entry));
            }
            Value::Object(map)
        }
        Build::Entries { base, cuts } => {
            let entries = base.as_object().into_iter().flatten();
            let kept = (0u32..).zip(entries).filter_map(|(at, (key, entry))| match cuts.iter().find(|(place, _)| *place == at) {
                Some((_, text)) => Some((key.clone(), Value::from(text.as_deref()?))),
                None => Some((key.clone(), entry.clone())),
            });
            Value::Object(kept.collect())
        }
    }
}

/// Appends `text` as a JSON string, non-ASCII as itself.
pub fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut start = 0;
    while let Some(plain) = special(&text.as_bytes()[start..]) {
        let at = start + plain;
        out.push_str(&text[start..at]);
        let byte = text.as_bytes()[at];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(char::from(b'0' + (byte >> 4)));
                out.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
            }
        }
        start = at + 1;
    }
    out.push_str(&text[start..]);
    out.push('"');
}

/// Where the first byte stands that JSON wants escaped, found eight bytes at a time.
fn special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A subtraction borrows from the high bit of each byte that is too small; what it borrows from bytes above does not
        // disturb the lowest one found.
        let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
        let found = below(word, 0x20) | below(word ^ (ONES * 0x22), 1) | below(word ^ (ONES * 0x5c), 1);
        let found = found & (ONES << 7);
        if found != 0 {
            return Some(8 * number + found.trailing_zeros() as usize / 8);
        }
    }
    let odd = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
    odd.map(|at| 8 * words.len() + at)
}

/// Whether a string is binary data in text form: at least 512 characters, and a `data:` URL or only base64 characters.
#[must_use]
pub fn is_blob(text: &str) -> bool {
    if text.len() < BLOB_LENGTH {
        return false;
    }
    if text.starts_with("data:") {
        return text.chars().count() >= BLOB_LENGTH;
    }
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'))
}

impl Node for &Value {
    fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::Text,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Map,
        }
    }
    fn is_true(&self) -> bool {
        self.as_bool() == Some(true)
    }
    fn as_u64(&self) -> Option<u64> {
        Value::as_u64(self)
    }
    fn text<R>(&self, f: impl FnOnce(Text<'_>) -> R) -> Option<R> {
        self.as_str().map(|str| f(Text { str, lossy: false }))
    }
    fn each(&self, mut f: impl FnMut(Key, &Self)) {
        if let Value::Object(map) = self {
            for (key, value) in map {
                f(Key::parse(key.as_bytes()), &value);
            }
        }
    }
    fn elements(&self, mut f: impl FnMut(u32, &Self)) {
        if let Value::Array(list) = self {
            for (at, value) in (0u32..).zip(list) {
                f(at, &value);
            }
        }
    }
    fn write_json(&self, out: &mut Writer) {
        if out.enter() {
            write(self, out);
        }
        out.leave();
    }
    fn type_name(&self) -> String {
        format!("{:?}", self.kind())
    }
}
fn write(value: &Value, out: &mut Writer) {
    match value {
        Value::String(text) => out.string(text),
        Value::Array(list) => {
            out.out.push('[');
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.out.push(',');
                }
                value.write_json(out);
            }
            out.out.push(']');
        }
        Value::Object(map) => {
            out.out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.out.push(',');
                }
                quote(key, &mut out.out);
                out.out.push(':');
                value.write_json(out);
            }
            out.out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.out.push_str(&value.to_string()),
    }
}
