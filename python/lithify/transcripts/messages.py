"""Plain histories: a list of messages, a JSONL of them, or a request body that holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, dictionary, label, word
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lithify.transcripts.log import Conversation, Format
    from lithify.transcripts.records import Record

KIND = "messages"

_PLACES: Final = ("messages", "input", "contents", "history", "traj")
_WRAPPERS: Final = ("body", "request")
_SYSTEM: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_RESPONSES_TYPES: Final = ("message", "reasoning", "function_call", "function_call_output", "compaction")
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "image", "document"}
)
_BEDROCK_BLOCKS: Final = frozenset(
    {"text", "toolUse", "toolResult", "image", "document", "reasoningContent", "cachePoint"}
)
_OUTPUTS: Final = ("reasoning", "function_call")


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    return any(_is_message(value) for value in values[:3]) or any(
        _holder(value)[1] is not None for value in values[:1]
    )


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found, loose, beside = [], [], {}
    for record in records:
        if _is_message(record.value):
            loose.append(record.value)
            continue
        holder, messages = _holder(record.value)
        if messages is None:
            notes.aside(record.line, label(record.value), record.value)
            continue
        beside = {name: holder[name] for name in (*_SYSTEM, "tools") if holder.get(name) is not None}
        system = next((beside[name] for name in _SYSTEM if name in beside), None)
        form = _form(messages, holder)
        metadata = {"model": holder["model"]} if isinstance(holder.get("model"), str) else {}
        one = plain(messages, form, notes, system=system, tools=beside.get("tools"), metadata=metadata)
        if one is not None:
            found.append(one)
    one = plain(loose, _form(loose, {}), notes) if loose else None
    return [*found, one] if one is not None else found


def plain(
    messages: list[Any],
    form: Format,
    notes: Notes,
    *,
    name: str = "",
    system: Any = None,
    tools: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> Conversation | None:
    """Return messages that are in their provider's shape as a conversation, each as the same object."""
    thread = Thread()
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            notes.broken(number, "a message that is no object", message)
        elif message.get("role") in ("assistant", "model") or message.get("type") in _OUTPUTS:
            if form != "responses" or not thread.awaiting:
                thread.ask(
                    line=number,
                    usage=message.get("usage") if isinstance(message.get("usage"), dict) else None,
                )
            thread.reply(message)
        else:
            thread.close()
            thread.add(message)
    if not thread.messages:
        return None
    listed = tools if isinstance(tools, list) else None
    return thread.finish(format=form, name=name, system=system, tools=listed, metadata=metadata or {})


def _is_message(value: Any) -> bool:
    message = dictionary(value)
    return "role" in message or message.get("type") in _RESPONSES_TYPES


def _holder(value: Any) -> tuple[dict[str, Any], list[Any] | None]:
    """Return the object that holds the list, and the list."""
    if isinstance(value, list):
        return {}, value if value and _is_message(value[0]) else None
    root = dictionary(value)
    for holder in (root, *(dictionary(root.get(name)) for name in _WRAPPERS)):
        for place in _PLACES:
            messages = holder.get(place)
            if isinstance(messages, list) and messages and _is_message(messages[0]):
                return holder, messages
    return {}, None


def _form(messages: list[Any], holder: dict[str, Any]) -> Format:
    """Tell the provider by the shape of the messages, and by what stands beside them."""
    if "input" in holder or any(
        "type" in dictionary(one) and one["type"] in _RESPONSES_TYPES for one in messages
    ):
        return "responses"
    if any("parts" in dictionary(one) for one in messages):
        return "gemini"
    blocks = [dictionary(block) for one in messages for block in _content(one)]
    if any("type" not in block and block.keys() & _BEDROCK_BLOCKS for block in blocks):
        return "bedrock"
    roles = {word(one, "role") for one in messages}
    known = any(word(block, "type") in _ANTHROPIC_BLOCKS for block in blocks)
    if roles <= {"user", "assistant"} and (known or "system" in holder or "thinking" in holder):
        return "anthropic"
    return "openai_chat"


def _content(message: Any) -> list[Any]:
    content = dictionary(message).get("content")
    return content if isinstance(content, list) else []
