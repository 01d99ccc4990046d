"""What a summarizer is asked and what it answers: plain data, so any callable can be one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

RequestKind: TypeAlias = Literal["full", "chunk", "merge", "update", "repair"]


class SummaryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a summarizer.

    system and text: what to send, as the system and the user message; no tools go with it. max_tokens: the
    most that the reply may have. timeout: seconds for this request, `None` for the client's own. `str()`
    gives both texts in one, for summarizers that take a single text.
    """

    kind: RequestKind
    system: str
    text: str
    max_tokens: int
    timeout: float | None = None

    def __str__(self) -> str:
        """Return system text and question as one text."""
        return f"{self.system}\n\n{self.text}"


class SummaryReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back, for clients that know more than the text; a bare string does as well.

    refused, tool_call: the model declined, or called a tool instead of writing. thinking: it thought and
    wrote nothing. tokens: input and output as the provider reported them, where it did.
    """

    text: str
    refused: bool = False
    tool_call: bool = False
    thinking: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None


Answer: TypeAlias = str | SummaryReply
Summarizer: TypeAlias = Callable[[SummaryRequest], Answer | Awaitable[Answer]]
"""Any callable, sync or async, from a request to a text."""


class SummaryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a ladder, with its retries.

    outcome: `ok`, `failed` (with the error's class and words in `error`), or the problems of the reply,
    such as `missing_headings`. tries: calls made for it, transient failures included. seconds: all of them
    together.
    """

    rung: str
    kind: str
    outcome: str
    tries: int = 1
    seconds: float = 0.0
    sent: int = 0
    """Characters that were sent."""
    received: int = 0
    """Characters that came back."""
    error: str | None = None


class SummaryReport(msgspec.Struct, frozen=True, kw_only=True):
    """How layer 3 went.

    rung: `full`, `partial_1`, `partial_2`, `extract`, `kept` (nothing was dropped, the earlier summary
    stands) or `notice` (no summary: there was no room for one, or too little was dropped). tokens: of the
    summary by the counter in use. covers: the number of the last message of the whole conversation that it
    speaks of.
    """

    rung: str
    tokens: int = 0
    covers: int = 0
    attempts: tuple[SummaryAttempt, ...] = ()
    put_back: tuple[str, ...] = ()
    """What `must_keep` or the carry-over asked for and the model had left out."""

    @property
    def seconds(self) -> float:
        """Time spent waiting for the model."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def calls(self) -> int:
        """Calls of the summarizer, retries included."""
        return sum(attempt.tries for attempt in self.attempts)
