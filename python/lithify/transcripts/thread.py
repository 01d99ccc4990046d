"""Builds the epochs of one conversation while its records go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lithify.transcripts.log import Conversation, Epoch, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lithify.transcripts.log import Format, Reason

__all__ = ["Thread"]


class Thread:
    """The messages of the epoch that is being read, and the epochs before it."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._epochs: list[Epoch] = []
        self._requests: list[dict[str, Any]] = []
        self._start: dict[str, Any] = {}

    @property
    def awaiting(self) -> bool:
        """True when a request is open: its reply may go on and its usage may still come."""
        return bool(self._requests) and self._requests[-1]["open"]

    def add(self, message: dict[str, Any]) -> int:
        """Append a message and return its index."""
        self.messages.append(message)
        return len(self.messages) - 1

    def ask(
        self,
        *,
        line: int | None = None,
        model: str | None = None,
        time: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        """Note that everything so far was sent; the reply comes next."""
        self.close()
        self._requests.append(
            {
                "epoch": len(self._epochs),
                "sent": len(self.messages),
                "received": 0,
                "line": line,
                "model": model,
                "time": time,
                "usage": usage,
                "open": True,
            }
        )

    def reply(self, message: dict[str, Any]) -> int:
        """Append a message that the open request brought, and return its index."""
        self._requests[-1]["received"] += 1
        return self.add(message)

    def report(self, usage: Mapping[str, Any] | None) -> None:
        """Give the newest request its usage: a later report of the same request replaces an earlier one."""
        if self._requests and usage is not None:
            self._requests[-1]["usage"] = usage

    def close(self) -> None:
        """Note that the newest request is answered."""
        if self._requests:
            self._requests[-1]["open"] = False

    def renew(
        self,
        messages: list[dict[str, Any]],
        reason: Reason,
        *,
        summary: int | None = None,
        line: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """End the epoch and begin one with `messages`. An epoch without any message leaves no trace."""
        if self.messages:
            self._epochs.append(self._epoch())
        elif self._start and reason != "start":
            # Two marks of one compaction: the first one's words count where the second has none.
            metadata = {**self._start["metadata"], **(metadata or {})}
        self.messages = messages
        self._requests = []
        self._start = {
            "reason": reason,
            "summary": summary,
            "kept": len(messages),
            "line": line,
            "metadata": metadata or {},
        }

    @property
    def reason(self) -> str:
        """Why the epoch at hand began."""
        return str(self._start.get("reason", "start"))

    def keep(self, *, summary: int | None = None) -> None:
        """Note that all messages so far stand in place of the old history, one of them for what was in it."""
        self._start["kept"] = len(self.messages)
        if summary is not None:
            self._start["summary"] = summary

    def finish(self, *, format: Format, **rest: Any) -> Conversation:  # noqa: A002 (the name it has everywhere)
        """Return the conversation; an empty last epoch is left out unless it is the only one."""
        if self.messages or not self._epochs:
            self._epochs.append(self._epoch())
        return Conversation(format=format, epochs=tuple(self._epochs), **rest)

    def _epoch(self) -> Epoch:
        requests = tuple(
            Request(**{name: value for name, value in one.items() if name != "open"})
            for one in self._requests
        )
        return Epoch(self.messages, requests, **self._start)
