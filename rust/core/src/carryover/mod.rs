//! Carry-over: fixed facts that outlive the middle of the history, taken out by code (DESIGN.md section 8).
//!
//! [`facts`] reads them from the draft; this file merges them with those of the notice before, chooses what fits and writes
//! the text. Only what was written is kept in the mark, so the fields stay bounded over any number of prunes. What a tool
//! printed or a model wrote stands as quoted, escaped data on one line; what the user wrote stands verbatim in `> ` lines.
//! Linear in the messages that go.

mod facts;

pub use facts::Facts;

use crate::build::Build;
use crate::count::{Counter, Failed};
use crate::draft::Draft;
use crate::index::Map;
use crate::node::{Key, Node};

/// What was last done to a file, weakest first: a file that was written and then read counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Action {
    Read,
    Edited,
    Written,
    Deleted,
}

impl Action {
    const ALL: [Self; 4] = [Self::Read, Self::Edited, Self::Written, Self::Deleted];
    const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edited => "edited",
            Self::Written => "written",
            Self::Deleted => "deleted",
        }
    }
}

/// A file that tools worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, as the tools named it.
    pub path: String,
    /// What was done to it.
    pub action: Action,
    /// How the last command that named it ended.
    pub outcome: Option<String>,
}

/// An error that no later success of the same call made good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The call: tool and what it was about.
    pub call: String,
    /// The line that says what went wrong.
    pub line: String,
}

/// The fields of a carry-over, each list from the oldest to the newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarryOver {
    /// Messages that the history had when it was written.
    pub as_of: u64,
    /// What the user said, verbatim but clipped.
    pub instructions: Vec<String>,
    /// Files.
    pub files: Vec<File>,
    /// Unresolved errors.
    pub errors: Vec<Problem>,
    /// Open todos.
    pub todos: Vec<String>,
}

/// Sections in the order in which they get room, and the per cent of the bound that each may take before the others have chosen.
const SHARES: [(Section, u64); 4] =
    [(Section::Instructions, 50), (Section::Todos, 15), (Section::Errors, 15), (Section::Files, 20)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Instructions,
    Files,
    Errors,
    Todos,
}

impl Section {
    const ALL: [Self; 4] = [Self::Instructions, Self::Files, Self::Errors, Self::Todos];
    const fn title(self) -> &'static str {
        match self {
            Self::Instructions => "The user said (later messages win):",
            Self::Files => "Files:",
            Self::Errors => "Unresolved errors:",
            Self::Todos => "Open todos:",
        }
    }
}

