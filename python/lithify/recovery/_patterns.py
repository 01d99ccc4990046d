"""The table of error sentences: loading, text normalisation, matching, figures.

Text is bounded before any pattern sees it, and every pattern has bounded gaps, so one search is linear in a
constant.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

MAX_HEAD: Final = 6_000
"""Characters of a text that are read from its start: providers say what went wrong first, SDK wrappers
included."""

MAX_TAIL: Final = 2_000
"""Characters read from its end: a retry wrapper or a validation error names the cause last."""

STAGES: Final = ("rate", "veto", "output", "bytes", "explicit", "soft", "generic")

Unit: TypeAlias = Literal["tokens", "characters", "bytes"]

_NUMBER: Final = r"(?:[0-9]{1,3}(?:\.[0-9]{1,2})?[km]\b|[0-9]{1,15}(?![0-9]))"
_LENGTH: Final = r"len(?:gth|ght|gt|th)"
_SHORTHAND: Final = re.compile(r"<(limit|actual|output|total|available|overage|extra|n|len)>")

# 128,000 128.000 128 000 128_000 128'000: groups of three behind one separator used throughout. Not after a
# letter, digit, dot, comma or hyphen (v1.234, model-4.100), and the last group is not followed by another
# digit or letter.
_SEPARATED: Final = re.compile(
    r"(?<![\w.,\-])[0-9]{1,3}(?P<sep>[,._'\u2019 \u00a0\u202f\u2009])[0-9]{3}(?:(?P=sep)[0-9]{3}){0,4}"
    r"(?![\w]|[.,][0-9])",
)
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": None, "\\": " "})
# Where an error text starts to quote the request, it stops being about the error.
_ECHO: Final = re.compile(
    r"""["']role["'] ?:|input_value=|\bfailed_generation\b|["'](?:messages|prompt)["'] ?: ?[\["']""",
)
# Only the last attempt of a retry wrapper decides.
_ATTEMPT: Final = re.compile(
    r"\b(?:last|final|latest) (?:error|exception|attempt)(?: was)? ?[:\-]"
    r"|\battempts? ?#?[0-9]{1,3}(?: ?(?:/|of) ?[0-9]{1,3})?(?: failed)?(?: with)? ?[:\-]",
)


class Row(msgspec.Struct, frozen=True):
    """One sentence form of patterns.toml, compiled."""

    id: str
    stage: str
    kind: str
    pattern: re.Pattern[str]
    sub: str | None = None
    unit: Unit = "tokens"
    actual_unit: Unit | None = None


class Words(msgspec.Struct, frozen=True):
    """One list of structured codes."""

    kind: str
    stage: str
    words: frozenset[str]
    sub: str | None = None
    pattern: re.Pattern[str] | None = None

    def holds(self, code: str) -> bool:
        """Whether a code is in the list or of the form that the list allows."""
        return code in self.words or (self.pattern is not None and self.pattern.search(code) is not None)


class ClassName(msgspec.Struct, frozen=True):
    """One pattern for names of exception classes."""

    kind: str
    pattern: re.Pattern[str]
    sub: str | None = None


class Table(msgspec.Struct, frozen=True):
    """The whole of patterns.toml; rows by stage, in file order."""

    rows: dict[str, tuple[Row, ...]]
    codes: tuple[Words, ...]
    classes: tuple[ClassName, ...]
    reasonless: frozenset[str]


class Hit(NamedTuple):
    """A row that matched, where, and the figures it captured (plain integers by name)."""

    row: Row
    start: int
    end: int
    figures: dict[str, int]
    text: str


def _expand(source: str) -> str:
    """Replace the shorthands of patterns.toml; a name used by several alternatives gets numbered groups."""
    seen: dict[str, int] = {}

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name == "len":
            return _LENGTH
        if name == "n":
            return _NUMBER
        seen[name] = seen.get(name, 0) + 1
        return f"(?P<{name}_{seen[name]}>{_NUMBER})"

    return _SHORTHAND.sub(replace, source)


@cache
def table() -> Table:
    """Load patterns.toml, once."""
    raw: dict[str, Any] = tomllib.loads(
        Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"),
    )
    rows: dict[str, list[Row]] = {stage: [] for stage in STAGES}
    for entry in raw["row"]:
        source = entry.pop("re")
        rows[entry["stage"]].append(Row(pattern=re.compile(_expand(source)), **entry))
    return Table(
        rows={stage: tuple(found) for stage, found in rows.items()},
        codes=tuple(_words(entry) for entry in raw["codes"]),
        classes=tuple(ClassName(pattern=re.compile(entry.pop("re")), **entry) for entry in raw["classes"]),
        reasonless=frozenset(raw["reasonless"]),
    )


def _words(entry: dict[str, Any]) -> Words:
    source = entry.pop("re", None)
    pattern = None if source is None else re.compile(source)
    return Words(words=frozenset(entry.pop("words")), pattern=pattern, **entry)


def bounded(text: str) -> str:
    """Cut a text to its head and tail, so that the work on it has a constant bound."""
    if len(text) <= MAX_HEAD + MAX_TAIL:
        return text
    return f"{text[:MAX_HEAD]} ... {text[-MAX_TAIL:]}"


def join_thousands(text: str) -> str:
    """Write 128,000 and 128.000 and 128'000 as 128000; leave every other number alone."""
    return _SEPARATED.sub(lambda match: match[0].replace(match["sep"], ""), text)


def normalize(text: str) -> str:
    """Return the form that patterns are written for; see the head of patterns.toml."""
    text = bounded(text).replace("\\n", " ").replace("\\r", " ").replace("\\t", " ").translate(_APOSTROPHES)
    text = " ".join(join_thousands(text).lower().split())
    attempts = list(_ATTEMPT.finditer(text))
    if attempts and text[attempts[-1].end() :].strip():
        text = text[attempts[-1].end() :].strip()
    echo = _ECHO.search(text)
    return text[: echo.start()] if echo else text


def number(text: str) -> int:
    """Read a captured number; 256k is 256000, the smaller of its two readings."""
    scale = {"k": 1_000, "m": 1_000_000}.get(text[-1])
    return int(text) if scale is None else int(float(text[:-1]) * scale)


def hits(stage: str, text: str) -> Iterator[Hit]:
    """Yield the rows of a stage that occur in a normalised text, each with its first occurrence."""
    for row in table().rows[stage]:
        match = row.pattern.search(text)
        if match is not None:
            yield _hit(row, match, text)


def search(stage: str, text: str) -> Hit | None:
    """Return the first row of a stage that occurs in a normalised text."""
    return next(hits(stage, text), None)


def with_code(stage: str, codes: Iterable[str]) -> Iterator[tuple[Words, str]]:
    """Yield the lists of codes of a stage that hold one of the codes, with each code held."""
    codes = list(codes)
    for words in table().codes:
        if words.stage == stage:
            yield from ((words, code) for code in codes if words.holds(code))


def with_class(names: Iterable[str]) -> Iterator[tuple[ClassName, str]]:
    """Yield the class patterns that match one of the names, in file order."""
    names = list(names)
    for entry in table().classes:
        yield from ((entry, name) for name in names if entry.pattern.search(name))


def _hit(row: Row, match: re.Match[str], text: str) -> Hit:
    figures = {name.rpartition("_")[0]: number(value) for name, value in match.groupdict().items() if value}
    return Hit(row=row, start=match.start(), end=match.end(), figures=figures, text=text)
