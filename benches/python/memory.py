"""Peak extra memory of one compaction, as a share of the history; run in a process of its own.

The child builds the history, warms up on a small one, gives free heap pages back to the system, resets
the peak of the resident set, compacts, and reads the peak again. So Python and native memory are both
counted. The method is itself checked: the contender `copy` holds a UTF-8 copy of every text, and what is
measured has to be what the copies weigh. It is good to about 1 MB, because pages that the generator freed in
part are used again; so it wants large histories.

    python -m benches.python.memory --contender lithify --shape thai --form openai_chat --tokens 10000000
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benches.inputs import histories
from benches.python import checks, contenders, measure

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


class Copy:
    """Holds a UTF-8 copy of every text: a known amount of memory."""

    name = "copy of every text (checks the method)"
    does = "nothing"

    def prepare(self, messages: list[dict[str, Any]], window: int) -> Any:
        """Collect the texts."""
        del window
        return histories.texts(messages)

    def run(self, prepared: Any) -> Any:
        """Encode them all."""
        return [text.encode() for text in prepared]

    def check(self, before: list[dict[str, Any]], window: int, output: Any) -> dict[str, int]:
        """Return what the copies weigh."""
        del before, window
        return {"bytes": sum(map(sys.getsizeof, output))}


def _kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1])


def _settle() -> None:
    """Collect garbage, hand free pages back to the system, reset the peak of the resident set."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    CLEAR.write_text("5")


def measure_child(name: str, form: histories.Format, shape: histories.Shape, tokens: int) -> dict[str, float]:
    """Return bytes of the history, peak extra bytes, and bytes by which the caller's own strings grew."""
    contender: contenders.Contender = Copy()
    if name != "copy":
        contender = contenders.Lithify() if name == "lithify" else contenders.Pure("len // 4")
    window = tokens // measure.WINDOW_SHARE
    contender.run(contender.prepare(histories.make(20_000, form=form, shape=shape, seed=1), 4_000))
    messages = histories.make(tokens, form=form, shape=shape)
    prepared = contender.prepare(messages, window)
    size = checks.deep_size(messages)
    _settle()
    base = _kilobytes("VmRSS")
    output = contender.run(prepared)
    peak = _kilobytes("VmHWM")
    facts = contender.check(messages, window, output) if name == "copy" else {}
    grown = checks.deep_size(messages) - size
    del output
    return {"history": size, "extra": (peak - base) * 1024, "grown": grown, "known": facts.get("bytes", 0)}


def run_child(name: str, form: str, shape: str, tokens: int) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "benches.python.memory", "--contender", name]
    command += ["--form", form, "--shape", shape, "--tokens", str(tokens)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    measured: dict[str, float] = json.loads(done.stdout)
    if name == "copy":
        ratio = measured["extra"] / measured["known"]
        assert 0.9 < ratio < 1.1, f"the method measures {ratio:.2f} of a known amount"
    return measured


def main() -> None:
    """Print one measurement as JSON."""
    parser = argparse.ArgumentParser(description="Measure the peak extra memory of one compaction.")
    parser.add_argument("--contender", choices=("lithify", "pure", "copy"), required=True)
    parser.add_argument("--form", choices=histories.FORMATS, default="openai_chat")
    parser.add_argument("--shape", choices=histories.SHAPES, default="large")
    parser.add_argument("--tokens", type=int, default=10_000_000)
    given = parser.parse_args()
    print(json.dumps(measure_child(given.contender, given.form, given.shape, given.tokens)))


if __name__ == "__main__":
    main()
