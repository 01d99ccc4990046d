"""LangChain: messages dumped as constructors, or as `{"type": "human", "data": {...}}`.

The dump says what each message is, not for which provider. Blocks of Anthropic's (a signed thinking block,
a tool use) or its name in the metadata make the history one of Anthropic's, anything else is OpenAI chat.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, chat_call, dictionary, label, listing, text_of, word
from lithify.transcripts.records import decode_text
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "langchain"

_TYPES: Final = {
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "chat",
    "system": "system",
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
    "chat": "chat",
}
_ANTHROPIC_BLOCKS: Final = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = values[0] if values else None
    return any(_message(one) is not None for one in (_listed(first) if first is not None else [])[:3]) or (
        bool(values) and _message(first) is not None
    )


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found, loose = [], []
    for record in records:
        if _message(record.value) is not None:
            loose.append(record.value)
            continue
        dumps = _listed(record.value)
        if not dumps:
            notes.aside(record.line, label(record.value), record.value)
            continue
        found.append(_conversation(dumps, notes))
    if loose:
        found.append(_conversation(loose, notes))
    return [one for one in found if one.messages]


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict):
        inner = value.get("messages", dictionary(value.get("kwargs")).get("messages"))
        return listing(inner)
    return listing(value)


def _message(dump: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the role and the fields of a dumped message, or None when it is none."""
    value = dictionary(dump)
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        names, fields = listing(value.get("id")), value["kwargs"]
        name: Any = names[-1].removesuffix("Chunk") if names and isinstance(names[-1], str) else ""
    elif isinstance(value.get("data"), dict):
        name, fields = value.get("type"), value["data"]
    else:
        return None
    role = _TYPES.get(name) if isinstance(name, str) else None
    return (role, fields) if role is not None and "content" in fields else None


def _conversation(dumps: list[Any], notes: Notes) -> Conversation:
    known = []
    for number, dump in enumerate(dumps, 1):
        one = _message(dump)
        if one is None:
            notes.aside(number, label(dump), dump)
        else:
            known.append((number, *one))
    return _anthropic(known) if any(map(_is_anthropic, known)) else _openai(known)


def _is_anthropic(message: tuple[int, str, dict[str, Any]]) -> bool:
    _, role, fields = message
    about = dictionary(fields.get("response_metadata"))
    return role == "assistant" and (
        about.get("model_provider") == "anthropic"
        or any(word(block, "type") in _ANTHROPIC_BLOCKS for block in listing(fields["content"]))
    )


def _ask(thread: Thread, number: int, fields: dict[str, Any]) -> None:
    about = dictionary(fields.get("response_metadata"))
    usage = fields.get("usage_metadata") or about.get("token_usage") or about.get("usage")
    model = about.get("model_name") or about.get("model")
    thread.ask(
        line=number,
        usage=usage if isinstance(usage, dict) else None,
        model=model if isinstance(model, str) else None,
    )


def _calls(fields: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of each call; arguments that were no JSON stay text."""
    made = [*listing(fields.get("tool_calls")), *listing(fields.get("invalid_tool_calls"))]
    if made:
        calls = [
            (dictionary(one).get("id"), dictionary(one).get("name"), dictionary(one).get("args"))
            for one in made
        ]
    else:
        raw = listing(dictionary(fields.get("additional_kwargs")).get("tool_calls"))
        functions = [(dictionary(one).get("id"), dictionary(dictionary(one).get("function"))) for one in raw]
        calls = [(identifier, one.get("name"), one.get("arguments")) for identifier, one in functions]
    return [
        (str(identifier or ""), str(name or ""), {} if args is None else args)
        for identifier, name, args in calls
    ]


def _openai(known: list[tuple[int, str, dict[str, Any]]]) -> Conversation:
    thread = Thread()
    for number, role, fields in known:
        content = _openai_content(fields["content"])
        if role == "assistant":
            message = {"role": "assistant", "content": content or None}
            calls = [chat_call(*call) for call in _calls(fields)]
            if calls:
                message["tool_calls"] = calls
            elif not content:
                message["content"] = ""
            _ask(thread, number, fields)
            thread.reply(message)
        elif role == "tool":
            thread.add(
                {"role": "tool", "tool_call_id": str(fields.get("tool_call_id") or ""), "content": content}
            )
        else:
            thread.add({"role": _role(role, fields), "content": content})
    return thread.finish(format="openai_chat")


def _role(role: str, fields: dict[str, Any]) -> str:
    named = fields.get("role")
    return (named if named in ("system", "developer", "assistant") else "user") if role == "chat" else role


def _openai_content(content: Any) -> Any:
    if not isinstance(content, list):
        return content if isinstance(content, str) else json.dumps(content)
    return [
        _openai_part(part)
        for part in content
        if dictionary(part).get("type") not in ("tool_use", "function_call")
    ]


def _openai_part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    block = dictionary(part)
    data = block.get("base64") or block.get("data")
    if block.get("type") == "image" and isinstance(data, str):
        url = f"data:{block.get('mime_type', 'image/png')};base64,{data}"
        return {"type": "image_url", "image_url": {"url": url}}
    if block.get("type") == "image" and isinstance(block.get("url"), str):
        return {"type": "image_url", "image_url": {"url": block["url"]}}
    return part


def _anthropic(known: list[tuple[int, str, dict[str, Any]]]) -> Conversation:
    thread = Thread()
    system: list[str] = []
    for number, role, fields in known:
        blocks = _anthropic_blocks(fields["content"])
        if role == "system":
            system.append(text_of(fields["content"]))
        elif role == "assistant":
            held = {word(block, "id") for block in map(dictionary, blocks) if block.get("type") == "tool_use"}
            for identifier, name, arguments in _calls(fields):
                if identifier not in held:
                    given = decode_text(arguments) if isinstance(arguments, str) else arguments
                    blocks.append(
                        {"type": "tool_use", "id": identifier, "name": name, "input": dictionary(given)}
                    )
            _ask(thread, number, fields)
            thread.reply({"role": "assistant", "content": blocks})
        elif role == "tool":
            _result(thread, fields, blocks)
        else:
            thread.add({"role": "user", "content": blocks})
    return thread.finish(format="anthropic", system="\n\n".join(system) or None)


def _anthropic_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [_anthropic_block(part) for part in listing(content)]


def _anthropic_block(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    block = dictionary(part)
    data = block.get("base64") or block.get("data")
    if block.get("type") == "image" and "source" not in block and isinstance(data, str):
        source = {"type": "base64", "media_type": block.get("mime_type", "image/png"), "data": data}
        return {"type": "image", "source": source}
    return part


def _result(thread: Thread, fields: dict[str, Any], blocks: list[Any]) -> None:
    """Add a result; those of parallel calls share one user message."""
    result: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": str(fields.get("tool_call_id") or ""),
        "content": blocks,
    }
    if isinstance(fields["content"], str):
        result["content"] = fields["content"]
    if fields.get("status") == "error":
        result["is_error"] = True
    last = thread.messages[-1] if thread.messages else {}
    if last.get("role") == "user" and all(
        dictionary(one).get("type") == "tool_result" for one in last["content"]
    ):
        last["content"].append(result)
    else:
        thread.add({"role": "user", "content": [result]})
