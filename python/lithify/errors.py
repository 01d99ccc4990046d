"""Everything that Lithify raises or warns with.

::

    Exception
    └── LithifyError               base: catch this one to catch them all
        ├── InvalidInput           (also ValueError) something handed in has the wrong shape
        │   ├── UnknownFormat      no provider's shape was recognized
        │   ├── MixedFormats       messages of two providers in one history
        │   └── InvalidJSON        the text is not JSON; says where
        ├── InvalidPolicy          (also ValueError) a setting is out of range or contradicts another
        ├── PinnedInvalid          a pinned message would have to change for the history to be valid
        ├── DoesNotFit             what may not be removed is larger than the input limit
        └── CounterError           the caller's own token counter raised or returned nonsense

    UserWarning
    └── UnknownModel               a model that the table does not know; a small window is assumed

Three promises hold for each class:

* The facts are attributes (``index``, ``field``, ``tokens``, ``limit``, ...): nobody has to parse a message.
* The message is made of full sentences: what happened, the figures, what to do.
* Text that came from a history is never quoted beyond ``PREVIEW_LIMIT`` characters: messages end up in
  logs.

All of them survive ``pickle`` and ``copy``, so they cross process borders with their attributes.
"""

# These names say what is wrong with the input. "InvalidInputError" would say it twice.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final

__all__ = [
    "PREVIEW_LIMIT",
    "CounterError",
    "DoesNotFit",
    "InvalidInput",
    "InvalidJSON",
    "InvalidPolicy",
    "LithifyError",
    "MixedFormats",
    "PinnedInvalid",
    "UnknownFormat",
    "UnknownModel",
    "describe",
]

PREVIEW_LIMIT: Final = 80
"""The most characters of a caller's value that an error shows."""

# Beyond this many bits an integer is described by its size. CPython refuses to print more than 4,300 digits.
_PRINTABLE_BITS: Final = 128


def describe(value: object) -> str:
    """Say what ``value`` is, in at most ``PREVIEW_LIMIT`` characters on one line.

    Scalars are shown, text is quoted and cut, containers are named by type and size only. No method of a
    foreign class but ``len`` is called, so a hostile ``__repr__`` is never run.
    """
    return _one_line(_describe(value))


def _describe(value: object) -> str:
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        bits = int.bit_length(value)
        return int.__repr__(value) if bits <= _PRINTABLE_BITS else f"an integer of {bits:,} bits"
    if isinstance(value, str):
        return _quoted(value)
    name = type(value).__qualname__
    if isinstance(value, Mapping | Sequence | AbstractSet):
        return f"{name} of length {_length(value)}"
    return f"an object of type {name}"


def _quoted(text: str) -> str:
    shown = str.__repr__(text[:PREVIEW_LIMIT])
    size = f" ({len(text):,} characters)"
    if len(shown) <= PREVIEW_LIMIT and len(text) <= PREVIEW_LIMIT:
        return shown
    return shown[: PREVIEW_LIMIT - len(size) - 2] + "…" + shown[0] + size


def _length(value: Any) -> str:
    try:
        return f"{len(value):,}"
    except Exception:  # noqa: BLE001  an error about the input must not be replaced by one of the input's own
        return "unknown"


