//! Makes a damaged history valid: pairs calls and results, renames ids, moves, stubs and drops. DESIGN.md section 3.
//!
//! It runs only on a draft in which the validator found something, so a valid history costs nothing and is never edited. By position
//! first, id second. Deterministic, without a clock, and what it invents is marked. Linear up to the sorting of what is
//! out of place.

mod content;
mod ids;
mod matching;
mod place;

pub(crate) use content::order;

use crate::count::{self, Counter};
use crate::draft::{Draft, Edit, Layer};
use crate::error::{Error, Result};
use crate::format::{Format, STUB};
use crate::node::Node;
use std::borrow::Cow;

/// Repairs a draft.
///
/// # Errors
/// A pinned message that would have to change, or a counter that failed.
pub fn repair<N: Node>(draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    content::make_sendable(draft)?;
    let pairing = matching::pair(draft);
    ids::assign(draft, &pairing)?;
    let stub = count::RESULT + counter.count(STUB).map_err(|_| Error::Counter { index: None })?;
    match draft.format {
        Format::OpenAiChat | Format::Responses => {
            place::as_messages(draft, &pairing, stub, counter)?;
            content::dangling_reasoning(draft)?;
            content::empty_lists(draft)?;
        }
        Format::Anthropic | Format::Bedrock | Format::Gemini => {
            place::as_blocks(draft, &pairing, stub)?;
            content::drop_empty(draft)?;
            order(draft, false, counter)?;
        }
    }
    draft.recount();
    Ok(())
}

/// Logs an edit of the repair.
fn log<N: Node>(
    draft: &mut Draft<N>,
    kind: &'static str,
    item: Option<usize>,
    part: Option<usize>,
    tokens: (u64, u64),
    reason: &str,
) {
    let index = item.and_then(|at| draft.items[at].source);
    let part = part.and_then(|p| u32::try_from(p).ok());
    let (before, after) = tokens;
    draft.edits.push(Edit { layer: Layer::Repair, kind, index, part, before, after, reason: Cow::Owned(reason.to_owned()) });
}

/// The error for a pinned message that a step would change.
fn unpinned<N: Node>(draft: &Draft<N>, item: usize, field: &str, reason: &str) -> Result<()> {
    let item = &draft.items[item];
    match item.source {
        Some(index) if item.pinned => {
            Err(Error::Pinned { index: index as usize, field: field.to_owned(), reason: reason.to_owned() })
        }
        _ => Ok(()),
    }
}
