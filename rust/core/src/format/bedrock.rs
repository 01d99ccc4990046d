//! Bedrock Converse: `user` and `assistant` with content blocks that are told by their one key (`text`, `toolUse`,
//! `toolResult`, ...); tool results stand in user messages.
//!
//! Blocks of other keys (`guardContent`, ...) are opaque and stay with their message. A `cachePoint` is opaque, too: it
//! says nothing, so a message of nothing else is empty.

use super::building::{message_of_blocks, one_text, sendable_block};
use super::reading::{Counted, Flags, Reader, describe, is_stub, merged_notice};
use super::{Piece, STUB};
use crate::build::Build;
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::item::{Content, Item, Notice, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};

const REMEDY: &str = "pass the content as Converse takes it: a list of blocks of one key each";

pub(super) fn read<N: Node>(index: usize, message: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    if message.kind() != Kind::Map {
        return Err(Error::invalid(index, "", "a message mapping", describe(message), "pass a list of messages"));
    }
    let (mut speaker, mut content) = (None, None);
    let mut flags = Flags::default();
    message.each(|key, value| match key {
        Key::Role => speaker = Some(value.clone()),
        Key::Content => content = Some(value.clone()),
        _ => flags.take(key, value),
    });
    let speaker = super::anthropic::role_of(index, speaker.as_ref())?;
    let mut reader = Reader::new(index, draft, counter);
    let mut merged = None;
    if let Some(content) = content.filter(|c| c.kind() != Kind::Null) {
        if content.kind() != Kind::List {
            return Err(reader.invalid("content", "a list of content blocks", &content, REMEDY));
        }
        content.try_elements(|at, block| read_block(&mut reader, speaker, at, block, &mut merged))?;
    }
    let item = reader.finish(message, speaker, count::MESSAGE, flags)?;
    item.merged_notice = merged;
    Ok(())
}

/// The key that tells what a block is, and what stands under it.
fn told<N: Node>(block: &N) -> Option<(Key, N)> {
    let mut told = None;
    block.each(|key, value| match key {
        Key::Text
        | Key::ToolUse
        | Key::ToolResult
        | Key::Image
        | Key::Document
        | Key::Video
        | Key::CamelReasoning
        | Key::CachePoint
        | Key::Json
            if told.is_none() && value.kind() != Kind::Null =>
        {
            told = Some((key, value.clone()));
        }
        _ => {}
    });
    told
}

fn read_block<N: Node>(
    reader: &mut Reader<'_, N>,
    speaker: Role,
    at: u32,
    block: &N,
    merged: &mut Option<Box<Notice<N>>>,
) -> Result<()> {
    let place = Place::Block(at);
    if block.kind() != Kind::Map {
        return Err(reader.invalid(format!("content[{at}]"), "a content block", block, REMEDY));
    }
    let foreign = |t: &N| t.text(|t| matches!(t.str, "text" | "tool_use" | "tool_result" | "thinking")) == Some(true);
    if block.get(Key::Type).is_some_and(|kind| foreign(&kind)) {
        let field = format!("content[{at}].type");
        return Err(Error::MixedFormats { index: reader.index, field, first: "bedrock", second: "anthropic" });
    }
    let Some((key, inner)) = told(block) else { return reader.push_opaque(place, block) };
    let priced = |reader: &mut Reader<'_, N>, kind, tokens| {
        let part = Part::new(kind, place, reader.source(), Some(block.clone()), tokens);
        reader.push(part);
    };
    match key {
        Key::Text => {
            let Some(counted) = reader.counted(&inner)? else {
                return Err(reader.invalid(format!("content[{at}].text"), "a string", &inner, REMEDY));
            };
            let notice = if speaker == Role::User { merged_notice(block) } else { None };
            reader.push_text(PartKind::Text, place, block, counted).stub = notice.is_some();
            *merged = notice.or(merged.take());
        }
        Key::ToolUse if speaker == Role::Assistant => {
            let (mut id, mut name, mut input) = (None, None, None);
            inner.each(|key, value| match key {
                Key::CamelToolUseId => id = Some(value.clone()),
                Key::Name => name = Some(value.clone()),
                Key::Input => input = Some(value.clone()),
                _ => {}
            });
            reader.push_call(place, block, id.as_ref(), name.as_ref(), input.as_ref())?;
        }
        Key::ToolResult if speaker == Role::User => read_result(reader, at, block, &inner)?,
        Key::ToolUse | Key::ToolResult => {
            let expected = "toolUse in an assistant message, toolResult in a user message";
            return Err(reader.invalid(format!("content[{at}].{}", key.as_str()), expected, block, REMEDY));
        }
        Key::Image => priced(reader, PartKind::Image, reader.draft.format.image()),
        Key::Document | Key::Video => {
            let text = inner.get(Key::Source).and_then(|source| source.get(Key::Text));
            let tokens = text.map_or(Ok(None), |text| reader.counted(&text))?.map_or(count::DOCUMENT, |c| c.tokens);
            priced(reader, PartKind::Document, tokens);
        }
        Key::CamelReasoning => {
            let text = inner.get(Key::ReasoningText).and_then(|text| text.get(Key::Text));
            match text.map_or(Ok(None), |text| reader.counted(&text))? {
                // A signed block is identical or absent: it is never rewritten, not even to be sendable.
                Some(counted) => priced(reader, PartKind::Thinking, counted.tokens),
                None => priced(reader, PartKind::RedactedThinking, count::REDACTED_THINKING),
            }
        }
        Key::Json if speaker == Role::Tool => {
            let counted = reader.json(&inner)?;
            let mut part = Part::new(PartKind::Opaque, place, reader.source(), Some(block.clone()), counted.tokens);
            part.lossy = counted.lossy;
            reader.push(part);
        }
        _ => {
            reader.push_opaque(place, block)?;
            if let (Key::CachePoint, Some(part)) = (key, reader.draft.parts.last_mut()) {
                part.cached = true;
            }
        }
    }
    Ok(())
}

