//! Puts results where the provider wants them, drops what answers nothing, and stubs what is not answered.

use super::matching::{Answer, Pairing};
use super::{log, unpinned};
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::item::{Item, Made, Part, Role};
use crate::node::Node;

/// Results that have a call, by the item of the call, in the order of their places.
fn by_owner<'a>(pairing: &'a Pairing, items: usize) -> Vec<Vec<&'a Answer>> {
    let mut owned: Vec<Vec<&'a Answer>> = vec![Vec::new(); items];
    for answer in &pairing.answers {
        if let Some(call) = answer.call {
            owned[pairing.calls[call].item].push(answer);
        }
    }
    owned.iter_mut().for_each(|answers| answers.sort_by_key(|a| a.place));
    owned
}

/// A stub for each call of an item that has no result, unless it is pending: in call order.
fn stubs<N: Node>(draft: &mut Draft<N>, pairing: &Pairing, item: usize, calls: &[usize], price: u64) -> Vec<Part<N>> {
    if pairing.pending == Some(item) {
        return Vec::new();
    }
    let mut stubs = Vec::new();
    for call in calls.iter().map(|&c| &pairing.calls[c]).filter(|c| c.result.is_none()) {
        let mut stub = draft.format.stub(price);
        stub.id = draft.parts[call.part].id;
        stub.name = draft.parts[call.part].name;
        stub.legacy = call.legacy;
        stubs.push(stub);
        log(
            draft,
            "stub",
            Some(item),
            Some(call.part - draft.items[item].range().start),
            (0, price),
            "the call was not answered",
        );
    }
    stubs
}

/// The calls of each item.
fn calls_of(pairing: &Pairing, items: usize) -> Vec<Vec<usize>> {
    let mut calls = vec![Vec::new(); items];
    for (at, call) in pairing.calls.iter().enumerate() {
        calls[call.item].push(at);
    }
    calls
}

/// Checks and logs the results that go.
fn drop_unclaimed<N: Node>(draft: &mut Draft<N>, pairing: &Pairing) -> Result<()> {
    for (answer, duplicate) in pairing.answers.iter().zip(&pairing.duplicate).filter(|(a, _)| a.call.is_none()) {
        let (kind, reason) = if *duplicate {
            ("drop_duplicate", "another result of this call stays")
        } else {
            ("drop_orphan", "no call for this result")
        };
        unpinned(draft, answer.item, "tool_call_id", reason)?;
        let at = answer.part - draft.items[answer.item].range().start;
        // In OpenAI chat the whole message goes; what is left of an Anthropic one is judged when it is rebuilt.
        let tokens = match draft.format {
            Format::OpenAiChat => draft.tokens(&draft.items[answer.item]),
            Format::Anthropic => draft.parts[answer.part].tokens,
        };
        log(draft, kind, Some(answer.item), Some(at), (tokens, 0), reason);
    }
    Ok(())
}

/// OpenAI chat: each result is a message of its own, directly behind its assistant message.
pub(super) fn openai_chat<N: Node>(draft: &mut Draft<N>, pairing: &Pairing, price: u64, counter: &mut dyn Counter) -> Result<()> {
    drop_unclaimed(draft, pairing)?;
    let count = draft.items.len();
    let (owned, calls) = (by_owner(pairing, count), calls_of(pairing, count));
    let mut order: Vec<Slot> = Vec::with_capacity(count);
    let mut moved = Vec::new();
    let mut expected = 0;
    for at in 0..count {
        if draft.items[at].role == Role::Tool {
            continue;
        }
        order.push(Slot::Old(at));
        for answer in &owned[at] {
            if answer.item < at || (expected.max(at + 1)..answer.item).any(|between| draft.items[between].role != Role::Tool) {
                moved.push(answer.item);
            }
            expected = expected.max(answer.item);
            order.push(Slot::Old(answer.item));
        }
        let logged = draft.edits.len();
        for (number, stub) in stubs(draft, pairing, at, &calls[at], price).into_iter().enumerate() {
            let name = if stub.legacy { count::NAME + counter.count(draft.name(stub.name)).map_err(failed)? } else { 0 };
            if let Some(edit) = draft.edits.get_mut(logged + number) {
                edit.after += count::MESSAGE + name;
            }
            order.push(Slot::New(draft.parts.len(), count::MESSAGE + name));
            draft.parts.push(stub);
        }
        expected = at + 1;
    }
    for item in moved {
        let tokens = draft.tokens(&draft.items[item]);
        log(draft, "move_result", Some(item), Some(0), (tokens, tokens), "it stands behind its call now");
    }
    let mut old: Vec<Option<Item<N>>> = std::mem::take(&mut draft.items).into_iter().map(Some).collect();
    draft.items = order
        .into_iter()
        .filter_map(|slot| match slot {
            Slot::Old(at) => old[at].take(),
            Slot::New(part, overhead) => Some(made(Role::Tool, part, overhead)),
        })
        .collect();
    Ok(())
}

