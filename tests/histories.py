"""Histories for the tests: a seeded generator, and hypothesis strategies that drive the same generator.

`clean` gives a history the provider would take; `damage` breaks it in one of the ways histories are
broken in the wild; `case` draws a whole case: messages, limit, policy, system and tools. The same
`random.Random` seed gives the same case on every platform. The strategies draw the seed, the number of
turns and the number of damages, so that a failing case shrinks to few turns and few damages (one draw
for every choice would shrink better and is 20 times slower).
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.history_damage import damage, flags, pin
from tests.history_texts import output, size_of, text

Message = dict[str, Any]

OPENAI = "openai_chat"
ANTHROPIC = "anthropic"
FORMATS = (OPENAI, ANTHROPIC)

LISTED = (
    "Read",
    "read_file",
    "Bash",
    "grep",
    "Glob",
    "search_files",
    "WebFetch",
    "edit",
    "mcp__fs__read",
    "fs.view",
)
PROTECTED = ("Write", "create_file")
OTHER = ("deploy", "ask:human", "browser/click", "sql")
TOOLS = LISTED + PROTECTED + OTHER
PATHS = ("a.py", "src/b.rs", "notes.md")


@dataclass
class Case:
    """One input of the engine. `policy` is plain nested data, as `lithify.Policy` names its fields."""

    format: str
    messages: list[Message]
    limit: int
    policy: dict[str, Any] = field(default_factory=dict)
    system: Any = None
    tools: Any = None


def chars4(text: str) -> int:
    """The cheap counter of the tests: a token for every four characters, begun ones included."""
    return (len(text) + 3) // 4


def chars1(text: str) -> int:
    """A counter so fine that every character can tip a decision."""
    return len(text)


# Clean histories ----------------------------------------------------


@dataclass
class Script:
    """What the renderers share while a history is written."""

    rng: random.Random
    format: str
    messages: list[Message] = field(default_factory=list)
    bank: list[str] = field(default_factory=list)
    number: int = 0

    def next_id(self) -> str:
        self.number += 1
        return f"call{self.number}"


def clean(rng: random.Random, fmt: str, turns: int | None = None) -> list[Message]:
    """A history that its provider would take."""
    script = Script(rng, fmt)
    if fmt == OPENAI:
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            script.messages.append({"role": rng.choice(("system", "developer")), "content": text(rng, 40)})
    add_user(script)
    for _ in range(rng.choice((0, 1, 3, 6, 9, 12, 16, 24)) if turns is None else turns):
        roll = rng.random()
        if roll < 0.7:
            add_tool_turn(script)
        elif roll < 0.85:
            add_answer(script)
        else:
            add_user(script)
    if rng.random() < 0.4:
        add_user(script)
    if rng.random() < 0.15:
        add_open_call(script)
    return script.messages


def add_user(script: Script) -> None:
    rng = script.rng
    body = text(rng, size_of(rng)) + "."
    message: Message = {"role": "user", "content": body}
    if rng.random() < 0.3:
        message["content"] = [{"type": "text", "text": body}, *extra_user_blocks(script)]
    if script.format == OPENAI and rng.random() < 0.1:
        message["name"] = rng.choice(("ann", "bob smith"))
    script.messages.append(message)


def extra_user_blocks(script: Script) -> list[Message]:
    rng = script.rng
    if script.format == OPENAI:
        choices: list[Message] = [
            {"type": "image_url", "image_url": {"url": "https://x/1.png"}},
            {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64," + "A" * 600, "detail": "low"},
            },
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f1"}},
            {"type": "text", "text": text(rng, 30) + "!"},
        ]
    else:
        choices = [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 900}},
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": text(rng, 90)},
            },
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            },
            {
                "type": "search_result",
                "source": "s",
                "title": "t",
                "content": [{"type": "text", "text": "found"}],
            },
            {"type": "text", "text": text(rng, 30) + "!", "cache_control": {"type": "ephemeral"}},
        ]
    return rng.sample(choices, rng.choice((0, 1, 1, 2)))


def arguments(rng: random.Random, name: str) -> Message:
    path = rng.choice(PATHS)
    key = rng.choice(("file_path", "path", "filePath", "uri"))
    choices: list[Message] = [
        {key: path},
        {key: path},
        {key: path, "offset": rng.choice((0, 10)), "limit": 20},
        {"command": 'ls -la\n"x" é', "timeout": 1.5, "flags": [True, None, {"a": -1}]},
        {"content": text(rng, size_of(rng)), "path": path},
        {},
    ]
    return rng.choice(choices[:3] if "read" in name.lower() or "view" in name else choices)


def add_tool_turn(script: Script) -> None:
    rng = script.rng
    made = [(script.next_id(), rng.choice(TOOLS)) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    render_calls(script, made)
    render_results(script, made)


def add_open_call(script: Script) -> None:
    rng = script.rng
    made = [(script.next_id(), rng.choice(TOOLS)) for _ in range(rng.choice((1, 2)))]
    render_calls(script, made)
    if len(made) == 2 and rng.random() < 0.5:
        render_results(script, made[:1], is_open=True)


def render_calls(script: Script, made: list[tuple[str, str]]) -> None:
    rng = script.rng
    if script.format == OPENAI:
        if rng.random() < 0.05 and len(made) == 1:
            call = {"name": made[0][1], "arguments": json.dumps(arguments(rng, made[0][1]))}
            script.messages.append({"role": "assistant", "content": None, "function_call": call})
            return
        calls = [openai_call(rng, identity, name) for identity, name in made]
        message: Message = {
            "role": "assistant",
            "content": rng.choice((None, "", "I look.")),
            "tool_calls": calls,
        }
        if rng.random() < 0.1:
            message["reasoning_content"] = text(rng, 60)
        script.messages.append(message)
        return
    blocks: list[Message] = []
    if rng.random() < 0.3:
        blocks.append({"type": "thinking", "thinking": text(rng, 60), "signature": "c2ln" * 40})
    if rng.random() < 0.1:
        blocks.append({"type": "redacted_thinking", "data": "ZGF0YQ==" * 20})
    if rng.random() < 0.4:
        blocks.append({"type": "text", "text": "I look."})
    for identity, name in made:
        blocks.append({"type": "tool_use", "id": identity, "name": name, "input": arguments(rng, name)})
    script.messages.append({"role": "assistant", "content": blocks})


def openai_call(rng: random.Random, identity: str, name: str) -> Message:
    body = json.dumps(arguments(rng, name), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        body = body[: len(body) // 2]
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": body}}


def render_results(script: Script, made: list[tuple[str, str]], *, is_open: bool = False) -> None:
    rng = script.rng
    if script.format == OPENAI:
        if "function_call" in script.messages[-1]:
            content = output(rng, script.bank)
            script.messages.append({"role": "function", "name": made[0][1], "content": content})
            return
        for identity, _ in rng.sample(made, len(made)):
            content = result_content(script)
            script.messages.append({"role": "tool", "tool_call_id": identity, "content": content})
        return
    blocks: list[Message] = []
    for identity, _ in rng.sample(made, len(made)):
        block: Message = {"type": "tool_result", "tool_use_id": identity, "content": result_content(script)}
        if rng.random() < 0.15:
            block["is_error"] = rng.choice((True, True, False))
        if rng.random() < 0.05:
            del block["content"]
        if rng.random() < 0.1:
            block["cache_control"] = {"type": "ephemeral"}
            if not block.get("content"):
                del block["cache_control"]
        blocks.append(block)
    if not is_open and rng.random() < 0.15:
        blocks.append({"type": "text", "text": text(rng, 30) + "."})
    script.messages.append({"role": "user", "content": blocks})


def result_content(script: Script) -> Any:
    rng = script.rng
    roll = rng.random()
    if roll < 0.8:
        return output(rng, script.bank)
    blocks: list[Message] = [
        {"type": "text", "text": output(rng, script.bank)} for _ in range(rng.choice((1, 1, 2, 3)))
    ]
    if script.format == ANTHROPIC and rng.random() < 0.3:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 700}}
        blocks.insert(rng.randrange(len(blocks) + 1), image)
    return blocks


def add_answer(script: Script) -> None:
    rng = script.rng
    body = text(rng, size_of(rng)) + "."
    message: Message = {"role": "assistant", "content": body}
    roll = rng.random()
    if script.format == ANTHROPIC and roll < 0.3:
        blocks: list[Message] = [{"type": "text", "text": body}]
        if rng.random() < 0.5:
            blocks.insert(0, {"type": "thinking", "thinking": text(rng, 40), "signature": "c2ln" * 9})
        if rng.random() < 0.4:
            query = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}}
            blob = {
                "type": "web_search_tool_result",
                "tool_use_id": "srv1",
                "content": [{"data": "QUJD" * 200}],
            }
            blocks += [query, blob, {"type": "text", "text": "Found."}]
        message["content"] = blocks
    elif script.format == OPENAI and roll < 0.15:
        message["content"] = [{"type": "text", "text": body}]
    elif script.format == OPENAI and roll < 0.2:
        message = {"role": "assistant", "content": None, "refusal": body}
    script.messages.append(message)


# Whole cases ----------------------------------------------------


def policy(rng: random.Random) -> dict[str, Any]:
    """Mostly the defaults; also the literal rule set, and settings at the edges."""
    roll = rng.random()
    if roll < 0.45:
        return {}
    if roll < 0.6:
        return literal_policy()
    clear = {
        "keep": rng.choice((0, 1, 3, 5)),
        "at_least": rng.choice((0, 0.15, 0.5)),
        "single_share": rng.choice((0.1, 0.5, 1.0)),
        "verbose": rng.choice((10, 500)),
        "errors_keep_turns": rng.choice((0, 1, 3)),
        "verbose_turns": rng.choice((0, 3)),
        "eager": rng.random() < 0.3,
        "exclude_tools": rng.choice(((), ("bash",), ("sql", "Read"))),
    }
    prune = {"keep": rng.choice((0, 1, 2, 6, 20)), "recent_share": rng.choice((0, 0.5, 0.75))}
    return {"clear": clear, "prune": prune, "strict_alternation": rng.random() < 0.2}


def literal_policy() -> dict[str, Any]:
    return {
        "clear": {"target": 0.75, "at_least": 0, "literal": True},
        "prune": {"recent_share": 0, "verbatim_share": 0},
    }


def limit(rng: random.Random, size: int) -> int:
    """From far too small to ample; `size` is the history's price."""
    if rng.random() < 0.05:
        return rng.choice((1, 10, 40, 100))
    return max(
        1,
        int(size * rng.choice((0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.0, 3.0))),
    )


