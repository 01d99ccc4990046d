"""Collect what an error says: status, codes, sentences, figures, delays.

Exceptions, bodies, stream events and texts are read. Nothing is imported from any SDK: objects are read by
the attribute names that openai, anthropic, google, botocore, litellm, httpx and others use. Only
error-bearing fields are read, never a request or the content of a message. The walk is bounded (depth 8, 300
nodes), safe against cycles and against attributes that raise.

Example: `APIError(body={"error": {"metadata": {"raw": '{"message": "too long"}'}}})` gives the text
"too long".
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from lithify.recovery import _reading
from lithify.recovery._reading import empty, is_a, mapping, read, seconds, sequence, truth

MAX_DEPTH: Final = 8
MAX_NODES: Final = 300
MAX_TEXTS: Final = 24
MAX_ENTRIES: Final = 10
"""Entries of one list that are read."""
MAX_EVENT_LINES: Final = 200
MAX_WORD: Final = 80
"""Characters of a structured code; a longer text in a code field is prose."""
MAX_NUMBER: Final = 10**15
STATUS_DIGITS: Final = 3

# fmt: off
_STATUS: Final = (
    "status_code", "statusCode", "HTTPStatusCode", "httpStatusCode", "http_status", "status", "code",
    "error_code",
)
_CODES: Final = (
    "code", "Code", "type", "__type", "status", "reason", "error_type", "errorType", "error_code",
    "errorCode", "errcode", "name",
)
_TEXTS: Final = (
    "message", "Message", "msg", "error_message", "errorMessage", "error_msg", "errmsg", "status_msg",
    "detail",
    "details", "faultstring", "raw", "error",
)
_NESTED: Final = (
    "error", "Error", "err", "exception", "cause", "body", "responseBody", "response_body", "response",
    "data",
    "metadata", "value", "detail", "details", "innererror", "inner_error", "base_resp", "fault", "message",
    "raw",
    "event", "ResponseMetadata", "errors",
)
_LAST: Final = ("last_attempt", "last_error", "lastError", "last_exception")
_HEADERS: Final = ("headers", "HTTPHeaders", "responseHeaders", "response_headers")
_DELAYS: Final = (
    "retry_after", "retryAfter", "retry_after_seconds", "retryDelay", "retry_delay", "retry_after_ms",
)
_STOPS: Final = ("stop_reason", "finish_reason", "finishReason", "stopReason", "native_finish_reason")
_USAGE: Final = ("usage", "usage_metadata", "usageMetadata")
_NUMBERS: Final = {
    "n_prompt_tokens": "actual", "prompt_tokens": "actual", "input_tokens": "actual",
    "n_ctx": "limit", "context_length": "limit", "max_context_length": "limit", "context_window": "limit",
}
# A mapping with one of these is an error, whatever else it is.
_ERROR_MARKS: Final = (
    "error", "Error", "errors", "err", "exception", "error_message", "errorMessage", "error_msg", "base_resp",
    "fault", "__type", "lastError", "last_error", "innererror",
)
_ERROR_STATES: Final = frozenset({"error", "failed", "response.failed", "response.error"})
# A mapping with one of these and no error mark is a reply of a model.
_REPLY_MARKS: Final = (
    "choices", "candidates", "output", "content", "completion", "stop_reason", "generations",
)
_ATTRIBUTES: Final = tuple(dict.fromkeys((
    *_STATUS, *_CODES, *_TEXTS, *_LAST, *_HEADERS, *_DELAYS, *_STOPS, *_USAGE, "body", "response", "errors",
    "choices", "candidates", "param", "event", "data", "llm_provider",
)))
# fmt: on


class Evidence(msgspec.Struct):
    """What was found. `texts`: outer first. `around`: what stood around a body inside a sentence.

    `typed`: the caller gave a failure status. `shaped`: it came from an error-bearing shape, so that its
    words are the provider's.
    """

    texts: list[str] = msgspec.field(default_factory=list)
    around: list[str] = msgspec.field(default_factory=list)
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
    typed: bool = False
    empty_body: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the HTTP status says that the call went well."""
        return self.status is not None and self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def failed(self) -> bool:
        """Whether the HTTP status says that it did not."""
        return self.status is not None and self.status >= HTTPStatus.BAD_REQUEST


def collect(error: object, *, status: object, body: object, headers: object) -> Evidence:
    """Read the caller's arguments; a failure status that the caller gives wins over any inside."""
    walk = _Walk()
    found = walk.found
    walk.status(status)
    walk.headers(headers)
    found.shaped = found.typed = found.failed
    if body is not None:
        found.shaped = not found.succeeded
        found.empty_body = empty(body)
        walk.visit(body, 0)
    walk.visit(error, 0)
    for text in found.texts:
        found.status = found.status or _reading.status_in(text)
        if found.retry_after is None:
            found.retry_after = _reading.delay_in(text)
    return found


