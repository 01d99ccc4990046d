//! Builds Python messages from the engine's instructions. Dicts are copied shallowly; objects become dicts.

use crate::node::{PyNode, interned};
use crate::text;
use lithify_core::build::Build;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

/// Builds a value.
pub fn build<'py>(py: Python<'py>, value: Build<PyNode<'py>>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Build::Same(node) => node.0,
        Build::Text(text) => PyString::new(py, &text).into_any(),
        Build::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Build::Number(number) => PyInt::new(py, number).into_any(),
        Build::List(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(build(py, value)?)?;
            }
            list.into_any()
        }
        Build::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(PyString::intern(py, key), build(py, value)?)?;
            }
            dict.into_any()
        }
        Build::Patch { base, set, unset } => {
            let dict = to_dict(&base)?;
            for (key, value) in set {
                dict.set_item(interned(py, key), build(py, value)?)?;
            }
            for key in unset {
                let key = interned(py, key);
                if dict.contains(key)? {
                    dict.del_item(key)?;
                }
            }
            dict.into_any()
        }
        Build::Sendable(node) => sendable(&node.0)?,
    })
}

/// A shallow copy as a dict. An SDK object gives its dump, without what is unset, as its own API takes it back.
pub fn to_dict<'py>(node: &PyNode<'py>) -> PyResult<Bound<'py, PyDict>> {
    let py = node.0.py();
    if let Ok(dict) = node.0.cast::<PyDict>() {
        return dict.copy();
    }
    if node.0.hasattr("model_dump")? {
        let options = PyDict::new(py);
        options.set_item("exclude_none", true)?;
        options.set_item("by_alias", true)?;
        if let Ok(dump) = node.0.call_method("model_dump", (), Some(&options))?.cast_into::<PyDict>() {
            return Ok(dump);
        }
    }
    let dict = PyDict::new(py);
    for (key, value) in node.fields().unwrap_or_default() {
        if !value.is_none() {
            dict.set_item(key, value)?;
        }
    }
    Ok(dict)
}

/// The value with each lone surrogate in its strings as U+FFFD; what has none comes back as it is.
fn sendable<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(string) = value.cast::<PyString>() {
        return Ok(text::with(string, |text, lossy| if lossy { PyString::new(py, text).into_any() } else { value.clone() }));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let copy = PyDict::new(py);
        for (key, value) in dict {
            let mut key = sendable(&key)?;
            // Two keys may differ in their lone surrogates alone: neither value is lost.
            while copy.contains(&key)? {
                key = key.add("\u{fffd}")?;
            }
            copy.set_item(key, sendable(&value)?)?;
        }
        return Ok(copy.into_any());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let list = PyList::empty(py);
        for element in value.try_iter()? {
            list.append(sendable(&element?)?)?;
        }
        return Ok(list.into_any());
    }
    Ok(value.clone())
}
