//! The counters a caller can choose: the built-in estimate, exact counts by an encoding, or any callable from text to a number of tokens.

use lithify_bpe::{Encoding, Tokenizer};
use lithify_core::count::{Counter, Estimate, Failed};
use lithify_core::estimate::Weights;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// The counter in use for one call. A failure of the user's callable is kept here, for the error that is raised in the end.
pub enum PyCounter<'py> {
    /// Nothing is counted: for those who only look at the shape.
    Nothing,
    /// The built-in estimate.
    Estimate(Estimate),
    /// Exact counts by an encoding.
    Exact(&'static Tokenizer),
    /// A callable.
    Callable {
        /// `text -> int`.
        call: Bound<'py, PyAny>,
        /// Why it failed: what it returned, and the exception it raised.
        failure: Option<(String, Option<PyErr>)>,
    },
}

impl<'py> PyCounter<'py> {
    /// From what the typed API passes: the name of an estimate's target, `exact:` and an encoding, or a callable.
    pub fn new(value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(name) = value.cast::<PyString>() else {
            return Ok(Self::Callable { call: value.clone(), failure: None });
        };
        let name = name.to_str()?;
        if let Some(encoding) = name.strip_prefix("exact:").and_then(Encoding::by_name) {
            return Ok(Self::Exact(encoding.load()));
        }
        let weights: &'static Weights = match name {
            "o200k_base" => &Weights::O200K,
            "cl100k_base" => &Weights::CL100K,
            "default" => &Weights::DEFAULT,
            "nothing" => return Ok(Self::Nothing),
            other => return Err(PyValueError::new_err(format!("unknown estimate {other:?}"))),
        };
        Ok(Self::Estimate(Estimate(weights)))
    }
}

impl Counter for PyCounter<'_> {
    fn count(&mut self, text: &str) -> Result<u64, Failed> {
        match self {
            Self::Nothing => Ok(0),
            Self::Estimate(estimate) => estimate.count(text),
            Self::Exact(tokenizer) => Ok(tokenizer.count(text)),
            Self::Callable { call, failure } => match call.call1((text,)) {
                Err(error) => {
                    *failure = Some((format!("the exception {error}"), Some(error)));
                    Err(Failed)
                }
                Ok(value) => {
                    let whole = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
                    // Counts beyond 2^40 are nonsense, and sums of them would overflow.
                    match if whole { value.extract::<u64>().ok() } else { None } {
                        Some(tokens) if tokens < 1 << 40 => Ok(tokens),
                        _ => {
                            let got = value.repr().map_or_else(|_| "an object".to_owned(), |r| r.to_string());
                            *failure = Some((got, None));
                            Err(Failed)
                        }
                    }
                }
            },
        }
    }
}
