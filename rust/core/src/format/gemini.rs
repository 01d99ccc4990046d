//! Gemini contents: `user` and `model` with `parts`; keys in camel case or, as the SDKs spell them, with underscores.
//!
//! Calls and responses may come without ids. Then they belong together by order and name, and the reader gives both the same
//! id of our own, which begins with a control character and is never written: everything behind the reader knows only ids.
//! Example: calls `f`, `g`, `f` and responses `g`, `f`, `f` pair as 2-1, 1-2, 3-3.

use super::building::{message_of_blocks, sendable_block};
use super::reading::{Flags, Reader, describe, is_stub, merged_notice};
use super::{Piece, STUB};
use crate::build::Build;
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::index::{Map, Symbol};
use crate::item::{BlockCut, Content, Item, Notice, Part, PartKind, Place, Role};
use crate::node::{Key, Kind, Node};
use std::collections::VecDeque;

const REMEDY: &str = "pass the contents as the provider's API takes them: a role and a list of parts";

/// How ids of our own begin.
const OWN: char = '\u{1}';

pub(super) fn read<N: Node>(index: usize, message: &N, draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    if message.kind() != Kind::Map {
        return Err(Error::invalid(index, "", "a content mapping", describe(message), "pass a list of contents"));
    }
    let (mut speaker, mut parts) = (None, None);
    let mut flags = Flags::default();
    message.each(|key, value| match key {
        Key::Role => speaker = Some(value.clone()),
        Key::Parts => parts = Some(value.clone()),
        _ => flags.take(key, value),
    });
    let speaker = role_of(index, speaker.as_ref())?;
    let mut reader = Reader::new(index, draft, counter);
    let mut merged = None;
    if let Some(parts) = parts.filter(|p| p.kind() != Kind::Null) {
        if parts.kind() != Kind::List {
            return Err(reader.invalid("parts", "a list of parts", &parts, REMEDY));
        }
        parts.try_elements(|at, part| read_part(&mut reader, speaker, at, part, &mut merged))?;
    }
    let start = reader.start as usize;
    let item = reader.finish(message, speaker, count::MESSAGE, flags)?;
    item.merged_notice = merged;
    if draft.parts[start..].iter().any(Part::is_call) {
        draft.turn = Turn::default();
        for call in draft.parts[start..].iter().filter(|p| p.is_call()) {
            draft.turn.call(call);
        }
    }
    Ok(())
}

fn role_of<N: Node>(index: usize, node: Option<&N>) -> Result<Role> {
    let Some(node) = node.filter(|n| n.kind() != Kind::Null) else { return Ok(Role::User) };
    let known = node.text(|t| match t.str {
        "user" | "function" => Some(Role::User),
        "model" => Some(Role::Assistant),
        _ => None,
    });
    known.flatten().ok_or_else(|| {
        let remedy = "pass system text as `system=`; use the provider's role names, or name the format";
        Error::invalid(index, "role", "user or model", describe(node), remedy)
    })
}

/// What tells a part, in one spelling, and what stands under it.
fn told<N: Node>(part: &N) -> Option<(Key, Key, N)> {
    let mut told: Option<(Key, Key, N)> = None;
    part.each(|key, value| {
        let kind = match key {
            Key::Text => Key::Text,
            Key::GeminiCall | Key::FunctionCall => Key::GeminiCall,
            Key::GeminiResponse | Key::SnakeResponse => Key::GeminiResponse,
            Key::InlineData | Key::SnakeInlineData => Key::InlineData,
            Key::FileData | Key::SnakeFileData => Key::FileData,
            _ => return,
        };
        if told.is_none() && value.kind() != Kind::Null {
            told = Some((kind, key, value.clone()));
        }
    });
    told
}

