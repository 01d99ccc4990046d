//! What the tool calls of a history tell: files, commands and how they ended, errors, todos. One pass over the draft.
//!
//! Example: an `Edit` of `src/a.py` that succeeded and a later `pytest src/a.py` that ended with exit code 1 give the file
//! `src/a.py`, edited, `"pytest src/a.py": exit code 1`, and the unresolved error of that command.

use super::{Action, CarryOver, File, Problem, clipped, quoted};
use crate::draft::Draft;
use crate::format::CLEARED;
use crate::index::{Fixed, Map, Symbol};
use crate::item::PartKind;
use crate::node::Node;
use crate::tools;
use serde_json::Value;
use std::collections::BTreeSet;
use std::hash::Hasher;

/// The longest line of a tool's that is kept, in characters.
const LINE: usize = 200;
/// The longest command or argument in the name of a call, in characters.
const LABEL: usize = 100;
/// The newest entries of each kind that are kept: more never fit.
const MOST: usize = 200;
/// The newest answered calls that are looked at: what older ones tell would be the first to be left out.
const NEWEST: usize = 1_000;
/// Argument keys that hold a shell command.
const COMMAND_KEYS: [&str; 4] = ["command", "cmd", "script", "code"];
/// How the lines of a patch name the files it touches.
const PATCH: [(&str, Action); 3] =
    [("*** Add File: ", Action::Written), ("*** Update File: ", Action::Edited), ("*** Delete File: ", Action::Deleted)];

/// A call that was answered.
struct Fact {
    /// The item that holds the result.
    item: usize,
    tool: Option<Symbol>,
    /// The command, the path or the arguments.
    about: String,
    files: Vec<(String, Action)>,
    is_command: bool,
    /// How it ended: nothing when that is not known any more, else the line that says what went wrong, if anything did.
    end: Option<Option<String>>,
}

impl Fact {
    /// Tool and argument, for people.
    fn label<N: Node>(&self, draft: &Draft<N>) -> String {
        format!("{} {}", clipped(draft.name(self.tool), LABEL), quoted(&clipped(&self.about, LABEL)))
    }
    /// Equal for calls of one tool about the same thing.
    fn key(&self) -> u64 {
        let mut hasher = Fixed::default();
        hasher.write_u32(self.tool.map_or(u32::MAX, |tool| tool.0));
        hasher.write(self.about.as_bytes());
        hasher.finish()
    }
}

/// What the newest calls of a draft tell.
pub struct Facts {
    facts: Vec<Fact>,
    /// The number of the last fact that was a success, by key.
    successes: Map<u64, usize>,
    /// The item of the last list of todos, and those that are open.
    todos: Option<(usize, Vec<String>)>,
}

impl Facts {
    /// Reads them.
    pub fn read<N: Node>(draft: &Draft<N>) -> Self {
        let mut all = Self { facts: Vec::new(), successes: Map::default(), todos: None };
        let results = tools::results(draft);
        let mut tools = Tools::new(draft);
        for &(item, result, call) in &results[results.len().saturating_sub(NEWEST)..] {
            let Some(call) = call else { continue };
            let tool = draft.parts[call].name;
            let parsed = tools::arguments(draft, &draft.parts[call]);
            if let Some(open) = parsed.as_ref().and_then(open_todos) {
                all.todos = Some((item, open));
                continue;
            }
            let command = parsed.as_ref().and_then(command);
            let files = touched(draft, call, parsed.as_ref(), &mut tools);
            let is_command = command.is_some();
            let about = match (command, files.first()) {
                (Some(command), _) => command,
                (None, Some((path, _))) => path.clone(),
                (None, None) => parsed.map_or_else(String::new, |arguments| arguments.to_string()),
            };
            let fact = Fact { item, tool, about, files, is_command, end: end(draft, result) };
            if fact.end == Some(None) {
                all.successes.insert(fact.key(), all.facts.len());
            }
            all.facts.push(fact);
        }
        all
    }
    /// Those of `errors` that no call of that name made good.
    pub(super) fn unresolved<N: Node>(&self, draft: &Draft<N>, mut errors: Vec<Problem>) -> Vec<Problem> {
        if !errors.is_empty() {
            let good = self.facts.iter().filter(|fact| fact.end == Some(None));
            let good: BTreeSet<String> = good.map(|fact| fact.label(draft)).collect();
            errors.retain(|error| !good.contains(&error.call));
        }
        errors
    }
    /// Whether the history holds a list of todos.
    pub(super) fn has_todos(&self) -> bool {
        self.todos.is_some()
    }
    /// The carry-over of the items that go (in order) from a history of `messages` messages.
    pub fn carry_over<N: Node>(&self, draft: &Draft<N>, gone: &[usize], messages: u64, clip: usize) -> CarryOver {
        let goes = |item: usize| gone.binary_search(&item).is_ok();
        let mut carry = CarryOver { as_of: messages, instructions: instructions(draft, gone, clip), ..CarryOver::default() };
        let mut files = Files::default();
        for (number, fact) in self.facts.iter().enumerate().filter(|(_, fact)| goes(fact.item)) {
            files.see(draft, fact);
            let Some(Some(line)) = &fact.end else { continue };
            if self.successes.get(&fact.key()).is_none_or(|&at| at < number) {
                let call = fact.label(draft);
                carry.errors.retain(|e| e.call != call);
                carry.errors.push(Problem { call, line: line.clone() });
                newest(&mut carry.errors);
            }
        }
        carry.files = files.list();
        if let Some((item, open)) = &self.todos
            && goes(*item)
        {
            carry.todos.clone_from(open);
            newest(&mut carry.todos);
        }
        carry
    }
}

