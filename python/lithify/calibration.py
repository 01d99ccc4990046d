"""Learns from reported usage how many tokens a prompt really has.

The engine counts what a history shows. Providers count more: system text, tool schemas, wrappers, and their
own tokenizer. Two numbers close the gap, both learned from the ``usage`` that comes back with each reply.

::

    forecast(raw) = anchor tokens + (raw - anchor raw) * characters per unit / scale
                    |                                                          |
                    last reported input: holds all                             characters per token,
                    that the history does not show                             learned from differences only

``raw`` is the engine's count of the whole prompt about to be sent. Its unit is fixed when the calibrator is
made: ``tokens`` (an estimate in tokens) or ``characters``. Inside, one estimated token stands for ``NEUTRAL``
= 4 characters, so that the band and the clamp below mean the same for both units.

Rules:

* A sample is raw per token of the *difference* to the report before. A fixed overhead (system text, tools) is
  in both reports and cancels out, so it never enters the scale.
* ``scale`` is an exponential moving average, ``ALPHA`` = 0.3, the first sample whole, samples outside
  ``BAND`` refused, the state held inside ``CLAMP``. It is never NaN, because no sample that is not finite
  gets that far.
* A compaction drops the anchor and keeps the scale. Until the next report, the forecast is the scaled count
  plus the overhead: what the first report since the start, or since the compaction before, held beyond its
  own scaled count (the smallest prompt shows it best, and a new conversation brings its own). The overhead is
  0 until there is a sample: without one it cannot be told from an error of scale.
* A report is refused, and said to be refused, when it cannot be the size of the prompt that was sent: see
  `Verdict`.

Example::

    calibrator = Calibrator(window=200_000)
    sent = calibrator.sent(raw=ledger_total, provider="anthropic", model="claude-opus-5")
    reply = client.messages.create(...)
    calibrator.observe(sent, reply.usage)
    calibrator.forecast(raw=next_total, provider="anthropic", model="claude-opus-5")

One calibrator serves one conversation; the scale per (provider, model) is worth keeping for the next one.
Every method may be called from any thread. Nothing here is ever awaited, and every step takes constant time.
"""

from __future__ import annotations

import enum
import math
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from lithify.calibration_state import (
    ALPHA,
    BAND,
    CLAMP,
    MOST_RAW,
    MOST_TOKENS,
    NEUTRAL,
    File,
    Report,
    State,
    Unit,
    decoded,
)
from lithify.errors import InvalidInput, InvalidPolicy, describe
from lithify.usage import checked_count, reported_input

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ALPHA",
    "BAND",
    "CLAMP",
    "NEUTRAL",
    "Calibrator",
    "Observation",
    "Sent",
    "Verdict",
]

# A report below this share of what the history alone should have, by an amount that no text explains, is
# taken for a prompt that the server cut in silence. The overhead is left out, since tools may be taken away.
# An estimate in tokens, or a learned scale, is not that wrong: neutral over the loosest clamp is 4 / 6 =
# 0.67. Characters before the first sample can be: real text goes up to the top of the band, 4 / 12 = 0.33.
_TRUNCATED_BELOW: Final = 0.6
_TRUNCATED_BELOW_UNLEARNED: Final[Mapping[str, float]] = {"tokens": 0.6, "characters": NEUTRAL / BAND[1]}
# A report above this multiple of an anchored forecast, again by no amount of text, waits for a second one.
_DOUBTFUL_ABOVE: Final = 2.0
# How near to the first doubtful report the second has to be: this share of what was added, and a few tokens.
_CONFIRM_SHARE: Final = 0.25
_CONFIRM_TOKENS: Final = 16


class Verdict(enum.StrEnum):
    """What became of one report."""

    LEARNED = "learned"
    """Taken as the anchor, and its difference as a sample."""
    ANCHORED = "anchored"
    """Taken as the anchor; there was no difference to learn from."""
    OUT_OF_BAND = "out of band"
    """Taken as the anchor; the difference is no text (something hidden came or went), so no sample."""
    DOUBTFUL = "doubtful"
    """Refused for now: twice the forecast or more. A second report that agrees with it is taken."""
    AGGREGATED = "aggregated"
    """Refused: larger than the window, so a sum over several calls."""
    TRUNCATED = "truncated"
    """Refused: far below what was sent. The server may have cut the prompt in silence."""
    STALE = "stale"
    """Refused: the request was sent before a compaction, or before one that was already observed."""
    ZERO = "zero"
    """Refused: the server reports no usage."""
    NOT_A_COUNT = "not a count"
    """Refused: negative, NaN, infinite, a fraction, or no number at all."""
    MISSING = "missing"
    """Refused: no figure for the input was found."""
    AT_LEAST = "at least"
    """Refused: the figure is a bound and not a measurement."""

    @property
    def accepted(self) -> bool:
        """Whether the report now stands for the size of the prompt."""
        return self in (Verdict.LEARNED, Verdict.ANCHORED, Verdict.OUT_OF_BAND)


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A request under way: what `Calibrator.observe` needs to judge its report. Made by `Calibrator.sent`."""

    provider: str
    model: str
    raw: float
    forecast: int
    number: int
    epoch: int


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report, the input tokens it named, and the sample in characters per token."""

    verdict: Verdict
    tokens: int | None = None
    sample: float | None = None


