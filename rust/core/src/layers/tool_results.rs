//! Layer 1: tool results. One that is huge is truncated; when the history fills up, old ones are cleared, in an order that gives up
//! the least useful first. DESIGN.md section 5.
//!
//! Below the trigger this costs one comparison per result. Names, arguments and texts are looked at only when something
//! will be cleared.

use crate::count::{self, Counter};
use crate::draft::{Draft, Layer};
use crate::error::{Error, Result};
use crate::format::{CLEARED, TRUNCATED};
use crate::index::{Fixed, Map, Symbol, strong_hash};
use crate::item::{BlockCut, Content, Role};
use crate::node::Node;
use crate::policy::{Clear, Policy};
use crate::tools;
use crate::truncate::truncate;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
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
            (Content::Whole(cut.into()), tokens)
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
    let reason = format!("a single result of {before} tokens, over {most}").into();
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
        Some(Content::Whole(text)) => return Texts::Whole(text.to_string()),
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
    /// Its number among the results.
    number: usize,
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
    let candidates = candidates(draft, clear, price, clear.target.of(limit));
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
    let reason = Cow::Borrowed(candidate.rank.reason());
    draft.set_content(
        candidate.item,
        candidate.part,
        Content::Whole(Cow::Borrowed(CLEARED)),
        price,
        (Layer::ToolResults, "clear", reason),
    );
}

/// The results that may be cleared, in the order in which they go. When all of them must go to reach `target`, none is looked at closely.
fn candidates<N: Node>(draft: &Draft<N>, clear: &Clear, price: u64, target: u64) -> Vec<Candidate> {
    let turns = turns(draft);
    let last_turn = draft.items.iter().filter(|item| item.role == Role::Assistant).count();
    let older_than = |part: usize, more: usize| last_turn - turns[part] as usize >= more;
    let results = tools::results(draft);
    let newest = results.len().saturating_sub(clear.keep);
    let mut names = Names::new(clear, draft);
    let mut candidates = Vec::new();
    let mut spare = 0;
    for (number, &(item, part, call)) in results[..newest].iter().enumerate() {
        let result = &draft.parts[part];
        if draft.items[item].pinned || result.tokens <= price {
            continue;
        }
        let list = names.look(draft, call.and_then(|c| draft.parts[c].name)).0;
        if list == List::Kept || (clear.literal && list == List::Other) {
            continue;
        }
        if !older_than(call.unwrap_or(part), clear.errors_keep_turns) && tools::is_error(draft, result) {
            continue;
        }
        spare += result.tokens - price;
        candidates.push(Candidate { item, part, number, unlisted: list == List::Other, rank: Rank::Rest });
    }
    let all_go = !clear.eager && draft.total().saturating_sub(spare) > target;
    if !clear.literal && !all_go {
        let repeats = repeats(draft, &results, &mut names);
        for candidate in &mut candidates {
            let result = &draft.parts[candidate.part];
            let call = results[candidate.number].2.unwrap_or(candidate.part);
            candidate.rank = match () {
                () if repeats[candidate.number] => Rank::Repeat,
                () if tools::is_error(draft, result) => Rank::Error,
                () if result.tokens >= clear.verbose && older_than(call, clear.verbose_turns) => Rank::Verbose,
                () => Rank::Rest,
            };
        }
    }
    candidates.sort_by_key(|c| (c.unlisted, c.rank));
    candidates
}

/// For each part, the number of turns that have started, up to and with its item.
fn turns<N: Node>(draft: &Draft<N>) -> Vec<u32> {
    let mut turns = vec![0; draft.parts.len()];
    let mut turn = 0;
    for item in &draft.items {
        turn += u32::from(item.role == Role::Assistant);
        turns[item.range()].fill(turn);
    }
    turns
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Listed,
    Kept,
    Other,
}

/// Which list each tool name is on, and whether it reads files; every name is normalised once.
struct Names<'a> {
    clear: &'a Clear,
    /// By symbol; the last is for calls without a name.
    known: Vec<Option<(List, bool)>>,
}

