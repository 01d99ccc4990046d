"""Replays recorded agent sessions and checks how well the next prompt's size is forecast.

Each shared Claude Code and Codex log holds the usage that the provider reported for every call. The log shows
neither system text nor tool schemas, so the counter never sees a part of each prompt: that is what the anchor
is for. The replay goes forward only: a forecast is made from what stands before its call, then the report is
shown to the calibrator. Forecasts from the third report on are judged, those after a compaction or a change
of model included.

The counter is injected: ``--counter package.module:function`` takes a text and gives its count, and the
engine's estimate is passed that way. Without it a rough count by character class stands in, or with
``--bytes`` plain UTF-8 bytes. Run with ``LITHIFY_SHARED`` set, or with ``shared`` beside the checkout.

Exit status: 0 when every session is within the limits, 1 when one is not, 77 when there are no transcripts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lithify.calibration import Calibrator, Verdict

if TYPE_CHECKING:
    from lithify.calibration_state import Unit

MEDIAN_LIMIT = 0.02
TAIL_LIMIT = 0.05
FIRST_JUDGED = 3

Counter = Callable[[str], float]

# What a call, a result or a message costs beyond its text, in tokens. The same for all, not fitted.
PART_TOKENS = 15
IMAGE_TOKENS = 1_500


class Add(NamedTuple):
    """Content that the next prompt holds; negative when the provider leaves it out from now on."""

    raw: float


class Report(NamedTuple):
    """The provider's usage for the prompt that ends here."""

    usage: dict[str, Any]
    model: str


class Compacted(NamedTuple):
    """The session was compacted: what follows starts from nothing."""


Event = Add | Report | Compacted

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[ \t]+|\n+|[^\x00-\x7f]+|[^A-Za-z0-9\s]+|\s")


def approximate_tokens(text: str) -> float:
    """Stand-in for the engine's estimate: a rule of thumb per character class, not fitted to these logs."""
    total = 0.0
    for piece in _PIECE.findall(text):
        first = piece[0]
        if first.isascii() and first.isalpha():
            total += 1 if len(piece) <= 6 else len(piece) / 5.5
        elif first.isdigit() and first.isascii():
            total += math.ceil(len(piece) / 3)
        elif first in " \t":
            total += 0 if len(piece) == 1 else 1
        elif not first.isascii():
            total += 0.8 * len(piece)
        else:
            total += math.ceil(len(piece) / 2.5)
    return total


def utf8_bytes(text: str) -> float:
    return float(len(text.encode("utf-8", errors="surrogatepass")))


class Scale(NamedTuple):
    """The counter, and how many of its units one token is by convention (for what is no text)."""

    measure: Counter
    per_token: float


def claude_code(path: Path, scale: Scale) -> Iterator[Event]:
    """Events of a Claude Code log, where the streamed parts of a reply share a message id and a usage."""
    seen = set()
    for entry in lines(path):
        if entry.get("isSidechain"):
            continue
        if entry.get("subtype") == "compact_boundary":
            yield Compacted()
        if entry.get("type") not in ("user", "assistant"):
            continue
        message = entry["message"]
        if entry["type"] == "assistant" and message["id"] not in seen:
            seen.add(message["id"])
            yield Report(message["usage"], message["model"])
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield Add(claude_block(block, scale))


