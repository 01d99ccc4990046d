"""Error classes: what a failed model call means for a history that may be too long.

`classify_error` reads an exception, a status with a body, or a text, and says which of a few classes it is,
with the figures in it. It never raises and keeps no state. The order of decision (the first that holds):

1. a stop reason or a structured code that means that the window is full;
2. limits per minute, day or account; `Requested > Limit` is told apart, because there waiting cannot help;
3. errors that only use the same words: tool pairs, signatures, parameters, media, filters, authentication;
4. the reply limit is too high; the request has too many bytes;
5. an explicit sentence of a provider, with any status; an exception class that says overflow;
6. transient failures; then generic sentences, with status 400, 413, 422, 200 or none;
7. the status alone; an empty 400 or 413; a 400 without a reason where the caller's estimate says it may be.

Text that is no error is never classified: a bare string, a body without a failure and an exception that no
API raised must look like an error before a sentence in them counts. All sentences, codes and class names are
in patterns.toml. Cost: a bounded amount of text (8,000 characters) against about a hundred patterns.

>>> classify_error("prompt is too long: 207541 tokens > 200000 maximum").figures.limit
200000
"""

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from lithify.recovery import _evidence, _patterns, _usage
from lithify.recovery._evidence import Evidence
from lithify.recovery._patterns import Hit
from lithify.recovery._result import ErrorClass, Figures, Kind, derive_figures, reply_is_to_blame
from lithify.recovery._usage import count

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ErrorClass", "Figures", "Kind", "classify_error", "detect_silent_truncation"]

PROBABLE_SHARE: Final = 0.40
"""A 400 without a reason counts as a probable overflow from this share of the window on."""

MAX_BARE: Final = 4_000
"""A bare text longer than this is a conversation or a document, not an error message."""

MAX_SENTENCE: Final = 400
"""A bare text must come to the point within this: what stands before the sentence, or all of it."""

MAX_HEAD: Final = 60
"""Characters that may stand before a sentence with figures in a bare text."""

MAX_SHOWN: Final = 300
FULL_FIGURES: Final = 2
MAX_REASONLESS: Final = 200