class Calibrator:
    """Forecasts prompt sizes and learns from reports.

    ``window`` is the model's context window in tokens; a report above it is a sum over calls and refused.
    ``unit`` says what ``raw`` counts.
    """

    def __init__(self, *, window: int | None = None, unit: Unit = "tokens") -> None:
        if unit not in ("tokens", "characters"):
            raise InvalidPolicy(field="unit", expected="'tokens' or 'characters'", got=describe(unit))
        self._window = _checked_window(window)
        self._unit: Unit = unit
        self._chars_per_raw = NEUTRAL if unit == "tokens" else 1.0
        self._states: dict[tuple[str, str], State] = {}
        self._newest: dict[tuple[str, str], int] = {}
        self._number = 0
        self._epoch = 0
        self._lock = threading.Lock()

    def sent(self, *, raw: float, provider: str = "", model: str = "") -> Sent:
        """Note that a prompt of ``raw`` units is about to be sent. Raises `InvalidInput` for a bad count."""
        chars = self._chars(raw)
        with self._lock:
            self._number += 1
            return Sent(
                provider=provider,
                model=model,
                raw=float(raw),
                forecast=math.ceil(self._peek(provider, model).forecast(chars)),
                number=self._number,
                epoch=self._epoch,
            )

    def observe(self, sent: Sent, usage: object, *, window: int | None = None) -> Observation:
        """Learn from the usage that the provider reported for ``sent``.

        ``usage`` is a mapping or an SDK object of any provider, or the whole reply that carries it: see
        `lithify.usage`. ``window`` stands in for that of the constructor. Nonsense is refused, never raised:
        a reply that was paid for must not be lost over its usage.
        """
        found = reported_input(usage)
        if not isinstance(found, int):
            return Observation(verdict=Verdict(found.value))
        limit = _checked_window(window) or self._window or MOST_TOKENS
        if found > limit:
            return Observation(verdict=Verdict.AGGREGATED, tokens=found)
        with self._lock:
            if self._is_stale(sent):
                return Observation(verdict=Verdict.STALE, tokens=found)
            state = self._state(sent)
            report = Report(found, self._chars(sent.raw))
            refused = self._doubt(state, report)
            if refused is not None:
                return Observation(verdict=refused, tokens=found)
            return self._take(state, sent, report)

    def observe_overflow(self, sent: Sent, tokens: object, *, measured: bool = True) -> Observation:
        """Learn from the prompt size that an overflow error named for ``sent``.

        A measured figure is one sample. Pass ``measured=False`` for "at least N": a bound teaches nothing.
        The window is no test here. Without an anchor the whole ratio is the sample, as a prompt that
        overflows is so large that the overhead in it is small, and what error is left makes forecasts larger,
        on the safe side.
        """
        found = checked_count(tokens)
        if not isinstance(found, int):
            return Observation(verdict=Verdict(found.value))
        if not measured:
            return Observation(verdict=Verdict.AT_LEAST, tokens=found)
        if found > MOST_TOKENS:
            return Observation(verdict=Verdict.NOT_A_COUNT, tokens=None)
        with self._lock:
            if self._is_stale(sent):
                return Observation(verdict=Verdict.STALE, tokens=found)
            state = self._state(sent)
            return self._take(state, sent, Report(found, self._chars(sent.raw)), whole=state.anchor is None)

    def forecast(self, *, raw: float, provider: str = "", model: str = "") -> int:
        """Tokens that the provider will report for a prompt of ``raw`` units, rounded up."""
        chars = self._chars(raw)
        with self._lock:
            return math.ceil(self._peek(provider, model).forecast(chars))

    def raw_within(self, tokens: int, *, provider: str = "", model: str = "") -> int:
        """Raw units that a compacted prompt may have to stay within ``tokens``; 0 if overhead takes it all.

        It is what a compaction aims at, so it leaves the anchor out, as the compaction will drop it.
        """
        with self._lock:
            state = self._peek(provider, model)
            return max(0, math.floor((tokens - state.overhead) * state.rate / self._chars_per_raw - 1e-6))

    def scale(self, *, provider: str = "", model: str = "") -> float:
        """Characters per token in use for this model: `NEUTRAL` before the first sample."""
        with self._lock:
            return self._peek(provider, model).rate

    def samples(self, *, provider: str = "", model: str = "") -> int:
        """How many samples the scale of this model was made from."""
        with self._lock:
            return self._peek(provider, model).samples

    def overhead(self, *, provider: str = "", model: str = "") -> int:
        """Tokens that this model's prompts hold beyond what is counted: system text, tools, wrappers."""
        with self._lock:
            return math.ceil(self._peek(provider, model).overhead)

    def anchored(self, *, provider: str = "", model: str = "") -> bool:
        """Whether the next forecast stands on a reported size."""
        with self._lock:
            return self._peek(provider, model).anchor is not None

    def compacted(self) -> None:
        """Drop the anchors and keep the scales: the history was compacted, or another conversation begins.

        Reports of requests that were sent before this call are refused as stale.
        """
        with self._lock:
            self._epoch += 1
            for state in self._states.values():
                state.anchor = state.doubt = None

    def to_json(self) -> bytes:
        """Everything learned, anchors included, as JSON text."""
        with self._lock:
            states = [self._states[key] for key in sorted(self._states)]
            content = File(1, self._unit, self._window, self._epoch, states)
            return msgspec.json.format(msgspec.json.encode(content), indent=1)

    @classmethod
    def from_json(cls, data: bytes | str) -> Calibrator:
        """Rebuild a calibrator from `to_json`.

        Raises `InvalidJSON` when the text is no JSON and `InvalidInput` when a value is missing, has the
        wrong type or lies outside its bounds: a damaged state is never repaired by guessing. Start a new one
        then.
        """
        content = decoded(data)
        made = cls(window=content.window, unit=content.unit)
        made._states = {(state.provider, state.model): state for state in content.states}
        made._epoch = content.epoch
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to ``path`` in one step: readers see the old file or the new. Raises OSError."""
        import tempfile  # noqa: PLC0415  4 ms that only a save should cost

        target = Path(path)
        data = self.to_json()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibrator:
        """Read what `save` wrote. Raises as `from_json` does, and OSError.

        Call `compacted` on the result when it serves another conversation than the one it was saved in.
        """
        return cls.from_json(Path(path).read_bytes())

    def _chars(self, raw: float) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= MOST_RAW:
            raise InvalidInput(
                field="raw",
                expected="a finite count of 0 or more",
                got=describe(raw),
                remedy="Pass the engine's count of the whole prompt.",
            )
        return raw * self._chars_per_raw

    def _peek(self, provider: str, model: str) -> State:
        return self._states.get((provider, model)) or State(provider, model)

    def _state(self, sent: Sent) -> State:
        return self._states.setdefault((sent.provider, sent.model), State(sent.provider, sent.model))

    def _is_stale(self, sent: Sent) -> bool:
        newest = self._newest.get((sent.provider, sent.model), 0)
        return sent.epoch != self._epoch or sent.number <= newest

    def _doubt(self, state: State, report: Report) -> Verdict | None:
        if state.anchor is not None and _sample(state.anchor, report) is not None:
            return None
        floor = _TRUNCATED_BELOW if state.samples else _TRUNCATED_BELOW_UNLEARNED[self._unit]
        if report.tokens < floor * report.chars / state.rate:
            return Verdict.TRUNCATED
        if state.anchor is None or report.tokens <= _DOUBTFUL_ABOVE * state.forecast(report.chars):
            return None
        before, state.doubt = state.doubt, report
        if before is not None and _confirms(before, report, state.rate):
            return None
        return Verdict.DOUBTFUL

    def _take(self, state: State, sent: Sent, report: Report, *, whole: bool = False) -> Observation:
        before = state.anchor
        if whole:
            before = Report(min(report.tokens, int(state.overhead)), 0.0)
        state.take(report)
        self._newest[sent.provider, sent.model] = sent.number
        if before is None or (report.tokens <= before.tokens and report.chars <= before.chars):
            return Observation(verdict=Verdict.ANCHORED, tokens=report.tokens)
        sample = _sample(before, report)
        if sample is None:
            return Observation(verdict=Verdict.OUT_OF_BAND, tokens=report.tokens)
        state.learn(sample)
        return Observation(verdict=Verdict.LEARNED, tokens=report.tokens, sample=sample)


def _sample(before: Report, after: Report) -> float | None:
    """Characters per token of what came between two reports, if a text can have that many."""
    tokens = after.tokens - before.tokens
    if tokens <= 0:
        return None
    sample = (after.chars - before.chars) / tokens
    return sample if BAND[0] <= sample <= BAND[1] else None


def _confirms(first: Report, second: Report, rate: float) -> bool:
    expected = (second.chars - first.chars) / rate
    return abs(second.tokens - first.tokens - expected) <= _CONFIRM_SHARE * abs(expected) + _CONFIRM_TOKENS


def _checked_window(window: int | None) -> int | None:
    if window is None or (isinstance(window, int) and not isinstance(window, bool) and window > 0):
        return window
    raise InvalidPolicy(
        field="window", expected="a whole number of tokens above 0, or None", got=describe(window)
    )
