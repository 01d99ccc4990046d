"""Seeded histories of any size, in both formats and several shapes, for benchmarks.

A history is an agent's run: a system prompt, a human message now and then, assistant messages with calls,
and their results. Texts are cut from a pool of synthetic pieces (source files of several languages, JSON,
logs, prose, Chinese, Japanese, Korean, Thai, emoji), so pieces repeat, but each remark, request and result
carries a serial number: no two of them are equal, and each is an object of its own.

Shapes, by messages per 1M tokens: `large` about 1,000, `small` about 9,000, `thai` about 1,000 with nearly
all text in Thai.
Sizes are coarse: 4 ASCII characters to the token, or 1 other character. Time is linear, about 1 s for 10M
tokens.

Example: `make(100_000, shape="small")` is the same list of dicts on every machine; another `seed` gives
another one.
"""

from __future__ import annotations

import functools
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from . import code, words

if TYPE_CHECKING:
    from .script import Message

Format = Literal["openai_chat", "anthropic"]
Shape = Literal["large", "small", "thai"]

FORMATS: tuple[Format, ...] = ("openai_chat", "anthropic")
SHAPES: tuple[Shape, ...] = ("large", "small", "thai")


@dataclass(frozen=True)
class Mix:
    """What a shape is made of: mean characters of a result and of a remark, and weights of its texts."""

    result: int
    remark: int
    weights: dict[str, int]


CODE_AND_MORE = {
    "python": 20,
    "typescript": 8,
    "rust": 8,
    "go": 5,
    "sql": 3,
    "csharp": 2,
    "records": 16,
    "log": 20,
    "markdown": 12,
    "locale": 3,
    "cjk": 2,
    "thai": 1,
}
MIXES: dict[Shape, Mix] = {
    "large": Mix(result=5600, remark=1900, weights=CODE_AND_MORE),
    "small": Mix(result=610, remark=90, weights=CODE_AND_MORE),
    "thai": Mix(result=1450, remark=420, weights={"thai": 19, "log": 1}),
}
# Read, shell and search dominate real sessions; every tenth call is of a tool that no list knows.
TOOLS = (
    "read_file",
    "read_file",
    "read_file",
    "bash",
    "bash",
    "bash",
    "grep",
    "grep",
    "edit_file",
    "query_metrics",
)


def _piece(rng: random.Random, kind: str) -> str:
    entity = rng.choice(words.ENTITIES)
    if kind == "thai":
        return "\n".join(words.thai(rng, 28) for _ in range(25))
    if kind == "cjk":
        make = (words.chinese, words.japanese, words.korean)
        return "\n".join(rng.choice(make)(rng, 16) + words.emoji(rng, 1) for _ in range(60))
    if kind == "records":
        return code.records(rng, entity)
    if kind == "log":
        return code.log(rng, entity)
    return code.source(rng, kind, entity)[1]


@functools.cache
def _pool(seed: int, shape: Shape) -> tuple[str, ...]:
    """Return the pieces of a shape: four for each point of weight."""
    rng = random.Random(f"{seed}/{shape}")
    return tuple(
        _piece(rng, kind) for kind, weight in MIXES[shape].weights.items() for _ in range(4 * weight)
    )


def coarse_tokens(text: str) -> int:
    """Return the coarse size of a text in tokens: a quarter of its ASCII characters and every other one."""
    if text.isascii():
        return len(text) // 4
    # Nearly all other characters here take three bytes in UTF-8, so half of the surplus is their number.
    others = (len(text.encode()) - len(text)) // 2
    return max(0, len(text) - others) // 4 + others


