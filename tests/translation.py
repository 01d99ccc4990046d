"""Histories of the other formats, translated from those the generators of `tests.histories` write.

OpenAI chat becomes Responses; Anthropic becomes Gemini and Bedrock Converse. What is broken stays broken,
so that every damage is a damage of the new formats, too. Flags and unknown keys stay on the message.
"""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

from tests import histories, history_damage
from tests.histories import ANTHROPIC, OPENAI, Case

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]

RESPONSES = "responses"
GEMINI = "gemini"
BEDROCK = "bedrock"
MORE_FORMATS = (RESPONSES, GEMINI, BEDROCK)

#: Applied after the translation: one Responses item of several, a reasoning item alone, ...
ITEM_DAMAGES = (
    history_damage.drop_message,
    history_damage.drop_span,
    history_damage.repeat_message,
    history_damage.move_message,
    history_damage.swap_neighbours,
)

_SPOKEN = {
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "function_call",
    "reasoning_content",
    "refusal",
}


def translate(rng: random.Random, fmt: str, messages: list[Message]) -> list[Message]:
    """The history in another format; `rng` decides what the first format has no word for."""
    messages = copy.deepcopy(messages)
    if fmt == RESPONSES:
        return [item for message in messages for item in responses(rng, message)]
    block = gemini_part if fmt == GEMINI else bedrock_block
    names = {
        b.get("id"): b.get("name") for m in messages for b in blocks_of(m) if b.get("type") == "tool_use"
    }
    bare_ids = fmt == GEMINI and rng.random() < 0.5
    out = []
    for message in messages:
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        role, key = message["role"], "content"
        if fmt == GEMINI:
            role, key = ("model" if role == "assistant" else "user"), "parts"
        content = [block(rng, each, names, bare_ids) for each in blocks_of(message)]
        out.append({"role": role, key: content, **rest})
    return out


def blocks_of(message: Message) -> list[Message]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def kept(block: Message) -> Message:
    """Our mark and unknown keys of a block."""
    return {key: value for key, value in block.items() if key in ("_lithify", "x_note")}


def texts_of(content: Any) -> list[Message]:
    return blocks_of({"content": content})


# Responses ----------------------------------------------------


def responses(rng: random.Random, message: Message) -> list[Message]:
    rest = {key: value for key, value in message.items() if key not in _SPOKEN}
    role = message.get("role")
    if role in ("tool", "function"):
        shape = {"type": "function_call_output", "output": item_content(message.get("content"), "input_text")}
        if message.get("output_type"):
            shape["type"] = message["output_type"]
        return [{**shape, "call_id": message.get("tool_call_id"), **rest}]
    items: list[Message] = []
    if message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
        items.append({"type": "reasoning", "id": f"rs_{rng.randrange(10**6)}", "summary": summary})
    calls = message.get("tool_calls") or []
    if message.get("function_call"):
        calls = [{"id": "", "function": message["function_call"]}]
    content = message.get("content") or message.get("refusal")
    if content or not calls:
        kind = "output_text" if role == "assistant" else "input_text"
        said = {"role": role, "content": item_content(message.get("content"), kind), **rest}
        if rng.random() < 0.5:
            said["type"] = "message"
        items.append(said)
    elif items:
        items[0].update(rest)
    for call in calls:
        items.append(response_call(rng, call))
        items[-1].update({} if items[0] is not items[-1] else rest)
    if rng.random() < 0.03:
        items.append({"type": "web_search_call", "id": "ws_1", "status": "completed"})
    if rng.random() < 0.02:
        items.append({"type": "item_reference", "id": "msg_1"})
    return items


