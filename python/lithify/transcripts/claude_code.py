"""Claude Code: a JSONL of a session, one content block of a reply a line.

A reply is written as several lines with one message id, results of parallel calls between them; the prompt
that is sent joins them again, and user lines that follow each other too, results first. Lines name their
parent, and a prompt whose parent is not the newest line means that the user went back. Sub-agents may stand
in the same file, marked as side chains. A compaction is a boundary line and a summary, which replace what
was before; the boundary may name messages that are kept after the summary.
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

KIND = "claude_code"

CLEARED: Final = "[Old tool result content cleared]"
"""What the program puts in the place of a result that it clears."""

_EVENTS: Final = frozenset(
    {
        *("summary", "file-history-snapshot", "progress", "system", "queue-operation", "attachment"),
        *("custom-title", "ai-title", "agent-name", "agent-color", "mode", "last-prompt", "pr-link", "tag"),
        *(
            "permission-mode",
            "worktree-state",
            "content-replacement",
            "attribution-snapshot",
            "agent-setting",
        ),
    }
)
_ABOUT: Final = ("sessionId", "version", "cwd", "gitBranch", "agentId", "slug")


def sniff(values: Sequence[Any]) -> bool:
    """See `Reader.sniff`."""
    return any(
        ("sessionId" in value or "uuid" in value)
        and isinstance(value.get("message"), dict)
        and value.get("type") in ("user", "assistant")
        for value in values
        if isinstance(value, dict)
    )


def read(records: Iterable[Record], notes: Notes) -> list[Conversation]:
    """See `Reader.read`."""
    session = _Session(notes)
    for record in records:
        session.take(record)
    return session.finish()


@dataclass
class _Line:
    """A line that is a message or a part of one."""

    uuid: str | None
    role: str
    content: list[Any]
    identifier: str | None = None
    parent: str | None = None


@dataclass
class _Chain:
    """The main conversation or a side one."""

    thread: Thread = field(default_factory=Thread)
    lines: list[_Line] = field(default_factory=list)
    """Those of the epoch at hand."""
    at: dict[Any, int] = field(default_factory=dict)
    """Where a line stands in `lines`, by uuid."""
    older: dict[Any, _Line] = field(default_factory=dict)
    """Lines of earlier epochs, which a compaction may keep."""
    metadata: dict[str, Any] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    reply: str | None = None
    """The message id of the reply at hand."""
    preserved: list[Any] = field(default_factory=list)
    """What the newest boundary keeps after its summary, by uuid."""


class _Session:
    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.main = _Chain()
        self.sides: dict[Any, _Chain] = {}
        self.chain_of: dict[Any, _Chain] = {}
        self.parents: dict[Any, Any] = {}

    def take(self, record: Record) -> None:
        value = record.value
        kind = label(value)
        message = dictionary(value).get("message")
        if kind in ("user", "assistant") and isinstance(value, dict):
            if isinstance(message, dict) and isinstance(message.get("content"), str | list):
                self._message(record, value, message, kind)
            else:
                self.notes.broken(record.line, f"a {kind} line without a message", value)
            return
        uuid = word(value, "uuid")
        if uuid is not None:
            self.parents[uuid] = word(value, "parentUuid")
        subtype = dictionary(value).get("subtype")
        if kind == "system" and subtype in ("compact_boundary", "microcompact_boundary"):
            self._boundary(record, value)
        elif kind in _EVENTS:
            self.notes.event(f"{kind}/{subtype}" if isinstance(subtype, str) else kind)
        else:
            self.notes.aside(record.line, kind, value)

    def finish(self) -> list[Conversation]:
        chains = [chain for chain in (self.main, *self.sides.values()) if chain.at or chain.older]
        return [
            chain.thread.finish(
                format="anthropic",
                name=str(chain.metadata.get("agentId" if chain is not self.main else "sessionId", "")),
                side=chain is not self.main,
                metadata={**chain.metadata, "models": tuple(chain.models)},
            )
            for chain in chains
        ]

    def _chain(self, value: dict[str, Any]) -> _Chain:
        if not value.get("isSidechain"):
            return self.main
        agent = word(value, "agentId")
        if agent is None:
            # Older versions tell side chains apart by their first line only.
            known = self.chain_of.get(word(value, "parentUuid"))
            if known is not None:
                return known
            agent = word(value, "uuid")
        return self.sides.setdefault(agent, _Chain())

    def _boundary(self, record: Record, value: dict[str, Any]) -> None:
        chain = self._chain(value)
        if value.get("subtype") == "microcompact_boundary":
            about = dictionary(value.get("microcompactMetadata"))
            cleared = set(filter(lambda one: isinstance(one, str), listing(about.get("compactedToolIds"))))
            lines = [_cleared(line, cleared) for line in chain.lines]
            _restart(chain, lines, record.line, "clearing", about)
            return
        about = dictionary(value.get("compactMetadata"))
        preserved = dictionary(about.get("preservedMessages")).get("uuids")
        chain.preserved = listing(preserved)
        _restart(chain, [], record.line, "compaction", about)

    def _message(self, record: Record, value: dict[str, Any], message: dict[str, Any], role: str) -> None:
        uuid, parent = word(value, "uuid"), word(value, "parentUuid")
        chain = self._chain(value)
        if uuid is not None:
            if uuid in self.chain_of:
                self.notes.event("a line for the second time")
                return
            self.parents[uuid] = parent
            self.chain_of[uuid] = chain
        if value.get("isApiErrorMessage"):
            self.notes.event("api error")
            return
        chain.metadata.update({name: value[name] for name in _ABOUT if value.get(name) is not None})
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        line = _Line(uuid, role, blocks, word(message, "id") if role == "assistant" else None, parent)
        if role == "assistant":
            self._assistant(chain, line, message, record, value)
        elif value.get("isCompactSummary"):
            self._summary(chain, line, record)
        else:
            if isinstance(value.get("parentUuid", 0), str | None) and not _is_result(line):
                self._rewind(chain, line, record.line)
            _feed(chain, line)

    def _assistant(
        self, chain: _Chain, line: _Line, message: dict[str, Any], record: Record, value: dict[str, Any]
    ) -> None:
        usage = message.get("usage") if isinstance(message.get("usage"), dict) else None
        model = word(message, "model")
        if model is not None and model not in chain.models:
            chain.models.append(model)
        same = line.identifier is not None and line.identifier == chain.reply
        if not same and model != "<synthetic>":
            chain.thread.ask(line=record.line, model=model, time=word(value, "timestamp"), usage=usage)
        elif same:
            # The output tokens grow from line to line; the last one has them all.
            chain.thread.report(usage)
        _feed(chain, line)

    def _summary(self, chain: _Chain, line: _Line, record: Record) -> None:
        if chain.lines or chain.thread.reason != "compaction":
            _restart(chain, [], record.line, "compaction", {})
        preserved, chain.preserved = chain.preserved, []
        _feed(chain, line)
        for uuid in preserved:
            if isinstance(uuid, str) and uuid in chain.older:
                _feed(chain, chain.older[uuid])
        # What follows names the summary as its parent, and stands after what was kept.
        chain.at[line.uuid] = len(chain.lines) - 1
        chain.thread.keep(summary=0)

    def _rewind(self, chain: _Chain, line: _Line, number: int) -> None:
        """Begin an epoch when a prompt continues from an earlier line than the newest one."""
        if line.parent is None:
            kept: list[_Line] = []
            if not chain.lines:
                return
        else:
            position = self._position(chain, line.parent)
            if position is None:
                return
            last = chain.lines[position]
            later = chain.lines[position + 1 :]
            if not later:
                return
            same = {last.identifier} - {None}
            uuids = {one.uuid for one in chain.lines if one.identifier in same} | {last.uuid}
            beside = [
                one for one in later if one.identifier in same or (_is_result(one) and one.parent in uuids)
            ]
            if len(beside) == len(later):
                return
            kept = [*chain.lines[: position + 1], *beside]
        _restart(chain, kept, number, "rewind", {})

    def _position(self, chain: _Chain, uuid: Any) -> int | None:
        """Return the place of the nearest line of the epoch at or above `uuid`, or None."""
        passed = set()
        while uuid is not None and uuid not in chain.at and uuid not in passed:
            passed.add(uuid)
            uuid = self.parents.get(uuid)
        return chain.at.get(uuid)


def _is_result(line: _Line) -> bool:
    return any(dictionary(block).get("type") == "tool_result" for block in line.content)


def _cleared(line: _Line, identifiers: set[str]) -> _Line:
    content = [
        {**block, "content": CLEARED}
        if dictionary(block).get("type") == "tool_result" and word(block, "tool_use_id") in identifiers
        else block
        for block in line.content
    ]
    return _Line(line.uuid, line.role, content, line.identifier, line.parent)


def _restart(chain: _Chain, kept: list[_Line], number: int, reason: Any, about: dict[str, Any]) -> None:
    chain.older.update({line.uuid: line for line in chain.lines})
    chain.lines, chain.at, chain.reply = [], {}, None
    chain.thread.renew([], reason, line=number, metadata=about)
    for line in kept:
        _feed(chain, line)
    chain.thread.keep()


def _feed(chain: _Chain, line: _Line) -> None:
    """Add a line to the epoch at hand: to the message before it, or as a new one."""
    chain.at[line.uuid] = len(chain.lines)
    chain.lines.append(line)
    messages = chain.thread.messages
    if line.role == "assistant":
        if line.identifier is not None and line.identifier == chain.reply:
            reply = next(one for one in reversed(messages) if one["role"] == "assistant")
            reply["content"].extend(line.content)
            return
        chain.reply = line.identifier
        message = {"role": "assistant", "content": list(line.content)}
        if chain.thread.awaiting:
            chain.thread.reply(message)
            chain.thread.close()
        else:
            chain.thread.add(message)
    elif messages and messages[-1]["role"] == "user":
        content = [*messages[-1]["content"], *line.content]
        # A result has to stand before any text of its message.
        content.sort(key=lambda block: dictionary(block).get("type") != "tool_result")
        messages[-1]["content"] = content
    else:
        chain.thread.add({"role": "user", "content": list(line.content)})
