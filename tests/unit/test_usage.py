"""Input sizes out of each provider's usage: mappings, SDK objects, replies, and nonsense."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithify.usage import NoUsage, checked_count, reported_input

SHAPES: list[tuple[str, dict[str, Any], int]] = [
    (
        "openai chat, most of it cached",
        {
            "prompt_tokens": 184_704,
            "prompt_tokens_details": {"cached_tokens": 183_936},
            "completion_tokens": 49,
        },
        184_704,
    ),
    (
        "deepseek",
        {"prompt_tokens": 900, "prompt_cache_hit_tokens": 512, "prompt_cache_miss_tokens": 388},
        900,
    ),
    (
        "openai responses",
        {"input_tokens": 5000, "input_tokens_details": {"cached_tokens": 4096}, "output_tokens": 7},
        5000,
    ),
    ("codex log", {"input_tokens": 15_889, "cached_input_tokens": 4_352, "total_tokens": 16_814}, 15_889),
    (
        "anthropic",
        {"input_tokens": 8, "cache_read_input_tokens": 42_473, "cache_creation_input_tokens": 8_794},
        51_275,
    ),
    ("anthropic, all of it cached", {"input_tokens": 0, "cache_read_input_tokens": 700}, 700),
    ("anthropic without a cache", {"input_tokens": 8, "cache_read_input_tokens": None}, 8),
    (
        "anthropic, several rounds on the server",
        {
            "input_tokens": 30_000,
            "cache_read_input_tokens": 0,
            "iterations": [
                {"type": "message", "input_tokens": 10_000},
                {"type": "message", "input_tokens": 5, "cache_read_input_tokens": 19_995},
            ],
        },
        20_000,
    ),
    ("gemini rest", {"promptTokenCount": 321, "cachedContentTokenCount": 300, "totalTokenCount": 330}, 321),
    ("gemini sdk", {"prompt_token_count": 321, "cached_content_token_count": 300}, 321),
    ("bedrock", {"inputTokens": 10, "cacheReadInputTokens": 20, "cacheWriteInputTokens": 30}, 60),
    ("langchain", {"input_tokens": 60, "input_token_details": {"cache_read": 50}}, 60),
    ("litellm for anthropic", {"prompt_tokens": 60, "cache_read_input_tokens": 50}, 60),
    ("both spellings, one empty", {"prompt_tokens": 0, "input_tokens": 77}, 77),
    ("cohere", {"billed_units": {"input_tokens": 3}, "tokens": {"input_tokens": 19}}, 19),
    ("ollama", {"prompt_eval_count": 26, "eval_count": 290}, 26),
    ("a whole float", {"prompt_tokens": 12.0}, 12),
]


@pytest.mark.parametrize(("usage", "tokens"), [pytest.param(u, t, id=name) for name, u, t in SHAPES])
def test_mapping_object_and_reply_agree(usage: dict[str, Any], tokens: int) -> None:
    assert reported_input(usage) == tokens
    assert reported_input(SimpleNamespace(**usage)) == tokens
    assert reported_input({"usage": usage}) == tokens
    assert reported_input(SimpleNamespace(usage=SimpleNamespace(**usage))) == tokens
    assert reported_input({"usageMetadata": usage}) == tokens
    assert reported_input(SimpleNamespace(usage_metadata=usage)) == tokens
    assert reported_input({"type": "message_start", "message": {"usage": usage}}) == tokens
    assert reported_input({"type": "response.completed", "response": {"usage": usage}}) == tokens


NOTHING: list[tuple[Any, NoUsage]] = [
    (None, NoUsage.MISSING),
    ({}, NoUsage.MISSING),
    ("prompt_tokens", NoUsage.MISSING),
    ([1, 2], NoUsage.MISSING),
    ({"completion_tokens": 5}, NoUsage.MISSING),
    ({"prompt_tokens": None}, NoUsage.MISSING),
    ({"usage": {}}, NoUsage.MISSING),
    ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, NoUsage.ZERO),
    ({"input_tokens": 0, "cache_read_input_tokens": 0}, NoUsage.ZERO),
    ({"prompt_tokens": -5}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": float("nan")}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": float("inf")}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": 1.5}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": True}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": "900"}, NoUsage.NOT_A_COUNT),
    ({"prompt_tokens": [900]}, NoUsage.NOT_A_COUNT),
    ({"input_tokens": 900, "cache_read_input_tokens": -1}, NoUsage.NOT_A_COUNT),
    ({"input_tokens": 900, "cache_read_input_tokens": float("nan")}, NoUsage.NOT_A_COUNT),
    ({"tokens": 12}, NoUsage.MISSING),
]


@pytest.mark.parametrize(("usage", "why"), NOTHING)
def test_nonsense_is_named_and_not_raised(usage: Any, why: NoUsage) -> None:
    assert reported_input(usage) is why


@dataclass
class SlotUsage:
    input_tokens: int
    cache_read_input_tokens: int | None = None


def test_objects_without_dict_lookup() -> None:
    assert reported_input(SlotUsage(5, 6)) == 11


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
def test_checked_count_is_a_positive_int_or_a_reason(value: Any) -> None:
    found = checked_count(value)
    assert isinstance(found, NoUsage) or (type(found) is int and found > 0)


def test_a_usage_that_holds_itself() -> None:
    usage: dict[str, Any] = {}
    usage.update(tokens=usage, usage=usage, iterations=[usage])
    assert reported_input(usage) is NoUsage.MISSING


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["usage", "tokens", "iterations", "message", "prompt_tokens", "input_tokens", "x"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_gives_a_count_or_a_reason(usage: Any) -> None:
    found = reported_input(usage)
    assert isinstance(found, NoUsage) or found > 0
