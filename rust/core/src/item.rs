//! What a message is to the engine: an [`Item`] with [`Part`]s in one flat arena.
//!
//! Parts are small records beside the user's objects: they say what stands where and what it costs, and hold a handle to the
//! block, never a copy of its text.

use crate::index::Symbol;
use std::borrow::Cow;
use std::ops::Range;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// System or developer.
    System,
    /// The user; in Anthropic's shape also the carrier of tool results.
    User,
    /// The model.
    Assistant,
    /// A message that is one tool result (OpenAI chat).
    Tool,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Plain text.
    Text,
    /// Readable or signed reasoning.
    Thinking,
    /// Reasoning that nobody but the provider can read.
    RedactedThinking,
    /// A call of a tool of the client's.
    Call,
    /// The result of such a call.
    Result,
    /// An image.
    Image,
    /// A sound.
    Audio,
    /// A document.
    Document,
    /// Anything this version does not know: passed through untouched.
    Opaque,
}

/// Where in its message a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole `content` of the message.
    Content,
    /// A block of the content list.
    Block(u32),
    /// An entry of `tool_calls`.
    ToolCall(u32),
    /// A field of the message: the legacy `function_call`, `refusal` or readable reasoning.
    Field(crate::node::Key),
    /// Nowhere yet: the part is ours.
    New,
}

/// What a part costs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Category {
    System,
    Tools,
    User,
    Assistant,
    Thinking,
    ToolCalls,
    ToolResults,
    Images,
    Overhead,
}

impl Category {
    /// All categories, in the order they are shown.
    pub const ALL: [Self; 9] = [
        Self::System,
        Self::Tools,
        Self::User,
        Self::Assistant,
        Self::Thinking,
        Self::ToolCalls,
        Self::ToolResults,
        Self::Images,
        Self::Overhead,
    ];
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::ToolCalls => "tool_calls",
            Self::ToolResults => "tool_results",
            Self::Images => "images",
            Self::Overhead => "overhead",
        }
    }
    /// The category of a part in a message of this role.
    #[must_use]
    pub const fn of(kind: PartKind, role: Role) -> Self {
        match kind {
            PartKind::Thinking | PartKind::RedactedThinking => Self::Thinking,
            PartKind::Call => Self::ToolCalls,
            PartKind::Result => Self::ToolResults,
            PartKind::Image => Self::Images,
            PartKind::Text | PartKind::Audio | PartKind::Document | PartKind::Opaque => match role {
                Role::System => Self::System,
                Role::User => Self::User,
                Role::Assistant => Self::Assistant,
                Role::Tool => Self::ToolResults,
            },
        }
    }
}

/// One block of a result that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockCut {
    /// The text of this block is now that.
    Text(u32, String),
    /// This block is gone.
    Gone(u32),
}

impl BlockCut {
    /// The block that it is about.
    #[must_use]
    pub const fn block(&self) -> u32 {
        match self {
            Self::Text(block, _) | Self::Gone(block) => *block,
        }
    }
}

/// The new content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it is replaced by this text.
    Whole(Cow<'static, str>),
    /// Some of its blocks are changed.
    Blocks(Vec<BlockCut>),
}

/// What is changed in a part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// A text part's text, a call's argument string or a call's name must be rewritten without lone surrogates.
    pub sendable: bool,
    /// A new id.
    pub id: bool,
    /// New result content.
    pub content: Option<Content>,
    /// `cache_control` is taken off.
    pub uncache: bool,
    /// `cache_control` is put on, copied from that part of the arena.
    pub cache_from: Option<u32>,
}

/// A piece of an item.
#[derive(Clone, Debug)]
pub struct Part<N> {
    /// What it is.
    pub kind: PartKind,
    /// Where it came from in its message.
    pub place: Place,
    /// The message it came from (input index).
    pub source: u32,
    /// The block, or the content string. `None` for a part of ours and for missing content.
    pub node: Option<N>,
    /// The id of a call, or the id that a result answers; `None` when missing or empty.
    pub id: Option<Symbol>,
    /// The tool's name (calls).
    pub name: Option<Symbol>,
    /// Price.
    pub tokens: u64,
    /// The legacy `function_call`, or its answer: no ids, matched by place alone.
    pub legacy: bool,
    /// `is_error` of a result.
    pub is_error: bool,
    /// A stub of ours.
    pub stub: bool,
    /// Text that is empty or white space only; a result whose content is empty.
    pub blank: bool,
    /// Holds a lone surrogate.
    pub lossy: bool,
    /// Carries `cache_control`.
    pub cached: bool,
    /// What is changed.
    pub change: Option<Box<Change>>,
}

