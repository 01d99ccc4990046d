//! OpenAI chat messages: `system`, `developer`, `user`, `assistant` (with `tool_calls`), `tool`; also the legacy
//! `function_call` and `function` pair, which has no ids, and the reasoning fields that compatible servers add.
//!
//! One pass over each message, whatever the order of its keys.

use super::reading::{Counted, Flags, Reader, describe, is_stub, merged_notice, role};
use super::{Piece, STUB};
use crate::build::Build;
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::item::{Item, Made, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};

const CONTENT: &str = "a string, a list of parts, or None";
const CONTENT_REMEDY: &str = "pass the content as the provider's API takes it";

struct Fields<N> {
    role: Option<N>,
    content: Option<N>,
    calls: Option<N>,
    call_id: Option<N>,
    name: Option<N>,
    function_call: Option<N>,
    readable: [Option<N>; 3],
}

const READABLE: [Key; 3] = [Key::ReasoningContent, Key::Reasoning, Key::Refusal];

pub(super) fn read<N: Node>(index: usize, message: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    if message.kind() != Kind::Map {
        return Err(Error::invalid(index, "", "a message mapping", describe(message), "pass a list of messages"));
    }
    let mut fields = Fields {
        role: None,
        content: None,
        calls: None,
        call_id: None,
        name: None,
        function_call: None,
        readable: [const { None }; 3],
    };
    let mut flags = Flags::default();
    let mut stub = false;
    message.each(|key, value| match key {
        Key::Role => fields.role = Some(value.clone()),
        Key::Content => fields.content = Some(value.clone()),
        Key::ToolCalls => fields.calls = Some(value.clone()),
        Key::ToolCallId => fields.call_id = Some(value.clone()),
        Key::Name => fields.name = Some(value.clone()),
        Key::FunctionCall => fields.function_call = Some(value.clone()),
        Key::ReasoningContent => fields.readable[0] = Some(value.clone()),
        Key::Reasoning => fields.readable[1] = Some(value.clone()),
        Key::Refusal => fields.readable[2] = Some(value.clone()),
        Key::Mark => {
            stub = is_stub(value);
            flags.take(key, value);
        }
        _ => flags.take(key, value),
    });
    let speaker = role_of(index, fields.role.as_ref())?;
    let mut reader = Reader::new(index, draft, counter);
    let mut overhead = count::MESSAGE;
    let mut lossy_name = false;
    if let Some(name) = &fields.name
        && let Some(counted) = reader.counted(name)?
    {
        overhead += counted.tokens + count::NAME;
        lossy_name = counted.lossy;
    }
    let empty_list = fields.content.as_ref().is_some_and(is_empty_list);
    let empty_calls = fields.calls.as_ref().is_some_and(is_empty_list);
    if speaker == Role::Tool {
        let legacy = fields.role.as_ref().is_some_and(|role| role.is_text("function"));
        let id = fields.call_id.as_ref().filter(|_| !legacy);
        read_result(&mut reader, ("content", fields.content.as_ref()), id, legacy, stub)?;
    } else {
        read_content(&mut reader, fields.content.as_ref())?;
    }
    if speaker == Role::Assistant {
        for (at, key) in READABLE.into_iter().enumerate() {
            if let Some(node) = &fields.readable[at]
                && let Some(counted) = reader.counted(node)?
            {
                let kind = if key == Key::Refusal { PartKind::Text } else { PartKind::Thinking };
                reader.push_text(kind, Place::Field(key), node, counted);
            }
        }
        read_calls(&mut reader, &fields)?;
    } else if !empty_calls && fields.calls.as_ref().is_some_and(|c| c.kind() == Kind::List) {
        let got = fields.role.as_ref().map(describe).unwrap_or_default();
        return Err(Error::invalid(
            index,
            "tool_calls",
            "calls on an assistant message only",
            got,
            "move them to the assistant message",
        ));
    }
    let merged = match &fields.content {
        Some(content) if speaker == Role::User && content.kind() == Kind::List => {
            let mut found = None;
            content.elements(|_, block| found = merged_notice(block).or(found.take()));
            found
        }
        _ => None,
    };
    let item = reader.finish(message, speaker, overhead, flags)?;
    item.merged_notice = merged;
    item.empty_list = empty_list;
    item.empty_calls = empty_calls;
    item.lossy_name = lossy_name;
    Ok(())
}

