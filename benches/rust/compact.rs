//! The core alone, with no Python: a history of JSON values read, and compacted to a fifth. Every round asserts its result.
//!
//! `cargo bench -p lithify-benches`. The comparison with rivals is Python's (`benches/python`); this one tells the core's share.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lithify_core::count::Estimate;
use lithify_core::estimate::Weights;
use lithify_core::format::Format;
use lithify_core::planner;
use lithify_core::policy::{Amount, Clear, Policy, Prune};
use serde_json::{Value, json};

/// A coding session of so many turns: a call of one of three tools, and a result of about 300 tokens.
fn history(turns: u64) -> Value {
    let line =
        |turn: u64, n: u64| format!("src/module_{}.rs:{}: let value_{n} = compute({turn}, \"{n:x}\");\n", turn % 17, n * 7);
    let turn = |turn: u64| {
        let (id, tool) = (format!("call_{turn}"), ["read_file", "bash", "grep"][(turn % 3) as usize]);
        let arguments = json!({"path": format!("src/module_{}.rs", turn % 17), "turn": turn}).to_string();
        let call = json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}});
        let output: String = (0..20).map(|n| line(turn, n)).collect();
        [
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": output}),
        ]
    };
    let mut messages = vec![
        json!({"role": "system", "content": "You are a careful engineer."}),
        json!({"role": "user", "content": "Find out why the totals are wrong, and mend it."}),
    ];
    messages.extend((0..turns).flat_map(turn));
    Value::Array(messages)
}

fn policy() -> Policy {
    let names = |text: &str| text.split(' ').map(str::to_owned).collect();
    Policy {
        clear: Clear {
            single_share: Amount::Share(0.5),
            trigger: Amount::Share(0.75),
            target: Amount::Share(0.45),
            at_least: Amount::Share(0.15),
            keep: 3,
            listed: names("readfile bash grep"),
            protected: Vec::new(),
            exclude_tools: Vec::new(),
            readers: names("readfile"),
            verbose: 500,
            verbose_turns: 3,
            errors_keep_turns: 3,
            eager: false,
            literal: false,
        },
        prune: Prune {
            trigger: Amount::Share(0.8),
            target: Amount::Share(0.4),
            keep: 6,
            carry_over: Amount::Share(0.05),
            recent_share: 0.5,
            verbatim_share: 0.25,
        },
        strict_alternation: false,
    }
}

fn compact(c: &mut Criterion) {
    let policy = policy();
    let mut group = c.benchmark_group("compact");
    for turns in [100, 1_000, 10_000] {
        let messages = history(turns);
        let mut counter = Estimate(&Weights::O200K);
        let before = planner::read(&&messages, None, None, Some(Format::OpenAiChat), &mut counter).map_or(0, |d| d.total());
        let limit = before / 5;
        group.throughput(Throughput::Elements(before));
        group.bench_with_input(BenchmarkId::from_parameter(before), &messages, |b, messages| {
            b.iter(|| {
                let draft = planner::read(&messages, None, None, Some(Format::OpenAiChat), &mut counter);
                let plan = draft.and_then(|draft| planner::compact(draft, &policy, limit, &mut counter));
                let plan = plan.unwrap_or_else(|error| panic!("{error}"));
                assert!(plan.fits && plan.rung == "clear" && plan.after() <= limit, "{}: {} of {limit}", plan.rung, plan.after());
                plan.after()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, compact);
criterion_main!(benches);
