//! Gemini: a content with calls follows a user's content; the next content holds as many responses, one for each call;
//! no content and no text is empty. Calls without an id carry one of the reader's own here.

use super::Check;
use crate::item::{Part, PartKind, Role};
use crate::node::Node;

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let mut calls: &[Part<N>] = &[];
    let mut user = false;
    let mut marks = Marks { asked: vec![0; draft.symbols.len() + 1], answered: vec![0; draft.symbols.len() + 1] };
    for (index, item) in draft.items.iter().enumerate() {
        let parts = draft.parts_of(item);
        if parts.is_empty() {
            check.add("empty_message", index, None, "the content has no parts");
        }
        for (at, _) in parts.iter().enumerate().filter(|(_, p)| p.kind == PartKind::Text && p.blank) {
            check.add("empty_text", index, Some(at), "a text is empty");
        }
        if !user && parts.iter().any(Part::is_call) {
            check.add("turn_order", index, None, "a content with calls must follow a user's content or the responses to calls");
        }
        responses(check, index, calls, parts, &mut marks);
        user = item.role == Role::User;
        calls = parts;
    }
}

/// By symbol: the last content (its number + 1) that may answer the id, and that did.
struct Marks {
    asked: Vec<usize>,
    answered: Vec<usize>,
}

/// The calls of the content before against the responses of this one: each answered once, and nothing else answered.
fn responses<N: Node>(check: &mut Check<'_, N>, index: usize, calls: &[Part<N>], parts: &[Part<N>], marks: &mut Marks) {
    let none = marks.asked.len() - 1;
    let place = |part: &Part<N>| part.id.map_or(none, |id| id.0 as usize);
    for call in calls.iter().filter(|p| p.is_call()) {
        marks.asked[place(call)] = index + 1;
    }
    let mut only_own = !parts.is_empty();
    for (at, part) in parts.iter().enumerate() {
        if !part.is_result() {
            only_own = false;
        } else if marks.asked[place(part)] != index + 1 {
            only_own = false;
            check.add("orphan_result", index, Some(at), "a functionResponse whose functionCall is not in the content before");
        } else if std::mem::replace(&mut marks.answered[place(part)], index + 1) == index + 1 {
            only_own = false;
            check.add("duplicate_result", index, Some(at), "a second functionResponse for one functionCall");
        }
    }
    // Some of the responses may still be on the way.
    if only_own && index + 1 == check.draft.items.len() {
        return;
    }
    for (at, call) in calls.iter().enumerate().filter(|(_, p)| p.is_call()) {
        if marks.answered[place(call)] != index + 1 {
            let name = check.draft.name(call.name).to_owned();
            let message = format!("the call of {name:?} has no functionResponse in the next content");
            check.add("unanswered_call", index - 1, Some(at), message);
        }
    }
}
