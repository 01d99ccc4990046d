"""The kinds of logs, in the order in which a file is tried against them: the plainest shape comes last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lithify.transcripts import (
    claude_code,
    codex,
    gemini_cli,
    langchain,
    messages,
    openhands,
    sharegpt,
    swe_agent,
    tau_bench,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lithify.transcripts.reader import Reader

__all__ = ["KINDS", "READERS", "find"]

READERS: Final = cast(
    "tuple[Reader, ...]",
    (claude_code, codex, gemini_cli, swe_agent, tau_bench, openhands, sharegpt, langchain, messages),
)

KINDS: Final = tuple(reader.KIND for reader in READERS)
"""The names that `Log.kind` can have."""


def find(values: Sequence[Any]) -> Reader | None:
    """Return the reader that knows the first records of a file, or None."""
    return next((reader for reader in READERS if reader.sniff(values)), None)