impl<'a> Names<'a> {
    fn new<N: Node>(clear: &'a Clear, draft: &Draft<N>) -> Self {
        Self { clear, known: vec![None; draft.symbols.len() + 1] }
    }
    fn look<N: Node>(&mut self, draft: &Draft<N>, name: Option<Symbol>) -> (List, bool) {
        let at = name.map_or(self.known.len() - 1, |name| name.0 as usize);
        *self.known[at].get_or_insert_with(|| {
            let normal = tools::normalize(draft.name(name));
            let on = |list: &[String]| list.contains(&normal);
            let list = if on(&self.clear.protected) || on(&self.clear.exclude_tools) {
                List::Kept
            } else if on(&self.clear.listed) {
                List::Listed
            } else {
                List::Other
            };
            (list, on(&self.clear.readers))
        })
    }
}

/// Later reads of one file.
#[derive(Default)]
struct Reads {
    whole: bool,
    arguments: BTreeSet<String>,
}

/// The results with one text seen so far. Texts are told apart by their length and a sample; whole ones are hashed only when these meet.
struct Alike {
    first: usize,
    by_hash: Option<Map<u64, Vec<usize>>>,
}

/// Length, and 32 bytes of the start, the middle and the end.
fn sample(text: &str) -> u64 {
    const SIZE: usize = 32;
    let bytes = text.as_bytes();
    let mut hasher = Fixed::default();
    hasher.write_usize(bytes.len());
    if bytes.len() <= 3 * SIZE {
        hasher.write(bytes);
    } else {
        let middle = bytes.len() / 2;
        hasher.write(&bytes[..SIZE]);
        hasher.write(&bytes[middle..middle + SIZE]);
        hasher.write(&bytes[bytes.len() - SIZE..]);
    }
    hasher.finish()
}

/// Whether a result seen before has the text of this one; remembers it.
fn is_repeat<N: Node>(draft: &Draft<N>, seen: &mut Map<u64, Alike>, part: usize) -> bool {
    let text_of = |part: usize| &draft.parts[part];
    let Some(key) = tools::with_text(draft, text_of(part), |text| (!text.is_empty()).then(|| sample(text))) else { return false };
    let alike = match seen.entry(key) {
        Entry::Vacant(free) => {
            free.insert(Alike { first: part, by_hash: None });
            return false;
        }
        Entry::Occupied(alike) => alike.into_mut(),
    };
    let whole = |part: usize| tools::with_text(draft, text_of(part), strong_hash);
    let first = alike.first;
    let by_hash = alike.by_hash.get_or_insert_with(|| Map::from_iter([(whole(first), vec![first])]));
    let same = by_hash.entry(whole(part)).or_default();
    let equal = |other: usize| {
        tools::with_text(draft, text_of(part), |text| tools::with_text(draft, text_of(other), |other| text == other))
    };
    let repeat = same.iter().any(|&other| equal(other));
    if !repeat {
        same.push(part);
    }
    repeat
}

/// Parts of the results that a later one repeats: the same text, or a later read of the same file.
fn repeats<N: Node>(draft: &Draft<N>, results: &[(usize, usize, Option<usize>)], names: &mut Names<'_>) -> Vec<bool> {
    let mut texts: Map<u64, Alike> = Map::default();
    let mut reads: Map<String, Reads> = Map::default();
    let mut repeats = vec![false; results.len()];
    for (number, &(_, part, call)) in results.iter().enumerate().rev() {
        repeats[number] = is_repeat(draft, &mut texts, part);
        let Some(call) = call.filter(|&c| names.look(draft, draft.parts[c].name).1) else { continue };
        let Some(arguments) = tools::arguments(draft, &draft.parts[call]) else { continue };
        let Some((path, only)) = tools::path(&arguments) else { continue };
        let later = reads.entry(path.to_owned()).or_default();
        let canonical = tools::canonical(&arguments);
        repeats[number] |= later.whole || later.arguments.contains(&canonical);
        later.whole |= only;
        later.arguments.insert(canonical);
    }
    repeats
}
