"""`lithify plan`: what `compact` would do and why; nothing is written."""

from __future__ import annotations

import json
import sys

import click

from lithify.cli import engine, exits, options
from lithify.cli.sink import write_text

__all__ = ["command"]

MOST_ROWS = 40


@click.command(short_help="Show what compact would do, and why.")
@options.file_argument
@options.window_options(required=True)
@options.format_option
@click.option("--literal", is_flag=True, help="The plain rules, without extensions (Policy.literal()).")
@click.option("--all", "every", is_flag=True, help=f"Show every edit, not only the first {MOST_ROWS}.")
@options.json_option
def command(
    *,
    file: str,
    window: int | None,
    model: str | None,
    reserve: int | None,
    format_name: str | None,
    literal: bool,
    every: bool,
    as_json: bool,
) -> int:
    """Show what `lithify compact` would do, and why. Nothing is written.

    Each row is one edit: the layer that made it, the index of the message in FILE (from 0), the tokens
    before and after, and the reason. The exit code is 3 when the history would not fit.
    """
    settings = options.window_settings(window=window, model=model, reserve=reserve)
    document = engine.load(file, quiet=as_json)

    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    if literal:
        settings["policy"] = lithify.Policy.literal()
    result = engine.call(
        document,
        lithify.compact,
        quiet=as_json,
        format=format_name,
        on_misfit="return",
        **settings,
        **engine.context(document),
    )
    if as_json:
        write_text(sys.stdout, json.dumps(result.to_dict()) + "\n")
    else:
        from lithify.cli import report  # noqa: PLC0415 (it needs rich)
        from lithify.cli.show import Page  # noqa: PLC0415

        page = Page(sys.stdout)
        report.summary(page, document, result)
        report.every_edit(page, result.plan.edits, most=None if every else MOST_ROWS)
        page.print()
    return exits.OK if result.fits else exits.DOES_NOT_FIT