enum Slot {
    Old(usize),
    /// A part that is a message of its own, and the price of that message beyond it.
    New(usize, u64),
}

fn failed(_: count::Failed) -> Error {
    Error::Counter { index: None }
}

fn made<N>(role: Role, part: usize, overhead: u64) -> Item<N> {
    let start = u32::try_from(part).unwrap_or(u32::MAX);
    let mut item = Item::new(None, None, role, start..start + 1, overhead);
    item.made = Some(Made::Results);
    item
}

/// A message while results move between messages.
struct Work {
    /// The message it was; `None` for a new one.
    item: Option<usize>,
    parts: Vec<usize>,
}

/// Anthropic: the results of an assistant message stand at the head of the next message.
pub(super) fn anthropic<N: Node>(draft: &mut Draft<N>, pairing: &Pairing, price: u64) -> Result<()> {
    drop_unclaimed(draft, pairing)?;
    let count = draft.items.len();
    let calls = calls_of(pairing, count);
    let mut works = works(draft, pairing);
    let mut owner = vec![usize::MAX; draft.parts.len()];
    for answer in &pairing.answers {
        if let Some(call) = answer.call {
            owner[answer.part] = pairing.calls[call].item;
        }
    }
    // Where each part is now, and the results of each assistant message in the order of the list.
    let mut home = vec![usize::MAX; draft.parts.len()];
    let mut owned = vec![Vec::new(); count];
    for (w, work) in works.iter().enumerate() {
        for &part in work.iter().flat_map(|w| &w.parts) {
            home[part] = w;
            if owner[part] != usize::MAX {
                owned[owner[part]].push(part);
            }
        }
    }
    let mut out: Vec<Work> = Vec::with_capacity(count);
    let mut placed = vec![usize::MAX; draft.parts.len()];
    for w in 0..works.len() {
        let Some(work) = works[w].take() else { continue };
        let rest: Vec<usize> = work.parts.iter().copied().filter(|&p| placed[p] == usize::MAX).collect();
        if rest.is_empty() && !work.parts.is_empty() {
            continue;
        }
        let item = work.item;
        out.push(Work { item, parts: rest });
        let Some(assistant) = item.filter(|&at| !calls[at].is_empty()) else { continue };
        let stubs = stubs(draft, pairing, assistant, &calls[assistant], price);
        let mine = std::mem::take(&mut owned[assistant]);
        if mine.is_empty() && stubs.is_empty() {
            continue;
        }
        let live = |work: &Work, placed: &[usize]| work.parts.is_empty() || work.parts.iter().any(|&p| placed[p] == usize::MAX);
        let next = (w + 1..works.len()).find(|&n| works[n].as_ref().is_some_and(|x| live(x, &placed)));
        let until = (w + 1..works.len())
            .find(|&n| works[n].as_ref().and_then(|x| x.item).is_some_and(|at| !calls[at].is_empty()))
            .unwrap_or(works.len());
        let first = mine.iter().map(|&p| home[p]).filter(|&h| h > w && h < until).min();
        let parts_at = |n: usize| -> Vec<usize> {
            works[n].iter().flat_map(|x| x.parts.iter().copied()).filter(|&p| placed[p] == usize::MAX).collect()
        };
        let chosen = first.filter(|&n| Some(n) == next || parts_at(n).iter().all(|p| owner[*p] == assistant));
        let mut parts: Vec<usize> = Vec::new();
        let mut rest = Vec::new();
        if let Some(n) = chosen {
            let all = parts_at(n);
            let head = all.iter().take_while(|&&p| owner[p] == assistant).count();
            if chosen == next {
                all[head..].iter().filter(|&&p| owner[p] == assistant).for_each(|&p| log_move(draft, p));
            }
            (parts, rest) = all.into_iter().partition(|&p| owner[p] == assistant);
        }
        // Its own message may have to come nearer, too.
        if chosen.is_some() && chosen != next {
            parts.iter().for_each(|&part| log_move(draft, part));
        }
        let elsewhere: Vec<usize> = mine.iter().copied().filter(|p| !parts.contains(p)).collect();
        for &part in &elsewhere {
            log_move(draft, part);
        }
        parts.extend(elsewhere);
        for stub in stubs {
            parts.push(draft.parts.len());
            draft.parts.push(stub);
            home.push(usize::MAX);
            owner.push(assistant);
            placed.push(usize::MAX);
        }
        parts.extend(rest);
        let here = out.len();
        parts.iter().for_each(|&p| placed[p] = here);
        let item = chosen.and_then(|n| works[n].take()).and_then(|x| x.item);
        out.push(Work { item, parts });
    }
    for (at, work) in out.iter_mut().enumerate() {
        work.parts.retain(|&p| placed[p] == usize::MAX || placed[p] == at);
    }
    rebuild(draft, out)
}

