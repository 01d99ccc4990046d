//! Anthropic: a user message opens; all calls of an assistant message are answered at the head of the next message; no content is empty.

use super::Check;
use crate::item::{Part, PartKind, Place, Role};
use crate::node::Node;

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let last = draft.items.len().saturating_sub(1);
    if draft.items.first().is_some_and(|first| first.role != Role::User) {
        check.add("first_not_user", 0, None, "the first message is not a user's");
    }
    let mut before: &[Part<N>] = &[];
    for (index, item) in draft.items.iter().enumerate() {
        let parts = draft.parts_of(item);
        content(check, index, item.role == Role::Assistant, index == last, parts);
        pairs(check, index, before, parts, last);
        before = if item.role == Role::Assistant { parts } else { &[] };
    }
}

/// The calls of the message before against the results of this one.
fn pairs<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], parts: &[Part<N>], last: usize) {
    let answers = |call: &Part<N>, result: &Part<N>| result.is_result() && call.is_call() && result.id == call.id;
    let mut head = true;
    for (at, result) in parts.iter().enumerate() {
        if !result.is_result() {
            head = false;
            continue;
        }
        if !before.iter().any(|call| answers(call, result)) {
            check.add("orphan_result", index, Some(at), "a tool_result whose tool_use is not in the message before");
        } else if parts[..at].iter().any(|other| other.is_result() && other.id == result.id) {
            check.add("duplicate_result", index, Some(at), "a second tool_result for one tool_use");
        } else if !head {
            check.add("misplaced_result", index, Some(at), "tool_result blocks must stand first in their message");
        }
    }
    let own = |part: &Part<N>| before.iter().any(|call| answers(call, part));
    let open_end = index == last && !parts.is_empty() && parts.iter().all(own);
    for (at, call) in before.iter().enumerate().filter(|(_, p)| p.is_call()) {
        if !open_end && !parts.iter().any(|result| answers(call, result)) {
            let id = check.draft.name(call.id).to_owned();
            check.add(
                "unanswered_call",
                index - 1,
                Some(at),
                format!("the tool_use {id:?} has no tool_result in the next message"),
            );
        }
    }
}

fn content<N: Node>(check: &mut Check<'_, N>, index: usize, assistant: bool, last: bool, parts: &[Part<N>]) {
    let may_be_empty = assistant && last;
    if parts.is_empty() && !may_be_empty {
        check.add("empty_message", index, None, "the message has no content");
    }
    if assistant && !parts.is_empty() && parts.iter().all(|p| matches!(p.kind, PartKind::Thinking | PartKind::RedactedThinking)) {
        check.add("thinking_only", index, None, "an assistant message that holds only thinking");
    }
    for (at, part) in parts.iter().enumerate().filter(|(_, p)| p.blank) {
        match (part.kind, part.place) {
            (PartKind::Text, Place::Content) if may_be_empty => {}
            (PartKind::Text, Place::Content) => check.add("empty_message", index, Some(at), "the content is empty"),
            (PartKind::Text, _) => check.add("empty_text", index, Some(at), "a text block is empty"),
            (PartKind::Result, _) if part.cached => {
                check.add("empty_cached", index, Some(at), "cache_control on an empty tool_result");
            }
            _ => {}
        }
    }
}
