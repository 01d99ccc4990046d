//! Thin Python bindings over the engine: convert, call, convert back; no decisions.

mod build;
mod counter;
mod error;
mod node;
mod policy;
mod text;

use crate::counter::PyCounter;
use crate::node::PyNode;
use lithify_core::draft::{Draft, Edit};
use lithify_core::format::Format;
use lithify_core::item::Category;
use lithify_core::{build::Message, error::Error, layers::prune, planner, planner::Plan, tools};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// One edit, as a row: layer, kind, index, part, tokens before, tokens after, reason.
type EditRow<'a> = (&'static str, &'static str, Option<u32>, Option<u32>, u64, u64, &'a str);

/// What a plan led to.
#[pyclass(frozen, module = "lithify._core")]
struct Outcome {
    /// The new list.
    #[pyo3(get)]
    messages: Py<PyList>,
    #[pyo3(get)]
    before: u64,
    #[pyo3(get)]
    after: u64,
    #[pyo3(get)]
    fits: bool,
    #[pyo3(get)]
    rung: &'static str,
    #[pyo3(get)]
    warnings: Vec<String>,
    #[pyo3(get)]
    format: &'static str,
    /// Tokens of what cannot be given up, by name; empty when the history fits.
    #[pyo3(get)]
    core: Vec<(&'static str, u64)>,
    edits: Vec<Edit>,
}

#[pymethods]
impl Outcome {
    /// The edits as rows. They are made when asked for: a large prune has thousands, and few callers look.
    fn edits(&self) -> Vec<EditRow<'_>> {
        self.edits.iter().map(|e| (e.layer.name(), e.kind, e.index, e.part, e.before, e.after, &*e.reason)).collect()
    }
}

/// Everything that a call takes beside its own arguments.
struct Input<'py> {
    messages: Bound<'py, PyAny>,
    counter: PyCounter<'py>,
    draft: Draft<PyNode<'py>>,
}

impl<'py> Input<'py> {
    fn read(
        messages: &Bound<'py, PyAny>,
        format: Option<&str>,
        system: Option<Bound<'py, PyAny>>,
        tools: Option<Bound<'py, PyAny>>,
        counter: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let format = match format {
            None => None,
            Some(name) => Some(Format::by_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown format {name:?}")))?),
        };
        let mut counter = PyCounter::new(counter)?;
        let (system, tools) = (system.map(PyNode), tools.map(PyNode));
        let list = PyNode(messages.clone());
        let draft = planner::read(&list, system.as_ref(), tools.as_ref(), format, &mut counter)
            .map_err(|error| error::exception(messages.py(), error, &mut counter))?;
        Ok(Self { messages: messages.clone(), counter, draft })
    }
    fn finish(
        self,
        plan: impl FnOnce(Draft<PyNode<'py>>, &mut PyCounter<'py>) -> Result<Plan<PyNode<'py>>, Error>,
    ) -> PyResult<Outcome> {
        let Self { messages, mut counter, draft } = self;
        let py = messages.py();
        let plan = plan(draft, &mut counter).map_err(|error| error::exception(py, error, &mut counter))?;
        let out = PyList::empty(py);
        for message in plan.messages() {
            match message {
                Message::Untouched(index) => out.append(messages.get_item(index)?)?,
                Message::Built(value) => out.append(build::build(py, value)?)?,
            }
        }
        Ok(Outcome {
            messages: out.unbind(),
            before: plan.before,
            after: plan.after(),
            fits: plan.fits,
            rung: plan.rung,
            format: plan.draft.format.name(),
            core: if plan.fits { Vec::new() } else { prune::irreducible(&plan.draft) },
            warnings: plan.warnings,
            edits: plan.draft.edits,
        })
    }
}

/// A row for each tool result: message, part, tool, tokens, error.
type ResultRow = (usize, u32, String, u64, bool);

fn result_rows(draft: &Draft<PyNode<'_>>) -> Vec<ResultRow> {
    let mut names = std::collections::HashMap::new();
    let mut rows = Vec::new();
    for (index, item) in draft.items.iter().enumerate() {
        for (at, part) in (0u32..).zip(draft.parts_of(item)) {
            if let (true, Some(id)) = (part.is_call(), part.id) {
                names.insert(id, part.name);
            }
            if part.is_result() {
                let name = part.id.and_then(|id| names.get(&id).copied().flatten());
                rows.push((index, at, draft.name(name).to_owned(), part.tokens, tools::is_error(draft, part)));
            }
        }
    }
    rows
}

/// A violation: code, message index, block, and what is wrong.
type Fault = (&'static str, usize, Option<u32>, String);

/// The native side of `lithify`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::Outcome;
    #[pymodule_export]
    use super::policy::Policy;
    use super::*;

    /// Compacts a history to an input limit, in tokens.
    #[pyfunction]
    #[pyo3(signature = (messages, *, limit, policy, counter, format=None, system=None, tools=None))]
    fn compact<'py>(
        messages: &Bound<'py, PyAny>,
        limit: u64,
        policy: &Bound<'py, Policy>,
        counter: &Bound<'py, PyAny>,
        format: Option<&str>,
        system: Option<Bound<'py, PyAny>>,
        tools: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Outcome> {
        Input::read(messages, format, system, tools, counter)?
            .finish(|draft, counter| planner::compact(draft, &policy.get().0, limit, counter))
    }

    /// Makes a history valid, and nothing else.
    #[pyfunction]
    #[pyo3(signature = (messages, *, counter, format=None))]
    fn repair<'py>(messages: &Bound<'py, PyAny>, counter: &Bound<'py, PyAny>, format: Option<&str>) -> PyResult<Outcome> {
        Input::read(messages, format, None, None, counter)?.finish(|draft, counter| planner::repair(draft, counter))
    }

