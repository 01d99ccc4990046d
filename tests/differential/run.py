"""Compare the engine with the reference on many generated cases.

    python -m tests.differential.run --count 1000000 --seed 0 [--jobs 2] [--show 5]

Seeds are consecutive, so a run can be split and a difference reproduced with `--seed N --count 1`. Exits
with 1 when any case differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from typing import Any

from tests.differential.compare import compare


def attempt(seed: int) -> tuple[int, Any]:
    try:
        return seed, compare(seed)
    except BaseException:  # noqa: BLE001 - a crash (also of Rust) is a finding, and the run goes on
        return seed, ("crash", "no crash", traceback.format_exc(limit=-4))


def narrow(expected: Any, got: Any, where: str = "") -> str:
    """Where the two first differ, and what stands there, in a few lines."""
    if isinstance(expected, (list, tuple)) and isinstance(got, type(expected)):
        for at, (one, other) in enumerate(zip(expected, got, strict=False)):
            if one != other:
                return narrow(one, other, f"{where}[{at}]")
        where += f" of {len(expected)} and {len(got)}"
        at = min(len(expected), len(got))
        expected, got = expected[at:], got[at:]
    elif isinstance(expected, dict) and isinstance(got, dict):
        for key in dict.fromkeys((*expected, *got)):
            if expected.get(key, "(none)") != got.get(key, "(none)"):
                return narrow(expected.get(key, "(none)"), got.get(key, "(none)"), f"{where}[{key!r}]")
    return f"{where}\n  reference {str(expected)[-200:]!r}\n  engine    {str(got)[-200:]!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    started = time.monotonic()
    kinds: Counter[str] = Counter()
    with multiprocessing.Pool(arguments.jobs) as pool:
        for seed, difference in pool.imap_unordered(attempt, seeds, chunksize=50):
            if difference is None:
                continue
            kinds[difference[0]] += 1
            if kinds[difference[0]] <= arguments.show:
                print(f"seed {seed}: {difference[0]}{narrow(difference[1], difference[2])}")
    seconds = time.monotonic() - started
    print(f"{arguments.count} cases, {sum(kinds.values())} differences {dict(kinds)}, {seconds:.0f} s")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
