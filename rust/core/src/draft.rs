//! The history while it is being decided on: items in order, their parts, and the log of edits.
//!
//! A draft starts as the items that were read. Layers change parts, drop items, rearrange them or add new ones, and say so in the
//! log. `total` is kept up to date by every edit, so that no layer counts again.

use crate::format::Format;
use crate::index::{Symbol, Symbols};
use crate::item::{Category, Change, Content, Item, Part, PartKind, Role};
use crate::ledger::Ledger;
use std::borrow::Cow;

/// Who made an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Repair, which runs first.
    Repair,
    /// Layer 1.
    ToolResults,
    /// Layer 2.
    Prune,
    /// The last rung before giving up.
    Minimal,
}

impl Layer {
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::ToolResults => "tool_results",
            Self::Prune => "prune",
            Self::Minimal => "minimal",
        }
    }
}

/// One edit, for people and machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The layer that made it.
    pub layer: Layer,
    /// What was done: `clear`, `truncate`, `drop`, `notice`, `stub`, ...
    pub kind: &'static str,
    /// The message (input index); `None` for a new one.
    pub index: Option<u32>,
    /// The part of the message, when it is about one.
    pub part: Option<u32>,
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
    /// Why.
    pub reason: Cow<'static, str>,
}

/// The history in the making.
#[derive(Clone, Debug)]
pub struct Draft<N> {
    /// The provider's shape.
    pub format: Format,
    /// Messages in order.
    pub items: Vec<Item<N>>,
    /// The arena of parts.
    pub parts: Vec<Part<N>>,
    /// Ids and tool names.
    pub symbols: Symbols,
    /// Tokens by category and message.
    pub ledger: Ledger,
    /// What was done.
    pub edits: Vec<Edit>,
    /// How many messages came in.
    pub came: usize,
}

impl<N: Clone> Draft<N> {
    /// An empty draft.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            items: Vec::new(),
            parts: Vec::new(),
            symbols: Symbols::default(),
            ledger: Ledger::default(),
            edits: Vec::new(),
            came: 0,
        }
    }
    /// Makes room for that many messages.
    pub fn reserve(&mut self, messages: usize) {
        self.items.reserve(messages);
        self.parts.reserve(messages + messages / 2);
        self.ledger.reserve(messages);
        self.symbols.reserve(messages / 2);
    }
    /// Tokens of the request as it stands.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ledger.total()
    }
    /// The parts of an item.
    #[must_use]
    pub fn parts_of(&self, item: &Item<N>) -> &[Part<N>] {
        &self.parts[item.range()]
    }
    /// Tokens of an item.
    #[must_use]
    pub fn tokens(&self, item: &Item<N>) -> u64 {
        item.overhead + self.parts_of(item).iter().map(|p| p.tokens).sum::<u64>()
    }
    /// The text of a symbol, empty for none.
    #[must_use]
    pub fn name(&self, symbol: Option<Symbol>) -> &str {
        symbol.map_or("", |s| self.symbols.text(s))
    }
    /// Gives a result new content at a new price, and logs it.
    pub fn set_content(
        &mut self,
        item: usize,
        part: usize,
        content: Content,
        tokens: u64,
        edit: (Layer, &'static str, Cow<'static, str>),
    ) {
        let before = self.parts[part].tokens;
        self.parts[part].change().content = Some(content);
        self.parts[part].tokens = tokens;
        let role = self.items[item].role;
        self.ledger.change(item, Category::of(PartKind::Result, role), before, tokens);
        let (layer, kind, reason) = edit;
        let at = part_number(&self.items[item], part);
        self.edits.push(Edit { layer, kind, index: self.items[item].source, part: at, before, after: tokens, reason });
    }
    /// Replaces the parts of an item by these.
    pub fn rearrange(&mut self, item: usize, parts: Vec<Part<N>>) {
        let start = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.parts.extend(parts);
        let end = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.items[item].parts = start..end;
        self.items[item].rearranged = true;
    }
    /// Counts the ledger afresh from the items.
    pub fn recount(&mut self) {
        let mut ledger = self.ledger.request_only();
        for item in &self.items {
            ledger.append(self.entry(item));
        }
        self.ledger = ledger;
    }
    /// The ledger's view of an item.
    pub(crate) fn entry(&self, item: &Item<N>) -> impl Iterator<Item = (Category, u64)> {
        let role = item.role;
        std::iter::once((Category::Overhead, item.overhead))
            .chain(self.parts_of(item).iter().map(move |p| (Category::of(p.kind, role), p.tokens)))
    }
    /// Whether the item says something that a human wrote.
    #[must_use]
    pub fn is_human(&self, item: &Item<N>) -> bool {
        item.role == Role::User && item.made.is_none() && !item.stub && {
            let parts = self.parts_of(item);
            parts.is_empty() || parts.iter().any(|p| !p.is_result())
        }
    }
    /// Whether the item holds a call of the client's tools.
    #[must_use]
    pub fn has_calls(&self, item: &Item<N>) -> bool {
        item.role == Role::Assistant && self.parts_of(item).iter().any(Part::is_call)
    }
    /// Whether the item is as it came.
    #[must_use]
    pub fn untouched(&self, item: &Item<N>) -> bool {
        item.source.is_some()
            && !item.rearranged
            && item.merged.is_none()
            && !item.lossy_name
            && !item.empty_list
            && self.parts_of(item).iter().all(|p| p.change.as_deref().is_none_or(|c| *c == Change::default()))
    }
}

fn part_number<N>(item: &Item<N>, part: usize) -> Option<u32> {
    u32::try_from(part).ok()?.checked_sub(item.parts.start)
}
