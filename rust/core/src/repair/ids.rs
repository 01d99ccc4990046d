//! Ids: every call gets one that was not used before, and its result the same.

use super::matching::Pairing;
use super::{log, unpinned};
use crate::draft::Draft;
use crate::error::Result;
use crate::index::{Map, Symbol};
use crate::node::Node;

/// Gives every call its final id. What is seen so far decides, so that later messages never rename earlier ones.
pub(super) fn assign<N: Node>(draft: &mut Draft<N>, pairing: &Pairing) -> Result<()> {
    let mut used = Used { seen: Map::default(), next: Map::default() };
    for number in 0..pairing.calls.len() {
        let call = &pairing.calls[number];
        if call.legacy {
            continue;
        }
        let id = match call.id {
            Some(id) if !used.seen.contains_key(&id) => id,
            Some(id) => used.fresh(draft, id),
            None => {
                let id = draft.symbols.intern(&format!("call_{number}"));
                if used.seen.contains_key(&id) { used.fresh(draft, id) } else { id }
            }
        };
        used.seen.insert(id, ());
        let (item, part) = (call.item, call.part);
        if call.id != Some(id) {
            unpinned(draft, item, "id", "its call id is missing or was used before")?;
            rename(draft, item, part, id);
        }
    }
    for call in pairing.calls.iter().filter(|call| !call.legacy) {
        let Some(id) = draft.parts[call.part].id else { continue };
        let Some(answer) = call.result.map(|r| &pairing.answers[r]) else { continue };
        if answer.id != Some(id) {
            let (item, part) = (answer.item, answer.part);
            unpinned(draft, item, "tool_call_id", "the id of its call changes")?;
            rename(draft, item, part, id);
        }
    }
    Ok(())
}

fn rename<N: Node>(draft: &mut Draft<N>, item: usize, part: usize, id: Symbol) {
    let old = draft.name(draft.parts[part].id).to_owned();
    let reason = format!("id {old:?} is now {:?}", draft.name(Some(id)));
    let tokens = draft.parts[part].tokens;
    draft.parts[part].id = Some(id);
    draft.parts[part].change().id = true;
    let at = part.checked_sub(draft.items[item].parts.start as usize);
    log(draft, "rename_id", Some(item), at, (tokens, tokens), &reason);
}

struct Used {
    seen: Map<Symbol, ()>,
    /// The suffix to try next, per id.
    next: Map<Symbol, u64>,
}

impl Used {
    /// `ID_2`, `ID_3`, ...: the first that was not seen.
    fn fresh<N: Node>(&mut self, draft: &mut Draft<N>, id: Symbol) -> Symbol {
        let mut suffix = self.next.get(&id).copied().unwrap_or(2);
        loop {
            let name = format!("{}_{suffix}", draft.name(Some(id)));
            let symbol = draft.symbols.intern(&name);
            suffix += 1;
            if !self.seen.contains_key(&symbol) {
                self.next.insert(id, suffix);
                return symbol;
            }
        }
    }
}
