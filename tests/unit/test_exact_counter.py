"""Exact counts by the name of an encoding, through the public functions."""

from __future__ import annotations

import random
from typing import Any

import lithify
import pytest
from lithify import errors

from tests.histories import valid_case

tiktoken = pytest.importorskip("tiktoken")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_an_encoding_by_name_counts_as_a_callable_that_counts_exactly(name: str) -> None:
    from lithify import _core  # noqa: PLC0415 (the native counter itself)

    def exact(text: str) -> int:
        return _core.count_text(text, name)

    for seed in range(20):
        one = valid_case(random.Random(seed), None, 10, 0)
        by_name = lithify.count_tokens(one.messages, format=one.format, token_counter=name)
        assert by_name == lithify.count_tokens(one.messages, format=one.format, token_counter=exact)
        settings: dict[str, Any] = {"format": one.format, "on_misfit": "return"}
        named = lithify.compact(one.messages, by_name // 3, token_counter=name, **settings)
        called = lithify.compact(one.messages, by_name // 3, token_counter=exact, **settings)
        assert named.messages == called.messages
        assert named.tokens_after == called.tokens_after


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(errors.InvalidInput, match="o200k_base or o200k_harmony or cl100k_base"):
        lithify.count_tokens("text", token_counter="gpt2")  # noqa: S106 (a name)
