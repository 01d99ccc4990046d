//! No cut between a call and the last of its results.
//!
//! After repair the results of an assistant message stand directly behind it: in messages of their own, or at the head of the
//! next user message. So the rule is local: no cut before an item that holds a result. In Responses several neighbouring
//! items of the model are one turn with common results: no cut between such items from the first call on. Hosted tools whose
//! calls and outputs this version does not know share a `call_id`: no cut between the first and the last item with the same.

use crate::draft::Draft;
use crate::format::Format;
use crate::index::{Map, Symbol};
use crate::item::{Item, Part, PartKind, Role};

pub(super) fn veto<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    for (item, legal) in draft.items.iter().zip(&mut *legal) {
        if draft.parts_of(item).iter().any(Part::is_result) {
            *legal = false;
        }
    }
    if draft.format == Format::Responses {
        responses(draft, legal);
    }
}

fn responses<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    let mut called = false;
    // How many pairs of hosted tools reach over the boundary before each item, as a sum of changes.
    let mut over = vec![0i64; legal.len() + 1];
    let mut last: Map<Symbol, usize> = Map::default();
    for (at, item) in draft.items.iter().enumerate() {
        let model = item.role == Role::Assistant;
        if model && called {
            legal[at] = false;
        }
        called = model && (called || draft.has_calls(item));
        if let Some(id) = hosted(draft, item)
            && let Some(before) = last.insert(id, at)
        {
            over[before + 1] += 1;
            over[at + 1] -= 1;
        }
    }
    let mut reach = 0;
    for (legal, change) in legal.iter_mut().zip(over) {
        reach += change;
        *legal &= reach == 0;
    }
}

/// The id by which a hosted tool's call and output belong together.
fn hosted<N: Clone>(draft: &Draft<N>, item: &Item<N>) -> Option<Symbol> {
    draft.parts_of(item).iter().find(|p| p.kind == PartKind::Opaque)?.id
}
