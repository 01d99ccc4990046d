//! Content that cannot be sent: lone surrogates, empty texts, empty messages, a leading assistant message.

use super::{log, unpinned};
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::format::{Format, START, Turns};
use crate::item::{Item, Made, Part, PartKind, Place, Role};
use crate::node::Node;

const SURROGATE: &str = "a lone surrogate cannot be sent";

/// Marks every text with a lone surrogate to be rewritten.
pub(super) fn make_sendable<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    for at in 0..draft.items.len() {
        if draft.items[at].lossy_name {
            unpinned(draft, at, "name", SURROGATE)?;
            log(draft, "sendable", Some(at), None, (0, 0), SURROGATE);
        }
        let range = draft.items[at].range();
        for (number, part) in range.enumerate() {
            if draft.parts[part].lossy {
                unpinned(draft, at, "content", SURROGATE)?;
                draft.parts[part].change().sendable = true;
                draft.parts[part].lossy = false;
                let tokens = draft.parts[part].tokens;
                log(draft, "sendable", Some(at), Some(number), (tokens, tokens), SURROGATE);
            }
        }
    }
    Ok(())
}

/// OpenAI chat: an empty content list becomes an empty string, an empty list of calls goes (the builder does it; here it is checked and logged).
pub(super) fn empty_lists<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    for at in 0..draft.items.len() {
        if draft.items[at].empty_list {
            unpinned(draft, at, "content", "an empty content list is refused")?;
            log(draft, "empty_list", Some(at), None, (0, 0), "an empty content list is refused");
        }
        if draft.items[at].empty_calls {
            unpinned(draft, at, "tool_calls", "an empty list of calls is refused")?;
            log(draft, "empty_list", Some(at), None, (0, 0), "an empty list of calls is refused");
        }
    }
    Ok(())
}

/// Responses: a reasoning item without the item of the model that it belongs to goes.
pub(super) fn dangling_reasoning<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    if draft.format != Format::Responses {
        return Ok(());
    }
    const REASON: &str = "reasoning without the item that it belongs to";
    // From the end: what follows has been judged.
    let mut keep = vec![true; draft.items.len()];
    let mut next = None;
    for at in (0..keep.len()).rev() {
        let item = &draft.items[at];
        let reasoning = draft.parts_of(item).iter().any(|p| p.kind == PartKind::Thinking);
        if reasoning && next != Some(Role::Assistant) {
            unpinned(draft, at, "type", REASON)?;
            let tokens = draft.tokens(&draft.items[at]);
            log(draft, "drop_reasoning", Some(at), None, (tokens, 0), REASON);
            keep[at] = false;
        } else {
            next = Some(item.role);
        }
    }
    let mut keep = keep.into_iter();
    draft.items.retain(|_| keep.next().unwrap_or(true));
    Ok(())
}

/// Empty text blocks go, and messages that are left with nothing, or with only what says nothing: thinking (Anthropic, Bedrock), cache points.
pub(super) fn drop_empty<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    let last = draft.items.len().saturating_sub(1);
    let mut keep = vec![true; draft.items.len()];
    for (at, keep) in keep.iter_mut().enumerate() {
        let may_be_empty = draft.format == Format::Anthropic && at == last && draft.items[at].role == Role::Assistant;
        let parts = draft.parts_of(&draft.items[at]).to_vec();
        let string = matches!(parts.as_slice(), [only] if only.place == Place::Content);
        let goes = |p: &Part<N>| p.blank && p.kind == PartKind::Text && !(string && may_be_empty);
        let left = caches(&parts, draft.items[at].parts.start, goes);
        let changed = left.len() != parts.len() || left.iter().zip(&parts).any(|(a, b)| a.change != b.change);
        let format = draft.format;
        let silent = |p: &Part<N>| match p.kind {
            PartKind::Thinking | PartKind::RedactedThinking => format != Format::Gemini,
            PartKind::Opaque => format == Format::Bedrock && p.cached,
            _ => false,
        };
        let speaks = draft.items[at].role == Role::User && format == Format::Anthropic;
        let thinking = !left.is_empty() && !speaks && left.iter().all(silent);
        if thinking || (left.is_empty() && !may_be_empty) {
            unpinned(draft, at, "content", "an empty message is refused")?;
            let tokens = draft.tokens(&draft.items[at]);
            log(
                draft,
                "drop_empty",
                Some(at),
                None,
                (tokens, 0),
                if thinking { "nothing that says something is left" } else { "an empty message is refused" },
            );
            *keep = false;
        } else if changed {
            unpinned(draft, at, "content", "an empty text block is refused")?;
            let sum = |parts: &[Part<N>]| parts.iter().map(|p| p.tokens).sum();
            log(
                draft,
                "drop_empty",
                Some(at),
                None,
                (sum(&parts), sum(&left)),
                "an empty block, or cache_control on one, is refused",
            );
            draft.rearrange(at, left);
        }
    }
    let mut keep = keep.into_iter();
    draft.items.retain(|_| keep.next().unwrap_or(true));
    Ok(())
}

