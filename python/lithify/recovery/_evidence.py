"""Collect what an error says: status, codes, sentences, figures, headers; from exceptions, bodies, events and text.

Nothing is imported from any SDK: objects are read by the attribute names that openai, anthropic, google, botocore,
litellm, httpx and others use. Only error-bearing fields are read, never `messages`, `content`, `prompt` or a request.
The walk is bounded (depth 8, 300 nodes), cycle-safe, and survives attributes that raise.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 8
MAX_NODES: Final = 300
MAX_TEXTS: Final = 24
MAX_JSON: Final = 1_000_000
"""Characters of a text that is still parsed as JSON; longer ones are only searched."""
MAX_LITERAL: Final = 20_000
"""Characters of a Python literal (SDKs print bodies with repr) that is still parsed."""

MAX_BRACKETS: Final = 100
"""Opening brackets of such a literal: the parser of Python must not be led into deep nesting."""

_DECODER: Final = json.JSONDecoder()
_STATUS_KEYS: Final = ("status_code", "statusCode", "HTTPStatusCode", "httpStatusCode", "http_status", "status", "code")
_CODE_KEYS: Final = (
    "code", "Code", "type", "__type", "status", "reason", "error_type", "errorType", "error_code", "errcode", "name",
)  # fmt: skip
_TEXT_KEYS: Final = (
    "message", "Message", "msg", "error_message", "errorMessage", "error_msg", "errmsg", "status_msg", "detail",
    "details", "faultstring", "raw", "error",
)  # fmt: skip
_NEST_KEYS: Final = (
    "error", "Error", "err", "exception", "cause", "body", "responseBody", "response_body", "response", "data",
    "metadata", "value", "detail", "details", "innererror", "inner_error", "base_resp", "fault", "message", "raw",
    "event", "ResponseMetadata", "errors", "choices",
)  # fmt: skip
_LAST_KEYS: Final = ("last_attempt", "last_error", "lastError", "last_exception")
_HEADER_KEYS: Final = ("headers", "HTTPHeaders", "responseHeaders", "response_headers")
_RETRY_KEYS: Final = ("retry_after", "retryAfter", "retry_after_seconds", "retryDelay", "retry_delay", "retry_after_ms")
_STOP_KEYS: Final = ("stop_reason", "finish_reason", "finishReason", "stopReason", "native_finish_reason")
_NUMBER_KEYS: Final = {
    "n_prompt_tokens": "actual", "prompt_tokens": "actual", "input_tokens": "actual",
    "n_ctx": "limit", "context_length": "limit", "max_context_length": "limit", "context_window": "limit",
}  # fmt: skip
_ERROR_MARKS: Final = frozenset({
    "error", "Error", "errors", "err", "exception", "error_message", "errorMessage", "error_msg", "base_resp", "fault",
    "__type", "lastError", "last_error", "innererror",
})  # fmt: skip
_REPLY_MARKS: Final = ("choices", "candidates", "output", "content", "completion", "stop_reason", "generations")
_ATTRIBUTES: Final = tuple(
    dict.fromkeys((
        *_STATUS_KEYS, *_CODE_KEYS, *_TEXT_KEYS, *_LAST_KEYS, *_HEADER_KEYS, *_RETRY_KEYS, *_STOP_KEYS,
        "body", "response", "errors", "choices", "candidates", "usage", "usage_metadata", "param", "event", "data",
        "llm_provider", "incomplete_details",
    )),
)  # fmt: skip
_TEXT_STATUS: Final = re.compile(
    r"^\W{0,3}(?:\w{1,60}(?:error|exception)?: ){0,2}(?:error ?:? )?(?:http[ /]?(?:[12](?:\.[01])? )?|error code:? |"
    r"status(?: code)?[:= ]{0,2})?([45][0-9]{2})(?![0-9]|[.,][0-9])|(?:status(?:_code| code)?|error code|http)"
    r"[:= ]{1,3}([45][0-9]{2})(?![0-9])",
    re.IGNORECASE,
)
_RETRY_TEXT: Final = re.compile(
    r"(?:try again|retry)(?: after| in)? ((?:[0-9]{1,6}(?:\.[0-9]{1,6})? ?"
    r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b ?){1,4})",
    re.IGNORECASE,
)
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([a-z]{0,12})", re.IGNORECASE)
_UNITS: Final = (("mil", 0.001), ("ms", 0.001), ("min", 60.0), ("m", 60.0), ("s", 1.0), ("h", 3600.0))


class Evidence(msgspec.Struct):
    """What was found. `texts` are outer first; `shaped` says that it came from an error-bearing shape."""

    texts: list[str] = msgspec.field(default_factory=list)
    prose: list[str] = msgspec.field(default_factory=list)
    codes: list[str] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)
    stops: list[str] = msgspec.field(default_factory=list)
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    status: int | None = None
    retry_after: float | None = None
    param: str | None = None
    provider: str | None = None
    usage: object = None
    shaped: bool = False
    empty_body: bool = False


def read(obj: object, name: str) -> Any:
    """Return an attribute or None, whatever reading it does; only the user's own interrupts get through."""
    try:
        return getattr(obj, name, None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  a property of a foreign error object may raise anything
        return None


def is_a(obj: object, kind: type | tuple[type, ...]) -> bool:
    """Answer isinstance for objects whose `__class__` may raise."""
    try:
        return isinstance(obj, kind)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001
        return False


def exception_text(error: BaseException) -> str:
    """Return str(error), or an empty text when that raises."""
    try:
        return str.__str__(str(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001
        return ""


def seconds(value: object) -> float | None:
    """Read a delay: seconds as number or text, or a duration such as 1m2.5s, 34s, 20ms; None when it is none."""
    if is_a(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if 0 <= value < 1e9 else None
    if not isinstance(value, str) or len(value) > 60:
        return None
    total = 0.0
    rest = value.strip()
    while rest:
        match = _DURATION.match(rest)
        if match is None:
            return None
        unit = match[2].lower() or "s"
        scale = next((scale for name, scale in _UNITS if unit.startswith(name)), None)
        if scale is None:
            return None
        total += float(match[1]) * scale
        rest = rest[match.end() :].strip()
    return total if value.strip() else None


class Collector:
    """One walk over one error; see the module text. `self.found` is the result."""

    def __init__(self) -> None:
        self.found = Evidence()
        self._nodes = 0
        self._path: set[int] = set()

    # ---- entry points ----

    def top(self, error: object, *, status: object, body: object, headers: object) -> None:
        """Read the caller's arguments: the typed status first, it wins over any other."""
        self._status(status)
        self._headers(headers)
        self.found.shaped = self._is_failure()
        if body is not None:
            self.found.shaped = not self._is_success()
            self.found.empty_body = _empty(body)
            self.visit(body, 0)
        if error is not None:
            self.visit(error, 0)
        for text in self.found.texts:
            if self.found.status is None:
                match = _TEXT_STATUS.search(text[:300])
                if match:
                    self.found.status = int(match[1] or match[2])
            if self.found.retry_after is None:
                match = _RETRY_TEXT.search(text[:4_000])
                if match:
                    self.found.retry_after = seconds(match[1])

    def visit(self, node: object, depth: int) -> None:
        """Read one node of any type."""
        self._nodes += 1
        if node is None or depth > MAX_DEPTH or self._nodes > MAX_NODES or id(node) in self._path:
            return
        if is_a(node, (bool, int, float, complex, type)) or (callable(node) and not is_a(node, BaseException)):
            return
        if is_a(node, str):
            self._text(str.__str__(node), depth)  # type: ignore[arg-type]
            return
        if is_a(node, (bytes, bytearray)):
            self._text(bytes(node).decode("utf-8", "replace"), depth)  # type: ignore[call-overload]
            return
        self._path.add(id(node))
        try:
            self._container(node, depth)
        finally:
            self._path.discard(id(node))

    def _container(self, node: object, depth: int) -> None:
        if is_a(node, BaseException):
            self._exception(node, depth)  # type: ignore[arg-type]
        elif is_a(node, Mapping):
            self._fields(_mapping(node), depth)
        elif is_a(node, (list, tuple)):
            for entry in list(node)[:10]:  # type: ignore[call-overload]
                self.visit(entry, depth + 1)
        else:
            self._object(node, depth)

    # ---- kinds of node ----

    def _exception(self, error: BaseException, depth: int) -> None:
        last = _last_attempt(error)
        if last is not None:
            self.visit(last, depth + 1)
            return
        self.found.names.extend(cls.__name__ for cls in type(error).__mro__[:-1] if cls.__name__ not in self.found.names)
        before = len(self.found.texts)
        fields = {name: value for name in _ATTRIBUTES if (value := read(error, name)) is not None}
        message = fields.pop("message", None)
        self._path.add(id(error))
        self._fields(fields, depth, of_exception=True)
        if len(self.found.texts) == before:
            text = str.__str__(message) if isinstance(message, str) and message else exception_text(error)
            self._text(text, depth)

    def _object(self, node: object, depth: int) -> None:
        fields = {name: value for name in _ATTRIBUTES if (value := read(node, name)) is not None}
        if "status_code" in fields and "headers" in fields and _empty(fields.get("body", b"")):
            fields["body"] = _response_body(node)
            self.found.empty_body = _empty(fields["body"])
        self._fields(fields, depth)

    def _fields(self, fields: Mapping[str, Any], depth: int, *, of_exception: bool = False) -> None:
        if _is_conversation(fields):
            return
        self._status_of(fields)
        marked = self._marked(fields)
        for key in _STOP_KEYS:
            self._word(fields.get(key), self.found.stops)
        if self.found.usage is None:
            self.found.usage = fields.get("usage") or fields.get("usage_metadata") or fields.get("usageMetadata")
        for key in _LAST_KEYS:
            if fields.get(key) is not None:
                self.visit(fields[key], depth + 1)
                return
        self._headers_of(fields)
        reply = not marked and not of_exception and any(key in fields for key in _REPLY_MARKS)
        if reply or (self._is_success() and not marked and not of_exception):
            self._reply(fields, depth)
            return
        self._words_of(fields)
        for key in _TEXT_KEYS:
            value = fields.get(key)
            if is_a(value, (str, bytes)):
                self.visit(value, depth + 1)
        self._nested(fields, depth)

    def _nested(self, fields: Mapping[str, Any], depth: int) -> None:
        for key in _NEST_KEYS:
            value = fields.get(key)
            if key == "choices" or value is None or is_a(value, str):
                continue
            if key == "errors" and is_a(value, Sequence) and _is_retry(fields):
                value = list(value)[-1:]
            self.visit(value, depth + 1)
        for key, value in fields.items():
            if key.endswith("Exception") and is_a(value, Mapping):  # Bedrock stream events
                self.found.codes.append(_code(key))
                self.found.shaped = True
                self.visit(value, depth + 1)

    def _reply(self, fields: Mapping[str, Any], depth: int) -> None:
        """Read a successful reply: why it stopped, and an error inside a choice; never its content."""
        for key in ("choices", "candidates"):
            entries = fields.get(key)
            for entry in list(entries)[:4] if is_a(entries, (list, tuple)) else ():
                inner = _mapping(entry) if is_a(entry, Mapping) else {
                    name: read(entry, name) for name in (*_STOP_KEYS, "error")
                }  # fmt: skip
                for name in _STOP_KEYS:
                    self._word(inner.get(name), self.found.stops)
                if inner.get("error") is not None:
                    self.found.shaped = True
                    self.visit({"error": inner["error"]}, depth + 1)
        for key in ("response", "body"):
            if is_a(fields.get(key), (Mapping, str, bytes)) or read(fields.get(key), "error") is not None:
                self.visit(fields[key], depth + 1)

    def _text(self, text: str, depth: int) -> None:
        text = text.strip()
        if not text or len(self.found.texts) >= MAX_TEXTS:
            return
        if text.startswith(("data:", "event:")):
            self._events(text, depth)
            return
        start = 0 if text.startswith("[") else text.find("{")
        inner, end = _parse(text, start) if start >= 0 else (None, 0)
        if inner is not None:
            before = self._size()
            self.visit(inner, depth + 1)
            if before != self._size():
                around = [part for part in (text[:start].strip(), text[end:].strip()) if part]
                self.found.texts[before[0] : before[0]] = around[:1] if start else []
                self.found.prose.extend(around)
                return
            if start == 0:
                return  # data without a word of error in it
        self.found.texts.append(text)

    def _size(self) -> tuple[int, int, int]:
        return (len(self.found.texts), len(self.found.codes), len(self.found.stops))

    def _events(self, text: str, depth: int) -> None:
        """Read server-sent events; the last one that is an error decides."""
        for line in reversed(text.splitlines()[-200:]):
            if line.startswith("data:") and "error" in line:
                before = self._size()
                self.visit(_parse(line[5:].strip(), 0)[0], depth + 1)
                if before != self._size():
                    return

    # ---- small readers ----

    def _marked(self, fields: Mapping[str, Any]) -> bool:
        marked = any(fields.get(key) for key in _ERROR_MARKS if key in fields)
        for key in ("type", "object", "status", "event", "stopReason"):
            value = fields.get(key)
            if isinstance(value, str) and value in {"error", "failed", "response.failed", "response.error"}:
                marked = True
        marked = marked or any(key.endswith("Exception") for key in fields)
        if marked or self._is_failure():
            self.found.shaped = True
        return marked

    def _words_of(self, fields: Mapping[str, Any]) -> None:
        for key in _CODE_KEYS:
            self._word(fields.get(key), self.found.codes)
        for key, name in _NUMBER_KEYS.items():
            value = fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15:
                self.found.numbers.setdefault(name, value)
        for key in _RETRY_KEYS:
            delay = seconds(fields.get(key))
            if delay is not None and self.found.retry_after is None:
                self.found.retry_after = delay / 1_000 if key.endswith("ms") else delay
        name = fields.get("exception")
        if isinstance(name, str):
            self.found.names.append(name[:80])
            self.found.shaped = True
        param = fields.get("param")
        if isinstance(param, str) and self.found.param is None:
            self.found.param = param[:200]
        provider = fields.get("llm_provider")
        if isinstance(provider, str) and self.found.provider is None:
            self.found.provider = provider[:80].lower()

    def _word(self, value: object, into: list[str]) -> None:
        value = value if isinstance(value, str) else read(value, "value")  # an enum member carries its text there
        if isinstance(value, str) and 0 < len(value) <= 80 and len(into) < MAX_TEXTS:
            into.append(_code(value))

    def _status_of(self, fields: Mapping[str, Any]) -> None:
        for key in _STATUS_KEYS:
            self._status(fields.get(key))

    def _status(self, value: object) -> None:
        if self.found.status is not None and not self._is_success():
            return
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            self.found.status = int(value)

    def _is_success(self) -> bool:
        return self.found.status is not None and self.found.status < 300

    def _is_failure(self) -> bool:
        return self.found.status is not None and self.found.status >= 400

    def _headers_of(self, fields: Mapping[str, Any]) -> None:
        for key in _HEADER_KEYS:
            self._headers(fields.get(key))

    def _headers(self, headers: object) -> None:
        if headers is None or self.found.retry_after is not None:
            return
        named = {str(key).lower(): value for key, value in _pairs(headers)}
        delay = seconds(_plain(named.get("retry-after-ms")))
        if delay is not None:
            self.found.retry_after = delay / 1_000
            return
        value = _plain(named.get("retry-after"))
        self.found.retry_after = seconds(value)
        if self.found.retry_after is None:
            self.found.retry_after = _until(value, _plain(named.get("date")))


def causes(error: BaseException) -> BaseException | None:
    """Return what a wrapper was raised from: its cause, else its context unless that was suppressed."""
    cause = read(error, "__cause__")
    if cause is None and not read(error, "__suppress_context__"):
        cause = read(error, "__context__")
    return cause if isinstance(cause, BaseException) else None


def _last_attempt(error: BaseException) -> object:
    """Return the last error of a group or a retry wrapper, or None when it is neither."""
    group = read(error, "exceptions")
    if is_a(group, (list, tuple)) and group:
        return group[-1]
    for name in _LAST_KEYS:
        last = read(error, name)
        if is_a(last, BaseException):
            return last
        outcome = read(last, "exception")  # tenacity keeps a future
        if callable(outcome) and "retry" in type(error).__name__.lower():
            try:
                last = outcome()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001
                continue
            if is_a(last, BaseException):
                return last
    errors = read(error, "errors")
    if is_a(errors, (list, tuple)) and errors and is_a(errors[-1], BaseException):
        return errors[-1]
    return None


def _is_retry(fields: Mapping[str, Any]) -> bool:
    return any("retr" in value.lower() for key in ("name", "reason", "type") if isinstance(value := fields.get(key), str))


def _is_conversation(fields: Mapping[str, Any]) -> bool:
    """A chat message is never an error, whatever it says, unless it carries an error field of its own."""
    return isinstance(fields.get("role"), str) and not any(fields.get(key) for key in ("error", "errorMessage"))


def _code(value: str) -> str:
    """Return a code in one spelling: no namespace, snake case or lower case."""
    return re.sub(r"[^a-z0-9_.]+", "_", value.rpartition("#")[2].strip().lower()).strip("_")


def _plain(value: object) -> object:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _until(then: object, now: object) -> float | None:
    """Return the seconds between two HTTP dates: the server's own Date is the clock, ours is not asked."""
    if not (isinstance(then, str) and isinstance(now, str)):
        return None
    try:
        return max(0.0, (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _empty(body: object) -> bool:
    return body is None or (is_a(body, (str, bytes, Mapping, list, tuple)) and not body)


def _mapping(node: object) -> dict[str, Any]:
    """Copy the fields of a mapping that may misbehave; only text keys, at most 200."""
    return {key: value for key, value in _pairs(node) if isinstance(key, str)}


def _pairs(node: object) -> list[tuple[Any, Any]]:
    items = read(node, "items")
    if not callable(items):
        return []
    try:
        pairs = []
        for key, value in items():
            pairs.append((key, value))
            if len(pairs) >= 200:
                break
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001
        return []
    return pairs


def _response_body(response: object) -> object:
    """Return the body of an HTTP response object: json() when it gives data, else its text."""
    method = read(response, "json")
    if callable(method):
        try:
            data = method()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001
            data = None
        close = read(data, "close")
        if is_a(data, (Mapping, list, str)):
            return data
        if callable(close) and type(data).__name__ == "coroutine":
            close()  # an async client: its body cannot be awaited here
    for name in ("text", "content"):
        value = read(response, name)
        if is_a(value, (str, bytes)):
            return value
    return None


def _parse(text: str, start: int) -> tuple[object, int]:
    """Parse the JSON, or the repr of a dict that SDKs put into messages, at `start`; return it and where it ends."""
    if start >= len(text) or len(text) > MAX_JSON:
        return None, 0
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = None, text.rfind("}") + 1
        part = text[start:end]
        if 0 < len(part) <= MAX_LITERAL and part.count("{") + part.count("[") + part.count("(") < MAX_BRACKETS:
            try:
                value = ast.literal_eval(part)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                value = None
    return (value, end) if isinstance(value, (dict, list)) else (None, 0)
