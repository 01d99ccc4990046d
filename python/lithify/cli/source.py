"""Reading: from a file or standard input to the bytes of a history, never more than `MAX_BYTES`."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from lithify.cli.exits import FILE_TROUBLE, UNUSABLE, CliError
from lithify.cli.sink import reason, show

__all__ = ["MAX_BYTES", "STDIN", "display_name", "read_bytes"]

STDIN = "-"

MAX_BYTES = 1 << 30
"""A larger input is refused: decoded it would take several times its size in memory. Bytes."""


def display_name(file: str) -> str:
    """Return what to call the input in messages."""
    return "standard input" if file == STDIN else show(Path(file))


def read_bytes(file: str) -> bytes:
    """Return what `file` holds; `-` is standard input.

    Raises `CliError` when it is missing, a folder, not readable or too large.
    """
    name = display_name(file)
    try:
        if file == STDIN:
            if sys.stdin is None:
                raise CliError("standard input is closed", FILE_TROUBLE)
            return _read(sys.stdin.buffer.fileno(), name)
        # Without O_NONBLOCK a pipe that nobody writes to waits, as it does for every other program.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            return _read(descriptor, name)
        finally:
            os.close(descriptor)
    except IsADirectoryError as error:
        raise CliError(f"{name} is a folder: give a file, or - for standard input", FILE_TROUBLE) from error
    except OSError as error:
        raise CliError(f"{name} cannot be read: {reason(error)}", FILE_TROUBLE) from error
    except ValueError as error:  # a NUL in the name
        raise CliError(f"{name} is not the name of a file: {error}", FILE_TROUBLE) from error


def _read(descriptor: int, name: str) -> bytes:
    """Read a descriptor to its end, or raise when it holds more than `MAX_BYTES`."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
        raise _too_large(name, status.st_size)
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _too_large(name, len(data))
    return data


def _too_large(name: str, size: int) -> CliError:
    return CliError(
        f"{name} has over {size >> 20:,} MiB, at most {MAX_BYTES >> 20:,} MiB are read: "
        "split it, or call lithify.compact from Python",
        UNUSABLE,
    )
