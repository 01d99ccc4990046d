//! What tool names, arguments and results tell: the normalised name, the file a call is about, whether a result is an error.

use crate::draft::Draft;
use crate::index::Symbol;
use crate::item::{BlockCut, Content, Part};
use crate::node::Node;
use serde_json::Value;

/// Argument keys that name the file a tool works on, in order of preference.
const PATH_KEYS: [&str; 9] =
    ["file_path", "path", "filename", "file", "filePath", "absolute_path", "absolutePath", "target_file", "uri"];

/// How results of failed tools begin (ASCII case ignored).
const ERROR_STARTS: [&str; 7] =
    ["error", "traceback (most recent call last)", "exception", "fatal", "failed", "permission denied", "command failed"];

/// A line longer than this is data, not a report of an exit status.
const LONGEST_EXIT_LINE: usize = 4_096;

/// A tool's name as the lists of the policy spell it: the last piece after `__`, `.`, `/` or `:`, ASCII letters and digits, lower case.
#[must_use]
pub fn normalize(name: &str) -> String {
    let last = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    let last = last.rsplit("__").next().unwrap_or(last);
    last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The arguments of a call, when they are a JSON object.
pub fn arguments<N: Node>(draft: &Draft<N>, call: &Part<N>) -> Option<Value> {
    let node = draft.format.arguments(call)?;
    let parsed = node.text(|text| serde_json::from_str(text.str).ok());
    let parsed = parsed.unwrap_or_else(|| {
        let mut writer = crate::json::Writer::plain();
        node.write_json(&mut writer);
        serde_json::from_str(&writer.out).ok()
    });
    parsed.filter(Value::is_object)
}

/// The string under the first of `keys` that holds one.
pub(crate) fn first_string<'a>(arguments: &'a Value, keys: &[&str]) -> Option<&'a str> {
    let strings = arguments.as_object()?.iter().filter_map(|(key, value)| {
        let rank = keys.iter().position(|k| k == key)?;
        Some((rank, value.as_str()?))
    });
    strings.min_by_key(|(rank, _)| *rank).map(|(_, text)| text)
}

/// The file that arguments name, and whether they say nothing else.
#[must_use]
pub fn path(arguments: &Value) -> Option<(&str, bool)> {
    let only = arguments.as_object().is_some_and(|map| map.len() == 1);
    Some((first_string(arguments, &PATH_KEYS)?, only))
}

/// The arguments spelled so that equal ones are equal texts: keys sorted at every depth.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = keys.into_iter().map(|(key, value)| format!("{key:?}:{}", canonical(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The texts of a result as it came, joined by line breaks.
fn original_text<N: Node>(draft: &Draft<N>, part: &Part<N>) -> String {
    if part.stub && part.node.is_none() {
        return crate::format::STUB.to_owned();
    }
    let texts: Vec<String> = draft.format.pieces(part).into_iter().filter_map(|p| p.text?.to_text()).collect();
    texts.join("\n")
}

