"""Calling the library on a document: its errors become sentences with file and line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from lithify.cli import exits
from lithify.cli.document import Document, parse
from lithify.cli.exits import CliError
from lithify.cli.progress import working
from lithify.cli.session import read_log
from lithify.cli.sink import write_text
from lithify.cli.source import display_name, read_bytes
from lithify.cli.text import clean
from lithify.errors import DoesNotFit, LithifyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call", "context", "input_limit", "load"]

T = TypeVar("T")


def load(file: str, *, quiet: bool) -> Document:
    """Read and parse FILE."""
    name = display_name(file)
    with working(f"reading {name}", quiet=quiet):
        data = read_bytes(file)
        return read_log(data, name, quiet=quiet) or parse(data, name, file=file)


def context(document: Document) -> dict[str, Any]:
    """Return `system` and `tools` that stand beside the list, as keyword arguments."""
    found = {key: document.beside(key) for key in ("system", "tools")}
    return {key: value for key, value in found.items() if value is not None}


def call(document: Document, function: Callable[..., T], *, quiet: bool, **settings: Any) -> T:
    """Run `function` on the messages of `document`.

    Raises `CliError` for every error of the library; an index is given with its line.
    """
    if document.format is not None and settings.get("format") is None:
        settings["format"] = document.format
    what = f"{function.__name__}: {len(document.messages):,} messages"
    try:
        with working(what, quiet=quiet), _warnings_as_lines(quiet=quiet):
            return function(document.messages, **settings)
    except DoesNotFit as error:
        message = f"{document.name}: {_misfit(error)}"
        raise CliError(message, exits.DOES_NOT_FIT, **_details(error)) from error
    except LithifyError as error:
        where = document.where(getattr(error, "index", None))
        raise CliError(f"{document.name}{where}: {error}", exits.UNUSABLE, **_details(error)) from error
    except RecursionError as error:
        raise CliError(
            f"{document.name}: nested too deeply", exits.UNUSABLE, kind="RecursionError"
        ) from error


@contextmanager
def _warnings_as_lines(*, quiet: bool) -> Iterator[None]:
    """Show warnings of the library (an unknown model) as lines on stderr, without a place in our code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in () if quiet else caught:
        write_text(sys.stderr, f"lithify: warning: {clean(str(warning.message))}\n")


def input_limit(*, window: int | None, model: str | None, reserve: int | None) -> int | None:
    """Return the window minus the reserve, or None when neither a window nor a model was named."""
    if window is None and model is None:
        return None
    import lithify  # noqa: PLC0415 (the engine is loaded when it is needed)

    probe = Document("--window", None, [{"role": "user", "content": "."}])
    settings = {"window": window, "model": model, "reserve": reserve, "on_misfit": "return"}
    return call(probe, lithify.compact, quiet=True, **settings).limit


def _misfit(error: DoesNotFit) -> str:
    """Say what is too large in words of the command line."""
    parts = ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in error.core.items() if tokens)
    return (
        f"does not fit: the smallest valid form has {error.tokens:,} tokens, the limit is {error.limit:,}. "
        f"What may not be removed is {error.irreducible:,} tokens ({parts}). Nothing was written; "
        "take a larger --window, a smaller --reserve, or shorten that part."
    )


def _details(error: LithifyError) -> dict[str, object]:
    """Return the figures of an error for `--json`; the best history reached is left out, for its size."""
    names = ("index", "field", "expected", "got", "remedy", "rule", "tokens", "limit", "irreducible", "core")
    found = {name: getattr(error, name, None) for name in names}
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in found.items()}
    return {"kind": type(error).__name__} | {
        name: value for name, value in plain.items() if value is not None
    }
