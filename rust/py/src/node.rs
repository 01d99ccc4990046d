//! A Python object as the engine's `Node`: dicts, lists and strings directly; mappings and the SDKs' own objects by their fields.

use crate::text;
use lithify_core::json::{Writer, quote};
use lithify_core::node::{Key, Kind, Node, Text};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::fmt::Write as _;

/// A borrowed Python value.
#[derive(Clone)]
pub struct PyNode<'py>(pub Bound<'py, PyAny>);

impl<'py> PyNode<'py> {
    /// The fields of an object that reads like a mapping: a `Mapping`, a pydantic model, a dataclass or a msgspec struct.
    pub fn fields(&self) -> Option<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let object = &self.0;
        let py = object.py();
        if let Ok(mapping) = object.cast::<PyMapping>() {
            let items = mapping.items().ok()?;
            return items.iter().map(|pair| pair.extract().ok()).collect();
        }
        let class = object.get_type();
        if class.hasattr(intern!(py, "model_fields")).unwrap_or(false) {
            let mut fields: Vec<_> = object.getattr(intern!(py, "__dict__")).ok()?.cast_into::<PyDict>().ok()?.iter().collect();
            let extra = object.getattr(intern!(py, "__pydantic_extra__")).ok();
            if let Some(extra) = extra.and_then(|e| e.cast_into::<PyDict>().ok()) {
                fields.extend(extra.iter());
            }
            return Some(fields);
        }
        let names = match class.getattr(intern!(py, "__dataclass_fields__")) {
            Ok(fields) => fields,
            Err(_) => class.getattr(intern!(py, "__struct_fields__")).ok()?,
        };
        let names: Vec<_> = names.try_iter().ok()?.collect::<PyResult<_>>().ok()?;
        names.into_iter().map(|name| object.getattr(name.cast::<PyString>().ok()?).ok().map(|value| (name, value))).collect()
    }
}

/// Our keys as interned strings. Most dicts hold these very objects as keys, so one look at the address tells which key it is;
/// a key that is equal but another object is told by its text.
struct Keys {
    strings: Vec<Py<PyString>>,
    /// By address, open addressing; half of it stays empty.
    by_address: Vec<(usize, Key)>,
}

static KEYS: PyOnceLock<Keys> = PyOnceLock::new();

impl Keys {
    fn get(py: Python<'_>) -> &'static Self {
        KEYS.get_or_init(py, || {
            let strings: Vec<Py<PyString>> = Key::ALL.iter().map(|key| PyString::intern(py, key.as_str()).unbind()).collect();
            let mut by_address = vec![(0, Key::Other); (2 * strings.len()).next_power_of_two()];
            for (key, string) in Key::ALL.iter().zip(&strings) {
                let address = string.as_ptr() as usize;
                let mut slot = Self::slot(address, by_address.len());
                while by_address[slot].0 != 0 {
                    slot = (slot + 1) % by_address.len();
                }
                by_address[slot] = (address, *key);
            }
            Self { strings, by_address }
        })
    }
    /// Objects are 16 bytes apart or more.
    const fn slot(address: usize, size: usize) -> usize {
        (address >> 4) & (size - 1)
    }
    fn find(&self, address: usize) -> Option<Key> {
        let mut slot = Self::slot(address, self.by_address.len());
        loop {
            match self.by_address[slot] {
                (found, key) if found == address => return Some(key),
                (0, _) => return None,
                _ => slot = (slot + 1) % self.by_address.len(),
            }
        }
    }
    fn of(&self, key: &Bound<'_, PyAny>) -> Key {
        self.find(key.as_ptr() as usize).unwrap_or_else(|| {
            key.cast::<PyString>().map_or(Key::Other, |key| text::with(key, |text, _| Key::parse(text.as_bytes())))
        })
    }
}

impl Node for PyNode<'_> {
    fn kind(&self) -> Kind {
        let object = &self.0;
        if object.is_instance_of::<PyString>() {
            Kind::Text
        } else if object.is_instance_of::<PyDict>() {
            Kind::Map
        } else if object.is_none() {
            Kind::Null
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Kind::List
        } else if object.is_instance_of::<PyBool>() {
            Kind::Bool
        } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
            Kind::Number
        } else if self.fields().is_some() {
            Kind::Map
        } else {
            Kind::Other
        }
    }
    fn is_true(&self) -> bool {
        self.0.cast::<PyBool>().is_ok_and(|b| b.is_true())
    }
    fn as_u64(&self) -> Option<u64> {
        if self.0.is_instance_of::<PyBool>() { None } else { self.0.cast::<PyInt>().ok()?.extract().ok() }
    }
    fn text<R>(&self, f: impl FnOnce(Text<'_>) -> R) -> Option<R> {
        let string = self.0.cast::<PyString>().ok()?;
        Some(text::with(string, |str, lossy| f(Text { str, lossy })))
    }
    fn each(&self, mut f: impl FnMut(Key, &Self)) {
        let keys = Keys::get(self.0.py());
        if let Ok(dict) = self.0.cast::<PyDict>() {
            for (key, value) in dict {
                f(keys.of(&key), &Self(value));
            }
        } else if !self.0.is_instance_of::<PyString>() {
            for (key, value) in self.fields().unwrap_or_default() {
                f(keys.of(&key), &Self(value));
            }
        }
    }
    fn len_hint(&self) -> usize {
        self.0.cast::<PyList>().map_or(0, |list| list.len())
    }
    fn elements(&self, mut f: impl FnMut(u32, &Self)) {
        if let Ok(list) = self.0.cast::<PyList>() {
            for (at, value) in (0u32..).zip(list) {
                f(at, &Self(value));
            }
        } else if let Ok(tuple) = self.0.cast::<PyTuple>() {
            for (at, value) in (0u32..).zip(tuple) {
                f(at, &Self(value));
            }
        }
    }
    fn get(&self, key: Key) -> Option<Self> {
        if let Ok(dict) = self.0.cast::<PyDict>() {
            return dict.get_item(interned(self.0.py(), key)).ok().flatten().map(Self);
        }
        let mut found = None;
        self.each(|k, v| {
            if k == key {
                found = Some(v.clone());
            }
        });
        found
    }
    fn write_json(&self, out: &mut Writer) {
        if out.enter() {
            write(self, out);
        }
        out.leave();
    }
    fn type_name(&self) -> String {
        self.0.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
    }
}

