"""From a file to records: lines of a JSONL one by one, or one JSON value.

Nothing of a JSONL is held but the line at hand, so a log costs what its messages cost. A line that is no
JSON becomes a `Damage` and the rest goes on; one JSON value that is cut off has no rest, and is an
`InvalidJSON`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from lithify.errors import InvalidInput, InvalidJSON
from lithify.transcripts.log import PREVIEW, Damage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Record", "Records", "decode_text", "open_records"]

_BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_LOOK: Final = 200
"""Records that are decoded before a kind is chosen: some logs begin with many lines that are no messages."""


@dataclass(frozen=True, slots=True)
class Record:
    """One decoded line, or the only value of a JSON file."""

    value: Any
    line: int


@dataclass
class Records:
    """The records of a file, the first ones at hand for a look."""

    head: list[Record]
    rest: Iterator[Record]
    lines: bool
    """True for a JSONL, false for one JSON value."""
    damage: list[Damage] = field(default_factory=list)
    count: int = 0

    def __iter__(self) -> Iterator[Record]:
        yield from self.head
        yield from self.rest


def open_records(stream: IO[bytes]) -> Records:
    """Begin to read a file.

    Raises `InvalidInput` when it is empty or UTF-16, `InvalidJSON` when no record of it can be read.
    """
    first = stream.readline()
    if first.startswith(_UTF16):
        raise InvalidInput(field="file", expected="JSON in UTF-8", got="UTF-16", remedy="Save it as UTF-8.")
    first = first.removeprefix(_BOM)
    blank = 0
    while first and not first.strip():
        first, blank = stream.readline(), blank + 1
    if not first:
        raise InvalidInput(
            field="file", expected="a session log", got="an empty file", remedy="Give another file."
        )
    if _is_line(first):
        records = Records([], iter(()), lines=True)
        records.rest = _lines(first, blank, stream, records)
        _look(records)
        return records
    return _document(first + stream.read(), blank)


def decode_text(text: str) -> Any:
    """Return the JSON in a string of the log, or None when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_line(first: bytes) -> bool:
    """Tell whether a first line is a record of its own: whole, or at least no beginning of laid-out JSON."""
    text = first.strip()
    if text in (b"{", b"["):
        return False
    try:
        _decode(text)
    except ValueError:
        # A line that begins an object and is not whole: cut off in a JSONL, or long in laid-out JSON.
        return text.startswith(b"{") and text.endswith(b"}")
    return True


def _lines(first: bytes, blank: int, stream: IO[bytes], records: Records) -> Iterator[Record]:
    number, offset, line = blank, blank, first
    while line:
        number += 1
        text = line.strip()
        if text:
            records.count += 1
            try:
                value = _decode(text)
            except ValueError as error:
                records.damage.append(_damage(number, offset, text, error, whole=line.endswith(b"\n")))
            else:
                yield Record(value, number)
        offset += len(line)
        line = stream.readline()


def _damage(number: int, offset: int, text: bytes, error: ValueError, *, whole: bool) -> Damage:
    problem = "the line is cut off at the end of the file" if not whole else _problem(error)
    return Damage(number, offset, problem, text[:PREVIEW])


def _problem(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"no UTF-8: byte {error.object[error.start]:#04x} at {error.start} of the line"
    return f"no JSON: {error}"


def _look(records: Records) -> None:
    for record in records.rest:
        records.head.append(record)
        if len(records.head) == _LOOK:
            return
    if not records.head:
        worst = records.damage[0]
        raise InvalidJSON(
            line=worst.line, column=1, offset=worst.offset or 0, expected="lines of JSON", got=worst.problem
        )


def _document(data: bytes, blank: int) -> Records:
    try:
        value = _decode(data)
    except ValueError as error:
        rescued = _rescue(data, blank)
        if rescued is not None:
            return rescued
        _fail(data, error, blank)
    return Records([Record(value, 1)], iter(()), lines=False, count=1)


def _rescue(data: bytes, blank: int) -> Records | None:
    """Read a JSONL whose first line is broken; None when no line of it is an object."""
    import io  # noqa: PLC0415 (for broken files only)

    stream = io.BytesIO(data)
    records = Records([], iter(()), lines=True)
    records.rest = _lines(stream.readline(), blank, stream, records)
    try:
        _look(records)
    except InvalidJSON:
        return None
    return records if any(isinstance(one.value, dict) for one in records.head) else None


def _fail(data: bytes, error: ValueError, blank: int) -> NoReturn:
    if isinstance(error, UnicodeDecodeError):
        start, got = error.start, f"no UTF-8: byte {data[error.start]:#04x}"
    elif isinstance(error, json.JSONDecodeError):
        start, got = len(error.doc[: error.pos].encode("utf-8", "surrogatepass")), error.msg
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated"):
            got = "a text that ends too early"
    else:
        start, got = 0, str(error)
    before = data[:start]
    raise InvalidJSON(
        line=before.count(b"\n") + 1 + blank,
        column=len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1,
        offset=start + blank,
        expected="a session log in JSON",
        got=got,
        field="file",
    )


def _decode(text: bytes) -> Any:
    """Decode JSON; what msgspec refuses (lone surrogates, NaN, deep nesting) goes to the slower parser."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
