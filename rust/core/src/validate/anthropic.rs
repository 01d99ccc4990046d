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
    let mut marks = Marks { asked: vec![0; draft.symbols.len() + 1], answered: vec![0; draft.symbols.len() + 1] };
    let mut before: &[Part<N>] = &[];
    for (index, item) in draft.items.iter().enumerate() {
        let parts = draft.parts_of(item);
        content(check, index, item.role == Role::Assistant, index == last, parts);
        pairs(check, index, before, parts, &mut marks, last);
        before = if item.role == Role::Assistant { parts } else { &[] };
    }
}

/// For each id the message that last saw it called, and answered: index + 1. The last place is for those without an id.
struct Marks {
    asked: Vec<usize>,
    answered: Vec<usize>,
}

/// The calls of the message before against the results of this one. Linear in both.
fn pairs<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], parts: &[Part<N>], marks: &mut Marks, last: usize) {
    let (here, none) = (index + 1, marks.asked.len() - 1);
    let id = |part: &Part<N>| part.id.map_or(none, |id| id.0 as usize);
    for call in before.iter().filter(|p| p.is_call()) {
        marks.asked[id(call)] = here;
    }
    let (mut head, mut own) = (true, !parts.is_empty());
    for (at, result) in parts.iter().enumerate() {
        if !result.is_result() {
            (head, own) = (false, false);
            continue;
        }
        if marks.asked[id(result)] != here {
            own = false;
            check.add("orphan_result", index, Some(at), "a tool_result whose tool_use is not in the message before");
        } else if std::mem::replace(&mut marks.answered[id(result)], here) == here {
            check.add("duplicate_result", index, Some(at), "a second tool_result for one tool_use");
        } else if !head {
            check.add("misplaced_result", index, Some(at), "tool_result blocks must stand first in their message");
        }
    }
    // At the live end more results may be on the way.
    if index == last && own {
        return;
    }
    for (at, call) in before.iter().enumerate().filter(|(_, p)| p.is_call()) {
        if marks.answered[id(call)] != here {
            let name = check.draft.name(call.id).to_owned();
            check.add(
                "unanswered_call",
                index - 1,
                Some(at),
                format!("the tool_use {name:?} has no tool_result in the next message"),
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
