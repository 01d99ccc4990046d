"""Compare Lithify with its rivals in one run: `python -m benches.python.compare`.

Prints Markdown; `--json FILE` and `--markdown FILE` write the record. Exits with 1 when a target is missed
and `--strict` is given. Every output of every round is checked; a wrong one ends the run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benches.inputs import histories
from benches.python import memory, report
from benches.python.contenders import Contender, Floor, Lithify, contenders, pures
from benches.python.measure import WINDOW_SHARE, run_group

# Ten large messages leave nothing to prune, so the large shape starts at 100k.
GROWTH: dict[histories.Shape, tuple[int, ...]] = {
    "large": (100_000, 1_000_000, 10_000_000),
    "small": (10_000, 100_000, 1_000_000, 10_000_000),
}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _curve_contenders() -> list[Contender]:
    return [Lithify(), pures()[0], Floor()]


def measure_all(given: argparse.Namespace) -> report.Report:
    """Run what the arguments ask for."""
    done = report.Report()
    done.settings = {
        "window": f"1/{WINDOW_SHARE} of the history's coarse tokens",
        "rounds": given.rounds,
        "garbage collector during timings": "on" if given.gc else "off",
    }
    if not given.no_memory:
        _add_memory(done, given.memory_tokens)
    for form in histories.FORMATS:
        for shape in histories.SHAPES:
            _say(f"{form}, {shape}, {given.tokens:,} tokens")
            everyone = contenders(form, given.tokens, with_frameworks=not given.no_frameworks)
            group = run_group(
                everyone, form=form, shape=shape, tokens=given.tokens, rounds=given.rounds, collector=given.gc
            )
            done.groups.append(group)
    if not given.no_frameworks:
        _say("the small size, with LiteLLM")
        everyone = contenders("openai_chat", 10_000)
        done.groups.append(run_group(everyone, form="openai_chat", shape="small", tokens=10_000, rounds=21))
    if not given.no_growth:
        _add_growth(done, given)
    return done


def _add_growth(done: report.Report, given: argparse.Namespace) -> None:
    for form in histories.FORMATS:
        for shape, sizes in GROWTH.items():
            for tokens in sizes:
                if any(
                    (group.form, group.shape, group.tokens) == (form, shape, tokens) for group in done.groups
                ):
                    continue
                _say(f"growth: {form}, {shape}, {tokens:,} tokens")
                rounds = max(3, given.rounds // 2) if tokens > 1_000_000 else max(21, given.rounds)
                done.groups.append(
                    run_group(_curve_contenders(), form=form, shape=shape, tokens=tokens, rounds=rounds)
                )


def _add_memory(done: report.Report, tokens: int) -> None:
    for shape in histories.SHAPES:
        for form in histories.FORMATS:
            for name in ("copy", "lithify", "pure"):
                _say(f"memory: {name}, {form}, {shape}")
                row = memory.run_child(name, form, shape, tokens)
                done.memory.append({"contender": name, "form": form, "shape": shape, "tokens": tokens, **row})


def main() -> int:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Compare Lithify with its rivals, interleaved, in one run.")
    parser.add_argument(
        "--tokens", type=int, default=1_000_000, help="size of the main groups (default 1,000,000)"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory-tokens", type=int, default=10_000_000)
    parser.add_argument("--gc", action="store_true", help="leave the garbage collector on during the timings")
    parser.add_argument(
        "--no-frameworks", action="store_true", help="only Lithify and the plain-Python rivals"
    )
    parser.add_argument("--no-growth", action="store_true", help="leave out the sizes from 10k to 10M")
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory measurements")
    parser.add_argument("--json", type=Path, help="write all figures as JSON")
    parser.add_argument("--markdown", type=Path, help="write the record as Markdown")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    given = parser.parse_args()
    done = measure_all(given)
    page = done.to_markdown()
    print(page)
    if given.json:
        given.json.write_text(json.dumps(done.to_dict(), indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(page, encoding="utf-8")
    missed = [what for what, _, verdict in done.verdicts() if verdict == "MISSED"]
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
