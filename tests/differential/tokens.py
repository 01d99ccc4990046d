"""Compare the exact counters with tiktoken on many generated strings.

    python -m tests.differential.tokens --count 1000000 [--encoding o200k_base] [--seed 0] [--jobs 2]

Every string is a pure function of seed and index (`bpe_strings`), so a difference can be shown again.
Tiktoken needs its rank files. Where there is no network, `python rust/bpe/tools/build_data.py --from-data
--tiktoken-cache DIR` writes them from the embedded data, whose hashes are those tiktoken pins, and
`TIKTOKEN_CACHE_DIR=DIR` points tiktoken to them. Exits with 1 when any count differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time

import tiktoken
from lithify import _core

from tests.differential.bpe_strings import string_at

ENCODINGS = ("o200k_base", "cl100k_base")
CHUNK = 2_000


def differences(job: tuple[str, int, int, int]) -> list[tuple[int, int, int]]:
    """Return (index, expected, counted) of each string of a range whose counts differ."""
    encoding, seed, start, stop = job
    rival = tiktoken.get_encoding(encoding)
    texts = [string_at(seed, index) for index in range(start, stop)]
    expected = [len(rival.encode_ordinary(text)) for text in texts]
    counted = _core.count_texts(texts, encoding)
    rows = zip(range(start, stop), expected, counted, strict=True)
    return [(index, want, got) for index, want, got in rows if want != got]


def run(encoding: str, seed: int, count: int, jobs: int) -> int:
    """Count the differences of one encoding, show the first five."""
    started = time.monotonic()
    work = [(encoding, seed, at, min(at + CHUNK, count)) for at in range(0, count, CHUNK)]
    found = 0
    with multiprocessing.Pool(jobs) as pool:
        for rows in pool.imap_unordered(differences, work):
            for index, want, got in rows:
                found += 1
                if found <= 5:
                    print(
                        f"seed {seed} index {index}: tiktoken {want}, here {got}: {string_at(seed, index)!r}"
                    )
    seconds = time.monotonic() - started
    print(f"{encoding}: {count} strings, seed {seed}, {found} differences, {seconds:.0f} s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--encoding", choices=ENCODINGS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    encodings = arguments.encoding or ENCODINGS
    found = sum(run(name, arguments.seed, arguments.count, arguments.jobs) for name in encodings)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
