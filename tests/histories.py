"""Histories for the tests: a seeded generator, and hypothesis strategies that drive the same generator.

`clean` gives a history the provider would take; `damage` breaks it in one of the ways histories are broken in the
wild; `case` draws a whole case: messages, limit, policy, system and tools. The same `random.Random` seed gives the same
case on every platform. Hypothesis hands in its own `Random`, so a failing case shrinks.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]

OPENAI = "openai_chat"
ANTHROPIC = "anthropic"
FORMATS = (OPENAI, ANTHROPIC)

LISTED = ("Read", "read_file", "Bash", "grep", "Glob", "search_files", "WebFetch", "edit", "mcp__fs__read", "fs.view")
PROTECTED = ("Write", "create_file")
OTHER = ("deploy", "ask:human", "browser/click", "sql")
TOOLS = LISTED + PROTECTED + OTHER
PATHS = ("a.py", "src/b.rs", "notes.md")

NOTICE = "[context compacted: 7 earlier messages removed]"
CLEARED = "[compacted: tool output removed to free context]"
TRUNCATED = "[truncated: output exceeded context limit]"
STUB = "[no result: the call was not answered]"


@dataclass
class Case:
    """One input of the engine. `policy` is plain nested data, as `lithify.Policy` names its fields."""

    format: str
    messages: list[Message]
    limit: int
    policy: dict[str, Any] = field(default_factory=dict)
    system: Any = None
    tools: Any = None


def chars4(text: str) -> int:
    """The cheap counter of the tests: a token for every four characters, begun ones included."""
    return (len(text) + 3) // 4


def chars1(text: str) -> int:
    """A counter so fine that every character can tip a decision."""
    return len(text)


# Texts ------------------------------------------------------------------------------------------------------------

WORDS = ("the", "build", "fails", "in", "module", "fn main()", "0x7f", "->", "return None", "{", "}", "e.g.", "42")
PIECES = (
    "\u200d",
    "👩‍👩‍👧‍👦",
    "🇹🇭🇩🇪",
    "👍🏽",
    "e\u0301",
    "กำลัง",
    "นี้",
    "日本語の文",
    "हिन्दी",
    "\x1b[31mred\x1b[0m",
    "\x1b[38;5;196m",
    "\x00",
    "\x07",
    "\u2028",
    "ﬁ",
    "️",
    "\ufeff",
)
BREAKS = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", " ")
ERRORS = (
    "Error: no such file",
    "  Traceback (most recent call last):\n  File x",
    "permission denied",
    "ok\nexit code: 2",
    "Exit status 1\nmore",
    "done, exit code 0",
    "no error here",
    "FATAL",
    "process exited with code = 137",
)


def text(rng: random.Random, size: int) -> str:
    """About `size` characters of one of several kinds."""
    kind = rng.choice(("words", "words", "words", "lines", "mixed", "one line", "letters", "base64", "cjk"))
    out: list[str] = []
    length = 0
    while length < size:
        piece = piece_of(rng, kind)
        out.append(piece)
        length += len(piece)
    return "".join(out)


def piece_of(rng: random.Random, kind: str) -> str:
    if kind == "words":
        return rng.choice(WORDS) + rng.choice((" ", " ", " ", "\n"))
    if kind == "lines":
        return f"{rng.randrange(100)}: {rng.choice(WORDS)} {rng.choice(WORDS)}" + rng.choice(BREAKS)
    if kind == "mixed":
        return rng.choice(PIECES) + rng.choice(("", " ", *BREAKS))
    if kind == "one line":
        return rng.choice(WORDS) + " "
    if kind == "letters":
        return "x" * 50
    if kind == "base64":
        return "QUJDRA+/" * 8
    return "这个项目的架构设计非常优秀。"


def size_of(rng: random.Random) -> int:
    return rng.choice((1, 5, 20, 20, 60, 200, 200, 800, 2500))


def output(rng: random.Random, bank: list[str]) -> str:
    """A tool's output: new, an error, or one that was seen before."""
    roll = rng.random()
    if bank and roll < 0.15:
        return rng.choice(bank)
    if roll < 0.3:
        made = rng.choice(ERRORS) + rng.choice(("", "\n" + text(rng, size_of(rng))))
    elif roll < 0.33:
        made = rng.choice((CLEARED, TRUNCATED, STUB, NOTICE))
    else:
        made = text(rng, size_of(rng))
    bank.append(made)
    return made