fn read_result<N: Node>(reader: &mut Reader<'_, N>, at: u32, block: &N, inner: &N) -> Result<()> {
    let (mut id, mut content, mut is_error) = (None, None, false);
    inner.each(|key, value| match key {
        Key::CamelToolUseId => id = Some(value.clone()),
        Key::Content => content = Some(value.clone()),
        Key::Status => is_error = value.is_text("error"),
        _ => {}
    });
    let mut total = Counted { tokens: count::RESULT, lossy: false, blank: true };
    if let Some(content) = content.filter(|c| c.kind() != Kind::Null) {
        if content.kind() != Kind::List {
            let field = format!("content[{at}].toolResult.content");
            return Err(reader.invalid(field, "a list of content blocks", &content, REMEDY));
        }
        let nested = reader.nested(&content, |reader, at, block| read_block(reader, Role::Tool, at, block, &mut None))?;
        total = Counted { tokens: total.tokens + nested.tokens, ..nested };
    }
    let (id, lossy_id) = reader.symbol(id.as_ref());
    let mut part = Part::new(PartKind::Result, Place::Block(at), reader.source(), Some(block.clone()), total.tokens);
    part.id = id;
    part.lossy = total.lossy || lossy_id;
    part.blank = total.blank;
    part.is_error = is_error;
    part.stub = block.get(Key::Mark).is_some_and(|mark| is_stub(&mark));
    reader.push(part);
    Ok(())
}

/// What stands under the key that tells the block.
fn inner<N: Node>(part: &Part<N>) -> Option<N> {
    told(part.node.as_ref()?).map(|(_, inner)| inner)
}

pub(super) fn arguments<N: Node>(part: &Part<N>) -> Option<N> {
    inner(part)?.get(Key::Input)
}

/// The text blocks of a result.
pub(super) fn pieces<N: Node>(part: &Part<N>) -> Vec<Piece<N>> {
    let mut pieces = Vec::new();
    if let Some(content) = inner(part).and_then(|inner| inner.get(Key::Content)) {
        content.elements(|at, block| {
            let text = told(block).filter(|(key, _)| *key == Key::Text).map(|(_, text)| text);
            pieces.push(Piece { block: Some(at), text, tokens: 0 });
        });
    }
    pieces
}

pub(super) fn build<N: Node>(draft: &Draft<N>, item: &Item<N>) -> Build<N> {
    message_of_blocks(draft, item, Key::Content, |part| block(draft, part))
}

/// One block of the output.
fn block<N: Node>(draft: &Draft<N>, part: &Part<N>) -> Build<N> {
    let id = || Build::Text(draft.name(part.id).to_owned());
    let Some(base) = part.node.clone() else {
        let stub = vec![("toolUseId", id()), ("content", one_text(STUB)), ("status", Build::Text("error".to_owned()))];
        return Build::Map(vec![("toolResult", Build::Map(stub)), ("_lithify", super::mark("stub"))]);
    };
    let Some(change) = &part.change else { return Build::Same(base) };
    let Some((key, inner)) = told(&base) else { return Build::Same(base) };
    if key == Key::Text {
        return if change.sendable { sendable_block(base) } else { Build::Same(base) };
    }
    let mut set = Vec::new();
    if change.sendable {
        let keys = [Key::Name, Key::Input, Key::Content].into_iter();
        set.extend(keys.filter_map(|key| inner.get(key).map(|value| (key, Build::Sendable(value)))));
    }
    if change.id || (change.sendable && part.id.is_some()) {
        set.push((Key::CamelToolUseId, id()));
    }
    if let Some(new) = &change.content {
        let content = match new {
            Content::Whole(text) => one_text(text),
            Content::Blocks(_) => super::result_content(inner.get(Key::Content).as_ref(), new),
        };
        set.retain(|(key, _)| *key != Key::Content);
        set.push((Key::Content, content));
    }
    let inner = Build::Patch { base: inner, set, unset: Vec::new() };
    Build::Patch { base, set: vec![(key, inner)], unset: Vec::new() }
}