fn read_part<N: Node>(
    reader: &mut Reader<'_, N>,
    speaker: Role,
    at: u32,
    part: &N,
    merged: &mut Option<Box<Notice<N>>>,
) -> Result<()> {
    let place = Place::Block(at);
    if part.kind() != Kind::Map {
        return Err(reader.invalid(format!("parts[{at}]"), "a part mapping", part, REMEDY));
    }
    let Some((kind, key, inner)) = told(part) else { return reader.push_opaque(place, part) };
    match kind {
        Key::Text => {
            let Some(counted) = reader.counted(&inner)? else {
                return Err(reader.invalid(format!("parts[{at}].text"), "a string", &inner, REMEDY));
            };
            let present = |key| part.get(key).is_some_and(|value| value.kind() != Kind::Null);
            if part.get(Key::Thought).is_some_and(|thought| thought.is_true()) {
                let thinking = reader.push_text(PartKind::Thinking, place, part, counted);
                (thinking.blank, thinking.lossy) = (false, false);
                return Ok(());
            }
            let signed = present(Key::ThoughtSignature) || present(Key::SnakeThoughtSignature);
            let notice = if speaker == Role::User { merged_notice(part) } else { None };
            let text = reader.push_text(PartKind::Text, place, part, counted);
            // White space is text here, and the last part of a signed stream is empty text with the signature.
            text.blank = !signed && inner.text(|t| t.str.is_empty()) == Some(true);
            text.stub = notice.is_some();
            *merged = notice.or(merged.take());
        }
        Key::GeminiCall if speaker == Role::Assistant => {
            let (mut id, mut name, mut args) = (None, None, None);
            inner.each(|key, value| match key {
                Key::Id => id = Some(value.clone()),
                Key::Name => name = Some(value.clone()),
                Key::Args => args = Some(value.clone()),
                _ => {}
            });
            let index = reader.index;
            let call = reader.push_call(place, part, id.as_ref(), name.as_ref(), args.as_ref())?;
            if call.id.is_none() {
                call.legacy = true;
                let own = reader.draft.symbols.intern(&format!("{OWN}{index}.{at}"));
                if let Some(call) = reader.draft.parts.last_mut() {
                    call.id = Some(own);
                }
            }
        }
        Key::GeminiResponse if speaker == Role::User => read_response(reader, at, part, &inner)?,
        Key::GeminiCall | Key::GeminiResponse => {
            let expected = "functionCall in a model content, functionResponse in a user content";
            return Err(reader.invalid(format!("parts[{at}].{}", key.as_str()), expected, part, REMEDY));
        }
        _ => {
            let (kind, tokens) = data(&inner, reader.draft.format.image());
            let part = Part::new(kind, place, reader.source(), Some(part.clone()), tokens);
            reader.push(part);
        }
    }
    Ok(())
}

/// Kind and price of inline or uploaded data.
fn data<N: Node>(inner: &N, image: u64) -> (PartKind, u64) {
    let mime = inner.get(Key::MimeType).or_else(|| inner.get(Key::SnakeMimeType));
    let starts = |start| mime.as_ref().and_then(|m| m.text(|t| t.str.starts_with(start))) == Some(true);
    match () {
        () if starts("image/") => (PartKind::Image, image),
        () if starts("audio/") => (PartKind::Audio, count::AUDIO),
        () => (PartKind::Document, count::DOCUMENT),
    }
}

fn read_response<N: Node>(reader: &mut Reader<'_, N>, at: u32, part: &N, inner: &N) -> Result<()> {
    let (mut id, mut name, mut response, mut media) = (None, None, None, None);
    inner.each(|key, value| match key {
        Key::Id => id = Some(value.clone()),
        Key::Name => name = Some(value.clone()),
        Key::Response => response = Some(value.clone()),
        Key::Parts => media = Some(value.clone()),
        _ => {}
    });
    let (mut tokens, mut lossy, mut is_error) = (count::RESULT, false, false);
    let mut values = Vec::new();
    match response {
        Some(response) if response.kind() == Kind::Map => response.each(|key, value| {
            is_error |= key == Key::Error && value.kind() != Kind::Null;
            values.push(value.clone());
        }),
        Some(other) if other.kind() != Kind::Null => {
            return Err(reader.invalid(format!("parts[{at}].functionResponse.response"), "a mapping", &other, REMEDY));
        }
        _ => {}
    }
    for value in values {
        let counted = match reader.counted(&value)? {
            Some(counted) => counted,
            None => reader.json(&value)?,
        };
        tokens += counted.tokens;
        lossy |= counted.lossy;
    }
    if let Some(media) = media {
        let image = reader.draft.format.image();
        media.elements(|_, part| tokens += told(part).map_or(image, |(_, _, inner)| data(&inner, image).1));
    }
    let stub = part.get(Key::Mark).is_some_and(|mark| is_stub(&mark));
    let (id, lossy_id) = reader.symbol(id.as_ref());
    let (name, _) = reader.symbol(name.as_ref());
    let found = reader.draft.turn.answer(id, name, stub);
    let mut result = Part::new(PartKind::Result, Place::Block(at), reader.source(), Some(part.clone()), tokens);
    // What matches no call goes by its place alone.
    result.legacy = found.map_or_else(|| id.is_none() && reader.draft.turn.is_anonymous(), |(_, anonymous)| anonymous);
    result.id = found.map(|(id, _)| id).or(id);
    result.name = name;
    result.lossy = lossy || lossy_id;
    result.is_error = is_error;
    result.stub = stub;
    reader.push(result);
    Ok(())
}

/// The calls of a turn, for the responses that name no ids.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    calls: Vec<TurnCall>,
    /// The call of an id; nothing where two calls share it.
    by_id: Map<Symbol, Option<usize>>,
    /// Calls of a name, by whether they came without an id; the first open one is found from the front.
    by_name: Map<(bool, Symbol), VecDeque<usize>>,
    /// The last call of a name, without an id, that a stub of ours answers.
    stubbed: Map<Symbol, usize>,
}

#[derive(Clone, Copy, Debug)]
struct TurnCall {
    id: Symbol,
    anonymous: bool,
    answered: bool,
}

