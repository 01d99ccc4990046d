"""The messages to be summarized, rendered as data: escaped, tool outputs marked, cut into chunks.

Text of a history is untrusted: a tool may have printed an order to the summarizer, or the closing tag of the
transcript. So `&`, `<` and `>` are escaped everywhere, once, when a message is read. Sizes are characters of
the escaped text. Linear in the text, but for the search of a cap, which looks at lengths only.

Example: a user message "fix <b>" at position 4 becomes
`<message n="4" role="user">` / `fix &lt;b&gt;` / `</message>`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

MIN_CAP: Final = 160
"""A piece is never cut below this many characters: less says nothing."""
_CUT_ROOM: Final = 40
_BROKEN_ENTITY: Final = re.compile(r"&[a-z]{0,3}$")
_MEDIA: Final = frozenset(
    {"image", "image_url", "document", "file", "input_audio", "audio", "input_image", "input_file"}
)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message. kind: `text`, `call` or `output`; text is raw, as the history has it."""

    kind: str
    text: str
    tool: str = ""
    error: bool = False
    escaped: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message.

    number: its place in the history, from 1. starts_unit: whether a chunk may begin with it.
    """

    number: int
    role: str
    pieces: tuple[Piece, ...]
    starts_unit: bool

    @property
    def size(self) -> int:
        """Characters of the whole, escaped."""
        return sum(len(piece.escaped) for piece in self.pieces)


def escape(text: str) -> str:
    """Return text in which no tag can stand."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def read(messages: Sequence[Any], indices: Iterable[int], *, render: bool = True) -> list[Entry]:
    """Read the messages at these positions, of OpenAI chat or Anthropic shape; mappings or SDK objects.

    render=False leaves out the escaped texts, for those who only look.
    """
    names: dict[str, str] = {}
    entries = []
    for index in indices:
        message = plain(messages[index])
        pieces = tuple(_pieces(message, names))
        if render:
            pieces = tuple(msgspec.structs.replace(piece, escaped=escape(piece.text)) for piece in pieces)
        if pieces:
            role = str(message.get("role", "user"))
            results = any(piece.kind == "output" for piece in pieces)
            entries.append(
                Entry(
                    number=index + 1,
                    role="tool" if results else role,
                    pieces=pieces,
                    starts_unit=not results,
                )
            )
    return entries


def plain(value: Any) -> Mapping[str, Any]:
    """Return a message or block as a mapping; an SDK object gives its dump, anything else an empty one."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "model_dump"):
        dump = value.model_dump(exclude_none=True)
        return dump if isinstance(dump, Mapping) else {}
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    return dict(getattr(value, "__dict__", None) or {})


def _piece(kind: str, text: str, tool: str = "", *, error: bool = False) -> Piece:
    clean = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return Piece(kind=kind, text=clean, tool=tool, error=error)


def _pieces(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[Piece]:
    content = message.get("content")
    if message.get("role") in ("tool", "function"):
        tool = names.get(str(message.get("tool_call_id")), str(message.get("name") or ""))
        yield _piece("output", text_of(content), tool)
        return
    if isinstance(content, str):
        if content.strip():
            yield _piece("text", content)
    elif isinstance(content, list | tuple):
        for block in content:
            yield from _block(block, names)
    for call in message.get("tool_calls") or ():
        body = plain(call)
        function = plain(body.get("function") or body.get("custom") or {})
        name = str(function.get("name", ""))
        names[str(body.get("id"))] = name
        yield _piece("call", _json(function.get("arguments", function.get("input", ""))), name)


def _block(value: Any, names: dict[str, str]) -> Iterator[Piece]:
    if isinstance(value, str):
        yield _piece("text", value)
        return
    block = plain(value)
    kind = block.get("type")
    if kind == "tool_use":
        names[str(block.get("id"))] = str(block.get("name", ""))
        yield _piece("call", _json(block.get("input", "")), str(block.get("name", "")))
    elif kind == "tool_result":
        tool = names.get(str(block.get("tool_use_id")), "")
        yield _piece("output", text_of(block.get("content")), tool, error=block.get("is_error") is True)
    elif kind in _MEDIA:
        yield _piece("text", f"[{kind}]")
    elif isinstance(block.get("text"), str) and block["text"].strip():
        yield _piece("text", block["text"])


def text_of(content: Any) -> str:
    """Return the text of a content field; media stand as `[image]` and the like."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return "" if content is None else _json(content)
    texts = []
    for value in content:
        block = plain(value) if not isinstance(value, str) else {"text": value}
        text = block.get("text")
        texts.append(text if isinstance(text, str) else f"[{block.get('type', 'block')}]")
    return "\n".join(texts)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return str(type(value).__name__)


