"""Codex: a rollout, a JSONL of Responses items among events.

An item stands in an envelope of type `response_item`; the oldest versions wrote bare items. One
`token_count` with new totals ends each request. `compacted` replaces the history by the one it carries;
older versions carry only the summary, and the history is put together again from the user's messages and
it, as the program did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, dictionary, label, listing, word
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "codex"

_OUTPUTS: Final = frozenset(
    {
        *("reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"),
        *("tool_search_call", "image_generation_call", "mcp_call"),
    }
)
_INPUTS: Final = frozenset(
    {
        *("function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output"),
        *("mcp_tool_call_output", "compaction", "compaction_summary", "context_compaction"),
    }
)
_ENVELOPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_BOOKKEEPING: Final = ("internal_chat_message_metadata_passthrough", "metadata")
"""What the program notes on an item for itself."""
_NOT_SENT: Final = frozenset({"ghost_snapshot"})


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    objects = [value for value in values if isinstance(value, dict)]
    if any(word(one, "type") in _ENVELOPES and isinstance(one.get("payload"), dict) for one in objects):
        return True
    first = objects[0] if objects else {}
    return {"id", "timestamp", "instructions"} <= first.keys() and any(map(_is_item, objects))


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    rollout = _Rollout(notes)
    for record in records:
        rollout.take(record)
    return rollout.finish()


def _is_item(value: Any) -> bool:
    kind = word(value, "type")
    return kind in _OUTPUTS or kind in _INPUTS or (kind == "message" and "role" in value)


def _is_output(item: dict[str, Any]) -> bool:
    return item["type"] in _OUTPUTS or (item["type"] == "message" and item.get("role") == "assistant")


class _Rollout:
    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.thread = Thread()
        self.total: Any = None
        self.model: str | None = None
        self.system: str | None = None
        self.metadata: dict[str, Any] = {}
        self.counted = False
        """Whether this log has token counts, which then tell requests apart."""
        self.answered = False
        """Whether the newest item is no output of the model."""

    def take(self, record: Record) -> None:
        value = record.value
        kind = label(value)
        payload = dictionary(dictionary(value).get("payload"))
        if kind in _ENVELOPES and not payload:
            self.notes.broken(record.line, f"a {kind} line without a payload", value)
        elif kind == "response_item":
            self._item(record.line, payload, word(value, "timestamp"))
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "compacted":
            self._compacted(record.line, payload)
        elif kind == "turn_context":
            self.model = word(payload, "model") or self.model
            self.notes.event(kind)
        elif kind == "session_meta":
            self._meta(payload)
        elif _is_item(value):
            self._item(record.line, value, word(value, "timestamp"))
        elif {"id", "timestamp", "instructions"} <= dictionary(value).keys():
            self._meta(value)
        elif dictionary(value).get("record_type") == "state":
            self.notes.event("state")
        else:
            self.notes.aside(record.line, kind, value)

    def finish(self) -> list[Conversation]:
        conversation = self.thread.finish(
            format="responses",
            name=str(self.metadata.get("id", "")),
            system=self.system,
            metadata=self.metadata,
        )
        return [conversation] if conversation.epochs[0].messages else []

    def _meta(self, payload: dict[str, Any]) -> None:
        self.notes.event("session_meta")
        instructions = payload.get("base_instructions") or payload.get("instructions")
        text = instructions if isinstance(instructions, str) else dictionary(instructions).get("text")
        if isinstance(text, str):
            self.system = text
        names = ("id", "cwd", "originator", "cli_version", "model_provider", "git")
        self.metadata.update({name: payload[name] for name in names if payload.get(name) is not None})

    def _item(self, line: int, item: dict[str, Any], time: str | None) -> None:
        if word(item, "type") in _NOT_SENT:
            self.notes.event(f"response_item/{item['type']}")
            return
        if not _is_item(item):
            self.notes.aside(line, f"response_item/{label(item)}", item)
            return
        message = {name: value for name, value in item.items() if name not in _BOOKKEEPING}
        if not _is_output(item):
            if item["type"] == "message":
                self.thread.close()
            self.thread.add(message)
            self.answered = True
            return
        # Without token counts, output after a result is another reply.
        if not self.thread.awaiting or (self.answered and not self.counted):
            self.thread.ask(line=line, model=self.model, time=time)
        self.answered = False
        self.thread.reply(message)

    def _event(self, payload: dict[str, Any]) -> None:
        kind = label(payload)
        self.notes.event(f"event_msg/{kind}")
        if kind == "token_count":
            info = dictionary(payload.get("info"))
            total = info.get("total_token_usage")
            # The same totals again are no request, only news of the rate limits.
            if total is not None and total != self.total:
                self.total, self.counted = total, True
                if self.thread.awaiting and isinstance(info.get("last_token_usage"), dict):
                    self.thread.report(info["last_token_usage"])
                self.thread.close()
            window = info.get("model_context_window")
            if window is not None:
                self.metadata["window"] = window
        elif kind == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))

    def _roll_back(self, turns: Any) -> None:
        """Drop the newest turns, each of which begins with a message of the user."""
        if not isinstance(turns, int) or turns < 1:
            return
        prompts = [index for index, one in enumerate(self.thread.messages) if one.get("role") == "user"]
        cut = prompts[-turns] if turns <= len(prompts) else 0
        self.thread.renew(self.thread.messages[:cut], "rewind")

    def _compacted(self, line: int, payload: dict[str, Any]) -> None:
        about = {
            name: value for name, value in payload.items() if name not in ("replacement_history", "message")
        }
        history = [item for item in listing(payload.get("replacement_history")) if _is_item(item)]
        if not history:
            history = self._rebuilt(payload.get("message"))
            about["rebuilt"] = True
        messages = [
            {name: value for name, value in item.items() if name not in _BOOKKEEPING} for item in history
        ]
        self.thread.renew(messages, "compaction", line=line, metadata=about, summary=_summary(messages))

    def _rebuilt(self, summary: Any) -> list[dict[str, Any]]:
        kept = [one for one in self.thread.messages if one.get("role") in ("user", "developer", "system")]
        text = summary if isinstance(summary, str) else ""
        note = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return [*kept, note] if text else kept


def _summary(messages: list[dict[str, Any]]) -> int | None:
    """Return where the compaction stands: the item of that type, or the last message."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["type"] in ("compaction", "compaction_summary", "context_compaction"):
            return index
    return len(messages) - 1 if messages else None
