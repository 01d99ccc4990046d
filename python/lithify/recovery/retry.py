"""After an overflow error: what to do next, as a pure function of the error and of what was sent.

Example: a call of 10,000 tokens fails with "prompt is too long: 10400 tokens > 9000 maximum". The counter saw
10,000 where the provider saw 10,400, so 9,000 of its tokens are 8,653 of ours; 0.8 x 10,000 is less: the next
call has at most 8,000. The loop around it is `lithify.caller`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from lithify.policy import Recovery
from lithify.recovery.overflow import ErrorClass, Kind, classify_error

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Decision", "RetryAttempt", "retry_strategy"]

Action: TypeAlias = Literal["shrink", "lower_output", "raise"]

LEAST_OUTPUT: Final = 16
"""A reply limit below this is of no use to anybody."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do after an error.

    target: the most input tokens of the next attempt, by the counter in use (`shrink`). output: the new reply
    limit (`lower_output`). window: a window that the error disclosed and that is lower than the one
    assumed, in the provider's tokens. reason: a few words for a log.
    """

    action: Action
    reason: str
    target: int | None = None
    output: int | None = None
    window: int | None = None


class RetryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One call that was made: its size by the counter in use, its reply limit, and what the error was."""

    tokens: int
    output: int | None
    action: str
    kind: str | None = None
    message: str = ""
    rung: str = "none"


def retry_strategy(
    error: ErrorClass | BaseException | Mapping[str, Any] | str,
    attempt: int,
    *,
    sent: int,
    limit: int | None = None,
    output: int | None = None,
    recovery: Recovery | None = None,
) -> Decision:
    """Say what to do after attempt number `attempt` (from 1) of `sent` input tokens failed.

    Args:
        error: the error, or its class.
        attempt: how many calls were made.
        sent: input tokens of the failed call, by the counter in use.
        limit: the input limit that was assumed.
        output: the reply limit that was sent.
        recovery: the settings.

    """
    settings = recovery if recovery is not None else Recovery()
    found = error if isinstance(error, ErrorClass) else classify_error(error, window=limit, estimate=sent)
    if attempt > settings.max_retries:
        return Decision(action="raise", reason=f"{attempt} calls were made")
    figures = found.figures
    window = found.token_limit
    if window is not None and limit is not None and window >= limit:
        window = None
    if found.lower_output_first:
        lower = _lower(figures.available, output)
        if lower is not None:
            return Decision(
                action="lower_output", output=lower, window=window, reason="the reply limit is too high"
            )
        if found.kind is Kind.OUTPUT_CAP:
            return Decision(action="raise", reason="the reply limit cannot be lowered any further")
    if not found.smaller_input_helps:
        return Decision(action="raise", reason=f"a smaller request does not help against {found.kind}")
    targets = [int(sent * settings.shrink)]
    known = figures.limit if figures.unit == "tokens" and found.kind is not Kind.REQUEST_BYTES else None
    if known is not None:
        # The reply takes its room in the same window, except where the limit is one of input alone or of a
        # rate.
        room = known - (figures.output or 0) if found.is_overflow else known
        scale = sent / figures.actual if figures.measured and figures.actual else 1.0
        targets.append(int(max(room, 0) * min(scale, 1.0)))
    target = min(targets)
    if target < 1:
        return Decision(action="raise", reason="nothing is left to give up", window=window)
    return Decision(action="shrink", target=target, window=window, reason="the request is too long")


def _lower(available: int | None, output: int | None) -> int | None:
    """Return a reply limit that is strictly lower, or None when there is no useful one."""
    if output is None:
        return available if available is not None and available >= LEAST_OUTPUT else None
    lower = min(available, output - 1) if available is not None else output // 2
    return lower if LEAST_OUTPUT <= lower < output else None
