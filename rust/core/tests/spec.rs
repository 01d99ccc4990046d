//! The spec cases of `tests/spec/*.toml`, run against the core with no Python: the same files that the Python runner reads.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a test reads files

use lithify_core::build::Message;
use lithify_core::count::Chars4;
use lithify_core::error::Error;
use lithify_core::format::{Format, TRUNCATED};
use lithify_core::planner::{self, Plan};
use lithify_core::policy::{Amount, Clear, Policy, Prune};
use lithify_core::{draft::Draft, json, truncate::truncate, validate::validate};
use serde_json::{Value, json};
use std::path::Path;

/// `repeat` and `concat` of the README beside the cases.
fn expand(value: Value) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(expand).collect(),
        Value::Object(map) => match (map.len(), map.get("repeat"), map.get("times"), map.get("concat")) {
            (2, Some(Value::String(text)), Some(times), _) => {
                Value::from(text.repeat(usize::try_from(times.as_u64().unwrap()).unwrap()))
            }
            (1, _, _, Some(Value::Array(list))) => {
                let texts = list.iter().map(|each| expand(each.clone()).as_str().unwrap().to_owned());
                Value::from(texts.collect::<String>())
            }
            _ => Value::Object(map.into_iter().map(|(key, each)| (key, expand(each))).collect()),
        },
        other => other,
    }
}

struct Case(toml::Table);

impl Case {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(toml::Value::as_str).unwrap_or_else(|| panic!("{key} in {:?}", self.0.get("name")))
    }
    fn json(&self, key: &str) -> Option<Value> {
        let text = self.0.get(key)?.as_str()?;
        Some(expand(serde_json::from_str(text).unwrap_or_else(|e| panic!("{}: {key}: {e}", self.text("name")))))
    }
    fn number(&self, key: &str) -> u64 {
        u64::try_from(self.0[key].as_integer().unwrap()).unwrap()
    }
    fn messages(&self) -> Value {
        self.json("messages").unwrap_or_else(|| json!([]))
    }
}

/// The defaults of DESIGN.md sections 5 and 6, with the settings of the case laid over them.
fn policy(given: Option<Value>) -> Policy {
    let listed =
        "read readfile view viewfile cat bash shell execcommand runshellcommand executebash grep glob searchfiles webfetch edit";
    let names = |text: &str| Value::from(text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let mut all = json!({
        "clear": {"single_share": 0.5, "trigger": 0.75, "target": 0.45, "at_least": 0.15, "keep": 3, "listed": names(listed),
            "protected": names("write writefile create createfile"), "exclude_tools": [],
            "readers": names("read readfile view viewfile cat openfile fileread open"), "verbose": 500, "verbose_turns": 3,
            "errors_keep_turns": 3, "eager": false, "literal": false},
        "prune": {"trigger": 0.8, "target": 0.4, "keep": 6, "carry_over": 0, "recent_share": 0.5, "verbatim_share": 0.25},
        "strict_alternation": false
    });
    let given = given.unwrap_or_else(|| json!({}));
    let given = if given == json!({"literal": true}) {
        json!({"clear": {"target": 0.75, "at_least": 0, "literal": true}, "prune": {"recent_share": 0, "verbatim_share": 0}})
    } else {
        given
    };
    for (group, settings) in given.as_object().unwrap() {
        match settings {
            Value::Object(map) => map.iter().for_each(|(name, value)| all[group][name] = value.clone()),
            other => all[group] = other.clone(),
        }
    }
    let amount = |value: &Value| value.as_u64().map_or_else(|| Amount::Share(value.as_f64().unwrap()), Amount::Tokens);
    let count = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let list = |value: &Value| {
        value.as_array().unwrap().iter().map(|name| lithify_core::tools::normalize(name.as_str().unwrap())).collect()
    };
    let (clear, prune) = (&all["clear"], &all["prune"]);
    Policy {
        clear: Clear {
            single_share: amount(&clear["single_share"]),
            trigger: amount(&clear["trigger"]),
            target: amount(&clear["target"]),
            at_least: amount(&clear["at_least"]),
            keep: count(&clear["keep"]),
            listed: list(&clear["listed"]),
            protected: list(&clear["protected"]),
            exclude_tools: list(&clear["exclude_tools"]),
            readers: list(&clear["readers"]),
            verbose: clear["verbose"].as_u64().unwrap(),
            verbose_turns: count(&clear["verbose_turns"]),
            errors_keep_turns: count(&clear["errors_keep_turns"]),
            eager: clear["eager"] == true,
            literal: clear["literal"] == true,
        },
        prune: Prune {
            trigger: amount(&prune["trigger"]),
            target: amount(&prune["target"]),
            keep: count(&prune["keep"]),
            carry_over: amount(&prune["carry_over"]),
            recent_share: prune["recent_share"].as_f64().unwrap(),
            verbatim_share: prune["verbatim_share"].as_f64().unwrap(),
        },
        strict_alternation: all["strict_alternation"] == true,
    }
}

fn read<'a>(case: &Case, messages: &'a Value, system: Option<&'a Value>, tools: Option<&'a Value>) -> Draft<&'a Value> {
    let format = Format::by_name(case.text("format")).unwrap();
    planner::read(&messages, system.as_ref(), tools.as_ref(), Some(format), &mut Chars4).unwrap()
}