def _one_line(text: str) -> str:
    """Escape what would break a log line or cannot be encoded, then cut to the limit."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return text if len(text) <= PREVIEW_LIMIT else text[: PREVIEW_LIMIT - 1] + "…"


def _place(index: int | None, field: str | None) -> str:
    parts = []
    if index is not None:
        parts.append(f"message {index}")
    if field is not None:
        parts.append(f"field {_one_line(field)}")
    text = ", ".join(parts) or "the input"
    return text[0].upper() + text[1:]


class _Portable:
    """Rebuilds an exception without calling ``__init__``, whose arguments are keyword-only."""

    args: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args), self.__dict__


def _rebuild(cls: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    return cls.__new__(cls, *args)


class LithifyError(_Portable, Exception):
    """Base of every error that Lithify raises on purpose."""


class InvalidInput(LithifyError, ValueError):
    """Something handed in does not have the shape that it should have.

    Attributes:
        index: position of the message in the history, from 0; ``None`` when it is not about one message.
        field: path inside the message (``content[2].text``) or the name of the argument; or ``None``.
        expected: what is accepted there.
        got: what was found, at most ``PREVIEW_LIMIT`` characters. Pass ``describe(value)``.
        remedy: what the caller can do, a full sentence.

    """

    default_remedy = "Correct this value and call again."

    def __init__(
        self,
        *,
        expected: str,
        got: str,
        index: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.index = index
        self.field = field
        self.expected = expected
        self.got = _one_line(got)
        self.remedy = self.default_remedy if remedy is None else remedy
        super().__init__(f"{_place(index, field)}: expected {expected}, got {self.got}. {self.remedy}")


class UnknownFormat(InvalidInput):
    """The history has the shape of none of the known providers."""

    default_remedy = "Name the format with format=, or convert the history first."

    def __init__(
        self,
        *,
        got: str,
        expected: str = "messages in the shape of OpenAI chat, OpenAI Responses, Anthropic or Gemini",
        index: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(expected=expected, got=got, index=index, field=field, remedy=remedy)


class MixedFormats(InvalidInput):
    """One history holds messages of more than one provider.

    Attributes:
        formats: the names of the formats seen, in order of appearance.

    """

    default_remedy = "Convert all messages to one format, or compact the two histories apart."

    def __init__(
        self,
        *,
        formats: Sequence[str],
        index: int | None = None,
        field: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.formats = tuple(formats)
        first = self.formats[0] if self.formats else "one format"
        super().__init__(
            expected=expected or f"{first} throughout, as the messages before",
            got=got or " and ".join(self.formats[1:]) or "another format",
            index=index,
            field=field,
            remedy=remedy,
        )


class InvalidJSON(InvalidInput):
    """The text is not valid JSON.

    Attributes:
        line: line of the fault, from 1.
        column: column of the fault in characters, from 1.
        offset: position of the fault in bytes from the start of the text, from 0.

    """

    default_remedy = "Check that the file is complete and is JSON or JSON lines."

    def __init__(
        self,
        *,
        line: int,
        column: int,
        offset: int,
        expected: str = "valid JSON",
        got: str = "something else",
        index: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.line = line
        self.column = column
        self.offset = offset
        super().__init__(
            expected=expected,
            got=got,
            index=index,
            field=field,
            remedy=f"The fault is at line {line}, column {column} (byte {offset:,}). "
            + (self.default_remedy if remedy is None else remedy),
        )


class InvalidPolicy(LithifyError, ValueError):
    """A setting is out of range, has the wrong type, or contradicts another one.

    Attributes:
        field: path of the setting, as in ``clear.trigger``.
        expected: what is accepted there.
        got: what was found, at most ``PREVIEW_LIMIT`` characters.

    """

    def __init__(self, *, field: str, expected: str, got: str) -> None:
        self.field = field
        self.expected = expected
        self.got = _one_line(got)
        super().__init__(
            f"Setting {_one_line(field)}: expected {expected}, got {self.got}. "
            "Change it, or leave it out to use the default."
        )


class PinnedInvalid(LithifyError):
    """A pinned message breaks a rule of its provider, and a pin forbids to change it.

    Validity goes before pins, and a pin goes before a repair: so neither is done silently.

    Attributes:
        index: position of the pinned message, from 0.
        field: path of what is wrong inside it, or ``None``.
        rule: the rule it breaks, as a sentence without a full stop.

    """

    def __init__(self, *, index: int, rule: str, field: str | None = None) -> None:
        self.index = index
        self.field = field
        self.rule = rule
        super().__init__(
            f"{_place(index, field)}: the message is pinned, but the provider rejects it as it is: {rule}. "
            "Remove the pin, or correct the message yourself."
        )


_CORE_NAMES: Final = {
    "system": "system text",
    "tools": "tool definitions",
    "pins": "pinned messages",
    "first_user": "first user message",
    "current": "current messages",
}

_CORE_REMEDIES: Final = {
    "system": "shorten the system text",
    "tools": "offer fewer tools or shorter schemas",
    "pins": "remove pins",
    "first_user": "shorten the first user message",
    "current": "shorten the newest messages, or send them in parts",
}


class DoesNotFit(LithifyError):
    """Nothing more may be removed and the history is still larger than the input limit.

    Attributes:
        tokens: size of ``best``, in tokens.
        limit: the input limit (window less reserve), in tokens.
        irreducible: tokens of all that may never be removed.
        core: where those tokens are: a read-only mapping with the keys ``system``, ``tools``, ``pins``,
            ``first_user`` and ``current``; a key may be missing.
        best: the smallest valid history that was reached; the caller's history is untouched.

    """

    def __init__(
        self,
        *,
        tokens: int,
        limit: int,
        irreducible: int,
        core: Mapping[str, int],
        best: Any = None,
    ) -> None:
        self.tokens = tokens
        self.limit = limit
        self.irreducible = irreducible
        self._core = dict(core)
        self.best = best
        over = max(tokens, irreducible) - limit
        super().__init__(
            f"The history cannot be made to fit: the smallest valid form has {tokens:,} tokens, the input "
            f"limit is {limit:,}, so {over:,} are too many. "
            f"What may not be removed is {irreducible:,} tokens{self._shares()}. "
            f"Use a model with a larger window, lower the reserve, or {self._first_remedy()}. "
            'With on_misfit="return" the best history comes back with fits=False.'
        )

    @property
    def core(self) -> Mapping[str, int]:
        """Tokens of each part of what may not be removed."""
        return MappingProxyType(self._core)

    def _shares(self) -> str:
        parts = [f"{_CORE_NAMES.get(name, name)} {count:,}" for name, count in self._core.items() if count]
        return f" ({', '.join(parts)})" if parts else ""

    def _first_remedy(self) -> str:
        largest = max(self._core, key=lambda name: self._core[name], default="current")
        return _CORE_REMEDIES.get(largest, _CORE_REMEDIES["current"])


class CounterError(LithifyError):
    """The caller's token counter raised, or returned something that is no count.

    The counter's own exception, if there was one, is the ``__cause__``.

    Attributes:
        index: position of the message that was being counted, from 0, or ``None`` for other text.
        got: what the counter returned or raised, at most ``PREVIEW_LIMIT`` characters.

    """

    def __init__(self, *, got: str, index: int | None = None) -> None:
        self.index = index
        self.got = _one_line(got)
        where = "a text" if index is None else f"message {index}"
        super().__init__(
            f"The token counter failed on {where}: expected an integer of 0 or more, got {self.got}. "
            "Correct the counter, or leave out token_counter= to use the built-in estimate."
        )


class UnknownModel(_Portable, UserWarning):
    """The model is not in the table, so a conservative default is assumed.

    Attributes:
        model: the name as it was given, at most ``PREVIEW_LIMIT`` characters.
        window: the window that is assumed, in tokens.

    """

    def __init__(self, *, model: str, window: int) -> None:
        self.model = _one_line(model)
        self.window = window
        super().__init__(
            f"Model {self.model} is not known; a window of {window:,} tokens is assumed. "
            "Pass window=, or call lithify.models.register_model(name, window=...) once at the start."
        )