# Clean histories --------------------------------------------------------------------------------------------------


@dataclass
class Script:
    """What the renderers share while a history is written."""

    rng: random.Random
    format: str
    messages: list[Message] = field(default_factory=list)
    bank: list[str] = field(default_factory=list)
    number: int = 0

    def next_id(self) -> str:
        self.number += 1
        return f"call{self.number}"


def clean(rng: random.Random, fmt: str, turns: int | None = None) -> list[Message]:
    """A history that its provider would take."""
    script = Script(rng, fmt)
    if fmt == OPENAI:
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            script.messages.append({"role": rng.choice(("system", "developer")), "content": text(rng, 40)})
    add_user(script)
    for _ in range(rng.choice((0, 1, 2, 4, 6, 9, 14, 20)) if turns is None else turns):
        roll = rng.random()
        if roll < 0.7:
            add_tool_turn(script)
        elif roll < 0.85:
            add_answer(script)
        else:
            add_user(script)
    if rng.random() < 0.4:
        add_user(script)
    if rng.random() < 0.15:
        add_open_call(script)
    return script.messages


def add_user(script: Script) -> None:
    rng = script.rng
    body = text(rng, size_of(rng)) + "."
    message: Message = {"role": "user", "content": body}
    if rng.random() < 0.3:
        message["content"] = [{"type": "text", "text": body}, *extra_user_blocks(script)]
    if script.format == OPENAI and rng.random() < 0.1:
        message["name"] = rng.choice(("ann", "bob smith"))
    script.messages.append(message)


def extra_user_blocks(script: Script) -> list[Message]:
    rng = script.rng
    if script.format == OPENAI:
        choices: list[Message] = [
            {"type": "image_url", "image_url": {"url": "https://x/1.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 600, "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f1"}},
            {"type": "text", "text": text(rng, 30) + "!"},
        ]
    else:
        choices = [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 900}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text(rng, 90)}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "found"}]},
            {"type": "text", "text": text(rng, 30) + "!", "cache_control": {"type": "ephemeral"}},
        ]
    return rng.sample(choices, rng.choice((0, 1, 1, 2)))


def arguments(rng: random.Random, name: str) -> Message:
    path = rng.choice(PATHS)
    key = rng.choice(("file_path", "path", "filePath", "uri"))
    choices: list[Message] = [
        {key: path},
        {key: path},
        {key: path, "offset": rng.choice((0, 10)), "limit": 20},
        {"command": "ls -la\n\"x\" é", "timeout": 1.5, "flags": [True, None, {"a": -1}]},
        {"content": text(rng, size_of(rng)), "path": path},
        {},
    ]
    return rng.choice(choices[:3] if "read" in name.lower() or "view" in name else choices)


