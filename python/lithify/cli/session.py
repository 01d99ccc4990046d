"""Session logs on the command line: which conversation and which of its epochs is the history at hand.

What goes out for a log is the list of messages in its provider's shape: the log itself belongs to the program
that wrote it. Plain histories (lists, objects that hold one) keep their shape, see `document`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from lithify import transcripts
from lithify.cli.document import Document
from lithify.cli.exits import UNUSABLE, CliError
from lithify.cli.sink import write_text
from lithify.cli.text import clean, plural
from lithify.errors import LithifyError

if TYPE_CHECKING:
    from lithify.transcripts import Conversation, Epoch, Log

__all__ = ["described", "facts", "pick_options", "read_log"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_PLAIN: Final = "messages"
_CONVERSATION: Final = "lithify.conversation"
_EPOCH: Final = "lithify.epoch"


def pick_options(function: F) -> F:
    """Add `--conversation` and `--epoch`, which `read_log` finds in the context of the command."""

    def remember(key: str) -> Callable[[click.Context, click.Parameter, int | None], None]:
        def store(context: click.Context, _parameter: click.Parameter, value: int | None) -> None:
            context.meta[key] = value

        return store

    number = click.IntRange(min=1)
    for name, key, text in (
        ("--epoch", _EPOCH, "Of a session log: the stretch between two compactions, from 1; else the last."),
        (
            "--conversation",
            _CONVERSATION,
            "Of a session log that holds several: which one, from 1; else the first.",
        ),
    ):
        option = click.option(
            name, type=number, metavar="N", expose_value=False, callback=remember(key), help=text
        )
        function = option(function)
    return function


def read_log(data: bytes, name: str, *, quiet: bool) -> Document | None:
    """Return the history that was picked from a session log, or None when `data` is no log.

    Raises `CliError` when the log cannot be read or does not hold what was picked.
    """
    kind = _kind(data)
    if kind is None:
        if any(_picked(key) for key in (_CONVERSATION, _EPOCH)):
            raise CliError(f"{name} is no session log: it holds one history", UNUSABLE)
        return None
    try:
        log = transcripts.load(io.BytesIO(data))
    except LithifyError as error:
        raise CliError(f"{name}: {error}", UNUSABLE, kind=type(error).__name__) from error
    conversation = _nth(log.conversations, _CONVERSATION, "conversation", name) or log.main
    epoch = _nth(conversation.epochs, _EPOCH, "epoch", name) or conversation.epochs[-1]
    beside = {"system": conversation.system, "tools": conversation.tools}
    document = Document(
        name,
        None,
        epoch.messages,
        extras={key: value for key, value in beside.items() if value is not None},
        format=conversation.format,
        facts=facts(log, conversation, epoch),
    )
    if not quiet:
        for line in described(document.facts):
            write_text(sys.stderr, f"lithify: {clean(line)}\n")
    return document


def facts(log: Log, conversation: Conversation, epoch: Epoch) -> dict[str, Any]:
    """Return what a log holds and what of it was picked, as plain data."""
    last = epoch.requests[-1].input_tokens if epoch.requests else None
    return {
        "kind": log.kind,
        "records": log.records,
        "conversations": len(log.conversations),
        "conversation": 1 + next(n for n, one in enumerate(log.conversations) if one is conversation),
        "epoch": 1 + next(n for n, one in enumerate(conversation.epochs) if one is epoch),
        "epochs": [
            {"reason": one.reason, "messages": len(one.messages), "requests": len(one.requests)}
            for one in conversation.epochs
        ],
        "reported_input_tokens": last,
        "events": dict(log.events),
        "unknown": [{"line": one.line, "label": one.label} for one in log.unknown],
        "damage": [{"line": one.line, "problem": one.problem} for one in log.damage],
    }


def described(found: dict[str, Any]) -> list[str]:
    """Say in a few lines what was read, and what was not."""
    epochs = found["epochs"]
    text = f"{found['kind']} log of {plural(found['records'], 'record')}"
    if found["conversations"] > 1:
        text += f", conversation {found['conversation']} of {found['conversations']:,}"
    requests = sum(one["requests"] for one in epochs)
    text += f", epoch {found['epoch']} of {len(epochs)}, {plural(requests, 'request')}"
    lines = [text]
    for what in ("unknown", "damage"):
        several = found[what]
        if several:
            first = several[0]
            noun = "record that is not known" if what == "unknown" else "broken record"
            count = f"{len(several):,} {noun.replace('record', 'records', 1) if len(several) > 1 else noun}"
            lines.append(f"{count}, first in line {first['line']}: {first.get('label') or first['problem']}")
    return lines


def _kind(data: bytes) -> str | None:
    """Return the kind of log, or None for what is a plain history or nothing known."""
    try:
        kind = transcripts.sniff(io.BytesIO(data))
    except LithifyError:
        return None
    # A bare list of contents is a history in its provider's shape already.
    bare = kind == "gemini_cli" and data.lstrip()[:1] == b"["
    return None if kind == _PLAIN or bare else kind


def _picked(key: str) -> int | None:
    context = click.get_current_context(silent=True)
    found = None if context is None else context.meta.get(key)
    return found if isinstance(found, int) else None


def _nth(several: tuple[T, ...], key: str, what: str, name: str) -> T | None:
    number = _picked(key)
    if number is None:
        return None
    if number > len(several):
        raise CliError(f"{name} holds {plural(len(several), what)}: there is no {what} {number}", UNUSABLE)
    return several[number - 1]
