"""The engine must say what the reference says. More cases: `python -m tests.differential.run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.compare import (
    compare,
    compare_compact,
    compare_repair,
    compare_truncate,
    compare_validate,
)
from tests.histories import Case, cases, chars1, chars4, texts

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 250


@pytest.mark.parametrize("start", range(0, 8 * BLOCK, BLOCK))
def test_seeded_cases(start: int) -> None:
    for seed in range(start, start + BLOCK):
        difference = compare(seed)
        assert difference is None, f"seed {seed}"


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(("chars4", "chars1")))
def test_compact(one: Case, counter: str) -> None:
    assert compare_compact(one, counter) is None


@settings(max_examples=200, deadline=None)
@given(one=cases())
def test_repair_and_validate(one: Case) -> None:
    assert compare_repair(one) is None
    assert compare_validate(one) is None


@settings(max_examples=300, deadline=None)
@given(texts(), st.integers(0, 200), st.sampled_from((chars4, chars1)))
def test_truncate(text: str, limit: int, count: Callable[[str], int]) -> None:
    assert compare_truncate(text, limit, count) is None
