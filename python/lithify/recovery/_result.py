"""The types that `classify_error` returns, and the derivation of the figures in them.

Example: the sentence "maximum context length is 15000 tokens ... (12970 in the messages, 2048 in the
completion)" gives limit 15000, actual 12970, output 2048; so available 2030, overage 18, and the reply is to
blame.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from lithify.recovery._patterns import Hit, Unit

MIN_LIMIT: Final = 1_024
MAX_LIMIT: Final = 10_000_000
"""A window outside these bounds is a misread number (an id, a year, a price), not a window."""


class Kind(StrEnum):
    """What the error asks for.

    overflow: fewer input tokens. output_cap: a lower reply limit. request_over_rate_limit: a smaller request,
    waiting cannot help. rate_limit: wait. quota: money or a plan. request_bytes: fewer bytes, mostly media.
    other: none of it.
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
    `actual_unit`. output: what was reserved for the reply. total: input and output, where only the sum is
    given. available: what the reply may still use. overage: how much too much. at_least: `actual` is a lower
    bound that the server derived, not a measurement. approximate: the server says "about".
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
            self.actual is not None
            and self.actual_unit == "tokens"
            and not self.at_least
            and not self.approximate
        )


class ErrorClass(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `classify_error`.

    sub: more exactly. For overflow: output_first (the input fits, lowering the reply limit may do), probable
    (guessed from an estimate or an empty body), in_band (a successful reply said so), silent_overflow and
    silent_truncation. For other: auth, timeout, connection, server, cancelled, content_filter, tool_pairs,
    signature, parameter, media, memory, template, cache, field_length, window_too_small, not_found. For
    quota: credit, long_context. reason: the row of patterns.toml, or code:, class:, status:, stop_reason:,
    estimate, empty_body, usage, none. retry_after: seconds. message: the provider's own words, cut to 300
    characters, to be shown.
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
        """The window that the error discloses, in tokens; a rate or character limit is none."""
        return self.figures.limit if self.is_overflow and self.figures.unit == "tokens" else None


def derive_figures(kind: Kind, hit: Hit | None, numbers: Mapping[str, int]) -> Figures:
    """Put the captured numbers together, leave out what cannot be, and derive what follows."""
    got: dict[str, int] = dict(hit.figures) if hit is not None else {}
    unit: Unit = hit.row.unit if hit is not None else "tokens"
    actual_unit: Unit = (hit.row.actual_unit or unit) if hit is not None else unit
    if kind is Kind.OVERFLOW and unit == "tokens":
        got |= numbers
        if not MIN_LIMIT <= got.get("limit", MIN_LIMIT) <= MAX_LIMIT:
            del got["limit"]
    sentence = hit.text[hit.start : hit.end] if hit is not None else ""
    limit, output, total = got.get("limit"), got.get("output"), got.get("total")
    actual = got.get("actual")
    if actual is not None:
        actual += got.get("extra", 0)
    elif total is not None and output is not None:
        actual = max(0, total - output)
    at_least = actual is not None and "at least" in sentence
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
    if (
        kind is Kind.OVERFLOW
        and "output" in got
        and limit is not None
        and actual is not None
        and not at_least
    ):
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


def reply_is_to_blame(figures: Figures) -> bool:
    """Whether the input alone fits and the tokens reserved for the reply made it too long."""
    if figures.limit is None or figures.actual is None or not figures.output:
        return False
    return figures.actual <= figures.limit < figures.actual + figures.output
