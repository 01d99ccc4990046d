//! What all readers share: typed errors for wrong shapes, counted text, the flags on a message.

use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::item::{Category, Item, Notice, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};

/// One message being read.
pub(super) struct Reader<'a, N> {
    pub index: usize,
    pub draft: &'a mut Draft<N>,
    pub counter: &'a mut dyn Counter,
    pub start: u32,
}

/// A text and what was seen while counting it.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    pub tokens: u64,
    pub lossy: bool,
    pub blank: bool,
}

/// The keys of our own that any message may carry.
pub(super) struct Flags<N> {
    pinned: bool,
    template: bool,
    done: bool,
    mark: Option<N>,
    /// A flag that is neither true nor false: taken for false, it would lose what the caller wants to keep.
    wrong: Option<(Key, N)>,
}

impl<N> Default for Flags<N> {
    fn default() -> Self {
        Self { pinned: false, template: false, done: false, mark: None, wrong: None }
    }
}

impl<N: Node> Flags<N> {
    /// Takes a key of ours; says whether it was one.
    pub fn take(&mut self, key: Key, value: &N) {
        if matches!(key, Key::Pin | Key::Done) && !matches!(value.kind(), Kind::Bool | Kind::Null) {
            self.wrong = Some((key, value.clone()));
        }
        match key {
            Key::Pin => self.pinned = value.is_true(),
            Key::Category => self.template = value.is_text("template"),
            Key::Done => self.done = value.is_true(),
            Key::Mark => self.mark = Some(value.clone()),
            _ => {}
        }
    }
    fn apply(self, item: &mut Item<N>) {
        item.pinned = self.pinned;
        item.template = self.template;
        item.done = self.done;
        let Some(mark) = self.mark else { return };
        item.stub = is_stub(&mark);
        if matches!(item.role, Role::User | Role::Assistant) && is_notice(&mark) {
            let removed = mark.get(Key::Removed).and_then(|r| r.as_u64()).unwrap_or(0);
            item.notice = Some(Box::new(Notice { removed, carry: mark.get(Key::Carry) }));
        }
    }
}

/// The notice that a text block is, when an earlier pass merged one into this message.
pub(super) fn merged_notice<N: Node>(block: &N) -> Option<Box<Notice<N>>> {
    let mark = block.get(Key::Mark)?;
    is_notice(&mark).then(|| {
        let removed = mark.get(Key::Removed).and_then(|r| r.as_u64()).unwrap_or(0);
        Box::new(Notice { removed, carry: mark.get(Key::Carry) })
    })
}

/// Whether a mark says that this is a notice of ours; a summary is a notice with more text.
fn is_notice<N: Node>(mark: &N) -> bool {
    mark.get(Key::MarkKind).is_some_and(|k| k.is_text("notice") || k.is_text("summary"))
}

/// Whether a mark says that this is a stub of ours.
pub(super) fn is_stub<N: Node>(mark: &N) -> bool {
    mark.get(Key::MarkKind).is_some_and(|k| k.is_text("stub"))
}

