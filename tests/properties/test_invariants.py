"""Invariants 1 to 9 of the engine, over both formats, through the public API.

Each test names the invariant it holds to. Whether the output is valid is judged by the strict validator of
tests/reference, which was written apart from the engine's own, and by `lithify.validate`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import lithify
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lithify import errors

from tests import reference
from tests.differential.compare import to_policy
from tests.histories import ANTHROPIC, FORMATS, Case, cases, chars4, valid_cases
from tests.reference.pruning import FILLER, alternate
from tests.reference.shape import calls, part_id, parts, pinned, results

Counter = Callable[[str], int] | None

#: The cheap counter, and the package's own estimate.
COUNTERS = pytest.mark.parametrize("counter", [chars4, None], ids=["chars4", "estimate"])
FORMAT = pytest.mark.parametrize("fmt", FORMATS)
EXAMPLES = settings(max_examples=120, deadline=None)


def run(one: Case, counter: Counter, messages: list[Any] | None = None) -> Any:
    """The result, never raising for a misfit; cases whose pins are themselves broken are not of interest."""
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


def total(one: Case, messages: list[Any], counter: Counter) -> int:
    return lithify.count_tokens(
        messages, system=one.system, tools=one.tools, format=one.format, token_counter=counter
    )


def repaired(one: Case) -> list[Any]:
    """The repaired history; under strict alternation with what has to stand between two user messages."""
    messages: list[Any] = lithify.repair(one.messages, format=one.format).messages
    if not one.policy.get("strict_alternation"):
        return messages
    return [message for message, _ in alternate([(each, None) for each in messages], one.format)]


def key(message: Any) -> str:
    """Equal for equal messages; lone surrogates and all."""
    return json.dumps(message, sort_keys=True)


# 1 Valid ----------------------------------------------------


@COUNTERS
@FORMAT
@EXAMPLES
@given(data=st.data())
def test_output_is_valid(data: st.DataObject, fmt: str, counter: Counter) -> None:
    one = data.draw(cases(fmt))
    out = lithify.wire(run(one, counter).messages)
    assert reference.validate(out, fmt) == []
    assert lithify.validate(out, format=fmt) == []


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_repair_is_valid_and_idempotent(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    try:
        once = repaired(one)
    except errors.PinnedInvalid:
        assert any(pinned(message) for message in one.messages)
        return
    assert reference.validate(once, fmt) == []
    again = lithify.repair(once, format=fmt)
    assert len(again.messages) == len(once)
    assert all(before is after for before, after in zip(once, again.messages, strict=True))
    assert again.plan.edits == ()


# 2 Fits ----------------------------------------------------


@COUNTERS
@EXAMPLES
@given(one=cases())
def test_fits_or_says_so(counter: Counter, one: Case) -> None:
    result = run(one, counter)
    assert result.limit == one.limit
    assert result.fits == (result.tokens_after <= one.limit)
    if result.fits:
        return
    with pytest.raises(errors.DoesNotFit) as caught:
        lithify.compact(
            one.messages,
            window=one.limit,
            system=one.system,
            tools=one.tools,
            format=one.format,
            policy=to_policy(one.policy),
            token_counter=counter,
        )
    error = caught.value
    assert error.limit == one.limit < error.irreducible <= error.tokens
    assert error.core
    assert str(error.limit) in str(error).replace(",", "")


# 3 Repair first ----------------------------------------------------


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_only_notices_are_invented_and_the_order_is_kept(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    out = run(one, chars4).messages
    source = [skeleton(message, fmt) for message in repaired(one)]
    at = 0
    for message in out:
        own = message.get("_lithify")
        if (
            isinstance(own, dict)
            and own.get("kind") == "notice"
            # A forged text may read like our new notice, but ours is no message of the input.
            and not any(message is other for other in one.messages)
        ):
            assert message["role"] == "user" or (
                one.policy.get("strict_alternation") and message["role"] == "assistant"
            )
            continue
        if one.policy.get("strict_alternation") and message == FILLER:
            continue
        here = skeleton(message, fmt)
        assert here in source[at:], f"not from the repaired history, or out of order: {message}"
        at += source[at:].index(here) + 1


def skeleton(message: Any, fmt: str) -> str:
    """What no layer may change: the role, the calls, everything said; of results only whose they are."""
    said = []
    for part in parts(message, fmt):
        if part.kind == "result":
            said.append(("result", part_id(part, fmt)))
            continue
        own = part.data.get("_lithify") if isinstance(part.data, dict) else None
        if not (isinstance(own, dict) and own.get("kind") == "notice"):
            said.append((part.kind, part.data if isinstance(part.data, str) else loose_text(part.data)))
    return json.dumps([message["role"], said], sort_keys=True)


def loose_text(block: Any) -> Any:
    """A text block is its text: merging a notice turns a content string into a block."""
    return block["text"] if set(block) == {"type", "text"} else block


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_no_text_gains_a_higher_role(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    out = run(one, chars4).messages
    before = {key(message) for message in repaired(one) if message["role"] in ("system", "developer")}
    assert {key(message) for message in out if message["role"] in ("system", "developer")} <= before


# 4 Pins and the unknown ----------------------------------------------------


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_pins_stay_as_they_are(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    out = run(one, chars4).messages
    pins = [message for message in one.messages if pinned(message)]
    for message in pins:
        assert any(message is other for other in out)
    if not reference.validate(one.messages, fmt):
        kept = [message for message in out if pinned(message)]
        assert len(kept) == len(pins)
        assert all(before is after for before, after in zip(pins, kept, strict=True))


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_the_unit_of_a_pin_stays(data: st.DataObject, fmt: str) -> None:
    one = data.draw(valid_cases(fmt))
    out = run(one, chars4).messages
    for at, message in enumerate(one.messages):
        if not pinned(message) or not calls(message, fmt):
            continue
        own = {part_id(part, fmt) for part in calls(message, fmt)} - {""}
        after = one.messages[at + 1 :]
        answered = own & {part_id(part, fmt) for other in after for part in results(other, fmt)}
        assert answered <= {part_id(part, fmt) for other in out for part in results(other, fmt)}


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_unknown_keys_and_blocks_pass_through(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    known = {key(each) for message in one.messages for each in oddities(message)}
    assert {key(each) for message in run(one, chars4).messages for each in oddities(message)} <= known
    survivors = {key(message) for message in one.messages}
    for message in run(one, chars4).messages:
        if key(message) in survivors and "x_meta" in message:
            assert any(message is other for other in one.messages)


def oddities(message: Any) -> list[Any]:
    found = [message[name] for name in ("x_meta", "_private") if name in message]
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        if block.get("type") in ("hologram", "container_upload", "compaction"):
            found.append(block)
        found += [block["x_note"]] if "x_note" in block else []
    return found


# 5 Idempotent ----------------------------------------------------


@COUNTERS
@FORMAT
@EXAMPLES
@given(data=st.data())
def test_compacting_again_changes_nothing(data: st.DataObject, fmt: str, counter: Counter) -> None:
    one = data.draw(cases(fmt))
    first = run(one, counter)
    again = run(one, counter, first.messages)
    assert again.messages == first.messages
    if first.fits:
        assert again.plan.edits == ()
        assert again.rung == "none"


@EXAMPLES
@given(one=valid_cases())
def test_a_valid_history_below_every_trigger_comes_back(one: Case) -> None:
    one.limit = 4 * total(one, one.messages, chars4)
    one.policy = {}
    result = run(one, chars4)
    assume(result.rung != "truncate")
    assert result.plan.edits == ()
    assert result.tokens_after == result.tokens_before
    assert len(result.messages) == len(one.messages)
    assert all(before is after for before, after in zip(one.messages, result.messages, strict=True))


# 6 Smaller ----------------------------------------------------


@COUNTERS
@EXAMPLES
@given(one=cases())
def test_every_edit_makes_it_smaller(counter: Counter, one: Case) -> None:
    result = run(one, counter)
    source = repaired(one)
    assert result.tokens_after <= total(one, source, counter)
    layers: dict[str, int] = {}
    for edit in result.plan.edits:
        layers[edit.layer] = layers.get(edit.layer, 0) + edit.tokens_after - edit.tokens_before
        if edit.layer != "repair" and edit.index is not None:
            assert edit.tokens_after < edit.tokens_before
        assert edit.reason
    assert all(change < 0 for layer, change in layers.items() if layer != "repair")


# 7 Accounts ----------------------------------------------------


@COUNTERS
@EXAMPLES
@given(one=cases())
def test_the_forecast_is_the_recount(counter: Counter, one: Case) -> None:
    result = run(one, counter)
    assert result.tokens_after == total(one, result.messages, counter)
    assert result.tokens_before == total(one, one.messages, counter)
    inspection = lithify.inspect(
        result.messages, system=one.system, tools=one.tools, format=one.format, token_counter=counter
    )
    assert inspection.total == result.tokens_after == sum(inspection.categories.values())


@EXAMPLES
@given(one=cases())
def test_the_edits_account_for_the_change(one: Case) -> None:
    result = run(one, chars4)
    change = sum(edit.tokens_after - edit.tokens_before for edit in result.plan.edits)
    assert result.tokens_before + change == result.tokens_after


# 8 Untouched ----------------------------------------------------


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_the_input_is_never_changed(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    before = copy.deepcopy(one.messages)
    run(one, chars4)
    assert one.messages == before


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_untouched_messages_are_themselves(data: st.DataObject, fmt: str) -> None:
    one = data.draw(valid_cases(fmt))
    out = run(one, chars4).messages
    came = [key(message) for message in one.messages]
    for message in out:
        if came.count(key(message)) == 1:
            assert message is one.messages[came.index(key(message))]


@FORMAT
@EXAMPLES
@given(data=st.data())
def test_the_prefix_before_the_first_edit_is_unchanged(data: st.DataObject, fmt: str) -> None:
    one = data.draw(valid_cases(fmt))
    result = run(one, chars4)
    touched = [edit.index for edit in result.plan.edits if edit.index is not None]
    first = min(touched, default=len(one.messages))
    for before, after in zip(one.messages[:first], result.messages, strict=False):
        if '"kind": "notice"' in key(after) or (after == FILLER and before != FILLER):
            break
        assert before is after


@EXAMPLES
@given(one=cases())
def test_wire_copies_only_what_carries_our_keys(one: Case) -> None:
    messages = run(one, chars4).messages
    sent = lithify.wire(messages)
    assert len(sent) == len(messages)
    for before, after in zip(messages, sent, strict=True):
        assert (before is after) == (not underscored(before))
        assert not underscored(after)


def underscored(message: Any) -> bool:
    """Whether the message, or one of its blocks, has a key of ours."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(name.startswith("_") for holder in (message, *blocks) for name in holder)


# 9 Deterministic ----------------------------------------------------


@COUNTERS
@EXAMPLES
@given(one=cases())
def test_the_same_input_gives_the_same_plan(counter: Counter, one: Case) -> None:
    first = run(one, counter)
    second = run(one, counter, copy.deepcopy(one.messages))
    assert first.to_dict(messages=True) == second.to_dict(messages=True)
    assert first.plan.to_dict() == second.plan.to_dict()


@EXAMPLES
@given(one=cases())
def test_results_are_plain_data(one: Case) -> None:
    result = run(one, chars4)
    json.dumps(result.to_dict())
    assert "messages" not in result.to_dict()


def test_anthropic_thinking_of_kept_messages_is_identical() -> None:
    thinking = {"type": "thinking", "thinking": "long " * 50, "signature": "c2ln"}
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go " * 200},
        *({"role": "assistant", "content": "talk " * 100} for _ in range(9)),
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "out " * 400}]},
    ]
    one = Case(ANTHROPIC, messages, 900)
    out = run(one, chars4).messages
    assert out[-2] is messages[-2]
    assert out[-2]["content"][0] is thinking