fn output(plan: &Plan<&Value>, messages: &Value) -> Value {
    let built = plan.messages().map(|message| match message {
        Message::Untouched(at) => messages[at as usize].clone(),
        Message::Built(build) => json::value(&build),
    });
    built.collect()
}

fn run(case: &Case) {
    let name = case.text("name");
    let messages = case.messages();
    let (system, tools) = (case.json("system"), case.json("tools"));
    match case.text("op") {
        "truncate" => {
            let marker = case.json("marker").map_or(TRUNCATED.to_owned(), |m| m.as_str().unwrap().to_owned());
            let text = case.json("text").unwrap();
            let cut = truncate(text.as_str().unwrap(), case.number("limit"), &marker, &mut Chars4).unwrap();
            assert_eq!(cut.map_or(Value::Null, Value::from), case.json("expected").unwrap(), "{name}");
        }
        "price" => {
            let draft = read(case, &messages, system.as_ref(), tools.as_ref());
            assert_eq!(Value::from(draft.total()), case.json("expected").unwrap(), "{name}");
        }
        "validate" => {
            let mut found: Vec<(usize, &str)> =
                validate(&read(case, &messages, None, None)).into_iter().map(|v| (v.index, v.code)).collect();
            found.sort_unstable();
            assert_eq!(json!(found), case.json("expected").unwrap(), "{name}");
        }
        "repair" => match planner::repair(read(case, &messages, None, None), &mut Chars4) {
            Ok(plan) => assert_eq!(output(&plan, &messages), case.json("expected").unwrap(), "{name}"),
            Err(Error::Pinned { index, .. }) => assert_eq!(index as u64, case.number("index"), "{name}"),
            Err(error) => panic!("{name}: {error}"),
        },
        "compact" => {
            let draft = read(case, &messages, system.as_ref(), tools.as_ref());
            let plan = planner::compact(draft, &policy(case.json("policy")), case.number("limit"), &mut Chars4).unwrap();
            assert_eq!(output(&plan, &messages), case.json("expected").unwrap(), "{name}");
            assert_eq!((plan.after(), plan.rung), (case.number("total"), case.text("rung")), "{name}");
            assert_eq!(plan.fits, case.0.get("misfit").is_none(), "{name}");
        }
        other => panic!("{name}: unknown op {other}"),
    }
}

fn has_lone_surrogate(json: &str) -> bool {
    serde_json::from_str::<Value>(json)
        .is_err_and(|error| ["surrogate", "hex escape"].iter().any(|word| error.to_string().contains(word)))
}

#[test]
fn every_case_of_the_spec() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spec");
    let mut ran = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What providers answer is no business of the core.
        if path.extension().is_none_or(|e| e != "toml") || path.ends_with("errors.toml") {
            continue;
        }
        let file: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        for case in file["case"].as_array().unwrap() {
            let case = Case(case.as_table().unwrap().clone());
            // Rust strings hold no lone surrogates: these cases are for Python alone.
            if !case.0.values().filter_map(toml::Value::as_str).any(has_lone_surrogate) {
                run(&case);
                ran += 1;
            }
        }
    }
    assert!(ran >= 60, "only {ran} cases");
}
