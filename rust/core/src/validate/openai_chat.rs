//! OpenAI chat: every call is answered by tool messages directly after its assistant message, and every tool message answers one.

use super::Check;
use crate::item::{Part, Role};
use crate::node::Node;

/// What a call and its result share, as a place in a table: the id's symbol, or one of two places for those without an id.
fn key<N: Node>(check: &Check<'_, N>, part: &Part<N>) -> usize {
    let symbols = check.draft.symbols.len();
    match part.id {
        Some(id) => id.0 as usize,
        None => symbols + usize::from(part.legacy),
    }
}

/// The calls of the assistant message whose results are being read, by key.
struct Open {
    /// The message, if there is one.
    owner: Option<usize>,
    /// Calls that have no result yet.
    left: Vec<u32>,
    /// Calls in all, and the message they are of (index + 1).
    known: Vec<usize>,
}

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let size = draft.symbols.len() + 2;
    let mut open = Open { owner: None, left: vec![0; size], known: vec![0; size] };
    for (index, item) in draft.items.iter().enumerate() {
        if item.empty_list {
            check.add("empty_message", index, None, "content is an empty list");
        }
        if item.role == Role::Tool {
            for part in draft.parts_of(item).iter().filter(|p| p.is_result()) {
                answer(check, &mut open, index, part);
            }
            continue;
        }
        close(check, &mut open);
        for call in draft.parts_of(item).iter().filter(|p| p.is_call()) {
            let key = key(check, call);
            open.left[key] += 1;
            open.known[key] = index + 1;
            open.owner = Some(index);
        }
    }
    // What is still open here is pending at the live end.
}

fn answer<N: Node>(check: &mut Check<'_, N>, open: &mut Open, index: usize, result: &Part<N>) {
    let Some(owner) = open.owner else {
        return check.add("orphan_result", index, Some(0), "a tool message that follows no assistant message with tool calls");
    };
    let key = key(check, result);
    if open.left[key] > 0 {
        open.left[key] -= 1;
    } else if open.known[key] == owner + 1 {
        check.add("duplicate_result", index, Some(0), "a second tool message for one call");
    } else {
        let message = if result.id.is_some() {
            "a tool message for a call that is not in the assistant message before it"
        } else {
            "a tool message without a tool_call_id"
        };
        check.add("orphan_result", index, Some(0), message);
    }
}

/// Reports the calls that are still open. Of calls with one id the first ones were answered.
fn close<N: Node>(check: &mut Check<'_, N>, open: &mut Open) {
    let Some(owner) = open.owner.take() else { return };
    let draft = check.draft;
    for (at, call) in draft.parts_of(&draft.items[owner]).iter().enumerate().rev().filter(|(_, p)| p.is_call()) {
        let key = key(check, call);
        if open.left[key] == 0 {
            continue;
        }
        open.left[key] -= 1;
        let id = draft.name(call.id);
        let message = format!("the call {id:?} is not answered by a tool message directly after it");
        check.add("unanswered_call", owner, Some(at), message);
    }
}
