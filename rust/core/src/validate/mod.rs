//! What the provider would refuse, as coded violations. Written apart from the repair, so that one checks the other.
//!
//! One pass over the items and no string is looked at: ids are symbols. A call that is still open at the live end of the history is
//! no violation: its result may be on the way.

mod anthropic;
mod openai_chat;

use crate::draft::Draft;
use crate::format::Format;
use crate::item::Item;
use crate::node::Node;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub code: &'static str,
    /// The message at fault.
    pub index: usize,
    /// Its part at fault, when it is one.
    pub part: Option<u32>,
    /// A sentence for people.
    pub message: String,
}

/// All violations, in the order of the history.
#[must_use]
pub fn validate<N: Node>(draft: &Draft<N>) -> Vec<Violation> {
    let mut check = Check { draft, seen: vec![false; draft.symbols.len()], found: Vec::new() };
    for (index, item) in draft.items.iter().enumerate() {
        check.texts(index, item);
        check.ids(index, item);
    }
    match draft.format {
        Format::OpenAiChat => openai_chat::check(&mut check),
        Format::Anthropic => anthropic::check(&mut check),
    }
    let mut found = check.found;
    found.sort_by_key(|v| v.index);
    found
}

struct Check<'a, N> {
    draft: &'a Draft<N>,
    /// Call ids seen so far, by symbol.
    seen: Vec<bool>,
    found: Vec<Violation>,
}

impl<N: Node> Check<'_, N> {
    fn add(&mut self, code: &'static str, index: usize, part: Option<usize>, message: impl Into<String>) {
        let part = part.and_then(|p| u32::try_from(p).ok());
        self.found.push(Violation { code, index, part, message: message.into() });
    }
    /// Lone surrogates: no provider takes text that is not Unicode.
    fn texts(&mut self, index: usize, item: &Item<N>) {
        let lossy = self.draft.parts_of(item).iter().position(|p| p.lossy);
        if lossy.is_some() || item.lossy_name {
            self.add("lone_surrogate", index, lossy, "a text holds a lone surrogate, which cannot be sent as UTF-8");
        }
    }
    /// Call ids: present, and unique in the whole request.
    fn ids(&mut self, index: usize, item: &Item<N>) {
        for (at, part) in self.draft.parts_of(item).iter().enumerate().filter(|(_, p)| p.is_call()) {
            match part.id {
                Some(id) if std::mem::replace(&mut self.seen[id.0 as usize], true) => {
                    let id = self.draft.name(Some(id));
                    self.add("duplicate_call_id", index, Some(at), format!("the call id {id:?} was used before"));
                }
                Some(_) => {}
                None if part.legacy => {}
                None => self.add("missing_id", index, Some(at), "a tool call has no id"),
            }
        }
    }
}
