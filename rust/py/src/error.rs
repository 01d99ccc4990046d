//! The engine's errors as the exceptions of `lithify.errors`: the one place where they are mapped.

use crate::counter::PyCounter;
use lithify_core::error::Error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Raises the exception of that name with these keyword arguments.
fn raise(py: Python<'_>, name: &str, fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let keywords = PyDict::new(py);
        fill(&keywords)?;
        py.import("lithify.errors")?.getattr(name)?.call((), Some(&keywords))
    };
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// An exception for an error of the engine.
pub fn exception(py: Python<'_>, error: Error, counter: &mut PyCounter<'_>) -> PyErr {
    match error {
        Error::Invalid { index, field, expected, got, remedy } => raise(py, "InvalidInput", |k| {
            k.set_item("index", index)?;
            k.set_item("field", (!field.is_empty()).then_some(field))?;
            k.set_item("expected", expected)?;
            k.set_item("got", got)?;
            let mut sentence = remedy.to_owned();
            sentence.replace_range(..1, &remedy[..1].to_uppercase());
            k.set_item("remedy", sentence + ".")
        }),
        Error::UnknownFormat { index, got } => raise(py, "UnknownFormat", |k| {
            k.set_item("index", index)?;
            k.set_item(
                "expected",
                "messages in the shape of OpenAI chat, OpenAI Responses, Anthropic, Gemini or Bedrock Converse",
            )?;
            k.set_item("got", got)
        }),
        Error::MixedFormats { index, field, first, second } => raise(py, "MixedFormats", |k| {
            k.set_item("index", index)?;
            k.set_item("field", field)?;
            k.set_item("formats", PyTuple::new(py, [first, second])?)
        }),
        Error::Pinned { index, field, reason } => raise(py, "PinnedInvalid", |k| {
            k.set_item("index", index)?;
            k.set_item("field", field)?;
            k.set_item("rule", reason)
        }),
        Error::Counter { index } => {
            let (got, cause) = match counter {
                PyCounter::Callable { failure, .. } => failure.take().unwrap_or_default(),
                PyCounter::Estimate(_) | PyCounter::Exact(_) | PyCounter::Nothing => Default::default(),
            };
            // Only ordinary exceptions are wrapped: an interrupt goes through as it is.
            if let Some(cause) = &cause
                && !cause.is_instance_of::<pyo3::exceptions::PyException>(py)
            {
                return cause.clone_ref(py);
            }
            let error = raise(py, "CounterError", |k| {
                k.set_item("index", index)?;
                k.set_item("got", got)
            });
            error.set_cause(py, cause);
            error
        }
    }
}
