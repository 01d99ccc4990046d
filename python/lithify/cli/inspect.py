"""`lithify inspect`: where the tokens are."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from lithify.cli import engine, exits, options
from lithify.cli.sink import write_text
from lithify.cli.text import count, plural

if TYPE_CHECKING:
    from lithify import Inspection
    from lithify.cli.document import Document

__all__ = ["command"]

LARGEST = 10


@click.command(short_help="Show where the tokens are.")
@options.file_argument
@options.window_options(required=False)
@options.format_option
@options.json_option
def command(
    *,
    file: str,
    window: int | None,
    model: str | None,
    reserve: int | None,
    format_name: str | None,
    as_json: bool,
) -> int:
    """Show tokens by category, the fill of the window, the ten largest tool results, and pair faults.

    The fill is shown when --window or --model says what the window is. A fault found does not change the
    exit code; `lithify validate` does that.
    """
    document = engine.load(file, quiet=as_json)

    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    found = engine.call(
        document, lithify.inspect, quiet=as_json, format=format_name, **engine.context(document)
    )
    limit = engine.input_limit(window=window, model=model, reserve=reserve)
    if as_json:
        write_text(sys.stdout, json.dumps(_plain(document, found, limit)) + "\n")
    else:
        _report(document, found, limit)
    return exits.OK


def _largest(found: Inspection) -> list[tuple[int, int | None, str, int, bool]]:
    """Return the largest results, the older first among equals."""
    ranked = sorted(found.results, key=lambda one: (-one.tokens, one.index))[:LARGEST]
    return [(one.index, one.part, one.tool or "", one.tokens, one.error) for one in ranked]


def _plain(document: Document, found: Inspection, limit: int | None) -> dict[str, object]:
    names = ("index", "part", "tool", "tokens", "error")
    log = {"log": document.facts} if document.facts else {}
    return {
        **log,
        "format": found.format,
        "messages": found.messages,
        "total": found.total,
        "limit": limit,
        "categories": dict(found.categories),
        "largest_results": [dict(zip(names, row, strict=True)) for row in _largest(found)],
        "violations": [
            {"code": one.code, "index": one.index, "part": one.part, "message": one.message}
            for one in found.violations
        ],
    }


def _report(document: Document, found: Inspection, limit: int | None) -> None:
    from lithify.cli.show import Page  # noqa: PLC0415 (it needs rich)
    from lithify.cli.validate import violations_table  # noqa: PLC0415

    page = Page(sys.stdout)
    page.line(f"{document.name}: {found.format}, {plural(found.messages, 'message')}", "bold")
    if limit is not None:
        page.bars([("window", found.total)], limit, note=f" of {count(limit)}", warn=True)
    page.line()
    rows = sorted(found.categories.items(), key=lambda item: -item[1])
    page.bars([("total", found.total), *((name.replace("_", " "), size) for name, size in rows)], found.total)
    largest = _largest(found)
    if largest:
        page.line()
        page.line(f"largest of {plural(len(found.results), 'tool result')}", "bold")
        columns = [("tokens", "right"), ("message", "right"), ("part", "right"), ("tool", "left")]
        page.table(
            columns,
            [
                (
                    count(tokens),
                    str(index),
                    "" if part is None else str(part),
                    tool + (" (error)" if error else ""),
                )
                for index, part, tool, tokens, error in largest
            ],
        )
    if found.violations:
        page.line(f"{plural(len(found.violations), 'fault')}: lithify repair mends them", "bold red")
        violations_table(page, document, found.violations)
    else:
        page.line("no pair faults", "green")
    page.print()
