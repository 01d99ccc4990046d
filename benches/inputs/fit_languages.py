# ruff: noqa: RUF001  letters that look alike are the subject
"""Texts in many scripts for the fit, from our own words, the vocabulary's words, and frequent characters.

No foreign text is needed: a vocabulary lists the words of a language in about the order of their
frequency, which is enough to draw from; the words that it lacks, and must split, come from
`fit_words.py` and from joining pieces. Frequent Chinese, Japanese and Korean characters come from the
tables in the `pip` wheel that Python ships.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import TYPE_CHECKING

from .fit_words import WORDS

if TYPE_CHECKING:
    import random
    from pathlib import Path

    import tiktoken

SCRIPTS = {
    "french": "A-Za-zàâçéèêëîïôùûœ",
    "russian": "А-Яа-яё",
    "hindi": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
    "chinese": "\u4e00-\u9fff",
    "japanese": "\u3040-\u30ff\u4e00-\u9fff",
    "korean": "\uac00-\ud7a3",
    "arabic": "\u0600-\u06ff",
    "hebrew": "\u0590-\u05ff",
    "greek": "\u0370-\u03ff",
    "bengali": "\u0980-\u09ff",
    "tamil": "\u0b80-\u0bff",
    "telugu": "\u0c00-\u0c7f",
    "georgian": "\u10a0-\u10ff",
    "armenian": "\u0530-\u058f",
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
}
"""Letters of each language or script, as the inside of a character class."""
CLOSED = {"chinese", "japanese", "thai"}
"""Written without blanks between words."""
STOPS = {
    "chinese": ("，", "。", "、", "：", "？", "（", "）"),
    "japanese": ("、", "。", "、", "。\n", "「", "」"),
    "thai": (" ", " ", "\n", ""),
    "hindi": (" ", " ", "। ", ", ", "\n"),
}
"""What stands between the phrases of a language; other languages use Latin marks."""
MADE_UP = {"russian": 0.94, "hindi": 0.82, "korean": 0.84, "latin": 0.92}
"""Draws above this share give a made-up word; others: see `Language.word`."""
JOINED = {"russian": 0.25, "latin": 0.15, "french": 0.4}
"""Share of the vocabulary's words that get a second piece."""
LATIN_STOPS = (" ", " ", ", ", ". ", ".\n", ": ", " (", ") ", "\n\n", " - ", "; ", "? ")


def vocabulary(encoding: tiktoken.Encoding, letters: str) -> tuple[list[str], list[str]]:
    """Return (words that start with a blank, pieces that do not) made of `letters`, most frequent first."""
    word = re.compile(f"( ?)([{letters}]+)")
    starts: list[tuple[int, str]] = []
    insides: list[tuple[int, str]] = []
    for token in encoding.token_byte_values():
        try:
            found = word.fullmatch(token.decode())
        except UnicodeDecodeError:
            continue
        if found and not found[2].isascii():
            (starts if found[1] else insides).append((encoding.encode_single_token(token), found[2]))
    return [w for _, w in sorted(starts)], [w for _, w in sorted(insides)]


