//! Layer 1: tool results. One that is huge is truncated; when the history fills up, old ones are cleared, in an order that gives up
//! the least useful first. DESIGN.md section 5.
//!
//! Below the trigger this costs one comparison per result. Names, arguments and texts are looked at only when something
//! will be cleared.

use crate::count::{self, Counter};
use crate::draft::{Draft, Layer};
use crate::error::{Error, Result};
use crate::format::{CLEARED, TRUNCATED};
use crate::index::{Fixed, Map};
use crate::item::{BlockCut, Content, Role};
use crate::node::Node;
use crate::policy::{Clear, Policy};
use crate::tools;
use crate::truncate::truncate;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

/// Truncates every single result that is over its share.
///
/// # Errors
/// A counter that failed.
pub fn single<N: Node>(draft: &mut Draft<N>, policy: &Policy, limit: u64, counter: &mut dyn Counter) -> Result<()> {
    let share = policy.clear.single_share.of(limit);
    let mut floor = None;
    for item in 0..draft.items.len() {
        if draft.items[item].pinned {
            continue;
        }
        for part in draft.items[item].range() {
            if draft.parts[part].is_result() && draft.parts[part].tokens > share {
                // Never below the placeholder's own price, so that a cleared result is not cut again.
                let floor = match floor {
                    Some(floor) => floor,
                    None => *floor.insert(placeholder(counter)?),
                };
                cap(draft, item, part, share.max(floor), Layer::ToolResults, counter)?;
            }
        }
    }
    Ok(())
}

fn placeholder(counter: &mut dyn Counter) -> Result<u64> {
    Ok(count::RESULT + counted(CLEARED, counter)?)
}

fn counted(text: &str, counter: &mut dyn Counter) -> Result<u64> {
    counter.count(text).map_err(|_| Error::Counter { index: None })
}

/// Truncates one result to a price; says whether it did.
///
/// # Errors
/// A counter that failed.
pub fn cap<N: Node>(
    draft: &mut Draft<N>,
    item: usize,
    part: usize,
    most: u64,
    layer: Layer,
    counter: &mut dyn Counter,
) -> Result<bool> {
    let before = draft.parts[part].tokens;
    if before <= most {
        return Ok(false);
    }
    let failed = |_| Error::Counter { index: None };
    let (content, tokens) = match texts(draft, part) {
        Texts::Whole(text) => {
            let Some(cut) = truncate(&text, most.saturating_sub(count::RESULT), TRUNCATED, counter).map_err(failed)? else {
                return Ok(false);
            };
            let tokens = count::RESULT + counted(&cut, counter)?;
            (Content::Whole(cut), tokens)
        }
        Texts::Blocks(blocks) => match cap_blocks(blocks, before, most, counter)? {
            Some(cut) => cut,
            None => return Ok(false),
        },
        Texts::None => return Ok(false),
    };
    if tokens >= before {
        return Ok(false);
    }
    let reason = format!("a single result of {before} tokens, over {most}");
    draft.set_content(item, part, content, tokens, (layer, "truncate", reason));
    Ok(true)
}

/// The texts of a result as they stand.
enum Texts {
    /// One string.
    Whole(String),
    /// Text blocks, in order.
    Blocks(Vec<TextBlock>),
    /// Nothing that could be cut: no text, or our placeholder.
    None,
}

struct TextBlock {
    block: u32,
    text: String,
    /// It was cut before: it has to be named again.
    cut: bool,
}

fn texts<N: Node>(draft: &Draft<N>, part: usize) -> Texts {
    let part = &draft.parts[part];
    let cuts = match part.change.as_ref().and_then(|c| c.content.as_ref()) {
        Some(Content::Whole(text)) if text == CLEARED => return Texts::None,
        Some(Content::Whole(text)) => return Texts::Whole(text.clone()),
        Some(Content::Blocks(cuts)) => cuts.as_slice(),
        None => &[],
    };
    let mut blocks = Vec::new();
    for piece in draft.format.pieces(part) {
        let Some(text) = piece.text.and_then(|text| text.to_text()) else { continue };
        let Some(block) = piece.block else {
            return if part.stub || text == CLEARED { Texts::None } else { Texts::Whole(text) };
        };
        match cuts.binary_search_by_key(&block, BlockCut::block).ok().map(|at| &cuts[at]) {
            Some(BlockCut::Text(_, text)) => blocks.push(TextBlock { block, text: text.clone(), cut: true }),
            Some(BlockCut::Gone(_)) => blocks.push(TextBlock { block, text: String::new(), cut: true }),
            None => blocks.push(TextBlock { block, text, cut: false }),
        }
    }
    match blocks.as_slice() {
        [] => Texts::None,
        [only] if only.text == CLEARED => Texts::None,
        _ => Texts::Blocks(blocks),
    }
}

