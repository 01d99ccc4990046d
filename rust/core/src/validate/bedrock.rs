//! Bedrock Converse: a user message opens; all calls of an assistant message are answered at the head of the next message;
//! user and assistant alternate; no content is empty. A cache point may stand anywhere and says nothing.

use super::Check;
use crate::item::{Part, PartKind, Role};
use crate::node::Node;

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let last = draft.items.len().saturating_sub(1);
    if draft.items.first().is_some_and(|first| first.role != Role::User) {
        check.add("first_not_user", 0, None, "the first message is not a user's");
    }
    let mut marks = Marks { called: vec![0; draft.symbols.len() + 1], answered: vec![0; draft.symbols.len() + 1] };
    let mut before: &[Part<N>] = &[];
    for (index, item) in draft.items.iter().enumerate() {
        let parts = draft.parts_of(item);
        content(check, index, parts);
        if index > 0 && draft.items[index - 1].role == item.role {
            check.add("alternation", index, None, "two messages of one role stand side by side");
        }
        let own = results(check, index, before, parts, &mut marks);
        // At the live end more results may be on the way.
        if !(own && index == last) {
            unanswered(check, index, before, &marks);
        }
        before = if item.role == Role::Assistant { parts } else { &[] };
    }
}

const fn is_cache_point<N>(part: &Part<N>) -> bool {
    matches!(part.kind, PartKind::Opaque) && part.cached
}

/// By symbol: the last message (its number + 1) before which the id was called, and in which it was answered.
struct Marks {
    called: Vec<usize>,
    answered: Vec<usize>,
}

impl Marks {
    /// The place of a part's id; the last is for those without one.
    fn place<N>(&self, part: &Part<N>) -> usize {
        part.id.map_or(self.called.len() - 1, |id| id.0 as usize)
    }
}

/// Judges the results of a message; says whether it holds nothing but results of the message before.
fn results<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], parts: &[Part<N>], marks: &mut Marks) -> bool {
    for call in before.iter().filter(|p| p.is_call()) {
        let place = marks.place(call);
        marks.called[place] = index + 1;
    }
    let mut head = true;
    let mut own = !parts.is_empty() && parts.iter().all(Part::is_result);
    for (at, part) in parts.iter().enumerate().filter(|(_, p)| !is_cache_point(p)) {
        let place = marks.place(part);
        if !part.is_result() {
            head = false;
        } else if marks.called[place] != index + 1 {
            own = false;
            check.add("orphan_result", index, Some(at), "a toolResult whose toolUse is not in the message before");
        } else if std::mem::replace(&mut marks.answered[place], index + 1) == index + 1 {
            check.add("duplicate_result", index, Some(at), "a second toolResult for one toolUse");
        } else if !head {
            check.add("misplaced_result", index, Some(at), "toolResult blocks must stand first in their message");
        }
    }
    own
}

fn unanswered<N: Node>(check: &mut Check<'_, N>, index: usize, before: &[Part<N>], marks: &Marks) {
    for (at, call) in before.iter().enumerate().filter(|(_, p)| p.is_call()) {
        if marks.answered[marks.place(call)] != index + 1 {
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
