//! OpenAI Responses items: messages, calls and their outputs, reasoning; one item each.
//!
//! An item of another type (`item_reference`, hosted tool calls, ...) is one opaque part of the model's. A `compaction`
//! item stands for all that was before it: it is never dropped.

use super::openai_chat::{content, is_empty_list, read_content, read_result, role_of};
use super::reading::{Flags, Reader, describe, is_stub, merged_notice};
use super::{STUB, Style};
use crate::build::Build;
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::item::{Item, Made, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};

const REMEDY: &str = "pass the items as the provider's API takes and gives them";

/// What an item is, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Message,
    /// A call; where its arguments stand.
    Call(Key),
    Output,
    Reasoning,
    Compaction,
    Unknown,
}

fn type_of<N: Node>(item: &N) -> Option<Type> {
    let Some(kind) = item.get(Key::Type).filter(|k| k.kind() != Kind::Null) else { return Some(Type::Message) };
    kind.text(|t| match t.str {
        "message" => Type::Message,
        "function_call" => Type::Call(Key::Arguments),
        "custom_tool_call" => Type::Call(Key::Input),
        "local_shell_call" => Type::Call(Key::Action),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => Type::Output,
        "reasoning" => Type::Reasoning,
        "compaction" | "compaction_summary" => Type::Compaction,
        _ => Type::Unknown,
    })
}

pub(super) fn read<N: Node>(index: usize, item: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    if item.kind() != Kind::Map {
        return Err(Error::invalid(index, "", "an item mapping", describe(item), "pass a list of items"));
    }
    let Some(kind) = type_of(item) else {
        let got = item.get(Key::Type).map_or_else(String::new, |kind| describe(&kind));
        return Err(Error::invalid(index, "type", "a string", got, REMEDY));
    };
    let mut flags = Flags::default();
    item.each(|key, value| flags.take(key, value));
    let mut reader = Reader::new(index, draft, counter);
    let place = Place::Content;
    let role = match kind {
        Type::Message => return read_message(reader, item, flags),
        Type::Call(key) => {
            let id = item.get(id_key(item));
            let (name, arguments) = (item.get(Key::Name), item.get(key));
            reader.push_call(Place::Field(key), item, id.as_ref(), name.as_ref(), arguments.as_ref())?;
            if key == Key::Action {
                let name = reader.draft.symbols.intern("local_shell");
                if let Some(call) = reader.draft.parts.last_mut() {
                    call.name = Some(name);
                }
            }
            Role::Assistant
        }
        Type::Output => {
            let (id, output) = (item.get(id_key(item)), item.get(Key::Output));
            let stub = item.get(Key::Mark).is_some_and(|mark| is_stub(&mark));
            read_result(&mut reader, ("output", output.as_ref()), id.as_ref(), false, stub)?;
            Role::Tool
        }
        Type::Reasoning => {
            let mut tokens = 0;
            for list in [Key::Summary, Key::Content].into_iter().filter_map(|key| item.get(key)) {
                let mut texts = Vec::new();
                list.elements(|_, block| texts.extend(block.get(Key::Text)));
                for text in texts {
                    tokens += reader.counted(&text)?.map_or(0, |c| c.tokens);
                }
            }
            if item.get(Key::EncryptedContent).is_some_and(|e| e.kind() != Kind::Null) {
                tokens += count::REDACTED_THINKING;
            }
            let part = Part::new(PartKind::Thinking, place, reader.source(), Some(item.clone()), tokens);
            reader.push(part);
            Role::Assistant
        }
        Type::Compaction | Type::Unknown => {
            reader.push_opaque(place, item)?;
            let (id, _) = reader.symbol(item.get(Key::CallId).as_ref());
            if let Some(part) = reader.draft.parts.last_mut() {
                part.id = id;
            }
            Role::Assistant
        }
    };
    let item = reader.finish(item, role, count::MESSAGE, flags)?;
    item.template |= kind == Type::Compaction;
    // A mark on an output says that the output is a stub, not that the model said nothing.
    item.stub &= role == Role::User;
    Ok(())
}