    /// What the provider would refuse: rows of code, index, part and sentence.
    #[pyfunction]
    #[pyo3(signature = (messages, *, format=None))]
    fn validate(messages: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<Vec<Fault>> {
        let counter = PyString::new(messages.py(), "nothing").into_any();
        let input = Input::read(messages, format, None, None, &counter)?;
        Ok(lithify_core::validate::validate(&input.draft).into_iter().map(|v| (v.code, v.index, v.part, v.message)).collect())
    }

    /// Tokens of a history, or of one text.
    #[pyfunction]
    #[pyo3(signature = (messages, *, counter, format=None, system=None, tools=None))]
    fn count_tokens<'py>(
        messages: &Bound<'py, PyAny>,
        counter: &Bound<'py, PyAny>,
        format: Option<&str>,
        system: Option<Bound<'py, PyAny>>,
        tools: Option<Bound<'py, PyAny>>,
    ) -> PyResult<u64> {
        if let Ok(string) = messages.cast::<PyString>() {
            use lithify_core::count::Counter;
            let mut counter = PyCounter::new(counter)?;
            let tokens = text::with(string, |text, _| counter.count(text));
            return tokens.map_err(|_| error::exception(messages.py(), Error::Counter { index: None }, &mut counter));
        }
        Ok(Input::read(messages, format, system, tools, counter)?.draft.total())
    }

    /// What a history is made of.
    #[pyfunction]
    #[pyo3(signature = (messages, *, counter, format=None, system=None, tools=None))]
    fn inspect<'py>(
        messages: &Bound<'py, PyAny>,
        counter: &Bound<'py, PyAny>,
        format: Option<&str>,
        system: Option<Bound<'py, PyAny>>,
        tools: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let draft = Input::read(messages, format, system, tools, counter)?.draft;
        let report = PyDict::new(messages.py());
        report.set_item("format", draft.format.name())?;
        report.set_item("total", draft.total())?;
        report.set_item("tokens", draft.ledger.items())?;
        let categories = PyDict::new(messages.py());
        for category in Category::ALL {
            categories.set_item(category.name(), draft.ledger.category(category))?;
        }
        report.set_item("categories", categories)?;
        report.set_item("results", result_rows(&draft))?;
        Ok(report)
    }

    /// A text cut to a number of tokens; `None` when not even the marker fits.
    #[pyfunction]
    #[pyo3(signature = (text, max_tokens, *, marker, counter))]
    fn truncate<'py>(
        text: &Bound<'py, PyString>,
        max_tokens: u64,
        marker: &str,
        counter: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let py = text.py();
        let mut counter = PyCounter::new(counter)?;
        let cut = crate::text::with(text, |str, lossy| {
            lithify_core::truncate::truncate(str, max_tokens, marker, &mut counter)
                .map(|cut| cut.map(|cut| (cut == str && !lossy, cut)))
        });
        match cut {
            Ok(Some((true, _))) => Ok(Some(text.clone())),
            Ok(Some((false, cut))) => Ok(Some(PyString::new(py, &cut))),
            Ok(None) => Ok(None),
            Err(_) => Err(error::exception(py, Error::Counter { index: None }, &mut counter)),
        }
    }
}
