//! Which result belongs to which call: near by position, then later, then earlier; then duplicates, orphans, and who is pending.

use crate::draft::Draft;
use crate::index::Symbol;
use crate::node::Node;
use std::collections::{BTreeMap, VecDeque};

/// A call.
pub(super) struct Call {
    pub item: usize,
    pub part: usize,
    /// The id as it came.
    pub id: Option<Symbol>,
    pub legacy: bool,
    /// Its result.
    pub result: Option<usize>,
}

/// A result.
pub(super) struct Answer {
    pub item: usize,
    pub part: usize,
    pub id: Option<Symbol>,
    pub legacy: bool,
    pub stub: bool,
    pub call: Option<usize>,
    /// The result in whose place it goes: a late one takes the place of the one it replaces.
    pub place: usize,
}

/// All calls and results, matched. Results without a call go.
pub(super) struct Pairing {
    pub calls: Vec<Call>,
    pub answers: Vec<Answer>,
    /// Why each result without a call goes.
    pub duplicate: Vec<bool>,
    /// The item whose open calls are pending at the live end.
    pub pending: Option<usize>,
}

pub(super) fn pair<N: Node>(draft: &Draft<N>) -> Pairing {
    let (mut calls, mut answers) = (Vec::new(), Vec::new());
    for (item, i) in draft.items.iter().enumerate() {
        for part in i.range() {
            let p = &draft.parts[part];
            if p.is_call() {
                calls.push(Call { item, part, id: p.id, legacy: p.legacy, result: None });
            } else if p.is_result() {
                answers.push(Answer { item, part, id: p.id, legacy: p.legacy, stub: p.stub, call: None, place: answers.len() });
            }
        }
    }
    let mut pairing = Pairing { duplicate: vec![false; answers.len()], calls, answers, pending: None };
    let ends = pairing.near();
    let by_id = pairing.by_id();
    pairing.later(&ends, &by_id);
    pairing.earlier(&by_id);
    pairing.duplicates(&by_id);
    pairing.pending = pending(draft, &pairing);
    pairing
}

/// Calls and results of each id, in order.
type ById = BTreeMap<Symbol, (Vec<usize>, Vec<usize>)>;

