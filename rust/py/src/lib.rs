//! Thin Python bindings over the engine: convert, call, convert back; no decisions.
use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {}
