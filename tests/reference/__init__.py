"""The slow, obvious reference of the engine: written from rust/core/DESIGN.md alone."""

from tests.reference.engine import (
    DoesNotFit,
    PinnedInvalid,
    Reference,
    compact,
    repair,
    total,
    truncate,
    validate,
)

__all__ = [
    "DoesNotFit",
    "PinnedInvalid",
    "Reference",
    "compact",
    "repair",
    "total",
    "truncate",
    "validate",
]
