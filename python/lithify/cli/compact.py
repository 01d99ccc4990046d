"""`lithify compact`: fit a history into a window."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lithify.cli import engine, exits, options, sink
from lithify.cli.options import window_settings
from lithify.cli.progress import working
from lithify.cli.source import STDIN

if TYPE_CHECKING:
    from lithify import Result
    from lithify.cli.document import Document

__all__ = ["command"]


@click.command(short_help="Fit a history into a window.")
@options.file_argument
@click.option("-o", "--output", metavar="OUT", help="Write the history here; - is standard output.")
@options.window_options(required=True)
@options.format_option
@click.option("--literal", is_flag=True, help="The plain rules, without extensions (Policy.literal()).")
@options.json_option
@options.quiet_option
def command(
    *,
    file: str,
    output: str | None,
    window: int | None,
    model: str | None,
    reserve: int | None,
    format_name: str | None,
    literal: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Fit a history into a window.

    \b
    Where things go:
      -o OUT              history to OUT, report to standard output
      -o -                history to standard output, report to standard error
      no -o, a pipe       the same as -o -
      no -o, a terminal   the report only; nothing is written
      --json              one JSON object on standard output: the report, and
                          without -o also the messages

    OUT appears whole or not at all, and may not be FILE. When the history cannot be made to fit,
    nothing is written and the exit code is 3.
    """  # noqa: D301 (click wants the character, not the backslash)
    settings = window_settings(window=window, model=model, reserve=reserve)
    if as_json and output == STDIN:
        raise click.UsageError("--json and -o - both want standard output")
    if output is not None and output != STDIN:
        sink.check_output(Path(output), None if file == STDIN else Path(file))
    if output is None and not as_json and not sys.stdout.isatty():
        output = STDIN
    document = engine.load(file, quiet=quiet)

    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    if literal:
        settings["policy"] = lithify.Policy.literal()
    result = engine.call(
        document, lithify.compact, quiet=quiet, format=format_name, **settings, **engine.context(document)
    )
    return deliver(document, result, output=output, as_json=as_json, quiet=quiet)


def deliver(document: Document, result: Result, *, output: str | None, as_json: bool, quiet: bool) -> int:
    """Write the history where it belongs, then the report where the history is not."""
    if output == STDIN:
        sink.write_bytes(sys.stdout, document.encode(result.messages))
    elif output is not None:
        with working(f"writing {sink.show(Path(output))}", quiet=quiet):
            sink.write_file(Path(output), document.encode(result.messages))
    if as_json:
        sink.write_text(sys.stdout, json.dumps(result.to_dict(messages=output is None)) + "\n")
    elif not quiet:
        _report(document, result, output)
    return exits.OK if result.fits else exits.DOES_NOT_FIT


def _report(document: Document, result: Result, output: str | None) -> None:
    from lithify.cli import report  # noqa: PLC0415 (it needs rich)
    from lithify.cli.show import Page  # noqa: PLC0415

    page = Page(sys.stderr if output == STDIN else sys.stdout)
    report.summary(page, document, result)
    report.edits_by_kind(page, result.plan.edits)
    if output is None:
        page.line("nothing was written: add -o OUT to keep the result")
    elif output != STDIN:
        page.line(f"written to {output}")
    page.print()
