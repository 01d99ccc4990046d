//! No cut behind a reasoning item (OpenAI Responses): it is refused without the item that follows it, and that one without it.

use crate::draft::Draft;
use crate::format::Format;
use crate::item::{Part, PartKind};

pub(super) fn veto<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    if draft.format != Format::Responses {
        return;
    }
    let thinks = |p: &Part<N>| p.kind == PartKind::Thinking;
    for (item, legal) in draft.items.iter().zip(legal.iter_mut().skip(1)) {
        if draft.parts_of(item).iter().any(thinks) {
            *legal = false;
        }
    }
}
