//! Where a history may legally be split: an intersection of rules, one file each.
//!
//! A boundary lies before each item. Every rule vetoes boundaries; what no rule vetoes is a legal cut. Units fall out of
//! this: a unit is the run of items between two neighbouring cuts. Linear in the items.

mod pairs;
mod reasoning;
mod turn_order;

use crate::draft::Draft;
use std::ops::Range;

/// For each item, whether the history may be cut before it.
#[must_use]
pub fn legal<N: Clone>(draft: &Draft<N>) -> Vec<bool> {
    let mut legal = vec![true; draft.items.len()];
    pairs::veto(draft, &mut legal);
    reasoning::veto(draft, &mut legal);
    turn_order::veto(draft, &mut legal);
    legal
}

/// The units, in order: what must live or die together.
#[must_use]
pub fn units<N: Clone>(draft: &Draft<N>) -> Vec<Range<usize>> {
    let legal = legal(draft);
    let mut units = Vec::with_capacity(legal.len());
    let mut start = 0;
    for at in 1..=legal.len() {
        if at == legal.len() || legal[at] {
            units.push(start..at);
            start = at;
        }
    }
    units
}