def rough_size(messages: list[Message]) -> int:
    return chars4(json.dumps(messages, ensure_ascii=False, default=str)) + 1


def extras(rng: random.Random, fmt: str) -> tuple[Any, Any]:
    """The values of `system=` and `tools=`."""
    system: Any = None
    if fmt == ANTHROPIC and rng.random() < 0.4:
        system = rng.choice(
            ("be brief", [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}])
        )
    tools = [{"name": "read", "input_schema": {"type": "object"}}] * 2 if rng.random() < 0.3 else None
    return system, tools


def case(
    rng: random.Random, fmt: str | None = None, turns: int | None = None, damages: int | None = None
) -> Case:
    """A whole case: a third clean, the others broken once or several times."""
    fmt = fmt or rng.choice(FORMATS)
    messages = clean(rng, fmt, turns)
    damage(rng, fmt, messages, rng.choice((0, 0, 1, 1, 2, 3, 6)) if damages is None else damages)
    if rng.random() < 0.02:
        messages = []
    elif rng.random() < 0.02:
        messages = [message for message in messages if message["role"] in ("system", "developer")]
    messages = copy.deepcopy(messages)
    own_system, tools = extras(rng, fmt)
    return Case(fmt, messages, limit(rng, rough_size(messages)), policy(rng), own_system, tools)