class Writer:
    """Writes texts for one history. `tokens` is the coarse size of what was written so far."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.rng = random.Random(f"{seed}/{shape}/history")
        self.mix, self.pool = MIXES[shape], _pool(seed, shape)
        self.thai = shape == "thai"
        self.tokens = 0
        self.serial = 0

    def text(self, mean: int, prefix: str = "") -> str:
        """Return a text of `mean` characters on average, cut from the pool, unlike any other."""
        self.serial += 1
        wanted = int(mean * (0.3 + 1.4 * self.rng.random()))
        parts = [f"{prefix}#{self.serial}\n"]
        while wanted > 0:
            piece = self.rng.choice(self.pool)
            start = self.rng.randrange(max(1, len(piece) - wanted))
            parts.append(piece[start : start + wanted])
            wanted -= len(parts[-1])
        text = "".join(parts)
        self.tokens += coarse_tokens(text)
        return text

    def human(self) -> str:
        """Return something a person says."""
        self.serial += 1
        body = words.thai(self.rng, 28) if self.thai else words.prose(self.rng, 3)
        text = f"Request {self.serial}: {body}"
        self.tokens += coarse_tokens(text)
        return text

    def call(self) -> tuple[str, dict[str, object]]:
        """Return the name and the arguments of a call."""
        rng, tool = self.rng, self.rng.choice(TOOLS)
        path = f"app/{rng.choice(words.ENTITIES)}/{words.identifier(rng)}.py"
        arguments: dict[str, object] = {"file_path": path}
        if tool == "bash":
            arguments = {
                "command": f"pytest -q {path} -k {words.identifier(rng)}",
                "timeout": rng.randrange(10, 600),
            }
        elif tool == "grep":
            arguments = {"pattern": words.identifier(rng), "path": "app", "output_mode": "content"}
        elif tool == "edit_file":
            arguments |= {"old_string": words.identifier(rng), "new_string": words.identifier(rng)}
        elif tool == "query_metrics":
            arguments = {"query": words.identifier(rng), "minutes": rng.randrange(600)}
        self.tokens += 20
        return tool, arguments

    def result(self) -> tuple[str, bool]:
        """Return the result of a call and whether it is an error; one in thirty is."""
        error = self.rng.random() < 1 / 30
        return self.text(
            self.mix.result // 3 if error else self.mix.result, "Error: " if error else ""
        ), error


def _turn(writer: Writer, number: int, form: Format) -> list[Message]:
    """Return one turn: a remark, one call (now and then two), and the results."""
    remark = writer.text(writer.mix.remark)
    calls: list[Message] = []
    results: list[Message] = []
    for part in range(2 if writer.rng.random() < 0.1 else 1):
        (tool, arguments), (text, error) = writer.call(), writer.result()
        if form == "openai_chat":
            identity = f"call_{number:07d}_{part}"
            function = {"name": tool, "arguments": json.dumps(arguments)}
            calls.append({"id": identity, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": identity, "content": text})
        else:
            identity = f"toolu_{number:07d}_{part}"
            calls.append({"type": "tool_use", "id": identity, "name": tool, "input": arguments})
            block: Message = {"type": "tool_result", "tool_use_id": identity, "content": text}
            results.append(block | {"is_error": True} if error else block)
    if form == "openai_chat":
        return [{"role": "assistant", "content": remark, "tool_calls": calls}, *results]
    blocks = [{"type": "text", "text": remark}, *calls]
    return [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]


def make(
    tokens: int, *, form: Format = "openai_chat", shape: Shape = "large", seed: int = 7
) -> list[Message]:
    """Return a history of about `tokens` coarse tokens.

    It ends after results, where an agent calls its model. The Anthropic form has no system message; a human
    speaks about every twelve turns, after an assistant message without calls.
    """
    writer = Writer(seed, shape)
    messages: list[Message] = []
    if form == "openai_chat":
        messages.append(
            {"role": "system", "content": f"You are a coding agent. {words.prose(writer.rng, 12)}"}
        )
    number = 0
    while writer.tokens < tokens or messages[-1]["role"] == "assistant":
        if number % 12 == 0:
            if number:
                messages.append({"role": "assistant", "content": writer.text(writer.mix.remark, "Done. ")})
            messages.append({"role": "user", "content": writer.human()})
        messages += _turn(writer, number, form)
        number += 1
    return messages


def texts(messages: list[Message]) -> list[str]:
    """Return every text of a history: contents, results, argument strings and strings in inputs."""
    found: list[str] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            found.append(content)
        else:
            for block in content or ():
                found += [value for key in ("text", "content") if isinstance(value := block.get(key), str)]
                found += [value for value in block.get("input", {}).values() if isinstance(value, str)]
        found += [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return found
