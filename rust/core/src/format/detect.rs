//! Which provider's shape a history has, told from its content.
//!
//! Roles and keys that only one provider knows decide; the first decisive message wins, and the reader of that format refuses
//! what belongs to the other. A history of plain texts is valid in both: it is read as OpenAI chat, unless a system prompt stands
//! beside the list.

use super::Format;
use super::reading::describe;
use crate::error::{Error, Result};
use crate::node::{Key, Kind, Node};

/// Tells the format of a history, which has a system prompt beside the list or not.
///
/// # Errors
/// [`Error::UnknownFormat`] for a shape that no reader takes.
pub fn detect<N: Node>(messages: &N, system: bool) -> Result<Format> {
    let mut found = None;
    let mut weak = None;
    let mut failed = None;
    messages.elements(|index, message| {
        if found.is_some() || failed.is_some() || message.kind() != Kind::Map {
            return;
        }
        match signal(message) {
            Signal::Strong(format) => found = Some(format),
            // A system message is any OpenAI format's.
            Signal::Weak(Format::Responses) => weak = Some(Format::Responses),
            Signal::Weak(format) => weak = weak.or(Some(format)),
            Signal::None => {}
            Signal::Other(got) => failed = Some(Error::UnknownFormat { index: Some(index as usize), got }),
        }
    });
    match (found, failed) {
        (Some(format), _) => Ok(format),
        (None, Some(error)) => Err(error),
        (None, None) => Ok(weak.unwrap_or(if system { Format::Anthropic } else { Format::OpenAiChat })),
    }
}

enum Signal {
    Strong(Format),
    Weak(Format),
    None,
    Other(String),
}

fn signal<N: Node>(message: &N) -> Signal {
    let (mut signal, mut role, mut kind) = (Signal::None, None, None);
    message.each(|key, value| match key {
        Key::Role => role = Some(value.clone()),
        Key::Type => kind = Some(value.clone()),
        Key::ToolCalls | Key::ToolCallId | Key::FunctionCall if value.kind() != Kind::Null => {
            signal = Signal::Strong(Format::OpenAiChat)
        }
        Key::Parts if value.kind() == Kind::List => signal = Signal::Strong(Format::Gemini),
        Key::Content if value.kind() == Kind::List => {
            let mut seen = None;
            value.elements(|_, block| seen = seen.or_else(|| block_format(block)));
            if let Some(format) = seen {
                signal = Signal::Strong(format);
            }
        }
        _ => {}
    });
    if let Signal::Strong(_) = signal {
        return signal;
    }
    if kind.as_ref().is_some_and(is_item) {
        return Signal::Strong(Format::Responses);
    }
    let Some(role) = role else {
        return kind.map_or(Signal::None, |kind| Signal::Other(format!("items of type {}", describe(&kind))));
    };
    // An Anthropic reply is of type `message`, too, but its content is a list.
    if kind.is_some_and(|kind| kind.is_text("message")) && message.get(Key::Content).is_some_and(|c| c.kind() == Kind::Text) {
        return Signal::Weak(Format::Responses);
    }
    let of_role = role.text(|t| match t.str {
        "tool" | "function" => Signal::Strong(Format::OpenAiChat),
        "model" => Signal::Strong(Format::Gemini),
        "system" | "developer" => Signal::Weak(Format::OpenAiChat),
        _ => Signal::None,
    });
    of_role.unwrap_or(Signal::None)
}

/// Whether this is the type of a Responses item that is no message.
fn is_item<N: Node>(kind: &N) -> bool {
    let known = |kind: &str| {
        matches!(kind, "reasoning" | "item_reference" | "compaction") || kind.ends_with("_call") || kind.ends_with("_call_output")
    };
    kind.text(|t| known(t.str)) == Some(true)
}

fn block_format<N: Node>(block: &N) -> Option<Format> {
    let Some(kind) = block.get(Key::Type) else {
        let mut bedrock = false;
        block.each(|key, _| {
            bedrock |= matches!(
                key,
                Key::Text | Key::ToolUse | Key::ToolResult | Key::Image | Key::Document | Key::Video | Key::CachePoint
            ) || key == Key::CamelReasoning;
        });
        return bedrock.then_some(Format::Bedrock);
    };
    kind.text(|t| match t.str {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "document" | "server_tool_use" | "search_result" => {
            Some(Format::Anthropic)
        }
        "image" if block.get(Key::Source).is_some() => Some(Format::Anthropic),
        "image_url" | "input_audio" | "file" => Some(Format::OpenAiChat),
        "input_text" | "output_text" | "input_image" | "input_file" => Some(Format::Responses),
        _ => None,
    })?
}
