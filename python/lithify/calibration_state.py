"""What a `lithify.calibration.Calibrator` knows, and how it is written to disk and read back.

The arithmetic of one (provider, model) is here, in `State`; which reports may reach it is decided by the
caller. All sizes are in tokens as reported and in *characters* as counted by us; a count in estimated tokens
is turned into characters at `NEUTRAL` per token before it gets here, so the band and the clamp have one
meaning.

Invariant: ``scale`` is None or a finite number inside `CLAMP`, whatever was learned or loaded.
"""

from __future__ import annotations

import json
from typing import Final, Literal

import msgspec

from lithify.errors import InvalidInput, InvalidJSON, describe

__all__ = [
    "ALPHA",
    "BAND",
    "CLAMP",
    "MOST_RAW",
    "MOST_TOKENS",
    "NEUTRAL",
    "File",
    "Report",
    "State",
    "Unit",
    "decoded",
]

Unit = Literal["tokens", "characters"]

ALPHA: Final = 0.3
"""Share of a new sample in the moving average."""
BAND: Final = (0.5, 12.0)
"""Characters per token that a text can have. Outside it, the two reports do not belong together."""
CLAMP: Final = (1.0, 6.0)
"""Characters per token that the state may take."""
NEUTRAL: Final = 4.0
"""Characters per token before the first sample, and characters that one estimated token stands for."""

# No window is larger; a figure beyond it is a sum or a fault.
MOST_TOKENS: Final = 10_000_000
# The largest integer that a float holds exactly: raw counts beyond it could not be told apart.
MOST_RAW: Final = 2**53

_REMEDY: Final = "The saved state is damaged: delete it and start with a new Calibrator."


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt whose size was reported: ``tokens`` by the provider, ``chars`` by our own count."""

    tokens: int
    chars: float


class State(msgspec.Struct, forbid_unknown_fields=True):
    """What is known about one (provider, model)."""

    provider: str
    model: str
    scale: float | None = None
    samples: int = 0
    anchor: Report | None = None
    base: Report | None = None
    doubt: Report | None = None

    @property
    def rate(self) -> float:
        """Characters per token in use."""
        return NEUTRAL if self.scale is None else self.scale

    @property
    def overhead(self) -> float:
        """Tokens that prompts hold beyond what is counted."""
        if self.scale is None or self.base is None:
            return 0.0
        return max(0.0, self.base.tokens - self.base.chars / self.scale)

    def forecast(self, chars: float) -> float:
        """Tokens of a prompt in which we count ``chars`` characters."""
        if self.anchor is None:
            return self.overhead + chars / self.rate
        return max(0.0, self.anchor.tokens + (chars - self.anchor.chars) / self.rate)

    def learn(self, sample: float) -> None:
        """Move the average by one sample, which the caller found inside `BAND`."""
        scale = sample if self.scale is None else self.scale + ALPHA * (sample - self.scale)
        self.scale = min(max(scale, CLAMP[0]), CLAMP[1])
        self.samples += 1

    def take(self, report: Report) -> None:
        """Make ``report`` the anchor."""
        if self.anchor is None or self.base is None or report.chars <= self.base.chars:
            self.base = report
        self.anchor = report
        self.doubt = None


class File(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form."""

    version: Literal[1]
    unit: Unit
    window: int | None
    epoch: int
    states: list[State]


def _fault(field: str, expected: str, got: str) -> InvalidInput:
    return InvalidInput(
        field=field,
        expected=expected,
        got=got,
        remedy=_REMEDY,
    )


def decoded(data: bytes | str) -> File:
    """Read and check a saved state. Raises `InvalidJSON` or `InvalidInput`."""
    try:
        content = msgspec.json.decode(data, type=File)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _explained(data, error) from error
    keys = set()
    for position, state in enumerate(content.states):
        _check_state(state, f"states[{position}]")
        keys.add((state.provider, state.model))
    if len(keys) < len(content.states):
        raise _fault("states", "each provider and model once", "a repetition")
    return content


def _explained(data: bytes | str, error: Exception) -> InvalidInput:
    """Tell broken JSON from a wrong value: msgspec may meet the wrong value first."""
    text = data if isinstance(data, str) else data.decode("utf-8", errors="replace")
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError) as found:
        position = getattr(found, "pos", 0)
    else:
        if isinstance(error, msgspec.ValidationError):
            return _fault("state", "a calibration state", str(error))
        position = len(text)  # the standard reader takes NaN and broken UTF-8, which are no JSON
    before = text[:position]
    return InvalidJSON(
        line=before.count("\n") + 1,
        column=position - before.rfind("\n"),
        offset=len(before.encode("utf-8", errors="replace")),
        expected="a calibration state",
        got=str(error),
        remedy=_REMEDY,
    )


def _check_state(state: State, field: str) -> None:
    low, high = CLAMP
    if state.scale is not None and not low <= state.scale <= high:
        raise _fault(f"{field}.scale", f"a number from {low:g} to {high:g}", describe(state.scale))
    if state.samples < 0 or (state.samples == 0) != (state.scale is None):
        raise _fault(f"{field}.samples", "a count that agrees with scale", describe(state.samples))
    for name in ("anchor", "base", "doubt"):
        report = getattr(state, name)
        if report is None:
            continue
        if not 0 < report.tokens <= MOST_TOKENS:
            raise _fault(f"{field}.{name}.tokens", f"1 to {MOST_TOKENS:,}", describe(report.tokens))
        if not 0 <= report.chars <= MOST_RAW * NEUTRAL:
            raise _fault(f"{field}.{name}.chars", "a finite count of 0 or more", describe(report.chars))
