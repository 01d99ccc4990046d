"""Gemini CLI: a list of contents (a checkpoint, a trajectory), or a recorded chat.

A recorded chat is a JSON object, in newer versions a JSONL: an object that describes the session, then one
record a message; an update replaces a record with the same id. A model's record carries its calls and their
results together: they become a content of the model and one of the user. Thoughts are recorded as
headlines, without the signature that a prompt needs, and are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, dictionary, label, listing, word
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "gemini_cli"

_ROLES: Final = ("user", "model")
_NOTICES: Final = frozenset({"info", "error", "warning"})
_ABOUT: Final = ("sessionId", "projectHash", "startTime", "lastUpdated", "kind")


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = values[0] if values else None
    if isinstance(first, dict):
        return _is_session(first) or any(_is_content(one) for one in listing(first.get("clientHistory"))[:1])
    return bool(listing(first)) and all(map(_is_content, listing(first)[:3]))


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    thread, metadata = Thread(), {}
    chat: dict[Any, tuple[int, dict[str, Any]]] = {}
    for record in records:
        value = record.value
        contents = value if isinstance(value, list) else dictionary(value).get("clientHistory")
        if isinstance(contents, list):
            _contents(contents, thread, notes)
        elif isinstance(value, dict) and (_is_session(value) or "$set" in value):
            metadata.update({name: value[name] for name in _ABOUT if name in value})
            for message in listing(value.get("messages")) or listing(
                dictionary(value.get("$set")).get("messages")
            ):
                _record(message, record.line, chat, notes)
        elif "$rewindTo" in dictionary(value):
            _rewind(value["$rewindTo"], chat, notes)
        else:
            _record(value, record.line, chat, notes)
    for line, message in chat.values():
        _message(message, line, thread, notes)
    conversation = thread.finish(format="gemini", name=str(metadata.get("sessionId", "")), metadata=metadata)
    return [conversation] if conversation.messages else []


def _is_session(value: dict[str, Any]) -> bool:
    return "sessionId" in value and ("projectHash" in value or "startTime" in value)


def _is_content(value: Any) -> bool:
    return isinstance(dictionary(value).get("parts"), list) and value.get("role") in _ROLES


def _contents(contents: list[Any], thread: Thread, notes: Notes) -> None:
    for number, content in enumerate(contents, 1):
        if not _is_content(content):
            notes.aside(number, label(content), content)
        elif content["role"] == "model" and (not thread.messages or thread.messages[-1]["role"] == "user"):
            thread.ask(line=number)
            thread.reply(content)
        elif content["role"] == "model":
            thread.reply(content) if thread.awaiting else thread.add(content)
        else:
            thread.add(content)


def _record(value: Any, line: int, chat: dict[Any, tuple[int, dict[str, Any]]], notes: Notes) -> None:
    kind = label(value)
    if kind in ("user", "gemini"):
        chat[word(value, "id") or ("line", line, len(chat))] = (line, value)
    elif kind in _NOTICES:
        notes.event(kind)
    else:
        notes.aside(line, kind, value)


def _rewind(identifier: Any, chat: dict[Any, tuple[int, dict[str, Any]]], notes: Notes) -> None:
    notes.event("rewind")
    if isinstance(identifier, str) and identifier in chat:
        names = list(chat)
        for name in names[names.index(identifier) :]:
            del chat[name]


def _message(value: dict[str, Any], line: int, thread: Thread, notes: Notes) -> None:
    parts = _parts(value.get("content"))
    if value["type"] == "user":
        if parts:
            thread.add({"role": "user", "parts": parts})
        return
    calls = [
        call for call in listing(value.get("toolCalls")) if isinstance(dictionary(call).get("name"), str)
    ]
    parts += [{"functionCall": _picked(call, "id", "name", "args")} for call in calls]
    if not parts:
        notes.broken(line, "a reply without text and calls", value)
        return
    tokens = value.get("tokens")
    thread.ask(
        line=line, model=word(value, "model"), time=word(value, "timestamp"), usage=_usage(dictionary(tokens))
    )
    thread.reply({"role": "model", "parts": parts})
    answers = [part for call in calls for part in _answers(call)]
    if answers:
        thread.add({"role": "user", "parts": answers})


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}] if content else []
    several = content if isinstance(content, list) else [content]
    return [{"text": part} if isinstance(part, str) else part for part in several if part]


def _picked(call: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: call[name] for name in names if call.get(name) is not None}


def _answers(call: dict[str, Any]) -> list[dict[str, Any]]:
    result = call.get("result")
    found = [part for part in listing(result) if isinstance(part, dict)]
    if found or result is None:
        return found
    return [{"functionResponse": {**_picked(call, "id", "name"), "response": {"output": result}}}]


def _usage(tokens: dict[str, Any]) -> dict[str, Any] | None:
    """Return the counts under the names that the provider uses."""
    names = {
        "input": "promptTokenCount",
        "output": "candidatesTokenCount",
        "cached": "cachedContentTokenCount",
        "thoughts": "thoughtsTokenCount",
        "tool": "toolUsePromptTokenCount",
        "total": "totalTokenCount",
    }
    return {names[name]: count for name, count in tokens.items() if name in names} or None
