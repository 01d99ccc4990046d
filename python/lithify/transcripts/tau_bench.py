"""tau-bench: one row or a list of rows, each with the messages of a run under `traj`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lithify.transcripts.messages import plain
from lithify.transcripts.reader import Notes, dictionary, label, listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "tau_bench"


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = values[0] if values else None
    rows = first if isinstance(first, list) else [first]
    return any(_is_row(row) for row in rows[:3])


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found = []
    for record in records:
        rows = record.value if isinstance(record.value, list) else [record.value]
        for number, row in enumerate(rows, record.line):
            if not _is_row(row):
                notes.aside(number, label(row), row)
                continue
            metadata = {name: row[name] for name in ("task_id", "reward", "trial") if name in row}
            name = f"task {row.get('task_id')} trial {row.get('trial')}"
            conversation = plain(listing(row["traj"]), "openai_chat", notes, name=name, metadata=metadata)
            if conversation is not None:
                found.append(conversation)
    return found


def _is_row(value: Any) -> bool:
    row = dictionary(value)
    return isinstance(row.get("traj"), list) and ("task_id" in row or "reward" in row)
