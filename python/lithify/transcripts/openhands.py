"""OpenHands: the events of a run, as a list, one a line, or inside a row of an evaluation's output.

An action that a model asked for carries the model's whole reply, several actions of one reply the same one;
its observation answers the call. What the agent writes into a prompt around a command's output (folder,
exit code) is put back. A condensation forgets events and may put a summary in their place: the next prompt
is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lithify.transcripts.reader import Notes, dictionary, label, listing, word
from lithify.transcripts.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lithify.transcripts.log import Conversation
    from lithify.transcripts.records import Record

KIND = "openhands"

_SILENT: Final = frozenset(
    {"agent_state_changed", "null", "change_agent_state", "recall", "start", "pause", "resume"}
)
"""Events that never reach a prompt as they are."""


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    first = values[0] if values else None
    if isinstance(first, list) and any(map(_is_event, _flat(first[:6]))):
        return True
    if isinstance(first, dict) and any(map(_is_event, _flat(listing(first.get("history"))[:6]))):
        return True
    return any(map(_is_event, values[:6]))


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    found = []
    loose = _Run(notes)
    for record in records:
        value = record.value
        history = value if isinstance(value, list) else dictionary(value).get("history")
        if _is_event(value):
            loose.take(record.line, value)
        elif isinstance(history, list):
            run = _Run(notes)
            for number, event in enumerate(_flat(history), 1):
                run.take(number, event)
            found.append(run.finish(dictionary(value)))
        else:
            notes.aside(record.line, label(value), value)
    return [one for one in (*found, loose.finish({})) if one.messages]


def _is_event(value: Any) -> bool:
    event = dictionary(value)
    return "source" in event and (
        isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    )


def _flat(history: list[Any]) -> list[Any]:
    """Return the events; old outputs hold pairs of an action and its observation."""
    return [event for one in history for event in (one if isinstance(one, list) else [one])]


@dataclass
class _Step:
    """A message with the events that made it, so that a condensation can forget it."""

    message: dict[str, Any]
    events: list[Any]


@dataclass
class _Run:
    notes: Notes
    thread: Thread = field(default_factory=Thread)
    steps: list[_Step] = field(default_factory=list)
    tools: list[Any] | None = None
    reply: Any = None
    """The id of the reply at hand."""

    def take(self, line: int, event: Any) -> None:
        if not _is_event(event):
            self.notes.aside(line, label(event), event)
            return
        name = word(event, "action") or word(event, "observation") or ""
        call = dictionary(event.get("tool_call_metadata"))
        arguments = dictionary(event.get("args"))
        if "action" in event and name == "condensation":
            self._condense(line, event, arguments)
        elif "action" in event and call:
            self._reply(line, event, call)
        elif "action" in event and name in ("system", "message"):
            self._said(line, event, arguments, name)
        elif "observation" in event and call:
            self._add(event, {"role": "tool", **_answer(event, call)})
        elif name in _SILENT:
            self.notes.event(name)
        elif "observation" in event:
            self._add(event, {"role": "user", "content": _text(event)})
        else:
            self.notes.aside(line, name, event)

    def finish(self, row: dict[str, Any]) -> Conversation:
        metadata = {name: row[name] for name in ("instance_id", "error") if row.get(name) is not None}
        name = str(row.get("instance_id", ""))
        return self.thread.finish(format="openai_chat", name=name, tools=self.tools, metadata=metadata)

    def _add(self, event: dict[str, Any], message: dict[str, Any]) -> None:
        self.steps.append(_Step(message, [event.get("id")]))
        self.thread.add(message)

    def _said(self, line: int, event: dict[str, Any], arguments: dict[str, Any], name: str) -> None:
        text = arguments.get("content")
        content: Any = text if isinstance(text, str) else str(event.get("message", ""))
        if name == "system":
            self.tools = listing(arguments.get("tools")) or None
            self._add(event, {"role": "system", "content": content})
        elif event["source"] == "user":
            images = [
                {"type": "image_url", "image_url": {"url": url}}
                for url in listing(arguments.get("image_urls"))
            ]
            self._add(
                event,
                {
                    "role": "user",
                    "content": [{"type": "text", "text": content}, *images] if images else content,
                },
            )
        else:
            self.thread.ask(line=line, time=word(event, "timestamp"))
            message = {"role": "assistant", "content": content}
            self.steps.append(_Step(message, [event.get("id")]))
            self.thread.reply(message)

    def _reply(self, line: int, event: dict[str, Any], call: dict[str, Any]) -> None:
        reply = dictionary(call.get("model_response"))
        choice = dictionary(next(iter(listing(reply.get("choices"))), None))
        message = dictionary(choice.get("message"))
        if not message:
            self.notes.broken(line, "an action without the reply that asked for it", event)
            return
        identifier = reply.get("id")
        if identifier is not None and identifier == self.reply:
            next(step for step in reversed(self.steps) if step.message["role"] == "assistant").events.append(
                event.get("id")
            )
            return
        self.reply = identifier
        usage = reply.get("usage")
        model = word(reply, "model")
        self.thread.ask(
            line=line,
            model=model,
            time=word(event, "timestamp"),
            usage=usage if isinstance(usage, dict) else None,
        )
        sent = {name: value for name, value in message.items() if value is not None or name == "content"}
        self.steps.append(_Step({"content": None, **sent, "role": "assistant"}, [event.get("id")]))
        self.thread.reply(self.steps[-1].message)

    def _condense(self, line: int, event: dict[str, Any], arguments: dict[str, Any]) -> None:
        forgotten = set(map(str, listing(arguments.get("forgotten_event_ids"))))
        first, last = arguments.get("forgotten_events_start_id"), arguments.get("forgotten_events_end_id")
        if isinstance(first, int) and isinstance(last, int):
            forgotten |= {
                str(one)
                for step in self.steps
                for one in step.events
                if isinstance(one, int) and first <= one <= last
            }
        kept = [step for step in self.steps if not all(str(one) in forgotten for one in step.events)]
        summary, offset = arguments.get("summary"), arguments.get("summary_offset")
        place = None
        if isinstance(summary, str) and summary:
            place = min(offset, len(kept)) if isinstance(offset, int) and offset >= 0 else len(kept)
            kept.insert(place, _Step({"role": "user", "content": summary}, [event.get("id")]))
        self.steps, self.reply = kept, None
        about = {"forgotten": len(forgotten)}
        self.thread.renew(
            [step.message for step in kept], "compaction", summary=place, line=line, metadata=about
        )


def _answer(event: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    return {
        "tool_call_id": str(call.get("tool_call_id") or ""),
        "name": str(call.get("function_name") or ""),
        "content": _text(event),
    }


def _text(event: dict[str, Any]) -> str:
    """Return what an observation put into the prompt."""
    content = event.get("content")
    text = content if isinstance(content, str) else str(event.get("message", ""))
    about = dictionary(dictionary(event.get("extras")).get("metadata"))
    if event.get("observation") != "run" or not about:
        return text
    text = f"{about.get('prefix') or ''}{text}{about.get('suffix') or ''}"
    if about.get("working_dir"):
        text += f"\n[Current working directory: {about['working_dir']}]"
    if about.get("py_interpreter_path"):
        text += f"\n[Python interpreter: {about['py_interpreter_path']}]"
    if about.get("exit_code") not in (None, -1):
        text += f"\n[Command finished with exit code {about['exit_code']}]"
    return text
