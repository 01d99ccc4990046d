"""Truncation of one text (DESIGN section 7)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reference.prices import Count

TRUNCATED = "[truncated: output exceeded context limit]"

OPEN_ESCAPE = re.compile("\x1b\\[[\x20-\x3f]*\\Z")
JOINER = "\u200d"


def truncate(text: str, max_tokens: int, count: Count, marker: str = TRUNCATED) -> str | None:
    """The text within `max_tokens` tokens; None when not even the marker fits."""
    if count(text) <= max_tokens:
        return text

    def fits(length: int) -> bool:
        return count(text[:length] + "\n" + marker) <= max_tokens

    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    place = low
    while place > 0 and not legal(text, place):
        place -= 1
    body = to_line_break(text[:place])
    if body:
        return body + "\n" + marker
    return marker if count(marker) <= max_tokens else None


def to_line_break(body: str) -> str:
    """End the body before its last line break, when that break stands at or after 70 % of its bytes."""
    at = body.rfind("\n")
    if at < 0 or 10 * size(body[:at]) < 7 * size(body):
        return body
    return body[:at].removesuffix("\r")


def size(text: str) -> int:
    return len(text.encode("utf-8"))


def legal(text: str, place: int) -> bool:
    """Whether the text may be cut before the character at `place`."""
    if place == len(text):
        return True
    before, after = text[place - 1], text[place]
    if before == "\r" and after == "\n":
        return False
    if before == JOINER or joins_on(after):
        return False
    if before == "\x1b" and after == "[":
        return False
    if OPEN_ESCAPE.search(last_bytes(text[:place], 64)):
        return False
    return not (regional(after) and flags_before(text, place) % 2 == 1)


def last_bytes(text: str, count: int) -> str:
    return text[-count:].encode("utf-8")[-count:].decode("utf-8", "ignore")


def joins_on(character: str) -> bool:
    """A character that belongs to the one before it."""
    code = ord(character)
    return (
        unicodedata.category(character).startswith("M")
        or character == JOINER
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
        or 0x1F3FB <= code <= 0x1F3FF
    )


def regional(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def flags_before(text: str, place: int) -> int:
    """Regional indicators directly before `place`, looked at over 64 bytes (16 of them)."""
    found = 0
    while found < 16 and place - found > 0 and regional(text[place - found - 1]):
        found += 1
    return found
