"""What a session log holds, whatever program wrote it.

::

    Log                  one file
    └── Conversation     one history; a file may hold several (sub-agents, rows of a data set)
        └── Epoch        a stretch in which each prompt extends the one before it
            └── Request  one call of the model: how much of the epoch it was sent, and what it cost

An epoch ends where the program replaced its history: it compacted it, cleared results in it, or the user
went back. So `epoch.messages[:request.sent]` is the prompt that was sent, and `epoch.messages` of the last
epoch is what the next request would hold. Messages are objects of the log, shared between epochs and not to
be changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from lithify.usage import NoUsage, reported_input

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Aside", "Conversation", "Damage", "Epoch", "Format", "Log", "Reason", "Request"]

Format = Literal["openai_chat", "anthropic", "responses", "gemini", "bedrock"]
"""The name of a provider's shape, as `format=` takes it."""

Reason = Literal["start", "compaction", "clearing", "rewind", "prompt"]
"""Why an epoch began; `prompt` is a log that records whole prompts which do not extend each other."""

PREVIEW: Final = 200
"""The most bytes of a damaged line that are kept."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model."""

    epoch: int
    """Position of its epoch in the conversation, from 0."""
    sent: int
    """Messages of the epoch that were in the prompt; the reply begins at this index."""
    received: int
    """Messages of the epoch that are its reply; 0 when it is not in the log."""
    line: int | None = None
    """Line or record of the log where the reply begins, from 1."""
    model: str | None = None
    time: str | None = None
    """As the log has it."""
    usage: Mapping[str, Any] | None = None
    """What the provider reported for this request alone, in its own words; None when the log has none."""

    @property
    def input_tokens(self) -> int | None:
        """Tokens of the prompt as the provider reported them, cached ones included; or None."""
        found = NoUsage.MISSING if self.usage is None else reported_input(self.usage)
        return found if isinstance(found, int) else None


@dataclass(frozen=True, slots=True)
class Epoch:
    """A stretch of a conversation in which each prompt extends the one before it."""

    messages: list[dict[str, Any]]
    requests: tuple[Request, ...]
    reason: Reason = "start"
    summary: int | None = None
    """Index of the message that stands for what was compacted away; None when there is none."""
    kept: int = 0
    """Messages at its beginning that were there before: what replaced, or survived from, the old history."""
    line: int | None = None
    """Line or record of the log where it begins, from 1."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the log says about the compaction (trigger, tokens before, ...)."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One history, split into the prompts that were really sent."""

    format: Format
    epochs: tuple[Epoch, ...]
    name: str = ""
    """The log's own name for it: a session, an agent, a task."""
    system: Any = None
    """System text that stands beside the messages, in the provider's shape; None when the log has none."""
    tools: list[Any] | None = None
    """Tool definitions in the provider's shape; None when the log has none."""
    side: bool = False
    """True for a sub-agent's conversation: the log has a main one."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last epoch: what the next request would hold."""
        return self.epochs[-1].messages

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request, in the order in which they were sent."""
        return tuple(request for epoch in self.epochs for request in epoch.requests)

    def prompt(self, request: Request) -> list[dict[str, Any]]:
        """Return the messages that `request` sent, in a new list."""
        return self.epochs[request.epoch].messages[: request.sent]


@dataclass(frozen=True, slots=True)
class Aside:
    """A record that is no message and that the reader does not know."""

    line: int
    label: str
    """What its own type says it is, or how it looks."""
    value: Any


@dataclass(frozen=True, slots=True)
class Damage:
    """A record that could not be read: the others are there."""

    line: int
    """From 1: the line of a JSONL, the row of a list."""
    offset: int | None
    """Bytes from the start of the file; None for a row of a list."""
    problem: str
    text: bytes = b""
    """Its beginning, at most `PREVIEW` bytes."""


@dataclass(frozen=True, slots=True)
class Log:
    """What a file holds. `messages`, `epochs`, ... are those of its first conversation."""

    kind: str
    """Which program wrote it: `claude_code`, `codex`, ..., see `KINDS`."""
    conversations: tuple[Conversation, ...]
    """At least one; sub-agents stand after the main conversation."""
    records: int
    """Lines that are not blank, or rows of a list."""
    events: Mapping[str, int]
    """How many records of each known type are no messages (progress, snapshots, ...), by label."""
    unknown: tuple[Aside, ...]
    """Records that the reader does not know, whole."""
    damage: tuple[Damage, ...]
    """Records that could not be read, with their place."""

    @property
    def main(self) -> Conversation:
        """The first conversation."""
        return self.conversations[0]

    @property
    def format(self) -> Format:
        """The provider's shape of the messages."""
        return self.main.format

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last epoch: what the next request would hold."""
        return self.main.messages

    @property
    def system(self) -> Any:
        """System text beside the messages, or None."""
        return self.main.system

    @property
    def tools(self) -> list[Any] | None:
        """Tool definitions, or None."""
        return self.main.tools

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The stretches between compactions."""
        return self.main.epochs

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request, in the order in which they were sent."""
        return self.main.requests

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the log says about the session (model, version, working folder, ...)."""
        return self.main.metadata
