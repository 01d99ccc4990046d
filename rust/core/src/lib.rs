//! The compaction engine, on borrowed views of a history.
#![forbid(unsafe_code)]

pub mod estimate;
