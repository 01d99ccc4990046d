"""Adapters for the frameworks that users would otherwise reach for.

Each adapter has `prepare` (outside the timing: the framework's own message objects are built from the
dicts), `run` (timed) and `check`. None of these does all that Lithify does; `does` says what it leaves out.
They are imported by name at run time, because the type checker of this project must not need them.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import TYPE_CHECKING, Any

from benches.python import checks

if TYPE_CHECKING:
    from benches.inputs.script import Message


class LangChainTrim:
    """`trim_messages`, strategy `last`, with its approximate counter, as its own documentation advises."""

    name = "LangChain trim_messages"
    does = "drops old messages; no repair, no clearing, no notice"

    def __init__(self) -> None:
        self.messages = importlib.import_module("langchain_core.messages")
        self.utils = importlib.import_module("langchain_core.messages.utils")

    def prepare(self, messages: list[Message], window: int) -> Any:
        return self.messages.convert_to_messages(messages), window

    def run(self, prepared: Any) -> Any:
        messages, window = prepared
        return self.messages.trim_messages(
            messages,
            max_tokens=window,
            token_counter="approximate",  # noqa: S106 -- not a secret
            strategy="last",
            start_on="human",
            include_system=True,
        )

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        assert output, "nothing is left"
        assert len(output) < len(before), "nothing was dropped"
        tokens = self.utils.count_tokens_approximately(output)
        assert tokens <= window, f"{tokens} tokens do not fit {window}"
        assert output[0].type in {"system", "human"}
        return {"messages": len(output), "tokens": tokens}


class LangChainEditing:
    """`ContextEditingMiddleware` with one `ClearToolUsesEdit`, called the way the agent loop calls it."""

    name = "LangChain ContextEditingMiddleware"
    does = "clears old results; no repair, no pruning, does not promise to fit"

    def __init__(self) -> None:
        self.messages = importlib.import_module("langchain_core.messages")
        self.types = importlib.import_module("langchain.agents.middleware.types")
        self.editing = importlib.import_module("langchain.agents.middleware.context_editing")

    def prepare(self, messages: list[Message], window: int) -> Any:
        edit = self.editing.ClearToolUsesEdit(trigger=window * 3 // 4, keep=3, placeholder=checks.CLEARED)
        converted = self.messages.convert_to_messages(messages)
        system, rest = (converted[0], converted[1:]) if converted[0].type == "system" else (None, converted)
        request = self.types.ModelRequest(model=None, messages=rest, system_message=system)
        return self.editing.ContextEditingMiddleware(edits=[edit]), request

    def run(self, prepared: Any) -> Any:
        middleware, request = prepared
        return middleware.wrap_model_call(request, lambda edited: edited.messages)

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        del window
        tools = [message for message in output if message.type == "tool"]
        count = sum(message.content == checks.CLEARED for message in tools)
        assert count == len(list(checks.results(before))) - 3, f"{count} of {len(tools)} results were cleared"
        return {"messages": len(output), "cleared": count}


class AgentsTrimmer:
    """OpenAI Agents' `ToolOutputTrimmer` with its defaults, on Responses items."""

    name = "OpenAI Agents ToolOutputTrimmer"
    does = "shortens old results over 500 characters; counts nothing, no repair, no pruning, may not fit"

    def __init__(self) -> None:
        self.trimmer = importlib.import_module("agents.extensions.tool_output_trimmer")
        self.config = importlib.import_module("agents.run_config")

    def prepare(self, messages: list[Message], window: int) -> Any:
        del window
        items: list[Message] = []
        for message in messages:
            if message["role"] == "tool":
                output = {"type": "function_call_output", "call_id": message["tool_call_id"]}
                items.append(output | {"output": message["content"]})
                continue
            items.append({"role": message["role"], "content": message["content"]})
            items += [
                {"type": "function_call", "call_id": call["id"], **call["function"]}
                for call in message.get("tool_calls", ())
            ]
        data = self.config.ModelInputData(input=items, instructions=None)
        return self.trimmer.ToolOutputTrimmer(), self.config.CallModelData(
            model_data=data, agent=None, context=None
        )

    def run(self, prepared: Any) -> Any:
        trimmer, data = prepared
        return trimmer(data).input

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        del window
        humans = [index for index, message in enumerate(before) if message["role"] == "user"]
        old = [message["content"] for message in before[: humans[-2]] if message["role"] == "tool"]
        expected = sum(len(text) > 500 for text in old)
        trimmed = sum(str(item.get("output", "")).startswith("[Trimmed: ") for item in output)
        assert trimmed == expected, f"{trimmed} results were trimmed, {expected} expected"
        return {"messages": len(output), "trimmed": trimmed}


class LiteLLMTrim:
    """LiteLLM's `trim_messages` to a number of tokens, counted by its bundled tiktoken encoding."""

    name = "LiteLLM trim_messages"
    does = "drops old messages, then cuts one; counts exactly; drops calls and keeps their results"

    def __init__(self) -> None:
        # Without this it asks the network for a price list while it is imported.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        self.utils = importlib.import_module("litellm.utils")

    def prepare(self, messages: list[Message], window: int) -> Any:
        return json.loads(json.dumps(messages)), window

    def run(self, prepared: Any) -> Any:
        messages, window = prepared
        return self.utils.trim_messages(messages, model="gpt-4o", max_tokens=window)

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        assert len(output) < len(before), "nothing was dropped"
        # It sets the results at the very end aside and neither counts nor cuts them; the rest has to fit.
        counted = list(output)
        while counted and counted[-1]["role"] == "tool":
            counted.pop()
        tokens = self.utils.token_counter(model="gpt-4o", messages=counted)
        assert tokens <= window, f"{tokens} tokens do not fit {window}"
        return {"messages": len(output), "tokens": tokens}
