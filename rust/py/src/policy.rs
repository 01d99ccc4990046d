//! The typed policy of the Python side, taken apart once into the engine's.

use lithify_core::policy as core;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

/// A policy in the engine's own form. Made from `Policy.to_dict()`, which has validated it.
#[pyclass(frozen, module = "lithify._core")]
pub struct Policy(pub core::Policy);

fn amount(settings: &Bound<'_, PyAny>, name: &str) -> PyResult<core::Amount> {
    let value = settings.get_item(name)?;
    Ok(if value.is_instance_of::<PyFloat>() {
        core::Amount::Share(value.extract()?)
    } else {
        core::Amount::Tokens(value.extract()?)
    })
}

fn field<'py, T: FromPyObjectOwned<'py>>(settings: &Bound<'py, PyAny>, name: &str) -> PyResult<T> {
    settings.get_item(name)?.extract().map_err(Into::into)
}

#[pymethods]
impl Policy {
    #[new]
    fn new(settings: &Bound<'_, PyAny>) -> PyResult<Self> {
        let clear = settings.get_item("clear")?;
        let prune = settings.get_item("prune")?;
        Ok(Self(core::Policy {
            clear: core::Clear {
                single_share: amount(&clear, "single_share")?,
                trigger: amount(&clear, "trigger")?,
                target: amount(&clear, "target")?,
                at_least: amount(&clear, "at_least")?,
                keep: field(&clear, "keep")?,
                listed: field(&clear, "listed")?,
                protected: field(&clear, "protected")?,
                exclude_tools: field(&clear, "exclude_tools")?,
                readers: field(&clear, "readers")?,
                verbose: field(&clear, "verbose")?,
                verbose_turns: field(&clear, "verbose_turns")?,
                errors_keep_turns: field(&clear, "errors_keep_turns")?,
                eager: field(&clear, "eager")?,
                literal: field(&clear, "literal")?,
            },
            prune: core::Prune {
                trigger: amount(&prune, "trigger")?,
                target: amount(&prune, "target")?,
                keep: field(&prune, "keep")?,
                carry_over: amount(&prune, "carry_over")?,
                recent_share: field(&prune, "recent_share")?,
                verbatim_share: field(&prune, "verbatim_share")?,
            },
            strict_alternation: field(settings, "strict_alternation")?,
        }))
    }
}