impl<'a, N: Node> Reader<'a, N> {
    pub fn new(index: usize, draft: &'a mut Draft<N>, counter: &'a mut dyn Counter) -> Self {
        let start = number(draft.parts.len());
        Self { index, draft, counter, start }
    }
    pub fn source(&self) -> u32 {
        number(self.index)
    }
    pub fn invalid(&self, field: impl Into<String>, expected: &str, got: &N, remedy: &'static str) -> Error {
        Error::invalid(self.index, field, expected, describe(got), remedy)
    }
    pub fn failed(&self) -> Error {
        Error::Counter { index: Some(self.index) }
    }
    /// Counts a string node; `None` when it is no string.
    pub fn counted(&mut self, node: &N) -> Result<Option<Counted>> {
        let counter = &mut *self.counter;
        let counted = node.text(|text| {
            let blank = text.str.trim_ascii_start().is_empty() || text.str.trim().is_empty();
            counter.count(text.str).map(|tokens| Counted { tokens, lossy: text.lossy, blank })
        });
        match counted {
            None => Ok(None),
            Some(Ok(counted)) => Ok(Some(counted)),
            Some(Err(_)) => Err(self.failed()),
        }
    }
    fn excess(&self, node: &N) -> Error {
        Error::invalid(self.index, "content", EXPECTED_SIZE, format!("{} beyond that", node.type_name()), EXCESS_REMEDY)
    }
    /// Counts a node as compact JSON.
    pub fn json(&mut self, node: &N) -> Result<Counted> {
        let counted = count::json(node, self.counter).map_err(|_| self.failed())?;
        let (tokens, lossy) = counted.ok_or_else(|| self.excess(node))?;
        Ok(Counted { tokens, lossy, blank: false })
    }
    /// A symbol for a string; `None` for an empty one and for anything else.
    pub fn symbol(&mut self, node: Option<&N>) -> (Option<crate::index::Symbol>, bool) {
        let symbols = &mut self.draft.symbols;
        node.and_then(|n| n.text(|t| ((!t.str.is_empty()).then(|| symbols.intern(t.str)), t.lossy))).unwrap_or((None, false))
    }
    /// Appends a text part.
    pub fn push_text(&mut self, kind: PartKind, place: Place, node: &N, counted: Counted) -> &mut Part<N> {
        let mut part = Part::new(kind, place, self.source(), Some(node.clone()), counted.tokens);
        part.lossy = counted.lossy;
        part.blank = counted.blank;
        self.push(part)
    }
    pub fn push(&mut self, part: Part<N>) -> &mut Part<N> {
        let at = self.draft.parts.len();
        self.draft.parts.push(part);
        &mut self.draft.parts[at]
    }
    /// Reads the blocks inside a result with `read`, and folds the parts they give into one price: a result is one part.
    pub fn nested(&mut self, blocks: &N, mut read: impl FnMut(&mut Self, u32, &N) -> Result<()>) -> Result<Counted> {
        let before = self.draft.parts.len();
        blocks.try_elements(|at, block| read(self, at, block))?;
        let parts = self.draft.parts.drain(before..);
        Ok(parts.fold(Counted { tokens: 0, lossy: false, blank: true }, |sum, part| Counted {
            tokens: sum.tokens + part.tokens,
            lossy: sum.lossy | part.lossy,
            blank: false,
        }))
    }
    /// Appends a call, priced by its name and arguments.
    pub fn push_call(
        &mut self,
        place: Place,
        node: &N,
        id: Option<&N>,
        name: Option<&N>,
        args: Option<&N>,
    ) -> Result<&mut Part<N>> {
        let mut tokens = count::CALL;
        let mut lossy = false;
        if let Some(name) = name
            && let Some(counted) = self.counted(name)?
        {
            tokens += counted.tokens;
            lossy = counted.lossy;
        }
        if let Some(args) = args.filter(|args| args.kind() != Kind::Null) {
            tokens += match self.counted(args)? {
                Some(counted) => {
                    lossy |= counted.lossy;
                    counted.tokens
                }
                None => {
                    let counted = self.json(args)?;
                    lossy |= counted.lossy;
                    counted.tokens
                }
            };
        }
        let (id, lossy_id) = self.symbol(id);
        let (name, _) = self.symbol(name);
        let mut part = Part::new(PartKind::Call, place, self.source(), Some(node.clone()), tokens);
        part.id = id;
        part.name = name;
        part.lossy = lossy || lossy_id;
        Ok(self.push(part))
    }
    /// Appends an unknown block, priced by its JSON.
    pub fn push_opaque(&mut self, place: Place, node: &N) -> Result<()> {
        let image = self.draft.format.image();
        let tokens = count::opaque(node, image, self.counter).map_err(|_| self.failed())?;
        let tokens = tokens.ok_or_else(|| self.excess(node))?;
        let part = Part::new(PartKind::Opaque, place, self.source(), Some(node.clone()), tokens);
        self.push(part);
        Ok(())
    }
    /// Finishes the message: its item goes into the draft, its price into the ledger.
    pub fn finish(self, message: &N, role: Role, overhead: u64, flags: Flags<N>) -> Result<&'a mut Item<N>> {
        if let Some((key, value)) = &flags.wrong {
            return Err(self.invalid(key.as_str(), "True or False", value, "set it to True, or leave it out"));
        }
        let end = number(self.draft.parts.len());
        let mut item = Item::new(Some(number(self.index)), Some(message.clone()), role, self.start..end, overhead);
        flags.apply(&mut item);
        let entry = std::iter::once((Category::Overhead, overhead))
            .chain(self.draft.parts[self.start as usize..].iter().map(move |p| (Category::of(p.kind, role), p.tokens)));
        self.draft.ledger.append(entry);
        let at = self.draft.items.len();
        self.draft.items.push(item);
        Ok(&mut self.draft.items[at])
    }
}

/// What a value has to be that is sent as JSON.
pub(crate) const EXPECTED_SIZE: &str = "values nested at most 200 deep, at most 4,000,000 in all";
pub(crate) const EXCESS_REMEDY: &str = "a value that contains itself cannot be sent: pass plain data";

/// A short description of a value, never its content beyond a few characters.
pub(super) fn describe<N: Node>(node: &N) -> String {
    match node.kind() {
        Kind::Null => "nothing".to_owned(),
        Kind::Text => node.text(|t| format!("the string {:?}", t.str.chars().take(40).collect::<String>())).unwrap_or_default(),
        Kind::Bool | Kind::Number | Kind::List | Kind::Map | Kind::Other => node.type_name(),
    }
}

pub(super) fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The role of a message, by the names that `known` takes; `expected` and `remedy` are for the error.
pub(super) fn role<N: Node>(
    index: usize,
    node: Option<&N>,
    known: impl Fn(&str) -> Option<Role>,
    expected: &str,
    remedy: &'static str,
) -> Result<Role> {
    const MISSING: &str = "give every message a `role`";
    let Some(node) = node else {
        return Err(Error::invalid(index, "role", "a string", "nothing", MISSING));
    };
    match node.text(|t| known(t.str).ok_or_else(|| format!("{:?}", t.str.chars().take(40).collect::<String>()))) {
        Some(Ok(role)) => Ok(role),
        Some(Err(got)) => Err(Error::invalid(index, "role", expected, got, remedy)),
        None => Err(Error::invalid(index, "role", "a string", describe(node), MISSING)),
    }
}
