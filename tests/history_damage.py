"""The ways in which histories are broken in the wild: each changes a list of messages in place.

`damage` applies several, drawn at random. Some (flags, a notice of ours, unknown keys) leave a valid
history valid.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tests.history_texts import STUB, text

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Message = dict[str, Any]

OPENAI = "openai_chat"
ANTHROPIC = "anthropic"


def drop_message(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    del messages[rng.randrange(len(messages))]


def drop_span(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    start = rng.randrange(len(messages))
    del messages[start : start + rng.randrange(1, 5)]


def repeat_message(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    again = copy.deepcopy(rng.choice(messages))
    messages.insert(rng.randrange(len(messages) + 1), again)


def move_message(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    moved = messages.pop(rng.randrange(len(messages)))
    messages.insert(rng.randrange(len(messages) + 1), moved)


def swap_neighbours(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    at = rng.randrange(len(messages))
    messages[at - 1], messages[at] = messages[at], messages[at - 1]


def shift_block(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """A block is dropped, repeated or moved inside its message or into another one of the same role."""
    del fmt
    holders = [
        message for message in messages if isinstance(message.get("content"), list) and message["content"]
    ]
    if not holders:
        return
    holder = rng.choice(holders)
    block = holder["content"].pop(rng.randrange(len(holder["content"])))
    roll = rng.random()
    if roll < 0.3:
        return
    target = holder
    if roll < 0.7:
        target = rng.choice([other for other in holders if other["role"] == holder["role"]])
    target["content"].insert(rng.randrange(len(target["content"]) + 1), block)
    if roll > 0.85:
        holder["content"].append(copy.deepcopy(block))


def id_places(fmt: str, messages: list[Message]) -> list[tuple[Message, str]]:
    found: list[tuple[Message, str]] = []
    for message in messages:
        if fmt == OPENAI:
            found += [(call, "id") for call in message.get("tool_calls") or []]
            if message["role"] == "tool":
                found.append((message, "tool_call_id"))
        elif isinstance(message.get("content"), list):
            for block in message["content"]:
                if block.get("type") == "tool_use":
                    found.append((block, "id"))
                if block.get("type") == "tool_result":
                    found.append((block, "tool_use_id"))
    return found


def change_id(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """An id is taken from elsewhere, emptied, set to None, left out, or made to look like one of ours."""
    found = id_places(fmt, messages)
    if not found:
        return
    holder, key = rng.choice(found)
    other = rng.choice(found)
    values = (
        other[0].get(other[1]),
        other[0].get(other[1]),
        "",
        None,
        "call_0",
        "call_3",
        "call1_2",
        "ghost",
        "\udc80",
    )
    holder[key] = rng.choice(values)
    if rng.random() < 0.15:
        del holder[key]


def empty_ids(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """Every id of a stretch is empty, as some servers send them."""
    found = id_places(fmt, messages)
    start = rng.randrange(len(found) + 1)
    for holder, key in found[start : start + 6]:
        holder[key] = rng.choice(("", None)) if rng.random() < 0.8 else "x"


def same_ids(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """Every id of the history is one of two, as a server with a short counter makes them."""
    for holder, key in id_places(fmt, messages):
        if holder.get(key):
            holder[key] = f"c{len(holder[key]) % 2 if rng.random() < 0.9 else 9}"


def stub_then_real(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """A stub of ours stands where the result should be, and the real result comes later."""
    answers = [i for i, message in enumerate(messages) if holds_result(fmt, message)]
    if not answers:
        return
    at = rng.choice(answers)
    real = copy.deepcopy(messages[at])
    own = {"_lithify": {"kind": "stub"}} if rng.random() < 0.8 else {}
    if fmt == OPENAI:
        messages[at] = {**messages[at], "content": STUB, **own}
    else:
        blocks = [
            {**block, "content": STUB, "is_error": True, **own}
            if block.get("type") == "tool_result"
            else block
            for block in messages[at]["content"]
        ]
        messages[at] = {**messages[at], "content": blocks}
    messages.insert(rng.randrange(at + 1, len(messages) + 1), real)


def holds_result(fmt: str, message: Message) -> bool:
    if fmt == OPENAI:
        return bool(message["role"] == "tool")
    content = message.get("content")
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


def put_between(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """A user (or system) speaks between a call and its result."""
    answers = [i for i, message in enumerate(messages) if holds_result(fmt, message)]
    if not answers:
        return
    role = "system" if fmt == OPENAI and rng.random() < 0.3 else rng.choice(("user", "user", "assistant"))
    messages.insert(rng.choice(answers), {"role": role, "content": "by the way " + text(rng, 20)})


def odd_content(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """Content that is None, empty or blank."""
    message = rng.choice(messages)
    if message["role"] == "function" or (fmt == OPENAI and message["role"] == "tool" and rng.random() < 0.5):
        return
    if fmt == ANTHROPIC and id_places(fmt, [message]):
        return
    message["content"] = rng.choice((None, "", [], " \n\t", [{"type": "text", "text": " "}]))


def blank_block(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    holders = [message for message in messages if isinstance(message.get("content"), list)]
    if not holders:
        return
    block: Message = {"type": "text", "text": rng.choice(("", " ", "\n", "\u3000"))}
    if fmt == ANTHROPIC and rng.random() < 0.5:
        block["cache_control"] = {"type": "ephemeral"}
    content = rng.choice(holders)["content"]
    content.insert(rng.randrange(len(content) + 1), block)


def empty_result(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    answers = [message for message in messages if holds_result(fmt, message)]
    if not answers:
        return
    message = rng.choice(answers)
    holder = (
        message if fmt == OPENAI else next(b for b in message["content"] if b.get("type") == "tool_result")
    )
    holder["content"] = rng.choice(("", None, [], " "))
    if fmt == ANTHROPIC:
        holder["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def only_thinking(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    if fmt == ANTHROPIC:
        block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        messages.insert(rng.randrange(len(messages) + 1), {"role": "assistant", "content": [block]})


def lone_surrogate(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    message = rng.choice(messages)
    bad = rng.choice(("\ud800", "\udfff", "a\ud83d", "\ud83d\ude00"))
    content = message.get("content")
    if isinstance(content, str):
        message["content"] = content[:3] + bad + content[3:]
    elif isinstance(content, list) and content:
        block = rng.choice(content)
        if block.get("type") == "text":
            block["text"] += bad
        elif block.get("type") == "tool_use":
            block["input"] = {**block["input"], f"k{len(block['input'])}{bad}": [bad]}
        elif block.get("type") == "tool_result" and isinstance(block.get("content"), str):
            block["content"] += bad
    elif fmt == OPENAI and message.get("tool_calls"):
        call = rng.choice(message["tool_calls"])["function"]
        call[rng.choice(("name", "arguments"))] += bad


def unknown_keys(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    message = rng.choice(messages)
    message["x_meta"] = {"deep": [1, {"b": "\ud800"}]}
    message["_private"] = "kept"
    if isinstance(message.get("content"), list) and message["content"] and rng.random() < 0.7:
        rng.choice(message["content"])["x_note"] = ["as it is"]


def unknown_block(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    holders = [
        m for m in messages if isinstance(m.get("content"), list) and m["role"] in ("user", "assistant")
    ]
    if not holders:
        return
    block = rng.choice(
        (
            {"type": "hologram", "data": "data:x/y;base64," + "Z" * 600, "n": 1.5, "é": None},
            {"type": "container_upload", "file_id": "f"},
            {"type": "compaction", "content": "q" * 300},
        )
    )
    content = rng.choice(holders)["content"]
    content.insert(rng.randrange(len(content) + 1), copy.deepcopy(block))


def flags(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """Pins, templates and finished milestones anywhere; now and then a flag of the wrong value."""
    del fmt
    for _ in range(rng.choice((1, 1, 2, 4))):
        message = rng.choice(messages)
        key, value = rng.choice(
            (
                ("_pin", True),
                ("_pin", True),
                ("_pin", False),
                ("_pin", None),
                ("_category", "template"),
                ("_category", "other"),
                ("_done", True),
                ("_done", True),
                ("_done", False),
            )
        )
        message[key] = value


def pin(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    rng.choice(messages)["_pin"] = True


def notice(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """Our notice in its slot, out of its slot, or words that only look like it."""
    del fmt
    removed: Any = rng.choice((7, 7, 7, 0, 1000))
    own: Message = {"role": "user", "content": f"[context compacted: {removed} earlier messages removed]"}
    if rng.random() < 0.75:
        own["_lithify"] = {"kind": "notice", "removed": removed}
    firsts = [i for i, message in enumerate(messages) if message["role"] == "user"]
    slot = firsts[0] + 1 if firsts else 0
    messages.insert(slot if rng.random() < 0.6 else rng.randrange(len(messages) + 1), own)


def assistant_first(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    del fmt
    messages.insert(0, {"role": "assistant", "content": "Hello, " + text(rng, 20) + "?"})


def no_users(rng: random.Random, fmt: str, messages: list[Message]) -> None:
    """A history in which nobody spoke (or all that was said is lost)."""
    del rng
    kept = [m for m in messages if m["role"] != "user" or holds_result(fmt, m)]
    messages[:] = kept or messages


DAMAGES: tuple[Callable[[random.Random, str, list[Message]], None], ...] = (
    drop_message,
    drop_message,
    drop_span,
    repeat_message,
    move_message,
    swap_neighbours,
    shift_block,
    change_id,
    change_id,
    empty_ids,
    same_ids,
    stub_then_real,
    put_between,
    odd_content,
    blank_block,
    empty_result,
    only_thinking,
    lone_surrogate,
    unknown_keys,
    unknown_block,
    flags,
    flags,
    notice,
    notice,
    assistant_first,
    no_users,
)


def damage(rng: random.Random, fmt: str, messages: list[Message], times: int) -> None:
    """Break the history in place."""
    for _ in range(times):
        if messages:
            rng.choice(DAMAGES)(rng, fmt, messages)
