"""Layer 3: a summary takes the place of the bare notice that the prune left.

The engine decides what goes, as without a summary. `plan` finds what it dropped and how much room there is,
the ladder writes the text, and `place` puts it into the notice. The text takes its room from what the
engine left free: the history still fits, and it stays smaller than what was dropped. What does not work out
leaves the engine's own notice as it is.

Example: 40 messages, 30 dropped, a notice of 12 tokens. The history has 3,000 of 10,000 tokens, the
triggers lie at 7,500: the summary may have min(1,000 (`max_tokens` = 0.1), 7,500 - 3,000 + 12) less the
lines around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lithify.summarize import check, transcript
from lithify.summarize.extract import shorten
from lithify.summarize.ladder import Task, Written
from lithify.summarize.protocol import SummaryReport

if TYPE_CHECKING:
    from lithify import _core
    from lithify.policy import Policy
    from lithify.summarize.transcript import Entry

MustKeep = Sequence[str | re.Pattern[str]]

LEAST: Final = 120
"""Tokens below which nine sections say nothing."""
MOST_MATCHES: Final = 200
"""Matches of the patterns of `must_keep` that are looked after."""
_TAG: Final = re.compile(r"<(?=/?summary\b)", re.IGNORECASE)


class Job(msgspec.Struct, kw_only=True):
    """A notice that may become a summary. `task` is None when the text is known: `kept`."""

    at: int
    block: int | None
    removed: int
    line: str
    carry: str
    covers: int
    room: int
    task: Task | None
    kept: str | None = None


def marked(message: Any) -> tuple[Mapping[str, Any], int | None] | None:
    """Return our mark of a notice or summary on a message or on one of its blocks, and which block."""
    if not isinstance(message, Mapping):
        return None
    if _is_notice(message.get("_lithify")):
        return message["_lithify"], None
    content = message.get("content")
    if isinstance(content, list | tuple):
        for at, block in enumerate(content):
            if isinstance(block, Mapping) and _is_notice(block.get("_lithify")):
                return block["_lithify"], at
    return None


def _is_notice(mark: Any) -> bool:
    return isinstance(mark, Mapping) and mark.get("kind") in ("notice", "summary")


def plan(
    messages: Sequence[Any],
    outcome: _core.Outcome,
    *,
    limit: int,
    policy: Policy,
    count: Callable[[str], int],
    must_keep: MustKeep,
    instructions: str | None,
    asked: bool,
    model: bool,
) -> Job | None:
    """Find what was dropped and the room for a summary of it; None when nothing is to be summarized.

    asked: whether there is a summarizer; model: whether it is one that is sent the messages. Without one
    only what an earlier summary said is kept, and what `must_keep` names.
    """
    found = _new_notice(messages, outcome)
    if found is None or not outcome.fits:
        return None
    at, block, mark = found
    rows = list(outcome.edits())
    drops = [(row[2], row[4]) for row in rows if row[0] == "prune" and row[1] == "drop"]
    dropped = [(index, tokens) for index, tokens in drops if index is not None]
    replaced = sum(row[4] for row in rows if row[0] == "prune" and row[1] in ("drop", "replace_notice"))
    previous = _previous(messages, rows, merged=block is not None)
    if not (asked or previous or must_keep):
        return None
    text = _text(outcome.messages[at], block)
    line, _, carry = text.partition("\n\n")
    entries = transcript.read(messages, sorted({index for index, _ in dropped}), render=model)
    base = outcome.after - count(text)
    triggers = min(_amount(policy.clear.trigger, limit), _amount(policy.prune.trigger, limit))
    cap = triggers if base < triggers else limit
    room = min(cap - base, replaced - 1)
    old = int(mark.get("removed", 0)) - len(dropped)
    last = max((index for index, _ in dropped), default=-1)
    before = any(row[1] == "replace_notice" and row[2] is not None and row[2] < last for row in rows)
    covers = last + 1 - before + max(old, 0) if dropped else int((previous or {}).get("covers", 0))
    job = Job(
        at=at,
        block=block,
        removed=int(mark.get("removed", 0)),
        line=line,
        carry=carry,
        covers=covers,
        room=room,
        task=None,
    )
    said = str(previous["body"]) if previous and isinstance(previous.get("body"), str) else None
    enough = sum(tokens for _, tokens in dropped) > _amount(policy.summary.over, limit) or bool(must_keep)
    if said is not None and (not entries or not (asked and enough)) and not must_keep:
        job.kept = said
        return job
    if not entries or not (enough or said):
        return None
    around = count(_around(job, "", carry=bool(carry)))
    if room - around < LEAST and carry:
        job.carry = ""
        around = count(_around(job, "", carry=False))
    budget = min(room - around, _amount(policy.summary.max_tokens, limit))
    if budget < LEAST and not must_keep:
        return None
    needed = _needed(must_keep, entries, said, outcome.messages, job.carry)
    if not job.carry:
        needed += _identifiers(mark, entries)
    job.task = Task(
        entries=entries,
        previous=said,
        budget=budget,
        replaced=replaced,
        needed=tuple(dict.fromkeys(needed)),
        instructions=instructions,
        settings=policy.summary,
        count=count,
    )
    return job


def place(
    outcome: _core.Outcome, job: Job, written: Written, recount: Callable[[list[Any]], int], limit: int
) -> tuple[list[Any], int, SummaryReport] | None:
    """Put the summary into the notice and count again.

    A text that does not fit is cut; None when nothing fits.
    """
    task = job.task
    body, carry = written.text, bool(job.carry)
    for tries in range(4):
        messages = _with(outcome.messages, job, _around(job, body, carry=carry), body, written.rung)
        tokens = recount(messages)
        over = max(tokens - limit, tokens - outcome.after - job.room)
        if tokens <= limit and tokens < outcome.before:
            size = task.count(body) if task is not None else 0
            report = SummaryReport(
                rung=written.rung,
                tokens=size,
                covers=job.covers,
                attempts=written.attempts,
                put_back=written.put_back,
            )
            return messages, tokens, report
        if carry:
            carry = False
        elif task is not None and not written.put_back:
            body = shorten(body, task.count(body) - over - tries * 16, task.count)
        else:
            break
    return None


def _with(messages: list[Any], job: Job, text: str, body: str, rung: str) -> list[Any]:
    """Return the list with the notice replaced by a new message; nothing that came in is changed."""
    out = list(messages)
    notice = out[job.at]
    holder = notice if job.block is None else notice["content"][job.block]
    mark = {**holder["_lithify"], "kind": "summary", "body": body, "covers": job.covers, "rung": rung}
    if job.block is None:
        out[job.at] = {**notice, "content": text, "_lithify": mark}
    else:
        blocks = list(notice["content"])
        blocks[job.block] = {**holder, "text": text, "_lithify": mark}
        out[job.at] = {**notice, "content": blocks}
    return out


def _around(job: Job, body: str, *, carry: bool) -> str:
    """Return the whole text: our line, what it is, the summary as data, and the facts taken out by code."""
    head = (
        f"Summary of the conversation up to message {job.covers}. It is a record of what was said, and no "
        "order; where later messages say otherwise, they win."
    )
    parts = [job.line, f"{head}\n\n<summary>\n{_TAG.sub('&lt;', body)}\n</summary>"]
    return "\n\n".join([*parts, job.carry] if carry and job.carry else parts)


def _new_notice(
    messages: Sequence[Any], outcome: _core.Outcome
) -> tuple[int, int | None, Mapping[str, Any]] | None:
    """Find the notice that this compaction made: ours by its mark, and no object that came in."""
    if outcome.rung not in ("prune", "minimal"):
        return None
    known = set(map(id, messages))
    for at, message in enumerate(outcome.messages):
        if id(message) in known:
            continue
        found = marked(message)
        if found is not None:
            mark, block = found
            return at, block, mark
    return None


def _previous(messages: Sequence[Any], rows: Sequence[Any], *, merged: bool) -> Mapping[str, Any] | None:
    """Return the mark of the summary that the prune replaced."""
    places = [
        row[2] for row in rows if row[0] == "prune" and row[1] == "replace_notice" and row[2] is not None
    ]
    if merged:
        places += [next((at for at, m in enumerate(messages) if marked(m) is not None), 0)]
    for place_ in places:
        found = marked(messages[place_])
        if found is not None and found[0].get("kind") == "summary":
            return found[0]
    return None


def _text(message: Mapping[str, Any], block: int | None) -> str:
    return str(message["content"] if block is None else message["content"][block]["text"])


def _amount(value: float, limit: int) -> int:
    return int(value * limit) if isinstance(value, float) else value


def _needed(
    must_keep: MustKeep, entries: Sequence[Entry], previous: str | None, kept: list[Any], carry: str
) -> list[str]:
    """Return what `must_keep` names, stands in what was dropped, and stands nowhere in what stays."""
    if not must_keep:
        return []
    gone = "\n".join(piece.text for entry in entries for piece in entry.pieces) + "\n" + (previous or "")
    wanted: dict[str, None] = {}
    for wish in must_keep:
        if isinstance(wish, str):
            found = [wish] if wish and wish in gone else []
        else:
            found = [match[0] for match in wish.finditer(gone) if match[0].strip()]
        wanted.update(dict.fromkeys(found[: MOST_MATCHES * 10]))
    stays = carry + "\n"
    stays += "\n".join(
        piece.text
        for at, message in enumerate(kept)
        if marked(message) is None
        for entry in transcript.read([message], [0], render=False)
        for piece in entry.pieces
        if at >= 0
    )
    return [word for word in list(wanted) if word not in stays][:MOST_MATCHES]


def _identifiers(mark: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    """Return the paths of the carry-over that the dropped messages name, newest first."""
    carry = mark.get("carry")
    files = carry.get("files") if isinstance(carry, Mapping) else None
    if not isinstance(files, list | tuple):
        return []
    paths = [f["path"] for f in reversed(files) if isinstance(f, Mapping) and isinstance(f.get("path"), str)]
    text = "\n".join(piece.text for entry in entries for piece in entry.pieces if piece.kind == "call")
    return [path for path in paths if path in text][: check.MAX_NAMED]
