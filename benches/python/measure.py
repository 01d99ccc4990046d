"""Interleaved timing on inputs that were never seen before, and the statistics of it.

Each round gives each contender a history of its own, generated anew: its strings are new objects, so
nothing that an engine or CPython remembers about a string (hash, UTF-8 copy, count) can help. The order
rotates from round to round, so that a slow phase of the machine hits all alike. Garbage is collected
before each timing and the collector is off during it, as `timeit` has it; that favors contenders that
allocate much. Outputs are checked in every round, outside the timing.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.inputs import histories
from benches.python import checks

if TYPE_CHECKING:
    from benches.inputs.histories import Format, Shape
    from benches.python.contenders import Contender

WINDOW_SHARE = 5
"""The window is a fifth of the history: 200k for 1M tokens. Clearing is not enough, so both layers run."""


@dataclass
class Timing:
    """Seconds of one contender on one kind of input, a value for each round, and what the check found."""

    name: str
    does: str
    seconds: list[float] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """The median in seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """The distance of the quartiles as a share of the median; 0 with fewer than four rounds."""
        if len(self.seconds) < 4:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / self.median


@dataclass
class Group:
    """All contenders on one kind of input."""

    form: Format
    shape: Shape
    tokens: int
    messages: int
    characters: int
    timings: list[Timing]

    def of(self, name: str) -> Timing | None:
        """Return the timing of a contender, if it took part."""
        return next((timing for timing in self.timings if timing.name == name), None)


def run_group(
    contenders: list[Contender],
    *,
    form: Format,
    shape: Shape,
    tokens: int,
    rounds: int,
    collector: bool = False,
) -> Group:
    """Time all contenders on one kind of input, interleaved, after one untimed round on a small input."""
    warm = histories.make(10_000, form=form, shape=shape, seed=1)
    for contender in contenders:
        contender.run(contender.prepare(warm, 10_000 // WINDOW_SHARE))
    timings = {contender.name: Timing(contender.name, contender.does) for contender in contenders}
    count = characters = 0
    for number in range(rounds):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            messages = histories.make(tokens, form=form, shape=shape)
            if not count:
                texts = histories.texts(messages)
                checks.distinct(texts)
                count, characters = len(messages), sum(map(len, texts))
                del texts
            timing = timings[contender.name]
            window = tokens // WINDOW_SHARE
            prepared = contender.prepare(messages, window)
            gc.collect()
            if not collector:
                gc.disable()
            start = time.perf_counter_ns()
            output = contender.run(prepared)
            timing.seconds.append((time.perf_counter_ns() - start) / 1e9)
            gc.enable()
            timing.facts = contender.check(messages, window, output)
            # Thai is cheap by `len // 4` and by newer encodings, so there clearing alone may be enough.
            assert shape == "thai" or timing.facts.get("removed", 1) > 0, (
                f"{contender.name}: layer 2 did not run"
            )
            del messages, prepared, output
    return Group(form, shape, tokens, count, characters, list(timings.values()))


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of a least-squares line through log(seconds) over log(tokens)."""
    xs = [math.log(tokens) for tokens, _ in points]
    ys = [math.log(seconds) for _, seconds in points]
    return statistics.linear_regression(xs, ys).slope
