//! The compaction engine, on borrowed views of a history. DESIGN.md is its contract.
#![forbid(unsafe_code)]

pub mod build;
pub mod carryover;
pub mod count;
pub mod cuts;
pub mod draft;
pub mod error;
pub mod estimate;
pub mod format;
pub mod index;
pub mod item;
pub mod json;
pub mod layers;
pub mod ledger;
pub mod node;
pub mod planner;
pub mod policy;
pub mod repair;
pub mod tools;
pub mod truncate;
pub mod validate;
