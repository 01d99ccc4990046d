//! No cut between a call and the last of its results.
//!
//! After repair the results of an assistant message stand directly behind it: in messages of their own, or at the head of the
//! next user message. So the rule is local: no cut before an item that holds a result.

use crate::draft::Draft;
use crate::item::Part;

pub(super) fn veto<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    for (item, legal) in draft.items.iter().zip(legal) {
        if draft.parts_of(item).iter().any(Part::is_result) {
            *legal = false;
        }
    }
}
