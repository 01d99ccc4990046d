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
    let Some(role) = role else {
        let parts = message.get(Key::Parts).is_some();
        return match kind {
            Some(kind) => Signal::Other(format!("items of type {}", describe(&kind))),
            None if parts => Signal::Other("messages with `parts`".to_owned()),
            None => Signal::None,
        };
    };
    if message.get(Key::Content).is_none() && message.get(Key::Parts).is_some() {
        return Signal::Other("messages with `parts`".to_owned());
    }
    let of_role = role.text(|t| match t.str {
        "tool" | "function" | "developer" => Signal::Strong(Format::OpenAiChat),
        "system" => Signal::Weak(Format::OpenAiChat),
        _ => Signal::None,
    });
    of_role.unwrap_or(Signal::None)
}

fn block_format<N: Node>(block: &N) -> Option<Format> {
    let kind = block.get(Key::Type)?;
    kind.text(|t| match t.str {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "document" | "server_tool_use" | "search_result" => {
            Some(Format::Anthropic)
        }
        "image" if block.get(Key::Source).is_some() => Some(Format::Anthropic),
        "image_url" | "input_audio" | "file" => Some(Format::OpenAiChat),
        _ => None,
    })?
}
