//! Layer 2: the middle of the history goes, a notice stands in its place.
//!
//! What stays is decided per unit: the core (system, templates, the first human message, pins, current), then, while there is
//! room under the target, recent units and older human messages. When even the core does not fit, the number of newest
//! messages is lowered; then results are capped (`minimal`). DESIGN.md section 6. Linear in the history for each number
//! of newest messages that is tried.

use crate::carryover::{CarryOver, Facts};
use crate::count::{self, Counter};
use crate::cuts;
use crate::draft::{Draft, Edit, Layer};
use crate::error::{Error, Result};
use crate::format::{START, Turns, is_filler};
use crate::item::{Item, Made, NewNotice, Notice, Part, PartKind, Place, Role};
use crate::node::Node;
use crate::policy::{Policy, Prune};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

/// The longest citation of a human message, in characters.
const LONGEST_INSTRUCTION: usize = 2_000;

/// Where the notice stands or would stand.
#[derive(Clone, Debug)]
struct Slot<N> {
    first_human: Option<usize>,
    /// Our notice, as a message of its own.
    notice: Option<usize>,
    /// Our notice stands as a block of the first human message.
    merged: bool,
    /// Where a notice goes.
    at: usize,
    /// Messages removed by earlier passes.
    removed: u64,
    /// The carry-over of the notice that stands.
    carry: Option<N>,
}

fn slot<N: Node>(draft: &Draft<N>) -> Slot<N> {
    let items = &draft.items;
    let lead = items.iter().position(|i| i.role != Role::System).unwrap_or(items.len());
    let human_from = |from: usize| (from..items.len()).find(|&at| draft.is_human(&items[at]));
    let first_human = human_from(0);
    let free = |first_human: Option<usize>, at| Slot { first_human, notice: None, merged: false, at, removed: 0, carry: None };
    let told = |slot: Slot<N>, n: &Notice<N>| Slot { removed: n.removed, carry: n.carry.clone(), ..slot };
    if let Some(first) = first_human.filter(|&at| !items[at].pinned)
        && let Some(notice) = &items[first].merged_notice
    {
        return told(Slot { merged: true, ..free(first_human, first + 1) }, notice);
    }
    let Some(first) = first_human else { return free(None, lead) };
    // No human message before it: it leads the history, or did once what stood before it goes.
    if let Some(notice) = &items[first].notice {
        return told(Slot { notice: Some(first), ..free(human_from(first + 1), first) }, notice);
    }
    match items.get(first + 1).and_then(|i| i.notice.as_ref()) {
        Some(notice) => told(Slot { notice: Some(first + 1), ..free(first_human, first + 1) }, notice),
        None => free(first_human, first + 1),
    }
}

/// A unit and why it stays.
struct Unit {
    items: Range<usize>,
    tokens: u64,
    /// System, template, first human message, pin, last human message, newest unit, pending call, or the notice itself.
    always: bool,
    done: bool,
    /// A single human message.
    human: bool,
    /// Our notice, or a filler that comes and goes: not kept, but made afresh where it is needed.
    ours: bool,
}

fn units<N: Node>(draft: &Draft<N>, slot: &Slot<N>) -> Vec<Unit> {
    let items = &draft.items;
    let human = |at: usize| Some(at) != slot.notice && draft.is_human(&items[at]);
    let last_human = (0..items.len()).rev().find(|&at| human(at));
    let ours = |at: usize| {
        Some(at) == slot.notice
            || (is_filler(&items[at]) && draft.format.filler_comes_and_goes(items[at].role) && !items[at].pinned)
    };
    let newest = (0..items.len()).rev().find(|&at| !ours(at));
    let stays = |at: usize| {
        let item = &items[at];
        let start = is_filler(item) && item.role == Role::User && !draft.format.filler_goes_with_calls();
        let kept_by_role = item.role == Role::System || item.template || item.pinned || start;
        kept_by_role || Some(at) == slot.first_human || Some(at) == last_human || Some(at) == newest
    };
    cuts::units(draft)
        .into_iter()
        .map(|range| Unit {
            tokens: range.clone().map(|at| draft.ledger.items()[at]).sum(),
            always: range.clone().any(stays),
            done: range.clone().any(|at| items[at].done),
            human: range.len() == 1 && human(range.start),
            ours: range.len() == 1 && ours(range.start),
            items: range,
        })
        .collect()
}

/// What one try decides: which units stay, and the notice.
struct Try {
    keep: Vec<bool>,
    notice: NewNotice,
    standing: Standing,
    /// Tokens of the notice's text.
    text_tokens: u64,
    total: u64,
}

