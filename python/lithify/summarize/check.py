"""The check of a summarizer's reply: what is wrong with it, in codes and in sentences for the repair request.

A reply that fails is asked for once more; one that fails again sends the ladder to its next rung. So a failed
summary never takes the place of messages.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

import msgspec

from lithify.recovery import Kind, classify_error
from lithify.summarize.protocol import Answer, SummaryReply

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADINGS: Final = (
    "User intent and goals",
    "Key concepts and terms",
    "Files and paths",
    "Errors met and fixes",
    "Problem-solving approach",
    "Key user messages",
    "Pending tasks",
    "Current progress",
    "Next steps",
)
LEAST_TEXT: Final = 40
"""Letters and digits below this, headings aside, say nothing of a conversation."""
MAX_NAMED: Final = 40

_THINKING: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_REFUSAL: Final = re.compile(
    r"\b(?:i(?:'|\u2019)?m (?:very )?sorry|i apologi[sz]e|"
    r"i (?:can(?:no|'|\u2019)t|am unable to|am not able to|won(?:'|\u2019)t)|as an ai\b|"
    r"unable to (?:assist|help|comply))",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"\A\W*(?:error\b|exception\b|traceback \(most recent|internal server error|bad gateway|"
    r"service unavailable|gateway time-?out|\w*(?:error|exception)\s*:|error code\b|<!doctype|<html)",
    re.IGNORECASE,
)
_TOOL_CALL: Final = re.compile(
    r"\A\s*(?:<(?:tool_call|function_call|invoke|function=)|\{\s*\"(?:name|tool_calls?|function)\")"
)
_HEADING_MARKS: Final = re.compile(r"^[\s#*_>]*(?:[0-9][.)]\s*)?[\s*_]*")
_WORDS: Final = re.compile(r"\w")
_NOTHING: Final = re.compile(r"^\W*(?:none|n/?a|nothing|-+)\W*$", re.IGNORECASE)


class Problem(msgspec.Struct, frozen=True):
    """What is wrong: a code, a sentence for the model, and what is missing, if anything is."""

    code: str
    sentence: str
    missing: tuple[str, ...] = ()


def as_reply(answer: Answer) -> SummaryReply:
    """Return the answer as a reply with its text cleaned of thinking and of a fence around the whole."""
    reply = answer if isinstance(answer, SummaryReply) else SummaryReply(text=answer)
    # A lone surrogate, which JSON can carry, cannot be sent again.
    bare = _THINKING.sub("", reply.text.encode("utf-8", "replace").decode("utf-8"))
    thought = reply.thinking or (bool(reply.text.strip()) and not bare.strip())
    fence = _FENCE.match(bare)
    return msgspec.structs.replace(reply, text=(fence[1] if fence else bare).strip(), thinking=thought)


def heading_of(line: str) -> int | None:
    """Return which of the nine headings a line is, from 0."""
    if len(line) > 200:  # noqa: PLR2004 (no heading is that long)
        return None
    bare = _HEADING_MARKS.sub("", line).rstrip("*_ ").casefold()
    for at, title in enumerate(HEADINGS):
        name = title.casefold()
        if bare == name or bare.startswith((name + ":", name + "*", name + " (")):
            return at
    return None


def sections(text: str) -> dict[int, str]:
    """Return the text under each heading; what stands before the first is left out."""
    found: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        at = heading_of(line)
        if at is not None:
            current = found.setdefault(at, [])
            rest = line.partition(":")[2].strip(" *_")
            if rest:
                current.append(rest)
        elif current is not None:
            current.append(line)
    return {at: "\n".join(lines).strip() for at, lines in found.items()}


def missing_of(text: str, needed: Sequence[str]) -> tuple[str, ...]:
    """Return what of `needed` the text does not hold; entities count as what they stand for."""
    bare = html.unescape(text)
    return tuple(word for word in needed if word not in bare and word not in text)


def problems(
    reply: SummaryReply, *, tokens: int, most: int, replaced: int, needed: Sequence[str]
) -> list[Problem]:
    """Return what is wrong with a cleaned reply, worst first; an empty list for a good one.

    tokens: of the reply. most: what it may have; a little over is cut later and no problem. replaced: tokens
    of what it stands for. needed: texts that must be in it.
    """
    text = reply.text
    found = sections(text)
    if reply.tool_call or (not found and _TOOL_CALL.search(text)):
        return [Problem("tool_call", "It called a tool. There are no tools; write the record as text.")]
    if not text:
        code = "refusal" if reply.refused else "thinking_only" if reply.thinking else "empty"
        return [Problem(code, "There was no text. Write the record.")]
    if reply.refused or (len(found) < len(HEADINGS) // 2 and _REFUSAL.search(text[:300])):
        return [
            Problem(
                "refusal", "It declined. Only a record of what was said is wanted, nothing is to be done."
            )
        ]
    if not found and (_ERROR.search(text) or classify_error(text).kind is not Kind.OTHER):
        return [Problem("error_text", "It was an error message and no record.")]
    wrong = []
    absent = [f"{at + 1}. {title}" for at, title in enumerate(HEADINGS) if at not in found]
    if absent:
        wrong.append(Problem("missing_headings", f"These headings are missing: {'; '.join(absent)}."))
    said = "".join(body for body in found.values() if not _NOTHING.match(body))
    if not absent and len(_WORDS.findall(said)) < LEAST_TEXT:
        wrong.append(Problem("empty", "All sections are empty. Write what the transcript holds."))
    if tokens >= replaced or tokens > most * 3 // 2:
        wrong.append(Problem("too_large", f"It is too long. Write at most {max(most * 6 // 10, 20)} words."))
    lost = missing_of(text, needed)
    if lost:
        shown = "; ".join(repr(word) for word in lost[:MAX_NAMED])
        wrong.append(Problem("missing", f"These have to appear in it word for word: {shown}.", lost))
    return wrong
