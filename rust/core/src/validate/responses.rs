//! OpenAI Responses: the outputs of a turn's calls stand directly behind the turn (neighbouring items of the model are one
//! turn), one for each call; a reasoning item is followed by an item of the model.

use super::Check;
use crate::index::Symbol;
use crate::item::{PartKind, Role};
use crate::node::Node;

/// The turn whose outputs are being read.
struct Turn {
    /// The number of the turn.
    number: usize,
    /// Its calls: item and id.
    calls: Vec<(usize, Option<Symbol>)>,
    /// By symbol: the last turn that called the id, and that answered it. The last place is for those without an id.
    called: Vec<usize>,
    answered: Vec<usize>,
    /// An output was read: the next item of the model begins a new turn.
    closed: bool,
}

impl Turn {
    fn place(&self, id: Option<Symbol>) -> usize {
        id.map_or(self.called.len() - 1, |id| id.0 as usize)
    }
}

pub(super) fn check<N: Node>(check: &mut Check<'_, N>) {
    let draft = check.draft;
    let size = draft.symbols.len() + 1;
    let mut turn = Turn { number: 1, calls: Vec::new(), called: vec![0; size], answered: vec![0; size], closed: false };
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
                    close(check, &mut turn);
                }
                for call in parts.iter().filter(|p| p.is_call()) {
                    let place = turn.place(call.id);
                    turn.called[place] = turn.number;
                    turn.calls.push((index, call.id));
                }
            }
            Role::System | Role::User => close(check, &mut turn),
        }
    }
    // What is still open here is pending at the live end.
}

fn answer<N: Node>(check: &mut Check<'_, N>, turn: &mut Turn, index: usize, id: Option<Symbol>) {
    let place = turn.place(id);
    if id.is_none() {
        check.add("orphan_result", index, Some(0), "an output without a call_id");
    } else if turn.called[place] != turn.number {
        check.add("orphan_result", index, Some(0), "an output for a call that is not in the turn before it");
    } else if std::mem::replace(&mut turn.answered[place], turn.number) == turn.number {
        check.add("duplicate_result", index, Some(0), "a second output for one call");
    }
}

fn close<N: Node>(check: &mut Check<'_, N>, turn: &mut Turn) {
    for (index, id) in std::mem::take(&mut turn.calls) {
        if turn.answered[turn.place(id)] != turn.number {
            let id = check.draft.name(id).to_owned();
            check.add("unanswered_call", index, Some(0), format!("the call {id:?} has no output directly behind its turn"));
        }
    }
    turn.number += 1;
    turn.closed = false;
}