def cause_of(error: BaseException) -> BaseException | None:
    """Return what a wrapper was raised from: its cause, else its context unless that was suppressed."""
    cause = read(error, "__cause__")
    if cause is None and not read(error, "__suppress_context__"):
        cause = read(error, "__context__")
    return cause if isinstance(cause, BaseException) else None


class _Walk:
    def __init__(self) -> None:
        self.found = Evidence()
        self._nodes = 0
        self._path: set[int] = set()

    def visit(self, node: object, depth: int) -> None:
        """Read one node of any type."""
        self._nodes += 1
        if node is None or depth > MAX_DEPTH or self._nodes > MAX_NODES or id(node) in self._path:
            return
        if is_a(node, str):
            self._text(str.__str__(node), depth)
        elif is_a(node, (bytes, bytearray)):
            self._text(bytes(node).decode("utf-8", "replace"), depth)  # type: ignore[call-overload]
        elif not is_a(node, (bool, int, float, complex, type)):
            self._path.add(id(node))
            self._container(node, depth)
            self._path.discard(id(node))

    def _container(self, node: object, depth: int) -> None:
        if isinstance(node, BaseException):
            self._exception(node, depth)
        elif is_a(node, Mapping):
            self._fields(mapping(node), depth)
        elif is_a(node, (list, tuple)):
            for entry in sequence(node, MAX_ENTRIES):
                self.visit(entry, depth + 1)
        elif not callable(node):
            self._object(node, depth)

    def _exception(self, error: BaseException, depth: int) -> None:
        last = _last_attempt(error)
        if last is not None:
            self.visit(last, depth + 1)
            return
        self.found.names.extend(cls.__name__ for cls in type(error).__mro__[:-1])
        before = len(self.found.texts)
        fields = _attributes(error)
        message = fields.pop("message", None)
        self._fields(fields, depth, raised=True)
        if len(self.found.texts) == before:  # the body said nothing, or there is none
            self._text(
                message if isinstance(message, str) and message else _reading.exception_text(error), depth
            )

    def _object(self, node: object, depth: int) -> None:
        fields = _attributes(node)
        if "status_code" in fields and "headers" in fields and empty(fields.get("body")):
            fields["body"] = _reading.response_body(node)
            self.found.empty_body = empty(fields["body"])
        self._fields(fields, depth)

    def _fields(self, fields: Mapping[str, Any], depth: int, *, raised: bool = False) -> None:
        for key in _STOPS:
            self._word(fields.get(key), self.found.stops)
        for key in _USAGE:
            if self.found.usage is None:
                self.found.usage = fields.get(key)
        if _is_message(fields):
            return
        for key in _STATUS:
            self.status(fields.get(key))
        marked = _is_error(fields)
        self.found.shaped = self.found.shaped or marked or self.found.failed
        for key in _HEADERS:
            self.headers(fields.get(key))
        well = self.found.succeeded and not self.found.shaped and not isinstance(fields.get("message"), str)
        last = next((value for key in _LAST if (value := fields.get(key)) is not None), None)
        if last is not None:
            self.visit(last, depth + 1)
        elif not (marked or raised) and (well or any(key in fields for key in _REPLY_MARKS)):
            self._reply(fields, depth)
        else:
            self._words(fields)
            for key in _TEXTS:
                if is_a(fields.get(key), (str, bytes)):
                    self.visit(fields[key], depth + 1)
            self._nested(fields, depth)

    def _nested(self, fields: Mapping[str, Any], depth: int) -> None:
        for key in _NESTED:
            value = fields.get(key)
            if key == "errors" and _is_retry(fields):
                value = sequence(value, MAX_NODES)[-1:]
            if not is_a(value, str):
                self.visit(value, depth + 1)
        for key, value in fields.items():
            if key.endswith("Exception") and is_a(value, Mapping):  # an event of a Bedrock stream
                self.found.codes.append(_reading.code(key))
                self.visit(value, depth + 1)

    def _reply(self, fields: Mapping[str, Any], depth: int) -> None:
        """Read a reply: why it stopped, and an error inside a choice; never its content."""
        for key in ("choices", "candidates"):
            for entry in sequence(fields.get(key), MAX_ENTRIES):
                inner = (
                    mapping(entry)
                    if is_a(entry, Mapping)
                    else {name: read(entry, name) for name in (*_STOPS, "error")}
                )
                for name in _STOPS:
                    self._word(inner.get(name), self.found.stops)
                if inner.get("error") is not None:
                    self.visit({"error": inner["error"]}, depth + 1)
        for key in ("response", "body"):
            value = fields.get(key)
            if is_a(value, (Mapping, str, bytes)) or read(value, "error") is not None:
                self.visit(value, depth + 1)

    def _text(self, text: str, depth: int) -> None:
        """Take a text apart: events, a body inside a sentence, or the sentence itself."""
        text = text.strip()
        if not text or len(self.found.texts) >= MAX_TEXTS:
            return
        if text.startswith(("data:", "event:")):
            self._events(text, depth)
            return
        start = 0 if text.startswith("[") else text.find("{")
        inner, end = _reading.parse(text, start)
        if inner is not None:
            before = self._size()
            self.visit(inner, depth + 1)
            if before != self._size():
                parts = [part for part in (text[:start].strip(), text[end:].strip()) if part]
                self.found.texts[before[0] : before[0]] = parts[:1] if start else []
                self.found.around.extend(parts)
                return
            if start == 0:
                return  # data without a word of error in it
        self.found.texts.append(text)

    def _events(self, text: str, depth: int) -> None:
        """Read server-sent events; the last one that is an error decides."""
        for line in reversed(text.splitlines()[-MAX_EVENT_LINES:]):
            if line.startswith("data:") and "error" in line:
                before = self._size()
                data = line[5:].strip()
                self.visit(_reading.parse(data, 0)[0], depth + 1)
                if before != self._size():
                    return

    def _size(self) -> tuple[int, int, int]:
        return (len(self.found.texts), len(self.found.codes), len(self.found.stops))

    def _words(self, fields: Mapping[str, Any]) -> None:
        found = self.found
        for key in _CODES:
            self._word(fields.get(key), found.codes)
        for key, figure in _NUMBERS.items():
            value = fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_NUMBER:
                found.numbers.setdefault(figure, value)
        for key in _DELAYS:
            delay = seconds(fields.get(key))
            if delay is not None and found.retry_after is None:
                found.retry_after = delay / 1_000 if key.endswith("ms") else delay
        name, param, provider = fields.get("exception"), fields.get("param"), fields.get("llm_provider")
        if isinstance(name, str):
            found.names.append(name[:MAX_WORD])
        if isinstance(param, str):
            found.param = found.param or param[:MAX_WORD]
        if isinstance(provider, str):
            found.provider = found.provider or provider[:MAX_WORD].lower()

    def _word(self, value: object, into: list[str]) -> None:
        word = (
            value if isinstance(value, str) else read(value, "value")
        )  # an enum member keeps its text there
        if isinstance(word, str) and 0 < len(word) <= MAX_WORD and len(into) < MAX_TEXTS:
            into.append(_reading.code(word))

    def status(self, value: object) -> None:
        """Take a status unless a failure is known already: a 200 around an error is only the envelope."""
        if self.found.failed:
            return
        if isinstance(value, str) and len(value) == STATUS_DIGITS and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:  # noqa: PLR2004
            self.found.status = (
                int(value)
                if self.found.status is None or value >= HTTPStatus.BAD_REQUEST
                else self.found.status
            )

    def headers(self, headers: object) -> None:
        """Take the delay that the server asks for."""
        if headers is None or self.found.retry_after is not None:
            return
        named = {str(key).lower(): _reading.plain(value) for key, value in _reading.pairs(headers)}
        delay = seconds(named.get("retry-after-ms"))
        if delay is not None:
            self.found.retry_after = delay / 1_000
        else:
            value = named.get("retry-after")
            delay = seconds(value)
            self.found.retry_after = delay if delay is not None else _reading.until(value, named.get("date"))


