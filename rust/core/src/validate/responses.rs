//! OpenAI Responses: the outputs of a turn's calls stand directly behind the turn (neighbouring items of the model are one
//! turn), one for each call; a reasoning item is followed by an item of the model.

use super::Check;
use crate::index::Symbol;
use crate::item::{PartKind, Role};
use crate::node::Node;

/// The turn whose outputs are being read.
#[derive(Default)]
struct Turn {
    /// Calls without an output yet.
    open: Vec<(usize, Option<Symbol>)>,
    answered: Vec<Option<Symbol>>,
    /// An output was read: the next item of the model begins a new turn.
    closed: bool,
}

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let mut turn = Turn::default();
    for (index, item) in draft.items.iter().enumerate() {
        if item.empty_list {
            check.add("empty_message", index, None, "content is an empty list");
        }
        let parts = draft.parts_of(item);
        if parts.iter().any(|p| p.kind == PartKind::Thinking)
            && draft.items.get(index + 1).is_none_or(|next| next.role != Role::Assistant)
        {
            check.add("dangling_reasoning", index, None, "a reasoning item without the item of the model that follows it");
        }
        match item.role {
            Role::Tool => {
                turn.closed = true;
                for part in parts.iter().filter(|p| p.is_result()) {
                    answer(check, &mut turn, index, part.id);
                }
            }
            Role::Assistant => {
                if turn.closed {
                    close(check, std::mem::take(&mut turn));
                }
                turn.open.extend(parts.iter().filter(|p| p.is_call()).map(|p| (index, p.id)));
            }
            Role::System | Role::User => close(check, std::mem::take(&mut turn)),
        }
    }
    // What is still open here is pending at the live end.
}

fn answer<N: Node>(check: &mut Check<'_, N>, turn: &mut Turn, index: usize, id: Option<Symbol>) {
    if let Some(at) = turn.open.iter().position(|(_, open)| id.is_some() && *open == id) {
        turn.open.remove(at);
        turn.answered.push(id);
    } else if id.is_some() && turn.answered.contains(&id) {
        check.add("duplicate_result", index, Some(0), "a second output for one call");
    } else if id.is_some() {
        check.add("orphan_result", index, Some(0), "an output for a call that is not in the turn before it");
    } else {
        check.add("orphan_result", index, Some(0), "an output without a call_id");
    }
}

fn close<N: Node>(check: &mut Check<'_, N>, turn: Turn) {
    for (index, id) in turn.open {
        let id = check.draft.name(id).to_owned();
        check.add("unanswered_call", index, Some(0), format!("the call {id:?} has no output directly behind its turn"));
    }
}
