"""Invariants 1, 2, 5, 6, 7 and 8 over OpenAI Responses, Gemini and Bedrock Converse.

What is valid is judged by `lithify.validate`, whose validators are written apart from the repair.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import lithify
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lithify import errors

from tests.differential.compare import to_policy
from tests.histories import SEEDS, Case, chars1, chars4
from tests.translation import MORE_FORMATS, case, valid_case

FORMAT = pytest.mark.parametrize("fmt", MORE_FORMATS)
COUNTER = pytest.mark.parametrize("counter", [chars4, chars1], ids=["chars4", "chars1"])
EXAMPLES = settings(max_examples=120, deadline=None)
TURNS, FEW = st.integers(0, 20), st.integers(0, 6)


def run(one: Case, counter: Any, messages: list[Any] | None = None) -> Any:
    try:
        return lithify.compact(
            one.messages if messages is None else messages,
            window=one.limit,
            system=one.system,
            tools=one.tools,
            format=one.format,
            policy=to_policy(one.policy),
            token_counter=counter,
            on_misfit="return",
        )
    except errors.PinnedInvalid:
        assume(False)  # noqa: FBT003 - hypothesis' way to pass over an example


def total(one: Case, messages: list[Any], counter: Any) -> int:
    return lithify.count_tokens(
        messages, system=one.system, tools=one.tools, format=one.format, token_counter=counter
    )


@FORMAT
@EXAMPLES
@given(seed=SEEDS, turns=TURNS, damages=FEW)
def test_repair_is_valid_and_idempotent(fmt: str, seed: int, turns: int, damages: int) -> None:
    one = case(seed, fmt, turns, damages)
    before = copy.deepcopy(one.messages)
    try:
        once = lithify.repair(one.messages, format=fmt).messages
    except errors.PinnedInvalid:
        assert any(message.get("_pin") is True for message in one.messages)
        return
    assert one.messages == before
    assert lithify.validate(once, format=fmt) == []
    again = lithify.repair(once, format=fmt)
    assert again.plan.edits == ()
    assert all(a is b for a, b in zip(once, again.messages, strict=True))


@FORMAT
@COUNTER
@EXAMPLES
@given(seed=SEEDS, turns=TURNS, damages=FEW)
def test_compact(fmt: str, counter: Any, seed: int, turns: int, damages: int) -> None:
    one = case(seed, fmt, turns, damages)
    result = run(one, counter)
    assert lithify.validate(lithify.wire(result.messages), format=fmt) == []
    assert result.fits == (result.tokens_after <= one.limit)
    assert result.tokens_after == total(one, result.messages, counter)
    assert result.tokens_before == total(one, one.messages, counter)
    repaired = lithify.repair(one.messages, format=fmt).messages
    ordered = sum(edit.tokens_after for edit in result.plan.edits if edit.kind == "start")
    assert result.tokens_after <= total(one, repaired, counter) + ordered
    change = sum(edit.tokens_after - edit.tokens_before for edit in result.plan.edits)
    assert result.tokens_before + change == result.tokens_after
    again = run(one, counter, result.messages)
    assert again.messages == result.messages
    if result.fits:
        assert again.plan.edits == ()


@FORMAT
@EXAMPLES
@given(seed=SEEDS, turns=TURNS, marks=st.integers(0, 3))
def test_untouched_messages_are_themselves(fmt: str, seed: int, turns: int, marks: int) -> None:
    one = valid_case(seed, fmt, turns, marks)
    assume(not lithify.validate(one.messages, format=fmt))
    out = run(one, chars4).messages
    came = [json.dumps(message, sort_keys=True) for message in one.messages]
    for message in out:
        text = json.dumps(message, sort_keys=True)
        if came.count(text) == 1:
            assert message is one.messages[came.index(text)]
    for message in one.messages:
        if message.get("_pin") is True:
            assert any(message is other for other in out)


@FORMAT
@EXAMPLES
@given(seed=SEEDS, turns=TURNS)
def test_a_valid_history_below_every_trigger_comes_back(fmt: str, seed: int, turns: int) -> None:
    one = valid_case(seed, fmt, turns, 0)
    assume(not lithify.validate(one.messages, format=fmt))
    one.limit, one.policy = 4 * total(one, one.messages, chars4), {}
    result = run(one, chars4)
    assume(result.rung != "truncate")
    assert result.plan.edits == ()
    assert all(a is b for a, b in zip(one.messages, result.messages, strict=True))