/// How the notice stands in the history.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// As one more block of the first human message.
    Merged,
    /// As a message of its own.
    Message(Role),
}

impl Standing {
    /// Price of the notice beyond its text.
    const fn overhead(self) -> u64 {
        match self {
            Self::Merged => 0,
            Self::Message(_) => count::MESSAGE,
        }
    }
}

struct Pruner<'a, N> {
    draft: &'a Draft<N>,
    units: Vec<Unit>,
    slot: Slot<N>,
    settings: &'a Prune,
    limit: u64,
    /// Price of a user message that keeps the turn order.
    start: u64,
    /// No two user messages side by side.
    strict: bool,
    facts: OnceCell<Facts>,
}

impl<N: Node> Pruner<'_, N> {
    fn messages(&self) -> u64 {
        let ours: usize = self.units.iter().filter(|u| u.ours).map(|u| u.items.len()).sum();
        (self.draft.items.len() - ours) as u64 + self.slot.removed
    }
    fn core(&self, newest: usize) -> Vec<bool> {
        let mut core: Vec<bool> = self.units.iter().map(|u| u.always && !u.ours).collect();
        let mut left = newest;
        for (at, unit) in self.units.iter().enumerate().rev() {
            if left == 0 {
                break;
            }
            if !unit.ours {
                core[at] = true;
                left = left.saturating_sub(unit.items.len());
            }
        }
        core
    }
    /// How the notice stands when these units stay. Where user messages must not stand side by side, it takes the part of the assistant
    /// between two of them, and else it is merged into the first.
    fn standing(&self, keep: &[bool]) -> Standing {
        let items = &self.draft.items;
        let Some(first) = self.slot.first_human else { return Standing::Message(Role::User) };
        if !self.strict {
            return if self.slot.merged { Standing::Merged } else { Standing::Message(Role::User) };
        }
        let kept = self.units.iter().zip(keep).filter(|(unit, keep)| **keep && !unit.ours);
        let kept = kept.flat_map(|(unit, _)| unit.items.clone()).filter(|&at| items[at].role != Role::System);
        let leads = self.slot.notice.is_some_and(|at| at < first);
        if leads && kept.clone().next() != Some(first) {
            // It leads the history: what follows may not come first.
            return Standing::Message(Role::User);
        }
        let next = kept.clone().find(|&at| at > first);
        // Taken off the first message, a merged notice must leave something there.
        let bare = self.slot.merged && self.draft.parts_of(&items[first]).iter().all(|p| p.stub);
        match next.map(|at| items[at].role) {
            Some(Role::User) if !bare && !leads => Standing::Message(Role::Assistant),
            _ if !items[first].pinned => Standing::Merged,
            // It may not be changed: the notice comes behind it, in the part of the assistant.
            _ if !leads => Standing::Message(Role::Assistant),
            _ => Standing::Message(Role::User),
        }
    }
    /// The largest number of newest messages with which the core alone is within the limit.
    fn most_that_fit(&self) -> usize {
        let always: u64 = self.units.iter().filter(|u| u.always && !u.ours).map(|u| u.tokens).sum();
        let (mut sum, mut messages) = (self.draft.ledger.request() + always, 0);
        for unit in self.units.iter().rev().filter(|u| !u.ours) {
            sum += if unit.always { 0 } else { unit.tokens };
            if sum > self.limit {
                break;
            }
            messages += unit.items.len();
        }
        messages
    }
    fn sum(&self, keep: &[bool]) -> u64 {
        self.units.iter().zip(keep).filter(|(_, keep)| **keep).map(|(unit, _)| unit.tokens).sum()
    }
    /// Messages that go when these units stay.
    fn dropped(&self, keep: &[bool]) -> u64 {
        self.units.iter().zip(keep).filter(|(unit, keep)| !**keep && !unit.ours).map(|(unit, _)| unit.items.len() as u64).sum()
    }
    /// Tokens of the fillers that the turn order needs between units that stay.
    fn joints(&self, keep: &[bool], standing: Standing) -> u64 {
        let mut turns = Turns::new(self.draft.format, self.strict);
        let mut notice = match standing {
            Standing::Message(role) => Some(role),
            Standing::Merged => None,
        };
        let kept = self.units.iter().zip(keep).filter(|(unit, keep)| **keep && !unit.ours);
        let slot = notice_place(&self.slot, &self.draft.items, kept.clone().flat_map(|(unit, _)| unit.items.clone()));
        let mut joints = 0;
        for at in kept.flat_map(|(unit, _)| unit.items.clone()) {
            if slot.is_some_and(|slot| slot <= at)
                && let Some(role) = notice.take()
            {
                joints += u64::from(turns.before_notice(role).is_some());
            }
            joints += u64::from(turns.before_item(self.draft, &self.draft.items[at]).is_some());
        }
        if let Some(role) = notice {
            joints += u64::from(turns.before_notice(role).is_some());
        }
        joints * self.start
    }
    fn line(&self, dropped: u64) -> String {
        format!("[context compacted: {} earlier messages removed]", self.slot.removed + dropped)
    }
    /// One try with this many newest messages; `None` when nothing would go, or when it cannot fit and `must_fit`.
    fn attempt(&self, newest: usize, must_fit: bool, with_carry: bool, counter: &mut dyn Counter) -> Result<Option<Try>> {
        let failed = |_| Error::Counter { index: None };
        let mut keep = self.core(newest);
        let fixed = self.draft.ledger.request() + self.sum(&keep);
        let line_tokens = counter.count(&self.line(self.dropped(&keep))).map_err(failed)?;
        if must_fit && fixed + self.standing(&keep).overhead() + line_tokens > self.limit && self.dropped(&keep) > 0 {
            return Ok(None);
        }
        let bound = if with_carry { self.settings.carry_over.of(self.limit) } else { 0 };
        let reserve = count::MESSAGE + line_tokens + bound;
        let room = self.settings.target.of(self.limit).saturating_sub(fixed + reserve);
        self.fill(&mut keep, room);
        let dropped = self.dropped(&keep);
        if dropped == 0 {
            return Ok(None);
        }
        let mut text = self.line(dropped);
        let carry = if bound == 0 { None } else { self.carry(&keep, bound, counter)? };
        if let Some((body, _)) = &carry {
            text.push_str("\n\n");
            text.push_str(body);
        }
        let text_tokens = counter.count(&text).map_err(failed)?;
        let notice = NewNotice { removed: self.slot.removed + dropped, text, carry: carry.map(|(_, fields)| fields) };
        let standing = self.standing(&keep);
        let joints = self.joints(&keep, standing);
        let total = self.draft.ledger.request() + self.sum(&keep) + joints + standing.overhead() + text_tokens;
        Ok(Some(Try { keep, notice, standing, text_tokens, total }))
    }
    /// Keeps more while there is room: half of it for recent units, a quarter for older human messages.
    fn fill(&self, keep: &mut [bool], room: u64) {
        let mut recent = share(room, self.settings.recent_share);
        let mut verbatim = share(room, self.settings.verbatim_share);
        let middle: Vec<usize> =
            (0..keep.len()).rev().filter(|&at| !keep[at] && !self.units[at].ours && !self.units[at].done).collect();
        for &at in &middle {
            let Some(left) = recent.checked_sub(self.units[at].tokens) else { break };
            recent = left;
            keep[at] = true;
        }
        // Older messages of the user's would stand side by side.
        for &at in middle.iter().filter(|&&at| self.units[at].human && !self.strict) {
            if keep[at] {
                continue;
            }
            if let Some(left) = verbatim.checked_sub(self.units[at].tokens) {
                verbatim = left;
                keep[at] = true;
            }
        }
    }
    fn carry(&self, keep: &[bool], bound: u64, counter: &mut dyn Counter) -> Result<Option<(String, CarryOver)>> {
        let gone: Vec<usize> = self
            .units
            .iter()
            .zip(keep)
            .filter(|(unit, keep)| !**keep && !unit.ours)
            .flat_map(|(unit, _)| unit.items.clone())
            .collect();
        let facts = self.facts.get_or_init(|| Facts::read(self.draft));
        let clip = usize::try_from(bound).unwrap_or(usize::MAX).clamp(80, LONGEST_INSTRUCTION);
        let mut carry = facts.carry_over(self.draft, &gone, self.messages(), clip);
        if let Some(old) = self.slot.carry.as_ref().map(CarryOver::read) {
            carry = old.merge(carry, facts, self.draft);
        }
        carry.within(bound, counter).map_err(|_| Error::Counter { index: None })
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn share(room: u64, share: f64) -> u64 {
    (room as f64 * share).floor() as u64
}

/// Prunes when the fill is over the trigger; says whether it did.
///
/// # Errors
/// A counter that failed.
pub fn prune<N: Node>(draft: &mut Draft<N>, policy: &Policy, limit: u64, counter: &mut dyn Counter) -> Result<bool> {
    let before = draft.total();
    if before <= policy.prune.trigger.of(limit) && before <= limit {
        return Ok(false);
    }
    let slot = slot(draft);
    let pruner = Pruner {
        units: units(draft, &slot),
        draft,
        slot,
        settings: &policy.prune,
        limit,
        start: count::MESSAGE + counter.count(START).map_err(|_| Error::Counter { index: None })?,
        strict: policy.strict_alternation || draft.format.alternates(),
        facts: OnceCell::new(),
    };
    let mut newest = usize::try_from(pruner.messages() / 3).unwrap_or(usize::MAX).min(policy.prune.keep);
    let mut chosen = pruner.attempt(newest, false, true, counter)?;
    let most = pruner.most_that_fit();
    while chosen.as_ref().map_or(before, |t| t.total) > limit && newest > 0 {
        newest = (newest - 1).min(most);
        let next = pruner.attempt(newest, newest > 0, true, counter)?;
        chosen = next.or(chosen);
    }
    if chosen.as_ref().is_some_and(|t| t.total > limit || t.total >= before) {
        chosen = pruner.attempt(newest, false, false, counter)?.or(chosen);
    }
    let Some(chosen) = chosen.filter(|t| t.total < before) else { return Ok(false) };
    let ranges: Vec<(Range<usize>, bool)> =
        pruner.units.iter().zip(&chosen.keep).map(|(unit, keep)| (unit.items.clone(), *keep && !unit.ours)).collect();
    let (slot, start, strict) = (pruner.slot, pruner.start, pruner.strict);
    apply(draft, &slot, ranges, chosen, (before, start, strict));
    Ok(true)
}

fn apply<N: Node>(
    draft: &mut Draft<N>,
    slot: &Slot<N>,
    ranges: Vec<(Range<usize>, bool)>,
    chosen: Try,
    (before, start, strict): (u64, u64, bool),
) {
    let notice_tokens = chosen.text_tokens + chosen.standing.overhead();
    let reason = format!("the history filled {before} tokens; {} messages are gone in all", chosen.notice.removed).into();
    for (range, keep) in &ranges {
        for at in range.clone().filter(|_| !keep) {
            let edit = Edit {
                layer: Layer::Prune,
                kind: if Some(at) == slot.notice { "replace_notice" } else { "drop" },
                index: draft.items[at].source,
                part: None,
                before: draft.ledger.items()[at],
                after: 0,
                reason: Cow::Borrowed("middle of the history"),
            };
            draft.edits.push(edit);
        }
    }
    let edit = Edit { layer: Layer::Prune, kind: "notice", index: None, part: None, before: 0, after: notice_tokens, reason };
    draft.edits.push(edit);
    let old = std::mem::take(&mut draft.items);
    let mut keep = vec![false; old.len()];
    ranges.into_iter().filter(|(_, keep)| *keep).for_each(|(range, _)| keep[range].fill(true));
    let mut notice = Some(chosen.notice);
    let kept = (0..old.len()).filter(|&at| keep[at]);
    let slot_at = notice_place(slot, &old, kept);
    let mut turns = Turns::new(draft.format, strict);
    for (at, item) in old.into_iter().enumerate() {
        if slot_at.is_some_and(|slot| slot <= at)
            && let Standing::Message(role) = chosen.standing
            && let Some(notice) = notice.take()
        {
            push_filler(draft, turns.before_notice(role), start);
            push_notice(draft, role, notice, chosen.text_tokens);
        }
        if keep[at] {
            push_filler(draft, turns.before_item(draft, &item), start);
            draft.items.push(item);
            if Some(at) == slot.first_human && (slot.merged || chosen.standing == Standing::Merged) {
                let merged = if chosen.standing == Standing::Merged { notice.take() } else { None };
                merge_notice(draft, merged, chosen.text_tokens);
            }
        }
    }
    if let (Standing::Message(role), Some(notice)) = (chosen.standing, notice) {
        push_filler(draft, turns.before_notice(role), start);
        push_notice(draft, role, notice, chosen.text_tokens);
    }
    draft.recount();
}

/// The item before which the notice comes, when it is a message of its own: its slot, or without a human message behind the system
/// messages that lead what stays. `None` for the end.
fn notice_place<N>(slot: &Slot<N>, items: &[Item<N>], mut kept: impl Iterator<Item = usize>) -> Option<usize> {
    if slot.first_human.is_none() && slot.notice.is_none() {
        kept.find(|&at| items[at].role != Role::System)
    } else {
        Some(slot.at)
    }
}

/// A message that the turn order needs.
fn push_filler<N: Node>(draft: &mut Draft<N>, role: Option<Role>, tokens: u64) {
    let Some(role) = role else { return };
    let at = u32::try_from(draft.parts.len()).unwrap_or(u32::MAX);
    draft.parts.push(Part::new(PartKind::Text, Place::New, u32::MAX, None, tokens - count::MESSAGE));
    let item = Item { made: Some(Made::Start), ..Item::new(None, None, role, at..at + 1, count::MESSAGE) };
    draft.items.push(item);
    let reason = "what stays is not in the order of turns without it".into();
    draft.edits.push(Edit { layer: Layer::Prune, kind: "start", index: None, part: None, before: 0, after: tokens, reason });
}

fn push_notice<N: Node>(draft: &mut Draft<N>, role: Role, notice: NewNotice, tokens: u64) {
    let start = u32::try_from(draft.parts.len()).unwrap_or(u32::MAX);
    draft.parts.push(Part::new(PartKind::Text, Place::New, u32::MAX, None, tokens));
    let mut item = Item::new(None, None, role, start..start + 1, count::MESSAGE);
    item.made = Some(Made::Notice(Box::new(notice)));
    draft.items.push(item);
}

/// Puts the notice into the first human message, which stands last in the draft, in place of an older one; or only takes that off.
fn merge_notice<N: Node>(draft: &mut Draft<N>, notice: Option<NewNotice>, tokens: u64) {
    let at = draft.items.len() - 1;
    if draft.items[at].merged_notice.is_some() {
        let parts: Vec<Part<N>> = draft.parts_of(&draft.items[at]).iter().filter(|p| !p.stub).cloned().collect();
        draft.rearrange(at, parts);
    }
    if let Some(notice) = notice {
        draft.items[at].merged = Some(Box::new(notice));
        draft.items[at].overhead += tokens;
    }
}

/// The last rung: caps the results that remain, so that the history fits; says whether it changed anything.
///
/// # Errors
/// A counter that failed.
pub fn minimal<N: Node>(draft: &mut Draft<N>, limit: u64, counter: &mut dyn Counter) -> Result<bool> {
    if draft.total() <= limit {
        return Ok(false);
    }
    let marker = counter.count(crate::format::TRUNCATED).map_err(|_| Error::Counter { index: None })?;
    // Item, part, price, and the least that it can be cut to.
    let mut results = Vec::new();
    for (at, item) in draft.items.iter().enumerate().filter(|(_, item)| !item.pinned) {
        for part in item.range().filter(|&p| draft.parts[p].is_result()) {
            if let Some(fixed) = super::tool_results::beside_text(draft, part, counter)? {
                results.push((at, part, draft.parts[part].tokens, fixed + marker));
            }
        }
    }
    let sum = |cap: u64| results.iter().map(|&(_, _, tokens, least)| tokens.min(cap.max(least))).sum::<u64>();
    let rest = draft.total() - sum(u64::MAX);
    let (mut low, mut high) = (count::RESULT + marker, results.iter().map(|r| r.2).max().unwrap_or(0));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if rest + sum(middle) <= limit { low = middle } else { high = middle - 1 }
    }
    let mut changed = false;
    for &(item, part, tokens, least) in &results {
        let low = low.max(least);
        if tokens > low {
            changed |= super::tool_results::cap(draft, item, part, low, Layer::Minimal, counter)?;
        }
    }
    Ok(changed)
}

/// What cannot be given up, in tokens, by name.
#[must_use]
pub fn irreducible<N: Node>(draft: &Draft<N>) -> Vec<(&'static str, u64)> {
    let slot = slot(draft);
    let mut parts =
        [("request", draft.ledger.request()), ("system", 0), ("first_user", 0), ("pins", 0), ("current", 0), ("notice", 0)];
    for (at, item) in draft.items.iter().enumerate() {
        let name = match item {
            _ if matches!(item.made, Some(Made::Notice(_))) || Some(at) == slot.notice => 5,
            _ if item.role == Role::System || item.template => 1,
            _ if Some(at) == slot.first_human => 2,
            _ if item.pinned => 3,
            _ => 4,
        };
        parts[name].1 += draft.ledger.items()[at];
    }
    parts.into_iter().filter(|(_, tokens)| *tokens > 0).collect()
}
