//! No cut between a filler and the calls that it stands before, where a filler goes with them (Gemini): see `format/turns`.

use crate::draft::Draft;
use crate::format::is_filler;
use crate::item::Role;

pub(super) fn veto<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    if !draft.format.filler_goes_with_calls() {
        return;
    }
    for (at, pair) in draft.items.windows(2).enumerate() {
        if pair[0].role == Role::User && is_filler(&pair[0]) && draft.has_calls(&pair[1]) {
            legal[at + 1] = false;
        }
    }
}
