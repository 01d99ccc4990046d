"""The two drivers of the ladder, sync and async: they call the summarizer, retry, and know the time.

A transient failure is retried with growing, jittered pauses, never shorter than `Retry-After` says, until the
tries or the deadline are used up. A failure to authenticate and a cancellation go through to the caller.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from lithify.errors import InvalidInput, LithifyError, describe
from lithify.recovery import ErrorClass, classify_error
from lithify.summarize.check import as_reply
from lithify.summarize.ladder import Answered, Written
from lithify.summarize.protocol import Answer, Summarizer, SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from lithify.policy import Summary

_T = TypeVar("_T")
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 20.0


class SummaryState(msgspec.Struct, kw_only=True):
    """What a conversation remembers of its summaries, and how to wait. One per conversation.

    failures: compactions in a row for which no rung with a model worked; from `summary.breaker` on the
    summarizer is not asked any more. `reset()` asks it again.
    """

    failures: int = 0
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def reset(self) -> None:
        """Ask the summarizer again."""
        self.failures = 0


def run(
    steps: Generator[list[SummaryRequest], list[Answered], _T],
    summarizer: Summarizer,
    settings: Summary,
    state: SummaryState,
) -> _T:
    """Drive the ladder in this thread, one request after the other."""
    try:
        requests = next(steps)
        while True:
            requests = steps.send([_ask(request, summarizer, settings, state) for request in requests])
    except StopIteration as stop:
        result: _T = stop.value
        return result


async def arun(
    steps: Generator[list[SummaryRequest], list[Answered], _T],
    summarizer: Summarizer,
    settings: Summary,
    state: SummaryState,
) -> _T:
    """Drive the ladder in this event loop; requests that come together run together."""
    try:
        requests = next(steps)
        while True:
            requests = steps.send(await _together(requests, summarizer, settings, state))
    except StopIteration as stop:
        result: _T = stop.value
        return result


def without_model(steps: Generator[list[SummaryRequest], list[Answered], Written]) -> Written:
    """Drive a ladder that asks nothing."""
    try:
        next(steps)
    except StopIteration as stop:
        result: Written = stop.value
        return result
    raise AssertionError("a ladder without a model made a request")


async def _together(
    requests: list[SummaryRequest], summarizer: Summarizer, settings: Summary, state: SummaryState
) -> list[Answered]:
    tasks = [asyncio.ensure_future(_aask(request, summarizer, settings, state)) for request in requests]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _retrying(kind: type[_T], settings: Summary, sleep: Any) -> _T:
    import tenacity  # noqa: PLC0415 (only who summarizes pays for the import)

    growing = tenacity.wait_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
    backoff = growing + tenacity.wait_random(0, _FIRST_PAUSE)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        return max(backoff(state), classify_error(error).retry_after or 0.0)

    return kind(
        stop=tenacity.stop_any(
            tenacity.stop_after_attempt(settings.attempts), tenacity.stop_before_delay(settings.deadline)
        ),
        wait=wait,
        retry=tenacity.retry_if_exception(_transient),
        sleep=sleep,
        reraise=True,
    )  # type: ignore[call-arg]


def _transient(error: BaseException) -> bool:
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return isinstance(error, Exception) and classify_error(error).retryable


def _ask(request: SummaryRequest, summarizer: Summarizer, settings: Summary, state: SummaryState) -> Answered:
    import tenacity  # noqa: PLC0415

    tries, began = 0, time.monotonic()

    def once() -> SummaryReply:
        nonlocal tries
        tries += 1
        answer = summarizer(request)
        return _checked(_finished(answer) if inspect.isawaitable(answer) else answer)

    retrying = _retrying(tenacity.Retrying, settings, state.sleep)
    try:
        reply = retrying(once)
    except Exception as error:  # noqa: BLE001  a summarizer may raise anything; the ladder goes on
        return _failed(error, tries, time.monotonic() - began)
    return Answered(reply=reply, tries=tries, seconds=time.monotonic() - began)


async def _aask(
    request: SummaryRequest, summarizer: Summarizer, settings: Summary, state: SummaryState
) -> Answered:
    import tenacity  # noqa: PLC0415

    tries, began = 0, time.monotonic()

    async def once() -> SummaryReply:
        nonlocal tries
        tries += 1
        async with asyncio.timeout(settings.timeout):
            if _is_async(summarizer):
                answer: Any = summarizer(request)
            else:
                answer = await asyncio.to_thread(summarizer, request)
            return _checked(await answer if inspect.isawaitable(answer) else answer)

    retrying = _retrying(tenacity.AsyncRetrying, settings, state.asleep)
    try:
        reply: SummaryReply = await retrying(once)
    except Exception as error:  # noqa: BLE001
        return _failed(error, tries, time.monotonic() - began)
    return Answered(reply=reply, tries=tries, seconds=time.monotonic() - began)


def _is_async(summarizer: Any) -> bool:
    return inspect.iscoroutinefunction(summarizer) or inspect.iscoroutinefunction(
        getattr(summarizer, "__call__", None)  # noqa: B004 (the method itself is asked for)
    )


def _finished(answer: Awaitable[Answer]) -> Answer:
    """Wait for an async summarizer in sync code; inside a running loop that would block it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        if inspect.iscoroutine(answer):
            answer.close()
        raise InvalidInput(
            field="summarizer",
            expected="a sync summarizer inside a running event loop",
            got="an async one",
            remedy="Use acompact, or pass a sync summarizer.",
        )

    async def waited() -> Answer:
        return await answer

    return asyncio.run(waited())


def _checked(answer: Any) -> SummaryReply:
    if not isinstance(answer, str | SummaryReply):
        raise InvalidInput(
            field="summarizer", expected="a summarizer that returns text", got=describe(answer)
        )
    return as_reply(answer)


def _failed(error: Exception, tries: int, seconds: float) -> Answered:
    """Return the failure as data, or raise it when going on would hide it."""
    if isinstance(error, LithifyError):
        raise error
    failure: ErrorClass = classify_error(error)
    if failure.sub in ("auth", "cancelled"):
        raise error
    said = f"{type(error).__name__}: {' '.join(str(error)[:300].split())}"
    return Answered(error=said, failure=failure, tries=tries, seconds=seconds)
