"""The shared error cases, each with what its `expect` says in words."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lithify.recovery import ErrorClass, Kind, classify_error, detect_silent_truncation

ROOT = Path(os.environ.get("LITHIFY_SHARED") or Path(__file__).parents[3].parent / "shared")
CASES = ROOT / "cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")


def load(name: str) -> dict[str, Any]:
    [path] = CASES.glob(f"{name}-*.json")
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["input"]
    return case


def both_ways(case: dict[str, Any]) -> ErrorClass:
    """Classify a case as one mapping and as separate arguments; the two must agree."""
    parts = dict(case)
    message, name = parts.pop("message", None), parts.pop("exception", None)
    apart: object = type(name, (Exception,), {})(message) if name else message
    whole, split = classify_error(case), classify_error(apart, **parts)
    assert (whole.kind, whole.sub, whole.figures) == (split.kind, split.sub, split.figures)
    return whole


def each(name: str) -> list[ErrorClass]:
    return [both_ways(case) for case in load(name)["each"]]


def test_every_error_case_has_a_test() -> None:
    error = [p.name for p in sorted(CASES.glob("*.json")) if json.loads(p.read_text())["format"] == "error"]
    tested = {"34", "35", "37", "38", "40", "41", "43", "44", "67"}
    assert {name.partition("-")[0] for name in error} <= tested


def test_underscore_spelling() -> None:
    assert both_ways(load("34")).kind is Kind.OVERFLOW


def test_vllm_wording() -> None:
    result = both_ways(load("35"))
    assert result.kind is Kind.OVERFLOW
    assert (result.figures.limit, result.figures.actual) == (262_144, 262_145)
    assert result.figures.at_least
    assert not result.figures.measured
    assert result.sub is None, "no output was asked for, so a lower reply limit cannot help"


def test_llama_cpp_wording() -> None:
    case = load("37")
    result = both_ways(case)
    assert result.kind is Kind.OVERFLOW
    assert (result.figures.limit, result.figures.actual) == (123_904, 124_071)
    assert result.figures.measured
    del case["body"]["error"]["type"]
    assert both_ways(case).kind is Kind.OVERFLOW, "by message alone"
    case["body"]["error"] |= {"type": "exceed_context_size_error", "message": ""}
    assert both_ways(case).kind is Kind.OVERFLOW, "by type alone"


def test_litellm_wrapped_mistral_typo() -> None:
    case = load("38")
    result = both_ways(case)
    assert result.kind is Kind.OVERFLOW
    assert result.token_limit == 15_000
    assert (result.figures.actual, result.figures.output) == (12_970, 2_048)
    assert result.sub == "output_first"
    assert result.lower_output_first
    assert both_ways(case | {"message": "no words"}).kind is Kind.OVERFLOW, "by class alone"
    assert both_ways(case | {"exception": "BadRequestError"}).kind is Kind.OVERFLOW, "by message alone"


def test_tokens_per_day_is_a_quota() -> None:
    assert [result.kind for result in each("40")] == [Kind.RATE_LIMIT, Kind.RATE_LIMIT]


def test_tokens_per_minute_is_a_quota() -> None:
    results = each("41")
    assert all(result.kind is Kind.RATE_LIMIT and not result.is_overflow for result in results)
    assert [result.retry_after for result in results] == [None, None, 12.0]


def test_long_context_needs_a_plan() -> None:
    case = load("43")
    result = both_ways(case)
    assert not result.is_overflow
    assert not result.retryable
    assert result.message == case["body"]["error"]["message"]


def test_message_merely_mentions_window() -> None:
    assert not any(result.is_overflow for result in each("44"))


def test_content_filter_is_not_worth_a_repeat() -> None:
    result = both_ways(load("67")["summariser_error"])
    assert (result.kind, result.sub) == (Kind.OTHER, "content_filter")
    assert not result.retryable


def strings(node: object) -> Iterator[str]:
    """Every text in a transcript, whoever said it."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, (list, dict)):
        for part in node.values() if isinstance(node, dict) else node:
            yield from strings(part)


def test_nothing_that_was_said_in_a_transcript_is_an_error_class() -> None:
    """25 MB of real conversations with tool output; every 20th text, to keep the test short."""
    texts: list[str] = []
    for path in sorted((ROOT / "transcripts").rglob("*.json*")):
        raw = path.read_text(encoding="utf-8", errors="replace")
        documents = raw.splitlines() if path.suffix == ".jsonl" else [raw]
        for document in documents:
            with contextlib.suppress(ValueError):
                texts.extend(strings(json.loads(document)))
    assert len(texts) > 10_000
    assert {classify_error(text).kind for text in texts[::20]} == {Kind.OTHER}


def test_silent_truncation() -> None:
    case = load("46")
    window = case["settings"]["window"]
    result = detect_silent_truncation(case["sent_estimate"], case["usage"], window)
    assert result is not None
    assert (result.kind, result.sub) == (Kind.OVERFLOW, "silent_truncation")
    assert not result.figures.measured, "not a sample for the calibration"