impl Turn {
    fn call<N>(&mut self, part: &Part<N>) {
        let Some(id) = part.id else { return };
        let at = self.calls.len();
        self.calls.push(TurnCall { id, anonymous: part.legacy, answered: false });
        self.by_id.entry(id).and_modify(|known| *known = None).or_insert(Some(at));
        if let Some(name) = part.name {
            self.by_name.entry((part.legacy, name)).or_default().push_back(at);
        }
    }
    /// The call that a response answers, and whether that came without an id: by id; else by name, calls without an id first, the
    /// first open one. A response that comes after a stub of ours answers the same call.
    fn answer(&mut self, id: Option<Symbol>, name: Option<Symbol>, stub: bool) -> Option<(Symbol, bool)> {
        if let Some(known) = id.and_then(|id| self.by_id.get(&id)) {
            if let Some(at) = *known {
                self.calls[at].answered = true;
            }
            return id.map(|id| (id, false));
        }
        let name = name?;
        let replaced = if stub { None } else { self.stubbed.get(&name).copied() };
        let at = self.open(true, name).or_else(|| if id.is_none() { self.open(false, name) } else { None }).or(replaced)?;
        let call = &mut self.calls[at];
        call.answered = true;
        if stub && call.anonymous {
            self.stubbed.insert(name, at);
        }
        Some((call.id, call.anonymous))
    }
    fn open(&mut self, anonymous: bool, name: Symbol) -> Option<usize> {
        let queue = self.by_name.get_mut(&(anonymous, name))?;
        // Where two calls share an id, a response without one cannot tell which it answers.
        let shared = |at: usize| self.by_id.get(&self.calls[at].id) == Some(&None);
        while queue.front().is_some_and(|&at| self.calls[at].answered || shared(at)) {
            queue.pop_front();
        }
        queue.front().copied()
    }
    fn is_anonymous(&self) -> bool {
        self.calls.iter().any(|call| call.anonymous)
    }
}

fn inner<N: Node>(part: &Part<N>) -> Option<N> {
    told(part.node.as_ref()?).map(|(_, _, inner)| inner)
}

pub(super) fn arguments<N: Node>(part: &Part<N>) -> Option<N> {
    inner(part)?.get(Key::Args)
}

/// The strings of a response, each an entry of its mapping.
pub(super) fn pieces<N: Node>(part: &Part<N>) -> Vec<Piece<N>> {
    let mut pieces = Vec::new();
    if let Some(response) = inner(part).and_then(|inner| inner.get(Key::Response)) {
        let mut at = 0;
        response.each(|_, value| {
            let text = (value.kind() == Kind::Text).then(|| value.clone());
            pieces.push(Piece { block: Some(at), text, tokens: 0 });
            at += 1;
        });
    }
    pieces
}

pub(super) fn build<N: Node>(draft: &Draft<N>, item: &Item<N>) -> Build<N> {
    message_of_blocks(draft, item, Key::Parts, |part| block(draft, part))
}

fn output<N>(key: &'static str, text: &str) -> Build<N> {
    Build::Map(vec![(key, Build::Text(text.to_owned()))])
}

/// One part of the output.
fn block<N: Node>(draft: &Draft<N>, part: &Part<N>) -> Build<N> {
    let text = |symbol| draft.name(symbol).to_owned();
    let id = Some(text(part.id)).filter(|id| !id.is_empty() && !id.starts_with(OWN));
    let Some(base) = part.node.clone() else {
        let mut stub: Vec<_> = id.map(|id| ("id", Build::Text(id))).into_iter().collect();
        stub.extend([("name", Build::Text(text(part.name))), ("response", output("error", STUB))]);
        return Build::Map(vec![("functionResponse", Build::Map(stub)), ("_lithify", super::mark("stub"))]);
    };
    let Some(change) = &part.change else { return Build::Same(base) };
    let Some((kind, key, inner)) = told(&base) else { return Build::Same(base) };
    if kind == Key::Text {
        return if change.sendable { sendable_block(base) } else { Build::Same(base) };
    }
    let (mut set, mut unset) = (Vec::new(), Vec::new());
    if change.sendable {
        let keys = [Key::Name, Key::Args, Key::Response].into_iter();
        set.extend(keys.filter_map(|key| inner.get(key).map(|value| (key, Build::Sendable(value)))));
    }
    match id {
        Some(id) if change.id || change.sendable => set.push((Key::Id, Build::Text(id))),
        None if change.id => {
            set.push((Key::Name, Build::Text(text(part.name))));
            unset.push(Key::Id);
        }
        _ => {}
    }
    if let Some(new) = &change.content {
        set.retain(|(key, _)| *key != Key::Response);
        let response = match (new, inner.get(Key::Response)) {
            (Content::Blocks(cuts), Some(base)) => {
                let cuts = cuts.iter().map(|cut| match cut {
                    BlockCut::Text(at, text) => (*at, Some(text.clone())),
                    BlockCut::Gone(at) => (*at, None),
                });
                Build::Entries { base, cuts: cuts.collect() }
            }
            (Content::Whole(text), _) => {
                unset.push(Key::Parts);
                output("output", text)
            }
            (Content::Blocks(_), None) => output("output", ""),
        };
        set.push((Key::Response, response));
    }
    let inner = Build::Patch { base: inner, set, unset };
    Build::Patch { base, set: vec![(key, inner)], unset: Vec::new() }
}
