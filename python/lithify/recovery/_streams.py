"""Streams whose first events are read ahead, so that an overflow in them can be recovered.

Until the first token nothing was shown to anybody, and the call can be made again. What comes after it goes
through untouched, errors included. At most `_FIRST_EVENTS` events are held.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final, Self

from lithify.recovery.overflow import ErrorClass, classify_error

_FIRST_EVENTS: Final = 16


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _event_failure(event: Any) -> ErrorClass | None:
    """Return the class of an event that says overflow."""
    found = classify_error(event)
    return found if found.is_overflow and found.sub not in ("silent_overflow", "probable") else None


def _is_opening(event: Any) -> bool:
    """Tell whether an event of a stream carries no token yet, so that nothing was shown to anybody."""
    kind = _field(event, "type")
    if isinstance(kind, str):
        return kind in ("message_start", "ping", "content_block_start", "error") or (
            kind.startswith("response.") and not kind.endswith((".delta", ".done", ".completed"))
        )
    choices = _field(event, "choices")
    if not isinstance(choices, list | tuple):
        return False
    for choice in choices:
        delta = _field(choice, "delta")
        if _field(choice, "finish_reason") or _field(delta, "content") or _field(delta, "tool_calls"):
            return False
    return True


class Stream:
    """A stream whose first events were read ahead; everything else is the stream's own."""

    def __init__(self, inner: Any, iterator: Iterator[Any], ahead: list[Any]) -> None:
        self._inner, self._iterator, self._ahead = inner, iterator, ahead
        self.failure: ErrorClass | None = None

    @classmethod
    def opened(cls, inner: Any) -> Any:
        """Read up to the first token; what the stream raises until then is raised here."""
        if not hasattr(inner, "__iter__") or isinstance(inner, Mapping | str | bytes | list | tuple):
            return inner
        made = cls(inner, iter(inner), [])
        for event in made._iterator:
            made._ahead.append(event)
            made.failure = _event_failure(event)
            if made.failure is not None:
                close = getattr(inner, "close", None)
                if callable(close):
                    close()
                break
            if not _is_opening(event) or len(made._ahead) >= _FIRST_EVENTS:
                break
        return made

    def __iter__(self) -> Iterator[Any]:
        while self._ahead:
            yield self._ahead.pop(0)
        yield from self._iterator

    def __next__(self) -> Any:
        return self._ahead.pop(0) if self._ahead else next(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        close = getattr(self._inner, "close", None)
        if callable(close):
            close()


class AsyncStream:
    """The same for an async stream."""

    def __init__(self, inner: Any, iterator: AsyncIterator[Any], ahead: list[Any]) -> None:
        self._inner, self._iterator, self._ahead = inner, iterator, ahead
        self.failure: ErrorClass | None = None

    @classmethod
    async def opened(cls, inner: Any) -> Any:
        """Read up to the first token; what the stream raises until then is raised here."""
        if not hasattr(inner, "__aiter__"):
            return inner
        made = cls(inner, aiter(inner), [])
        async for event in made._iterator:
            made._ahead.append(event)
            made.failure = _event_failure(event)
            if made.failure is not None:
                close = getattr(inner, "close", None)
                if callable(close):
                    await close()
                break
            if not _is_opening(event) or len(made._ahead) >= _FIRST_EVENTS:
                break
        return made

    async def __aiter__(self) -> AsyncIterator[Any]:
        while self._ahead:
            yield self._ahead.pop(0)
        async for event in self._iterator:
            yield event

    async def __anext__(self) -> Any:
        return self._ahead.pop(0) if self._ahead else await anext(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._inner, "close", None)
        if callable(close):
            await close()
