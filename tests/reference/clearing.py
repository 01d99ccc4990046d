"""Layer 1: tool results (DESIGN section 5)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.reference.cutting import TRUNCATED, truncate
from tests.reference.policy import share
from tests.reference.prices import Count, price_part
from tests.reference.shape import (
    ANTHROPIC,
    WHITE,
    Message,
    Part,
    call_arguments,
    call_name,
    calls,
    content_parts,
    legacy,
    part_id,
    pinned,
    replace_block,
    result_texts,
    results,
)

CLEARED = "[compacted: tool output removed to free context]"

ERROR_STARTS = (
    "error",
    "traceback (most recent call last)",
    "exception",
    "fatal",
    "failed",
    "permission denied",
    "command failed",
)
LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
EXIT = re.compile(r"(?:exit code|exit status|exited with code|return code)[ :=]+-?0*[1-9]", re.ASCII)
PATH_KEYS = (
    *(
        "file_path",
        "path",
        "filename",
        "file",
        "filePath",
        "absolute_path",
        "absolutePath",
        "target_file",
        "uri",
    ),
)


@dataclass
class Found:
    """A result of the draft, with its call and its turn."""

    number: int
    at: int
    part: Part
    call: Part | None
    turn: int
    price: int


def cleared(result: dict[str, Any]) -> Any:
    """What stands in place of a result: the last cache breakpoint inside it stays, on a text block."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    caches = [
        block["cache_control"] for block in blocks if isinstance(block, dict) and "cache_control" in block
    ]
    if not caches:
        return CLEARED
    return [{"type": "text", "text": CLEARED, "cache_control": caches[-1]}]


def find_results(messages: list[Message], fmt: str, count: Count) -> list[Found]:
    """All results in order. In a repaired history a result belongs to the last call item before it."""
    found: list[Found] = []
    open_calls: list[Part] = []
    turn = -1
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            turn += 1
            if calls(message, fmt):
                open_calls = calls(message, fmt)
        for part in results(message, fmt):
            call = call_of(part, open_calls, fmt)
            found.append(Found(len(found), at, part, call, turn, price_part(part, fmt, count)))
    return found


def call_of(result: Part, open_calls: list[Part], fmt: str) -> Part | None:
    for call in open_calls:
        if legacy(call, fmt) == legacy(result, fmt) and part_id(call, fmt) == part_id(result, fmt):
            return call
    return None


# Single ----------------------------------------------------


def cap_result(part: Part, cap: int, fmt: str, count: Count) -> Message:
    """The result's block with a price of at most `cap`; the block itself when that cannot be done."""
    block: Message = part.data
    content = block.get("content")
    if isinstance(content, str):
        if content == CLEARED:
            return block
        text = truncate(content, cap - 4, count)
        return block if text is None else {**block, "content": text}
    pieces = content_parts(content, fmt)
    if [piece.data.get("text") for piece in pieces if piece.kind == "text"] == [CLEARED]:
        return block
    left = cap - 4 - sum(price_part(piece, fmt, count) for piece in pieces if piece.kind != "text")
    kept = []
    over = False
    for piece in pieces:
        if piece.kind != "text":
            kept.append(piece.data)
        elif not over and count(piece.data["text"]) <= left:
            kept.append(piece.data)
            left -= count(piece.data["text"])
        elif not over:
            over = True
            text = truncate(piece.data["text"], left, count)
            if text is None:
                return block
            kept.append({**piece.data, "text": text})
    return {**block, "content": kept}


def cap_results(messages: list[Message], caps: list[int], fmt: str, count: Count) -> list[Message]:
    """Every result of an unpinned item truncated to its cap."""
    out = list(messages)
    for found, cap in zip(find_results(messages, fmt, count), caps, strict=True):
        if found.price > cap and not pinned(messages[found.at]):
            block = cap_result(found.part, cap, fmt, count)
            if (
                block is not found.part.data
                and price_part(Part("result", (), block), fmt, count) < found.price
            ):
                out[found.at] = replace_block(out[found.at], found.part.at, block)
    return out


def least_price(found: Found, messages: list[Message], fmt: str, count: Count) -> int:
    """The least that a result can be cut to: what is no text in it, and the marker."""
    block = found.part.data
    content = block.get("content")
    pieces = [] if isinstance(content, str) or content is None else content_parts(content, fmt)
    texts = [content] if isinstance(content, str) else [p.data["text"] for p in pieces if p.kind == "text"]
    if pinned(messages[found.at]) or not texts or texts == [CLEARED]:
        return found.price
    return 4 + sum(price_part(p, fmt, count) for p in pieces if p.kind != "text") + count(TRUNCATED)


def price_of_marker(count: Count) -> int:
    return 4 + count(TRUNCATED)


# Total ----------------------------------------------------


