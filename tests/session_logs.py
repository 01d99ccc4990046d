"""Small session logs of each kind, with a call and its result in each: written here, never recorded."""

from __future__ import annotations

import json
from typing import Any

QUESTION = "What is in notes.txt?"
LISTING = "alpha\nbeta\r\ngamma"
ANSWER = "Three words."


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def document(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


class Claude:
    """Lines of a Claude Code session, each the child of the one before."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.newest: str | None = None

    def line(self, kind: str, **fields: Any) -> str:
        uuid = f"u{len(self.records)}"
        about = {"sessionId": "s1", "uuid": uuid, "parentUuid": self.newest, "isSidechain": False}
        self.records.append({"type": kind, **about, **fields})
        self.newest = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def reply(self, identifier: str, block: dict[str, Any], tokens: int = 10, **fields: Any) -> str:
        message = {
            "id": identifier,
            "role": "assistant",
            "model": "claude-x",
            "content": [block],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": tokens, "output_tokens": 1},
        }
        return self.line("assistant", message=message, **fields)

    def result(self, call: str, text: str = LISTING, **fields: Any) -> str:
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": text}], **fields)

    def bytes(self) -> bytes:
        return lines(*self.records)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(identifier: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": "Read", "input": {"file_path": "notes.txt"}}


def claude_code() -> bytes:
    log = Claude()
    log.line("file-history-snapshot")
    log.user(QUESTION)
    log.reply("m1", {"type": "thinking", "thinking": "look", "signature": "c2ln"})
    log.reply("m1", use("t1"), 20)
    log.result("t1")
    log.reply("m2", text(ANSWER), 30)
    return log.bytes()


def item(payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}


def said(role: str, value: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(
        {
            "type": "message",
            "role": role,
            "content": [{"type": kind, "text": value}],
            "metadata": {"turn_id": 1},
        }
    )


def tokens(total: int, last: int) -> dict[str, Any]:
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def codex_records() -> list[dict[str, Any]]:
    call = {
        "type": "function_call",
        "name": "shell",
        "arguments": '{"cmd": "cat notes.txt"}',
        "call_id": "c1",
    }
    return [
        {"type": "session_meta", "payload": {"id": "r1", "base_instructions": {"text": "Be brief."}}},
        {"type": "turn_context", "payload": {"model": "gpt-x"}},
        said("user", QUESTION),
        item(call),
        item({"type": "function_call_output", "call_id": "c1", "output": LISTING}),
        tokens(100, 100),
        tokens(100, 100),
        said("assistant", ANSWER),
        tokens(250, 150),
    ]


def codex() -> bytes:
    return lines(*codex_records())


def gemini_cli() -> bytes:
    return document(
        [
            {"role": "user", "parts": [{"text": QUESTION}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "read_file", "args": {"path": "notes.txt"}}}],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "read_file", "response": {"output": LISTING}}}],
            },
            {"role": "model", "parts": [{"text": ANSWER}]},
        ]
    )


def gemini_chat() -> bytes:
    answer = [{"functionResponse": {"id": "g1", "name": "read_file", "response": {"output": LISTING}}}]
    call = {"id": "g1", "name": "read_file", "args": {"path": "notes.txt"}, "result": answer}
    return document(
        {
            "sessionId": "s1",
            "projectHash": "p1",
            "messages": [
                {"id": "1", "type": "user", "content": QUESTION},
                {"id": "2", "type": "info", "content": "update available"},
                {"id": "3", "type": "gemini", "content": "", "toolCalls": [call], "tokens": {"input": 40}},
                {"id": "4", "type": "gemini", "content": ANSWER, "tokens": {"input": 60, "output": 3}},
            ],
        }
    )


def chat() -> list[dict[str, Any]]:
    function = {"name": "read", "arguments": '{"path": "notes.txt"}'}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": LISTING},
        {"role": "assistant", "content": ANSWER},
    ]


def swe_agent() -> bytes:
    history: list[dict[str, Any]] = [{**message, "agent": "main"} for message in chat()]
    history[3].pop("tool_call_id")
    history[3]["tool_call_ids"] = ["c1"]
    steps = [{"action": "cat notes.txt", "observation": LISTING}]
    return document(
        {"environment": "main", "trajectory": steps, "history": history, "info": {"exit_status": "ok"}}
    )


def tau_bench() -> bytes:
    row = {"task_id": 1, "reward": 1.0, "traj": chat(), "trial": 0}
    return document([row, {**row, "trial": 1}])


def openhands_events() -> list[dict[str, Any]]:
    function = {"name": "execute_bash", "arguments": '{"command": "cat notes.txt"}'}
    called = {"id": "c1", "type": "function", "function": function}
    reply = {
        "id": "gen-1",
        "model": "m",
        "choices": [
            {"message": {"role": "assistant", "content": None, "tool_calls": [called], "function_call": None}}
        ],
        "usage": {"prompt_tokens": 90},
    }
    call = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": reply}
    metadata = {"exit_code": 0, "working_dir": "/w", "prefix": "", "suffix": ""}
    return [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "Be brief.", "tools": []}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": QUESTION}},
        {"id": 2, "source": "environment", "observation": "agent_state_changed", "content": ""},
        {"id": 3, "source": "agent", "action": "run", "tool_call_metadata": call, "args": {}},
        {
            "id": 4,
            "source": "agent",
            "observation": "run",
            "tool_call_metadata": call,
            "content": LISTING,
            "extras": {"metadata": metadata},
        },
        {"id": 5, "source": "agent", "action": "message", "args": {"content": ANSWER}},
    ]


def openhands() -> bytes:
    return document({"instance_id": "i1", "history": openhands_events()})


def sharegpt() -> bytes:
    call = json.dumps({"name": "read", "arguments": {"path": "notes.txt"}})
    turns = [
        {"from": "human", "value": QUESTION},
        {"from": "function_call", "value": call},
        {"from": "observation", "value": LISTING},
        {"from": "gpt", "value": ANSWER},
    ]
    row = {"conversations": turns, "tools": json.dumps([{"name": "read", "parameters": {}}])}
    return lines(row, row)


def dumped(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


def langchain() -> bytes:
    call = {"name": "read", "args": {"path": "notes.txt"}, "id": "c1", "type": "tool_call"}
    return document(
        [
            dumped("SystemMessage", content="Be brief."),
            dumped("HumanMessage", content=QUESTION),
            dumped("AIMessage", content="", tool_calls=[call], usage_metadata={"input_tokens": 70}),
            dumped("ToolMessage", content=LISTING, tool_call_id="c1"),
            dumped("AIMessage", content=ANSWER, tool_calls=[]),
        ]
    )


def langchain_anthropic() -> bytes:
    return document(
        {
            "messages": [
                dumped("SystemMessage", content="Be brief."),
                dumped("HumanMessage", content=QUESTION),
                dumped("AIMessage", content=[use("t1"), use("t2")], tool_calls=[]),
                dumped("ToolMessage", content=LISTING, tool_call_id="t1"),
                dumped("ToolMessage", content="no", tool_call_id="t2", status="error"),
                dumped("AIMessage", content=[text(ANSWER)]),
            ]
        }
    )


def messages() -> bytes:
    return lines(*chat())


def request() -> bytes:
    return document(
        {
            "body": {
                "model": "m",
                "instructions": "Be brief.",
                "input": [{"role": "user", "content": QUESTION}],
            }
        }
    )


LOGS = {
    "claude_code": claude_code(),
    "codex": codex(),
    "gemini_cli": gemini_cli(),
    "gemini_cli/chat": gemini_chat(),
    "swe_agent": swe_agent(),
    "tau_bench": tau_bench(),
    "openhands": openhands(),
    "openhands/lines": lines(*openhands_events()),
    "sharegpt": sharegpt(),
    "langchain": langchain(),
    "langchain/anthropic": langchain_anthropic(),
    "messages": messages(),
    "messages/request": request(),
}
"""One log of each kind and variant, by `kind` or `kind/variant`."""

FORMATS = {
    "claude_code": "anthropic",
    "codex": "responses",
    "gemini_cli": "gemini",
    "gemini_cli/chat": "gemini",
    "langchain/anthropic": "anthropic",
    "messages/request": "responses",
}
"""Those that are not OpenAI chat."""
