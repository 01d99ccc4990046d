"""The result of a comparison as Markdown and as plain data; targets are judged here, missed ones included."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.python import measure

if TYPE_CHECKING:
    from benches.inputs.histories import Shape
    from benches.python.measure import Group, Timing

OURS = "Lithify"
CONTROL = "Lithify again (control)"
LEN, CLASSES = "pure Python, len // 4", "pure Python, classes by re"
TRIM, EDITING = "LangChain trim_messages", "LangChain ContextEditingMiddleware"

# (rival, format, shape, at least so many times our speed); None: shown, whatever it is.
TARGETS: tuple[tuple[str, str, Shape, float | None], ...] = (
    (LEN, "openai_chat", "small", 2.0),
    (LEN, "anthropic", "small", 5.0),
    (LEN, "openai_chat", "large", None),
    (LEN, "anthropic", "large", None),
    (CLASSES, "openai_chat", "small", 100.0),
    (CLASSES, "openai_chat", "large", 100.0),
    (CLASSES, "anthropic", "small", 100.0),
    (CLASSES, "anthropic", "large", 100.0),
    (EDITING, "openai_chat", "small", 50.0),
    (TRIM, "openai_chat", "small", 50.0),
    (EDITING, "openai_chat", "large", 10.0),
    (TRIM, "openai_chat", "large", 10.0),
)
TARGET_TOKENS = 1_000_000
EXPONENT = 1.05
MEMORY_SHARE = 0.20


@dataclass
class Report:
    """All that was measured."""

    groups: list[Group] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def curve(self, name: str, form: str, shape: str) -> list[tuple[int, float]]:
        """Return (tokens, median seconds) of a contender over the sizes, smallest first."""
        points = [
            (group.tokens, timing.median)
            for group in self.groups
            if (group.form, group.shape) == (form, shape) and (timing := group.of(name)) is not None
        ]
        return sorted(points)

    def verdicts(self) -> list[tuple[str, str, str]]:
        """Return (what, measured, verdict) for every target that this run can judge."""
        rows = []
        for rival, form, shape, wanted in TARGETS:
            group = self._target_group(form, shape)
            if group is None or (timing := group.of(rival)) is None:
                continue
            ratio = timing.median / _ours(group).median
            if wanted is None:
                verdict = "shown only: " + ("faster" if ratio > 1 else "slower")
            else:
                verdict = "met" if ratio >= wanted else "MISSED"
            goal = "" if wanted is None else f", at least {wanted:g} x"
            rows.append((f"{rival}, {form}, {shape}{goal}", f"{ratio:.2f} x", verdict))
        for form, shape in sorted({(group.form, group.shape) for group in self.groups}):
            points = self.curve(OURS, form, shape)
            if len(points) > 2:
                slope, last = measure.exponent(points), measure.exponent(points[-2:])
                verdict = "met" if max(slope, last) <= EXPONENT else "MISSED"
                span = f"{points[0][0]:,} to {points[-1][0]:,} tokens"
                what = f"growth, {form}, {shape}, {span}: exponent at most {EXPONENT}"
                rows.append((what, f"{slope:.3f} (last step {last:.3f})", verdict))
        for row in self.memory:
            if row["contender"] == "lithify":
                share = row["extra"] / row["history"]
                verdict = "met" if share < MEMORY_SHARE and row["grown"] == 0 else "MISSED"
                kind = f"{row['form']}, {row['shape']}"
                what = f"peak extra memory, {kind}, under {MEMORY_SHARE:.0%} of the history"
                rows.append((what, f"{share:.1%}; input grew by {row['grown']} bytes", verdict))
        return rows

    def _target_group(self, form: str, shape: str) -> Group | None:
        wanted = (form, shape, TARGET_TOKENS)
        return next(
            (group for group in self.groups if (group.form, group.shape, group.tokens) == wanted), None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        groups = [
            {
                "form": group.form,
                "shape": group.shape,
                "tokens": group.tokens,
                "messages": group.messages,
                "characters": group.characters,
                "timings": [vars(timing) | {"median": timing.median} for timing in group.timings],
            }
            for group in self.groups
        ]
        keys = ("target", "measured", "verdict")
        verdicts = [dict(zip(keys, row, strict=True)) for row in self.verdicts()]
        return {
            "environment": environment(),
            "settings": self.settings,
            "groups": groups,
            "memory": self.memory,
            "verdicts": verdicts,
        }

    def to_markdown(self) -> str:
        """Return the record as a page."""
        facts = environment()
        lines = [
            "# Comparison of compaction engines",
            "",
            *(f"- {key}: {value}" for key, value in facts.items()),
        ]
        lines += [f"- {key}: {value}" for key, value in self.settings.items()]
        lines += ["", "## Targets", "", "| target | measured | verdict |", "|---|---|---|"]
        lines += [f"| {what} | {measured} | {verdict} |" for what, measured, verdict in self.verdicts()]
        for group in self.groups:
            lines += ["", *_group_lines(group)]
        if self.memory:
            lines += [
                "",
                "## Peak extra memory",
                "",
                "| contender | format | shape | tokens | history MB | extra MB | share |",
            ]
            lines.append("|---|---|---|---|---|---|---|")
            for row in self.memory:
                share = row["extra"] / row["history"]
                sizes = f"{row['history'] / 1e6:.1f} | {row['extra'] / 1e6:.1f} | {share:.1%}"
                lines.append(
                    f"| {row['contender']} | {row['form']} | {row['shape']} | {row['tokens']:,} | {sizes} |"
                )
        return "\n".join(lines) + "\n"


def _ours(group: Group) -> Timing:
    ours = group.of(OURS)
    assert ours is not None
    return ours


def _group_lines(group: Group) -> list[str]:
    ours, floor = _ours(group), group.of("floor")
    size = f"{group.tokens:,} tokens, {group.messages:,} messages, {group.characters:,} characters"
    lines = [f"## {group.form}, {group.shape}: {size}", ""]
    lines += [
        "| contender | median ms | quartiles apart | times ours | found | does |",
        "|---|---|---|---|---|---|",
    ]
    for timing in sorted(group.timings, key=lambda timing: timing.median):
        found = ", ".join(f"{key} {value:,}" for key, value in timing.facts.items())
        ratio = timing.median / ours.median
        cells = (
            timing.name,
            f"{timing.median * 1e3:.3f}",
            f"{timing.spread:.0%}",
            f"{ratio:.2f}",
            found,
            timing.does,
        )
        lines.append("| " + " | ".join(cells) + " |")
    if floor is not None:
        lines += ["", f"Lithify takes {ours.median / floor.median:.1f} x the floor."]
    return lines


def environment() -> dict[str, str]:
    """Return what the figures depend on."""
    facts = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        facts["processor"] = f"{names[0] if names else 'unknown'}, {os.cpu_count()} threads"
    facts["load"] = " ".join(f"{value:.1f}" for value in os.getloadavg())
    for name in ("lithify", "langchain", "langchain-core", "openai-agents", "litellm", "tiktoken"):
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "not installed"
    return facts
