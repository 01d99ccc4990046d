"""Fits the tables of `rust/core/src/estimate` and writes them: `python -m benches.inputs.fit_estimate`.

Needs numpy and tiktoken. Texts: the library that comes with Python 3.11, and what `fit_generate.py`,
`fit_code.py` and `fit_languages.py` make from it, from our own words and from the vocabularies. No text
by others is read.

A place is a byte with the two before it and the one after. Its target is 1 where a token starts, else 0.
Two tables (pairs, quads) are fitted by turns to the weighted mean of what the other leaves, each mean
drawn towards zero by a few imagined places. The result is rounded to steps of 1/128 token.
"""

from __future__ import annotations

import random
import re
import sysconfig
from pathlib import Path

import numpy as np
import tiktoken

from .fit_generate import generate
from .fit_languages import SCRIPTS, Language

STEPS, PAIR_ZERO, QUAD_ZERO = 128, 48, 128
PULL = (1.0, 30.0)
ROUNDS = 6
BUDGET = 1_000_000
"""Characters made per class; about, and a class may hold twice that from the library."""
CAP = 2_000_000
"""Bytes used per class."""
MASS = {
    "python": 3.0,
    "english": 8.0,
    "c_headers": 1.5,
    "html": 1.5,
    "text": 2.0,
    "latin": 0.25,
    "french": 0.6,
}
"""Weight of a class; text as people wrote it counts for more than text that was made up."""
GAP = 3
"""Zero bytes between two texts: an edge of a text looks the same to the fit and to the estimate."""
OUT = Path(__file__).parents[2] / "rust/core/src/estimate"
ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}


def library(std: Path, budget: int) -> dict[str, list[str]]:
    """Return the texts that come with Python, by class, about `budget` characters each."""
    files = [
        p for p in std.rglob("*.py") if "site-packages" not in p.parts and "lib2to3/tests" not in p.as_posix()
    ]
    random.Random(5).shuffle(files)
    out: dict[str, list[str]] = {
        "python": [],
        "english": [(std / "pydoc_data/topics.py").read_text()],
        "c_headers": [],
        "html": [],
        "text": [],
    }
    size = 0
    for path in files:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        docs = [
            re.sub(r"\n[ \t]+", "\n", d) for d in re.findall(r'(?s)"""(.*?)"""', text) if d.count("\n") > 2
        ]
        out["english"].extend(docs)
        notes = re.sub(r"(?m)^\s*# ?", "", "\n".join(re.findall(r"(?m)(?:^[ \t]*#.*\n){3,}", text)))
        out["english"].append(notes)
        if size < budget:
            out["python"].append(text[:100_000])
            size += len(out["python"][-1])
    include = std.parent.parent / "include"
    out["c_headers"] = [p.read_text(errors="replace")[:100_000] for p in sorted(include.rglob("*.h"))]
    out["html"] = [
        p.read_text(errors="replace") for p in sorted(std.rglob("*.html")) if "site-packages" not in p.parts
    ]
    out["text"] = [
        p.read_text(errors="replace")[:60_000]
        for p in sorted(std.rglob("*.txt"))
        if "site-packages" not in p.parts
    ]
    return out


def texts(budget: int) -> dict[str, list[str]]:
    """Return every text of the fit by class."""
    std = Path(sysconfig.get_paths()["stdlib"])
    out = library(std, 2 * budget)
    for name, more in generate(std, budget).items():
        out.setdefault(name, []).extend(more)
    wheel = next((std / "ensurepip/_bundled").glob("pip-*.whl"))
    richest = tiktoken.get_encoding(ENCODINGS["o200k"])
    for name in SCRIPTS:
        language = Language(name, richest, wheel, random.Random(name))
        size, mine = 0, out.setdefault(name, [])
        while size < budget // 2:
            mine.append(language.text())
            size += len(mine[-1])
    return {name: [t for t in some if t] for name, some in out.items()}


def marks(text: str, encoding: tiktoken.Encoding) -> np.ndarray:
    """Return 1 for each byte of `text` that starts a token, else 0."""
    pieces = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    starts = np.zeros(sum(map(len, pieces)), np.uint8)
    starts[np.cumsum([0, *map(len, pieces[:-1])])] = 1
    return starts


def places(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two table indices of every byte: by pair, and by hashed quad."""
    padded = np.concatenate([np.zeros(2, np.uint8), data, np.zeros(1, np.uint8)]).astype(np.uint32)
    n = len(data)
    quad = padded[:n] | padded[1 : n + 1] << 8 | padded[2 : n + 2] << 16 | padded[3 : n + 3] << 24
    return (quad >> 8 & 0xFFFF).astype(np.int32), (quad * np.uint32(0x9E3779B1) >> 16).astype(np.int32)


def gather(classes: dict[str, list[str]], encoding: tiktoken.Encoding) -> tuple[np.ndarray, ...]:
    """Return pair index, quad index, target and weight of every place of every class."""
    out: list[tuple[np.ndarray, ...]] = []
    for name, some in classes.items():
        data, target, size = [], [], 0
        for text in some:
            raw = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
            data += [raw, np.zeros(GAP, np.uint8)]
            target += [marks(raw.tobytes().decode(), encoding), np.full(GAP, 2, np.uint8)]
            size += len(raw)
            if size > CAP:
                break
        flat, goal = np.concatenate(data), np.concatenate(target)
        real = goal < 2
        pair, quad = places(flat)
        weight = np.full(real.sum(), MASS.get(name, 1.0) * (1e6 / real.sum()) ** 0.5, np.float32)
        out.append((pair[real], quad[real], goal[real].astype(np.float32), weight))
    return tuple(np.concatenate(column) for column in zip(*out, strict=True))


def fit(columns: tuple[np.ndarray, ...]) -> bytes:
    """Return the two tables of one encoding as the file that Rust embeds."""
    pair, quad, goal, weight = columns
    tables = [np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.float32)]
    indices = [pair, quad]
    mass = [np.bincount(i, weights=weight, minlength=1 << 16) for i in indices]
    guess = np.zeros(len(goal), np.float32)
    for _ in range(ROUNDS):
        for k, index in enumerate(indices):
            left = goal - guess + tables[k][index]
            new = (np.bincount(index, weights=left * weight, minlength=1 << 16) / (mass[k] + PULL[k])).astype(
                np.float32
            )
            guess += new[index] - tables[k][index]
            tables[k] = new
    zeros = (PAIR_ZERO, QUAD_ZERO)
    return b"".join(
        np.clip(np.rint(t * STEPS) + z, 0, 255).astype(np.uint8).tobytes()
        for t, z in zip(tables, zeros, strict=True)
    )


def main() -> None:
    """Fit both encodings and write their tables."""
    classes = texts(BUDGET)
    for name, encoding in ENCODINGS.items():
        (OUT / f"{name}.bin").write_bytes(fit(gather(classes, tiktoken.get_encoding(encoding))))


if __name__ == "__main__":
    main()
