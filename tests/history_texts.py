"""Texts for generated histories: words, logs, scripts, controls, errors of tools, our markers as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

NOTICE = "[context compacted: 7 earlier messages removed]"
CLEARED = "[compacted: tool output removed to free context]"
TRUNCATED = "[truncated: output exceeded context limit]"
STUB = "[no result: the call was not answered]"

WORDS = (
    "the",
    "build",
    "fails",
    "in",
    "module",
    "fn main()",
    "0x7f",
    "->",
    "return None",
    "{",
    "}",
    "e.g.",
    "42",
)
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


#: What each kind of text is made of: pieces with all their endings, drawn at random.
KINDS = {
    "words": [word + end for word in WORDS for end in (" ", " ", " ", "\n")],
    "lines": [f"{i}: {one} {i % 7}{end}" for i, one in enumerate(WORDS * 3) for end in BREAKS],
    "mixed": [piece + end for piece in PIECES for end in ("", " ", *BREAKS)],
    "one line": [word + " " for word in WORDS],
    "letters": ["x" * 50],
    "base64": ["QUJDRA+/" * 8],
    "cjk": ["这个项目的架构设计非常优秀。"],
}
CHOICES = ("words", "words", *KINDS)


def text(rng: random.Random, size: int) -> str:
    """About `size` characters of one of several kinds, at least one piece."""
    pieces = KINDS[rng.choice(CHOICES)]
    average = sum(map(len, pieces)) // len(pieces)
    return "".join(rng.choices(pieces, k=size // average + 1))


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
