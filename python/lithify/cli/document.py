"""The shape of an input: where in it the messages are, and how the same shape is written again.

Three shapes hold a history: a list, a JSONL of messages, and an object with the list under one of `PLACES`.
Everything beside the list stays as it is, so `document.encode(messages)` is the input with only the list
replaced. Invalid JSON is located by line and column, invalid UTF-8 by offset.

Decoding is done by msgspec, which is fast but does not say where a fault is and takes no lone surrogates;
what it refuses goes to the slower parser of the standard library.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from lithify.cli.exits import UNUSABLE, CliError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PLACES", "Document", "parse"]

PLACES: tuple[tuple[str, ...], ...] = (
    *(("messages",), ("history",), ("traj",), ("body", "messages")),
    *(("input",), ("contents",), ("body", "input"), ("body", "contents")),
)
"""Where an object may hold the list, looked for in this order."""

_ALIASES = ("instructions", "systemInstruction", "system_instruction")
"""What providers other than Anthropic call the system text that stands beside the list."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_SPACE = re.compile(rb"[^ \t\r\n]")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_INDENT = re.compile(rb"\s*[\[{]\r?\n( +)")
_FIRST_KEY = re.compile(rb'\s*\[?\s*\{\s*"(?:[^"\\]|\\.)*":( ?)')
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity', re.DOTALL)
_KEPT_HEAD = 4096  # bytes that are looked at to tell the layout
_ENDS_EARLY = "the text ends too early, was the file cut off?"


@dataclass(frozen=True, slots=True)
class Document:
    """A history with the shape it came in."""

    name: str
    root: Any
    messages: list[Any]
    path: tuple[str, ...] = ()
    lines: tuple[int, ...] | None = None
    """For JSONL: the line of each message, from 1."""
    indent: int = 0
    """As `msgspec.json.format` has it: spaces a level, 0 for one line, -1 for no white space at all."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """For a session log: the system text and the tools, which stand beside the messages."""
    format: str | None = None
    """For a session log: the provider's shape that its messages have."""
    facts: dict[str, Any] = field(default_factory=dict)
    """For a session log: what it holds besides, see `session.facts`."""

    def beside(self, key: str) -> Any:
        """Return what stands under `key` beside the list (`system`, `tools`), or None."""
        if not self.path:
            return self.extras.get(key)
        names = (key, *_ALIASES) if key == "system" else (key,)
        holder = self._holder()
        return next((holder[name] for name in names if holder.get(name) is not None), None)

    def where(self, index: object) -> str:
        """Return ` (line 7)` for the index of a message in a JSONL, else nothing."""
        if self.lines is None or not isinstance(index, int) or not 0 <= index < len(self.lines):
            return ""
        return f" (line {self.lines[index]})"

    def encode(self, messages: list[Any]) -> Iterator[bytes]:
        """Yield the input again, with `messages` in the place of its own."""
        if self.lines is not None:
            for message in messages:
                yield _dump(message, -1 if self.indent < 0 else 0) + b"\n"
            return
        yield _dump(self._replaced(messages), self.indent) + b"\n"

    def _holder(self) -> dict[str, Any]:
        """Return the object that holds the list."""
        holder = self.root
        for key in self.path[:-1]:
            holder = holder[key]
        return holder if isinstance(holder, dict) else {}

    def _replaced(self, messages: list[Any]) -> Any:
        """Return the root with `messages` in it; only the objects on the way to the list are copied."""
        value: Any = messages
        for depth in range(len(self.path) - 1, -1, -1):
            holder = self.root
            for key in self.path[:depth]:
                holder = holder[key]
            value = {**holder, self.path[depth]: value}
        return value


def parse(data: bytes, name: str, *, file: str = "") -> Document:
    """Return the history in `data`; `file` is looked at for a suffix such as `.jsonl` only.

    Raises `CliError` when it is empty, no UTF-8, no JSON, or no history; the message says where.
    """
    if data.startswith(_UTF16):
        raise CliError(f"{name} is UTF-16 text: save it as UTF-8", UNUSABLE)
    data = data.removeprefix(_BOM)
    start = _first(data, 0)
    if start == len(data):
        raise CliError(f"{name} is empty: a history is a JSON list or a JSONL of messages", UNUSABLE)
    indent = _layout(data[:_KEPT_HEAD])
    if _is_lines(data, start, file):
        return _parse_lines(data, name, indent)
    root = _load(data, name)
    if isinstance(root, dict) and "role" in root and data.find(b"\n", start) in {-1, len(data) - 1}:
        return Document(name, None, [root], lines=(1,), indent=indent)
    path = _find(root, name)
    messages = root
    for key in path:
        messages = messages[key]
    return Document(name, root, messages, path, indent=indent)


def _first(data: bytes, start: int, end: int = sys.maxsize) -> int:
    """Return the place of the first byte in `data[start:end]` that is not white space, or the end."""
    found = _NOT_SPACE.search(data, start, end)
    return min(len(data), end) if found is None else found.start()


def _layout(head: bytes) -> int:
    """Tell how the text was laid out, from its beginning; see `Document.indent`."""
    lines = _INDENT.match(head)
    if lines is not None:
        return len(lines.group(1))
    key = _FIRST_KEY.match(head)
    return -1 if key is not None and not key.group(1) else 0


def _is_lines(data: bytes, start: int, file: str) -> bool:
    """Tell whether this is JSONL: more than one line, and the first one is a whole object.

    A name that says so settles it for an object, so that a fault in the first line is reported as one.
    """
    if data[start : start + 1] != b"{":
        return False
    end = data.find(b"\n", start)
    if end < 0 or _first(data, end) == len(data):
        return False
    if file.lower().endswith(_LINE_SUFFIXES):
        return True
    try:
        json.loads(data[start:end])
    except (ValueError, RecursionError):
        return False
    return True


def _parse_lines(data: bytes, name: str, indent: int) -> Document:
    """Read one message a line; blank lines are passed over."""
    messages: list[Any] = []
    lines: list[int] = []
    begin, number = 0, 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        number += 1
        if _first(data, begin, end) < end:
            messages.append(_load(data[begin:end], name, line=number, offset=begin))
            lines.append(number)
        begin = end + 1
    first = messages[0]
    if isinstance(first, dict) and "role" not in first and _place(first) is not None:
        raise CliError(
            f"{name} holds {len(messages):,} whole histories, one a line: give one of them", UNUSABLE
        )
    return Document(name, None, messages, lines=tuple(lines), indent=indent)


def _place(root: dict[str, Any]) -> tuple[str, ...] | None:
    """Return where in an object a list stands, or None."""
    for path in PLACES:
        value: Any = root
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list):
            return path
    return None


def _find(root: Any, name: str) -> tuple[str, ...]:
    """Return the path to the list of messages, or raise when there is none."""
    if isinstance(root, list):
        first = root[0] if root else None
        if isinstance(first, dict) and "role" not in first and _place(first) is not None:
            raise CliError(f"{name} holds {len(root):,} whole histories: give one of them", UNUSABLE)
        return ()
    places = ", ".join(".".join(path) for path in PLACES)
    if not isinstance(root, dict):
        kind = "null" if root is None else type(root).__name__
        raise CliError(
            f"{name} holds {kind}, not a history: a list of messages, an object with such a list "
            f"under one of {places}, or one message a line",
            UNUSABLE,
        )
    path = _place(root)
    if path is not None:
        return path
    what = (
        "is a single message" if "role" in root else f"has the keys {', '.join(list(root)[:8]) or '(none)'}"
    )
    raise CliError(
        f"{name} is an object that {what}, and no list of messages under one of {places}", UNUSABLE
    )


def _load(data: bytes, name: str, *, line: int = 1, offset: int = 0) -> Any:
    """Decode JSON; `line` and `offset` say where `data` begins in the file."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _load_slowly(data, name, line=line, offset=offset)


def _load_slowly(data: bytes, name: str, *, line: int, offset: int) -> Any:
    """Decode JSON that the fast decoder refused, or say where it is wrong."""

    def fail(place: str, what: str, **details: object) -> NoReturn:
        message = f"{name}, {place}: {what}"
        raise CliError(message, UNUSABLE, kind="InvalidJSON", **details)

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at = offset + error.start
        row = line + data.count(b"\n", 0, error.start)
        what = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        fail(f"offset {at:,} (line {row})", what, line=row, offset=at)
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        row, column = line + error.lineno - 1, error.colno
        early = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = _ENDS_EARLY if early else f"invalid JSON: {error.msg}"
        fail(f"line {row}, column {column}", what, line=row, column=column)
    except RecursionError:
        fail(f"line {line}", "nested too deeply", line=line)
    except _NotJsonError as error:
        row, column = _locate(text, str(error))
        what = f"{error} is not JSON: use a number or null"
        fail(f"line {line + row}, column {column}", what, line=line + row, column=column)
    except ValueError as error:  # a whole number of thousands of digits
        fail(f"line {line}", str(error), line=line)


class _NotJsonError(ValueError):
    """A number that JSON does not have."""


def _refuse(constant: str) -> NoReturn:
    raise _NotJsonError(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _NotJsonError(digits)
    return value


def _locate(text: str, token: str) -> tuple[int, int]:
    """Return lines before `token` and its column, looking outside of strings for a constant."""
    position = next(
        (match.start() for match in _STRING_OR_CONSTANT.finditer(text) if match.group() == token), -1
    )
    position = max(0, text.find(token) if position < 0 else position)
    return text.count("\n", 0, position), position - text.rfind("\n", 0, position)


def _dump(value: Any, indent: int) -> bytes:
    """Encode JSON in a layout; what has no UTF-8 form (a lone surrogate) is written as an escape."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=indent)
    except UnicodeEncodeError:
        # A reader gets the same text back from ASCII with escapes.
        separators = (",", ":") if indent < 0 else None
        return json.dumps(value, indent=indent if indent > 0 else None, separators=separators).encode("ascii")