fn read_message<N: Node>(mut reader: Reader<'_, N>, item: &N, flags: Flags<N>) -> Result<()> {
    let role = role_of(reader.index, item.get(Key::Role).as_ref())?;
    if role == Role::Tool {
        let got = item.get(Key::Role).map_or_else(String::new, |role| describe(&role));
        return Err(Error::invalid(reader.index, "role", "system, developer, user or assistant", got, REMEDY));
    }
    let content = item.get(Key::Content);
    read_content(&mut reader, content.as_ref())?;
    let mut merged = None;
    if role == Role::User
        && let Some(content) = content.as_ref().filter(|c| c.kind() == Kind::List)
    {
        content.elements(|_, block| merged = merged_notice(block).or(merged.take()));
    }
    let item = reader.finish(item, role, count::MESSAGE, flags)?;
    item.merged_notice = merged;
    item.empty_list = content.as_ref().is_some_and(is_empty_list);
    Ok(())
}

/// Where a call or an output holds the id that pairs them: older local shell items have only `id`.
fn id_key<N: Node>(item: &N) -> Key {
    let missing = |key| item.get(key).is_none_or(|id| id.kind() == Kind::Null);
    let shell = item.get(Key::Type).and_then(|t| t.text(|t| t.str.starts_with("local_shell"))) == Some(true);
    if shell && missing(Key::CallId) && !missing(Key::Id) { Key::Id } else { Key::CallId }
}

pub(super) fn arguments<N: Node>(part: &Part<N>) -> Option<N> {
    match part.place {
        Place::Field(key) => part.node.as_ref()?.get(key),
        _ => None,
    }
}

pub(super) fn build<N: Node>(draft: &Draft<N>, item: &Item<N>) -> Build<N> {
    let parts = draft.parts_of(item);
    match &item.made {
        Some(Made::Notice(notice)) => return super::notice(item.role, notice),
        Some(Made::Start) => return super::filler(item.role, ("content", Build::Text(super::START.to_owned()))),
        Some(Made::Results) | None => {}
    }
    let Some(base) = &item.node else {
        let (id, place) = parts.first().map_or((None, Place::New), |p| (p.id, p.place));
        let kind = match place {
            Place::Field(Key::Input) => "custom_tool_call_output",
            Place::Field(Key::Action) => "local_shell_call_output",
            _ => "function_call_output",
        };
        let id_field = if place == Place::Field(Key::Action) { "id" } else { "call_id" };
        return Build::Map(vec![
            ("type", Build::Text(kind.to_owned())),
            (id_field, Build::Text(draft.name(id).to_owned())),
            ("output", Build::Text(STUB.to_owned())),
            ("_lithify", super::mark("stub")),
        ]);
    };
    let mut set = Vec::new();
    if item.empty_list {
        set.push((Key::Content, Build::Text(String::new())));
    }
    let key = if item.role == Role::Tool { Key::Output } else { Key::Content };
    if let Some(new) = content(parts, base, item.rearranged && item.merged.is_none()) {
        set.push((key, new));
    }
    if let Some(merged) = &item.merged {
        set.retain(|(key, _)| *key != Key::Content);
        let changed = if item.empty_list { Some(Build::Text(String::new())) } else { content(parts, base, false) };
        let style: Style = (Key::Content, Some("input_text"));
        set.push((Key::Content, super::with_notice(base, style, changed, merged)));
    }
    let paired = |p: &&Part<N>| p.is_call() || p.is_result();
    for part in parts.iter().filter(paired) {
        let Some(change) = &part.change else { continue };
        if change.sendable && part.is_call() {
            let keys = [Key::Name, Key::Arguments, Key::Input, Key::Action].into_iter();
            set.extend(keys.filter_map(|key| base.get(key).map(|value| (key, Build::Sendable(value)))));
        }
        if change.id || (change.sendable && part.id.is_some()) {
            set.push((id_key(base), Build::Text(draft.name(part.id).to_owned())));
        }
    }
    Build::Patch { base: base.clone(), set, unset: Vec::new() }
}