def cut(text: str, cap: int) -> str:
    """Cut an escaped text to about `cap` characters: two thirds of its head, a third of its tail."""
    if len(text) <= cap:
        return text
    room = max(cap - _CUT_ROOM, 0)
    head, tail = text[: room * 2 // 3], text[len(text) - room // 3 :] if room // 3 else ""
    head = _BROKEN_ENTITY.sub("", head)
    gone = len(text) - len(head) - len(tail)
    return f"{head}\n[... {gone} characters cut]\n{tail}"


def render(entry: Entry, outputs: int, others: int) -> str:
    """Render one message with tool outputs cut to `outputs` characters and all else to `others`."""
    lines = [f'<message n="{entry.number}" role="{escape(entry.role)}">']
    for piece in entry.pieces:
        tool = escape(piece.tool).replace('"', "&quot;")
        if piece.kind == "text":
            lines.append(cut(piece.escaped, others))
        elif piece.kind == "call":
            lines.append(f'<call tool="{tool}">{cut(piece.escaped, others)}</call>')
        else:
            failed = ' error="true"' if piece.error else ""
            lines.append(
                f'<tool_output tool="{tool}"{failed}>\n{cut(piece.escaped, outputs)}\n</tool_output>'
            )
    lines.append("</message>")
    return "\n".join(lines)


def _overhead(entry: Entry) -> int:
    return 60 + len(entry.role) + sum(70 + 6 * len(piece.tool) for piece in entry.pieces)


def _caps(entries: Sequence[Entry], room: int) -> tuple[int, int]:
    """Return the largest caps (outputs, others) by which the entries take at most `room` characters.

    Outputs give way first; what cannot be reached even with the smallest caps gives the smallest caps.
    """
    outputs = [len(p.escaped) for e in entries for p in e.pieces if p.kind == "output"]
    others = [len(p.escaped) for e in entries for p in e.pieces if p.kind != "output"]
    left = room - sum(map(_overhead, entries))
    whole = max([*outputs, *others, MIN_CAP])
    if sum(outputs) + sum(others) <= left:
        return whole, whole
    cap = _largest(outputs, left - sum(others), whole)
    if cap >= MIN_CAP:
        return cap, whole
    least = sum(min(size, MIN_CAP) for size in outputs)
    return MIN_CAP, max(_largest(others, left - least, whole), MIN_CAP)


def _largest(sizes: Sequence[int], room: int, high: int) -> int:
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in sizes) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def units(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group the entries: a message with calls and the results after it stay together."""
    groups: list[list[Entry]] = []
    for entry in entries:
        if entry.starts_unit or not groups:
            groups.append([entry])
        else:
            groups[-1].append(entry)
    return groups


def chunks(entries: Sequence[Entry], chars: int, most: int) -> list[str]:
    """Render the entries into at most `most` texts of at most `chars` characters, cut at unit borders.

    Tool outputs are shortened first when all of it is too large, then the rest; when even that does not do,
    messages from the middle are left out and a line says how many.
    """
    groups = units(entries)
    # The second try cannot fail by borders: a chunk is closed only when less than a unit is free in it.
    for unit_share, fill in ((1.0, 1.0), (0.25, 0.75)):
        outputs, others = _caps(entries, int(chars * most * fill))
        limit = int(chars * unit_share)
        texts = [_unit(group, outputs, others, limit) for group in groups]
        made = _pack(texts, chars)
        if len(made) <= most:
            return made
    return _pack(_without_middle(texts, int(chars * most * 0.70)), chars)[:most]


def _unit(group: Sequence[Entry], outputs: int, others: int, limit: int) -> str:
    text = "\n".join(render(entry, outputs, others) for entry in group)
    if len(text) > limit:
        small, rest = _caps(group, limit)
        text = "\n".join(render(entry, min(small, outputs), min(rest, others)) for entry in group)
    if len(text) > limit:  # hundreds of parallel calls
        text = cut(text, limit)[:limit]
    return text


def _pack(texts: Sequence[str], chars: int) -> list[str]:
    made: list[str] = []
    current: list[str] = []
    size = 0
    for text in texts:
        if current and size + len(text) + 1 > chars:
            made.append("\n".join(current))
            current, size = [], 0
        current.append(text)
        size += len(text) + 1
    return [*made, "\n".join(current)] if current else made


def _without_middle(texts: Sequence[str], room: int) -> list[str]:
    head: list[str] = []
    tail: list[str] = []
    left = room // 4
    for text in texts:
        if len(text) + 1 > left:
            break
        head.append(text)
        left -= len(text) + 1
    left = room - room // 4
    for text in reversed(texts[len(head) :]):
        if len(text) + 1 > left:
            break
        tail.append(text)
        left -= len(text) + 1
    gone = len(texts) - len(head) - len(tail)
    return [*head, f"[{gone} groups of messages are left out here]", *reversed(tail)]


def size_in_chunks(entries: Sequence[Entry], chars: int) -> int:
    """Return how many chunks the whole would need."""
    return math.ceil(sum(entry.size + _overhead(entry) for entry in entries) / chars) if entries else 0
