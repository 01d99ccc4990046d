"""The retry strategy as a pure function, and the loop with functions that fail on purpose."""

from __future__ import annotations

import asyncio
import copy
from itertools import pairwise
from typing import Any

import lithify
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithify.recovery import ErrorClass, Figures, Kind, retry_strategy


class StatusError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"error": {"message": message}}


def history(turns: int = 80) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Count the orders."}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "write_file", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": f"Step {n}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": "some payload text " * 40},
        ]
    return [*messages, {"role": "user", "content": "Go on."}]


# The strategy ----------------------------------------------------


def test_the_limit_in_the_error_is_the_target() -> None:
    found = retry_strategy("prompt is too long: 213462 tokens > 100000 maximum", 1, sent=213_462)
    assert (found.action, found.target, found.window) == ("shrink", 100_000, 100_000)


def test_our_own_counts_are_scaled_to_the_providers() -> None:
    found = retry_strategy("prompt is too long: 200000 tokens > 100000 maximum", 1, sent=100_000)
    assert found.target == 50_000


def test_without_a_figure_a_fifth_goes() -> None:
    assert retry_strategy("Input is too long for requested model.", 1, sent=1_000).target == 800


def test_a_higher_limit_than_ours_is_not_learnt() -> None:
    found = retry_strategy(
        "prompt is too long: 213462 tokens > 200000 maximum", 1, sent=90_000, limit=100_000
    )
    assert found.window is None


def test_an_output_cap_lowers_the_output() -> None:
    error = "max_tokens (98304) exceeds model's maximum output tokens (65536)"
    found = retry_strategy(error, 1, sent=1_000, output=98_304)
    assert (found.action, found.output) == ("lower_output", 65_536)


def test_in_and_out_together_lower_the_output_first() -> None:
    error = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
    found = retry_strategy(error, 1, sent=190_000, output=20_000)
    assert (found.action, found.output) == ("lower_output", 10_000)


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_other_errors_are_raised(status: int) -> None:
    assert retry_strategy(StatusError(status, "no"), 1, sent=1_000).action == "raise"


def test_five_retries_and_no_more() -> None:
    error = "Input is too long for requested model."
    assert [retry_strategy(error, n, sent=1_000).action for n in (1, 5, 6)] == ["shrink", "shrink", "raise"]


@given(
    st.integers(1, 10**7),
    st.one_of(st.none(), st.integers(1_024, 10**7)),
    st.one_of(st.none(), st.integers(0, 10**7)),
    st.one_of(st.none(), st.integers(1, 10**6)),
    st.sampled_from(list(Kind)),
)
def test_every_decision_is_strictly_smaller(
    sent: int, limit: int | None, actual: int | None, output: int | None, kind: Kind
) -> None:
    error = ErrorClass(kind=kind, figures=Figures(limit=limit, actual=actual, available=output))
    found = retry_strategy(error, 1, sent=sent, output=output)
    if found.action == "shrink":
        assert found.target is not None
        assert 0 < found.target < sent
    if found.action == "lower_output":
        assert found.output is not None
        assert output is None or found.output < output


# The loop ----------------------------------------------------


class Model:
    """Refuses what is over its limit, in the words of a provider."""

    def __init__(
        self, limit: int, *, says: str = "prompt is too long: {tokens} tokens > {limit} maximum"
    ) -> None:
        self.limit = limit
        self.says = says
        self.sizes: list[int] = []

    def __call__(self, **request: Any) -> str:
        tokens = lithify.count_tokens(request["messages"])
        assert lithify.validate(request["messages"]) == []
        assert not any("_lithify" in message for message in request["messages"])
        self.sizes.append(tokens)
        if tokens > self.limit:
            raise StatusError(400, self.says.format(tokens=tokens, limit=self.limit))
        return f"answer to {request['model']}"

    async def acall(self, **request: Any) -> str:
        return self(**request)


def shrinking(sizes: list[int]) -> bool:
    return len(sizes) <= 6 and all(a > b for a, b in pairwise(sizes))


@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("limit", [1_100, 3_000, 8_000, 10**6])
def test_a_call_is_recovered(limit: int, *, use_async: bool) -> None:
    model, messages = Model(limit), history()
    before = copy.deepcopy(messages)
    caller = lithify.Caller()
    if use_async:
        reply = asyncio.run(caller.acall(model.acall, model="m", messages=messages))
    else:
        reply = caller.call(model, model="m", messages=messages)
    assert reply == "answer to m"
    assert messages == before
    assert shrinking(model.sizes)
    assert len(model.sizes) == (1 if limit == 10**6 else 2)
    assert [attempt.tokens for attempt in caller.attempts] == model.sizes
    assert caller.limit == (None if limit == 10**6 else limit)


