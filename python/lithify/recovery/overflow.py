"""Error classes: what a failed model call means for a history that may be too long.

`classify_error` reads an exception, a status with a body, or a text, and says which of a few classes it is, with the
figures in it. It never raises and does no I/O of its own. The order of decision (first that holds):

1. a stop reason or a structured code that means "context overflow";
2. limits per minute, day or account, with `Requested > Limit` told apart: waiting cannot help there, shrinking can;
3. errors that only use the same words (tool pairs, signatures, parameters, media, filters, authentication);
4. the reply limit is too high; the request has too many bytes;
5. an explicit sentence of a provider, with any status; an exception class that says overflow;
6. transient failures; then generic sentences, with status 400, 413, 422, 200 or none;
7. the status alone; an empty 400 or 413; a 400 without a reason when the caller's estimate says it may be.

Text that is no error is never classified: a bare string, a message without a status and an exception that no API
raised must look like an error before a sentence in them counts. The sentences are rows of patterns.toml.

>>> classify_error("prompt is too long: 207541 tokens > 200000 maximum").figures.limit
200000
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from lithify.recovery import _evidence, _patterns
from lithify.recovery._evidence import Evidence
from lithify.recovery._patterns import Hit, Unit

MIN_LIMIT: Final = 1_024
MAX_LIMIT: Final = 10_000_000
"""A window outside these bounds is a misread number (an id, a year, a price), not a window."""

PROBABLE_SHARE: Final = 0.40
"""A 400 without a reason counts as a probable overflow from this share of the window on."""

TRUNCATED_SHARE: Final = 0.50
"""A reported prompt below this share of the estimate was probably cut by the server: no estimator is off by half."""

TRUNCATED_SHARE_OVER: Final = 0.85
"""The same where the estimate is over the window and the report is not: there the server had a reason to cut."""

FILLED_SHARE: Final = 0.99
"""A reply that stopped for length with no output at all, and a prompt that fills this share: no room was left."""


class Kind(StrEnum):
    """What the error asks for.

    overflow: fewer input tokens. output_cap: a lower reply limit. request_over_rate_limit: a smaller request, waiting
    cannot help. rate_limit: wait. quota: money or a plan. request_bytes: fewer bytes, mostly media. other: none of it.
    """

    OVERFLOW = "overflow"
    OUTPUT_CAP = "output_cap"
    REQUEST_OVER_RATE_LIMIT = "request_over_rate_limit"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    REQUEST_BYTES = "request_bytes"
    OTHER = "other"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers in an error; None where it gives none. All are in `unit` unless said otherwise.

    limit: the window (overflow), or the rate or size limit (other kinds). actual: the input that was sent, in
    `actual_unit`. output: what was reserved for the reply. total: input and output, where only the sum is given.
    available: what the reply may still use. overage: how much too much. at_least: `actual` is a lower bound that the
    server derived, not a measurement. approximate: the server says "about".
    """

    limit: int | None = None
    actual: int | None = None
    output: int | None = None
    total: int | None = None
    available: int | None = None
    overage: int | None = None
    unit: Unit = "tokens"
    actual_unit: Unit = "tokens"
    at_least: bool = False
    approximate: bool = False

    @property
    def measured(self) -> bool:
        """Whether `actual` is a token count that a calibration may learn from."""
        return (
            self.actual is not None and self.actual_unit == "tokens" and not self.at_least and not self.approximate
        )


