"""Calls a model and recovers from overflow: prepare, call, classify, shrink, call again.

Three promises:

* at most `recovery.max_retries` calls follow the first one;
* each is strictly smaller than the one before by the same counter (or, when the reply limit was to blame,
asks   for a strictly shorter reply); where that cannot be done the provider's own error is raised, with all
  attempts in its `attempts`;
* the caller's messages are never changed, whatever happens.

What to do after an error is decided by `lithify.recovery.retry_strategy`. Waiting after a rate limit is
left to the SDK, which knows how; so retries are not multiplied.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lithify.compactor import acompact, compact, count_tokens, input_limit, known_model, wire
from lithify.errors import InvalidInput, describe
from lithify.policy import Policy
from lithify.recovery import ErrorClass, RetryAttempt, classify_error, retry_strategy
from lithify.recovery._streams import AsyncStream, Stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lithify.result import Result

__all__ = ["Caller"]

OUTPUT_FIELDS: Final = ("max_completion_tokens", "max_output_tokens", "max_tokens")
HISTORY_FIELDS: Final = ("messages", "input")


class _Progress:
    """The state of one call: what was sent, what may be sent next. Shared by the sync and the async loop."""

    def __init__(self, caller: Caller, request: Mapping[str, Any]) -> None:
        self.caller = caller
        names = [name for name in HISTORY_FIELDS if name in request]
        if not names:
            raise InvalidInput(
                field="request", expected="a history under messages= or input=", got=describe(request)
            )
        self.name = names[0]
        self.history = request[self.name]
        self.request = dict(request)
        self.field = next((name for name in OUTPUT_FIELDS if request.get(name) is not None), None)
        self.new_field = self.field or OUTPUT_FIELDS[2]
        self.attempts: list[RetryAttempt] = []
        self.target: int | None = None
        self.result: Result | None = None
        self.tokens = 0
        self.action = "first"
        self.body: dict[str, Any] = {}

    @property
    def output(self) -> int | None:
        value = self.request.get(self.new_field)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def options(self) -> dict[str, Any]:
        """Return the arguments of `compact` for the next attempt."""
        caller = self.caller
        options = {
            "system": self.request.get("system"),
            "tools": self.request.get("tools"),
            "policy": caller.policy if self.target is None else caller.closely,
            "token_counter": caller.token_counter,
            "summarizer": caller.summarizer,
            "instructions": caller.instructions,
            "must_keep": caller.must_keep,
            "state": caller.state,
            "format": caller.format,
            "model": caller.model,
        }
        limit = caller.limit
        if self.target is not None:
            limit = self.target if limit is None else min(limit, self.target)
        # A retry may end above its target, when no more can go: what counts is that it is smaller.
        misfit = "raise" if self.target is None else "return"
        return {**options, "window": limit, "reserve": 0, "on_misfit": misfit}

    def prepared(self, result: Result | None) -> dict[str, Any]:
        """Return the request to be sent; without a known window the history goes as it is."""
        if result is None:
            self.tokens = count_tokens(
                self.history,
                system=self.request.get("system"),
                tools=self.request.get("tools"),
                format=self.caller.format,
                token_counter=self.caller.token_counter,
                model=self.caller.model,
            )
            messages = self.history
        else:
            self.result, self.tokens, messages = result, result.tokens_after, result.messages
        wired = wire(messages) if isinstance(messages, list | tuple) else messages
        self.body = {**self.request, self.name: wired}
        return self.body

    def note(self, found: ErrorClass | None) -> None:
        self.attempts.append(
            RetryAttempt(
                tokens=self.tokens,
                output=self.output,
                action=self.action,
                kind=str(found.kind) if found is not None else None,
                message=found.message if found is not None else "",
                rung=self.result.rung if self.result is not None else "none",
            )
        )

    def failed(self, found: ErrorClass) -> bool:
        """Take a failure in; tell whether there is something to try."""
        self.note(found)
        limit = self.caller.limit
        decision = retry_strategy(
            found,
            len(self.attempts),
            sent=self.tokens,
            limit=limit,
            output=self.output,
            recovery=self.caller.policy.recovery,
        )
        self.action = decision.action
        if decision.window is not None and (limit is None or decision.window < limit):
            self.caller.learnt = self.in_our_tokens(decision.window, found)
        if decision.action == "lower_output" and decision.output is not None:
            self.request[self.new_field] = decision.output
            self.body = {**self.body, self.new_field: decision.output}
            return True
        self.target = decision.target
        return decision.action == "shrink"

    def in_our_tokens(self, window: int, found: ErrorClass) -> int:
        """Return a window of the provider by the counter in use, never larger than it was."""
        figures = found.figures
        if figures.measured and figures.actual and figures.actual > self.tokens:
            window = window * self.tokens // figures.actual
        return max(window - (figures.output or 0), 1)

    def following(self, result: Result | None, before: int) -> dict[str, Any] | None:
        """Return the next request, when it is strictly smaller than the one before."""
        if result is None:
            return None
        last, size = self.result, self.tokens
        body = self.prepared(result)
        if self.tokens < before:
            return body
        self.result, self.tokens = last, size
        return None


def _closely(policy: Policy) -> Policy:
    """Return the policy of a retry: its target is what to come down to, so no layer goes far below it."""
    return msgspec.structs.replace(
        policy,
        clear=msgspec.structs.replace(policy.clear, trigger=1.0, target=0.95, at_least=0),
        prune=msgspec.structs.replace(policy.prune, trigger=1.0, target=0.95),
    )


class Caller:
    """Calls a model and recovers from overflow; remembers for one conversation what it learnt.

    `limit` is the input limit; a lower one that an error disclosed is kept. After a call, `last` is the
    result of the compaction that was sent (None when the history went as it was) and `attempts` the calls
    made.

    >>> caller = Caller(window=200_000)
    >>> reply = caller.call(client.messages.create, model="...", messages=messages)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        window: int | None = None,
        model: str | None = None,
        reserve: int | None = None,
        policy: Policy | None = None,
        token_counter: Any = None,
        summarizer: Any = None,
        instructions: str | None = None,
        must_keep: Any = (),
        state: Any = None,
        format: str | None = None,  # noqa: A002 (the word users know)
    ) -> None:
        """Take the settings of `compact`. Without window and model the first call goes out as it is.

        Raises `InvalidInput` when window, model and reserve do not go together.
        """
        from lithify.summarize.drive import SummaryState  # noqa: PLC0415 (only who calls pays for it)

        known = known_model(model)
        self.configured = None if window is None and model is None else input_limit(window, known, reserve)
        self.policy = policy if policy is not None else Policy()
        self.closely = _closely(self.policy)
        self.model = model
        self.token_counter = token_counter
        self.summarizer = summarizer
        self.instructions = instructions
        self.must_keep = must_keep
        self.state = state if state is not None else SummaryState()
        self.format = format
        self.learnt: int | None = None
        self.last: Result | None = None
        self.attempts: tuple[RetryAttempt, ...] = ()

    @property
    def limit(self) -> int | None:
        """The input limit in force: the configured one, or a lower one that an error disclosed."""
        known = [limit for limit in (self.configured, self.learnt) if limit is not None]
        return min(known, default=None)

    def call(self, function: Callable[..., Any], /, **request: Any) -> Any:
        """Call `function(**request)` with a history that fits; shrink it and call again after an overflow.

        The history is found under `messages` or `input`. With `stream=True` the first events are awaited,
        so that an overflow in the stream is recovered as well; what comes after the first token goes through.

        Raises what the function raised, with `attempts` attached, when it is no overflow or nothing helps.
        """
        progress = _Progress(self, request)
        body = progress.prepared(self._compacted(progress))
        while True:
            error: Exception | None = None
            reply: Any = None
            try:
                reply = function(**body)
                if request.get("stream"):
                    reply = Stream.opened(reply)
            except Exception as raised:  # noqa: BLE001  every error of every SDK is classified
                error = raised
            found = self._class(error, reply, progress)
            if found is None:
                return self._done(progress, reply)
            if not progress.failed(found):
                return self._given_up(progress, error, reply)
            if progress.action == "lower_output":
                body = progress.body
                continue
            following = progress.following(self._compacted(progress), progress.tokens)
            if following is None:
                return self._given_up(progress, error, reply)
            body = following

    async def acall(self, function: Callable[..., Awaitable[Any]], /, **request: Any) -> Any:
        """Do what `call` does with an async function; a cancellation goes through and changes nothing."""
        progress = _Progress(self, request)
        options = progress.options()
        first = None if options["window"] is None else await acompact(progress.history, **options)
        body = progress.prepared(first)
        while True:
            error: Exception | None = None
            reply: Any = None
            try:
                reply = function(**body)
                reply = await reply if inspect.isawaitable(reply) else reply
                if request.get("stream"):
                    reply = await AsyncStream.opened(reply)
            except Exception as raised:  # noqa: BLE001
                error = raised
            found = self._class(error, reply, progress)
            if found is None:
                return self._done(progress, reply)
            if not progress.failed(found):
                return self._given_up(progress, error, reply)
            if progress.action == "lower_output":
                body = progress.body
                continue
            result = await acompact(progress.history, **progress.options())
            following = progress.following(result, progress.tokens)
            if following is None:
                return self._given_up(progress, error, reply)
            body = following

    # ---- parts ----

    @staticmethod
    def _compacted(progress: _Progress) -> Result | None:
        options = progress.options()
        return None if options["window"] is None else compact(progress.history, **options)

    def _class(self, error: Exception | None, reply: Any, progress: _Progress) -> ErrorClass | None:
        """Return the class of a failure, None for a good reply; a reply may be an overflow in disguise."""
        if error is not None:
            return classify_error(error, window=self.limit, estimate=progress.tokens)
        if isinstance(reply, Stream | AsyncStream):
            return reply.failure
        found = classify_error(reply)
        disguised = found.is_overflow and found.sub not in (
            "silent_overflow",
            "silent_truncation",
            "probable",
        )
        return found if disguised else None

    def _done(self, progress: _Progress, reply: Any) -> Any:
        progress.note(None)
        self.last, self.attempts = progress.result, tuple(progress.attempts)
        return reply

    def _given_up(self, progress: _Progress, error: Exception | None, reply: Any) -> Any:
        """Raise the provider's own error with the attempts; a reply that says overflow comes back."""
        self.last, self.attempts = progress.result, tuple(progress.attempts)
        if error is None:
            return reply
        with contextlib.suppress(AttributeError, TypeError):  # slots: the note and `self.attempts` tell it
            error.attempts = self.attempts  # type: ignore[attr-defined]
        if len(self.attempts) > 1:
            sizes = " -> ".join(f"{attempt.tokens:,}" for attempt in self.attempts)
            error.add_note(f"lithify: {len(self.attempts)} calls were made, of {sizes} tokens")
        raise error