/// The texts of a result as it stands, joined by line breaks: what the next call will see.
fn result_text<N: Node>(draft: &Draft<N>, part: &Part<N>) -> String {
    match part.change.as_ref().and_then(|c| c.content.as_ref()) {
        None => original_text(draft, part),
        Some(Content::Whole(text)) => text.to_string(),
        Some(Content::Blocks(cuts)) => {
            let pieces = draft.format.pieces(part).into_iter().filter_map(|piece| {
                match cuts.iter().find(|cut| Some(cut.block()) == piece.block) {
                    Some(BlockCut::Text(_, text)) => Some(text.clone()),
                    Some(BlockCut::Gone(_)) => None,
                    None => piece.text?.to_text(),
                }
            });
            pieces.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Lends the text of a result as it stands.
pub fn with_text<N: Node, R>(draft: &Draft<N>, part: &Part<N>, f: impl Fn(&str) -> R) -> R {
    let unchanged = part.change.as_ref().is_none_or(|c| c.content.is_none());
    let only = if unchanged { draft.format.only_text(part) } else { None };
    only.and_then(|only| only.text(|text| f(text.str))).unwrap_or_else(|| f(&result_text(draft, part)))
}

/// Lends the text of a result as it came.
pub fn with_original_text<N: Node, R>(draft: &Draft<N>, part: &Part<N>, f: impl Fn(&str) -> R) -> R {
    let only = draft.format.only_text(part);
    only.and_then(|only| only.text(|text| f(text.str))).unwrap_or_else(|| f(&original_text(draft, part)))
}

/// Whether a result reports a failure.
pub fn is_error<N: Node>(draft: &Draft<N>, part: &Part<N>) -> bool {
    part.is_error || with_text(draft, part, is_error_text)
}

/// Whether a result's text reports a failure.
#[must_use]
pub fn is_error_text(text: &str) -> bool {
    let text = text.trim_start();
    let starts = |start: &&str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if ERROR_STARTS.iter().any(starts) {
        return true;
    }
    let first = text.lines().next().unwrap_or("");
    let last = text.trim_end().rsplit('\n').next().unwrap_or("");
    [first, last].into_iter().any(|line| failed_exit(line).is_some())
}

/// The non-zero exit status that a line reports.
#[must_use]
pub fn failed_exit(line: &str) -> Option<i64> {
    if line.len() > LONGEST_EXIT_LINE {
        return None;
    }
    let bytes = line.as_bytes();
    // Each of the words stands after a space.
    let mut starts = (0..bytes.len()).filter(|&at| bytes[at] == b' ').map(|space| space + 1);
    starts.find_map(|at| {
        let (head, rest) = bytes.split_at(at);
        let (word, before): (&[u8], &[&[u8]]) = match rest.first()? | 0x20 {
            b'c' => (b"code", &[b"exit ", b"exited with ", b"return "]),
            b's' => (b"status", &[b"exit "]),
            _ => return None,
        };
        let starts = rest.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
        let ends = |tail: &&[u8]| head.len() >= tail.len() && head[head.len() - tail.len()..].eq_ignore_ascii_case(tail);
        if starts && before.iter().any(ends) { status(&line[at + word.len()..]) } else { None }
    })
}

/// The non-zero number after at least one separator.
fn status(rest: &str) -> Option<i64> {
    let number = rest.trim_start_matches([' ', ':', '=']);
    if number.len() == rest.len() {
        return None;
    }
    let digits = number.strip_prefix('-').unwrap_or(number);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<i64>().ok().filter(|&status| status != 0)
}

/// For each result of the draft, in order: its item, its part, and the part of its call.
pub(crate) fn results<N: Node>(draft: &Draft<N>) -> Vec<(usize, usize, Option<usize>)> {
    let mut calls: Vec<Option<usize>> = vec![None; draft.symbols.len()];
    let mut legacy = None;
    let mut results = Vec::new();
    for (at, item) in draft.items.iter().enumerate() {
        for part in item.range() {
            let p = &draft.parts[part];
            match (p.is_call(), p.is_result(), p.id) {
                (true, _, Some(Symbol(id))) => calls[id as usize] = Some(part),
                (true, _, None) => legacy = Some(part),
                (_, true, Some(Symbol(id))) => results.push((at, part, calls[id as usize])),
                (_, true, None) => results.push((at, part, legacy)),
                _ => {}
            }
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised() {
        let names = ["mcp__filesystem__read_file", "functions.exec_command", "Read", "str_replace_editor", "a:Web-Fetch", ""];
        assert_eq!(names.map(normalize), ["readfile", "execcommand", "read", "strreplaceeditor", "webfetch", ""]);
    }

    #[test]
    fn exit_statuses_are_read() {
        for bad in ["Exit code: 2", "x exit status 127", "exited with code=-1", "return code : 3"] {
            assert!(failed_exit(bad).is_some(), "{bad}");
        }
        for good in ["exit code 0", "exit code", "exit codes 3", "exitcode 3", "done"] {
            assert!(failed_exit(good).is_none(), "{good}");
        }
        assert!(is_error_text("  Traceback (most recent call last)\n x") && is_error_text("a\nb\nexit code 1\n"));
        assert!(!is_error_text("all fine\nexit code 1 was fixed\nok"));
    }
}
