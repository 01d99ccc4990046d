"""Context compaction for LLM agents: fits a history into a window, in a shape that the provider accepts."""

from typing import TYPE_CHECKING, Any

from lithify.compactor import acompact, compact, count_tokens, inspect, pin, repair, truncate, validate, wire
from lithify.errors import DoesNotFit, InvalidInput, LithifyError
from lithify.policy import Clear, Policy, Prune, Recovery, Summary
from lithify.result import Edit, Inspection, Plan, Result, ToolResult, Violation

if TYPE_CHECKING:
    from lithify.caller import Caller

__all__ = [
    "Caller",
    "Clear",
    "DoesNotFit",
    "Edit",
    "Inspection",
    "InvalidInput",
    "LithifyError",
    "Plan",
    "Policy",
    "Prune",
    "Recovery",
    "Result",
    "Summary",
    "ToolResult",
    "Violation",
    "acompact",
    "compact",
    "count_tokens",
    "inspect",
    "pin",
    "repair",
    "truncate",
    "validate",
    "wire",
]


def __getattr__(name: str) -> Any:
    """Load what only some need when it is asked for: the error patterns take a while."""
    if name == "Caller":
        from lithify.caller import Caller  # noqa: PLC0415

        return Caller
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
