"""The slow, obvious reference of the engine: written from rust/core/DESIGN.md alone, never from the Rust code."""

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