def test_what_was_learnt_is_kept() -> None:
    model, caller = Model(3_000), lithify.Caller(window=200_000)
    caller.call(model, model="m", messages=history())
    model.sizes.clear()
    caller.call(model, model="m", messages=history())
    assert len(model.sizes) == 1


@pytest.mark.parametrize("use_async", [False, True])
def test_at_most_six_calls_and_the_providers_own_error(*, use_async: bool) -> None:
    model = Model(0, says="Input is too long for requested model.")
    caller = lithify.Caller(window=200_000)

    def run() -> None:
        if use_async:
            asyncio.run(caller.acall(model.acall, model="m", messages=history()))
        else:
            caller.call(model, model="m", messages=history())

    with pytest.raises(StatusError, match="Input is too long") as caught:
        run()
    assert len(model.sizes) == 6
    assert shrinking(model.sizes)
    assert len(caught.value.attempts) == 6  # type: ignore[attr-defined]
    assert "6 calls were made" in caught.value.__notes__[0]


def test_a_history_that_cannot_shrink_is_sent_once() -> None:
    model = Model(0, says="Input is too long for requested model.")
    with pytest.raises(StatusError):
        lithify.Caller().call(model, model="m", messages=[{"role": "user", "content": "hello there"}])
    assert len(model.sizes) == 1


def test_the_output_is_lowered_and_the_history_untouched() -> None:
    seen: list[Any] = []
    messages = history(3)

    def model(**request: Any) -> str:
        seen.append(request["max_tokens"])
        assert request["messages"] == messages
        if request["max_tokens"] > 4_096:
            said = f"max_tokens: {request['max_tokens']} > 4096, which is the maximum allowed number"
            raise StatusError(400, f"{said} of output tokens")
        return "ok"

    assert lithify.Caller().call(model, model="m", messages=messages, max_tokens=100_000) == "ok"
    assert seen == [100_000, 4_096]


@pytest.mark.parametrize("status", [401, 429, 500])
def test_other_errors_go_through_after_one_call(status: int) -> None:
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        raise StatusError(status, "no")

    with pytest.raises(StatusError):
        lithify.Caller().call(model, model="m", messages=history(2))
    assert len(calls) == 1


def test_an_overflow_with_status_200_is_recovered() -> None:
    sizes: list[int] = []

    def model(**request: Any) -> dict[str, Any]:
        sizes.append(len(request["messages"]))
        if len(sizes) == 1:
            return {"error": {"code": "context_length_exceeded", "message": "too long"}}
        return {
            "choices": [
                {"message": {"role": "assistant", "content": "prompt is too long"}, "finish_reason": "stop"}
            ]
        }

    reply = lithify.Caller().call(model, model="m", messages=history())
    assert "choices" in reply
    assert len(sizes) == 2


def chunk(text: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}], **more}


def test_a_stream_is_recovered_until_its_first_token() -> None:
    made: list[int] = []

    def model(**_: Any) -> Any:
        made.append(1)
        yield chunk()
        if len(made) == 1:
            raise StatusError(400, "prompt is too long: 9000 tokens > 3000 maximum")
        yield from (chunk("a"), chunk("b"))

    stream = lithify.Caller().call(model, model="m", messages=history(), stream=True)
    assert [event["choices"][0]["delta"]["content"] for event in stream] == [None, "a", "b"]
    assert len(made) == 2


def test_a_stream_that_breaks_later_is_not_called_again() -> None:
    made: list[int] = []

    def model(**_: Any) -> Any:
        made.append(1)
        yield chunk("a")
        raise StatusError(400, "prompt is too long: 9000 tokens > 3000 maximum")

    stream = lithify.Caller().call(model, model="m", messages=history(), stream=True)
    assert next(stream)["choices"][0]["delta"]["content"] == "a"
    with pytest.raises(StatusError):
        next(stream)
    assert len(made) == 1


def test_an_async_stream_is_recovered() -> None:
    made: list[int] = []

    async def events() -> Any:
        made.append(1)
        if len(made) == 1:
            yield {"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}}
        yield {"type": "content_block_delta", "delta": {"text": "a"}}

    async def model(**_: Any) -> Any:
        return events()

    async def main() -> list[Any]:
        stream = await lithify.Caller().acall(model, model="m", messages=history(), stream=True)
        return [event async for event in stream]

    assert len(asyncio.run(main())) == 1
    assert len(made) == 2


def test_a_cancelled_call_leaves_everything() -> None:
    messages = history()
    before = copy.deepcopy(messages)

    async def model(**_: Any) -> Any:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.ensure_future(lithify.Caller(window=6_000).acall(model, model="m", messages=messages))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert messages == before