/// The price of a result beside its text; `None` when it holds nothing that could be cut.
///
/// # Errors
/// A counter that failed.
pub fn beside_text<N: Node>(draft: &Draft<N>, part: usize, counter: &mut dyn Counter) -> Result<Option<u64>> {
    match texts(draft, part) {
        Texts::None => Ok(None),
        Texts::Whole(_) => Ok(Some(count::RESULT)),
        Texts::Blocks(blocks) => {
            let mut sum = 0;
            for block in blocks {
                sum += counted(&block.text, counter)?;
            }
            Ok(draft.parts[part].tokens.checked_sub(sum))
        }
    }
}

/// Text blocks are kept in order while they fit beside what is no text; the one that overruns is cut, later ones go.
fn cap_blocks(blocks: Vec<TextBlock>, before: u64, most: u64, counter: &mut dyn Counter) -> Result<Option<(Content, u64)>> {
    let mut prices = Vec::with_capacity(blocks.len());
    for block in &blocks {
        prices.push(counted(&block.text, counter)?);
    }
    let fixed = before.saturating_sub(prices.iter().sum());
    let (mut left, mut over, mut sum) = (most.saturating_sub(fixed), false, fixed);
    let mut cuts = Vec::new();
    for (TextBlock { block, text, cut }, tokens) in blocks.into_iter().zip(prices) {
        if over || (cut && text.is_empty()) {
            cuts.push(BlockCut::Gone(block));
        } else if tokens <= left {
            left -= tokens;
            sum += tokens;
            if cut {
                cuts.push(BlockCut::Text(block, text));
            }
        } else {
            let shorter = truncate(&text, left, TRUNCATED, counter).map_err(|_| Error::Counter { index: None })?;
            let Some(shorter) = shorter else { return Ok(None) };
            sum += counted(&shorter, counter)?;
            cuts.push(BlockCut::Text(block, shorter));
            over = true;
        }
    }
    Ok(Some((Content::Blocks(cuts), sum)))
}

/// A result that may be cleared.
struct Candidate {
    item: usize,
    part: usize,
    unlisted: bool,
    rank: Rank,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Repeat,
    Verbose,
    Rest,
    Error,
}

impl Rank {
    const fn reason(self) -> &'static str {
        match self {
            Self::Repeat => "a repeat of a later result",
            Self::Verbose => "verbose and old",
            Self::Rest => "old",
            Self::Error => "an old error",
        }
    }
}

/// Clears old results when the history is over the trigger.
///
/// # Errors
/// A counter that failed.
pub fn total<N: Node>(draft: &mut Draft<N>, policy: &Policy, limit: u64, counter: &mut dyn Counter) -> Result<()> {
    let clear = &policy.clear;
    let triggered = |draft: &Draft<N>| draft.total() > clear.trigger.of(limit);
    if !clear.eager && !triggered(draft) {
        return Ok(());
    }
    let price = placeholder(counter)?;
    let candidates = candidates(draft, clear, price);
    if clear.eager {
        for c in candidates.iter().filter(|c| !c.unlisted && c.rank <= Rank::Verbose) {
            clear_one(draft, c, price);
        }
    }
    if !triggered(draft) {
        return Ok(());
    }
    let open: Vec<&Candidate> = candidates.iter().filter(|c| draft.parts[c.part].tokens > price).collect();
    let at_least = clear.at_least.of(limit);
    let possible: u64 = open.iter().map(|c| draft.parts[c.part].tokens - price).sum();
    if possible < at_least && draft.total() <= policy.prune.trigger.of(limit) {
        return Ok(());
    }
    let target = clear.target.of(limit);
    let mut freed = 0;
    for candidate in open {
        if draft.total() <= target && freed >= at_least {
            break;
        }
        freed += draft.parts[candidate.part].tokens - price;
        clear_one(draft, candidate, price);
    }
    Ok(())
}

fn clear_one<N: Node>(draft: &mut Draft<N>, candidate: &Candidate, price: u64) {
    let reason = candidate.rank.reason().to_owned();
    draft.set_content(
        candidate.item,
        candidate.part,
        Content::Whole(CLEARED.to_owned()),
        price,
        (Layer::ToolResults, "clear", reason),
    );
}

