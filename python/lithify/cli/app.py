"""The list of commands, and the one place where errors become a line on stderr and an exit code."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING

import click

from lithify.cli import exits
from lithify.cli.exits import CliError
from lithify.cli.sink import write_text
from lithify.cli.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]

COMMANDS = ("compact", "plan", "inspect", "validate", "repair")

EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in exits.TABLE.items())


class Commands(click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"lithify.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="lithify", prog_name="lithify")
def lithify() -> None:
    """Fit the message history of an LLM agent into a context window.

    FILE is JSON (a list of messages, or an object that holds it under messages, input, contents,
    history, traj or body), JSONL (one message a line), or a session log of an agent as it lies on disk
    (Claude Code, Codex, Gemini CLI, SWE-agent, tau-bench, OpenHands, ShareGPT, LangChain); - is standard
    input.
    What goes out has the shape of what came in; for a log it is the list of messages that the next
    request would hold, in its provider's shape. The input file is never written to.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; nothing but a fault of our own gives a traceback."""
    as_json = "--json" in arguments
    try:
        return _run(arguments, as_json=as_json)
    except CliError as error:
        # Only the reporting of an error can come here: nowhere is left to write to.
        return error.code


def _run(arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        code = lithify.main(args=list(arguments), prog_name="lithify", standalone_mode=False)
    except click.ClickException as error:
        if as_json:
            return _report(CliError(error.format_message(), exits.UNUSABLE, kind="Usage"), as_json=True)
        error.show()
        return exits.UNUSABLE
    except CliError as error:
        return _report(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except MemoryError:
        message = "there is not enough memory for this history"
        return _report(CliError(message, exits.FILE_TROUBLE, kind="MemoryError"), as_json=as_json)
    except Exception as error:  # noqa: BLE001 (the last line of defence: a person gets a sentence, not a stack)
        if os.environ.get("LITHIFY_DEBUG"):
            traceback.print_exc()
        message = f"a fault in lithify itself, please report it: {type(error).__name__}: {error}"
        return _report(CliError(message, exits.FAULT, kind=type(error).__name__), as_json=as_json)
    return code if isinstance(code, int) else exits.OK


def _report(error: CliError, *, as_json: bool) -> int:
    """Write what went wrong: a line on stderr, or with `--json` an object on stdout."""
    if error.code == exits.PIPE_CLOSED:
        return error.code
    if as_json:
        body = {"message": str(error), "exit_code": error.code, **error.details}
        write_text(sys.stdout, json.dumps({"error": body}, default=repr) + "\n")
    else:
        write_text(sys.stderr, f"lithify: {clean(str(error))}\n")
    return error.code
