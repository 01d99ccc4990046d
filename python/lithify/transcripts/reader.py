"""What a reader of one kind is given and gives back, and what several of them need."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lithify.transcripts.log import Aside, Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

__all__ = ["Notes", "Reader", "chat_call", "dictionary", "label", "listing", "text_of", "word"]


@dataclass
class Notes:
    """What a reader found that is no message."""

    events: Counter[str] = field(default_factory=Counter)
    unknown: list[Aside] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)

    def event(self, name: str) -> None:
        """Count a record of a known type."""
        self.events[name] += 1

    def aside(self, line: int, name: str, value: Any) -> None:
        """Keep a record that is not known."""
        self.unknown.append(Aside(line, name, value))

    def broken(self, line: int, problem: str, value: Any) -> None:
        """Keep the place of a record of a known type that lacks what it must have."""
        self.damage.append(Damage(line, None, problem, json.dumps(value)[:200].encode()))


class Reader(Protocol):
    """Reads the logs of one program."""

    KIND: str

    def sniff(self, values: Sequence[Any]) -> bool:
        """Tell whether the first records of a file are of this kind; the only value of a JSON file is one."""

    def read(self, records: Iterable[Record], notes: Notes) -> list[Conversation]:
        """Return what the records hold; nothing when there is no message in them."""


def dictionary(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def label(value: Any) -> str:
    """Say what a record is by its own `type`, or by how it looks."""
    kind = dictionary(value).get("type")
    if isinstance(kind, str):
        return kind[:80]
    return "an object without a type" if isinstance(value, dict) else f"a {type(value).__name__}"


def word(value: Any, name: str) -> str | None:
    """Return the text under a key of an object, or None: what a log names may be of any type."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def text_of(content: Any) -> str:
    """Return the text of a content that is a string or a list of text parts."""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else dictionary(part).get("text") for part in listing(content))
    return "\n".join(part for part in parts if isinstance(part, str))


def chat_call(identifier: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a tool call as OpenAI chat has it; arguments that are no text become JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": text}}
