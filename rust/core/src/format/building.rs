//! What all builders share: our mark, a notice, the new content of a result, text made sendable.

use super::Piece;
use crate::build::Build;
use crate::draft::Draft;
use crate::item::{BlockCut, Content, Item, Made, NewNotice, Part, Role};
use crate::node::{Key, Kind, Node};

/// Our mark, of a kind without fields.
pub(super) fn mark<N>(kind: &str) -> Build<N> {
    Build::Map(vec![("kind", Build::Text(kind.to_owned()))])
}

/// The message of a filler.
pub(super) fn filler<N>(role: Role, content: (&'static str, Build<N>)) -> Build<N> {
    let role = if role == Role::Assistant { "assistant" } else { "user" };
    Build::Map(vec![("role", Build::Text(role.to_owned())), content, ("_lithify", mark("stub"))])
}

/// The mark of a notice, with what the next prune has to know.
fn notice_mark<N>(notice: &NewNotice) -> Build<N> {
    let mut fields = vec![("kind", Build::Text("notice".to_owned())), ("removed", Build::Number(notice.removed))];
    if let Some(carry) = &notice.carry {
        fields.push(("carry", carry.fields()));
    }
    Build::Map(fields)
}

/// The message of a notice.
pub(super) fn notice<N>(role: Role, notice: &NewNotice) -> Build<N> {
    let role = if role == Role::Assistant { "assistant" } else { "user" };
    let content = Build::Text(notice.text.clone());
    Build::Map(vec![("role", Build::Text(role.to_owned())), ("content", content), ("_lithify", notice_mark(notice))])
}

/// A text block; `kind` is its `type`, in formats that have one.
pub(super) fn text_block<N>(kind: Option<&str>, text: Build<N>) -> Vec<(&'static str, Build<N>)> {
    let mut fields: Vec<_> = kind.map(|kind| ("type", Build::Text(kind.to_owned()))).into_iter().collect();
    fields.push(("text", text));
    fields
}

/// A list of one text block without a `type`.
pub(super) fn one_text<N>(text: &str) -> Build<N> {
    Build::List(vec![Build::Map(text_block(None, Build::Text(text.to_owned())))])
}

/// A message that is a list of blocks without a `type`, under `key`.
pub(super) fn message_of_blocks<N: Node>(
    draft: &Draft<N>,
    item: &Item<N>,
    key: Key,
    block: impl Fn(&Part<N>) -> Build<N>,
) -> Build<N> {
    let role = || {
        let name = match (item.role, key) {
            (Role::Assistant, Key::Parts) => "model",
            (Role::Assistant, _) => "assistant",
            _ => "user",
        };
        Build::Text(name.to_owned())
    };
    match &item.made {
        Some(Made::Notice(notice)) => {
            let content = (key.as_str(), one_text(&notice.text));
            return Build::Map(vec![("role", role()), content, ("_lithify", notice_mark(notice))]);
        }
        Some(Made::Start) => {
            let content = (key.as_str(), one_text(super::START));
            return Build::Map(vec![("role", role()), content, ("_lithify", mark("stub"))]);
        }
        Some(Made::Results) | None => {}
    }
    let content = Build::List(draft.parts_of(item).iter().map(block).collect());
    let Some(base) = &item.node else {
        return Build::Map(vec![("role", Build::Text("user".to_owned())), (key.as_str(), content)]);
    };
    let content = match &item.merged {
        Some(notice) => with_notice(base, (key, None), Some(content), notice),
        None => content,
    };
    Build::Patch { base: base.clone(), set: vec![(key, content)], unset: Vec::new() }
}

/// A message's content with the notice as one more text block.
pub(super) fn with_notice<N: Node>(
    base: &N,
    (key, kind): (Key, Option<&str>),
    changed: Option<Build<N>>,
    notice: &NewNotice,
) -> Build<N> {
    let mut block = text_block(kind, Build::Text(notice.text.clone()));
    block.push(("_lithify", notice_mark(notice)));
    let block = Build::Map(block);
    let text_block = |text| Build::Map(text_block(kind, text));
    let content = base.get(key);
    let mut blocks = match (changed, content) {
        (Some(Build::List(blocks)), _) => blocks,
        (Some(text), _) => vec![text_block(text)],
        (None, Some(content)) if content.kind() == Kind::List => same_blocks(&content),
        (None, Some(content)) if content.kind() == Kind::Text => vec![text_block(Build::Same(content))],
        (None, _) => Vec::new(),
    };
    // A notice that was merged before is replaced.
    match blocks.iter_mut().rfind(|b| matches!(b, Build::Same(node) if super::reading::merged_notice(node).is_some())) {
        Some(old) => *old = block,
        None => blocks.push(block),
    }
    Build::List(blocks)
}

fn same_blocks<N: Node>(content: &N) -> Vec<Build<N>> {
    let mut blocks = Vec::new();
    content.elements(|_, block| blocks.push(Build::Same(block.clone())));
    blocks
}

/// The content of a result that was cleared or cut. A `cache_control` in it moves onto the text.
pub(super) fn result_content<N: Node>(content: Option<&N>, new: &Content) -> Build<N> {
    let list = content.filter(|c| c.kind() == Kind::List);
    match (new, list) {
        (Content::Whole(text), None) => Build::Text(text.to_string()),
        (Content::Whole(text), Some(list)) => {
            let mut cache = None;
            list.elements(|_, block| cache = block.get(Key::CacheControl).or(cache.take()));
            let Some(cache) = cache else { return Build::Text(text.to_string()) };
            Build::List(vec![Build::Map(vec![
                ("type", Build::Text("text".to_owned())),
                ("text", Build::Text(text.to_string())),
                ("cache_control", Build::Same(cache)),
            ])])
        }
        (Content::Blocks(cuts), Some(list)) => {
            let mut blocks = Vec::new();
            list.elements(|at, block| {
                // Cuts are in the order of the blocks.
                match cuts.binary_search_by_key(&at, BlockCut::block).ok().map(|cut| &cuts[cut]) {
                    None => blocks.push(sendable_block(block.clone())),
                    Some(BlockCut::Gone(_)) => {}
                    Some(BlockCut::Text(_, text)) if block.kind() == Kind::Text => blocks.push(Build::Text(text.clone())),
                    Some(BlockCut::Text(_, text)) => blocks.push(Build::Patch {
                        base: block.clone(),
                        set: vec![(Key::Text, Build::Text(text.clone()))],
                        unset: Vec::new(),
                    }),
                }
            });
            Build::List(blocks)
        }
        (Content::Blocks(_), None) => Build::Text(String::new()),
    }
}

/// Content whose texts are rewritten without lone surrogates.
pub(super) fn sendable_content<N: Node>(content: N) -> Build<N> {
    match content.kind() {
        Kind::Text => Build::Sendable(content),
        Kind::List => {
            let mut blocks = Vec::new();
            content.elements(|_, block| blocks.push(sendable_block(block.clone())));
            Build::List(blocks)
        }
        Kind::Map => Build::Sendable(content),
        _ => Build::Same(content),
    }
}

/// A block whose own text is rewritten without lone surrogates; every other block as it came.
pub(super) fn sendable_block<N: Node>(block: N) -> Build<N> {
    if block.kind() == Kind::Text {
        return Build::Sendable(block);
    }
    match block.get(Key::Text).filter(|t| t.text(|t| t.lossy) == Some(true)) {
        Some(text) => Build::Patch { base: block, set: vec![(Key::Text, Build::Sendable(text))], unset: Vec::new() },
        None => Build::Same(block),
    }
}

/// The pieces of a result's content; `price` gives the tokens of a block that is no text.
pub(super) fn content_pieces<N: Node>(content: &N, price: impl Fn(&N) -> Option<u64>) -> Vec<Piece<N>> {
    if content.kind() == Kind::Text {
        return vec![Piece { block: None, text: Some(content.clone()), tokens: 0 }];
    }
    let mut pieces = Vec::new();
    content.elements(|at, block| {
        let text = if block.kind() == Kind::Text {
            Some(block.clone())
        } else {
            let plain =
                block.get(Key::Type).and_then(|kind| kind.text(|t| matches!(t.str, "text" | "input_text" | "output_text")));
            block.get(Key::Text).filter(|t| plain == Some(true) && t.kind() == Kind::Text)
        };
        let priced = price(block);
        let text = if priced.is_some() { None } else { text };
        pieces.push(Piece { block: Some(at), text, tokens: priced.unwrap_or(0) });
    });
    pieces
}
