"""Runs every real session log through load, inspect, compact and compact again, and prints a table.

    python -m tests.tools.session_table [FOLDER] > benches/record/sessions.md

The checks are those of `tests/session_checks.py`; the first that fails ends the run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lithify import transcripts

from tests.session_checks import WINDOWS, check

HEAD = ("log", "kind", "format", "histories", "epochs", "requests", "with usage", "messages", "tokens")

TITLE = """# Real session logs

Written by `python -m tests.tools.session_table`. Every epoch of every history is compacted to each window and
again: valid, within the window, unchanged the second time. A cell holds the tokens after, summed over what
fits, and how many do not fit (each confirmed by the reference engine).
"""


def main() -> None:
    """Print the table, one row a file."""
    shared = os.environ.get("LITHIFY_SHARED", Path(__file__).resolve().parents[3] / "shared")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(shared) / "transcripts"
    files = sorted(path for path in folder.glob("*/*") if path.is_file())
    if not files:
        sys.exit(f"no session logs in {folder}")
    columns = (*HEAD, *(f"at {window:,}" for window in WINDOWS))
    print(TITLE)
    print("|" + "|".join(columns) + "|")
    print("|" + "---|" * len(columns))
    for path in files:
        print(row(path), flush=True)


def row(path: Path) -> str:
    """Return the cells of one file."""
    log = transcripts.load(path)
    prompts = [(one, epoch) for one in log.conversations for epoch in one.epochs]
    requests = [request for one in log.conversations for request in one.requests]
    cells = []
    before = 0
    for window in WINDOWS:
        outcomes = [check(conversation, epoch, window) for conversation, epoch in prompts]
        before = sum(one.before for one in outcomes)
        misfits = sum(one.after is None for one in outcomes)
        after = sum(one.after or 0 for one in outcomes)
        cells.append(f"{after:,}" + (f", {misfits} too large" if misfits else ""))
    return "|".join(
        (
            "",
            f"{path.parent.name}/{path.name}",
            log.kind,
            log.format,
            str(len(log.conversations)),
            str(len(prompts)),
            str(len(requests)),
            str(sum(request.usage is not None for request in requests)),
            f"{sum(len(epoch.messages) for _, epoch in prompts):,}",
            f"{before:,}",
            *cells,
            "",
        )
    )


if __name__ == "__main__":
    main()
