"""What has to hold for a real session at a window: compacted, valid, compacted again, or too large."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import lithify
from lithify import errors

from tests import reference
from tests.histories import chars4
from tests.reference.policy import literal

if TYPE_CHECKING:
    from lithify.transcripts import Conversation, Epoch

__all__ = ["WINDOWS", "Outcome", "check", "context"]

WINDOWS = (8_000, 32_000, 128_000)


class Outcome(NamedTuple):
    """What became of one prompt: `after` is None when it does not fit."""

    before: int
    after: int | None
    rung: str


def context(conversation: Conversation) -> dict[str, Any]:
    beside = {"system": conversation.system, "tools": conversation.tools}
    return {key: value for key, value in beside.items() if value is not None}


def check(conversation: Conversation, epoch: Epoch, window: int) -> Outcome:
    """Compact one epoch and assert every promise; a `DoesNotFit` is confirmed by the reference engine."""
    messages, beside, form = epoch.messages, context(conversation), conversation.format
    before = copy.deepcopy(messages)
    size = lithify.inspect(messages, format=form, **beside).total
    irreducible = 0
    try:
        result = lithify.compact(messages, window=window, format=form, **beside)
    except errors.DoesNotFit as error:
        irreducible = error.irreducible
    assert messages == before
    if irreducible:
        assert irreducible > window
        confirm(conversation, messages, window)
        return Outcome(size, None, "does not fit")
    assert result.tokens_after <= window
    assert lithify.validate(result.messages, format=form) == []
    assert lithify.count_tokens(result.messages, format=form, **beside) == result.tokens_after
    again = lithify.compact(result.messages, window=window, format=form, **beside)
    assert len(again.messages) == len(result.messages)
    assert all(a is b for a, b in zip(again.messages, result.messages, strict=True))
    return Outcome(size, result.tokens_after, result.rung)


def confirm(conversation: Conversation, messages: list[dict[str, Any]], window: int) -> None:
    """The reference engine, by characters / 4, finds it to be over the limit as well.

    The limit is scaled by how the two counters differ on what is left. The reference knows OpenAI chat and
    Anthropic; a history of another shape is told to it as OpenAI chat.
    """
    beside, form = context(conversation), conversation.format
    best = lithify.compact(messages, window=window, format=form, on_misfit="return", **beside)
    assert not best.fits
    assert lithify.validate(best.messages, format=form) == []
    scale = (
        lithify.count_tokens(best.messages, token_counter=chars4, format=form, **beside) / best.tokens_after
    )
    known = form in ("openai_chat", "anthropic")
    told = messages if known else as_chat(messages)
    system = conversation.system if known or conversation.system is None else json.dumps(conversation.system)
    limit = int(window * scale)
    answer = reference.compact(told, limit, literal(), chars4, system, conversation.tools, on_misfit="return")
    assert not answer.fits


def as_chat(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tell Responses items and Gemini contents as OpenAI chat, with all their text."""
    told: list[dict[str, Any]] = []
    for message in messages:
        kind = message.get("type", "message")
        if "parts" in message:
            told.append(
                {
                    "role": {"model": "assistant"}.get(message["role"], "user"),
                    "content": json.dumps(message["parts"]),
                }
            )
        elif kind == "message":
            role = "system" if message["role"] == "developer" else message["role"]
            told.append({"role": role, "content": json.dumps(message["content"])})
        elif kind.endswith("_call") and "call_id" in message:
            given = {
                "name": message.get("name", kind),
                "arguments": json.dumps(message.get("arguments", message.get("input"))),
            }
            call = {"id": message["call_id"], "type": "function", "function": given}
            told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind.endswith("_output"):
            told.append({"role": "tool", "tool_call_id": message["call_id"], "content": json.dumps(message)})
        else:
            told.append({"role": "assistant", "content": json.dumps(message)})
    return told
