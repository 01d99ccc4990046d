"""Checks of a compacted history that share no code with any contender.

`pairs` is a plain walk over the messages; it is slower than any engine and never timed. A failed check is an
`AssertionError` that names the message.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benches.inputs.script import Message

CLEARED = "[compacted: tool output removed to free context]"


def pairs(messages: list[Message]) -> int:
    """Assert that each call is answered right behind it, and each result has a call; return the calls."""
    if any(message["role"] in {"system", "tool"} or "tool_calls" in message for message in messages):
        return _openai_pairs(messages)
    return _anthropic_pairs(messages)


def _openai_pairs(messages: list[Message]) -> int:
    calls, asked = 0, list[str]()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            assert message["tool_call_id"] in asked, f"message {index}: a result without its call"
            asked.remove(message["tool_call_id"])
            continue
        assert not asked, f"message {index}: calls before it are not answered: {asked}"
        asked = [call["id"] for call in message.get("tool_calls") or ()]
        calls += len(asked)
    assert not asked, f"calls at the end are not answered: {asked}"
    return calls


def _anthropic_pairs(messages: list[Message]) -> int:
    calls, asked = 0, list[str]()
    assert messages[0]["role"] == "user", "the first message is not the user's"
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(asked), f"message {index}: {answered} does not answer {asked}"
        if answered:
            assert message["role"] == "user", f"message {index}: results in the role {message['role']}"
            assert all(block["type"] == "tool_result" for block in blocks[: len(answered)]), (
                f"message {index}: order"
            )
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        calls += len(asked)
    assert not asked, f"calls at the end are not answered: {asked}"
    return calls


def _blocks(message: Message) -> list[Message]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def results(messages: list[Message]) -> Iterator[tuple[str, Any]]:
    """Yield the call id and the content of every result, in order, in either format."""
    for message in messages:
        if message["role"] == "tool":
            yield message["tool_call_id"], message["content"]
        elif isinstance(message["content"], list):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    yield block["tool_use_id"], block["content"]


def cleared(messages: list[Message]) -> int:
    """Return how many results are cleared."""
    return sum(content == CLEARED for _, content in results(messages))


def newest_results_stand(before: list[Message], after: list[Message], keep: int = 3) -> None:
    """Assert that the newest `keep` results are the very strings that came in."""
    old, new = list(results(before))[-keep:], list(results(after))[-keep:]
    assert [identity for identity, _ in old] == [identity for identity, _ in new], (
        "the newest results are missing"
    )
    assert all(first is second for (_, first), (_, second) in zip(old, new, strict=True)), (
        "a newest result changed"
    )


def distinct(texts: Iterable[str], *, share: float = 0.75) -> None:
    """Assert that nearly all long texts are different from each other, so that no cache can answer twice."""
    long = [text for text in texts if len(text) > 60]
    assert len(set(long)) >= share * len(long), "the input repeats its texts"


def deep_size(value: object) -> int:
    """Return the bytes of a history: all containers and strings, each object once."""
    seen: set[int] = set()
    total, stack = 0, [value]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            stack += item
    return total