fn newest<T>(list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(MOST));
}

/// Texts of the human messages that go, from the oldest to the newest; of equal ones the last.
fn instructions<N: Node>(draft: &Draft<N>, gone: &[usize], clip: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for &at in gone.iter().rev() {
        let item = &draft.items[at];
        if !draft.is_human(item) || item.notice.is_some() {
            continue;
        }
        let parts = draft.parts_of(item).iter().filter(|p| p.kind == PartKind::Text && !p.stub);
        let text: Vec<String> = parts.filter_map(|p| draft.format.text(p)).collect();
        let text = clipped(text.join("\n").trim(), clip);
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
        if texts.len() == MOST {
            break;
        }
    }
    texts.reverse();
    texts
}

/// Files in the order of their last use.
#[derive(Default)]
struct Files {
    list: Vec<Option<File>>,
    at: Map<String, usize>,
    /// By last part of the path; nothing where two paths share it.
    names: Map<String, Option<String>>,
}

impl Files {
    fn see<N: Node>(&mut self, draft: &Draft<N>, fact: &Fact) {
        for (path, action) in &fact.files {
            let old = self.at.get(path).and_then(|&at| self.list[at].take());
            let mut file = old.unwrap_or_else(|| File { path: path.clone(), action: *action, outcome: None });
            file.action = if *action == Action::Deleted { *action } else { file.action.max(*action) };
            match &fact.end {
                Some(Some(line)) => file.outcome = Some(format!("{}: {}", fact.label(draft), quoted(line))),
                // It works again: a failure of a file tool is over, what a command said (it opens with a quote) still holds.
                Some(None) => file.outcome = file.outcome.filter(|outcome| outcome.starts_with('"')),
                None => {}
            }
            self.at.insert(path.clone(), self.list.len());
            self.list.push(Some(file));
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            self.names
                .entry(name.to_owned())
                .and_modify(|known| *known = known.take().filter(|known| known == path))
                .or_insert_with(|| Some(path.clone()));
        }
        let Some(end) = fact.end.as_ref().filter(|_| fact.is_command) else { return };
        let outcome = || {
            let ending = end.as_ref().map_or("ok".to_owned(), |line| quoted(line));
            format!("{}: {ending}", quoted(&clipped(&fact.about, LABEL)))
        };
        for word in fact.about.split(|c: char| !(c.is_alphanumeric() || "._-/\\+@~".contains(c))).filter(|w| !w.is_empty()) {
            let named = self.names.get(word).and_then(Option::as_ref).and_then(|path| self.at.get(path));
            if let Some(file) = self.at.get(word).or(named).and_then(|&at| self.list[at].as_mut()) {
                file.outcome = Some(outcome());
            }
        }
    }
    fn list(self) -> Vec<File> {
        let mut list: Vec<File> = self.list.into_iter().flatten().collect();
        newest(&mut list);
        list
    }
}

