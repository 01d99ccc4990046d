"""What `compact`, `plan` and `repair` say about a result, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lithify.cli.text import count, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lithify import Edit, Result
    from lithify.cli.document import Document
    from lithify.cli.show import Page

__all__ = ["edits_by_kind", "every_edit", "summary"]


def summary(page: Page, document: Document, result: Result) -> None:
    """Add the figures: before and after against the limit."""
    before, after = len(document.messages), len(result.messages)
    page.line(
        f"{document.name}: {result.format}, {plural(before, 'message')} before, {count(after)} after", "bold"
    )
    rows = [("before", result.tokens_before), ("after", result.tokens_after)]
    if result.limit is None:
        page.line(f"{count(result.tokens_before)} tokens before, {count(result.tokens_after)} after")
    else:
        page.bars(rows, result.limit, note=f" of {count(result.limit)}", warn=True)
    page.line(
        f"rung: {result.rung}" + ("" if result.fits else " - DOES NOT FIT"), "" if result.fits else "red"
    )
    for warning in result.warnings:
        page.line(f"warning: {warning}", "yellow")


def edits_by_kind(page: Page, edits: Sequence[Edit]) -> None:
    """Add a table of the edits: how many of each layer and kind, and what they freed."""
    if not edits:
        page.line("nothing to do")
        return
    groups: dict[tuple[str, str], list[Edit]] = {}
    for edit in edits:
        groups.setdefault((edit.layer, edit.kind), []).append(edit)
    rows = [
        (layer, kind, count(len(group)), count(sum(edit.tokens_before - edit.tokens_after for edit in group)))
        for (layer, kind), group in groups.items()
    ]
    page.table([("layer", "left"), ("edit", "left"), ("times", "right"), ("tokens freed", "right")], rows)


def every_edit(page: Page, edits: Sequence[Edit], *, most: int | None) -> None:
    """Add a table with one row for each edit and its reason, at most `most` of them."""
    if not edits:
        page.line("nothing to do")
        return
    shown = edits if most is None else edits[:most]
    columns = [
        *(("layer", "left"), ("edit", "left"), ("message", "right"), ("part", "right")),
        *(("before", "right"), ("after", "right"), ("reason", "left")),
    ]
    page.table(columns, [_row(edit) for edit in shown])
    if len(shown) < len(edits):
        page.line(f"... and {plural(len(edits) - len(shown), 'edit')} more: --all shows them")


def _row(edit: Edit) -> tuple[str, ...]:
    place = ["new" if edit.index is None else str(edit.index), "" if edit.part is None else str(edit.part)]
    return (edit.layer, edit.kind, *place, count(edit.tokens_before), count(edit.tokens_after), edit.reason)