/// The results that may be cleared, in the order in which they go.
fn candidates<N: Node>(draft: &Draft<N>, clear: &Clear, price: u64) -> Vec<Candidate> {
    let turns = turns(draft);
    let last_turn = turns.last().copied().unwrap_or(0);
    let results = tools::results(draft);
    let newest = results.len().saturating_sub(clear.keep);
    let mut names = Names { clear, known: Map::default() };
    let repeats = if clear.literal { BTreeSet::new() } else { repeats(draft, &results, &mut names) };
    let mut candidates = Vec::new();
    for &(item, part, call) in &results[..newest] {
        let result = &draft.parts[part];
        if draft.items[item].pinned || result.tokens <= price {
            continue;
        }
        let list = names.list(draft.name(call.and_then(|c| draft.parts[c].name)));
        if list == List::Kept || (clear.literal && list == List::Other) {
            continue;
        }
        let turn = call.map_or(turns[item], |c| turns[item_of(draft, c, item)]);
        let older_than = |turns: usize| last_turn - turn >= turns;
        let error = tools::is_error(draft, result);
        if error && !older_than(clear.errors_keep_turns) {
            continue;
        }
        let rank = match () {
            () if clear.literal => Rank::Rest,
            () if repeats.contains(&part) => Rank::Repeat,
            () if error => Rank::Error,
            () if result.tokens >= clear.verbose && older_than(clear.verbose_turns) => Rank::Verbose,
            () => Rank::Rest,
        };
        candidates.push(Candidate { item, part, unlisted: list == List::Other, rank });
    }
    candidates.sort_by_key(|c| (c.unlisted, c.rank));
    candidates
}

/// The number of turns that have started, up to and with each item.
fn turns<N: Node>(draft: &Draft<N>) -> Vec<usize> {
    let mut turn = 0;
    let count = |item: &crate::item::Item<N>| {
        turn += usize::from(item.role == Role::Assistant);
        turn
    };
    draft.items.iter().map(count).collect()
}

/// The item that holds a call, looked for backwards from the item of its result: after repair it is near.
fn item_of<N: Node>(draft: &Draft<N>, call: usize, from: usize) -> usize {
    (0..=from).rev().find(|&at| draft.items[at].range().contains(&call)).unwrap_or(from)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Listed,
    Kept,
    Other,
}

/// Which list each tool name is on; every name is normalised once.
struct Names<'a> {
    clear: &'a Clear,
    known: Map<String, (List, bool)>,
}

impl Names<'_> {
    fn look(&mut self, name: &str) -> (List, bool) {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let normal = tools::normalize(name);
        let on = |list: &[String]| list.contains(&normal);
        let list = if on(&self.clear.protected) || on(&self.clear.exclude_tools) {
            List::Kept
        } else if on(&self.clear.listed) {
            List::Listed
        } else {
            List::Other
        };
        let known = (list, on(&self.clear.readers));
        self.known.insert(name.to_owned(), known);
        known
    }
    fn list(&mut self, name: &str) -> List {
        self.look(name).0
    }
    fn reads(&mut self, name: &str) -> bool {
        self.look(name).1
    }
}

/// Later reads of one file.
#[derive(Default)]
struct Reads {
    whole: bool,
    arguments: BTreeSet<String>,
}

/// Parts of the results that a later one repeats: the same text, or a later read of the same file.
fn repeats<N: Node>(draft: &Draft<N>, results: &[(usize, usize, Option<usize>)], names: &mut Names<'_>) -> BTreeSet<usize> {
    let mut texts: Map<u64, Vec<usize>> = Map::default();
    let mut reads: BTreeMap<String, Reads> = BTreeMap::new();
    let mut repeats = BTreeSet::new();
    for &(_, part, call) in results.iter().rev() {
        let text = tools::result_text(draft, &draft.parts[part]);
        if !text.is_empty() {
            let mut hasher = Fixed::default();
            hasher.write(text.as_bytes());
            let same = texts.entry(hasher.finish()).or_default();
            if same.iter().take(4).any(|&other| tools::result_text(draft, &draft.parts[other]) == text) {
                repeats.insert(part);
            } else {
                same.push(part);
            }
        }
        let Some(call) = call.filter(|&c| names.reads(draft.name(draft.parts[c].name))) else { continue };
        let Some(arguments) = tools::parse(&draft.format.arguments(&draft.parts[call])) else { continue };
        let Some((path, only)) = tools::path(&arguments) else { continue };
        let later = reads.entry(path.to_owned()).or_default();
        let canonical = tools::canonical(&arguments);
        if later.whole || later.arguments.contains(&canonical) {
            repeats.insert(part);
        }
        later.whole |= only;
        later.arguments.insert(canonical);
    }
    repeats
}