/// How a result says its call ended.
fn end<N: Node>(draft: &Draft<N>, result: usize) -> Option<Option<String>> {
    let part = &draft.parts[result];
    if part.stub {
        return None;
    }
    let failed = part.is_error;
    tools::with_original_text(draft, part, |text| match text {
        CLEARED => None,
        text if failed || tools::is_error_text(text) => Some(Some(what_went_wrong(text))),
        _ => Some(None),
    })
}

/// The line of a failure that says most.
fn what_went_wrong(text: &str) -> String {
    // A traceback says at its end what went wrong, a shell in the line of its exit status or before, most others at once.
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let first = lines.next().unwrap_or("");
    let last = lines.next_back().unwrap_or(first);
    let starts = |start: &str| first.get(..start.len()).is_some_and(|f| f.eq_ignore_ascii_case(start));
    let line = if starts("traceback") {
        last.to_owned()
    } else if tools::failed_exit(first).is_some() || tools::failed_exit(last).is_some() {
        let status = if tools::failed_exit(last).is_some() { last } else { first };
        let blames = |line: &&str| ["error", "fail"].iter().any(|word| line.to_ascii_lowercase().contains(word));
        match text.lines().map(str::trim).rfind(|line| *line != status && blames(line)) {
            Some(cause) => format!("{} ({})", clipped(cause, LINE / 2), clipped(status, LINE / 2)),
            None => status.to_owned(),
        }
    } else {
        first.to_owned()
    };
    clipped(&line, LINE)
}

fn command(arguments: &Value) -> Option<String> {
    let map = arguments.as_object()?;
    COMMAND_KEYS.into_iter().find_map(|key| match map.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()),
        // ["bash", "-lc", "the command"]
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            let shell = words.len() == 3 && words[1].starts_with('-') && words[1].ends_with('c');
            Some(if shell { words[2].trim().to_owned() } else { words.join(" ") })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    })
}

/// What the names of tools say about files, each name looked at once.
struct Tools {
    by_symbol: Vec<Option<Tool>>,
}

#[derive(Clone, Copy)]
struct Tool {
    edits: bool,
    action: Option<Action>,
}

impl Tools {
    fn new<N: Node>(draft: &Draft<N>) -> Self {
        Self { by_symbol: vec![None; draft.symbols.len()] }
    }
    fn look<N: Node>(&mut self, draft: &Draft<N>, name: Option<Symbol>) -> Tool {
        let Some(name) = name else { return Tool { edits: false, action: None } };
        *self.by_symbol[name.0 as usize].get_or_insert_with(|| {
            let name = tools::normalize(draft.symbols.text(name));
            Tool { edits: name.contains("edit"), action: action(&name) }
        })
    }
}

/// What a tool, or a command of a tool for all, does to a file.
fn action(verb: &str) -> Option<Action> {
    let says = |words: &[&str]| words.iter().any(|word| verb.contains(word));
    match () {
        () if says(&["delete", "remove"]) => Some(Action::Deleted),
        () if says(&["write", "create", "save"]) => Some(Action::Written),
        () if says(&["edit", "replace", "patch", "insert", "append"]) && !says(&["view"]) => Some(Action::Edited),
        () if says(&["read", "view", "cat", "open", "get", "scroll"]) => Some(Action::Read),
        () => None,
    }
}

/// The files a call works on, and how.
fn touched<N: Node>(draft: &Draft<N>, call: usize, parsed: Option<&Value>, tools: &mut Tools) -> Vec<(String, Action)> {
    let input = parsed.and_then(|a| tools::first_string(a, &["input", "patch"]));
    // A tool with free-form input takes the patch itself.
    let whole = if parsed.is_none() { draft.format.arguments(&draft.parts[call]).and_then(|a| a.to_text()) } else { None };
    let patch = input.or(whole.as_deref()).unwrap_or("");
    if patch.starts_with("*** Begin Patch") {
        let lines = patch.lines().filter_map(|line| {
            let (start, action) = PATCH.into_iter().find(|(start, _)| line.starts_with(start))?;
            Some((line[start.len()..].trim().to_owned(), action))
        });
        return lines.collect();
    }
    let Some((path, _)) = parsed.and_then(tools::path) else { return Vec::new() };
    let tool = tools.look(draft, draft.parts[call].name);
    // One tool for all (`str_replace_editor`) tells by its `command`.
    let command = parsed.and_then(|a| a.get("command")).and_then(Value::as_str).filter(|_| tool.edits);
    command.map_or(tool.action, action).map(|action| (path.to_owned(), action)).into_iter().collect()
}

