//! Bedrock Converse: a user message opens; all calls of an assistant message are answered at the head of the next message;
//! no content is empty. A cache point may stand anywhere and says nothing.

use super::Check;
use crate::item::{Part, PartKind, Role};
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
        content(check, index, parts);
        results(check, index, before, parts);
        let open_end = index == last && !parts.is_empty() && parts.iter().all(|p| p.is_result() && calls(before, p));
        if !open_end {
            unanswered(check, index, before, parts);
        }
        before = if item.role == Role::Assistant { parts } else { &[] };
    }
}

const fn is_cache_point<N>(part: &Part<N>) -> bool {
    matches!(part.kind, PartKind::Opaque) && part.cached
}

fn calls<N>(before: &[Part<N>], result: &Part<N>) -> bool {
    before.iter().any(|call| call.is_call() && call.id == result.id)
}

fn results<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], parts: &[Part<N>]) {
    let mut head = true;
    for (at, part) in parts.iter().enumerate().filter(|(_, p)| !is_cache_point(p)) {
        if !part.is_result() {
            head = false;
        } else if !calls(before, part) {
            check.add("orphan_result", index, Some(at), "a toolResult whose toolUse is not in the message before");
        } else if parts[..at].iter().any(|other| other.is_result() && other.id == part.id) {
            check.add("duplicate_result", index, Some(at), "a second toolResult for one toolUse");
        } else if !head {
            check.add("misplaced_result", index, Some(at), "toolResult blocks must stand first in their message");
        }
    }
}

fn unanswered<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], parts: &[Part<N>]) {
    for (at, call) in before.iter().enumerate().filter(|(_, p)| p.is_call()) {
        if !parts.iter().any(|p| p.is_result() && p.id == call.id) {
            let id = check.draft.name(call.id).to_owned();
            let message = format!("the toolUse {id:?} has no toolResult in the next message");
            check.add("unanswered_call", index - 1, Some(at), message);
        }
    }
}

fn content<N: Node>(check: &mut Check<'_, N>, index: usize, parts: &[Part<N>]) {
    let silent = |p: &Part<N>| is_cache_point(p) || matches!(p.kind, PartKind::Thinking | PartKind::RedactedThinking);
    if parts.is_empty() {
        check.add("empty_message", index, None, "the message has no content");
    } else if parts.iter().all(silent) {
        check.add("thinking_only", index, None, "a message that holds only reasoning or cache points");
    }
    for (at, part) in parts.iter().enumerate() {
        if part.blank && part.kind == PartKind::Text {
            check.add("empty_text", index, Some(at), "a text block is empty");
        }
    }
}
