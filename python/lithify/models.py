"""What a model can hold: window, reply size, encoding and cache rule, by the name that a caller passes.

A name is looked up in this order; the first hit wins::

    given name      "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    1 registered    register_model(...), by the whole name or by any shorter form below
    2 whole         a host that serves less than the maker: "github_copilot/gpt-4o"
    3 bare          "claude-sonnet-4-5-20250929"     without host, region, vendor, version tag
    4 undated       "claude-sonnet-4-5"              without a date, "latest" or "default"
    5 variant       the longest known name that is followed by "-word": "gpt-4.1-mini-acme" is "gpt-4.1-mini"
    6 family        an unknown model of a known maker: its encoding, and a window that all its models have had
    7 nothing       `DEFAULT_WINDOW`, a plain estimate

Steps 6 and 7 warn with `UnknownModel`. A number after a known name makes a new model, not a variant: a later
"gpt-5.9" is never taken for "gpt-5".

The table is a snapshot that ships with the package, read at the first lookup; nothing is downloaded. The file
beside it names the sources. Lookup costs some microseconds, and every function may be called from any thread.
"""

from __future__ import annotations

import re
import threading
import warnings
from pathlib import Path
from typing import Final, Literal

import msgspec

from lithify.errors import InvalidInput, InvalidPolicy, UnknownModel, describe

__all__ = ["DEFAULT_WINDOW", "Encoding", "Model", "lookup", "names", "register_model", "unregister_model"]

Encoding = Literal["o200k_base", "o200k_harmony", "cl100k_base", "claude", "gemini", "estimate"]
"""How tokens are counted: the first three exactly, the others by an estimate for that maker, or for none."""

DEFAULT_WINDOW: Final = 32_768
"""The window assumed for a model of which nothing is known. Assuming too little costs history, too much an
error. Models on one's own machine, the ones that no table knows, are often served with about this."""