def clear_results(  # noqa: PLR0917
    messages: list[Message], over: int, limit: int, policy: dict[str, Any], fmt: str, count: Count
) -> list[Message]:
    """Clear by the total. `over`: what the total holds beside the results."""
    clear, prune = policy["clear"], policy["prune"]
    out = list(messages)
    placeholder = 4 + count(CLEARED)

    def total() -> int:
        return over + sum(found.price for found in find_results(out, fmt, count))

    def gain(found: Found) -> int:
        return found.price - placeholder

    def clear_one(found: Found) -> None:
        out[found.at] = replace_block(
            out[found.at], found.part.at, {**found.part.data, "content": cleared(found.part.data)}
        )

    order = candidates(messages, policy, fmt, count)
    if clear["eager"]:
        for found, rank in list(order):
            if rank in (0, 1) and listed(found, clear, fmt):
                clear_one(found)
        order = candidates(out, policy, fmt, count)
    if total() <= share(clear["trigger"], limit):
        return out
    at_least = share(clear["at_least"], limit)
    if sum(gain(found) for found, _ in order) < at_least and total() <= share(prune["trigger"], limit):
        return out
    freed = 0
    for found, _ in order:
        if total() <= share(clear["target"], limit) and freed >= at_least:
            break
        clear_one(found)
        freed += gain(found)
    return out


def candidates(
    messages: list[Message], policy: dict[str, Any], fmt: str, count: Count
) -> list[tuple[Found, int]]:
    """The results that may be cleared, in the order in which they are, each with its rank."""
    clear = policy["clear"]
    every = find_results(messages, fmt, count)
    newest = every[max(0, len(every) - clear["keep"]) :]
    last_turn: int = sum(message["role"] == "assistant" for message in messages) - 1

    def older(found: Found, turns: int) -> bool:
        return last_turn - found.turn >= turns

    def rank(found: Found) -> int:
        if clear["literal"]:
            return 0
        if repeated(found, every, clear, fmt):
            return 0
        if is_error(found, fmt):
            return 3
        if found.price >= clear["verbose"] and older(found, clear["verbose_turns"]):
            return 1
        return 2

    chosen = []
    for found in every:
        if pinned(messages[found.at]) or found in newest or kept_by_name(found, clear, fmt):
            continue
        if is_error(found, fmt) and not older(found, clear["errors_keep_turns"]):
            continue
        if found.price <= 4 + count(CLEARED):
            continue
        chosen.append((found, rank(found)))
    return sorted(chosen, key=lambda pair: (not listed(pair[0], clear, fmt), pair[1], pair[0].number))


def tool_name(found: Found, fmt: str) -> str:
    if found.call is not None:
        return normal(call_name(found.call, fmt))
    return normal(str(found.part.data.get("name") or ""))


def normal(name: str) -> str:
    """The last piece of a tool's name, letters and digits only, in lower case."""
    piece = re.split(r"__|[./:]", name)[-1]
    return re.sub("[^A-Za-z0-9]", "", piece).lower()


def listed(found: Found, clear: dict[str, Any], fmt: str) -> bool:
    return tool_name(found, fmt) in {normal(name) for name in clear["listed"]}


def kept_by_name(found: Found, clear: dict[str, Any], fmt: str) -> bool:
    kept = {normal(name) for name in (*clear["protected"], *clear["exclude_tools"])}
    only_listed: bool = clear["literal"]
    return tool_name(found, fmt) in kept or (only_listed and not listed(found, clear, fmt))


# Repeats and errors ----------------------------------------------------


def whole_text(found: Found, fmt: str) -> str:
    return "\n".join(result_texts(found.part, fmt))


def repeated(found: Found, every: list[Found], clear: dict[str, Any], fmt: str) -> bool:
    later = every[found.number + 1 :]
    text = whole_text(found, fmt)
    if text and any(whole_text(other, fmt) == text for other in later):
        return True
    own = arguments(found, fmt)
    path = path_of(own)
    if not reads(found, clear, fmt) or path is None:
        return False
    for other in later:
        asked = arguments(other, fmt)
        if reads(other, clear, fmt) and path_of(asked) == path and (asked == own or len(asked) == 1):
            return True
    return False


def reads(found: Found, clear: dict[str, Any], fmt: str) -> bool:
    return tool_name(found, fmt) in {normal(name) for name in clear["readers"]}


def arguments(found: Found, fmt: str) -> dict[str, Any]:
    """The arguments as a mapping; {} when they are none."""
    if found.call is None:
        return {}
    given = call_arguments(found.call, fmt)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def path_of(given: dict[str, Any]) -> str | None:
    return next((given[key] for key in PATH_KEYS if isinstance(given.get(key), str)), None)


def is_error(found: Found, fmt: str) -> bool:
    if fmt == ANTHROPIC and found.part.data.get("is_error") is True:
        return True
    return error_text(whole_text(found, fmt))


def error_text(text: str) -> bool:
    if lower(text.lstrip(WHITE)).startswith(ERROR_STARTS):
        return True
    lines = [line for line in text.split("\n") if line.strip(WHITE)]
    return bool(lines) and any(EXIT.search(lower(line)) for line in (lines[0], lines[-1]))


def lower(text: str) -> str:
    """ASCII letters in lower case, all else as it is."""
    return text.translate(LOWER)
