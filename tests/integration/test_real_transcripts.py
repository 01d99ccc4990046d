"""Real session logs, read in place; skipped where the folder of transcripts is absent.

The folder is `$LITHIFY_SHARED/transcripts`, or `shared/transcripts` beside the checkout. A table of the
outcomes is written by `python -m tests.tools.session_table`.
"""

from __future__ import annotations

import os
from pathlib import Path

import lithify
import pytest
from lithify import transcripts

from tests.session_checks import WINDOWS, check, context

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("LITHIFY_SHARED", ROOT.parent / "shared")) / "transcripts"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.is_file())
PARAMETERS = [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in FILES] or [
    pytest.param(None, id="none", marks=pytest.mark.skip(reason=f"no {FOLDER}"))
]


@pytest.mark.parametrize("path", PARAMETERS)
def test_load_inspect_compact_and_again(path: Path) -> None:
    """Every prompt that was in force when an epoch ended, at every window."""
    log = transcripts.load(path)
    assert (log.unknown, log.damage) == ((), ())
    for conversation in log.conversations:
        for epoch in conversation.epochs:
            found = lithify.inspect(epoch.messages, format=conversation.format, **context(conversation))
            assert found.messages == len(epoch.messages)
            for window in WINDOWS:
                check(conversation, epoch, window)


@pytest.mark.parametrize("path", PARAMETERS)
def test_requests_lie_in_their_epochs(path: Path) -> None:
    log = transcripts.load(path)
    for conversation in log.conversations:
        for number, epoch in enumerate(conversation.epochs):
            end = epoch.kept if number else 0
            for request in epoch.requests:
                assert request.epoch == number
                assert end <= request.sent <= request.sent + request.received <= len(epoch.messages)
                end = request.sent + request.received
                assert conversation.prompt(request) == epoch.messages[: request.sent]


@pytest.mark.parametrize("path", PARAMETERS)
def test_what_was_sent_agrees_with_what_was_reported(path: Path) -> None:
    """Between two requests the reported prompt grows by about what the log says was added.

    System text and tools are the same in both, so the difference shows whether the messages are those sent.
    """
    log = transcripts.load(path)
    for conversation in log.conversations:
        for epoch in conversation.epochs:
            sizes = [(one.sent, one.input_tokens) for one in epoch.requests if one.input_tokens]
            if len(sizes) < 20:
                continue
            (start, first), (end, last) = sizes[1], sizes[-1]
            assert first is not None
            assert last is not None
            counted = lithify.count_tokens(epoch.messages[start:end], format=conversation.format)
            # Reasoning and images that the log does not show, or that the program drops later, are the rest.
            assert 0.3 < counted / (last - first) < 3