/// The open entries of a todo list, when a call writes one: `todos` with `content` and `status`, or `plan` with `step` and `status`.
fn open_todos(arguments: &Value) -> Option<Vec<String>> {
    let list = ["todos", "plan"].into_iter().find_map(|key| arguments.get(key)?.as_array())?;
    let entry = |entry: &Value| {
        let text = ["content", "step", "text", "task", "title"].into_iter().find_map(|key| entry.get(key)?.as_str())?;
        let status = entry.get("status").and_then(Value::as_str).unwrap_or("pending");
        Some((text.to_owned(), status.to_ascii_lowercase()))
    };
    let entries: Vec<_> = list.iter().filter_map(entry).collect();
    let closed = ["completed", "complete", "done", "cancelled", "canceled"];
    (entries.len() == list.len())
        .then(|| entries.into_iter().filter(|(_, s)| !closed.contains(&s.as_str())).map(|(t, _)| clipped(&t, LINE)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Chars4;
    use crate::format::Format;
    use serde_json::json;

    fn draft(calls: &[(&str, Value, &str)]) -> Value {
        let mut messages = vec![json!({"role": "user", "content": "Keep the API stable.\n"})];
        for (n, (name, arguments, output)) in calls.iter().enumerate() {
            let call =
                json!({"id": n.to_string(), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            messages.push(json!({"role": "tool", "tool_call_id": n.to_string(), "content": output}));
        }
        Value::Array(messages)
    }
    fn carry(calls: &[(&str, Value, &str)]) -> CarryOver {
        let value = draft(calls);
        let draft = crate::planner::read(&&value, None, None, Some(Format::OpenAiChat), &mut Chars4).unwrap();
        let gone: Vec<usize> = (0..draft.items.len()).collect();
        Facts::read(&draft).carry_over(&draft, &gone, draft.items.len() as u64, 500)
    }

    #[test]
    fn files_commands_and_errors() {
        let facts = carry(&[
            ("Read", json!({"file_path": "src/a.py"}), "def a(): pass"),
            ("Edit", json!({"file_path": "src/a.py", "old_string": "a", "new_string": "b"}), "done"),
            ("Read", json!({"file_path": "b.py"}), "Error: no such file"),
            ("Write", json!({"file_path": "b.py", "content": ""}), "done"),
            ("Bash", json!({"command": "pytest a.py"}), "E   AssertionError\nexit code 1"),
            ("Bash", json!({"command": "make"}), "Error: no rule"),
            ("Bash", json!({"command": "make"}), "built"),
            ("apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: old.py\n*** End Patch"}), "Success"),
        ]);
        assert_eq!(facts.instructions, ["Keep the API stable."]);
        let files: Vec<_> = facts.files.iter().map(|f| (f.path.as_str(), f.action)).collect();
        assert_eq!(files, [("src/a.py", Action::Edited), ("b.py", Action::Written), ("old.py", Action::Deleted)]);
        assert_eq!(facts.files[0].outcome.as_deref(), Some("\"pytest a.py\": \"E   AssertionError (exit code 1)\""));
        assert_eq!(facts.files[1].outcome, None, "it was missing, and now it is there");
        let calls: Vec<_> = facts.errors.iter().map(|e| e.call.as_str()).collect();
        assert_eq!(calls, ["Read \"b.py\"", "Bash \"pytest a.py\""], "make was made good");
    }

    #[test]
    fn open_todos_of_the_last_list() {
        let list = |status: &str| json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": status}]});
        assert_eq!(carry(&[("TodoWrite", list("pending"), "ok")]).todos, ["b"]);
        assert!(carry(&[("TodoWrite", list("pending"), "ok"), ("TodoWrite", list("completed"), "ok")]).todos.is_empty());
    }
}
