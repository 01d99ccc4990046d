"""What comes out fits the types of the providers' SDKs, and what the SDKs give goes in."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import lithify
import pytest

from tests import translation
from tests.histories import ANTHROPIC, OPENAI, chars4, valid_case
from tests.reference.policy import literal

if TYPE_CHECKING:
    from pydantic import TypeAdapter

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

SEEDS = range(150)


def adapters() -> dict[str, TypeAdapter[Any]]:
    from anthropic.types import MessageParam  # noqa: PLC0415 (an extra)
    from openai.types.chat import ChatCompletionMessageParam  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    return {OPENAI: TypeAdapter(ChatCompletionMessageParam), ANTHROPIC: TypeAdapter(MessageParam)}


@pytest.mark.parametrize("fmt", [OPENAI, ANTHROPIC])
def test_what_comes_out_has_the_sdk_types(fmt: str) -> None:
    adapter = adapters()[fmt]
    checked = 0
    for seed in SEEDS:
        one = valid_case(random.Random(seed), fmt, 14, 0)
        before = lithify.count_tokens(one.messages, format=fmt, token_counter=chars4)
        for window in (before // 2, before // 5, before // 20):
            result = lithify.compact(
                one.messages, window, format=fmt, token_counter=chars4, on_misfit="return"
            )
            for message in lithify.wire(result.messages):
                if not any(message is other for other in one.messages):
                    adapter.validate_python(strip(message))
                    checked += 1
    assert checked > 500


def strip(message: Any) -> Any:
    """The message without what the generator adds for fun: the SDKs' types know no such keys."""
    if isinstance(message, list):
        return [strip(each) for each in message if not odd(each)]
    if isinstance(message, dict):
        return {key: strip(value) for key, value in message.items() if not str(key).startswith("x_")}
    return message


def odd(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in ("hologram", "container_upload", "compaction")


def openai_objects() -> list[Any]:
    from openai.types.chat import ChatCompletionMessage  # noqa: PLC0415

    messages: list[Any] = [{"role": "user", "content": "go"}]
    for i in range(12):
        call = {
            "id": f"c{i}",
            "type": "function",
            "function": {"name": "bash", "arguments": '{"command":"ls"}'},
        }
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        messages.append(ChatCompletionMessage.model_validate(answer))
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"file {i}\n" * 60})
    return messages


def anthropic_objects() -> list[Any]:
    from anthropic.types import TextBlock, ToolUseBlock  # noqa: PLC0415

    messages: list[Any] = [{"role": "user", "content": "go"}]
    for i in range(12):
        blocks = [
            TextBlock(type="text", text=f"step {i}"),
            ToolUseBlock(type="tool_use", id=f"c{i}", name="bash", input={"command": "ls"}),
        ]
        messages.append({"role": "assistant", "content": blocks})
        result = {"type": "tool_result", "tool_use_id": f"c{i}", "content": f"file {i}\n" * 60}
        messages.append({"role": "user", "content": [result]})
    return messages


def responses_objects() -> list[Any]:
    from openai.types.responses import (  # noqa: PLC0415
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseReasoningItem,
    )

    messages: list[Any] = [{"role": "user", "content": "go"}]
    for i in range(12):
        summary = [{"type": "summary_text", "text": "I look."}]
        text = {"type": "output_text", "text": f"step {i}", "annotations": []}
        said = {
            "id": f"m{i}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
        call = {"type": "function_call", "call_id": f"c{i}", "name": "bash", "arguments": '{"command":"ls"}'}
        messages += [
            ResponseReasoningItem.model_validate({"type": "reasoning", "id": f"r{i}", "summary": summary}),
            ResponseOutputMessage.model_validate(said),
            ResponseFunctionToolCall.model_validate(call),
            {"type": "function_call_output", "call_id": f"c{i}", "output": f"file {i}\n" * 60},
        ]
    return messages


def test_responses_items_that_come_out_have_the_sdk_types() -> None:
    from openai.types.responses import ResponseInputItemParam  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    adapter: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
    checked = 0
    for seed in SEEDS:
        one = translation.case(seed, "responses", 14, 0)
        before = lithify.count_tokens(one.messages, format="responses", token_counter=chars4)
        for window in (before // 2, before // 5):
            result = lithify.compact(
                one.messages, window + 1, format="responses", token_counter=chars4, on_misfit="return"
            )
            for message in lithify.wire(result.messages):
                if not any(message is other for other in one.messages):
                    adapter.validate_python(strip(message))
                    checked += 1
    assert checked > 300


@pytest.mark.parametrize("make", [openai_objects, anthropic_objects, responses_objects])
def test_sdk_objects_are_read_and_come_back_as_themselves(make: Any) -> None:
    messages = make()
    before = copy.deepcopy(messages)
    total = lithify.count_tokens(messages)
    same = lithify.compact(messages, total * 2)
    assert all(a is b for a, b in zip(same.messages, messages, strict=True))
    result = lithify.compact(messages, total // 2)
    assert result.fits
    assert result.rung in ("clear", "prune")
    assert lithify.validate(result.messages) == []
    assert messages == before
    kept = [m for m in result.messages if any(m is other for other in messages)]
    assert len(kept) >= 4
    pinned = lithify.pin(messages[1])
    assert pinned["_pin"] is True
    assert pinned.get("role", "assistant") == "assistant"


def test_the_literal_policy_of_the_reference_is_that_of_the_package() -> None:
    given = lithify.Policy.literal().to_dict()
    for group, settings in literal().items():
        for name, value in settings.items():
            assert given[group][name] == value
