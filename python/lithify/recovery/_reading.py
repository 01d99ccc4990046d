"""Safe reads of foreign objects and texts: attributes that raise, bodies, JSON inside sentences, delays.

Every function is total: what cannot be read is None or empty. Only the user's own interrupts get through.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

MAX_JSON: Final = 1_000_000
"""Characters of a text that is still parsed as JSON; a longer one is only searched."""

MAX_LITERAL: Final = 20_000
"""Characters of a Python literal that is still parsed; SDKs print bodies with repr."""

MAX_BRACKETS: Final = 100
"""Opening brackets of such a literal: Python's parser must not be led into deep nesting."""

MAX_FIELDS: Final = 200
"""Fields of one mapping that are looked at."""

MAX_DELAY: Final = 1e9
MAX_DELAY_TEXT: Final = 60

_DECODER: Final = json.JSONDecoder()
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([a-z]{0,12})", re.IGNORECASE)
_UNITS: Final = (("mil", 0.001), ("ms", 0.001), ("m", 60.0), ("s", 1.0), ("h", 3600.0))
_DELAY_IN_TEXT: Final = re.compile(
    r"(?:try again|retry)(?: after| in)? ((?:[0-9]{1,6}(?:\.[0-9]{1,6})? ?"
    r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b ?){1,4})",
    re.IGNORECASE,
)
_STATUS_IN_TEXT: Final = re.compile(
    r"^\W{0,3}(?:[\w.]{1,60}(?:error|exception)?: ){0,2}(?:error ?:? )?"
    r"([45][0-9]{2})(?=(?: ?[:-])? ?(?:$|[<{\[(\"']|status code|bad request|unauthori|payment|forbidden|"
    r"not found|too many|request|unprocess|internal|bad gateway|service|gateway|overloaded|error\b))"
    r"|(?:status(?:_code| code)?|error code|http(?:/[12](?:\.[01])?)?)[:= ]{1,3}([45][0-9]{2})(?![0-9])",
    re.IGNORECASE,
)


def attempt(work: Callable[[], T], otherwise: T) -> T:
    """Return what foreign code gives, or `otherwise` when it raises."""
    try:
        return work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  a property or method of a foreign error object may raise anything
        return otherwise


def read(obj: object, name: str) -> Any:
    """Return an attribute, or None when it is absent or raises."""
    return attempt(lambda: getattr(obj, name, None), None)


def is_a(obj: object, kind: type | tuple[type, ...]) -> bool:
    """Answer isinstance, also for an object whose `__class__` raises."""
    return attempt(lambda: isinstance(obj, kind), otherwise=False)


def truth(value: object) -> bool:
    """Answer bool(value); what cannot answer is there, so it counts as true."""
    return attempt(lambda: bool(value), otherwise=True)


def exception_text(error: BaseException) -> str:
    """Return str(error), or an empty text when that raises."""
    return attempt(lambda: str.__str__(str(error)), "")


def pairs(node: object) -> list[tuple[Any, Any]]:
    """Return the items of a mapping or headers object that may misbehave, at most MAX_FIELDS."""

    def collect() -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for key, value in node.items():  # type: ignore[attr-defined]  # AttributeError is one of the failures
            found.append((key, value))
            if len(found) >= MAX_FIELDS:
                break
        return found

    return attempt(collect, [])


def mapping(node: object) -> dict[str, Any]:
    """Copy the fields of a mapping that have text keys."""
    return {key: value for key, value in pairs(node) if isinstance(key, str)}


def sequence(node: object, most: int) -> list[Any]:
    """Return the first entries of a list or tuple; anything else is empty."""
    return attempt(lambda: list(node)[:most], []) if is_a(node, (list, tuple)) else []  # type: ignore[call-overload]


def empty(body: object) -> bool:
    """Whether a body holds nothing."""
    return body is None or (is_a(body, (str, bytes, Mapping, list, tuple)) and not body)


def response_body(response: object) -> object:
    """Return the body of an HTTP response object: json() when it gives data, else its text."""
    method = read(response, "json")
    if callable(method):
        data = attempt(method, None)
        if is_a(data, (Mapping, list, str)):
            return data
        if type(data).__name__ == "coroutine":
            read(data, "close")()  # an async client: its body cannot be awaited here
    return next(
        (value for name in ("text", "content") if is_a(value := read(response, name), (str, bytes))), None
    )


def parse(text: str, start: int) -> tuple[object, int]:
    """Parse the JSON object or array, or the repr of one, at `start`; return it and where it ends.

    >>> parse("Error code: 400 - {'error': {'code': 7}}, id 3", 18)
    ({'error': {'code': 7}}, 40)
    """
    if not 0 <= start < len(text) <= MAX_JSON:
        return None, 0
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = None, text.rfind("}") + 1
        part = text[start:end]
        if 0 < len(part) <= MAX_LITERAL and sum(map(part.count, "{[(")) < MAX_BRACKETS:
            value = attempt(lambda: ast.literal_eval(part), None)
    return (value, end) if isinstance(value, (dict, list)) else (None, 0)


def code(value: str) -> str:
    """Return a structured code in one spelling: no namespace, lower case, underscores."""
    return re.sub(r"[^a-z0-9_.]+", "_", value.rpartition("#")[2].strip().lower()).strip("_")


def plain(value: object) -> object:
    """Return header bytes as text."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def status_in(text: str) -> int | None:
    """Return the HTTP status that an SDK printed at the head of a message."""
    match = _STATUS_IN_TEXT.search(text[:300])
    return int(match[1] or match[2]) if match else None


def delay_in(text: str) -> float | None:
    """Return the seconds of "try again in 6.7s"."""
    match = _DELAY_IN_TEXT.search(text[:4_000])
    return seconds(match[1]) if match else None


def seconds(value: object) -> float | None:
    """Read a delay: seconds as a number or text, or a duration such as 1m2.5s, 34s, 20ms."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if 0 <= value < MAX_DELAY else None
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MAX_DELAY_TEXT:
        return None
    total = 0.0
    rest = value.strip()
    while rest:
        match = _DURATION.match(rest)
        unit = (match[2].lower() or "s") if match else ""
        scale = next((scale for name, scale in _UNITS if unit.startswith(name)), None)
        if match is None or scale is None:
            return None
        total += float(match[1]) * scale
        rest = rest[match.end() :].strip()
    return total


def until(then: object, now: object) -> float | None:
    """Return the seconds between two HTTP dates: the server's own Date is the clock, ours is not asked."""
    if not (isinstance(then, str) and isinstance(now, str)):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  half of the import time, for a rare header

    try:
        return max(0.0, (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