def valid_case(rng: random.Random, fmt: str | None = None, turns: int | None = None, marks: int = 1) -> Case:
    """A case whose history is valid, with `marks` pins and other flags here and there."""
    fmt = fmt or rng.choice(FORMATS)
    messages = clean(rng, fmt, turns)
    for _ in range(marks):
        rng.choice((flags, pin))(rng, fmt, messages)
    own_system, tools = extras(rng, fmt)
    messages = copy.deepcopy(messages)
    return Case(fmt, messages, limit(rng, rough_size(messages)), policy(rng), own_system, tools)


def any_text(rng: random.Random) -> str:
    """A text for `truncate`: several kinds one after the other."""
    return "".join(text(rng, rng.choice((1, 10, 40, 200))) for _ in range(rng.choice((1, 1, 2, 4))))


SEEDS = st.integers(0, 2**32)


def cases(fmt: str | None = None) -> st.SearchStrategy[Case]:
    """Cases of every kind."""
    return st.builds(
        lambda seed, turns, damages: case(random.Random(seed), fmt, turns, damages),
        SEEDS,
        st.integers(0, 20),
        st.integers(0, 6),
    )


def valid_cases(fmt: str | None = None) -> st.SearchStrategy[Case]:
    """Cases whose history is valid."""
    return st.builds(
        lambda seed, turns, marks: valid_case(random.Random(seed), fmt, turns, marks),
        SEEDS,
        st.integers(0, 20),
        st.integers(0, 3),
    )


def texts() -> st.SearchStrategy[str]:
    """Texts for `truncate` and the counters: ours, and hypothesis' own."""
    ours = SEEDS.map(lambda seed: any_text(random.Random(seed)))
    return ours | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
