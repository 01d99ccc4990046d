"""Prints the error table of the token estimate on texts that it was not fitted on.

    python -m benches.python.check_estimate FOLDER [--budget N] [--markdown FILE] [--strict]

FOLDER holds `deb/` and `py/`, the packages unpacked. Transcripts are read from
`$LITHIFY_SHARED/transcripts` when that is set. The truth is tiktoken's `encode_ordinary`. Per class: the
error over all texts, and the 95th percentile of the absolute error over messages of 1,000 characters.
`--strict` fails when a class misses its bounds. The sum is a numpy twin of the one in
`rust/core/src/estimate.rs`, on the same tables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tiktoken

from benches.inputs.fit_estimate import ENCODINGS, OUT, PAIR_ZERO, QUAD_ZERO, STEPS, places
from benches.inputs.fit_held_out import Document, default_roots, load

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE = 1_000
"""Characters per message."""
LEAST = 40
"""Characters of the shortest message that the percentile looks at: the last one of a text may be short."""
BOUND_ALL, BOUND_MESSAGE = 2.0, 10.0
"""Percent that the two errors may reach."""


def predict(raw: bytes, tables: np.ndarray) -> float:
    """Return the estimate of a text in tokens, before rounding."""
    pair, quad = places(np.frombuffer(raw, np.uint8))
    steps = tables[: 1 << 16][pair] + tables[1 << 16 :][quad] - (PAIR_ZERO + QUAD_ZERO)
    return float(max(steps.sum() / STEPS, len(raw) / 64, 1.0))


def strings(node: object) -> Iterator[str]:
    """Yield every string of a JSON value."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def transcripts(shared: Path) -> dict[str, list[Document]]:
    """Return each history under `shared` as a class of its own: its strings, one a line, as one text."""
    out = {}
    for path in sorted((shared / "transcripts").rglob("*.json*")):
        text = path.read_text()
        try:
            values = (
                [json.loads(line) for line in text.splitlines() if line]
                if path.suffix == ".jsonl"
                else [json.loads(text)]
            )
        except json.JSONDecodeError:
            continue
        joined = "\n".join(s for value in values for s in strings(value))
        joined = joined.encode("utf-8", "replace").decode()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if len(joined) > 20 * MESSAGE:
            out[f"transcript {path.stem}"] = [Document("transcripts", path.name, digest, joined)]
    return out


def errors(documents: list[Document], encoding: tiktoken.Encoding, tables: np.ndarray) -> tuple[float, float]:
    """Return (error of the whole, 95th percentile over messages) in percent."""
    true = guess = 0.0
    misses = []
    for document in documents:
        true += len(encoding.encode_ordinary(document.text))
        guess += predict(document.text.encode(), tables)
        messages = (document.text[at : at + MESSAGE] for at in range(0, len(document.text), MESSAGE))
        for message in (m for m in messages if len(m) >= LEAST):
            tokens = len(encoding.encode_ordinary(message))
            if len(message) == MESSAGE or len(documents) == 1:
                misses.append(abs(predict(message.encode(), tables) / tokens - 1))
    return 100 * (guess / true - 1), float(100 * np.percentile(misses, 95)) if misses else 0.0


def table(classes: dict[str, list[Document]]) -> tuple[list[str], int]:
    """Return the rows of the table and the number of cells outside the bounds."""
    tools = [
        (tiktoken.get_encoding(e), np.frombuffer((OUT / f"{n}.bin").read_bytes(), np.uint8).astype(np.int64))
        for n, e in ENCODINGS.items()
    ]
    rows = [
        "| class | characters | o200k whole | o200k p95 | cl100k whole | cl100k p95 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    missed = 0
    for name, documents in classes.items():
        cells = []
        for encoding, weights in tools:
            whole, tail = errors(documents, encoding, weights)
            missed += (abs(whole) > BOUND_ALL) + (tail > BOUND_MESSAGE)
            cells += [
                f"{whole:+.1f} %{' !' if abs(whole) > BOUND_ALL else ''}",
                f"{tail:.1f} %{' !' if tail > BOUND_MESSAGE else ''}",
            ]
        rows.append(f"| {name} | {sum(len(d.text) for d in documents):,} | {' | '.join(cells)} |")
    return rows, missed


def sources(classes: dict[str, list[Document]]) -> list[str]:
    """Return one row per source: its class, its files, one hash over the hashes of its files in order."""
    rows = ["| class | source | files | sha256 over the files' sha256 |", "|---|---|---:|---|"]
    for name, documents in classes.items():
        for source in dict.fromkeys(d.source for d in documents):
            mine = [d.sha256 for d in documents if d.source == source]
            digest = hashlib.sha256(" ".join(mine).encode()).hexdigest()
            rows.append(f"| {name} | `{source}` | {len(mine)} | `{digest}` |")
    return rows


def main() -> int:
    """Print the table, and write it with the sources when asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=int, default=500_000, help="characters per class")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    classes = load(default_roots(options.folder), options.budget)
    if shared := os.environ.get("LITHIFY_SHARED"):
        classes |= transcripts(Path(shared))
    rows, missed = table(classes)
    sys.stdout.write("\n".join([*rows, "", f"{missed} cells outside the bounds (marked !)", ""]))
    if options.markdown:
        options.markdown.write_text(
            "\n".join(
                [*rows, "", f"{missed} cells are outside the bounds (marked !).", "", *sources(classes), ""]
            )
        )
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