_GENERIC_STATUSES: Final = frozenset({None, 200, 400, 413, 422})
_STATUS_KINDS: Final[dict[int, tuple[Kind, str | None]]] = {
    HTTPStatus.UNAUTHORIZED: (Kind.OTHER, "auth"),
    HTTPStatus.PAYMENT_REQUIRED: (Kind.QUOTA, None),
    HTTPStatus.FORBIDDEN: (Kind.OTHER, "auth"),
    HTTPStatus.NOT_FOUND: (Kind.OTHER, "not_found"),
    HTTPStatus.REQUEST_TIMEOUT: (Kind.OTHER, "timeout"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (Kind.REQUEST_BYTES, None),
    HTTPStatus.TOO_MANY_REQUESTS: (Kind.RATE_LIMIT, None),
    HTTPStatus.GATEWAY_TIMEOUT: (Kind.OTHER, "timeout"),
    524: (Kind.OTHER, "timeout"),  # Cloudflare: the origin took too long
}
_NO_BODY: Final = re.compile(r"\b(400|413) ?(?:status code)? ?\(no body\)")
_HISTORY_FIELD: Final = re.compile(r"\b(?:messages|input|instructions|contents|prompt|system)\b")

# Marks of an error before the sentence, of people talking about one, of a sentence that ends with the match.
_ERROR_HEAD: Final = re.compile(
    r"error|exception|failed|failure|rejected|\bhttp\b|\bstatus\b|\b4[0-9]{2}\b|\b5[0-9]{2}\b|invalid|unhandled|"
    r"unable to|throttl|错误|失败|异常|报错",
)
_PROSE: Final = re.compile(
    r"\b(?:i(?!\.)|i'm|i've|we|we're|we've|let's|lets|my|our|she|they|what|what's|why|how|about|mentions?|"
    r"mentioned|says?|said|saw|seen|got|getting|discuss\w*|explain\w*|debug\w*|investigat\w*|ticket|article|blog|remember|"
    r"documentation|tests?|fix(?:ed|es|ing)?|causing|causes|strange|mystery|handle[sd]?|handling|e\.g\.|"
    r"for example|such as|means?|refers?)\b|我|怎么|如何|为什么|什么|请问|吗",
)
_TALK: Final = re.compile(
    r"[?\uff1f]\s*$|怎么|如何|为什么|什么|请问|"
    r"\b(?:i(?!\.)|i'm|i've|we're|let's|my|what does|what should|how do|can you|could you|means?|refers? to|"
    r"happens)\b",
)
_CLOSED: Final = re.compile(
    r"^\s*(?:$|[.:;,!)\]}'\"(|\uff0c\u3002\uff1b\uff1a\uff01-])|^ (?:for|of|by|in|while|\(code)\b",
)
_MARKDOWN: Final = re.compile(r"^(?:#{1,6} |[-*] |```|[0-9]{1,2}\. )", re.MULTILINE)
_RATE_CLOSED: Final = re.compile(r"^ (?:error|reached|exceeded|hit|on)\b")
_OPENING: Final = " \"'([{<-:*"


def classify_error(
    error: object = None,
    *,
    status: int | None = None,
    body: object = None,
    headers: object = None,
    provider: str | None = None,
    window: int | None = None,
    estimate: int | None = None,
    accept_server_errors: bool = True,
) -> ErrorClass:
    """Say what an error means.

    error: an exception, a reply or stream event, a mapping, a text, or None. status, body (mapping, text or
    bytes) and headers: of the HTTP answer, where the caller has them apart. provider: its name, used for
    empty bodies only. window, estimate: tokens of the model's window and of the request as the caller counted
    it; with them a 400 that gives no reason can be read. accept_server_errors=False does not believe a 5xx
    that says overflow.

    Never raises. What cannot be read at all is `other` with reason "unreadable".
    """
    try:
        context = _Context(
            provider=provider.lower() if isinstance(provider, str) else None,
            window=count(window),
            estimate=count(estimate),
            accept_server_errors=accept_server_errors,
        )
        return _classify(error, context, status=status, body=body, headers=headers)
    except Exception:  # noqa: BLE001  the caller is handling an error already; a second one must not hide it
        return ErrorClass(kind=Kind.OTHER, reason="unreadable")


def detect_silent_truncation(
    sent_estimate: int | None,
    usage: object,
    window: int | None,
    *,
    stop_reason: str | None = None,
) -> ErrorClass | None:
    """Find an overflow that came as a success: the reported input against what was sent and what fits.

    sent_estimate: tokens of the request as counted before the call. usage: the provider's usage object or
    mapping, or the reported input tokens. Returns None when nothing is suspicious or the usage says nothing.
    A pair that is flagged must not be fed to the calibration. A server that leaves cached tokens out of its
    usage looks like one that cuts; such a provider should not be checked.
    """
    try:
        return _usage.silent(count(sent_estimate), usage, count(window), stop_reason)
    except Exception:  # noqa: BLE001  as in classify_error
        return None


class _Context(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows beside the error."""

    provider: str | None = None
    window: int | None = None
    estimate: int | None = None
    accept_server_errors: bool = True

    @property
    def full(self) -> bool | None:
        """Whether the request fills so much of the window that an overflow is likely; None when not known."""
        if not self.window or self.estimate is None:
            return None
        return self.estimate > PROBABLE_SHARE * self.window


def _classify(
    error: object, context: _Context, *, status: object, body: object, headers: object
) -> ErrorClass:
    """Classify the error; a wrapper that says nothing of its own gives way to what it was raised from."""
    first: ErrorClass | None = None
    seen: set[int] = set()
    for _ in range(_evidence.MAX_DEPTH):
        found = _evidence.collect(error, status=status, body=body, headers=headers)
        result = _Verdict(found, context).decide()
        first = first or result
        speaks = (
            found.shaped
            or found.status is not None
            or result.kind is not Kind.OTHER
            or result.sub is not None
        )
        if speaks or body is not None or not isinstance(error, BaseException):
            return result
        seen.add(id(error))
        error = _evidence.cause_of(error)
        if error is None or id(error) in seen:
            break
    return first or ErrorClass(kind=Kind.OTHER)


class _Verdict:
    """One decision over one collection of evidence; the steps are in the order of the module text."""

    def __init__(self, found: Evidence, context: _Context) -> None:
        self.found = found
        self.context = context
        self.text = "\n".join(filter(None, map(_patterns.normalize, found.texts)))
        self.bare = not found.shaped
        self.vetoed = False

    def decide(self) -> ErrorClass:
        if self.quoted:
            return self.make(Kind.OTHER)
        steps: tuple[Callable[[], ErrorClass | None], ...] = (
            self.by_overflow_code,
            lambda: self.by_sentence("rate"),
            lambda: self.by_code("veto"),
            lambda: self.by_sentence("veto"),
            lambda: self.by_sentence("output"),
            lambda: self.by_sentence("bytes"),
            lambda: self.by_sentence("explicit"),
            self.by_class,
            lambda: self.by_code("soft"),
            lambda: self.by_sentence("soft"),
            lambda: self.by_sentence("generic"),
            self.by_status,
            self.by_usage,
        )
        return next((result for step in steps if (result := step()) is not None), self.make(Kind.OTHER))

    # ---- steps ----

    def by_overflow_code(self) -> ErrorClass | None:
        for words, stop in _patterns.with_code("stop", self.found.stops):
            return self.make(Kind(words.kind), sub=words.sub, reason=f"stop_reason:{stop}")
        if self.believed:
            for _, code in _patterns.with_code("overflow", self.found.codes):
                return self.make(
                    Kind.OVERFLOW, hit=_patterns.search("explicit", self.text), reason=f"code:{code}"
                )
        return None

    def by_code(self, stage: str) -> ErrorClass | None:
        for words, code in _patterns.with_code(stage, self.found.codes):
            kind = Kind(words.kind)
            if kind is Kind.REQUEST_BYTES and _patterns.search("explicit", self.text):
                continue  # the code is about size, the sentence about tokens: the sentence knows more
            hit = _patterns.search("veto", self.text) if words.sub == "field_length" else None
            return self.make(self.field_kind(kind, words.sub), sub=words.sub, hit=hit, reason=f"code:{code}")
        return None

    def by_sentence(self, stage: str) -> ErrorClass | None:
        if stage == "explicit" and not self.believed:
            return None
        if stage == "generic" and self.found.status not in _GENERIC_STATUSES:
            return None
        hit = self.search(stage)
        if hit is None:
            return None
        kind = self.rate_kind(hit) if stage == "rate" else self.field_kind(Kind(hit.row.kind), hit.row.sub)
        return self.make(kind, sub=hit.row.sub, hit=hit)

    def by_class(self) -> ErrorClass | None:
        for entry, name in _patterns.with_class(self.found.names):
            kind = Kind(entry.kind)
            if kind is Kind.OVERFLOW and (self.vetoed or not self.believed):
                continue
            hit = _patterns.search("explicit", self.text) if kind is Kind.OVERFLOW else None
            return self.make(kind, sub=entry.sub, hit=hit, reason=f"class:{name}")
        return None

    def by_status(self) -> ErrorClass | None:
        status = self.found.status
        if self.bare and not self.found.names and (_PROSE.search(self.text) or _TALK.search(self.text)):
            return None  # people talking about a status
        no_body = _NO_BODY.search(self.text)
        if no_body or (self.found.empty_body and not self.text and status in {400, 413}):
            return self.empty_body(status or int(no_body[1] if no_body else 0))
        if status == HTTPStatus.BAD_REQUEST and self.reasonless and self.context.full:
            return self.make(Kind.OVERFLOW, sub="probable", reason="estimate")
        if status is None or not self.found.failed:
            return None
        server = "server" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else None
        kind, sub = _STATUS_KINDS.get(status, (Kind.OTHER, server))
        return self.make(kind, sub=sub, reason=f"status:{status}")

    def by_usage(self) -> ErrorClass | None:
        if self.found.usage is None or self.found.shaped:
            return None
        stop = self.found.stops[0] if self.found.stops else None
        return _usage.silent(self.context.estimate, self.found.usage, self.context.window, stop)

    # ---- what the steps ask ----

    @property
    def quoted(self) -> bool:
        """Whether somebody talks about an error body: prose around it, no status and no exception with it."""
        around = " ".join(self.found.around)[:MAX_BARE].lower()
        return not (self.found.typed or self.found.names) and bool(
            _PROSE.search(around) or _TALK.search(around)
        )

    @property
    def believed(self) -> bool:
        """Whether the status leaves room for an overflow that is said explicitly."""
        status = self.found.status
        return (
            status is None or status < HTTPStatus.INTERNAL_SERVER_ERROR or self.context.accept_server_errors
        )

    @property
    def reasonless(self) -> bool:
        """Whether the text gives no reason: only words such as "bad request" and a status."""
        return len(self.text) <= MAX_REASONLESS and all(
            word in _patterns.table().reasonless for word in re.findall(r"\w+", self.text)
        )

    def empty_body(self, status: int) -> ErrorClass:
        """Read an answer without a body: Cerebras means overflow by it, others may mean anything.

        A caller's estimate decides where there is one; else a provider that is known to be another one is not
        believed.
        """
        provider = self.context.provider or self.found.provider
        likely = self.context.full
        if likely is None:
            likely = provider is None or "cerebras" in provider
        if likely:
            return self.make(Kind.OVERFLOW, sub="probable", reason="empty_body")
        large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return self.make(Kind.REQUEST_BYTES if large else Kind.OTHER, reason="empty_body")

    def rate_kind(self, hit: Hit) -> Kind:
        """Tell a request that can never pass from one that may pass later."""
        kind = Kind(hit.row.kind)
        throttled = any(code.startswith("throttling") for code in self.found.codes)
        if kind is Kind.QUOTA and hit.row.sub is None and (throttled or self.found.retry_after is not None):
            kind = Kind.RATE_LIMIT  # Gemini and DashScope word a limit per minute as a quota
        limit, actual = hit.figures.get("limit"), hit.figures.get("actual", self.context.estimate)
        if kind is Kind.QUOTA or limit is None or actual is None:
            return kind
        return Kind.REQUEST_OVER_RATE_LIMIT if actual > limit else Kind.RATE_LIMIT

    def field_kind(self, kind: Kind, sub: str | None) -> Kind:
        """Call a text field over its maximum length a size problem when the field is the history itself."""
        if sub == "field_length" and _HISTORY_FIELD.search(self.found.param or self.text[:MAX_SHOWN]):
            return Kind.REQUEST_BYTES
        return kind

    def search(self, stage: str) -> Hit | None:
        """Return the first row of a stage that holds here; in a bare text it must stand in an error.

        A veto holds against an overflow even where it is not enough to be a verdict.
        """
        says_overflow = stage in {"explicit", "generic"}
        if says_overflow and self.vetoed:
            return None
        for hit in _patterns.hits(stage, self.text):
            if not self.bare or self.looks_like_error(hit):
                return hit
            self.vetoed = self.vetoed or not says_overflow
        return None

    def looks_like_error(self, hit: Hit) -> bool:
        """Tell an error message from people talking about one."""
        head, sentence, tail = hit.text[: hit.start], hit.text[hit.start :], hit.text[hit.end :]
        if len(hit.text) > MAX_BARE or any(map(_MARKDOWN.search, self.found.texts)):
            return False
        if _PROSE.search(head) or _TALK.search(sentence):
            return False
        if self.found.names or (len(head) <= MAX_SENTENCE and _ERROR_HEAD.search(head)):
            return True
        if len(hit.figures) >= FULL_FIGURES and len(head) <= MAX_HEAD:
            return True
        closed = _CLOSED.match(tail) or (hit.row.stage == "rate" and _RATE_CLOSED.match(tail))
        short = len(hit.text) <= MAX_SENTENCE and not head.strip(_OPENING)
        return bool(closed) and short and not _PROSE.search(tail)

    def make(
        self,
        kind: Kind,
        *,
        sub: str | None = None,
        hit: Hit | None = None,
        reason: str | None = None,
    ) -> ErrorClass:
        figures = derive_figures(kind, hit, self.found.numbers)
        if kind is Kind.OVERFLOW and sub is None and reply_is_to_blame(figures):
            sub = "output_first"
        text = self.found.texts[-1] if self.found.texts else ""
        return ErrorClass(
            kind=kind,
            sub=sub,
            figures=figures,
            retry_after=self.found.retry_after,
            reason=reason or (hit.row.id if hit is not None else "none"),
            status=self.found.status,
            message=" ".join(text[: 4 * MAX_SHOWN].split())[:MAX_SHOWN],
        )
