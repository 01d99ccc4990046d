//! Readers and builders, one file per provider's shape, written once over [`Node`].

mod anthropic;
mod bedrock;
mod building;
mod detect;
mod gemini;
mod openai_chat;
mod reading;
mod responses;
mod turns;

pub use detect::detect;
pub use gemini::Turn;
pub(crate) use reading::{EXCESS_REMEDY, EXPECTED_SIZE};
pub use turns::{Turns, is_filler};

use building::{content_pieces, filler, mark, notice, result_content, sendable_block, sendable_content, with_notice};

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
    /// OpenAI Responses items.
    Responses,
    /// Gemini contents.
    Gemini,
    /// Bedrock Converse.
    Bedrock,
}

/// Where a format keeps a message's content, and the `type` of a text block in it.
type Style = (Key, Option<&'static str>);

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
    pub const ALL: [Self; 5] = [Self::OpenAiChat, Self::Anthropic, Self::Responses, Self::Gemini, Self::Bedrock];
    /// The name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }
    /// The format of that name (`openai` is short for `openai_chat`).
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "openai" | "openai_chat" => Some(Self::OpenAiChat),
            "anthropic" => Some(Self::Anthropic),
            "responses" => Some(Self::Responses),
            "gemini" => Some(Self::Gemini),
            "bedrock" => Some(Self::Bedrock),
            _ => None,
        }
    }
    /// Whether results are messages of their own; else they are blocks of a user message.
    #[must_use]
    pub const fn result_messages(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::Responses)
    }
    /// Price of an image of unknown size.
    #[must_use]
    pub const fn image(self) -> u64 {
        match self {
            Self::OpenAiChat | Self::Responses => 765,
            Self::Anthropic | Self::Bedrock => 1_600,
            Self::Gemini => 258,
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
            Self::Responses => responses::read(index, message, draft, counter),
            Self::Gemini => gemini::read(index, message, draft, counter),
            Self::Bedrock => bedrock::read(index, message, draft, counter),
        }
    }
    /// The pieces of a result's content as it came, in order.
    pub fn pieces<N: Node>(self, part: &Part<N>) -> Vec<Piece<N>> {
        match self {
            Self::OpenAiChat | Self::Responses => openai_chat::pieces(part),
            Self::Anthropic => anthropic::pieces(part, self.image()),
            Self::Gemini => gemini::pieces(part),
            Self::Bedrock => bedrock::pieces(part),
        }
    }
    /// The content of a result as it came, when it is one string.
    pub fn only_text<N: Node>(self, part: &Part<N>) -> Option<N> {
        let content = match self {
            Self::OpenAiChat | Self::Responses => part.node.clone(),
            Self::Anthropic => part.node.as_ref()?.get(Key::Content),
            Self::Gemini | Self::Bedrock => None,
        };
        content.filter(|content| content.kind() == Kind::Text)
    }
    /// The arguments of a call: a string of JSON, or a mapping.
    pub fn arguments<N: Node>(self, part: &Part<N>) -> Option<N> {
        match self {
            Self::OpenAiChat => openai_chat::arguments(part),
            Self::Anthropic => part.node.as_ref()?.get(Key::Input),
            Self::Responses => responses::arguments(part),
            Self::Gemini => gemini::arguments(part),
            Self::Bedrock => bedrock::arguments(part),
        }
    }
    /// The text of a text or thinking part.
    pub fn text<N: Node>(self, part: &Part<N>) -> Option<String> {
        match self {
            Self::Anthropic => anthropic::text(part),
            Self::OpenAiChat | Self::Responses | Self::Gemini | Self::Bedrock => openai_chat::text(part),
        }
    }
    /// A stub result for the call with this id.
    pub fn stub<N: Node>(self, tokens: u64) -> Part<N> {
        let mut part = Part::new(crate::item::PartKind::Result, crate::item::Place::New, u32::MAX, None, tokens);
        part.stub = true;
        part.is_error = !self.result_messages();
        part
    }
    /// Builds a touched or new message.
    pub fn build<N: Node>(self, draft: &Draft<N>, item: &Item<N>) -> Build<N> {
        match self {
            Self::OpenAiChat => openai_chat::build(draft, item),
            Self::Anthropic => anthropic::build(draft, item),
            Self::Responses => responses::build(draft, item),
            Self::Gemini => gemini::build(draft, item),
            Self::Bedrock => bedrock::build(draft, item),
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
