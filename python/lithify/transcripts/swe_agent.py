"""SWE-agent: a trajectory, an object with the steps and the history of the run.

Newer versions record with each step the `query`, the messages that were sent; then these are the prompts,
for the program's own processors drop or shorten old observations. Without it the history is one epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, dictionary, label, listing
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "swe_agent"

_ROLES: Final = ("system", "user", "assistant", "tool")
_SENT: Final = ("role", "content", "tool_calls", "tool_call_id", "name")
"""The keys that belong to the provider; the others are notes of the program."""


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = dictionary(values[0] if values else None)
    return isinstance(first.get("trajectory"), list) and (
        isinstance(first.get("history"), list) or "info" in first
    )


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found = []
    for record in records:
        run = dictionary(record.value)
        history = _messages(listing(run.get("history")), notes)
        queries = [
            _messages(listing(dictionary(step).get("query")), notes)
            for step in listing(run.get("trajectory"))
        ]
        thread = Thread()
        if queries and all(queries):
            _from_queries(queries, history, thread)
        else:
            _from_history(history, listing(run.get("history")), thread)
        metadata = {"environment": run.get("environment"), **dictionary(run.get("info"))}
        metadata.pop("submission", None)
        conversation = thread.finish(
            format="openai_chat", name=str(run.get("environment") or ""), metadata=metadata
        )
        if conversation.messages:
            found.append(conversation)
    return found


def _messages(history: list[Any], notes: Notes) -> list[dict[str, Any]]:
    messages = []
    for number, entry in enumerate(history, 1):
        if not isinstance(entry, dict) or entry.get("role") not in _ROLES:
            notes.aside(number, label(entry), entry)
            continue
        message = {name: entry[name] for name in _SENT if entry.get(name) is not None}
        message.setdefault("content", None)
        answered = listing(entry.get("tool_call_ids"))
        if message["role"] == "tool" and "tool_call_id" not in message and answered:
            message["tool_call_id"] = answered[0]
        messages.append(message)
    return messages


def _from_history(messages: list[dict[str, Any]], history: list[Any], thread: Thread) -> None:
    demos = {id(entry) for entry in history if dictionary(entry).get("is_demo")}
    entries = [entry for entry in history if dictionary(entry).get("role") in _ROLES]
    for number, (message, entry) in enumerate(zip(messages, entries, strict=True), 1):
        if message["role"] == "assistant" and id(entry) not in demos:
            thread.ask(line=number)
            thread.reply(message)
        else:
            thread.add(message)


def _from_queries(queries: list[list[dict[str, Any]]], history: list[dict[str, Any]], thread: Thread) -> None:
    for number, query in enumerate(queries, 1):
        held = thread.messages
        if query[: len(held)] == held:
            for message in query[len(held) :]:
                thread.add(message)
        else:
            thread.renew(query, "prompt", line=number)
        thread.ask(line=number)
    # What the last step brought is in the history alone.
    sent = len(thread.messages)
    if history[:sent] == thread.messages:
        for message in history[sent:]:
            thread.reply(message) if message["role"] == "assistant" else thread.add(message)
