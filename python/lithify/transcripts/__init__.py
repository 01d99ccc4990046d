"""Reads session logs as agents leave them on disk, split into the prompts that were really sent.

>>> log = lithify.transcripts.load("session.jsonl")
>>> result = lithify.compact(log.messages, window=200_000, system=log.system, tools=log.tools)
>>> for request in log.requests:
...     prompt = log.main.prompt(request)   # what was sent; request.usage is what it cost
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from lithify.errors import InvalidInput, describe
from lithify.transcripts.log import Aside, Conversation, Damage, Epoch, Log, Request
from lithify.transcripts.reader import Notes, label
from lithify.transcripts.records import open_records
from lithify.transcripts.registry import KINDS, find

__all__ = ["KINDS", "Aside", "Conversation", "Damage", "Epoch", "Log", "Request", "load", "sniff"]


def load(source: str | os.PathLike[str] | IO[bytes]) -> Log:
    """Read the log at a path, or from a binary stream at its beginning.

    The kind is found by what the file holds, never by its name. Lines of a JSONL are read one by one.

    Raises:
        OSError: the file cannot be read.
        InvalidJSON: no record can be read, or a file of one JSON value is broken; the place is in the error.
        InvalidInput: it is empty, of no known kind, or holds no message.

    """
    if not isinstance(source, str | os.PathLike):
        return _load(source)
    with Path(source).open("rb") as stream:
        return _load(stream)


def sniff(source: str | os.PathLike[str] | IO[bytes]) -> str | None:
    """Return the kind of a log by its first records, one of `KINDS`, or None. Raises as `load` does."""
    if not isinstance(source, str | os.PathLike):
        return _sniff(source)
    with Path(source).open("rb") as stream:
        return _sniff(stream)


def _sniff(stream: IO[bytes]) -> str | None:
    reader = find([record.value for record in open_records(stream).head])
    return None if reader is None else reader.KIND


def _load(stream: IO[bytes]) -> Log:
    records = open_records(stream)
    reader = find([record.value for record in records.head])
    if reader is None:
        first = records.head[0].value
        raise InvalidInput(
            field="file",
            expected=f"a session log of one of the kinds {', '.join(KINDS)}",
            got=f"{label(first)}: {describe(first)}",
            remedy="Convert it to a JSON list of messages.",
        )
    notes = Notes()
    conversations = reader.read(records, notes)
    if not conversations:
        raise InvalidInput(
            field="file",
            expected="at least one message",
            got=f"a log of the kind {reader.KIND} without any",
            remedy="Give the log of a session in which the model was asked something.",
        )
    return Log(
        kind=reader.KIND,
        conversations=tuple(conversations),
        records=records.count,
        events=dict(sorted(notes.events.items())),
        unknown=tuple(notes.unknown),
        damage=(*records.damage, *notes.damage),
    )
