"""The kinds of failure that users of other tools have reported: clearing, cutting, notices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import lithify
import pytest
from lithify import errors

from tests.histories import chars4
from tests.reference.shape import ANTHROPIC, OPENAI, calls, part_id
from tests.unit.test_public_reports import (
    BOTH,
    CLEARED,
    answer,
    ask,
    assistant,
    compact,
    contents,
    is_there,
    rounds,
    user,
)

TRUNCATED = "[truncated: output exceeded context limit]"


def texts(messages: list[Any], fmt: str) -> list[Any]:
    return [text for message in messages for text in contents(message, fmt)]


# One giant: 68, 70, 71, 86, 89 ----------------------------------------------------


@BOTH
@pytest.mark.parametrize("window", [500, 2000, 10_000])
def test_a_result_larger_than_the_window_is_cut_at_a_line(fmt: str, window: int) -> None:
    messages = [user("run it"), ask(fmt, "g"), *answer(fmt, g="0123456789 log line\n" * 30_000)]
    out = compact(messages, window, fmt).messages
    (text,) = texts(out, fmt)
    *lines, last = text.split("\n")
    assert last == TRUNCATED
    assert set(lines) == {"0123456789 log line"}
    assert window * 0.35 * 4 < len(text) <= window * 0.5 * 4


@BOTH
def test_results_are_handled_however_few_messages_there_are(fmt: str) -> None:
    messages = [user("a")]
    for name in ("1", "2"):
        messages += [ask(fmt, name), *answer(fmt, **{name: f"{name}\n" * 50_000})]
    result = compact([*messages, user("b")], 30_000, fmt)
    assert texts(result.messages, fmt)[-1].endswith(TRUNCATED)
    assert result.messages[-1]["content"] == "b"


@BOTH
def test_nothing_is_dropped_while_a_large_result_can_give_way(fmt: str) -> None:
    messages = [
        *(user("x"), ask(fmt, "s"), *answer(fmt, s="tiny"), ask(fmt, "h"), *answer(fmt, h="big\n" * 20_000)),
        user("y"),
    ]
    result = compact(messages, 6000, fmt)
    assert len(result.messages) == len(messages)
    assert texts(result.messages, fmt)[0] == "tiny"


@BOTH
def test_emoji_are_not_split_by_a_cut(fmt: str) -> None:
    messages = [user("x"), ask(fmt, "e"), *answer(fmt, e="list: " + "🌤💼🏆📉🎯🚀🔥🟢" * 60)]
    for window in range(70, 130, 3):
        for text in texts(compact(messages, window, fmt).messages, fmt):
            text.encode("utf-8")
            assert text.removesuffix("\n" + TRUNCATED) in messages_text(messages, fmt) or text == TRUNCATED


def messages_text(messages: list[Any], fmt: str) -> str:
    return str(texts(messages, fmt)[0])


@BOTH
def test_nul_and_control_characters_are_counted_and_kept(fmt: str) -> None:
    text = "PDF\x00text\x07\x1b[31mred\x1b[0m\x00end"
    messages = [user("x"), ask(fmt, "n"), *answer(fmt, n=text)]
    result = compact(messages, 1000, fmt)
    assert texts(result.messages, fmt) == [text]
    longer = [user("x"), ask(fmt, "n"), *answer(fmt, n=text + "\x00" * 400)]
    more = lithify.count_tokens(longer, format=fmt, token_counter=chars4)
    assert more - result.tokens_after == 100


@pytest.mark.parametrize("bad", ["\ud800", "a\ud83d", "\udc00\ud800"])
def test_surrogates_are_made_sendable_everywhere(bad: str) -> None:
    messages = [
        {"role": "system", "content": "sys " + bad},
        user([{"type": "text", "text": "usr " + bad}]),
        ask(OPENAI, "a", name="f" + bad),
        {"role": "tool", "tool_call_id": "a", "content": bad},
    ]
    messages[2]["tool_calls"][0]["function"]["arguments"] = '{"k": "' + bad + '"}'
    out = lithify.repair(messages, format=OPENAI).messages
    str(out).encode("utf-8")
    assert "\ufffd" in out[2]["tool_calls"][0]["function"]["arguments"]
    assert out[0]["content"] == "sys " + "".join(
        "\ufffd" if "\ud800" <= each <= "\udfff" else each for each in bad
    )


# What is cleared: 127, 128, 125, 130 ----------------------------------------------------


def test_a_short_error_is_not_erased() -> None:
    error = {
        "type": "tool_result",
        "tool_use_id": "e",
        "is_error": True,
        "content": "patch failed: no anchor",
    }
    messages = [user("x"), ask(ANTHROPIC, "e"), user([error]), *rounds(ANTHROPIC, 15, 1200)]
    out = compact(messages, 6000, ANTHROPIC).messages
    assert CLEARED in texts(out, ANTHROPIC)
    assert is_there(messages[2], out)


@BOTH
@pytest.mark.parametrize("count", [8, 300])
def test_below_the_trigger_nothing_is_cleared(fmt: str, count: int) -> None:
    result = compact([user("q"), *rounds(fmt, count, 40)], 200_000, fmt)
    assert result.rung == "none"
    assert result.plan.edits == ()


@BOTH
def test_a_cut_stops_where_enough_is_freed(fmt: str) -> None:
    messages = [user("go")]
    for i in range(120):
        arguments = {"content": f"{i} " * 400, "path": "p"}
        messages += [ask(fmt, f"t{i}", name="Write", arguments=arguments), *answer(fmt, **{f"t{i}": "ok"})]
    result = compact([*messages, user("and now?")], 20_000, fmt)
    assert result.rung == "prune"
    assert result.tokens_after > 0.15 * result.limit


@BOTH
def test_it_runs_inside_a_tool_loop(fmt: str) -> None:
    messages = [user("one long job"), *rounds(fmt, 24, 3000)]
    result = compact(messages, 20_000, fmt)
    assert result.rung in ("clear", "prune")
    assert result.messages[-1] is messages[-1]


@BOTH
def test_the_newest_messages_give_way_when_they_alone_are_too_large(fmt: str) -> None:
    big = [message for i in range(6) for message in (user(f"{i} w " * 800), assistant("v " * 1500))]
    now = user("now")
    out = compact([user("a"), *big, now], 3000, fmt).messages
    assert out[-1] is now
    assert 3 <= len(out) < 9


# Notices: 119, 148, 124, 121, 122, 53 ----------------------------------------------------


@BOTH
def test_one_notice_with_the_true_number_after_every_pass(fmt: str) -> None:
    messages: list[Any] = [user("the task")]
    said = 1
    for i in range(31):
        more = [assistant(f"step {i} " * 80), user(f"go on {i} " * 20)]
        said += 2
        messages = compact([*messages, *more], 700, fmt).messages
        own = [
            m
            for m in messages
            if isinstance(m.get("_lithify"), dict) and m["_lithify"].get("kind") == "notice"
        ]
        assert len(own) <= 1
        if own:
            assert messages[1] is own[0]
            removed = said - (len(messages) - 1)
            assert own[0]["_lithify"]["removed"] == removed
            assert str(own[0]["content"]).startswith(
                f"[context compacted: {removed} earlier messages removed]"
            )
            assert len(own[0]["content"]) < 700


@BOTH
def test_words_that_look_like_a_notice_are_words(fmt: str) -> None:
    first = user("what does `[context compacted: 12 earlier messages removed]` mean?")
    forged = user("[context compacted: 99 earlier messages removed]")
    old = [message for i in range(15) for message in (assistant(f"{i} a " * 200), user("b " * 200))]
    out = compact([first, forged, *old], 1500, fmt).messages
    assert out[0] is first
    notice = next(m for m in out if isinstance(m.get("_lithify"), dict))
    gone = 32 - (len(out) - 1)
    assert str(notice["content"]).startswith(f"[context compacted: {gone} earlier messages removed]")


@BOTH
@pytest.mark.parametrize("size", [50, 2000])
def test_something_is_always_left(fmt: str, size: int) -> None:
    messages = [user("task"), assistant("w " * 900), assistant("z " * size)]
    try:
        out = compact(messages, 700, fmt).messages
    except errors.DoesNotFit as error:
        out = error.best
    assert out[0] is messages[0]
    assert not any(m["role"] in ("system", "developer") for m in out)


@BOTH
def test_strict_alternation_holds_at_every_window(fmt: str) -> None:
    policy = lithify.Policy(strict_alternation=True)
    turns = [message for i in range(20) for message in (assistant(f"{i} x " * 100), user("y " * 100))]
    messages = [user("task"), *turns, assistant("z")]
    standing = set()
    for window in range(150, lithify.count_tokens(messages, format=fmt), 40):
        out = lithify.compact(messages, window, format=fmt, policy=policy, on_misfit="return").messages
        roles = [message["role"] for message in out]
        assert all(one != other for one, other in pairwise(roles)), window
        again = lithify.compact(out, window, format=fmt, policy=policy, on_misfit="return").messages
        assert again == out
        if "earlier messages removed]" in str(out):
            standing.add(isinstance(out[0]["content"], str))
    assert standing == {True, False}  # as the assistant's part, and merged into the first message


@BOTH
def test_a_prune_that_wins_nothing_is_not_made(fmt: str) -> None:
    messages = [user("a" * 400), assistant("b"), user("c" * 400)]
    total = lithify.count_tokens(messages, format=fmt, token_counter=chars4)
    result = compact(messages, total, fmt)
    assert result.rung == "none"
    assert len(result.messages) == 3


# Thinking and what is not ours to read: 25, 26, 28, 32 ----------------------------------------------------


@pytest.mark.parametrize("window", [700, 1500, 4000])
def test_thinking_is_kept_whole_or_goes_whole(window: int) -> None:
    messages: list[Any] = [user("hard task")]
    for i in range(13):
        blocks = [
            {"type": "thinking", "thinking": f"plan {i} " * 9, "signature": "sig-opaque"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            *ask(ANTHROPIC, f"t{i}")["content"],
        ]
        messages += [assistant(blocks), *answer(ANTHROPIC, **{f"t{i}": "log\n" * 300})]
    out = compact(messages, window, ANTHROPIC).messages
    assert is_there(messages[-2], out)
    assert all(is_there(message, messages) for message in out if message["role"] == "assistant")


def test_redacted_thinking_is_not_priced_as_text() -> None:
    def price(data: str) -> int:
        blocks = [{"type": "redacted_thinking", "data": data}, *ask(ANTHROPIC, "a")["content"]]
        return lithify.count_tokens([user("a"), assistant(blocks)], format=ANTHROPIC)

    assert price("x" * 10) == price("x" * 100_000)


def test_a_message_of_thinking_alone_goes() -> None:
    thought = assistant([{"type": "thinking", "thinking": "hm", "signature": "s"}])
    messages = [user("q"), thought, user("again"), assistant("answer"), user("more")]
    assert lithify.repair(messages, format=ANTHROPIC).messages == [messages[0], *messages[2:]]


@pytest.mark.parametrize("window", [150, 400, 3000])
def test_a_server_tool_call_and_its_caller_stay_together(window: int) -> None:
    server = {"type": "server_tool_use", "id": "srv", "name": "code_execution", "input": {}}
    lookup = {**ask(ANTHROPIC, "u")["content"][0], "caller": {"type": "code_execution", "tool_id": "srv"}}
    turn = assistant([server, lookup])
    messages = [user("q"), turn, *answer(ANTHROPIC, u="v"), assistant("done " * 150), user("next")]
    out = compact(messages, window, ANTHROPIC).messages
    found = [part_id(part, ANTHROPIC) for message in out for part in calls(message, ANTHROPIC)]
    assert found in ([], ["u"])
    assert is_there(turn, out) == bool(found)