def claude_block(block: dict[str, Any], scale: Scale) -> float:
    count, unit = scale
    kind = block["type"]
    if kind == "text":
        return count(block["text"])
    if kind == "thinking":
        return count(block["thinking"])
    if kind == "tool_use":
        written = json.dumps(block["input"], ensure_ascii=False)
        return count(written) + count(block["name"]) + PART_TOKENS * unit
    if kind == "tool_result":
        content = block["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return sum(claude_block(part, scale) for part in parts) + PART_TOKENS * unit
    if kind == "image":
        return IMAGE_TOKENS * unit
    return count(json.dumps(block, ensure_ascii=False))


class _Codex:
    """Events of a Codex log.

    A report stands in the log after the output of its own call, and often after the tool results too. So the
    items since the report before are held back, and the report goes before the first item that the model
    wrote. Reasoning is redacted in these logs: its size is the one reported with the reply that made it,
    known before the next call. The provider leaves it out once a new user message follows.
    """

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.model = ""
        self.held: list[tuple[str, float]] = []
        self.reasoning = 0.0
        self.total = -1

    def events(self, path: Path) -> Iterator[Event]:
        for entry in lines(path):
            payload = entry.get("payload") or {}
            if entry["type"] == "turn_context":
                self.model = payload.get("model", self.model)
            elif entry["type"] == "compacted":
                yield from (Add(raw) for _, raw in self.held)
                self.held, self.reasoning = [], 0.0
                yield Compacted()
                for item in payload.get("replacement_history") or []:
                    yield Add(self.size(item))
            elif payload.get("type") == "token_count" and payload.get("info"):
                info = payload["info"]
                # The same figures are logged again when only the rate limits have changed.
                if info["total_token_usage"]["total_tokens"] != self.total:
                    self.total = info["total_token_usage"]["total_tokens"]
                    yield from self.reported(info["last_token_usage"])
            elif entry["type"] == "response_item":
                self.held.append((payload.get("role") or payload["type"], self.size(payload)))

    def reported(self, usage: dict[str, Any]) -> Iterator[Event]:
        prompt = ("user", "developer", "system", "function_call_output", "custom_tool_call_output")
        own = next((n for n, (kind, _) in enumerate(self.held) if kind not in prompt), len(self.held))
        for kind, raw in self.held[:own]:
            yield Add(raw)
            if kind == "user":
                yield Add(-self.reasoning)
                self.reasoning = 0.0
        yield Report(usage, self.model)
        thought = usage.get("reasoning_output_tokens", 0) * self.scale.per_token
        self.reasoning += thought
        yield Add(thought)
        yield from (Add(raw) for _, raw in self.held[own:])
        self.held = []

    def size(self, item: dict[str, Any]) -> float:
        count, unit = self.scale
        kind = item["type"]
        if kind == "reasoning":
            return 0.0
        if kind == "message":
            texts = [part["text"] for part in item["content"] if "text" in part]
            images = len(item["content"]) - len(texts)
            return sum(map(count, texts)) + (images * IMAGE_TOKENS + 5) * unit
        if kind in ("function_call", "custom_tool_call"):
            written = item.get("arguments") or item.get("input") or ""
            return count(written) + count(item["name"]) + PART_TOKENS * unit
        if kind in ("function_call_output", "custom_tool_call_output"):
            output = item["output"]
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            return count(text) + PART_TOKENS * unit
        return count(json.dumps(item, ensure_ascii=False))


def codex(path: Path, scale: Scale) -> Iterator[Event]:
    return _Codex(scale).events(path)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


class Result(NamedTuple):
    errors: list[float]
    unanchored: list[float]
    verdicts: dict[Verdict, int]
    scale: float
    overhead: int


def replay(events: Iterator[Event], unit: Unit) -> Result:
    """Forecast each reported prompt before its report is seen; errors are relative to the report, signed."""
    calibrator = Calibrator(unit=unit)
    raw, reports = 0.0, 0
    errors: list[float] = []
    unanchored: list[float] = []
    verdicts: dict[Verdict, int] = {}
    key: dict[str, str] = {}
    for event in events:
        if isinstance(event, Add):
            raw = max(0.0, raw + event.raw)
        elif isinstance(event, Compacted):
            calibrator.compacted()
            raw = 0.0
        else:
            key = {"provider": "log", "model": event.model}
            anchored = calibrator.anchored(**key)
            sent = calibrator.sent(raw=raw, **key)
            seen = calibrator.observe(sent, event.usage)
            verdicts[seen.verdict] = verdicts.get(seen.verdict, 0) + 1
            if not seen.tokens:
                continue
            reports += 1
            if reports >= FIRST_JUDGED:
                errors.append(sent.forecast / seen.tokens - 1)
                if not anchored:
                    unanchored.append(errors[-1])
    return Result(errors, unanchored, verdicts, calibrator.scale(**key), calibrator.overhead(**key))


def quantile(values: list[float], share: float) -> float:
    """Nearest rank of the absolute values: the smallest that ``share`` of them do not exceed."""
    ordered = sorted(map(abs, values))
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def shared_folder() -> Path:
    beside = Path(__file__).resolve().parents[2].parent / "shared"
    return Path(os.environ.get("LITHIFY_SHARED", beside)) / "transcripts"


def imported(name: str) -> Counter:
    module, _, attribute = name.partition(":")
    found: Counter = getattr(importlib.import_module(module), attribute)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--counter", help="package.module:function, text to estimated tokens")
    parser.add_argument("--bytes", action="store_true", help="count UTF-8 bytes")
    options = parser.parse_args(arguments)
    unit: Unit = "characters" if options.bytes else "tokens"
    counter = utf8_bytes if options.bytes else approximate_tokens
    scale = Scale(imported(options.counter) if options.counter else counter, 4.0 if options.bytes else 1.0)

    folder = shared_folder()
    sessions = [
        (path, reader)
        for name, reader in (("claude_code", claude_code), ("codex", codex))
        for path in sorted((folder / name).glob("*.jsonl"))
    ]
    if not sessions:
        print(f"skipped: no transcripts under {folder}; set LITHIFY_SHARED")
        return 77

    print(f"{'session':42} {'judged':>6} {'median':>7} {'p95':>7} {'max':>7}  scale overhead  no anchor")
    failed = 0
    for path, reader in sessions:
        result = replay(reader(path, scale), unit)
        median, tail = quantile(result.errors, 0.5), quantile(result.errors, 0.95)
        good = median <= MEDIAN_LIMIT and tail <= TAIL_LIMIT
        failed += not good
        after = " ".join(f"{error:+.1%}" for error in result.unanchored)
        print(
            f"{path.parent.name + '/' + path.stem:42} {len(result.errors):6} {median:7.2%} {tail:7.2%} "
            f"{max(map(abs, result.errors)):7.2%}  {result.scale:5.2f} {result.overhead:8,}  {after or '-'}"
            f"{'' if good else '  TOO FAR OFF'}"
        )
        print("    " + ", ".join(f"{verdict} {count}" for verdict, count in result.verdicts.items()))
    print(f"{len(sessions) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