pub(super) fn role_of<N: Node>(index: usize, node: Option<&N>) -> Result<Role> {
    let known = |name: &str| match name {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    };
    let expected = "system, developer, user, assistant or tool";
    role(index, node, known, expected, "use the provider's role names, or name the format")
}

/// Reads the content of any message but a tool's.
pub(super) fn read_content<N: Node>(reader: &mut Reader<'_, N>, content: Option<&N>) -> Result<()> {
    let Some(content) = content else { return Ok(()) };
    if let Some(counted) = reader.counted(content)? {
        reader.push_text(PartKind::Text, Place::Content, content, counted);
        return Ok(());
    }
    match content.kind() {
        Kind::Null => Ok(()),
        Kind::List => content.try_elements(|at, block| read_block(reader, at, block)),
        Kind::Bool | Kind::Number | Kind::Map | Kind::Text | Kind::Other => {
            Err(reader.invalid("content", CONTENT, content, CONTENT_REMEDY))
        }
    }
}

pub(super) fn is_empty_list<N: Node>(content: &N) -> bool {
    let mut empty = content.kind() == Kind::List;
    content.elements(|_, _| empty = false);
    empty
}

fn read_block<N: Node>(reader: &mut Reader<'_, N>, at: u32, block: &N) -> Result<()> {
    let place = Place::Block(at);
    if let Some(counted) = reader.counted(block)? {
        reader.push_text(PartKind::Text, place, block, counted);
        return Ok(());
    }
    if block.kind() != Kind::Map {
        return Err(reader.invalid(format!("content[{at}]"), "a part mapping", block, CONTENT_REMEDY));
    }
    match kind_of(block) {
        BlockKind::Text => match block.get(Key::Text) {
            Some(text) => match reader.counted(&text)? {
                Some(counted) => {
                    let stub = merged_notice(block).is_some();
                    reader.push_text(PartKind::Text, place, block, counted).stub = stub;
                    Ok(())
                }
                None => Err(reader.invalid(format!("content[{at}].text"), "a string", &text, CONTENT_REMEDY)),
            },
            None => reader.push_opaque(place, block),
        },
        BlockKind::Priced(kind, tokens) => {
            let part = Part::new(kind, place, reader.source(), Some(block.clone()), tokens);
            reader.push(part);
            Ok(())
        }
        BlockKind::Foreign(field) => Err(Error::MixedFormats {
            index: reader.index,
            field: format!("content[{at}].type = {field}"),
            first: reader.draft.format.name(),
            second: "anthropic",
        }),
        BlockKind::Unknown => reader.push_opaque(place, block),
    }
}

