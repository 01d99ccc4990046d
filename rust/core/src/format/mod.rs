//! Readers and builders, one file per provider's shape, written once over [`Node`].

mod anthropic;
mod building;
mod detect;
mod openai_chat;
mod reading;

pub use detect::detect;
pub(crate) use reading::{EXCESS_REMEDY, EXPECTED_SIZE};

use building::{content_pieces, mark, marked, notice, result_content, sendable_block, sendable_content, with_notice};

use crate::build::Build;
use crate::count::Counter;
use crate::draft::Draft;
use crate::error::Result;
use crate::item::{Item, Part};
use crate::node::{Key, Kind, Node};

/// A provider's shape of a message list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI chat completions and all that speak it.
    OpenAiChat,
    /// Anthropic messages.
    Anthropic,
}

/// A piece of a result's content.
#[derive(Clone, Debug)]
pub struct Piece<N> {
    /// Its block; `None` when the content is one string.
    pub block: Option<u32>,
    /// The string node, when the piece is text.
    pub text: Option<N>,
    /// Price, when the piece is no text.
    pub tokens: u64,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::OpenAiChat, Self::Anthropic];
    /// The name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::Anthropic => "anthropic",
        }
    }
    /// The format of that name (`openai` is short for `openai_chat`).
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "openai" | "openai_chat" => Some(Self::OpenAiChat),
            "anthropic" => Some(Self::Anthropic),
            _ => None,
        }
    }
    /// Price of an image of unknown size.
    #[must_use]
    pub const fn image(self) -> u64 {
        match self {
            Self::OpenAiChat => 765,
            Self::Anthropic => 1_600,
        }
    }
    /// Reads one message and appends it to the draft.
    ///
    /// # Errors
    /// A message of the wrong shape, or a counter that failed.
    pub fn read<N: Node>(self, index: usize, message: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
        match self {
            Self::OpenAiChat => openai_chat::read(index, message, draft, counter),
            Self::Anthropic => anthropic::read(index, message, draft, counter),
        }
    }
    /// The pieces of a result's content as it came, in order.
    pub fn pieces<N: Node>(self, part: &Part<N>) -> Vec<Piece<N>> {
        match self {
            Self::OpenAiChat => openai_chat::pieces(part),
            Self::Anthropic => anthropic::pieces(part, self.image()),
        }
    }
    /// The content of a result as it came, when it is one string.
    pub fn only_text<N: Node>(self, part: &Part<N>) -> Option<N> {
        let content = match self {
            Self::OpenAiChat => part.node.clone(),
            Self::Anthropic => part.node.as_ref()?.get(Key::Content),
        };
        content.filter(|content| content.kind() == Kind::Text)
    }
    /// The arguments of a call: a string of JSON, or a mapping.
    pub fn arguments<N: Node>(self, part: &Part<N>) -> Option<N> {
        match self {
            Self::OpenAiChat => openai_chat::arguments(part),
            Self::Anthropic => part.node.as_ref()?.get(Key::Input),
        }
    }
    /// The text of a text or thinking part.
    pub fn text<N: Node>(self, part: &Part<N>) -> Option<String> {
        match self {
            Self::OpenAiChat => openai_chat::text(part),
            Self::Anthropic => anthropic::text(part),
        }
    }
    /// A stub result for the call with this id.
    pub fn stub<N: Node>(self, tokens: u64) -> Part<N> {
        let mut part = Part::new(crate::item::PartKind::Result, crate::item::Place::New, u32::MAX, None, tokens);
        part.stub = true;
        part.is_error = matches!(self, Self::Anthropic);
        part
    }
    /// Builds a touched or new message.
    pub fn build<N: Node>(self, draft: &Draft<N>, item: &Item<N>) -> Build<N> {
        match self {
            Self::OpenAiChat => openai_chat::build(draft, item),
            Self::Anthropic => anthropic::build(draft, item),
        }
    }
}

/// The text of a stub result.
pub const STUB: &str = "[no result: the call was not answered]";
/// The text of the user message before a leading assistant message.
pub const START: &str = "[conversation continues]";
/// The text of a cleared result.
pub const CLEARED: &str = "[compacted: tool output removed to free context]";
/// The marker at the end of a truncated text.
pub const TRUNCATED: &str = "[truncated: output exceeded context limit]";