def response_call(rng: random.Random, call: Message) -> Message:
    function = call["function"]
    if rng.random() < 0.1:
        body = {"type": "custom_tool_call", "name": function["name"], "input": function["arguments"]}
    elif rng.random() < 0.1:
        body = {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls", "-la"]}}
    else:
        body = {"type": "function_call", "name": function["name"], "arguments": function["arguments"]}
    return {**body, **({"call_id": call["id"]} if "id" in call else {})}


def item_content(content: Any, kind: str) -> Any:
    if not isinstance(content, list):
        return content
    names = {"text": kind, "image_url": "input_image", "file": "input_file"}
    return [{**block, "type": names.get(block.get("type"), block.get("type"))} for block in content]


# Gemini ----------------------------------------------------


def gemini_part(rng: random.Random, block: Message, names: dict[Any, Any], bare: bool) -> Message:  # noqa: FBT001
    rest = kept(block)
    kind = block.get("type")
    if kind == "text":
        return {"text": block["text"], **rest}
    if kind == "thinking":
        return {"text": block["thinking"], "thought": True, **rest}
    if kind == "tool_use":
        call = {"name": block["name"], "args": block["input"]}
        if not bare and "id" in block:
            call["id"] = block["id"]
        signature = {"thoughtSignature": "c2ln" * 5} if rng.random() < 0.2 else {}
        return {"functionCall": call, **signature, **rest}
    if kind == "tool_result":
        return {"functionResponse": gemini_response(rng, block, names, bare), **rest}
    if kind in ("image", "document"):
        return {"inlineData": {"mimeType": f"{kind}/x", "data": "QUJD"}, **rest}
    return {str(kind): {key: value for key, value in block.items() if key != "type"}}


def gemini_response(rng: random.Random, block: Message, names: dict[Any, Any], bare: bool) -> Message:  # noqa: FBT001
    texts = texts_of(block.get("content"))
    values = [each.get("text", "") if each.get("type") == "text" else {"image": "x"} for each in texts]
    key = "error" if block.get("is_error") else rng.choice(("output", "result"))
    response = dict(zip((key, "more", "rest", "last"), values, strict=False))
    if rng.random() < 0.2:
        response["exit"] = 0
    own: Message = {"name": names.get(block.get("tool_use_id"), "ghost"), "response": response}
    if not bare and "tool_use_id" in block:
        own["id"] = block["tool_use_id"]
    if any(isinstance(value, dict) for value in values):
        own["parts"] = [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]
    return own


# Bedrock ----------------------------------------------------


def bedrock_block(rng: random.Random, block: Message, names: dict[Any, Any], bare: bool) -> Message:  # noqa: FBT001
    del names, bare
    rest = kept(block)
    kind = block.get("type")
    if kind == "text":
        return {"text": block["text"], **rest} if rng.random() < 0.97 else {"cachePoint": {"type": "default"}}
    if kind == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": "c2ln"}}}
    if kind == "redacted_thinking":
        return {"reasoningContent": {"redactedContent": "QUJD"}}
    if kind == "tool_use":
        call = {"name": block["name"], "input": block["input"]}
        return {"toolUse": {**call, **({"toolUseId": block["id"]} if "id" in block else {})}, **rest}
    if kind == "tool_result":
        texts = texts_of(block.get("content"))
        content = [bedrock_block(random.Random(0), each, {}, bare=False) for each in texts]
        if not any("[" in str(each.get("text")) for each in texts) and rng.random() < 0.2:
            content.append({"json": {"lines": [json.dumps(content)]}})
        result: Message = {"content": content}
        if "is_error" in block:
            result["status"] = "error" if block["is_error"] else "success"
        if "tool_use_id" in block:
            result["toolUseId"] = block["tool_use_id"]
        return {"toolResult": result, **rest}
    if kind in ("image", "document"):
        return {str(kind): {"format": "x", "name": "n", "source": {"bytes": "QUJD"}}, **rest}
    return {str(kind): {key: value for key, value in block.items() if key != "type"}}


# Cases ----------------------------------------------------


def case(seed: int, fmt: str, turns: int, damages: int) -> Case:
    """A case of a new format, broken `damages` times."""
    return _translated(
        seed, fmt, lambda rng, base: histories.case(rng, base, turns, damages), break_items=damages > 0
    )


def valid_case(seed: int, fmt: str, turns: int, marks: int) -> Case:
    """A case of a new format that was valid in the format it comes from."""
    return _translated(
        seed, fmt, lambda rng, base: histories.valid_case(rng, base, turns, marks), break_items=False
    )


def _translated(
    seed: int, fmt: str, make: Callable[[random.Random, str], Case], *, break_items: bool
) -> Case:
    rng = random.Random(seed)
    one = make(rng, OPENAI if fmt == RESPONSES else ANTHROPIC)
    one.messages = translate(rng, fmt, one.messages)
    if break_items and one.messages:
        for _ in range(rng.choice((0, 0, 1, 3))):
            if one.messages:
                rng.choice(ITEM_DAMAGES)(rng, fmt, one.messages)
    one.format = fmt
    return one
