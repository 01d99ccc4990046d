"""Reading: what a message is made of (DESIGN section 2), straight from the dicts, again and again.

Nothing is cached: every question is answered by looking at the message. `fmt` is "openai_chat" or
"anthropic".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = dict[str, Any]

OPENAI = "openai_chat"
ANTHROPIC = "anthropic"

#: Unicode White_Space; Python's str.strip() also takes U+001C to U+001F, which are not white space.
WHITE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


@dataclass
class Part:
    """One part of a message. `at` says where it stands: (key,) or (key, position)."""

    kind: str
    at: tuple[Any, ...]
    data: Any


def blank(text: str) -> bool:
    return text.strip(WHITE) == ""


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def detect(messages: list[Message]) -> str:
    """A modest detection for the tests: anything only OpenAI chat has, else blocks only Anthropic has."""
    for message in messages:
        if message.get("role") in ("system", "developer", "tool", "function"):
            return OPENAI
        if message.get("tool_calls") or message.get("function_call"):
            return OPENAI
        content = message.get("content")
        if isinstance(content, list):
            for block in content:
                if block.get("type") not in ("text", "image_url", "input_audio", "file", "refusal"):
                    return ANTHROPIC
                if block.get("type") != "text":
                    return OPENAI
    return OPENAI


# Parts ----------------------------------------------------


KINDS = {
    (OPENAI, "user"): {"text": "text", "image_url": "image", "input_audio": "audio", "file": "document"},
    (OPENAI, "assistant"): {"text": "text", "refusal": "text"},
    (OPENAI, "system"): {"text": "text"},
    (ANTHROPIC, "user"): {"text": "text", "image": "image", "document": "document", "tool_result": "result"},
    (ANTHROPIC, "assistant"): {
        "text": "text",
        "thinking": "thinking",
        "redacted_thinking": "redacted",
        "tool_use": "call",
    },
}


def block_kind(block: Message, fmt: str, role: str) -> str:
    """What a block is in a message of this role; what section 2 does not list is opaque."""
    return KINDS[fmt, "system" if role == "developer" else role].get(block.get("type", ""), "opaque")


def content_parts(content: Any, fmt: str, role: str = "user") -> list[Part]:
    """The parts of a content value: of a message, or of a result (which may hold what a user message may)."""
    if content is None:
        return []
    if isinstance(content, str):
        return [Part("text", ("content",), content)]
    return [Part(block_kind(block, fmt, role), ("content", i), block) for i, block in enumerate(content)]


def parts(message: Message, fmt: str) -> list[Part]:
    if fmt == OPENAI and message["role"] in ("tool", "function"):
        return [Part("result", (), message)]
    found = content_parts(message.get("content"), fmt, message["role"])
    if fmt == OPENAI and message["role"] == "assistant":
        if isinstance(message.get("refusal"), str):
            found.append(Part("text", ("refusal",), message["refusal"]))
        for key in ("reasoning_content", "reasoning"):
            if isinstance(message.get(key), str):
                found.append(Part("thinking", (key,), message[key]))
        for i, call in enumerate(message.get("tool_calls") or []):
            found.append(Part("call", ("tool_calls", i), call))
        if message.get("function_call") is not None:
            found.append(Part("call", ("function_call",), message["function_call"]))
    return found


def text_of(part: Part) -> str:
    """The text of a text or thinking part."""
    if isinstance(part.data, str):
        return part.data
    for key in ("text", "thinking", "refusal"):
        if isinstance(part.data.get(key), str):
            return str(part.data[key])
    return ""


# Calls and results ----------------------------------------------------


def legacy(part: Part, fmt: str) -> bool:
    """A call or result of the old `function_call` kind, which has no id."""
    if fmt != OPENAI:
        return False
    return part.at == ("function_call",) or (part.kind == "result" and part.data["role"] == "function")


def call_body(part: Part, fmt: str) -> Message:
    block: Message = part.data
    if fmt == ANTHROPIC or part.at == ("function_call",):
        return block
    body = block.get("custom") if block.get("type") == "custom" else block.get("function")
    return body or {}


def call_name(part: Part, fmt: str) -> str:
    return str(call_body(part, fmt).get("name") or "")


def call_arguments(part: Part, fmt: str) -> Any:
    body = call_body(part, fmt)
    return body.get("arguments", body.get("input"))


def arguments_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def part_id(part: Part, fmt: str) -> str:
    """The id of a call or result; "" when it is empty, None, missing or of the legacy kind."""
    if legacy(part, fmt):
        return ""
    if part.kind == "call":
        return part.data.get("id") or ""
    return part.data.get("tool_call_id" if fmt == OPENAI else "tool_use_id") or ""


def calls(message: Message, fmt: str) -> list[Part]:
    return [part for part in parts(message, fmt) if part.kind == "call"]


def results(message: Message, fmt: str) -> list[Part]:
    return [part for part in parts(message, fmt) if part.kind == "result"]


def result_texts(part: Part, fmt: str) -> list[str]:
    inner = content_parts(part.data.get("content"), fmt)
    return [text_of(piece) for piece in inner if piece.kind == "text"]


def replace_block(message: Message, at: tuple[Any, ...], block: Any) -> Message:
    """A copy of the message in which the part at `at` is `block`."""
    if at == ():
        return dict(block)
    if len(at) == 1:
        return {**message, at[0]: block}
    blocks = list(message[at[0]])
    blocks[at[1]] = block
    return {**message, at[0]: blocks}


# Flags ----------------------------------------------------


def mark(holder: Message) -> str | None:
    """The kind of our own mark on a message or block."""
    own = holder.get("_lithify")
    return own.get("kind") if isinstance(own, dict) else None


def pinned(message: Message) -> bool:
    return message.get("_pin") is True


def done(message: Message) -> bool:
    return message.get("_done") is True


def template(message: Message) -> bool:
    return message.get("_category") == "template"


def system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def removed_count(holder: Message) -> int:
    removed = holder["_lithify"].get("removed")
    return removed if isinstance(removed, int) and not isinstance(removed, bool) and removed > 0 else 0


def looks_human(message: Message, fmt: str) -> bool:
    """Human, if not our notice. A stub is not human either (it would shadow the real task)."""
    if message["role"] != "user" or mark(message) == "stub":
        return False
    found = parts(message, fmt)
    return not found or any(part.kind != "result" for part in found)


def leading_systems(messages: list[Message]) -> int:
    count = 0
    while count < len(messages) and system(messages[count]):
        count += 1
    return count


def merged_notice(messages: list[Message], fmt: str) -> tuple[int, int] | None:
    """Our notice as a marked block of the first human item, (item, block); looked for first."""
    first = next((i for i, message in enumerate(messages) if looks_human(message, fmt)), None)
    if first is None or pinned(messages[first]) or not isinstance(messages[first].get("content"), list):
        return None
    blocks = messages[first]["content"]
    for place in range(len(blocks) - 1, -1, -1):
        if blocks[place].get("type") == "text" and mark(blocks[place]) == "notice":
            return first, place
    return None


def notice_index(messages: list[Message], fmt: str) -> int | None:
    """Where our notice stands: it is the first human item, or right after it."""
    if merged_notice(messages, fmt) is not None:
        return None
    for i, message in enumerate(messages):
        if looks_human(message, fmt):
            if is_marked_notice(message):
                return i
            after = i + 1
            return after if after < len(messages) and is_marked_notice(messages[after]) else None
    return None


def is_marked_notice(message: Message) -> bool:
    return message["role"] in ("user", "assistant") and mark(message) == "notice"


def humans(messages: list[Message], fmt: str) -> list[int]:
    notice = notice_index(messages, fmt)
    return [i for i, message in enumerate(messages) if i != notice and looks_human(message, fmt)]


# Surrogates ----------------------------------------------------


def sendable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def walk_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from walk_strings(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from walk_strings(each)
