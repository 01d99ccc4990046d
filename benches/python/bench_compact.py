"""The same contenders under pytest-benchmark: `python -m pytest benches/python/bench_compact.py`.

For watching one engine over time (`--benchmark-autosave`, `--benchmark-compare`). For ratios between engines
use `benches.python.compare`, which interleaves them. Each round gets a history of its own, and each output is
checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benches.inputs import histories
from benches.python.contenders import Contender, Lithify, pures
from benches.python.measure import WINDOW_SHARE

if TYPE_CHECKING:
    from benches.inputs.histories import Format, Shape

SIZES = (10_000, 100_000, 1_000_000)


def _bench(benchmark: Any, contender: Contender, form: Format, shape: Shape, tokens: int) -> None:
    window = tokens // WINDOW_SHARE
    last: list[tuple[Any, Any]] = []

    def setup() -> tuple[tuple[Any], dict[str, Any]]:
        if last:
            contender.check(last[-1][0], window, last.pop()[1])
        messages = histories.make(tokens, form=form, shape=shape)
        return ((messages, contender.prepare(messages, window)),), {}

    def run(given: tuple[Any, Any]) -> None:
        messages, prepared = given
        last.append((messages, contender.run(prepared)))

    benchmark.pedantic(run, setup=setup, rounds=7, warmup_rounds=1)
    messages, output = last.pop()
    benchmark.extra_info.update(contender.check(messages, window, output))
    benchmark.extra_info["messages_before"] = len(messages)


@pytest.mark.parametrize("tokens", SIZES)
@pytest.mark.parametrize("form", histories.FORMATS)
def test_small_messages(benchmark: Any, form: Format, tokens: int) -> None:
    _bench(benchmark, Lithify(), form, "small", tokens)


@pytest.mark.parametrize("tokens", SIZES[1:])
@pytest.mark.parametrize("shape", ["large", "thai"])
@pytest.mark.parametrize("form", histories.FORMATS)
def test_large_messages(benchmark: Any, form: Format, shape: Shape, tokens: int) -> None:
    _bench(benchmark, Lithify(), form, shape, tokens)


@pytest.mark.parametrize("shape", ["large", "small"])
@pytest.mark.parametrize("form", histories.FORMATS)
def test_plain_python(benchmark: Any, form: Format, shape: Shape) -> None:
    _bench(benchmark, pures()[0], form, shape, 1_000_000)
