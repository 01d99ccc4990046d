"""Real agent histories, read in place; skipped where the folder of transcripts is absent.

The folder is `$LITHIFY_SHARED/transcripts`, or `shared/transcripts` beside the checkout. Event logs, which
are no lists of messages, are passed over. Run with `-s` to see both counts of every history.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import lithify
import pytest
from lithify import errors

from tests import reference
from tests.histories import chars4
from tests.reference.policy import literal

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("LITHIFY_SHARED", ROOT.parent / "shared")) / "transcripts"
KINDS = ("openai", "swe_agent", "api_requests")
WINDOWS = (8_000, 32_000, 128_000)


def histories() -> list[Any]:
    """Every plain list of OpenAI chat or Anthropic messages, as (file, number, messages, system, tools)."""
    found = []
    for kind in KINDS:
        for path in sorted((FOLDER / kind).glob("*")):
            for number, messages, beside in lists(path):
                found.append(pytest.param(messages, beside, id=f"{path.name}-{number}"))
    if not found:
        return [pytest.param(None, None, id="none", marks=pytest.mark.skip(reason=f"no {FOLDER}"))]
    return found


def lists(path: Path) -> list[tuple[int, list[Any], dict[str, Any]]]:
    root = json.loads(path.read_bytes())
    if isinstance(root, dict) and "format" in root and "body" in root:
        if root["format"] not in ("openai", "anthropic"):
            return []
        body = root["body"]
        return [(0, body["messages"], {key: body[key] for key in ("system", "tools") if key in body})]
    several = root if isinstance(root, list) and root and "traj" in root[0] else [root]
    every: list[tuple[int, list[Any], dict[str, Any]]] = [
        (number, messages_of(each), {}) for number, each in enumerate(several)
    ]
    return [one for one in every if "role" in one[1][0]]


def messages_of(root: Any) -> list[Any]:
    if isinstance(root, list):
        return root
    return next(root[key] for key in ("messages", "traj", "history") if key in root)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("messages", "beside"), histories())
def test_real_histories(messages: list[Any], beside: dict[str, Any], window: int) -> None:
    before = copy.deepcopy(messages)
    try:
        result = lithify.compact(messages, window=window, **beside)
    except errors.DoesNotFit as error:
        confirm(messages, beside, window)
        print(f"{window:>7,}: does not fit, irreducible {error.irreducible:,}: {dict(error.core)}")
        return
    assert messages == before
    assert result.tokens_after <= window
    assert lithify.validate(result.messages) == []
    assert lithify.count_tokens(result.messages, **beside) == result.tokens_after
    again = lithify.compact(result.messages, window=window, **beside)
    assert again.messages == result.messages
    assert all(a is b for a, b in zip(again.messages, result.messages, strict=True))
    print(
        f"{window:>7,}: {result.tokens_before:,} tokens before, {result.tokens_after:,} after ({result.rung})"
    )


def confirm(messages: list[Any], beside: dict[str, Any], window: int) -> None:
    """The reference engine, by characters / 4, finds what is irreducible to be over the limit as well.

    The limit is scaled by how the two counters differ on what is left.
    """
    best = lithify.compact(messages, window=window, on_misfit="return", **beside)
    assert lithify.validate(best.messages) == []
    scale = lithify.count_tokens(best.messages, token_counter=chars4, **beside) / best.tokens_after
    answer = reference.compact(
        messages,
        int(window * scale),
        literal(),
        chars4,
        beside.get("system"),
        beside.get("tools"),
        on_misfit="return",
    )
    assert not answer.fits
