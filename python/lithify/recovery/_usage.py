"""Overflow that arrives as a success: the usage a provider reports against what was sent and what fits.

Example: 50,000 tokens sent by our count, 16,386 reported, window 32,768: the server cut the input and did not
say so.
"""

from collections.abc import Mapping
from typing import Any, Final

from lithify.recovery import _reading
from lithify.recovery._result import ErrorClass, Figures, Kind

TRUNCATED_SHARE: Final = 0.50
"""A reported prompt below this share of the estimate was probably cut by the server: no estimator is off by
half."""

TRUNCATED_SHARE_OVER: Final = 0.85
"""The same where the estimate is over the window and the report is not: there the server had a reason to
cut."""

FILLED_SHARE: Final = 0.99
"""A reply that stopped for length with no output, and a prompt that fills this share: no room was left."""

MAX_COUNT: Final = 1e15

_INPUT_KEYS: Final = (
    "input_tokens",
    "prompt_tokens",
    "promptTokenCount",
    "prompt_token_count",
    "inputTokens",
    "prompt_eval_count",
    "input",
)
_OUTPUT_KEYS: Final = (
    "output_tokens",
    "completion_tokens",
    "candidatesTokenCount",
    "candidates_token_count",
    "outputTokens",
    "eval_count",
    "output",
)
# Reported beside the input, not within it: Anthropic, Bedrock Converse and pi.
_CACHE_KEYS: Final = (
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
    "cacheRead",
    "cacheWrite",
)


def silent(
    estimate: int | None, usage: object, window: int | None, stop_reason: str | None
) -> ErrorClass | None:
    """Return the overflow that a usage report betrays, or None; all counts in tokens."""
    reported, output = input_and_output(usage)
    if not reported:
        return None
    filled = window is not None and reported >= FILLED_SHARE * window
    stopped = stop_reason in {"length", "max_tokens"} and output == 0
    if window is not None and (reported > window or (filled and stopped)):
        sub = "silent_overflow"
    elif estimate is not None and reported < _plausible(estimate, window):
        sub = "silent_truncation"
    else:
        return None
    figures = Figures(limit=window, actual=reported, at_least=sub == "silent_truncation")
    return ErrorClass(kind=Kind.OVERFLOW, sub=sub, reason="usage", figures=figures)


def _plausible(estimate: int, window: int | None) -> float:
    """Return the smallest report that an honest server could give for this estimate."""
    over = window is not None and estimate > window
    return estimate * (TRUNCATED_SHARE_OVER if over else TRUNCATED_SHARE)


def input_and_output(usage: object) -> tuple[int | None, int | None]:
    """Return the input tokens (cache reads and writes included) and the output tokens of a usage report."""
    direct = count(usage)
    if direct is not None:
        return direct, None
    fields = _reading.mapping(usage) if _reading.is_a(usage, Mapping) else None

    def get(name: str) -> int | None:
        return count(_reading.read(usage, name) if fields is None else fields.get(name))

    reported = next((found for key in _INPUT_KEYS if (found := get(key)) is not None), None)
    if reported is not None:
        reported += sum(get(key) or 0 for key in _CACHE_KEYS)
    return reported, next((found for key in _OUTPUT_KEYS if (found := get(key)) is not None), None)


def count(value: Any) -> int | None:
    """Return a count of tokens, or None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_COUNT:
        return None
    return int(value)
