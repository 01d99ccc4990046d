"""What the public functions return: plain, frozen data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Edit(msgspec.Struct, frozen=True):
    """One change.

    `index` is the message in the input, `None` for a new one; `part` a part of it. Tokens are by the counter
    in use.
    """

    layer: str
    kind: str
    index: int | None
    part: int | None
    tokens_before: int
    tokens_after: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return msgspec.structs.asdict(self)


class Plan:
    """What was done, in order."""

    __slots__ = ("_edits", "_rows")

    def __init__(self, rows: Callable[[], Iterable[Any]] = tuple) -> None:
        """Make a plan of rows of `Edit`'s fields, which are asked for when someone looks at the edits."""
        self._rows = rows
        self._edits: tuple[Edit, ...] | None = None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits, in order."""
        if self._edits is None:
            self._edits = tuple(Edit(*row) for row in self._rows())
        return self._edits

    def __eq__(self, other: object) -> bool:
        """Plans with the same edits are equal."""
        return isinstance(other, Plan) and self.edits == other.edits

    def __hash__(self) -> int:
        """Equal plans have equal hashes."""
        return hash(self.edits)

    def __repr__(self) -> str:
        """Show all edits."""
        return f"Plan(edits={self.edits!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the edits."""
        return _plan, (self.edits,)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"edits": [edit.to_dict() for edit in self.edits]}


def _plan(edits: tuple[Edit, ...]) -> Plan:
    return Plan(lambda: (msgspec.structs.astuple(edit) for edit in edits))


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A history that was compacted or repaired.

    `messages` holds the very objects that came in wherever nothing changed. `limit` is the input limit, and
    `None` for a repair. `rung` names the last stage that made an edit: `none`, `repair`, `truncate`, `clear`,
    `prune` or `minimal`.
    """

    messages: list[Any]
    fits: bool
    tokens_before: int
    tokens_after: int
    limit: int | None
    rung: str
    warnings: tuple[str, ...]
    format: str
    plan: Plan

    def to_dict(self, *, messages: bool = False) -> dict[str, Any]:
        """Return plain data; the messages themselves only when asked for."""
        data: dict[str, Any] = {
            "fits": self.fits,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "limit": self.limit,
            "rung": self.rung,
            "warnings": list(self.warnings),
            "format": self.format,
            "plan": self.plan.to_dict(),
        }
        if messages:
            data["messages"] = self.messages
        return data


class Violation(msgspec.Struct, frozen=True):
    """A rule of the provider that a history breaks: a code, where, and a sentence."""

    code: str
    index: int
    part: int | None
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return msgspec.structs.asdict(self)


class ToolResult(msgspec.Struct, frozen=True):
    """A tool result and what it costs, in tokens. `tool` is empty when its call is not in the history."""

    index: int
    part: int
    tool: str
    tokens: int
    error: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return msgspec.structs.asdict(self)


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What a history is made of. `tokens` is by message; `categories` sums to `total`."""

    format: str
    total: int
    messages: int
    tokens: list[int]
    categories: dict[str, int]
    results: list[ToolResult]
    violations: list[Violation]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data = msgspec.structs.asdict(self)
        data["results"] = [result.to_dict() for result in self.results]
        data["violations"] = [violation.to_dict() for violation in self.violations]
        return data