impl CarryOver {
    /// The fields as the mark holds them.
    #[must_use]
    pub fn fields<N>(&self) -> Build<N> {
        let text = |text: &str| Build::Text(text.to_owned());
        let texts = |list: &[String]| Build::List(list.iter().map(|t| text(t)).collect());
        let file = |file: &File| {
            let mut map = vec![("path", text(&file.path)), ("action", text(file.action.name()))];
            map.extend(file.outcome.as_deref().map(|o| ("outcome", text(o))));
            Build::Map(map)
        };
        let problem = |error: &Problem| Build::Map(vec![("call", text(&error.call)), ("line", text(&error.line))]);
        Build::Map(vec![
            ("as_of", Build::Number(self.as_of)),
            ("instructions", texts(&self.instructions)),
            ("files", Build::List(self.files.iter().map(file).collect())),
            ("errors", Build::List(self.errors.iter().map(problem).collect())),
            ("todos", texts(&self.todos)),
        ])
    }
    /// The fields of a mark; what is missing or of another shape is left out.
    pub fn read<N: Node>(carry: &N) -> Self {
        let list = |key: Key| {
            let mut entries = Vec::new();
            if let Some(list) = carry.get(key) {
                list.elements(|_, entry| entries.push(entry.clone()));
            }
            entries
        };
        let field = |entry: &N, key: Key| entry.get(key).and_then(|v| v.to_text());
        Self {
            as_of: carry.get(Key::AsOf).and_then(|n| n.as_u64()).unwrap_or(0),
            instructions: list(Key::Instructions).iter().filter_map(Node::to_text).collect(),
            files: list(Key::Files)
                .iter()
                .filter_map(|f| {
                    let action = field(f, Key::Action)?;
                    let action = Action::ALL.into_iter().find(|a| a.name() == action)?;
                    Some(File { path: field(f, Key::Path)?, action, outcome: field(f, Key::Outcome) })
                })
                .collect(),
            errors: list(Key::Errors)
                .iter()
                .filter_map(|e| Some(Problem { call: field(e, Key::Call)?, line: field(e, Key::Line)? }))
                .collect(),
            todos: list(Key::Todos).iter().filter_map(Node::to_text).collect(),
        }
    }
    /// The lines of a section, each entry from the oldest to the newest.
    fn lines(&self, section: Section) -> Vec<String> {
        match section {
            Section::Instructions => self.instructions.iter().map(|text| cited(text)).collect(),
            Section::Files => self
                .files
                .iter()
                .map(|f| {
                    let outcome = f.outcome.as_ref().map_or(String::new(), |o| format!("; last command: {o}"));
                    format!("- {} {}{outcome}", f.action.name(), plain(&f.path))
                })
                .collect(),
            Section::Errors => self.errors.iter().map(|e| format!("- {}: {}", e.call, quoted(&e.line))).collect(),
            Section::Todos => self.todos.iter().map(|t| format!("- {}", quoted(t))).collect(),
        }
    }
    fn retain(&mut self, section: Section, keep: &[bool]) {
        let mut flags = keep.iter();
        let mut stays = || flags.next().copied().unwrap_or(false);
        match section {
            Section::Instructions => self.instructions.retain(|_| stays()),
            Section::Files => self.files.retain(|_| stays()),
            Section::Errors => self.errors.retain(|_| stays()),
            Section::Todos => self.todos.retain(|_| stays()),
        }
    }
    fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.files.is_empty() && self.errors.is_empty() && self.todos.is_empty()
    }
    fn render(&self) -> String {
        let mut text = format!("As of message {}:", self.as_of);
        for section in Section::ALL {
            let lines = self.lines(section);
            if !lines.is_empty() {
                text.push('\n');
                text.push_str(section.title());
                for line in lines {
                    text.push('\n');
                    text.push_str(&line);
                }
            }
        }
        text
    }
    /// The text within `bound` tokens and the fields it tells; `None` when nothing fits. Newest entries win.
    ///
    /// # Errors
    /// A counter that failed.
    pub fn within(mut self, bound: u64, counter: &mut dyn Counter) -> Result<Option<(String, Self)>, Failed> {
        let head: String = Section::ALL.map(Section::title).join("\n");
        let mut left = bound.saturating_sub(counter.count(&format!("As of message {}:\n{head}\n", self.as_of))?);
        let mut chosen = Vec::with_capacity(SHARES.len());
        for (section, per_cent) in SHARES {
            let lines = self.lines(section);
            let mut prices = Vec::with_capacity(lines.len());
            for line in &lines {
                prices.push(counter.count(line)? + 1);
            }
            let mut keep = vec![false; lines.len()];
            let own = (bound * per_cent / 100).min(left);
            left -= own - take(&prices, &mut keep, own);
            chosen.push((section, prices, keep));
        }
        for (section, prices, mut keep) in chosen {
            left = take(&prices, &mut keep, left);
            self.retain(section, &keep);
        }
        // Lines may cost a little more together than one by one.
        while !self.is_empty() {
            let text = self.render();
            if counter.count(&text)? <= bound {
                return Ok(Some((text, self)));
            }
            let longest = SHARES.map(|(section, _)| (section, self.lines(section).len()));
            let Some((section, len)) = longest.into_iter().rev().max_by_key(|(_, len)| *len) else { break };
            let mut keep = vec![true; len];
            keep[0] = false;
            self.retain(section, &keep);
        }
        Ok(None)
    }
    /// These facts and newer ones: the newer ones win and stand last.
    #[must_use]
    pub fn merge<N: Node>(mut self, newer: Self, facts: &Facts, draft: &Draft<N>) -> Self {
        self.as_of = newer.as_of;
        self.instructions.retain(|text| !newer.instructions.contains(text));
        self.instructions.extend(newer.instructions);
        let mut old: Map<String, File> = self.files.iter().map(|f| (f.path.clone(), f.clone())).collect();
        let again: Vec<File> = newer
            .files
            .into_iter()
            .map(|mut file| {
                if let Some(old) = old.remove(&file.path) {
                    file.action = file.action.max(old.action);
                    file.outcome = file.outcome.or(old.outcome);
                }
                file
            })
            .collect();
        self.files.retain(|f| old.contains_key(&f.path));
        self.files.extend(again);
        self.errors.retain(|e| !newer.errors.iter().any(|n| n.call == e.call));
        self.errors = facts.unresolved(draft, self.errors);
        self.errors.extend(newer.errors);
        if facts.has_todos() {
            self.todos = newer.todos;
        }
        self
    }
}

