"""The strict validator: what each provider refuses.

It knows nothing of the repair: it looks at a request as the provider would, message by message. Only one
allowance is made, for a history that is still being written: calls of the last assistant message may
lack results when nothing but their own results follows.
"""

from __future__ import annotations

from typing import Any

from tests.reference.shape import (
    ANTHROPIC,
    Message,
    Part,
    arguments_text,
    blank,
    call_arguments,
    call_name,
    calls,
    detect,
    legacy,
    part_id,
    parts,
    result_texts,
    results,
    text_of,
    walk_strings,
)

Fault = tuple[int, str]


def validate(messages: list[Message], format: str | None = None) -> list[Fault]:  # noqa: A002 - the API's name
    """The faults as (message index, code), sorted; empty when the provider would take the history."""
    fmt = format or detect(messages)
    faults = surrogates(messages, fmt) + ids(messages, fmt)
    faults += anthropic(messages) if fmt == ANTHROPIC else openai(messages)
    return sorted(faults)


def surrogates(messages: list[Message], fmt: str) -> list[Fault]:
    """Text that cannot be encoded as UTF-8."""
    return [
        (i, "lone_surrogate")
        for i, message in enumerate(messages)
        if any(not encodable(text) for text in sent_texts(message, fmt))
    ]


def encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def sent_texts(message: Message, fmt: str) -> list[str]:
    texts = [message["name"]] if isinstance(message.get("name"), str) else []
    for part in parts(message, fmt):
        if part.kind in ("text", "thinking"):
            texts.append(text_of(part))
        elif part.kind == "call":
            arguments = call_arguments(part, fmt)
            texts += [
                part_id(part, fmt),
                call_name(part, fmt),
                *walk_strings(arguments),
                arguments_text(arguments),
            ]
        elif part.kind == "result":
            texts += [part_id(part, fmt), *result_texts(part, fmt)]
        elif part.kind == "document":
            texts += walk_strings(part.data.get("source"))
    return texts


def ids(messages: list[Message], fmt: str) -> list[Fault]:
    """Every call has an id, and it is its own."""
    faults = []
    seen = set()
    for i, message in enumerate(messages):
        for part in calls(message, fmt):
            identity = part_id(part, fmt)
            if legacy(part, fmt):
                continue
            if not identity:
                faults.append((i, "missing_id"))
            elif identity in seen:
                faults.append((i, "duplicate_call_id"))
            seen.add(identity)
    return faults


# OpenAI chat ----------------------------------------------------


def openai(messages: list[Message]) -> list[Fault]:
    faults: list[Fault] = []
    wanted: list[Any] = []
    known: list[Any] = []
    owner = -1
    for i, message in enumerate(messages):
        if message.get("content") == []:
            faults.append((i, "empty_message"))
        if message["role"] in ("tool", "function"):
            faults += openai_result(i, key_of(results(message, "openai_chat")[0]), wanted, known)
            continue
        faults += [(owner, "unanswered_call") for _ in wanted]
        owner = i
        known = [key_of(part) for part in calls(message, "openai_chat")]
        wanted = list(known)
    return faults


def key_of(part: Part) -> tuple[bool, str]:
    return legacy(part, "openai_chat"), part_id(part, "openai_chat")


def openai_result(i: int, key: tuple[bool, str], wanted: list[Any], known: list[Any]) -> list[Fault]:
    """One tool message: it answers a call of the assistant message right before its run."""
    if key in wanted:
        wanted.remove(key)
        return []
    return [(i, "duplicate_result" if key in known else "orphan_result")]


# Anthropic ----------------------------------------------------


def anthropic(messages: list[Message]) -> list[Fault]:
    faults: list[Fault] = []
    if messages and messages[0]["role"] != "user":
        faults.append((0, "first_not_user"))
    for i, message in enumerate(messages):
        last = i == len(messages) - 1
        faults += [(i, code) for code in content_faults(message, last=last)]
        before = messages[i - 1] if i > 0 else None
        faults += [(i, code) for code in result_faults(message, before)]
        faults += [(i, "unanswered_call") for _ in unanswered(messages, i)]
    return faults


def content_faults(message: Message, *, last: bool) -> list[str]:
    content = message.get("content")
    if content is None or content == [] or (isinstance(content, str) and blank(content)):
        return [] if last and message["role"] == "assistant" else ["empty_message"]
    if isinstance(content, str):
        return []
    found = [
        "empty_text" for block in content if block.get("type") == "text" and blank(block.get("text") or "")
    ]
    found += ["empty_cached" for block in content if "cache_control" in block and hollow(block)]
    if all(block.get("type") in ("thinking", "redacted_thinking") for block in content):
        found.append("thinking_only")
    return found


def hollow(block: Message) -> bool:
    """A result without content, on which no cache breakpoint may stand."""
    content = block.get("content")
    return block.get("type") == "tool_result" and (
        not content or (isinstance(content, str) and blank(content))
    )


def result_faults(message: Message, before: Message | None) -> list[str]:
    """Results stand first, each answers a call of the message before, and none answers twice."""
    found = []
    asked = [part_id(part, ANTHROPIC) for part in calls(before, ANTHROPIC)] if before else []
    answered: set[str] = set()
    head = True
    for part in parts(message, ANTHROPIC):
        if part.kind != "result":
            head = False
            continue
        identity = part_id(part, ANTHROPIC)
        if identity not in asked:
            found.append("orphan_result")
        elif identity in answered:
            found.append("duplicate_result")
        elif not head:
            found.append("misplaced_result")
        answered.add(identity)
    return found


def unanswered(messages: list[Message], i: int) -> list[str]:
    asked = [part_id(part, ANTHROPIC) for part in calls(messages[i], ANTHROPIC)]
    after = parts(messages[i + 1], ANTHROPIC) if i + 1 < len(messages) else []
    answers = [part_id(part, ANTHROPIC) for part in after if part.kind == "result"]
    live = i + 1 >= len(messages) or (
        i + 2 == len(messages)
        and bool(after)
        and all(part.kind == "result" and part_id(part, ANTHROPIC) in asked for part in after)
    )
    return [] if live else [identity for identity in asked if identity not in answers]