impl<N> Part<N> {
    /// A part as it came.
    pub const fn new(kind: PartKind, place: Place, source: u32, node: Option<N>, tokens: u64) -> Self {
        Self {
            kind,
            place,
            source,
            node,
            id: None,
            name: None,
            tokens,
            legacy: false,
            is_error: false,
            stub: false,
            blank: false,
            lossy: false,
            cached: false,
            change: None,
        }
    }
    /// The change record, made when first needed.
    pub fn change(&mut self) -> &mut Change {
        self.change.get_or_insert_default()
    }
    /// Whether this is a result.
    #[must_use]
    pub fn is_result(&self) -> bool {
        self.kind == PartKind::Result
    }
    /// Whether this is a call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        self.kind == PartKind::Call
    }
    /// Whether result content was already cut or replaced.
    #[must_use]
    pub fn content_changed(&self) -> bool {
        self.change.as_ref().is_some_and(|c| c.content.is_some())
    }
}

/// A notice of ours: what stands in its mark, or what will.
#[derive(Clone, Debug)]
pub struct Notice<N> {
    /// Messages removed so far.
    pub removed: u64,
    /// The carry-over fields of a notice that came in.
    pub carry: Option<N>,
}

/// The text and fields of a notice that the plan makes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNotice {
    /// Messages removed in all.
    pub removed: u64,
    /// The whole text.
    pub text: String,
    /// The carry-over fields for the mark.
    pub carry: Option<crate::carryover::CarryOver>,
}

/// What a message that the plan makes is.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// The notice of a pruned middle; the role is the item's.
    Notice(Box<NewNotice>),
    /// A result message with stubs or moved results (its parts say which).
    Results,
    /// `[conversation continues]` before a leading assistant message.
    Start,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Item<N> {
    /// The message it is (input index); `None` for one that the plan makes.
    pub source: Option<u32>,
    /// The message object.
    pub node: Option<N>,
    /// Who speaks.
    pub role: Role,
    /// Its parts, in the arena.
    pub parts: Range<u32>,
    /// Price beyond its parts.
    pub overhead: u64,
    /// `_pin`.
    pub pinned: bool,
    /// `_category` is `template`.
    pub template: bool,
    /// `_done`.
    pub done: bool,
    /// Carries our notice mark (whether it stands in the slot is decided later).
    pub notice: Option<Box<Notice<N>>>,
    /// A notice that an earlier pass merged into this message, and the part it is.
    pub merged_notice: Option<Box<Notice<N>>>,
    /// A message of ours that says nothing (`_lithify.kind` is `stub`).
    pub stub: bool,
    /// `content` is an empty list, which no provider takes.
    pub empty_list: bool,
    /// `name` holds a lone surrogate.
    pub lossy_name: bool,
    /// Its parts are not those it came with, or not in that order.
    pub rearranged: bool,
    /// What the plan makes, for a new message.
    pub made: Option<Made>,
    /// A notice merged into this message as one more block (strict alternation).
    pub merged: Option<Box<NewNotice>>,
}

impl<N> Item<N> {
    /// An item as it came.
    pub const fn new(source: Option<u32>, node: Option<N>, role: Role, parts: Range<u32>, overhead: u64) -> Self {
        Self {
            source,
            node,
            role,
            parts,
            overhead,
            pinned: false,
            template: false,
            done: false,
            notice: None,
            merged_notice: None,
            stub: false,
            empty_list: false,
            lossy_name: false,
            rearranged: false,
            made: None,
            merged: None,
        }
    }
    /// Indices of its parts.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.parts.start as usize..self.parts.end as usize
    }
}