/// Marks the newest entries that fit in `room`, and gives the room that is left. One that does not fit is passed over.
fn take(prices: &[u64], keep: &mut [bool], mut room: u64) -> u64 {
    for at in (0..prices.len()).rev().filter(|&at| !keep[at]).collect::<Vec<_>>() {
        if let Some(rest) = room.checked_sub(prices[at]) {
            room = rest;
            keep[at] = true;
        }
    }
    room
}

/// Text of tools and models as data: one line, escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    crate::json::quote(text, &mut out);
    out
}

/// A path as it is, unless it holds what could be read as anything else.
fn plain(path: &str) -> String {
    let simple = path.chars().all(|c| c.is_alphanumeric() || "._-/\\+@~ ".contains(c));
    if simple { path.to_owned() } else { quoted(path) }
}

/// The user's words as a citation.
fn cited(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") }).collect::<Vec<_>>().join("\n")
}

/// The first `chars` characters at most, with a sign when there was more.
fn clipped(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} [...]", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Chars4;

    fn sample() -> CarryOver {
        CarryOver {
            as_of: 40,
            instructions: vec!["Never touch the schema.\n\nAsk first.".into(), "Use Rust.".into()],
            files: vec![File { path: "src/a.py".into(), action: Action::Edited, outcome: Some("\"pytest\": ok".into()) }],
            errors: vec![Problem { call: "Bash \"make\"".into(), line: "ld: \"x\" missing".into() }],
            todos: vec!["write\ntests".into()],
        }
    }

    #[test]
    fn all_of_it_when_there_is_room() {
        let (text, fields) = sample().within(1_000, &mut Chars4).unwrap().unwrap();
        assert_eq!(fields, sample());
        assert_eq!(
            text,
            "As of message 40:\nThe user said (later messages win):\n> Never touch the schema.\n>\n> Ask first.\n> Use Rust.\n\
             Files:\n- edited src/a.py; last command: \"pytest\": ok\nUnresolved errors:\n- Bash \"make\": \"ld: \\\"x\\\" missing\"\n\
             Open todos:\n- \"write\\ntests\""
        );
    }

    #[test]
    fn the_newest_win_and_the_bound_holds() {
        let many = CarryOver { instructions: (0..100).map(|n| format!("instruction number {n}")).collect(), ..sample() };
        for bound in 0..200 {
            if let Some((text, fields)) = many.clone().within(bound, &mut Chars4).unwrap() {
                assert!(Chars4.count(&text).unwrap() <= bound);
                assert!(many.instructions.ends_with(&fields.instructions), "{bound}");
            }
        }
        assert!(many.within(10, &mut Chars4).unwrap().is_none());
    }

    #[test]
    fn fields_survive_the_mark() {
        let built = sample().fields::<&serde_json::Value>();
        let value = crate::json::value(&built);
        assert_eq!(CarryOver::read(&&value), sample());
    }
}
