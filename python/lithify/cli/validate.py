"""`lithify validate`: check a history against the rules of its provider."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from lithify.cli import engine, exits, options
from lithify.cli.sink import write_text
from lithify.cli.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lithify import Violation
    from lithify.cli.document import Document
    from lithify.cli.show import Page

__all__ = ["command", "violations_table"]


@click.command(short_help="Check a history against the rules of its provider.")
@options.file_argument
@options.format_option
@options.json_option
@options.quiet_option
def command(*, file: str, format_name: str | None, as_json: bool, quiet: bool) -> int:
    """Check a history against the rules of its provider: pairs, order, roles, empty content.

    The exit code is 0 when it is valid and 1 when it is not; `lithify repair` mends what is found.
    """
    document = engine.load(file, quiet=quiet)

    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    violations = engine.call(document, lithify.validate, quiet=quiet, format=format_name)
    if as_json:
        found = [
            {"code": one.code, "index": one.index, "part": one.part, "message": one.message}
            for one in violations
        ]
        write_text(sys.stdout, json.dumps({"valid": not found, "violations": found}) + "\n")
    elif not quiet:
        from lithify.cli.show import Page  # noqa: PLC0415 (it needs rich)

        page = Page(sys.stdout)
        size = plural(len(document.messages), "message")
        if violations:
            page.line(f"{document.name}: {plural(len(violations), 'violation')} in {size}", "bold red")
            violations_table(page, document, violations)
        else:
            page.line(f"{document.name}: valid, {size}", "green")
        page.print()
    return exits.VIOLATIONS if violations else exits.OK


def violations_table(page: Page, document: Document, violations: Sequence[Violation]) -> None:
    """Add a row for each violation; in a JSONL the line is given too."""
    columns = [("code", "left"), ("message", "right"), ("part", "right"), ("what is wrong", "left")]
    rows = [
        (
            one.code,
            f"{'' if one.index is None else one.index}{document.where(one.index)}",
            "" if one.part is None else str(one.part),
            one.message,
        )
        for one in violations
    ]
    page.table(columns, rows)
