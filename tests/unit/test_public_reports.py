"""The kinds of failure that users of other tools have reported, each with inputs of our own: histories.

The numbers are those of the shared cases, which are of the same kinds. Texts and estimates are in
`test_public_reports_text.py`; summaries, calibration and error classes belong to later work.
"""

from __future__ import annotations

import json
from typing import Any

import lithify
import pytest
from lithify import errors

from tests.histories import chars4
from tests.reference import validate
from tests.reference.shape import ANTHROPIC, OPENAI, calls, part_id, results

Message = dict[str, Any]
CLEARED = "[compacted: tool output removed to free context]"
BOTH = pytest.mark.parametrize("fmt", [OPENAI, ANTHROPIC])


def user(text: Any, **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


def assistant(text: Any, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def ask(fmt: str, *ids: str, name: str = "bash", arguments: Any = None) -> Message:
    given = {"cmd": "ls"} if arguments is None else arguments
    if fmt == ANTHROPIC:
        return assistant([{"type": "tool_use", "id": i, "name": name, "input": given} for i in ids])
    function = {"name": name, "arguments": json.dumps(given)}
    return assistant(None, tool_calls=[{"id": i, "type": "function", "function": function} for i in ids])


def answer(fmt: str, **outputs: str) -> list[Message]:
    if fmt == ANTHROPIC:
        return [
            user([{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in outputs.items()])
        ]
    return [{"role": "tool", "tool_call_id": i, "content": text} for i, text in outputs.items()]


def rounds(fmt: str, count: int, size: int, name: str = "bash") -> list[Message]:
    """`count` calls, each with a result of `size` characters of its own."""
    out = []
    for i in range(count):
        line = f"{i:03d} line\n"
        out += [ask(fmt, f"r{i}", name=name), *answer(fmt, **{f"r{i}": line * (size // len(line))})]
    return out


def compact(messages: list[Message], window: int, fmt: str, **more: Any) -> Any:
    """Compacts, and checks what has to hold whatever the case: valid, fits, and stable."""
    result = lithify.compact(messages, window=window, format=fmt, token_counter=chars4, **more)
    assert validate(lithify.wire(result.messages), fmt) == []
    assert result.fits
    assert result.limit is not None
    assert result.tokens_after <= result.limit
    again = lithify.compact(result.messages, window=window, format=fmt, token_counter=chars4, **more)
    assert again.messages == result.messages
    return result


def contents(message: Message, fmt: str) -> list[Any]:
    return [part.data.get("content") for part in results(message, fmt)]


def is_there(message: Message, out: list[Message]) -> bool:
    return any(message is other for other in out)


# Pairs: 01, 02, 04, 05, 08, 17, 19, 22, 23 ----------------------------------------------------


@BOTH
@pytest.mark.parametrize("window", range(150, 2600, 175))
def test_pairs_hold_at_every_window(fmt: str, window: int) -> None:
    last = user("and now a test, please")
    messages = [
        user("repair the build"),
        ask(fmt, "a", "b", "c"),
        *answer(fmt, a="sunny " * 400, b="rain\n" * 300, c="snow"),
        assistant("two of three are done " * 90),
        ask(fmt, "x", "y"),
        *answer(fmt, x="row\n" * 700, y="done"),
        assistant("fine"),
        last,
    ]
    out = compact(messages, window, fmt).messages
    assert is_there(messages[0], out)
    assert out[-1] is last


@BOTH
def test_a_result_whose_call_was_cut_away_goes(fmt: str) -> None:
    messages = [user("task"), *answer(fmt, gone="output"), assistant("I see"), user("next")]
    out = compact(messages, 1000, fmt).messages
    assert out == [messages[0], messages[2], messages[3]]


@BOTH
@pytest.mark.parametrize("window", [700, 1500, 3000, 6000])
def test_stubs_go_with_the_calls_they_answer(fmt: str, window: int) -> None:
    broken = [
        user("do it"),
        ask(fmt, "t1"),
        assistant("no answer came " * 40),
        *rounds(fmt, 20, 600),
        user("done?"),
    ]
    first = compact(lithify.repair(broken, format=fmt).messages, window, fmt).messages
    kept = {part_id(part, fmt) for message in first for part in calls(message, fmt)}
    answered = {part_id(part, fmt) for message in first for part in results(message, fmt)}
    assert kept == answered
    assert lithify.repair(first, format=fmt).messages == first


@BOTH
def test_one_matching_id_does_not_vouch_for_its_neighbours(fmt: str) -> None:
    messages = [user("q"), ask(fmt, "new"), *answer(fmt, old="1", new="2"), assistant("answer"), user("more")]
    out = compact(messages, 1000, fmt).messages
    ids = [part_id(part, fmt) for message in out for part in results(message, fmt)]
    assert ids == ["new"]


@BOTH
def test_a_trailing_result_keeps_its_call_and_the_question(fmt: str) -> None:
    question = user("the current question")
    old = [message for i in range(8) for message in (user(f"old {i} " * 60), assistant("reply " * 60))]
    messages = [*old, question, ask(fmt, "r1"), *answer(fmt, r1="result " * 30)]
    out = compact(messages, 500, fmt).messages
    assert is_there(question, out)
    assert is_there(messages[-2], out)
    assert is_there(messages[-1], out)


@BOTH
@pytest.mark.parametrize("sizes", [(6000, 200), (200, 6000), (3000, 3000)])
def test_no_cut_between_parallel_results(fmt: str, sizes: tuple[int, int]) -> None:
    messages = [
        user("two strings"),
        ask(fmt, "p", "q", name="rand"),
        *answer(fmt, p="abcde\n" * (sizes[0] // 6), q="xyz\n" * (sizes[1] // 4)),
        assistant("made"),
        user("explain"),
    ]
    for window in (120, 400, 900, 1500, 3000):
        out = compact(messages, window, fmt).messages
        ids = {part_id(part, fmt) for message in out for part in results(message, fmt)}
        assert ids in ({"p", "q"}, set())


@BOTH
@pytest.mark.parametrize("ids", [("t", "t"), ("", ""), ("t", ""), ("call_1", "")])
def test_colliding_and_empty_ids_lose_nothing(fmt: str, ids: tuple[str, str]) -> None:
    call = ask(fmt, *ids)
    if fmt == ANTHROPIC:
        outcome = [
            user(
                [{"type": "tool_result", "tool_use_id": i, "content": f"out {n}"} for n, i in enumerate(ids)]
            )
        ]
    else:
        outcome = [{"role": "tool", "tool_call_id": i, "content": f"out {n}"} for n, i in enumerate(ids)]
    out = lithify.repair([user("go"), call, *outcome, user("on")], format=fmt).messages
    assert validate(out, fmt) == []
    called = [part_id(part, fmt) for part in calls(out[1], fmt)]
    assert len(set(called)) == 2
    found = {part_id(part, fmt): part.data["content"] for message in out for part in results(message, fmt)}
    assert [found[each] for each in called] == ["out 0", "out 1"]


# Poisoned histories: 07, 13, 14, 20, 112 ----------------------------------------------------


@BOTH
@pytest.mark.parametrize("dead", [1, 3])
def test_a_dead_call_does_not_stop_compaction(fmt: str, dead: int) -> None:
    lost = [ask(fmt, f"dead{i}") for i in range(dead)]
    result = compact([user("go"), *lost, *rounds(fmt, 30, 800), user("on")], 2000, fmt)
    assert result.tokens_after < result.tokens_before
    assert any(edit.layer == "repair" for edit in result.plan.edits)


@BOTH
def test_the_later_of_two_results_wins(fmt: str) -> None:
    messages = [
        user("go"),
        ask(fmt, "a"),
        *answer(fmt, a="pending"),
        user("?"),
        *answer(fmt, a="final"),
        user("on"),
    ]
    out = lithify.repair(messages, format=fmt).messages
    assert [text for message in out for text in contents(message, fmt)] == ["final"]


@BOTH
def test_repeated_results_appear_once(fmt: str) -> None:
    twice = [
        user("go"),
        ask(fmt, "a", "b"),
        *answer(fmt, a="1", b="2"),
        *answer(fmt, a="1", b="2"),
        user("on"),
    ]
    out = lithify.repair(twice, format=fmt).messages
    assert sorted(text for message in out for text in contents(message, fmt)) == ["1", "2"]
    assert lithify.repair(out, format=fmt).messages == out


@BOTH
def test_a_tail_that_opens_with_results_is_healed_without_invented_calls(fmt: str) -> None:
    messages = [user("summary of what came before"), *answer(fmt, z="ok"), assistant("done"), user("thanks")]
    out = lithify.repair(messages, format=fmt).messages
    assert not any(calls(message, fmt) for message in out)
    assert out == [messages[0], messages[2], messages[3]]


@BOTH
def test_a_pin_between_call_and_result_comes_right_after_the_pair(fmt: str) -> None:
    note = lithify.pin(user("ACTIVE DOCUMENT"))
    messages = [user("first"), assistant("old " * 800), ask(fmt, "t"), note, *answer(fmt, t="r"), user("now")]
    out = compact(messages, 600, fmt).messages
    at = next(i for i, message in enumerate(out) if message is note)
    assert results(out[at - 1], fmt)
    assert calls(out[at - 2], fmt)


# Pins, first and current messages: 113, 115, 116, 103, 104, 47 ----------------------------------------


@BOTH
@pytest.mark.parametrize("place", [2, 9, 20])
def test_pins_stay_and_are_not_sent(fmt: str, place: int) -> None:
    messages = [user("task"), *rounds(fmt, 25, 600), user("now")]
    messages.insert(1 + 2 * place, lithify.pin(user("never touch prod " * 5)))
    out = compact(messages, 1500, fmt).messages
    assert is_there(messages[1 + 2 * place], out)
    sent = lithify.wire(out)
    assert not any(name.startswith("_") for message in sent for name in message)
    assert any(message["content"] == messages[1 + 2 * place]["content"] for message in sent)


@BOTH
@pytest.mark.parametrize("window", [400, 900, 1600])
def test_the_first_user_message_stays_whole(fmt: str, window: int) -> None:
    task = user("the whole task, word by word. " * 30)
    out = compact([task, *rounds(fmt, 12, 1500), user("go on")], window, fmt).messages
    assert out[0] is task


@BOTH
@pytest.mark.parametrize("size", [10, 100, 4000])
def test_the_current_message_stays_or_an_error_tells(fmt: str, size: int) -> None:
    current = user("now " * size)
    messages = [user("task"), *(assistant("x " * 300) for _ in range(6)), current]
    if size < 4000:
        assert compact(messages, 700, fmt).messages[-1] is current
        return
    with pytest.raises(errors.DoesNotFit) as caught:
        lithify.compact(messages, window=700, format=fmt, token_counter=chars4)
    assert caught.value.limit == 700 < caught.value.irreducible


@pytest.mark.parametrize(("times", "window"), [(2000, 3000), (50_000, 33_536), (3000, 2048)])
def test_a_system_prompt_too_large_is_an_error_with_figures(times: int, window: int) -> None:
    messages = [{"role": "system", "content": "rule text " * times}, user("task"), user("now")]
    with pytest.raises(errors.DoesNotFit) as caught:
        lithify.compact(messages, window=window, token_counter=chars4)
    error = caught.value
    assert (error.limit, error.core["system"] >= times * 2) == (window, True)
    assert error.irreducible > window
    result = lithify.compact(messages, window=window, token_counter=chars4, on_misfit="return")
    assert not result.fits
    assert result.messages[0] is messages[0]


# Budgets: 100, 101 ----------------------------------------------------


@pytest.mark.parametrize(("window", "reserve"), [(200_000, 400_000), (1000, 1000), (0, None), (-5, None)])
def test_a_budget_without_input_is_refused(window: int, reserve: int | None) -> None:
    with pytest.raises(errors.LithifyError):
        lithify.compact([user("hi")], window=window, reserve=reserve)


def test_the_reserve_is_taken_off_the_window() -> None:
    result = lithify.compact([user("hi")], window=272_000, reserve=4096)
    assert result.limit == 267_904


# Odd content: 106, 107, 109, 73, 97, 110 ----------------------------------------------------


def test_none_costs_the_message_alone_and_stays() -> None:
    messages = [
        user("x"),
        ask(OPENAI, "n"),
        {"role": "tool", "tool_call_id": "n", "content": None},
        assistant(None),
    ]
    assert lithify.count_tokens([assistant(None)], format=OPENAI, token_counter=chars4) == 3 + 4
    result = compact([*messages, user("y")], 1000, OPENAI)
    assert result.rung == "none"
    assert result.messages[3] is messages[3]


@pytest.mark.parametrize("content", [{}, {"content": ""}, {"content": []}, {"content": None}])
def test_a_result_without_content_is_left_as_it_is(content: Message) -> None:
    messages = [
        user("x"),
        ask(ANTHROPIC, "m"),
        user([{"type": "tool_result", "tool_use_id": "m", **content}]),
        user("y"),
    ]
    out = lithify.repair(messages, format=ANTHROPIC).messages
    assert all(before is after for before, after in zip(messages, out, strict=True))


def test_cache_control_never_stands_on_an_empty_block() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    call = ask(ANTHROPIC, "c")["content"][0]
    messages = [
        user([{"type": "text", "text": "x"}]),
        assistant([{"type": "text", "text": "", **mark}, call]),
        user(
            [
                {"type": "tool_result", "tool_use_id": "c", "content": "", **mark},
                {"type": "text", "text": "and?"},
            ]
        ),
    ]
    out = lithify.repair(messages, format=ANTHROPIC).messages
    assert out[1]["content"] == [{**call, **mark}]
    assert [("cache_control" in block) for block in out[2]["content"]] == [False, True]


def test_a_cleared_result_holds_the_notice() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user("x"), *rounds(ANTHROPIC, 8, 800), user("on")]
    messages[2] = user([{**messages[2]["content"][0], **mark, "is_error": True}])
    out = compact(messages, 2000, ANTHROPIC).messages
    assert out[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "r0", "content": CLEARED, **mark, "is_error": True}
    ]


@BOTH
@pytest.mark.parametrize("size", [400, 40_000])
def test_arguments_and_names_count(fmt: str, size: int) -> None:
    small = lithify.count_tokens([user("x"), ask(fmt, "q")], format=fmt, token_counter=chars4)
    large = lithify.count_tokens(
        [user("x"), ask(fmt, "q", arguments={"query": "s" * size})], format=fmt, token_counter=chars4
    )
    assert large - small >= size // 4 - 10


@BOTH
def test_large_arguments_go_with_their_pair_and_stay_json(fmt: str) -> None:
    messages = [user("write files")]
    for i in range(30):
        arguments = {"path": "f", "content": "c" * 5000}
        messages += [
            ask(fmt, f"w{i}", name="write_file", arguments=arguments),
            *answer(fmt, **{f"w{i}": "ok"}),
        ]
    out = compact([*messages, user("done?")], 20_000, fmt).messages
    assert CLEARED not in [text for message in out for text in contents(message, fmt)]
    for message in out:
        assert all(any(message is other for other in messages) for _ in calls(message, fmt))
    assert any(calls(message, fmt) for message in out)
