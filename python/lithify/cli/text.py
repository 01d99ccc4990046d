"""Small things about text that people read."""

from __future__ import annotations

import re

__all__ = ["clean", "count", "plural"]

# C0 and C1 controls but the line feed, and the marks that turn the direction of writing: text of tools and
# file names is not trusted, and an escape sequence in it would reach the terminal.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    r"""Return `text` with control characters spelled out (`\x1b`)."""
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def count(number: int) -> str:
    """Return `102345` as `102,345`."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """Return `1 message`, `2 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
