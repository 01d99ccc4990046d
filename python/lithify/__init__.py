"""Context compaction for LLM agents: fits a history into a window, in a shape that the provider accepts."""

from lithify.compactor import compact, count_tokens, inspect, pin, repair, truncate, validate, wire
from lithify.errors import DoesNotFit, InvalidInput, LithifyError
from lithify.policy import Clear, Policy, Prune
from lithify.result import Edit, Inspection, Plan, Result, ToolResult, Violation

__all__ = [
    "Clear",
    "DoesNotFit",
    "Edit",
    "Inspection",
    "InvalidInput",
    "LithifyError",
    "Plan",
    "Policy",
    "Prune",
    "Result",
    "ToolResult",
    "Violation",
    "compact",
    "count_tokens",
    "inspect",
    "pin",
    "repair",
    "truncate",
    "validate",
    "wire",
]