def add_tool_turn(script: Script) -> None:
    rng = script.rng
    made = [(script.next_id(), rng.choice(TOOLS)) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    render_calls(script, made)
    render_results(script, made)


def add_open_call(script: Script) -> None:
    rng = script.rng
    made = [(script.next_id(), rng.choice(TOOLS)) for _ in range(rng.choice((1, 2)))]
    render_calls(script, made)
    if len(made) == 2 and rng.random() < 0.5:
        render_results(script, made[:1])


def render_calls(script: Script, made: list[tuple[str, str]]) -> None:
    rng = script.rng
    if script.format == OPENAI:
        if rng.random() < 0.05 and len(made) == 1:
            call = {"name": made[0][1], "arguments": json.dumps(arguments(rng, made[0][1]))}
            script.messages.append({"role": "assistant", "content": None, "function_call": call})
            return
        calls = [openai_call(rng, identity, name) for identity, name in made]
        message: Message = {"role": "assistant", "content": rng.choice((None, "", "I look.")), "tool_calls": calls}
        if rng.random() < 0.1:
            message["reasoning_content"] = text(rng, 60)
        script.messages.append(message)
        return
    blocks: list[Message] = []
    if rng.random() < 0.3:
        blocks.append({"type": "thinking", "thinking": text(rng, 60), "signature": "c2ln" * 40})
    if rng.random() < 0.1:
        blocks.append({"type": "redacted_thinking", "data": "ZGF0YQ==" * 20})
    if rng.random() < 0.4:
        blocks.append({"type": "text", "text": "I look."})
    for identity, name in made:
        blocks.append({"type": "tool_use", "id": identity, "name": name, "input": arguments(rng, name)})
    script.messages.append({"role": "assistant", "content": blocks})


def openai_call(rng: random.Random, identity: str, name: str) -> Message:
    body = json.dumps(arguments(rng, name), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        body = body[: len(body) // 2]
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": body}}


def render_results(script: Script, made: list[tuple[str, str]]) -> None:
    rng = script.rng
    if script.format == OPENAI:
        if "function_call" in script.messages[-1]:
            content = output(rng, script.bank)
            script.messages.append({"role": "function", "name": made[0][1], "content": content})
            return
        for identity, _ in rng.sample(made, len(made)):
            content = result_content(script)
            script.messages.append({"role": "tool", "tool_call_id": identity, "content": content})
        return
    blocks: list[Message] = []
    for identity, _ in rng.sample(made, len(made)):
        block: Message = {"type": "tool_result", "tool_use_id": identity, "content": result_content(script)}
        if rng.random() < 0.15:
            block["is_error"] = rng.choice((True, True, False))
        if rng.random() < 0.05:
            del block["content"]
        if rng.random() < 0.1:
            block["cache_control"] = {"type": "ephemeral"}
            if not block.get("content"):
                del block["cache_control"]
        blocks.append(block)
    if rng.random() < 0.15:
        blocks.append({"type": "text", "text": text(rng, 30) + "."})
    script.messages.append({"role": "user", "content": blocks})


def result_content(script: Script) -> Any:
    rng = script.rng
    roll = rng.random()
    if roll < 0.8:
        return output(rng, script.bank)
    blocks: list[Message] = [
        {"type": "text", "text": output(rng, script.bank)} for _ in range(rng.choice((1, 1, 2, 3)))
    ]
    if script.format == ANTHROPIC and rng.random() < 0.3:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 700}}
        blocks.insert(rng.randrange(len(blocks) + 1), image)
    return blocks


def add_answer(script: Script) -> None:
    rng = script.rng
    body = text(rng, size_of(rng)) + "."
    message: Message = {"role": "assistant", "content": body}
    roll = rng.random()
    if script.format == ANTHROPIC and roll < 0.3:
        blocks: list[Message] = [{"type": "text", "text": body}]
        if rng.random() < 0.5:
            blocks.insert(0, {"type": "thinking", "thinking": text(rng, 40), "signature": "c2ln" * 9})
        if rng.random() < 0.4:
            query = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}}
            blob = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [{"data": "QUJD" * 200}]}
            blocks += [query, blob, {"type": "text", "text": "Found."}]
        message["content"] = blocks
    elif script.format == OPENAI and roll < 0.15:
        message["content"] = [{"type": "text", "text": body}]
    elif script.format == OPENAI and roll < 0.2:
        message = {"role": "assistant", "content": None, "refusal": body}
    script.messages.append(message)


# Damage -----------------------------------------------------------------------------------------------------------

Damage = Callable[[random.Random, str, list[Message]], None]


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
    holders = [message for message in messages if isinstance(message.get("content"), list) and message["content"]]
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
    values = (other[0].get(other[1]), other[0].get(other[1]), "", None, "call_0", "call_3", "call1_2", "ghost", "\udc80")
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
            {**block, "content": STUB, "is_error": True, **own} if block.get("type") == "tool_result" else block
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
    holder = message if fmt == OPENAI else next(b for b in message["content"] if b.get("type") == "tool_result")
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
            block["input"] = {**block["input"], "k" + bad: [bad]}
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
    holders = [m for m in messages if isinstance(m.get("content"), list) and m["role"] in ("user", "assistant")]
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
                ("_pin", "yes"),
                ("_category", "template"),
                ("_category", "other"),
                ("_done", True),
                ("_done", True),
                ("_done", 1),
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
    own = {"role": "user", "content": f"[context compacted: {removed} earlier messages removed]"}
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