_SNAPSHOT: Final = Path(__file__).parent / "data" / "models.json"
_LONGEST_NAME: Final = 300
# Of the window, when the reply's size is not known or would take more. The same share that the policy
# reserves.
_RESERVE_PERCENT: Final = 15


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One model's limits, in tokens.

    ``window`` is prompt and reply together. ``max_input`` is set where the prompt has a limit of its own
    below the window. ``cache_minimum`` is the shortest prefix that the provider caches. None means not known.
    """

    name: str
    provider: str
    window: int
    max_output: int | None = None
    max_input: int | None = None
    encoding: Encoding = "estimate"
    cache_minimum: int | None = None
    known: bool = True

    def __post_init__(self) -> None:
        for field in ("window", "max_output", "max_input", "cache_minimum"):
            value = getattr(self, field)
            if value is None and field != "window":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidPolicy(
                    field=field, expected="a whole number of tokens above 0", got=describe(value)
                )
        if self.max_input is not None and self.max_input > self.window:
            raise InvalidPolicy(
                field="max_input",
                expected=f"at most the window, {self.window:,}",
                got=describe(self.max_input),
            )

    @property
    def reserve(self) -> int:
        """Tokens kept for the reply: max_output, but no more than 15 % of the window.

        Where the prompt has a limit of its own, what the window holds beyond it is kept free as well. So
        ``window - reserve`` is always an input that the provider takes.
        """
        share = self.window * _RESERVE_PERCENT // 100
        reply = share if self.max_output is None else min(self.max_output, share)
        return max(reply, self.window - (self.max_input or self.window))

    @property
    def input_limit(self) -> int:
        """The largest prompt to aim at: ``window - reserve``, always above 0."""
        return self.window - self.reserve

    @property
    def exact(self) -> bool:
        """Whether the tokens of this model can be counted exactly."""
        return self.encoding in ("o200k_base", "o200k_harmony", "cl100k_base")


def lookup(name: str) -> Model:
    """Find a model by the name used with its provider, or with a gateway in front of it.

    Warns with `UnknownModel` and assumes a small window when the model is not known. Raises `InvalidInput`
    when ``name`` is no text or is empty.
    """
    whole = _checked(name)
    bare = _bare(whole)
    forms = tuple(dict.fromkeys((whole, bare, _undated(bare), _turned(_undated(bare)))))
    with _lock:
        found = next((_registered[form] for form in forms if form in _registered), None)
    if found is None:
        table = _table()
        found = next((table[form] for form in forms if form in table), None) or _variant(table, forms[-1])
    if found is not None:
        return found
    assumed = _assumed(whole, bare)
    warnings.warn(UnknownModel(model=name, window=assumed.window), stacklevel=2)
    return assumed


def register_model(
    name: str,
    *,
    window: int,
    max_output: int | None = None,
    max_input: int | None = None,
    encoding: Encoding = "estimate",
    provider: str = "",
    cache_minimum: int | None = None,
) -> Model:
    """Add a model, or replace what is known about one, for this process.

    It goes before the table, for ``name`` as it is written here, case apart, and for longer names that come
    down to it (``register_model("my-llm", ...)`` serves "azure/my-llm" and "my-llm-2026-01-01"). Raises
    `InvalidInput` for a bad name and `InvalidPolicy` for a bad figure.
    """
    key = _checked(name)
    if encoding not in Encoding.__args__:  # type: ignore[attr-defined]
        raise InvalidPolicy(
            field="encoding",
            expected="one of " + ", ".join(Encoding.__args__),  # type: ignore[attr-defined]
            got=describe(encoding),
        )
    model = Model(
        name=key,
        provider=provider,
        window=window,
        max_output=max_output,
        max_input=max_input,
        encoding=encoding,
        cache_minimum=cache_minimum,
    )
    with _lock:
        _registered[key] = model
    return model


def unregister_model(name: str) -> None:
    """Take back a `register_model`; the table counts again. Raises `InvalidInput` when there was none."""
    key = _checked(name)
    with _lock:
        if _registered.pop(key, None) is None:
            raise InvalidInput(
                field="name",
                expected="a registered model",
                got=describe(name),
                remedy="Pass the name that was registered.",
            )


def names() -> list[str]:
    """Every name in the table and every registered one, sorted."""
    with _lock:
        return sorted({*_table_unlocked(), *_registered})


class _Group(msgspec.Struct, forbid_unknown_fields=True):
    """Models that have all but their sizes in common: ``name: [window, max_output, max_input]``."""

    provider: str
    encoding: Encoding
    cache_minimum: int | None
    models: dict[str, list[int | None]]


class _Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal[1]
    groups: list[_Group]


_lock = threading.Lock()
_registered: dict[str, Model] = {}
_loaded: dict[str, Model] = {}


def _table() -> dict[str, Model]:
    with _lock:
        return _table_unlocked()


def _table_unlocked() -> dict[str, Model]:
    if not _loaded:
        snapshot = msgspec.json.decode(_SNAPSHOT.read_bytes(), type=_Snapshot)
        for group in snapshot.groups:
            for name, sizes in group.models.items():
                window, max_output, max_input = (*sizes, None, None, None)[:3]
                _loaded[name] = Model(
                    name=name,
                    provider=group.provider,
                    window=window or 0,
                    max_output=max_output,
                    max_input=max_input,
                    encoding=group.encoding,
                    cache_minimum=group.cache_minimum,
                )
    return _loaded


def _checked(name: str) -> str:
    if isinstance(name, str):
        key = name.strip().lower()
        if key and len(key) <= _LONGEST_NAME:
            return key
    raise InvalidInput(
        field="model",
        expected=f"a model name of 1 to {_LONGEST_NAME} characters",
        got=describe(name),
        remedy="Pass the name that the provider's API takes.",
    )


# Bedrock: region, then vendor ("us.anthropic."), then a version tag ("-v1:0"). Vertex: "@date", "-maas".
_REGION: Final = re.compile(r"^(?:us-gov|us|eu|apac|ap|jp|au|ca|sa|uk|in|mx|me|af|il|global)\.(?=[a-z])")
_VENDOR: Final = re.compile(r"^[a-z][a-z0-9]*\.(?=[a-z])")
_VERSION: Final = re.compile(r"-(?:v?\d+:\d.*|maas)$")
# The version tag without its colon, for the makers whose names never end so: "deepseek-v3" is a name.
_SHORT_VERSION: Final = re.compile(r"^((?:claude|nova)-.*)-v\d$")
# Of the forms that makers use: 2025-09-29, 20250929, 09-2025, 05-20, 0613 (month and day), 2512 (year and
# month).
_DATE: Final = re.compile(
    r"-(?:20\d\d-\d\d-\d\d|20\d{6}|\d\d-20\d\d|[01]\d-[0-3]\d|[01]\d[0-3]\d|2[3-9][01]\d|latest|default)$"
)
_SWAPPED: Final = re.compile(r"^claude-((?:[4-9]|\d\d)(?:-\d+)?)-([a-z]+)$")


def _bare(name: str) -> str:
    """Strip what a host or gateway puts around the maker's own name.

    Example: ``openrouter/anthropic/claude-3.5-sonnet:beta`` -> ``claude-3-5-sonnet``.
    """
    if name.startswith("ft:"):  # OpenAI: ft:BASE:organization:suffix:id
        name = name[3:].partition(":")[0]
    name = name.rsplit("/", 1)[-1]
    name = _VENDOR.sub("", _REGION.sub("", name))
    name = name.partition("@")[0]
    name = _VERSION.sub("", name).partition(":")[0] or name
    name = _SHORT_VERSION.sub(r"\1", name)
    if name.startswith("claude"):
        # Gateways write "claude-3.5-sonnet", Anthropic "claude-3-5-sonnet".
        name = name.replace(".", "-")
    return name.replace("gpt-35-", "gpt-3.5-").replace("meta-llama-", "llama-")


def _undated(name: str) -> str:
    shorter = _DATE.sub("", name)
    return name if shorter == name else _undated(shorter)


def _turned(name: str) -> str:
    """Put the size first, as Anthropic has done since version 4; some still write claude-4-sonnet."""
    return _SWAPPED.sub(r"claude-\2-\1", name)


def _variant(table: dict[str, Model], name: str) -> Model | None:
    at = len(name)
    while (at := name.rfind("-", 0, at)) > 0:
        if name[at + 1 : at + 2].isalpha() and name[:at] in table:
            return table[name[:at]]
    return None


# A maker's encoding, and the smallest window among the models it has on offer: later ones have never had
# less.
_FAMILIES: Final[tuple[tuple[re.Pattern[str], str, Encoding, int], ...]] = (
    (re.compile(r"claude\b"), "anthropic", "claude", 200_000),
    (re.compile(r"gemini\b"), "google", "gemini", 131_072),
    (re.compile(r"(?:chat)?gpt-(?:4\.[1-9]|4o|[5-9]|\d\d)|o\d(?:-|$)"), "openai", "o200k_base", 128_000),
)


def _assumed(whole: str, bare: str) -> Model:
    for pattern, provider, encoding, window in _FAMILIES:
        if pattern.match(bare):
            return Model(name=whole, provider=provider, window=window, encoding=encoding, known=False)
    return Model(name=whole, provider="", window=DEFAULT_WINDOW, known=False)