def _attributes(node: object) -> dict[str, Any]:
    """Return the attributes worth reading; a method of the same name is none."""
    found = {name: read(node, name) for name in _ATTRIBUTES}
    return {name: value for name, value in found.items() if value is not None and not callable(value)}


def _last_attempt(error: BaseException) -> BaseException | None:
    """Return the last error of a group or of a retry wrapper, or None when it is neither."""
    for name in ("exceptions", "errors"):
        entries = sequence(read(error, name), MAX_NODES)
        if entries and isinstance(entries[-1], BaseException):
            return entries[-1]
    for name in _LAST:
        last = read(error, name)
        outcome = read(last, "exception")
        if (
            not isinstance(last, BaseException)
            and callable(outcome)
            and "retry" in type(error).__name__.lower()
        ):
            last = _reading.attempt(outcome, None)  # tenacity keeps a future, which is done by now
        if isinstance(last, BaseException):
            return last
    return None


def _is_error(fields: Mapping[str, Any]) -> bool:
    states = (fields.get(key) for key in ("type", "object", "status", "event", "stopReason"))
    return (
        any(truth(fields.get(key)) for key in _ERROR_MARKS)
        or any(isinstance(state, str) and state in _ERROR_STATES for state in states)
        or any(key.endswith("Exception") for key in fields)
    )


def _is_message(fields: Mapping[str, Any]) -> bool:
    """Whether this is a chat message: no error, whatever it says, unless it has an error field."""
    return isinstance(fields.get("role"), str) and not any(
        truth(fields.get(key)) for key in ("error", "errorMessage")
    )


def _is_retry(fields: Mapping[str, Any]) -> bool:
    words = (fields.get(key) for key in ("name", "reason", "type"))
    return any(isinstance(word, str) and "retr" in word.lower() for word in words)
