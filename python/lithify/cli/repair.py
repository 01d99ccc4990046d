"""`lithify repair`: make tool calls and results pair up again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lithify.cli import engine, options, sink
from lithify.cli.compact import deliver
from lithify.cli.source import STDIN

__all__ = ["command"]


@click.command(short_help="Make tool calls and results pair up again.")
@options.file_argument
@click.option("-o", "--output", metavar="OUT", help="Write the history here; - is standard output.")
@options.format_option
@options.json_option
@options.quiet_option
def command(*, file: str, output: str | None, format_name: str | None, as_json: bool, quiet: bool) -> int:
    """Make tool calls and results pair up again, and nothing else.

    The history and the report go where `lithify compact` sends them; see there. A valid history comes
    back as it is.
    """
    if as_json and output == STDIN:
        raise click.UsageError("--json and -o - both want standard output")
    if output is not None and output != STDIN:
        sink.check_output(Path(output), None if file == STDIN else Path(file))
    if output is None and not as_json and not sys.stdout.isatty():
        output = STDIN
    document = engine.load(file, quiet=quiet)

    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    result = engine.call(document, lithify.repair, quiet=quiet, format=format_name)
    return deliver(document, result, output=output, as_json=as_json, quiet=quiet)
