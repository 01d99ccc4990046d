//! Anthropic messages: `user` and `assistant` with content blocks; tool results stand in user messages.
//!
//! Server tools and their results, compaction blocks and anything unknown are opaque parts: they stay with their message.

use super::building::sendable_block;
use super::reading::{Counted, Flags, Reader, describe, is_stub, merged_notice, role};
use super::{Piece, STUB};
use crate::build::Build;
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::item::{Item, Made, Notice, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};

const CONTENT: &str = "a string or a list of content blocks";
const REMEDY: &str = "pass the content as the provider's API takes it";

pub(super) fn read<N: Node>(index: usize, message: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    if message.kind() != Kind::Map {
        return Err(Error::invalid(index, "", "a message mapping", describe(message), "pass a list of messages"));
    }
    let (mut speaker, mut content) = (None, None);
    let mut flags = Flags::default();
    let mut foreign = None;
    message.each(|key, value| match key {
        Key::Role => speaker = Some(value.clone()),
        Key::Content => content = Some(value.clone()),
        Key::ToolCalls | Key::ToolCallId if !matches!(value.kind(), Kind::Null) => foreign = Some(key),
        _ => flags.take(key, value),
    });
    if let Some(key) = foreign {
        return Err(Error::MixedFormats { index, field: key.as_str().to_owned(), first: "anthropic", second: "openai_chat" });
    }
    let speaker = role_of(index, speaker.as_ref())?;
    let mut reader = Reader::new(index, draft, counter);
    let mut merged = None;
    if let Some(content) = &content {
        if let Some(counted) = reader.counted(content)? {
            reader.push_text(PartKind::Text, Place::Content, content, counted);
        } else if content.kind() == Kind::List {
            content.try_elements(|at, block| read_block(&mut reader, speaker, at, block, &mut merged))?;
        } else if content.kind() != Kind::Null {
            return Err(reader.invalid("content", CONTENT, content, REMEDY));
        }
    }
    let item = reader.finish(message, speaker, count::MESSAGE, flags)?;
    item.merged_notice = merged;
    Ok(())
}

pub(super) fn role_of<N: Node>(index: usize, node: Option<&N>) -> Result<Role> {
    let known = |name: &str| match name {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    };
    let remedy = "pass system text as `system=`; use the provider's role names, or name the format";
    role(index, node, known, "user or assistant", remedy)
}

/// The keys of a block that decide what it is.
struct Block<N> {
    kind: Option<N>,
    text: Option<N>,
    id: Option<N>,
    name: Option<N>,
    input: Option<N>,
    answers: Option<N>,
    content: Option<N>,
    thinking: Option<N>,
    source: Option<N>,
    is_error: bool,
    cached: bool,
    stub: bool,
    marked: bool,
}