impl Pairing {
    fn claim(&mut self, call: usize, answer: usize) {
        self.calls[call].result = Some(answer);
        self.answers[answer].call = Some(call);
    }
    fn by_id(&self) -> ById {
        let mut by_id = ById::new();
        for (at, call) in self.calls.iter().enumerate() {
            if let Some(id) = call.id {
                by_id.entry(id).or_default().0.push(at);
            }
        }
        for (at, answer) in self.answers.iter().enumerate() {
            if let Some(id) = answer.id {
                by_id.entry(id).or_default().1.push(at);
            }
        }
        by_id
    }
    /// Results between a call's item and the next item with calls. Gives, for each call, where that stretch ends.
    fn near(&mut self) -> Vec<usize> {
        let mut ends = vec![usize::MAX; self.calls.len()];
        let mut answer = 0;
        let mut start = 0;
        while start < self.calls.len() {
            let item = self.calls[start].item;
            let stop = start + self.calls[start..].iter().take_while(|c| c.item == item).count();
            let end = self.calls.get(stop).map_or(usize::MAX, |c| c.item);
            ends[start..stop].fill(end);
            while self.answers.get(answer).is_some_and(|a| a.item <= item) {
                answer += 1;
            }
            let first = answer;
            while self.answers.get(answer).is_some_and(|a| a.item < end) {
                answer += 1;
            }
            let mut open: BTreeMap<Symbol, VecDeque<usize>> = BTreeMap::new();
            for call in start..stop {
                if let Some(id) = self.calls[call].id {
                    open.entry(id).or_default().push_back(call);
                }
            }
            for a in first..answer {
                if let Some(call) = self.answers[a].id.and_then(|id| open.get_mut(&id)?.pop_front()) {
                    self.claim(call, a);
                }
            }
            for legacy in [false, true] {
                let mut unmatched = start;
                for a in first..answer {
                    if self.answers[a].id.is_some() || self.answers[a].legacy != legacy {
                        continue;
                    }
                    let free = |call: &Call| call.result.is_none() && call.legacy == legacy;
                    while unmatched < stop && !free(&self.calls[unmatched]) {
                        unmatched += 1;
                    }
                    if unmatched < stop {
                        self.claim(unmatched, a);
                    }
                }
            }
            start = stop;
        }
        ends
    }
    /// For a call without a result: the first free one of its id after the near stretch, before the id is called again.
    fn later(&mut self, ends: &[usize], by_id: &ById) {
        for (calls, answers) in by_id.values() {
            for &call in calls {
                if self.calls[call].result.is_some() {
                    continue;
                }
                let item = self.calls[call].item;
                let next = calls.partition_point(|&c| self.calls[c].item <= item);
                let until = calls.get(next).map_or(usize::MAX, |&c| self.calls[c].item);
                let from = answers.partition_point(|&a| self.answers[a].item < ends[call]);
                let free = answers[from..].iter().copied().take_while(|&a| self.answers[a].item < until);
                if let Some(answer) = free.into_iter().find(|&a| self.answers[a].call.is_none()) {
                    self.claim(call, answer);
                }
            }
        }
    }
    /// Else the last free one before the call.
    fn earlier(&mut self, by_id: &ById) {
        for (calls, answers) in by_id.values() {
            // Free results before the call, the last on top: each is looked at once.
            let mut free = Vec::new();
            let mut next = 0;
            for &call in calls {
                while next < answers.len() && self.answers[answers[next]].item < self.calls[call].item {
                    if self.answers[answers[next]].call.is_none() {
                        free.push(answers[next]);
                    }
                    next += 1;
                }
                if self.calls[call].result.is_none()
                    && let Some(answer) = free.pop()
                {
                    self.claim(call, answer);
                }
            }
        }
    }
    /// Free results of a call that has one: the last that is no stub takes over; so a real result wins over a stub, a final one over an interim
    /// one.
    fn duplicates(&mut self, by_id: &ById) {
        for (calls, answers) in by_id.values() {
            for &answer in answers {
                if self.answers[answer].call.is_some() {
                    continue;
                }
                let before = calls.partition_point(|&c| self.calls[c].item < self.answers[answer].item);
                let Some(&call) = calls[..before].last() else { continue };
                self.duplicate[answer] = true;
                if self.answers[answer].stub {
                    continue;
                }
                if let Some(standing) = self.calls[call].result {
                    self.answers[standing].call = None;
                    self.duplicate[standing] = true;
                    self.answers[answer].place = self.answers[standing].place;
                }
                self.duplicate[answer] = false;
                self.claim(call, answer);
            }
        }
    }
}

/// The item whose calls are open at the live end: behind it stand only results of its own.
fn pending<N: Node>(draft: &Draft<N>, pairing: &Pairing) -> Option<usize> {
    // A late result stands where the one it replaces stood; one without a call is gone.
    let mut owner_of = vec![None; draft.parts.len()];
    for answer in &pairing.answers {
        if let Some(call) = answer.call {
            owner_of[pairing.answers[answer.place].part] = Some(pairing.calls[call].item);
        }
    }
    let mut owner = None;
    for (at, item) in draft.items.iter().enumerate().rev() {
        if draft.has_calls(item) {
            return (owner.is_none() || owner == Some(at)).then_some(at);
        }
        let parts = draft.parts_of(item);
        if parts.is_empty() || !parts.iter().all(crate::item::Part::is_result) {
            return None;
        }
        // A message of which nothing stays is passed over.
        for this in item.range().filter_map(|part| owner_of[part]) {
            if *owner.get_or_insert(this) != this {
                return None;
            }
        }
    }
    None
}
