"""Reads the size of the prompt out of the usage that a provider reports.

Providers name it in different words and disagree on whether tokens read from or written to a cache are part
of it. What counts here is what the model read, so cached tokens are always in.

| reported by | input | cached tokens |
|---|---|---|
| OpenAI chat, DeepSeek, Mistral, xAI, vLLM, OpenRouter | `prompt_tokens` | inside |
| OpenAI Responses, LangChain `usage_metadata`, Pydantic AI | `input_tokens` | inside |
| Anthropic | `input_tokens` | beside, in `cache_read_input_tokens` and `cache_creation_input_tokens` |
| Bedrock Converse | `inputTokens` | beside, in `cacheReadInputTokens` and `cacheWriteInputTokens` |
| Gemini, Vertex | `promptTokenCount`, `prompt_token_count` | inside |
| Cohere | `tokens.input_tokens` | none |
| Ollama | `prompt_eval_count` | inside |

Each may be a mapping or an SDK's object, or the reply that holds it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["NoUsage", "checked_count", "reported_input"]


class NoUsage(enum.StrEnum):
    """Why a usage names no input size."""

    MISSING = "missing"
    ZERO = "zero"
    NOT_A_COUNT = "not a count"


# The input's name, and the names of what that provider counts beside it. The order matters where an object
# carries two: LiteLLM adds Anthropic's cache fields to a `prompt_tokens` that already holds them.
_SHAPES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("prompt_tokens", ()),
    ("input_tokens", ("cache_read_input_tokens", "cache_creation_input_tokens")),
    ("promptTokenCount", ()),
    ("prompt_token_count", ()),
    ("inputTokens", ("cacheReadInputTokens", "cacheWriteInputTokens")),
    ("prompt_eval_count", ()),
)

# Where a reply keeps its usage. Anthropic's stream puts it inside `message`, OpenAI's inside `response`.
_HOLDERS: Final = ("usage", "usage_metadata", "usageMetadata")
_ENVELOPES: Final = ("message", "response")


def reported_input(usage: object) -> int | NoUsage:
    """Tokens of the prompt as the model read it, or why they are not known."""
    found = _find(_unwrapped(usage))
    return found if found is not None else NoUsage.MISSING


def checked_count(value: object) -> int | NoUsage:
    """``value`` as a positive integer. A whole float passes, as JSON readers make them; a bool does not."""
    if value is None:
        return NoUsage.MISSING
    # NaN and infinity are no integers either.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return NoUsage.NOT_A_COUNT
    return value or NoUsage.ZERO


def _unwrapped(usage: object) -> object:
    for envelope in (None, *_ENVELOPES):
        reply = usage if envelope is None else _get(usage, envelope)
        for holder in _HOLDERS:
            inner = _get(reply, holder)
            if inner is not None:
                return inner
    return usage


def _find(usage: object, *, nested: bool = False) -> int | NoUsage | None:
    turns = None if nested else _get(usage, "iterations")
    if isinstance(turns, Sequence) and not isinstance(turns, str) and turns:
        # Anthropic's loop on the server sums its rounds; the next call goes on from the last one.
        return _find(turns[-1], nested=True)
    verdict: NoUsage | None = None
    for name, extras in _SHAPES:
        if _get(usage, name) is None:
            continue
        found = _sum(usage, (name, *extras))
        if isinstance(found, int):
            return found
        verdict = verdict or found
    if verdict is None and not nested:
        return _find(_get(usage, "tokens"), nested=True)
    return verdict


def _sum(usage: object, names: Sequence[str]) -> int | NoUsage:
    total = 0
    for name in names:
        found = checked_count(_get(usage, name))
        if isinstance(found, int):
            total += found
        elif found is NoUsage.NOT_A_COUNT:
            return found
    return total or NoUsage.ZERO


def _get(source: object, name: str) -> Any:
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
