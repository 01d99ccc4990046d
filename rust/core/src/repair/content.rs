//! Content that cannot be sent: lone surrogates, empty texts, empty messages, a leading assistant message.

use super::{log, unpinned};
use crate::count::{self, Counter};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::format::START;
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

/// OpenAI chat: an empty content list becomes an empty string (the builder does it; here it is checked and logged).
pub(super) fn empty_lists<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    for at in 0..draft.items.len() {
        if draft.items[at].empty_list {
            unpinned(draft, at, "content", "an empty content list is refused")?;
            log(draft, "empty_list", Some(at), None, (0, 0), "an empty content list is refused");
        }
    }
    Ok(())
}

/// Anthropic: empty text blocks go, and messages that are left with nothing or only thinking.
pub(super) fn drop_empty<N: Node>(draft: &mut Draft<N>) -> Result<()> {
    let last = draft.items.len().saturating_sub(1);
    let mut keep = vec![true; draft.items.len()];
    for (at, keep) in keep.iter_mut().enumerate() {
        let may_be_empty = at == last && draft.items[at].role == Role::Assistant;
        let parts = draft.parts_of(&draft.items[at]).to_vec();
        let string = matches!(parts.as_slice(), [only] if only.place == Place::Content);
        let goes = |p: &Part<N>| p.blank && p.kind == PartKind::Text && !(string && may_be_empty);
        let left = caches(&parts, draft.items[at].parts.start, goes);
        let changed = left.len() != parts.len() || left.iter().zip(&parts).any(|(a, b)| a.change != b.change);
        let thinking = !left.is_empty()
            && draft.items[at].role == Role::Assistant
            && left.iter().all(|p| matches!(p.kind, PartKind::Thinking | PartKind::RedactedThinking));
        if thinking || (left.is_empty() && !may_be_empty) {
            unpinned(draft, at, "content", "an empty message is refused")?;
            let tokens = draft.tokens(&draft.items[at]);
            log(
                draft,
                "drop_empty",
                Some(at),
                None,
                (tokens, 0),
                if thinking { "only thinking is left" } else { "an empty message is refused" },
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

/// Anthropic: a leading assistant message gets a user message before it.
pub(super) fn start<N: Node>(draft: &mut Draft<N>, counter: &mut dyn Counter) -> Result<()> {
    let fine = draft.items.first().map_or(draft.came == 0, |first| first.role == Role::User);
    if fine {
        return Ok(());
    }
    let tokens = counter.count(START).map_err(|_| Error::Counter { index: None })?;
    let at = u32::try_from(draft.parts.len()).unwrap_or(u32::MAX);
    draft.parts.push(Part::new(PartKind::Text, Place::New, u32::MAX, None, tokens));
    let mut item = Item::new(None, None, Role::User, at..at + 1, count::MESSAGE);
    item.made = Some(Made::Start);
    draft.items.insert(0, item);
    log(draft, "start", None, None, (0, tokens + count::MESSAGE), "the first message must be a user's");
    Ok(())
}
