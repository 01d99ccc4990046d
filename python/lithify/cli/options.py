"""Options that several commands share, and the syntax of a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import click

from lithify.cli.session import pick_options

__all__ = [
    "file_argument",
    "format_option",
    "json_option",
    "parse_tokens",
    "quiet_option",
    "window_options",
    "window_settings",
]

F = TypeVar("F", bound=Callable[..., Any])

_TOKENS = re.compile(r"(\d[\d_]*(?:\.\d+)?)([km]?)", re.ASCII | re.IGNORECASE)
_FACTOR = {"": 1, "k": 1_000, "m": 1_000_000}
_MOST = 10**12  # far over any window, far under what the engine can count


def parse_tokens(text: str, *, least: int = 1) -> int:
    """Return the number that `text` says: `200000`, `128_000`, `32k`, `1.5M`; k is 1,000 and M is 1,000,000.

    Raises `ValueError` with a sentence when it is no number, no whole one, or out of range.
    """
    match = _TOKENS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a number of tokens such as 32k, 200k, 1M or 128_000")
    amount = Decimal(match.group(1).replace("_", "")) * _FACTOR[match.group(2).lower()]
    if amount != int(amount):
        raise ValueError(f"{text!r} is not a whole number of tokens")
    if not least <= amount <= _MOST:
        raise ValueError(f"{text!r} is not between {least} and {_MOST:,} tokens")
    return int(amount)


def _tokens(least: int) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """Return a callback that reads an option as tokens."""

    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
        try:
            return None if value is None else parse_tokens(value, least=least)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return read


def file_argument(function: F) -> F:
    """Add FILE, and the options that say what of a session log is meant."""
    return click.argument("file", metavar="FILE", type=click.STRING)(pick_options(function))


format_option = click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="openai_chat, anthropic, responses, gemini or bedrock; found out when not given.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, also for errors.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No report and no progress, only errors.")


def window_options(*, required: bool) -> Callable[[F], F]:
    """Add `--window`, `--model` and `--reserve`; `required` only words the help."""

    def add(function: F) -> F:
        need = "One of --window and --model is needed." if required else "Neither is needed."
        for option in (
            click.option("--reserve", callback=_tokens(0), metavar="N", help="Tokens kept for the reply."),
            click.option("--model", metavar="NAME", help=f"Take the window from the model's name. {need}"),
            click.option(
                "--window", callback=_tokens(1), metavar="N", help="Window in tokens: 32k, 200k, 1M, 128_000."
            ),
        ):
            function = option(function)
        return function

    return add


def window_settings(*, window: int | None, model: str | None, reserve: int | None) -> dict[str, Any]:
    """Return the settings for the library, or fail with a usage error when there is no window."""
    if window is None and model is None:
        raise click.UsageError("give the window: --window 200k, or --model NAME")
    given = {"window": window, "model": model, "reserve": reserve}
    return {name: value for name, value in given.items() if value is not None}
