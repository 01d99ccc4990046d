"""Entry point of the console script.

It imports nothing but the standard library until it is sure that click is there, so that a missing extra
gives one clear line and no traceback.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from lithify.cli.exits import MISSING_EXTRA

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `arguments` are those after the program's name."""
    for stream in (sys.stdout, sys.stderr):
        # A file name or a tool name that the terminal cannot show must not end the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        from lithify.cli.app import run  # noqa: PLC0415 (it needs click)
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write("lithify: the command needs the package click: pip install 'lithify[cli]'\n")
        return MISSING_EXTRA
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