fn fields<N: Node>(block: &N) -> Block<N> {
    let mut f = Block {
        kind: None,
        text: None,
        id: None,
        name: None,
        input: None,
        answers: None,
        content: None,
        thinking: None,
        source: None,
        is_error: false,
        cached: false,
        stub: false,
        marked: false,
    };
    block.each(|key, value| match key {
        Key::Type => f.kind = Some(value.clone()),
        Key::Text => f.text = Some(value.clone()),
        Key::Id => f.id = Some(value.clone()),
        Key::Name => f.name = Some(value.clone()),
        Key::Input => f.input = Some(value.clone()),
        Key::ToolUseId => f.answers = Some(value.clone()),
        Key::Content => f.content = Some(value.clone()),
        Key::Thinking => f.thinking = Some(value.clone()),
        Key::Source => f.source = Some(value.clone()),
        Key::IsError => f.is_error = value.is_true(),
        Key::CacheControl => f.cached = value.kind() != Kind::Null,
        Key::Mark => (f.stub, f.marked) = (is_stub(value), true),
        _ => {}
    });
    f
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    ToolUse,
    ToolResult,
    Thinking,
    Redacted,
    Image,
    Document,
    Foreign(&'static str),
    Unknown,
}

fn kind_of<N: Node>(kind: Option<&N>) -> BlockKind {
    let known = kind.and_then(|n| {
        n.text(|t| match t.str {
            "text" => BlockKind::Text,
            "tool_use" => BlockKind::ToolUse,
            "tool_result" => BlockKind::ToolResult,
            "thinking" => BlockKind::Thinking,
            "redacted_thinking" => BlockKind::Redacted,
            "image" => BlockKind::Image,
            "document" => BlockKind::Document,
            "image_url" => BlockKind::Foreign("image_url"),
            "input_audio" => BlockKind::Foreign("input_audio"),
            _ => BlockKind::Unknown,
        })
    });
    known.unwrap_or(BlockKind::Unknown)
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
    let f = fields(block);
    match kind_of(f.kind.as_ref()) {
        BlockKind::Text => {
            let Some(text) = &f.text else { return reader.push_opaque(place, block) };
            let Some(counted) = reader.counted(text)? else {
                return Err(reader.invalid(format!("content[{at}].text"), "a string", text, REMEDY));
            };
            let notice = if speaker == Role::User && f.marked { merged_notice(block) } else { None };
            let part = reader.push_text(PartKind::Text, place, block, counted);
            part.cached = f.cached;
            part.stub = notice.is_some();
            *merged = notice.or(merged.take());
            Ok(())
        }
        BlockKind::Thinking => {
            let counted = f.thinking.as_ref().map_or(Ok(None), |t| reader.counted(t))?.unwrap_or_default();
            let part = reader.push_text(PartKind::Thinking, place, block, counted);
            // A signed block is identical or absent: it is never rewritten, not even to be sendable.
            (part.blank, part.lossy) = (false, false);
            Ok(())
        }
        BlockKind::Redacted => priced(reader, PartKind::RedactedThinking, place, block, count::REDACTED_THINKING, f.cached),
        BlockKind::Image => {
            let tokens = reader.draft.format.image();
            priced(reader, PartKind::Image, place, block, tokens, f.cached)
        }
        BlockKind::Document => {
            let tokens = document(reader, f.source.as_ref())?;
            priced(reader, PartKind::Document, place, block, tokens, f.cached)
        }
        BlockKind::ToolUse if speaker == Role::Assistant => {
            reader.push_call(place, block, f.id.as_ref(), f.name.as_ref(), f.input.as_ref())?.cached = f.cached;
            Ok(())
        }
        BlockKind::ToolResult if speaker == Role::User => read_result(reader, at, block, &f),
        BlockKind::Foreign(field) => Err(Error::MixedFormats {
            index: reader.index,
            field: format!("content[{at}].type = {field}"),
            first: "anthropic",
            second: "openai_chat",
        }),
        BlockKind::ToolUse => Err(reader.invalid(
            format!("content[{at}].type"),
            "tool_use in an assistant message only",
            f.kind.as_ref().unwrap_or(block),
            REMEDY,
        )),
        BlockKind::ToolResult => Err(reader.invalid(
            format!("content[{at}].type"),
            "tool_result in a user message only",
            f.kind.as_ref().unwrap_or(block),
            REMEDY,
        )),
        BlockKind::Unknown => {
            reader.push_opaque(place, block)?;
            if let Some(part) = reader.draft.parts.last_mut() {
                part.cached = f.cached;
            }
            Ok(())
        }
    }
}

fn priced<N: Node>(reader: &mut Reader<'_, N>, kind: PartKind, place: Place, block: &N, tokens: u64, cached: bool) -> Result<()> {
    let part = Part::new(kind, place, reader.source(), Some(block.clone()), tokens);
    reader.push(part).cached = cached;
    Ok(())
}

fn document<N: Node>(reader: &mut Reader<'_, N>, source: Option<&N>) -> Result<u64> {
    let plain = source.filter(|s| s.get(Key::Type).is_some_and(|t| t.is_text("text")));
    match plain.and_then(|s| s.get(Key::Data)) {
        Some(data) => Ok(reader.counted(&data)?.map_or(count::DOCUMENT, |c| c.tokens)),
        None => Ok(count::DOCUMENT),
    }
}

fn read_result<N: Node>(reader: &mut Reader<'_, N>, at: u32, block: &N, f: &Block<N>) -> Result<()> {
    let mut total = Counted { tokens: count::RESULT, lossy: false, blank: true };
    if let Some(content) = &f.content {
        if let Some(counted) = reader.counted(content)? {
            total.tokens += counted.tokens;
            total.lossy = counted.lossy;
            total.blank = counted.blank;
        } else if content.kind() == Kind::List {
            let nested = reader.nested(content, |reader, at, block| read_block(reader, Role::Tool, at, block, &mut None))?;
            total = Counted { tokens: total.tokens + nested.tokens, ..nested };
        } else if content.kind() != Kind::Null {
            return Err(reader.invalid(format!("content[{at}].content"), CONTENT, content, REMEDY));
        }
    }
    let (id, lossy_id) = reader.symbol(f.answers.as_ref());
    let mut part = Part::new(PartKind::Result, Place::Block(at), reader.source(), Some(block.clone()), total.tokens);
    part.id = id;
    part.lossy = total.lossy || lossy_id;
    part.blank = total.blank;
    part.is_error = f.is_error;
    part.cached = f.cached;
    part.stub = f.stub;
    reader.push(part);
    Ok(())
}

pub(super) fn text<N: Node>(part: &Part<N>) -> Option<String> {
    let node = part.node.as_ref()?;
    let key = if part.kind == PartKind::Thinking { Key::Thinking } else { Key::Text };
    node.to_text().or_else(|| node.get(key)?.to_text())
}

pub(super) fn pieces<N: Node>(part: &Part<N>, image: u64) -> Vec<Piece<N>> {
    let Some(content) = part.node.as_ref().and_then(|block| block.get(Key::Content)) else { return Vec::new() };
    super::content_pieces(&content, |block| match kind_of(block.get(Key::Type).as_ref()) {
        BlockKind::Image => Some(image),
        BlockKind::Document => Some(count::DOCUMENT),
        _ => None,
    })
}

pub(super) fn build<N: Node>(draft: &Draft<N>, item: &Item<N>) -> Build<N> {
    let parts = draft.parts_of(item);
    match &item.made {
        Some(Made::Notice(notice)) => return super::notice(item.role, notice),
        Some(Made::Start) => return super::filler(item.role, ("content", Build::Text(super::START.to_owned()))),
        Some(Made::Results) | None => {}
    }
    let Some(base) = &item.node else {
        let content = Build::List(parts.iter().map(|p| block(draft, p)).collect());
        return Build::Map(vec![("role", Build::Text("user".to_owned())), ("content", content)]);
    };
    let content = if let [only] = parts
        && only.place == Place::Content
        && only.source == item.source.unwrap_or(u32::MAX)
    {
        only.node.clone().map(|node| if only.change.is_some() { Build::Sendable(node) } else { Build::Same(node) })
    } else {
        Some(Build::List(parts.iter().map(|p| block(draft, p)).collect()))
    };
    let content = match &item.merged {
        Some(notice) => Some(super::with_notice(base, (Key::Content, Some("text")), content, notice)),
        None => content,
    };
    Build::Patch { base: base.clone(), set: content.map(|c| (Key::Content, c)).into_iter().collect(), unset: Vec::new() }
}

/// One block of the output.
fn block<N: Node>(draft: &Draft<N>, part: &Part<N>) -> Build<N> {
    let Some(base) = part.node.clone() else {
        let mut stub = vec![
            ("type", Build::Text("tool_result".to_owned())),
            ("tool_use_id", Build::Text(draft.name(part.id).to_owned())),
            ("content", Build::Text(STUB.to_owned())),
            ("is_error", Build::Bool(true)),
            ("_lithify", super::mark("stub")),
        ];
        let cache = part.change.as_ref().and_then(|change| cache_control(draft, change.cache_from?));
        stub.extend(cache.map(|cache| ("cache_control", Build::Same(cache))));
        return Build::Map(stub);
    };
    let sendable = part.change.as_ref().is_some_and(|c| c.sendable);
    if part.place == Place::Content {
        let text = if sendable { Build::Sendable(base) } else { Build::Same(base) };
        return Build::Map(vec![("type", Build::Text("text".to_owned())), ("text", text)]);
    }
    let Some(change) = &part.change else { return Build::Same(base) };
    let (mut set, mut unset) = (Vec::new(), Vec::new());
    if sendable && part.kind == PartKind::Text && !change.uncache && change.cache_from.is_none() {
        return sendable_block(base);
    }
    if change.id || (sendable && part.id.is_some()) {
        let key = if part.is_call() { Key::Id } else { Key::ToolUseId };
        set.push((key, Build::Text(draft.name(part.id).to_owned())));
    }
    if sendable {
        set.extend(
            [Key::Text, Key::Name, Key::Input].into_iter().filter_map(|key| base.get(key).map(|n| (key, Build::Sendable(n)))),
        );
    }
    if let Some(new) = &change.content {
        set.push((Key::Content, super::result_content(base.get(Key::Content).as_ref(), new)));
    } else if sendable
        && part.is_result()
        && let Some(content) = base.get(Key::Content)
    {
        set.push((Key::Content, super::sendable_content(content)));
    }
    if change.uncache {
        unset.push(Key::CacheControl);
    }
    if let Some(cache) = change.cache_from.and_then(|from| cache_control(draft, from)) {
        set.push((Key::CacheControl, Build::Same(cache)));
    }
    Build::Patch { base, set, unset }
}

/// The `cache_control` of a part as it came.
fn cache_control<N: Node>(draft: &Draft<N>, part: u32) -> Option<N> {
    draft.parts.get(part as usize)?.node.as_ref()?.get(Key::CacheControl)
}