/// The interned Python string of a key.
pub fn interned(py: Python<'_>, key: Key) -> &Bound<'_, PyString> {
    Keys::get(py).strings[key as usize].bind(py)
}

fn write(node: &PyNode<'_>, out: &mut Writer) {
    let object = &node.0;
    match node.kind() {
        Kind::Null => out.out.push_str("null"),
        Kind::Bool => out.out.push_str(if node.is_true() { "true" } else { "false" }),
        Kind::Number => number(object, &mut out.out),
        Kind::Text => {
            node.text(|t| {
                out.lossy |= t.lossy;
                out.string(t.str);
            });
        }
        Kind::List => {
            out.out.push('[');
            let mut first = true;
            node.elements(|_, value| {
                if !std::mem::take(&mut first) {
                    out.out.push(',');
                }
                value.write_json(out);
            });
            out.out.push(']');
        }
        Kind::Map => {
            out.out.push('{');
            let mut first = true;
            let mut entry = |key: &Bound<'_, PyAny>, value: Bound<'_, PyAny>| {
                if !std::mem::take(&mut first) {
                    out.out.push(',');
                }
                match key.cast::<PyString>() {
                    Ok(key) => text::with(key, |text, lossy| {
                        out.lossy |= lossy;
                        quote(text, &mut out.out);
                    }),
                    Err(_) => quote(&key.str().map_or_else(|_| String::new(), |s| s.to_string()), &mut out.out),
                }
                out.out.push(':');
                PyNode(value).write_json(out);
            };
            match object.cast::<PyDict>() {
                Ok(dict) => dict.iter().for_each(|(key, value)| entry(&key, value)),
                Err(_) => node.fields().unwrap_or_default().into_iter().for_each(|(key, value)| entry(&key, value)),
            }
            out.out.push('}');
        }
        Kind::Other => {
            // Bytes are binary data; anything else stands for its type.
            if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
                out.blobs += 1;
                out.out.push_str("\"\"");
            } else {
                quote(&node.type_name(), &mut out.out);
            }
        }
    }
}

/// Appends a number as Python's json does. A subclass (an enum, say) writes its value.
fn number(object: &Bound<'_, PyAny>, out: &mut String) {
    if object.is_exact_instance_of::<PyInt>()
        && let Ok(small) = object.extract::<i64>()
    {
        // Writing to a String cannot fail.
        let _ = write!(out, "{small}");
        return;
    }
    let plain = if object.is_instance_of::<PyFloat>() {
        object.extract::<f64>().ok().and_then(|f| f.into_pyobject(object.py()).ok()?.repr().ok())
    } else {
        object.call_method1("__format__", ("d",)).ok().and_then(|text| text.str().ok())
    };
    match plain {
        Some(text) => out.push_str(&text.to_string()),
        None => out.push('0'),
    }
}
