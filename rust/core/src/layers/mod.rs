//! The layers, cheapest first.

pub mod prune;
pub mod tool_results;
