"""A sign of life on stderr, only while a person watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["working"]


@contextmanager
def working(what: str, *, quiet: bool) -> Iterator[None]:
    """Show a spinner with `what` while the block runs; nothing when stderr is no terminal, or rich is absent.

    It never goes to stdout, which may carry the history.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    try:
        from rich.console import Console  # noqa: PLC0415 (an extra)
        from rich.text import Text  # noqa: PLC0415
    except ModuleNotFoundError:
        yield
        return
    with Console(stderr=True).status(Text(what)):
        yield
