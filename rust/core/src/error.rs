//! What can be wrong with an input, with the fields that a message needs.

use std::fmt;

/// An input that the engine cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A value of the wrong shape.
    Invalid {
        /// Message index, when one is at fault.
        index: Option<usize>,
        /// Path of the field, such as `content[2].type`.
        field: String,
        /// What was expected.
        expected: String,
        /// What came.
        got: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The format could not be told.
    UnknownFormat {
        /// Message index that decided it, if any.
        index: Option<usize>,
        /// What was seen.
        got: String,
    },
    /// Two formats in one history.
    MixedFormats {
        /// The first message of the second format.
        index: usize,
        /// The field that told.
        field: String,
        /// The format of the messages before.
        first: &'static str,
        /// The format of this message.
        second: &'static str,
    },
    /// A pinned message that would have to be changed to be valid.
    Pinned {
        /// Message index.
        index: usize,
        /// The field that would change.
        field: String,
        /// Why it would.
        reason: String,
    },
    /// The counter in use failed; the binding holds the cause.
    Counter {
        /// Message index, when known.
        index: Option<usize>,
    },
}

impl Error {
    pub(crate) fn invalid(
        index: usize,
        field: impl Into<String>,
        expected: &str,
        got: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::Invalid { index: Some(index), field: field.into(), expected: expected.to_owned(), got: got.into(), remedy }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { index, field, expected, got, remedy } => {
                if let Some(index) = index {
                    write!(f, "message {index}, ")?;
                }
                write!(f, "field `{field}`: expected {expected}, got {got}; {remedy}")
            }
            Self::UnknownFormat { got, .. } => write!(f, "the format of this history cannot be told: {got}"),
            Self::MixedFormats { index, field, first, second } => {
                write!(f, "message {index} is {second} (field `{field}`), the messages before it are {first}")
            }
            Self::Pinned { index, field, reason } => {
                write!(f, "message {index} is pinned, but its `{field}` would have to change: {reason}")
            }
            Self::Counter { .. } => write!(f, "the token counter failed"),
        }
    }
}

impl std::error::Error for Error {}

/// The engine's result type.
pub type Result<T> = std::result::Result<T, Error>;