DAMAGES: tuple[Damage, ...] = (
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

#: Damages that leave a valid history valid: what they add is legal, or is ours to read.
HARMLESS: tuple[Damage, ...] = (flags, unknown_keys, notice)


def damage(rng: random.Random, fmt: str, messages: list[Message], times: int) -> None:
    """Break the history in place."""
    for _ in range(times):
        if messages:
            rng.choice(DAMAGES)(rng, fmt, messages)


# Whole cases ------------------------------------------------------------------------------------------------------


def policy(rng: random.Random) -> dict[str, Any]:
    """Mostly the defaults; also the literal rule set, and settings at the edges."""
    roll = rng.random()
    if roll < 0.45:
        return {}
    if roll < 0.6:
        return literal_policy()
    clear = {
        "keep": rng.choice((0, 1, 3, 5)),
        "at_least": rng.choice((0, 0.15, 0.5)),
        "single_share": rng.choice((0.1, 0.5, 1.0)),
        "verbose": rng.choice((10, 500)),
        "errors_keep_turns": rng.choice((0, 1, 3)),
        "verbose_turns": rng.choice((0, 3)),
        "eager": rng.random() < 0.3,
        "exclude_tools": rng.choice(((), ("bash",), ("sql", "Read"))),
    }
    prune = {"keep": rng.choice((0, 1, 2, 6, 20)), "recent_share": rng.choice((0, 0.5, 1.0))}
    return {"clear": clear, "prune": prune, "strict_alternation": rng.random() < 0.2}


def literal_policy() -> dict[str, Any]:
    return {
        "clear": {"target": 0.75, "at_least": 0, "literal": True},
        "prune": {"recent_share": 0, "verbatim_share": 0},
    }


def limit(rng: random.Random, size: int) -> int:
    """From far too small to ample; `size` is the history's price."""
    if rng.random() < 0.05:
        return rng.choice((1, 10, 40, 100))
    return max(1, int(size * rng.choice((0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.0, 3.0))))


def rough_size(messages: list[Message]) -> int:
    return chars4(json.dumps(messages, ensure_ascii=False, default=str)) + 1


def extras(rng: random.Random, fmt: str) -> tuple[Any, Any]:
    """The values of `system=` and `tools=`."""
    system: Any = None
    if fmt == ANTHROPIC and rng.random() < 0.4:
        system = rng.choice(("be brief", [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]))
    tools = [{"name": "read", "input_schema": {"type": "object"}}] * 2 if rng.random() < 0.3 else None
    return system, tools


def case(rng: random.Random, fmt: str | None = None) -> Case:
    """A whole case: a third clean, the others broken once or several times."""
    fmt = fmt or rng.choice(FORMATS)
    messages = clean(rng, fmt)
    damage(rng, fmt, messages, rng.choice((0, 0, 1, 1, 2, 3, 6)))
    if rng.random() < 0.02:
        messages = []
    elif rng.random() < 0.02:
        messages = [message for message in messages if message["role"] in ("system", "developer")]
    messages = copy.deepcopy(messages)
    own_system, tools = extras(rng, fmt)
    return Case(fmt, messages, limit(rng, rough_size(messages)), policy(rng), own_system, tools)


def valid_case(rng: random.Random, fmt: str | None = None) -> Case:
    """A case whose history is valid, with flags, unknown keys and notices of ours here and there."""
    fmt = fmt or rng.choice(FORMATS)
    messages = clean(rng, fmt)
    for _ in range(rng.choice((0, 0, 1, 2))):
        rng.choice((flags, pin))(rng, fmt, messages)
    own_system, tools = extras(rng, fmt)
    messages = copy.deepcopy(messages)
    return Case(fmt, messages, limit(rng, rough_size(messages)), policy(rng), own_system, tools)


def any_text(rng: random.Random) -> str:
    """A text for `truncate`: several kinds one after the other."""
    return "".join(text(rng, rng.choice((1, 10, 40, 200))) for _ in range(rng.choice((1, 1, 2, 4))))


def cases(fmt: str | None = None) -> st.SearchStrategy[Case]:
    """Cases of every kind."""
    return st.randoms(use_true_random=False).map(lambda rng: case(rng, fmt))


def valid_cases(fmt: str | None = None) -> st.SearchStrategy[Case]:
    """Cases whose history is valid."""
    return st.randoms(use_true_random=False).map(lambda rng: valid_case(rng, fmt))


def texts() -> st.SearchStrategy[str]:
    """Texts for `truncate` and the counters: ours, and hypothesis' own."""
    ours = st.randoms(use_true_random=False).map(any_text)
    return ours | st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
