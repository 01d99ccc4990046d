"""Writing: files atomically, streams without tracebacks.

A file appears whole or not at all: the bytes go to a new file in the same folder, are synced, and then take
the name. Whatever goes wrong leaves the old file as it was.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lithify.cli.exits import FILE_TROUBLE, PIPE_CLOSED, UNUSABLE, CliError
from lithify.cli.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_output", "write_bytes", "write_file", "write_text"]

_PERMISSIONS = 0o777


def check_output(output: Path, source: Path | None) -> None:
    """Refuse an output that cannot or must not be written, before any work is done.

    Raises `CliError` when it is the input (also by another name: link, hard link, `..`), a folder, in a
    folder that does not exist, or not writable.
    """
    if source is not None and _same_file(output, source):
        message = f"{show(output)} is the input: it is never overwritten, give another name to -o"
        raise CliError(message, UNUSABLE)
    try:
        trouble = _trouble(output)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        trouble = reason(error)
    if trouble:
        raise CliError(f"{show(output)} cannot be written: {trouble}", FILE_TROUBLE)


def _trouble(output: Path) -> str:
    """Say what stands against writing `output`, or nothing."""
    if output.is_dir():
        return "it is a folder, -o takes the name of a file"
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        return f"the folder {show(folder)} does not exist"
    if output.exists() and not os.access(output, os.W_OK):
        return "permission denied"
    return ""


def write_file(output: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to `output` atomically; a link is followed, permissions of an old file are kept.

    Devices and pipes cannot be replaced and are written to as they stand. Raises `CliError`.
    """
    try:
        old = output.stat() if output.exists() else None
        if old is not None and not stat.S_ISREG(old.st_mode):
            with output.open("wb") as stream:
                stream.writelines(chunks)
            return
        _replace(Path(os.path.realpath(output)), chunks, old)
    except OSError as error:
        raise CliError(f"{show(output)} cannot be written: {reason(error)}", FILE_TROUBLE) from error


def _replace(target: Path, chunks: Iterable[bytes], old: os.stat_result | None) -> None:
    """Write a temporary file beside `target` and give it the name of `target`."""
    # The name does not contain the target's, which may already be as long as a name can be.
    temporary = target.parent / f".lithify-{secrets.token_hex(8)}.tmp"
    # 0o666 minus the umask is what any new file gets. An old file may be stricter, so its copy starts closed.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(chunks)
            stream.flush()
            os.fsync(stream.fileno())
        if old is not None:
            # Only a privileged user can give a file away; for others it is theirs already.
            with suppress(OSError, AttributeError):
                os.chown(temporary, old.st_uid, old.st_gid)
            temporary.chmod(old.st_mode & _PERMISSIONS)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(stream: TextIO | None, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a standard stream. Raises `CliError`, silently when the reader has gone."""
    if stream is None:
        raise CliError("standard output is closed", FILE_TROUBLE)
    try:
        stream.flush()
        for chunk in chunks:
            _write_all(stream, chunk)
        stream.flush()
    except BrokenPipeError as error:
        _mute(stream)
        raise CliError("the reader of the output has gone", PIPE_CLOSED) from error
    except OSError as error:
        _mute(stream)
        raise CliError(f"the output cannot be written: {reason(error)}", FILE_TROUBLE) from error


def _write_all(stream: TextIO, chunk: bytes) -> None:
    """Write every byte: PYTHONUNBUFFERED makes the stream raw, and a raw write to a pipe may stop early."""
    binary = getattr(stream, "buffer", None)
    if binary is None:  # a stand-in such as io.StringIO
        stream.write(chunk.decode())
        return
    rest = memoryview(chunk)
    while rest:
        written = binary.write(rest)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, "the other end does not take more now")
        rest = rest[written:]


def write_text(stream: TextIO | None, text: str) -> None:
    """Write `text` to a standard stream. Raises `CliError`."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    write_bytes(stream, [text.encode(encoding, "backslashreplace")])


def _mute(stream: TextIO) -> None:
    """Point a dead stream at nothing, or the interpreter complains once more when it flushes at the end."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _same_file(one: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other) or one.samefile(other)
    return False


def reason(error: OSError | ValueError) -> str:
    """Return the words of the operating system, in lower case: `no space left on device`."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def show(path: Path) -> str:
    """Return a path as people may see it."""
    return clean(str(path))
