//! The whole flow: read, repair, layer 1, layer 2, plan. Reads like DESIGN.md section 1.

use crate::build::Message;
use crate::count::{self, Counter};
use crate::draft::{Draft, Edit, Layer};
use crate::error::{Error, Result};
use crate::format::{EXCESS_REMEDY, EXPECTED_SIZE, Format, detect};
use crate::item::Category;
use crate::layers::{prune, tool_results};
use crate::node::{Key, Kind, Node};
use crate::policy::Policy;
use crate::{repair, validate};

/// A finished plan: the history it leads to, and how.
#[derive(Clone, Debug)]
pub struct Plan<N> {
    /// The history after the plan, as a draft.
    pub draft: Draft<N>,
    /// Tokens of the request as it came.
    pub before: u64,
    /// The input limit; `None` for a repair alone.
    pub limit: Option<u64>,
    /// Whether the history is within the limit.
    pub fits: bool,
    /// The last stage that made an edit.
    pub rung: &'static str,
    /// What a person should know.
    pub warnings: Vec<String>,
}

impl<N: Node> Plan<N> {
    /// Tokens after the plan.
    #[must_use]
    pub fn after(&self) -> u64 {
        self.draft.total()
    }
    /// Everything that was done, in order.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.draft.edits
    }
    /// The messages of the output, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<N>> {
        self.draft.items.iter().map(|item| match item.source {
            Some(source) if self.draft.untouched(item) => Message::Untouched(source),
            _ => Message::Built(self.draft.format.build(&self.draft, item)),
        })
    }
}

/// Reads a history into a draft.
///
/// # Errors
/// No list, a message of the wrong shape, two formats mixed, an unknown format, or a counter that failed.
pub fn read<N: Node>(
    messages: &N,
    system: Option<&N>,
    tools: Option<&N>,
    format: Option<Format>,
    counter: &mut dyn Counter,
) -> Result<Draft<N>> {
    if messages.kind() != Kind::List {
        return Err(Error::Invalid {
            index: None,
            field: "messages".to_owned(),
            expected: "a list of messages".to_owned(),
            got: messages.type_name(),
            remedy: "pass the list of messages itself",
        });
    }
    let format = match format {
        Some(format) => format,
        None => detect(messages, system.is_some_and(|s| s.kind() != Kind::Null))?,
    };
    let mut draft = Draft::new(format);
    draft.reserve(messages.len_hint());
    draft.ledger.add_request(Category::Overhead, count::REQUEST);
    messages.try_elements(|index, message| format.read(index as usize, message, &mut draft, counter))?;
    draft.came = draft.items.len();
    let system = system.map_or(Ok(0), |s| system_tokens(s, counter))?;
    draft.ledger.add_request(Category::System, system);
    let tools = tools.map_or(Ok(0), |t| tool_tokens(t, counter))?;
    draft.ledger.add_request(Category::Tools, tools);
    Ok(draft)
}

fn system_tokens<N: Node>(system: &N, counter: &mut dyn Counter) -> Result<u64> {
    let failed = |_| Error::Counter { index: None };
    if let Some(tokens) = system.text(|t| counter.count(t.str)) {
        return Ok(count::MESSAGE + tokens.map_err(failed)?);
    }
    if system.kind() == Kind::Null {
        return Ok(0);
    }
    if let Some(parts) = system.get(Key::Parts) {
        return system_tokens(&parts, counter);
    }
    if system.kind() != Kind::List {
        return Err(beside("system", "a string or a list of text blocks", system));
    }
    let mut total = Ok(count::MESSAGE);
    system.elements(|_, block| {
        let text = if block.kind() == Kind::Text { Some(block.clone()) } else { block.get(Key::Text) };
        if let (Ok(sum), Some(tokens)) = (&total, text.and_then(|t| t.text(|t| counter.count(t.str)))) {
            total = tokens.map(|t| sum + t).map_err(failed);
        }
    });
    total
}

fn tool_tokens<N: Node>(tools: &N, counter: &mut dyn Counter) -> Result<u64> {
    if tools.kind() == Kind::Null {
        return Ok(0);
    }
    if tools.kind() != Kind::List {
        return Err(beside("tools", "a list of tool definitions", tools));
    }
    let mut total = Ok(0);
    tools.elements(|_, tool| {
        if let Ok(sum) = &total {
            total = match count::json(tool, counter) {
                Ok(Some((tokens, _))) => Ok(sum + tokens + count::TOOL),
                Ok(None) => Err(Error::Invalid {
                    index: None,
                    field: "tools".to_owned(),
                    expected: EXPECTED_SIZE.to_owned(),
                    got: format!("{} beyond that", tool.type_name()),
                    remedy: EXCESS_REMEDY,
                }),
                Err(_) => Err(Error::Counter { index: None }),
            };
        }
    });
    total
}

fn beside<N: Node>(field: &str, expected: &str, got: &N) -> Error {
    Error::Invalid {
        index: None,
        field: field.to_owned(),
        expected: expected.to_owned(),
        got: got.type_name(),
        remedy: "pass it as the provider's API takes it",
    }
}

/// Repairs a draft; nothing else.
///
/// # Errors
/// A pinned message that would have to change, or a counter that failed.
pub fn repair<N: Node>(mut draft: Draft<N>, counter: &mut dyn Counter) -> Result<Plan<N>> {
    let before = draft.total();
    if !validate::validate(&draft).is_empty() {
        repair::repair(&mut draft, counter)?;
    }
    let rung = if draft.edits.is_empty() { "none" } else { "repair" };
    Ok(Plan { draft, before, limit: None, fits: true, rung, warnings: Vec::new() })
}

/// Compacts a draft to an input limit: repair, then the layers, cheapest first.
///
/// # Errors
/// As [`repair`]. A history that cannot fit is no error here: the plan says `fits = false` and holds the best that was reached.
pub fn compact<N: Node>(draft: Draft<N>, policy: &Policy, limit: u64, counter: &mut dyn Counter) -> Result<Plan<N>> {
    let mut plan = repair(draft, counter)?;
    let draft = &mut plan.draft;
    if policy.strict_alternation {
        repair::order(draft, true, counter)?;
    }
    let repaired = draft.total();
    tool_results::single(draft, policy, limit, counter)?;
    tool_results::total(draft, policy, limit, counter)?;
    prune::prune(draft, policy, limit, counter)?;
    if prune::minimal(draft, limit, counter)? {
        // A cut may have taken the words by which a result was an error: it is an ordinary result then, now and not only at the next call.
        tool_results::total(draft, policy, limit, counter)?;
    }
    plan.limit = Some(limit);
    plan.fits = plan.after() <= limit;
    plan.rung = rung(plan.edits());
    let after = plan.after();
    // More than 70 %, in whole numbers.
    if after * 10 < repaired * 3 {
        let percent = (repaired - after) * 100 / repaired.max(1);
        plan.warnings.push(format!("the history was reduced by {percent} % ({repaired} to {after} tokens)"));
    }
    Ok(plan)
}

fn rung(edits: &[Edit]) -> &'static str {
    match edits.last() {
        None => "none",
        Some(edit) => match edit.layer {
            Layer::Repair => "repair",
            Layer::ToolResults => edits.iter().rfind(|e| e.kind == "clear").map_or("truncate", |e| e.kind),
            Layer::Prune => "prune",
            Layer::Minimal => "minimal",
        },
    }
}