enum BlockKind {
    Text,
    Priced(PartKind, u64),
    Foreign(&'static str),
    Unknown,
}

fn kind_of<N: Node>(block: &N) -> BlockKind {
    let image = super::Format::OpenAiChat.image();
    let kind = block.get(Key::Type).and_then(|kind| {
        kind.text(|t| match t.str {
            "text" | "input_text" | "output_text" => BlockKind::Text,
            "image_url" | "input_image" | "image" => BlockKind::Priced(PartKind::Image, image),
            "input_audio" | "audio" => BlockKind::Priced(PartKind::Audio, count::AUDIO),
            "file" | "input_file" => BlockKind::Priced(PartKind::Document, count::DOCUMENT),
            "tool_use" => BlockKind::Foreign("tool_use"),
            "tool_result" => BlockKind::Foreign("tool_result"),
            _ => BlockKind::Unknown,
        })
    });
    match kind {
        Some(BlockKind::Priced(PartKind::Image, _)) if is_low_detail(block) => BlockKind::Priced(PartKind::Image, 85),
        Some(kind) => kind,
        None => BlockKind::Unknown,
    }
}

fn is_low_detail<N: Node>(block: &N) -> bool {
    let nested = block.get(Key::ImageUrl).and_then(|i| i.get(Key::Detail));
    nested.or_else(|| block.get(Key::Detail)).is_some_and(|d| d.is_text("low"))
}

/// Reads a message that is one result; `field` is where its content stands.
pub(super) fn read_result<N: Node>(
    reader: &mut Reader<'_, N>,
    (field, content): (&str, Option<&N>),
    id: Option<&N>,
    legacy: bool,
    stub: bool,
) -> Result<()> {
    let mut total = Counted { tokens: count::RESULT, lossy: false, blank: false };
    if let Some(content) = content {
        if let Some(counted) = reader.counted(content)? {
            total.tokens += counted.tokens;
            total.lossy = counted.lossy;
        } else {
            match content.kind() {
                Kind::Null => {}
                Kind::List => {
                    let nested = reader.nested(content, read_block)?;
                    total.tokens += nested.tokens;
                    total.lossy = nested.lossy;
                }
                // Some clients keep the output as a mapping (text and success); it is cleared whole or not at all.
                Kind::Map if reader.draft.format == super::Format::Responses => {
                    let counted = reader.json(content)?;
                    total.tokens += counted.tokens;
                    total.lossy |= counted.lossy;
                }
                Kind::Bool | Kind::Number | Kind::Map | Kind::Text | Kind::Other => {
                    return Err(reader.invalid(field, CONTENT, content, CONTENT_REMEDY));
                }
            }
        }
    }
    let (id, lossy_id) = reader.symbol(id);
    let mut part = Part::new(PartKind::Result, Place::Content, reader.source(), content.cloned(), total.tokens);
    part.id = id;
    part.legacy = legacy;
    part.lossy = total.lossy || lossy_id;
    part.stub = stub;
    reader.push(part);
    Ok(())
}

fn read_calls<N: Node>(reader: &mut Reader<'_, N>, fields: &Fields<N>) -> Result<()> {
    if let Some(calls) = &fields.calls {
        match calls.kind() {
            Kind::Null => {}
            Kind::List => calls.try_elements(|at, call| read_call(reader, at, call))?,
            Kind::Bool | Kind::Number | Kind::Text | Kind::Map | Kind::Other => {
                return Err(reader.invalid(
                    "tool_calls",
                    "a list of calls",
                    calls,
                    "pass the calls as the provider's API gives them",
                ));
            }
        }
    }
    match &fields.function_call {
        Some(call) if call.kind() == Kind::Map => push_call(reader, Place::Field(Key::FunctionCall), call, call, None),
        _ => Ok(()),
    }
}

fn read_call<N: Node>(reader: &mut Reader<'_, N>, at: u32, call: &N) -> Result<()> {
    if call.kind() != Kind::Map {
        return Err(reader.invalid(
            format!("tool_calls[{at}]"),
            "a call mapping",
            call,
            "pass the calls as the provider's API gives them",
        ));
    }
    let (mut id, mut inner) = (None, None);
    call.each(|key, value| match key {
        Key::Id => id = Some(value.clone()),
        Key::Function | Key::Custom if value.kind() == Kind::Map => inner = Some(value.clone()),
        _ => {}
    });
    let inner = inner.unwrap_or_else(|| call.clone());
    push_call(reader, Place::ToolCall(at), call, &inner, id.as_ref())
}

fn push_call<N: Node>(reader: &mut Reader<'_, N>, place: Place, call: &N, inner: &N, id: Option<&N>) -> Result<()> {
    let (mut name, mut arguments) = (None, None);
    inner.each(|key, value| match key {
        Key::Name => name = Some(value.clone()),
        Key::Arguments | Key::Input => arguments = Some(value.clone()),
        _ => {}
    });
    let legacy = place == Place::Field(Key::FunctionCall);
    reader.push_call(place, call, id, name.as_ref(), arguments.as_ref())?.legacy = legacy;
    Ok(())
}

/// The mapping that holds a call's name and arguments.
fn inner<N: Node>(call: &N) -> N {
    let nested = call.get(Key::Function).or_else(|| call.get(Key::Custom));
    nested.filter(|n| n.kind() == Kind::Map).unwrap_or_else(|| call.clone())
}

pub(super) fn arguments<N: Node>(part: &Part<N>) -> Option<N> {
    let inner = inner(part.node.as_ref()?);
    inner.get(Key::Arguments).or_else(|| inner.get(Key::Input))
}

pub(super) fn text<N: Node>(part: &Part<N>) -> Option<String> {
    let node = part.node.as_ref()?;
    node.to_text().or_else(|| node.get(Key::Text)?.to_text())
}

pub(super) fn pieces<N: Node>(part: &Part<N>) -> Vec<Piece<N>> {
    part.node.as_ref().map_or_else(Vec::new, |content| {
        super::content_pieces(content, |block| match kind_of(block) {
            BlockKind::Priced(_, tokens) => Some(tokens),
            BlockKind::Text | BlockKind::Foreign(_) | BlockKind::Unknown => None,
        })
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
        let (id, name, legacy) = parts.first().map_or((None, None, false), |p| (p.id, p.name, p.legacy));
        let mut fields = if legacy {
            vec![("role", text_of("function")), ("name", text_of(draft.name(name)))]
        } else {
            vec![("role", text_of("tool")), ("tool_call_id", text_of(draft.name(id)))]
        };
        fields.extend([("content", text_of(STUB)), ("_lithify", super::mark("stub"))]);
        return Build::Map(fields);
    };
    let mut set = Vec::new();
    if item.lossy_name
        && let Some(name) = base.get(Key::Name)
    {
        set.push((Key::Name, Build::Sendable(name)));
    }
    if item.empty_list {
        set.push((Key::Content, Build::Text(String::new())));
    }
    if let Some(content) = content(parts, base, item.rearranged && item.merged.is_none()) {
        set.push((Key::Content, content));
    }
    if let Some(merged) = &item.merged {
        set.retain(|(key, _)| *key != Key::Content);
        let changed = if item.empty_list { Some(Build::Text(String::new())) } else { content(parts, base, false) };
        set.push((Key::Content, super::with_notice(base, (Key::Content, Some("text")), changed, merged)));
    }
    for part in parts.iter().filter(|p| p.change.is_some()) {
        match (part.place, part.kind) {
            (Place::Field(key), PartKind::Text | PartKind::Thinking) => {
                set.extend(part.node.clone().map(|node| (key, Build::Sendable(node))));
            }
            (Place::Field(key), PartKind::Call) => set.push((key, call(draft, part))),
            (Place::Content, PartKind::Result)
                if part.id.is_some() && part.change.as_ref().is_some_and(|c| c.id || c.sendable) =>
            {
                set.push((Key::ToolCallId, Build::Text(draft.name(part.id).to_owned())));
            }
            _ => {}
        }
    }
    if parts.iter().any(|p| matches!(p.place, Place::ToolCall(_)) && p.change.is_some()) {
        let calls = parts.iter().filter(|p| matches!(p.place, Place::ToolCall(_)));
        set.push((Key::ToolCalls, Build::List(calls.map(|p| call(draft, p)).collect())));
    }
    let unset = if item.empty_calls { vec![Key::ToolCalls] } else { Vec::new() };
    Build::Patch { base: base.clone(), set, unset }
}

fn text_of<N>(text: &str) -> Build<N> {
    Build::Text(text.to_owned())
}

/// The new content, when it changes; a list of blocks stands under `content`.
pub(super) fn content<N: Node>(parts: &[Part<N>], base: &N, rearranged: bool) -> Option<Build<N>> {
    let changed = |p: &&Part<N>| p.change.as_ref().is_some_and(|c| c.sendable || c.content.is_some());
    if let Some(part) = parts.iter().find(|p| p.place == Place::Content) {
        let change = part.change.as_ref()?;
        return match &change.content {
            Some(new) => Some(super::result_content(part.node.as_ref(), new)),
            None if change.sendable => part.node.clone().map(super::sendable_content),
            None => None,
        };
    }
    if rearranged {
        let blocks = parts.iter().filter(|p| matches!(p.place, Place::Block(_)));
        return Some(Build::List(blocks.filter_map(|p| p.node.clone()).map(super::sendable_block).collect()));
    }
    if !parts.iter().filter(|p| matches!(p.place, Place::Block(_))).any(|p| changed(&p)) {
        return None;
    }
    base.get(Key::Content).map(super::sendable_content)
}

fn call<N: Node>(draft: &Draft<N>, part: &Part<N>) -> Build<N> {
    let Some(base) = part.node.clone() else { return Build::Text(String::new()) };
    let Some(change) = &part.change else { return Build::Same(base) };
    let mut set = Vec::new();
    if change.id || (change.sendable && part.id.is_some()) {
        set.push((Key::Id, Build::Text(draft.name(part.id).to_owned())));
    }
    if change.sendable {
        let inner = inner(&base);
        let texts: Vec<_> = [Key::Name, Key::Arguments, Key::Input]
            .into_iter()
            .filter_map(|key| inner.get(key).filter(|n| n.kind() == Kind::Text).map(|n| (key, Build::Sendable(n))))
            .collect();
        let nested = [Key::Function, Key::Custom].into_iter().find(|k| base.get(*k).is_some_and(|n| n.kind() == Kind::Map));
        match nested {
            Some(key) => set.push((key, Build::Patch { base: inner, set: texts, unset: Vec::new() })),
            None => set.extend(texts),
        }
    }
    Build::Patch { base, set, unset: Vec::new() }
}
