//! How a message of the output is built: a small tree over the values that came in.
//!
//! Formats say *what* to build in these terms; a binding knows *how* (Python objects, JSON text). A value that is not
//! named here is passed through by identity, which is how everything unknown survives.

use crate::node::Key;

/// A value to build.
#[derive(Clone, Debug)]
pub enum Build<N> {
    /// The very value that came in.
    Same(N),
    /// A string.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Number(u64),
    /// A list.
    List(Vec<Build<N>>),
    /// A new mapping, its keys in this order.
    Map(Vec<(&'static str, Build<N>)>),
    /// A shallow copy of a mapping that came in, with some keys set (in place when they stand there) and some taken out.
    Patch {
        /// What is copied.
        base: N,
        /// Keys and their new values.
        set: Vec<(Key, Build<N>)>,
        /// Keys that go.
        unset: Vec<Key>,
    },
    /// The value that came in, each lone surrogate in its strings (however deep) as U+FFFD.
    Sendable(N),
}

/// A whole message of the output.
#[derive(Clone, Debug)]
pub enum Message<N> {
    /// The message of that input index, as it came.
    Untouched(u32),
    /// A message that is built.
    Built(Build<N>),
}
