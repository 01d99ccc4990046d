"""ShareGPT: rows with `conversations`, each turn a `from` and a `value`; one row a line, or a list of them.

The words for who speaks vary between data sets. A call and its observation carry no id and are paired by
their order; the ids that OpenAI chat asks for are numbers in that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, chat_call, dictionary, label, listing
from lithify.transcripts.records import decode_text
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "sharegpt"

_ROLES: Final = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "assistant"),
    "system": "system",
    **dict.fromkeys(("function_call", "tool_call"), "call"),
    **dict.fromkeys(("observation", "tool", "tool_response", "function_response"), "result"),
}


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = values[0] if values else None
    rows = first if isinstance(first, list) else values
    return any(_is_row(row) for row in rows[:5])


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found = []
    for record in records:
        rows = record.value if isinstance(record.value, list) else [record.value]
        for number, row in enumerate(rows, record.line):
            if not _is_row(row):
                notes.aside(number, label(row), row)
                continue
            conversation = _conversation(row, number, notes)
            if conversation.messages:
                found.append(conversation)
    return found


def _is_row(value: Any) -> bool:
    turns = dictionary(value).get("conversations")
    return isinstance(turns, list) and any("from" in dictionary(turn) for turn in turns)


def _conversation(row: dict[str, Any], number: int, notes: Notes) -> Conversation:
    thread = Thread()
    if isinstance(row.get("system"), str) and row["system"]:
        thread.add({"role": "system", "content": row["system"]})
    open_calls: list[str] = []
    calls = 0
    for turn in row["conversations"]:
        role = _ROLES.get(str(dictionary(turn).get("from")).lower())
        text = dictionary(turn).get("value")
        if role is None or not isinstance(text, str):
            notes.aside(number, f"turn from {dictionary(turn).get('from')!r:.40}", turn)
        elif role in ("assistant", "call"):
            made = _calls(text, calls) if role == "call" else []
            calls += len(made)
            open_calls = [call["id"] for call in made]
            thread.ask(line=number)
            thread.reply(
                {"role": "assistant", "content": None, "tool_calls": made}
                if made
                else {"role": "assistant", "content": text}
            )
        elif role == "result" and open_calls:
            thread.add({"role": "tool", "tool_call_id": open_calls.pop(0), "content": text})
        else:
            # An observation that answers no call is kept as what the user's side said.
            thread.add({"role": "user" if role == "result" else role, "content": text})
    name = str(row.get("id", f"row {number}"))
    return thread.finish(format="openai_chat", name=name, tools=_tools(row.get("tools")))


def _calls(text: str, made: int) -> list[dict[str, Any]]:
    """Return the calls in a turn: an object or a list of them; nothing when it is no JSON of a call."""
    value = decode_text(text)
    several = value if isinstance(value, list) else [value]
    if not several or not all(isinstance(dictionary(one).get("name"), str) for one in several):
        return []
    return [
        chat_call(f"call_{number}", one["name"], one.get("arguments", {}))
        for number, one in enumerate(several, made)
    ]


def _tools(value: Any) -> list[Any] | None:
    several = decode_text(value) if isinstance(value, str) else value
    found = [
        one if "function" in one else {"type": "function", "function": one}
        for one in map(dictionary, listing(several))
        if one
    ]
    return found or None
