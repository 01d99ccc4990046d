"""An abstract agent session, and its two renderings.

A script is a list of steps that name no provider. `openai_chat` and `anthropic` turn it into the message
shapes of the two APIs; both say the same thing, so a test can compare what an engine does with either.
Rendering is linear and pure.

Example: `[User("Hi"), Assistant("I look.", (Call("bash", {"command": "ls"}, "a.py"),))]` becomes three
OpenAI messages (user, assistant with one tool call, tool) or three Anthropic messages (user, assistant with
`tool_use`, user with `tool_result`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True)
class System:
    """The system prompt. Anthropic keeps it beside the messages."""

    text: str


@dataclass(frozen=True)
class User:
    """Something a person wrote."""

    text: str


@dataclass(frozen=True)
class Call:
    """One tool call and what came back."""

    tool: str
    arguments: dict[str, Any]
    result: str
    error: bool = False


@dataclass(frozen=True)
class Assistant:
    """One answer of the model: text, then calls, which the agent runs in parallel."""

    text: str
    calls: tuple[Call, ...] = ()


Step = System | User | Assistant


def openai_chat(script: list[Step]) -> list[Message]:
    """Return the OpenAI chat messages of a script, the system prompt first."""
    messages: list[Message] = []
    number = 0
    for step in script:
        if isinstance(step, System):
            messages.append({"role": "system", "content": step.text})
        elif isinstance(step, User):
            messages.append({"role": "user", "content": step.text})
        elif not step.calls:
            messages.append({"role": "assistant", "content": step.text})
        else:
            calls, results = [], []
            for call in step.calls:
                number += 1
                identity = f"call_{number:06d}"
                arguments = json.dumps(call.arguments, ensure_ascii=False)
                function = {"name": call.tool, "arguments": arguments}
                calls.append({"id": identity, "type": "function", "function": function})
                results.append({"role": "tool", "tool_call_id": identity, "content": call.result})
            messages.append({"role": "assistant", "content": step.text or None, "tool_calls": calls})
            messages += results
    return messages


def anthropic(script: list[Step]) -> list[Message]:
    """Return the Anthropic messages of a script; `System` steps are left to `system_text`."""
    messages: list[Message] = []
    number = 0
    for step in script:
        if isinstance(step, System):
            continue
        if isinstance(step, User):
            _add_user(messages, [{"type": "text", "text": step.text}])
            continue
        blocks: list[Message] = [{"type": "text", "text": step.text}] if step.text else []
        results: list[Message] = []
        for call in step.calls:
            number += 1
            identity = f"toolu_{number:06d}"
            blocks.append({"type": "tool_use", "id": identity, "name": call.tool, "input": call.arguments})
            result: Message = {"type": "tool_result", "tool_use_id": identity, "content": call.result}
            if call.error:
                result["is_error"] = True
            results.append(result)
        messages.append({"role": "assistant", "content": blocks})
        if results:
            messages.append({"role": "user", "content": results})
    return messages


def _add_user(messages: list[Message], blocks: list[Message]) -> None:
    """Append human blocks; behind a message of results they join it, as two user messages would merge."""
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": "user", "content": blocks})


def system_text(script: list[Step]) -> str:
    """Return the system prompt of a script, for APIs that keep it beside the list."""
    return "\n\n".join(step.text for step in script if isinstance(step, System))


def characters(messages: list[Message]) -> int:
    """Return the characters of all texts, names and arguments of a history of either format."""
    total = 0
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"text": content or ""}]
        for block in blocks:
            total += len(block.get("text", "")) + len(block.get("content", "")) + len(block.get("name", ""))
            if "input" in block:
                total += len(json.dumps(block["input"], ensure_ascii=False, separators=(",", ":")))
        for call in message.get("tool_calls", ()):
            total += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return total