class ErrorClass(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `classify_error`.

    sub: more exactly. For overflow: output_first (the input fits, lowering the reply limit may do), probable (guessed
    from an estimate or an empty body), in_band (a successful reply said so), silent_overflow and silent_truncation.
    For other: auth, timeout, connection, server, cancelled, content_filter, tool_pairs, signature, parameter, media,
    memory, template, cache, field_length, window_too_small, not_found. For quota: credit, long_context.
    reason: the row of patterns.toml, or code:, class:, status:, stop_reason:, estimate, empty_body, usage, none.
    retry_after: seconds. message: the provider's own words, cut to 300 characters, to be shown.
    """

    kind: Kind
    sub: str | None = None
    figures: Figures = Figures()
    retry_after: float | None = None
    reason: str = "none"
    status: int | None = None
    message: str = ""

    @property
    def is_overflow(self) -> bool:
        """Whether the input must become smaller (or, with sub output_first, the reply limit)."""
        return self.kind is Kind.OVERFLOW

    @property
    def smaller_input_helps(self) -> bool:
        """Whether sending less can succeed where sending the same cannot."""
        return self.kind in {Kind.OVERFLOW, Kind.REQUEST_OVER_RATE_LIMIT, Kind.REQUEST_BYTES}

    @property
    def lower_output_first(self) -> bool:
        """Whether lowering the reply limit should be tried before the history is touched."""
        return self.kind is Kind.OUTPUT_CAP or self.sub == "output_first"

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind is Kind.RATE_LIMIT or (
            self.kind is Kind.OTHER and self.sub in {"timeout", "connection", "server"}
        )

    @property
    def token_limit(self) -> int | None:
        """The window that the error discloses, in tokens, or None; a rate limit or a character limit is none."""
        return self.figures.limit if self.is_overflow and self.figures.unit == "tokens" else None


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

    error: an exception, a reply or event, a mapping, a text, or None. status, body (mapping, text or bytes), headers:
    of the HTTP answer, where the caller has them apart. provider: its name, used for empty bodies only. window,
    estimate: tokens of the model's window and of the request as the caller counted it; with them a 400 that gives no
    reason can be read. accept_server_errors=False does not believe an explicit sentence in a 5xx.

    Never raises. What cannot be read is `other` with reason "unreadable".
    """
    try:
        return _classify(
            error,
            status=status,
            body=body,
            headers=headers,
            context=_Context(
                provider=provider.lower() if isinstance(provider, str) else None,
                window=_count(window),
                estimate=_count(estimate),
                accept_server_errors=accept_server_errors,
            ),
        )
    except Exception:  # noqa: BLE001  the caller is handling an error already; a second one must not hide it
        return ErrorClass(kind=Kind.OTHER, reason="unreadable")


def detect_silent_truncation(
    sent_estimate: int | None, usage: object, window: int | None, *, stop_reason: str | None = None
) -> ErrorClass | None:
    """Find an overflow that came as a success: the reported input against what was sent and what fits.

    sent_estimate: tokens of the request as counted before the call. usage: the provider's usage object or mapping, or
    the reported input tokens. Returns None when nothing is suspicious or the usage says nothing. A pair that is
    flagged must not be fed to the calibration.
    """
    try:
        return _silent(_count(sent_estimate), usage, _count(window), stop_reason)
    except Exception:  # noqa: BLE001  as in classify_error
        return None


class _Context(msgspec.Struct, frozen=True, kw_only=True):
    provider: str | None = None
    window: int | None = None
    estimate: int | None = None
    accept_server_errors: bool = True

    def fills(self, share: float) -> bool:
        return self.window is not None and self.estimate is not None and self.estimate > share * self.window

    @property
    def known(self) -> bool:
        return self.window is not None and self.estimate is not None


# Codes and classes, lower case with underscores. A code is exact; a class name may be one of our own or a framework's.
_OVERFLOW_CODES: Final = frozenset({
    "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded", "exceed_context_size_error",
    "context_exceeded", "context_overflow", "context_limit_exceeded", "max_context_length_exceeded", "prompt_too_long",
    "input_too_long", "model_max_prompt_tokens_exceeded", "content_length_exceeds_threshold", "tokens_limit_reached",
    "contextoverflowerror", "contextwindowexceedederror",
})  # fmt: skip
_OVERFLOW_CLASS: Final = re.compile(
    r"^(?:LLM)?(?:Context(?:Window|Length|Size|Limit)?(?:Exceed\w*|Overflow\w*|TooLong\w*)|OutOfContext\w*|PromptTooLong\w*)$",
)
_CODE_CLASSES: Final[tuple[tuple[frozenset[str], Kind, str | None], ...]] = (
    (
        frozenset({
            "insufficient_quota", "billing_error", "billing_hard_limit_reached", "exceeded_current_quota_error",
            "insufficient_credits", "insufficient_balance", "payment_required", "servicequotaexceededexception",
        }), Kind.QUOTA, None,
    ),
    (
        frozenset({
            "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "rate_limited", "too_many_requests",
            "throttlingexception", "throttling", "throttling.ratequota", "throttling.allocationquota",
            "toomanyrequestsexception", "resource_exhausted", "request_limit_exceeded", "ratelimiterror",
        }), Kind.RATE_LIMIT, None,
    ),
    (frozenset({"request_too_large", "payload_too_large", "request_entity_too_large"}), Kind.REQUEST_BYTES, None),
    (
        frozenset({
            "invalid_api_key", "authentication_error", "permission_error", "permission_denied", "unauthorized",
            "unauthenticated", "accessdeniedexception", "expiredtokenexception", "unrecognizedclientexception",
        }), Kind.OTHER, "auth",
    ),
    (
        frozenset({"content_filter", "content_policy_violation", "contentpolicyviolationerror", "responsibleaipolicyviolation"}),
        Kind.OTHER, "content_filter",
    ),
    (frozenset({"string_above_max_length"}), Kind.OTHER, "field_length"),
    (frozenset({"model_not_found", "not_found_error", "resourcenotfoundexception"}), Kind.OTHER, "not_found"),
)  # fmt: skip
_SOFT_CODES: Final = {
    "overloaded_error": "server", "server_error": "server", "internal_error": "server", "api_error": "server",
    "internalserverexception": "server", "serviceunavailableexception": "server", "engine_overloaded_error": "server",
    "modelnotreadyexception": "server", "internal": "server", "unavailable": "server",
    "modeltimeoutexception": "timeout", "deadline_exceeded": "timeout", "timeout": "timeout",
}  # fmt: skip
_SOFT_CLASS: Final = (
    (re.compile(r"Cancel|KeyboardInterrupt|GeneratorExit|SystemExit"), "cancelled"),
    (re.compile(r"Time(?:d)?[oO]ut"), "timeout"),
    (re.compile(r"^(?:API|Remote|Incomplete|Chunked)?\w{0,12}(?:Connection|Connect|Protocol|Network)\w{0,20}Error|ReadError"), "connection"),
)  # fmt: skip
_GENERIC_STATUSES: Final = frozenset({None, 200, 400, 413, 422})
_STATUS_KINDS: Final[dict[int, tuple[Kind, str | None]]] = {
    401: (Kind.OTHER, "auth"), 402: (Kind.QUOTA, None), 403: (Kind.OTHER, "auth"), 404: (Kind.OTHER, "not_found"),
    408: (Kind.OTHER, "timeout"), 413: (Kind.REQUEST_BYTES, None), 429: (Kind.RATE_LIMIT, None),
    504: (Kind.OTHER, "timeout"), 524: (Kind.OTHER, "timeout"),
}  # fmt: skip
_REASONLESS: Final = frozenset(
    "error errors bad request invalid argument http status code failed with provider returned google api the an a was "
    "is no body upstream unknown client exception call response from received message badrequesterror 400 none null "
    "invalid_request_error invalid_argument apierror apistatuserror openai vertex".split()
)
_NO_BODY: Final = re.compile(r"\b(400|413) ?(?:status code)? ?\(no body\)")

# A bare text must look like an error. These are the marks of one, and of people talking about one.
_ERROR_HEAD: Final = re.compile(
    r"error|exception|failed|failure|rejected|\bhttp\b|\bstatus\b|\b4[0-9]{2}\b|\b5[0-9]{2}\b|invalid|unhandled|unable to|throttl|错误|失败|异常|报错",
)
_PROSE: Final = re.compile(
    r"\b(?:i|i'm|i've|we|we're|we've|let's|lets|my|our|she|they|what|what's|why|how|when|whenever|about|mentions?|"
    r"mentioned|says?|said|saw|seen|got|getting|discuss\w*|explain\w*|debug\w*|investigat\w*|ticket|article|blog|"
    r"documentation|tests?|remember|fix(?:ed|es|ing)?|causing|causes|strange|mystery|handle[sd]?|handling|"
    r"e\.g\.|for example|such as|means?|refers?)\b",
)
_TALK_AFTER: Final = re.compile(
    r"\?\s*$|\b(?:i|i'm|i've|we're|let's|my|what does|what should|how do|can you|could you|means?|refers? to|happens)\b",
)
_CLOSED: Final = re.compile(r"^[\s]*(?:$|[.:;,!)\]}'\"(|，。；：！-])|^ (?:for|of|by|in|while|\(code)\b")
MAX_BARE: Final = 4_000
"""A bare text longer than this is a conversation or a document, not an error message."""


def _classify(error: object, *, status: object, body: object, headers: object, context: _Context) -> ErrorClass:
    """Classify the error; a wrapper that says nothing of its own is replaced by what it was raised from."""
    first: ErrorClass | None = None
    seen: set[int] = set()
    for _ in range(_evidence.MAX_DEPTH):
        collector = _evidence.Collector()
        collector.top(error, status=status, body=body, headers=headers)
        result = _decide(collector.found, context)
        first = first or result
        if not isinstance(error, BaseException) or body is not None or _speaks(collector.found, result):
            return result
        seen.add(id(error))
        error = _evidence.causes(error)
        if error is None or id(error) in seen:
            break
    return first or ErrorClass(kind=Kind.OTHER)


def _speaks(found: Evidence, result: ErrorClass) -> bool:
    """Whether an exception decides by itself: an API raised it, or it has a verdict of its own."""
    return found.shaped or found.status is not None or result.kind is not Kind.OTHER or result.sub is not None


def _decide(found: Evidence, context: _Context) -> ErrorClass:
    texts = [normal for text in found.texts if (normal := _patterns.normalize(text))]
    text = "\n".join(texts)
    bare = not found.shaped
    verdict = _Verdict(found, context, text, bare=bare)
    return verdict.decide()


class _Verdict:
    """One decision; the steps are in the order of the module text."""

    def __init__(self, found: Evidence, context: _Context, text: str, *, bare: bool) -> None:
        self.found = found
        self.context = context
        self.text = text
        self.bare = bare

    def decide(self) -> ErrorClass:
        for step in (
            self.by_stop_reason, self.by_overflow_code, self.by_rate, self.by_code, self.by_veto, self.by_output,
            self.by_explicit, self.by_class, self.by_soft, self.by_generic, self.by_status, self.by_usage,
        ):  # fmt: skip
            result = step()
            if result is not None:
                return result
        return self.make(Kind.OTHER, reason="none")

    # ---- steps ----

    def by_stop_reason(self) -> ErrorClass | None:
        for stop in self.found.stops:
            if stop in _OVERFLOW_CODES or stop in {"context_length", "context_limit", "max_context_length"}:
                return self.make(Kind.OVERFLOW, sub="in_band", reason=f"stop_reason:{stop}")
        return None

    def by_overflow_code(self) -> ErrorClass | None:
        code = next((code for code in self.found.codes if code.rpartition(".")[2] in _OVERFLOW_CODES), None)
        if code is None or not self.allowed():
            return None
        return self.make(Kind.OVERFLOW, hit=self.figures_hit(), reason=f"code:{code}")

    def by_rate(self) -> ErrorClass | None:
        hit = self.search("rate")
        if hit is None:
            return None
        kind = Kind(hit.row.kind)
        limit, actual = hit.figures.get("limit"), hit.figures.get("actual") or self.context.estimate
        if kind is Kind.QUOTA and self.found.retry_after is not None and hit.row.id == "quota-account":
            kind = Kind.RATE_LIMIT  # Gemini words its limit per minute as a quota and adds a delay
        if kind in {Kind.RATE_LIMIT, Kind.REQUEST_OVER_RATE_LIMIT} and limit is not None and actual is not None:
            kind = Kind.REQUEST_OVER_RATE_LIMIT if actual > limit else Kind.RATE_LIMIT
        return self.make(kind, sub=hit.row.sub, hit=hit)

    def by_code(self) -> ErrorClass | None:
        for codes, kind, sub in _CODE_CLASSES:
            code = next((code for code in self.found.codes if code in codes), None)
            if code is None:
                continue
            if kind is Kind.REQUEST_BYTES and self.search("explicit") is not None:
                continue
            hit = self.search("veto") if sub == "field_length" else None
            return self.make(self.field_kind(kind, sub), sub=sub, hit=hit, reason=f"code:{code}")
        return None

    def by_veto(self) -> ErrorClass | None:
        hit = self.search("veto")
        if hit is None:
            return None
        return self.make(self.field_kind(Kind(hit.row.kind), hit.row.sub), sub=hit.row.sub, hit=hit)

    def by_output(self) -> ErrorClass | None:
        hit = self.search("output") or self.search("bytes")
        return None if hit is None else self.make(Kind(hit.row.kind), sub=hit.row.sub, hit=hit)

    def by_explicit(self) -> ErrorClass | None:
        hit = self.search("explicit") if self.allowed() else None
        return None if hit is None else self.make(Kind.OVERFLOW, hit=hit)

    def by_class(self) -> ErrorClass | None:
        name = next((name for name in self.found.names if _OVERFLOW_CLASS.match(name)), None)
        if name is None or not self.allowed():
            return None
        return self.make(Kind.OVERFLOW, hit=self.figures_hit(), reason=f"class:{name}")

    def by_soft(self) -> ErrorClass | None:
        for pattern, sub in _SOFT_CLASS:
            name = next((name for name in self.found.names if pattern.search(name)), None)
            if name is not None:
                return self.make(Kind.OTHER, sub=sub, reason=f"class:{name}")
        code = next((code for code in self.found.codes if code in _SOFT_CODES), None)
        if code is not None:
            return self.make(Kind.OTHER, sub=_SOFT_CODES[code], reason=f"code:{code}")
        hit = self.search("soft")
        return None if hit is None else self.make(Kind.OTHER, sub=hit.row.sub, hit=hit)

    def by_generic(self) -> ErrorClass | None:
        hit = self.search("generic") if self.found.status in _GENERIC_STATUSES else None
        return None if hit is None else self.make(Kind.OVERFLOW, hit=hit)

    def by_status(self) -> ErrorClass | None:
        status = self.found.status
        no_body = _NO_BODY.search(self.text)
        if (self.found.empty_body and not self.text and status in {400, 413}) or no_body:
            return self.empty_body(status or int(no_body[1] if no_body else 400))
        if status == 400 and self.reasonless() and self.context.fills(PROBABLE_SHARE):
            return self.make(Kind.OVERFLOW, sub="probable", reason="estimate")
        if status is None or status < 400:
            return None
        kind, sub = _STATUS_KINDS.get(status, (Kind.OTHER, "server" if status >= 500 else None))
        return self.make(kind, sub=sub, reason=f"status:{status}")

    def by_usage(self) -> ErrorClass | None:
        if self.found.usage is None or self.bare is False:
            return None
        stop = self.found.stops[0] if self.found.stops else None
        return _silent(self.context.estimate, self.found.usage, self.context.window, stop)

    # ---- helpers ----

    def allowed(self) -> bool:
        """Whether a typed status leaves room for an overflow at all."""
        status = self.found.status
        return status is None or status < 500 or self.context.accept_server_errors

    def empty_body(self, status: int) -> ErrorClass:
        """Read an answer without a body: Cerebras means overflow by it; others may mean anything.

        A caller whose estimate is small knows better; a provider that is known to be another one is believed only
        with an estimate that agrees.
        """
        provider = self.context.provider or self.found.provider
        cerebras = provider is None or "cerebras" in provider
        likely = self.context.fills(PROBABLE_SHARE) if self.context.known else cerebras
        if likely:
            return self.make(Kind.OVERFLOW, sub="probable", reason="empty_body")
        kind = Kind.REQUEST_BYTES if status == 413 else Kind.OTHER
        return self.make(kind, reason="empty_body")

    def reasonless(self) -> bool:
        """Whether the text gives no reason: only words such as "bad request" and a status."""
        return len(self.text) <= 200 and all(
            word in _REASONLESS for word in re.findall(r"[\w]+", self.text)
        )

    def field_kind(self, kind: Kind, sub: str | None) -> Kind:
        """A text field over its maximum length is a size problem when the field is the history itself."""
        place = self.found.param or self.text[:200]
        if sub == "field_length" and re.search(r"\b(?:messages|input|instructions|contents|prompt|system)\b", place):
            return Kind.REQUEST_BYTES
        return kind

    def figures_hit(self) -> Hit | None:
        """Return an explicit sentence beside a code, for its figures only."""
        return _patterns.search("explicit", self.text)

    def search(self, stage: str) -> Hit | None:
        """Return the first row of a stage that holds here; in a bare text it must stand in an error."""
        hit = _patterns.search(stage, self.text)
        if hit is None:
            return None
        return hit if not self.bare or self.looks_like_error(hit) else None

    def looks_like_error(self, hit: Hit) -> bool:
        """Tell an error message from people talking about one; see "Text that is no error" above."""
        around = " ".join(self.found.prose).lower()
        if len(self.text) > MAX_BARE or "```" in around:
            return False
        head, tail = hit.text[: hit.start], hit.text[hit.end :]
        spoken = head if not self.found.prose else f"{head} {around}"
        if _PROSE.search(spoken) or _TALK_AFTER.search(tail):
            return False
        named = any(not name.startswith(("Exception", "BaseException")) for name in self.found.names)
        if named or _ERROR_HEAD.search(head):
            return True
        if len(hit.figures) >= 2 and len(head) <= 60:
            return True
        return not head.strip(" \"'([{<-:*") and len(hit.text) <= 400 and bool(_CLOSED.match(tail))

    def make(
        self, kind: Kind, *, sub: str | None = None, hit: Hit | None = None, reason: str | None = None
    ) -> ErrorClass:
        figures = _figures(kind, hit, self.found.numbers)
        if kind is Kind.OVERFLOW and sub is None and _reply_is_to_blame(figures):
            sub = "output_first"
        return ErrorClass(
            kind=kind,
            sub=sub,
            figures=figures,
            retry_after=self.found.retry_after,
            reason=reason or (hit.row.id if hit is not None else "none"),
            status=self.found.status,
            message=self.shown(),
        )

    def shown(self) -> str:
        text = self.found.texts[-1] if self.found.texts else ""
        return " ".join(text[:1_200].split())[:300]


def _figures(kind: Kind, hit: Hit | None, numbers: Mapping[str, int]) -> Figures:
    """Put the captured numbers together, leave out what cannot be, and derive what follows."""
    got: dict[str, int] = dict(hit.figures) if hit is not None else {}
    unit: Unit = hit.row.unit if hit is not None else "tokens"
    actual_unit: Unit = (hit.row.actual_unit or unit) if hit is not None else unit
    if kind is Kind.OVERFLOW and unit == "tokens":
        got |= numbers
        if not MIN_LIMIT <= got.get("limit", MIN_LIMIT) <= MAX_LIMIT:
            del got["limit"]
    sentence = hit.text[hit.start : hit.end] if hit is not None else ""
    at_least = "at least" in sentence
    limit, output, total = got.get("limit"), got.get("output"), got.get("total")
    actual = got.get("actual")
    if actual is not None:
        actual += got.get("extra", 0)
    elif total is not None and output is not None:
        actual = max(0, total - output)
    return Figures(
        limit=limit,
        actual=actual,
        output=output,
        total=total,
        available=_available(kind, got, actual, at_least=at_least),
        overage=_overage(got, actual, same_unit=actual_unit == unit),
        unit=unit,
        actual_unit=actual_unit,
        at_least=at_least,
        approximate="about" in sentence or "approximately" in sentence or "estimated" in sentence,
    )


def _available(kind: Kind, got: Mapping[str, int], actual: int | None, *, at_least: bool) -> int | None:
    """Return what the reply may use: as said, or limit - input where the input was measured."""
    if "available" in got:
        return got["available"]
    limit = got.get("limit")
    if kind is Kind.OVERFLOW and "output" in got and limit is not None and actual is not None and not at_least:
        return max(0, limit - actual)
    return None


def _overage(got: Mapping[str, int], actual: int | None, *, same_unit: bool) -> int | None:
    if "overage" in got:
        return got["overage"]
    limit = got.get("limit")
    sent = got.get("total") or (actual + got.get("output", 0) if actual is not None else None)
    if limit is None or sent is None or not same_unit:
        return None
    return sent - limit if sent > limit else None


def _reply_is_to_blame(figures: Figures) -> bool:
    """Whether the input alone fits and the tokens reserved for the reply made it too long."""
    if figures.limit is None or figures.actual is None or not figures.output:
        return False
    return figures.actual <= figures.limit < figures.actual + figures.output


def _silent(estimate: int | None, usage: object, window: int | None, stop_reason: str | None) -> ErrorClass | None:
    reported, output = _usage(usage)
    if not reported:
        return None
    sub = None
    if window is not None and reported > window:
        sub = "silent_overflow"
    elif window is not None and stop_reason in {"length", "max_tokens"} and output == 0 and reported >= FILLED_SHARE * window:
        sub = "silent_overflow"
    elif estimate is not None and reported < estimate:
        over = window is not None and estimate > window
        if reported < (TRUNCATED_SHARE_OVER if over else TRUNCATED_SHARE) * estimate:
            sub = "silent_truncation"
    if sub is None:
        return None
    return ErrorClass(
        kind=Kind.OVERFLOW, sub=sub, reason="usage", figures=Figures(limit=window, actual=reported, at_least=sub == "silent_truncation"),
    )  # fmt: skip


_INPUT_KEYS: Final = (
    "input_tokens", "prompt_tokens", "promptTokenCount", "prompt_token_count", "inputTokens", "prompt_eval_count", "input",
)  # fmt: skip
_OUTPUT_KEYS: Final = (
    "output_tokens", "completion_tokens", "candidatesTokenCount", "candidates_token_count", "outputTokens", "eval_count", "output",
)  # fmt: skip
# Reported beside the input, not within it: Anthropic, Bedrock Converse and pi.
_CACHE_KEYS: Final = (
    "cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens",
    "cacheRead", "cacheWrite",
)  # fmt: skip


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return the input tokens (cache reads and writes included) and the output tokens of a usage report."""
    direct = _count(usage)
    if direct is not None:
        return direct, None
    get = usage.get if isinstance(usage, Mapping) else lambda name: _evidence.read(usage, name)
    reported = next((count for key in _INPUT_KEYS if (count := _count(get(key))) is not None), None)
    if reported is not None:
        reported += sum(_count(get(key)) or 0 for key in _CACHE_KEYS)
    return reported, next((count for key in _OUTPUT_KEYS if (count := _count(get(key))) is not None), None)


def _count(value: Any) -> int | None:
    """Return a count of tokens, or None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        return None
    return int(value)