/// The parts that stay (they stand in the arena from `start` on), with the `cache_control` of empty ones moved to the next that can carry it, else to the one before.
fn caches<N: Node>(parts: &[Part<N>], start: u32, goes: impl Fn(&Part<N>) -> bool) -> Vec<Part<N>> {
    let mut parts = parts.to_vec();
    let takes = |p: &Part<N>| {
        let kind = matches!(p.kind, PartKind::Text | PartKind::Call | PartKind::Result | PartKind::Image | PartKind::Document);
        kind && !p.blank && !p.cached && p.place != Place::Content
    };
    // The next part that can take one, and those passed on the way: each is looked at once.
    let (mut next, mut passed) = (0, Vec::new());
    for at in 0..parts.len() {
        if !(parts[at].blank && parts[at].cached) {
            continue;
        }
        let from = u32::try_from(at).map_or(start, |at| start + at);
        if parts[at].is_result() {
            parts[at].change().uncache = true;
            parts[at].cached = false;
        }
        while next < parts.len() && (next <= at || !takes(&parts[next])) {
            if takes(&parts[next]) {
                passed.push(next);
            }
            next += 1;
        }
        let taker = if next < parts.len() { Some(next) } else { passed.pop() };
        if let Some(taker) = taker {
            parts[taker].change().cache_from = Some(from);
            parts[taker].cached = true;
        }
    }
    parts.retain(|p| !goes(p));
    parts
}

/// Fillers where the turn order of the format, or strict alternation, needs them; also before a leading assistant message (Anthropic), and
/// instead of a history of which nothing is left.
pub(crate) fn order<N: Node>(draft: &mut Draft<N>, strict: bool, counter: &mut dyn Counter) -> Result<()> {
    let empty = draft.items.is_empty() && draft.came > 0;
    let opens = draft.format == Format::Anthropic && draft.items.first().is_some_and(|first| first.role != Role::User);
    if (empty || opens) && !draft.format.result_messages() {
        let filler = filler(draft, Role::User, counter)?;
        draft.items.insert(0, filler);
    }
    let mut turns = Turns::new(draft.format, strict);
    let fillers: Vec<Option<Role>> = draft.items.iter().map(|item| turns.before_item(draft, item)).collect();
    if fillers.iter().all(Option::is_none) {
        return Ok(());
    }
    let old = std::mem::take(&mut draft.items);
    draft.items.reserve(old.len() + old.len() / 4);
    for (item, needed) in old.into_iter().zip(fillers) {
        if let Some(role) = needed {
            let filler = filler(draft, role, counter)?;
            draft.items.push(filler);
        }
        draft.items.push(item);
    }
    draft.recount();
    Ok(())
}

fn filler<N: Node>(draft: &mut Draft<N>, role: Role, counter: &mut dyn Counter) -> Result<Item<N>> {
    let tokens = counter.count(START).map_err(|_| Error::Counter { index: None })?;
    let at = u32::try_from(draft.parts.len()).unwrap_or(u32::MAX);
    draft.parts.push(Part::new(PartKind::Text, Place::New, u32::MAX, None, tokens));
    let mut item = Item::new(None, None, role, at..at + 1, count::MESSAGE);
    item.made = Some(Made::Start);
    let reason =
        if role == Role::User { "a user's message must stand before it" } else { "user messages may not stand side by side" };
    log(draft, "start", None, None, (0, tokens + count::MESSAGE), reason);
    Ok(item)
}
