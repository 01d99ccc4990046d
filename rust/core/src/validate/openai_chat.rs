//! OpenAI chat: every call is answered by tool messages directly after its assistant message, and every tool message answers one.

use super::Check;
use crate::index::Symbol;
use crate::item::Role;
use crate::node::Node;

/// What a call and its result share: legacy or not, and the id.
type Key = (bool, Option<Symbol>);

/// The assistant message whose results are being read.
struct Owner {
    index: usize,
    /// Calls without a result yet: part position and id.
    open: Vec<(usize, Key)>,
    answered: Vec<Key>,
}

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let mut owner: Option<Owner> = None;
    for (index, item) in draft.items.iter().enumerate() {
        if item.empty_list {
            check.add("empty_message", index, None, "content is an empty list");
        }
        if item.role == Role::Tool {
            for part in draft.parts_of(item).iter().filter(|p| p.is_result()) {
                answer(check, owner.as_mut(), index, (part.legacy, part.id));
            }
            continue;
        }
        close(check, owner.take());
        let parts = draft.parts_of(item).iter().enumerate();
        let open: Vec<_> = parts.filter(|(_, p)| p.is_call()).map(|(at, p)| (at, (p.legacy, p.id))).collect();
        if !open.is_empty() {
            owner = Some(Owner { index, open, answered: Vec::new() });
        }
    }
    // What is still open here is pending at the live end.
}

fn answer<N: Node>(check: &mut Check<'_, N>, owner: Option<&mut Owner>, index: usize, key: Key) {
    let Some(owner) = owner else {
        return check.add("orphan_result", index, Some(0), "a tool message that follows no assistant message with tool calls");
    };
    if let Some(at) = owner.open.iter().position(|(_, open)| *open == key) {
        owner.open.remove(at);
        owner.answered.push(key);
    } else if owner.answered.contains(&key) {
        check.add("duplicate_result", index, Some(0), "a second tool message for one call");
    } else {
        let message = if key.1.is_some() {
            "a tool message for a call that is not in the assistant message before it"
        } else {
            "a tool message without a tool_call_id"
        };
        check.add("orphan_result", index, Some(0), message);
    }
}

fn close<N: Node>(check: &mut Check<'_, N>, owner: Option<Owner>) {
    let Some(owner) = owner else { return };
    for (part, (_, id)) in owner.open {
        let id = check.draft.name(id).to_owned();
        check.add(
            "unanswered_call",
            owner.index,
            Some(part),
            format!("the call {id:?} is not answered by a tool message directly after it"),
        );
    }
}