def frequent(language: str, pip_wheel: Path) -> list[str]:
    """Return the characters of a language by falling frequency, from the wheel's detector of encodings."""
    sys.path.insert(0, str(pip_wheel))
    try:
        from pip._vendor.chardet import euckrfreq, gb2312freq, jisfreq  # noqa: PLC0415
    finally:
        sys.path.pop(0)
    order, lead, first, codec = {
        "chinese": (gb2312freq.GB2312_CHAR_TO_FREQ_ORDER, 0xB0, 0, "gb2312"),
        "japanese": (jisfreq.JIS_CHAR_TO_FREQ_ORDER, 0xA1, 0, "euc_jp"),
        "korean": (euckrfreq.EUCKR_CHAR_TO_FREQ_ORDER, 0xB0, 0, "euc_kr"),
    }[language]
    found = []
    for index, rank in enumerate(order):
        code = bytes((lead + (index + first) // 94, 0xA1 + (index + first) % 94))
        char = code.decode(codec, "ignore")
        if char and unicodedata.category(char) == "Lo":
            found.append((rank, char))
    return [c for _, c in sorted(found)]


def _zipf(rng: random.Random, words: list[str], head: float) -> str:
    """Draw by rank with a density of about 1 / (rank + head)."""
    n = len(words)
    at = int(head * ((1 + n / head) ** rng.random() - 1))
    return words[min(at, n - 1)]


class Chain:
    """Makes up words that look like given ones: each letter is drawn by the two before it."""

    def __init__(self, words: list[str], rng: random.Random) -> None:
        self.rng = rng
        self.next: dict[str, list[str]] = {}
        for word in words:
            padded = f"\0\0{word}\0"
            for at in range(2, len(padded)):
                self.next.setdefault(padded[at - 2 : at], []).append(padded[at])

    def word(self) -> str:
        """Return a word of at most 14 letters."""
        out = "\0\0"
        while len(out) < 16:
            letter = self.rng.choice(self.next[out[-2:]])
            if letter == "\0":
                break
            out += letter
        return out[2:]


class Language:
    """Draws text of one language or script."""

    def __init__(self, name: str, encoding: tiktoken.Encoding, pip_wheel: Path, rng: random.Random) -> None:
        self.name, self.rng = name, rng
        self.own = WORDS.get(name, [])
        pairs = [vocabulary(encoding, SCRIPTS[name])]
        self.starts = [s for s, _ in pairs if s]
        self.insides = [i for _, i in pairs if i]
        self.characters = frequent(name, pip_wheel) if name in {"chinese", "japanese", "korean"} else []
        self.stops = STOPS.get(name, LATIN_STOPS)
        known = [w for w in self.own if len(w) > 3] * 4 + [
            w for some in self.starts for w in some[:4000] if len(w) > 3
        ]
        known = known or [w for some in self.insides for w in some]
        self.chain = Chain(known, rng)

    def word(self) -> str:
        """Return one word: our own, the vocabulary's, one joined from pieces, or frequent characters."""
        kind = self.rng.random()
        if self.own and kind < (0.66 if self.name in CLOSED else 0.5):
            return self.rng.choice(self.own)
        if self.characters and kind < 0.77:
            return "".join(_zipf(self.rng, self.characters, 120) for _ in range(self.rng.randint(1, 2)))
        if self.name not in {"chinese", "japanese"} and kind > (
            0.88 if self.own or self.name == "latin" else 0.6
        ):
            return self.chain.word()
        pool = self.rng.choice(self.insides if self.name in CLOSED or not self.starts else self.starts)
        text = _zipf(self.rng, pool, 150)
        if self.name not in CLOSED and self.insides and self.rng.random() < JOINED.get(self.name, 0.45):
            text += _zipf(self.rng, self.rng.choice(self.insides), 60)
        return text

    def text(self) -> str:
        """Return some phrases, with a Latin word or a number now and then as in real documents."""
        out = []
        gap = "" if self.name in CLOSED else " "
        for _ in range(self.rng.randint(8, 40)):
            blank = "_" if gap and self.rng.random() < 0.03 else gap
            phrase = blank.join(self.word() for _ in range(self.rng.randint(2, 9)))
            case = self.rng.random()
            if case < 0.3:
                phrase = phrase.capitalize()
            elif case < 0.33:
                phrase = phrase.upper()
            out.append(
                f"«\u00a0{phrase}\u00a0»" if self.name in {"french", "russian"} and case > 0.95 else phrase
            )
            out.append(self.rng.choice(self.stops))
            if self.rng.random() < 0.1:
                out.append(
                    self.rng.choice(
                        (
                            "GNU/Linux",
                            "PDF",
                            "HTTP",
                            "Python",
                            "Debian",
                            "README",
                            "URL",
                            "ID",
                            "%s",
                            "2024",
                            "10",
                            "1",
                            "3.5",
                            "C",
                            "API",
                            "SQL",
                        )
                    )
                    + gap
                )
        return "".join(out)


__all__ = ["CLOSED", "SCRIPTS", "Language", "frequent", "vocabulary"]