/// Every message with the parts that stay; a late result stands where the one it replaces stood. A message left with nothing goes.
fn works<N: Node>(draft: &Draft<N>, pairing: &Pairing) -> Vec<Option<Work>> {
    let mut instead = vec![usize::MAX; draft.parts.len()];
    for answer in &pairing.answers {
        match answer.call {
            Some(_) => instead[pairing.answers[answer.place].part] = answer.part,
            None if instead[answer.part] == usize::MAX => {}
            None => {}
        }
    }
    let is_answer: Vec<bool> = draft.parts.iter().map(Part::is_result).collect();
    draft
        .items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let parts: Vec<usize> = item
                .range()
                .filter_map(|p| if is_answer[p] { Some(instead[p]).filter(|&p| p != usize::MAX) } else { Some(p) })
                .collect();
            (!parts.is_empty() || item.range().is_empty()).then_some(Work { item: Some(at), parts })
        })
        .collect()
}

fn log_move<N: Node>(draft: &mut Draft<N>, part: usize) {
    let source = draft.parts[part].source;
    // Nothing has moved yet: an item still stands at its place in the input.
    let item = usize::try_from(source).ok().filter(|&at| at < draft.items.len());
    let at = item.and_then(|at| part.checked_sub(draft.items[at].range().start));
    let tokens = draft.parts[part].tokens;
    log(draft, "move_result", item, at, (tokens, tokens), "it stands behind its call now");
}

fn rebuild<N: Node>(draft: &mut Draft<N>, out: Vec<Work>) -> Result<()> {
    let mut kept = vec![false; draft.items.len()];
    let mut order = Vec::with_capacity(out.len());
    for work in out {
        let Some(at) = work.item else {
            if !work.parts.is_empty() {
                order.push((None, Some(work.parts)));
            }
            continue;
        };
        let same = draft.items[at].range().eq(work.parts.iter().copied());
        if !same {
            unpinned(draft, at, "content", "its tool results have to move")?;
            if work.parts.is_empty() {
                continue;
            }
        }
        kept[at] = true;
        order.push((Some(at), (!same).then_some(work.parts)));
    }
    for at in (0..kept.len()).filter(|&at| !kept[at]) {
        unpinned(draft, at, "content", "nothing of it stays")?;
        let overhead = draft.items[at].overhead;
        log(draft, "drop_empty", Some(at), None, (overhead, 0), "nothing of it stays");
    }
    for _ in order.iter().filter(|(at, _)| at.is_none()) {
        log(draft, "results_message", None, None, (0, count::MESSAGE), "the results of a call need a message of their own");
    }
    let mut old: Vec<Option<Item<N>>> = std::mem::take(&mut draft.items).into_iter().map(Some).collect();
    for (at, parts) in order {
        let item = match at {
            Some(at) => old[at].take(),
            None => Some(Item { made: Some(Made::Results), ..Item::new(None, None, Role::User, 0..0, count::MESSAGE) }),
        };
        draft.items.extend(item);
        if let Some(parts) = parts {
            let parts = parts.into_iter().map(|p| draft.parts[p].clone()).collect();
            draft.rearrange(draft.items.len() - 1, parts);
        }
    }
    Ok(())
}
