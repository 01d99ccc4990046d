"""The spec cases (tests/spec): the reference engine must pass them all, and so must the package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import lithify
import pytest
from lithify import errors

from tests import reference
from tests.differential.compare import plain, to_policy
from tests.histories import chars4
from tests.reference.policy import literal
from tests.reference.prices import price_request
from tests.reference.shape import detect

SPEC = Path(__file__).parent.parent / "spec"


def load() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    for path in sorted(SPEC.glob("*.toml")):
        if path.name != "errors.toml":  # what providers answer: tests/unit/recovery
            with path.open("rb") as file:
                cases += tomllib.load(file)["case"]
    return cases


CASES = load()


def expand(value: Any) -> Any:
    """The two macros of README.md: repeat and concat."""
    if isinstance(value, list):
        return [expand(each) for each in value]
    if isinstance(value, dict):
        if set(value) == {"repeat", "times"}:
            return value["repeat"] * value["times"]
        if set(value) == {"concat"}:
            return "".join(expand(value["concat"]))
        return {key: expand(each) for key, each in value.items()}
    return value


def field(case: dict[str, Any], key: str, default: Any = None) -> Any:
    return expand(json.loads(case[key])) if key in case else default


def policy_of(case: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = field(case, "policy", {})
    return literal() if given == {"literal": True} else given


def test_names_are_unique() -> None:
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names))
    assert len(names) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reference(case: dict[str, Any]) -> None:
    messages = field(case, "messages", [])
    fmt = case.get("format", "openai_chat")
    if case["op"] == "truncate":
        marker = field(case, "marker", "[truncated: output exceeded context limit]")
        assert reference.truncate(field(case, "text"), case["limit"], chars4, marker) == field(
            case, "expected"
        )
    elif case["op"] == "price":
        extra = field(case, "system"), field(case, "tools")
        assert reference.total(messages, chars4, fmt, *extra) == field(case, "expected")
        assert price_request(*extra, chars4) >= 3
    elif case["op"] == "validate":
        assert [list(fault) for fault in reference.validate(messages, fmt)] == field(case, "expected")
    elif case["op"] == "repair":
        reference_repair(case, messages, fmt)
    else:
        reference_compact(case, messages, fmt)


def reference_repair(case: dict[str, Any], messages: list[dict[str, Any]], fmt: str) -> None:
    if "error" in case:
        with pytest.raises(reference.PinnedInvalid) as caught:
            reference.repair(messages, fmt)
        assert caught.value.index == case["index"]
        return
    repaired = reference.repair(messages, fmt)
    assert repaired == field(case, "expected")
    assert reference.validate(repaired, fmt) == []


def reference_compact(case: dict[str, Any], messages: list[dict[str, Any]], fmt: str) -> None:
    result = reference.compact(
        messages,
        case["limit"],
        policy_of(case),
        chars4,
        field(case, "system"),
        field(case, "tools"),
        fmt,
        on_misfit="return",
    )
    assert (result.messages, result.total, result.rung) == (
        field(case, "expected"),
        case["total"],
        case["rung"],
    )
    assert result.fits is not case.get("misfit", False)
    assert reference.validate(result.messages, fmt) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_package(case: dict[str, Any]) -> None:
    messages = field(case, "messages", [])
    fmt = case.get("format", "openai_chat")
    if case["op"] == "truncate":
        package_truncate(case)
    elif case["op"] == "price":
        more = {"system": field(case, "system"), "tools": field(case, "tools")}
        price = lithify.count_tokens(messages, format=fmt, token_counter=chars4, **more)
        assert price == field(case, "expected")
    elif case["op"] == "validate":
        found = sorted([fault.index, fault.code] for fault in lithify.validate(messages, format=fmt))
        assert found == field(case, "expected")
    elif case["op"] == "repair":
        package_repair(case, messages, fmt)
    else:
        package_compact(case, messages, fmt)


def package_truncate(case: dict[str, Any]) -> None:
    marker = field(case, "marker", "[truncated: output exceeded context limit]")
    if field(case, "expected") is None:
        with pytest.raises(errors.LithifyError):
            lithify.truncate(field(case, "text"), case["limit"], marker=marker, token_counter=chars4)
        return
    text = lithify.truncate(field(case, "text"), case["limit"], marker=marker, token_counter=chars4)
    assert text == field(case, "expected")


def package_repair(case: dict[str, Any], messages: list[dict[str, Any]], fmt: str) -> None:
    if "error" in case:
        with pytest.raises(errors.PinnedInvalid) as caught:
            lithify.repair(messages, format=fmt)
        assert caught.value.index == case["index"]
        return
    assert lithify.repair(messages, format=fmt).messages == field(case, "expected")


def package_compact(case: dict[str, Any], messages: list[dict[str, Any]], fmt: str) -> None:
    given = field(case, "policy", {})
    policy = {"clear": {"literal": True}} if given == {"literal": True} else given
    result = lithify.compact(
        messages,
        window=case["limit"],
        system=field(case, "system"),
        tools=field(case, "tools"),
        format=fmt,
        policy=to_policy(policy),
        token_counter=chars4,
        on_misfit="return",
    )
    assert plain(result.messages) == field(case, "expected")
    assert (result.tokens_after, result.rung) == (case["total"], case["rung"])
    assert result.fits is not case.get("misfit", False)


def test_detection_of_the_reference_agrees_with_the_cases() -> None:
    for case in CASES:
        messages = field(case, "messages", [])
        if any(message["role"] in ("system", "tool") for message in messages):
            assert detect(messages) == "openai_chat" == case["format"]
