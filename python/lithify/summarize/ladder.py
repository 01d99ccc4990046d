"""The ladder of a summary: full, partial 1, partial 2, extract. One ladder, whoever drives it.

`climb` is a generator: it yields lists of requests that may be asked at the same time, and is sent their
answers. So it does no input or output itself, and the sync and the async driver (`drive.py`) share it.

At each rung a reply is checked, and repaired by one more request. An overflow of the summarizer goes to the
next rung at once; a summarizer that cannot be reached at all goes to `extract`, which cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

import msgspec

from lithify.recovery import ErrorClass, Kind
from lithify.summarize import check, transcript
from lithify.summarize.extract import extract, shorten
from lithify.summarize.protocol import RequestKind, SummaryAttempt, SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from lithify.policy import Summary
    from lithify.summarize.transcript import Entry

_PROMPTS: Final = Path(__file__).parent / "prompts"
_CHARS_PER_TOKEN: Final = 3
_PROMPT_TOKENS: Final = 1_500
_LEAST_CHARS: Final = 2_000
_OUTPUT_CAP: Final = 400
_NAMED: Final = 20


class Task(msgspec.Struct, kw_only=True):
    """What is to be summarized.

    budget: tokens that the summary may have. replaced: tokens of what it stands for. needed: texts that
    must be in it. previous: the summary before, to be updated. count: tokens of a text.
    """

    entries: list[Entry]
    budget: int
    replaced: int
    needed: tuple[str, ...]
    count: Callable[[str], int]
    settings: Summary
    previous: str | None = None
    instructions: str | None = None


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request: a reply, or the error after all tries."""

    reply: SummaryReply | None = None
    error: str | None = None
    failure: ErrorClass | None = None
    tries: int = 1
    seconds: float = 0.0


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, the rung that made it, what was put back, and how it came about."""

    text: str
    rung: str
    attempts: tuple[SummaryAttempt, ...] = ()
    put_back: tuple[str, ...] = ()


Steps = Generator[list[SummaryRequest], list[Answered], str | None]


@cache
def prompt(name: str) -> Template:
    """Return a prompt file."""
    return Template((_PROMPTS / f"{name}.md").read_text(encoding="utf-8"))


def climb(task: Task, *, model: bool = True) -> Generator[list[SummaryRequest], list[Answered], Written]:
    """Climb down until something holds. `model=False` goes to `extract` without a request."""
    ladder = _Ladder(task)
    if model:
        for name, rung in (
            ("full", ladder.full),
            ("partial_1", ladder.partial_1),
            ("partial_2", ladder.partial_2),
        ):
            ladder.rung = name
            text = yield from rung()
            if text is not None:
                return finish(task, text, name, tuple(ladder.attempts))
            if ladder.unreachable:
                break
    text = extract(task.entries, task.budget, task.count, task.previous)
    return finish(task, text, "extract", tuple(ladder.attempts))


def finish(task: Task, text: str, rung: str, attempts: tuple[SummaryAttempt, ...]) -> Written:
    """Cut the text to its budget and put back, word for word, what has to be in it and is not."""
    text = shorten(text, task.budget, task.count)
    lost = check.missing_of(text, task.needed)
    if lost:
        block = ""
        put: list[str] = []
        for word in lost:
            longer = (block or "Kept word for word:") + "\n> " + word.replace("\n", "\n> ")
            if task.count(longer) + 2 > task.budget:
                continue  # a shorter one may still fit
            block = longer
            put.append(word)
        text = shorten(text, task.budget - task.count(block) - 2, task.count)
        if block and task.count(text) + task.count(block) + 2 > task.budget:
            text = block  # not even the headings fit beside what must stay
        elif block:
            text = f"{text}\n\n{block}"
        lost = tuple(put)
    return Written(text=text, rung=rung, attempts=attempts, put_back=lost)


class _Ladder:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.rung = "full"
        self.attempts: list[SummaryAttempt] = []
        self.unreachable = False
        self.records: list[str] = []  # of chunks that went well
        self.failed: list[str] = []  # transcripts of those that did not
        settings = task.settings
        self.chars = settings.chunk_chars
        if settings.window is not None:
            room = settings.window - _PROMPT_TOKENS - 2 * task.budget
            self.chars = min(self.chars, max(room * _CHARS_PER_TOKEN, _LEAST_CHARS))

    # ---- rungs ----

    def full(self) -> Steps:
        return self.whole(self.task.entries, "")

    def partial_1(self) -> Steps:
        """Leave out the oversized messages, by name; no rung when there are none."""
        large = self.oversized()
        if not large or len(large) == len(self.task.entries):
            return None
        numbers = {entry.number for entry in large}
        rest = [entry for entry in self.task.entries if entry.number not in numbers]
        return (yield from self.whole(rest, _left_out(large)))

    def partial_2(self) -> Steps:
        """Ask once, with tool outputs cut; what chunks already gave is kept and brought up to date."""
        if self.failed and self.records:
            body = transcript.cut("\n".join(self.failed), self.chars // 2)
        else:
            small = [_with_short_outputs(entry) for entry in self.task.entries]
            body = transcript.chunks(small, self.chars // 2, 1)[0]
        before = [self.task.previous] if self.task.previous else []
        previous = "\n\n".join([*before, *self.records]) or None
        return (yield from self.checked("update" if previous else "full", body, previous=previous))

    # ---- parts of rungs ----

    def oversized(self) -> list[Entry]:
        return [entry for entry in self.task.entries if entry.size > max(self.chars // 4, 1)]

    def whole(self, entries: Sequence[Entry], left_out: str) -> Steps:
        texts = transcript.chunks(entries, self.chars, self.task.settings.max_chunks)
        previous = self.task.previous
        if len(texts) == 1:
            kind: RequestKind = "update" if previous else "full"
            return (yield from self.checked(kind, texts[0], previous=previous, left_out=left_out))
        records = yield from self.parts(texts)
        self.records = [record for record in records if record is not None]
        self.failed = [text for text, record in zip(texts, records, strict=True) if record is None]
        if self.failed:
            return None
        joined = "\n\n".join(_tagged("record", record, part=at) for at, record in enumerate(self.records, 1))
        return (yield from self.checked("merge", "", previous=previous, records=left_out + joined))

    def parts(
        self, texts: Sequence[str]
    ) -> Generator[list[SummaryRequest], list[Answered], list[str | None]]:
        """Ask for all chunks at once, and once more for those whose record is not good."""
        requests = [
            self.request("chunk", transcript=_fenced(text), part=str(at), parts=str(len(texts)))
            for at, text in enumerate(texts, 1)
        ]
        records: list[str | None] = [None] * len(texts)
        again: list[tuple[int, SummaryRequest]] = []
        for at, answer in enumerate((yield requests)):
            text, wrong = self.judge(requests[at], answer, replaced=self.task.count(texts[at]), needed=())
            records[at] = text
            if wrong:
                again.append((at, self.repair(answer, wrong, _fenced(texts[at]), "")))
        if again and not self.unreachable:
            for (at, asked), answer in zip(again, (yield [asked for _, asked in again]), strict=True):
                records[at], _ = self.judge(asked, answer, replaced=self.task.count(texts[at]), needed=())
        return records

    def checked(
        self,
        kind: RequestKind,
        body: str,
        *,
        previous: str | None = None,
        left_out: str = "",
        records: str = "",
    ) -> Steps:
        """Ask, check, and ask once for a repair."""
        earlier = _tagged("previous_record", previous) if previous else ""
        material = _fenced(body) if body else ""
        fields = {"transcript": material, "previous": earlier, "left_out": left_out, "records": records}
        request = self.request(kind, **fields)
        (answer,) = yield [request]
        text, wrong = self.judge(request, answer, replaced=self.task.replaced, needed=self.task.needed)
        if not wrong:
            return text
        request = self.repair(answer, wrong, material + records, earlier)
        (answer,) = yield [request]
        fixed, _ = self.judge(request, answer, replaced=self.task.replaced, needed=self.task.needed)
        # Only words were missing: they are put back by code.
        return fixed if fixed is not None else text

    def judge(
        self, request: SummaryRequest, answer: Answered, *, replaced: int, needed: Sequence[str]
    ) -> tuple[str | None, list[check.Problem]]:
        """Return the text, when it can be used, and what is wrong with it. A failed call gives neither."""
        if answer.reply is None:
            self.note(request, answer, "failed")
            failure = answer.failure
            # After its retries a transient error means that nobody answers; a quota will not fill up by
            # asking.
            if failure is not None and (failure.retryable or failure.kind is Kind.QUOTA):
                self.unreachable = True
            return None, []
        text = answer.reply.text
        wrong = check.problems(
            answer.reply,
            tokens=self.task.count(text),
            most=self.task.budget,
            replaced=replaced,
            needed=needed,
        )
        self.note(request, answer, ",".join(problem.code for problem in wrong) or "ok")
        usable = all(problem.code == "missing" for problem in wrong)
        return (text if usable else None), wrong

    def note(self, request: SummaryRequest, answer: Answered, outcome: str) -> None:
        self.attempts.append(
            SummaryAttempt(
                rung=self.rung,
                kind=request.kind,
                outcome=outcome,
                tries=answer.tries,
                seconds=answer.seconds,
                sent=len(request.system) + len(request.text),
                received=len(answer.reply.text) if answer.reply is not None else 0,
                error=answer.error,
            )
        )

    # ---- requests ----

    def repair(
        self, answer: Answered, wrong: Sequence[check.Problem], material: str, previous: str
    ) -> SummaryRequest:
        reply = _tagged("reply", answer.reply.text[: self.chars]) if answer.reply is not None else ""
        listed = "\n".join(f"- {problem.sentence}" for problem in wrong)
        return self.request("repair", problems=listed, reply=reply, transcript=material, previous=previous)

    def request(self, kind: RequestKind, **fields: str) -> SummaryRequest:
        task = self.task
        instructions = (
            f"\nThe user of this record also asks:\n{task.instructions}\n" if task.instructions else ""
        )
        needed = "".join(f"\n- {word!r}" for word in task.needed[: check.MAX_NAMED])
        rules = prompt("rules").substitute(
            words=max(task.budget * 6 // 10, 60),
            sections=prompt("sections").template,
            instructions=instructions,
            must_keep=f"\nThese have to appear word for word, where they occur:{needed}\n" if needed else "",
        )
        blank = dict.fromkeys(
            ("transcript", "previous", "left_out", "records", "reply", "problems", "part", "parts"), ""
        )
        return SummaryRequest(
            kind=kind,
            system=prompt("system").template,
            text=prompt(kind).substitute(blank | fields, rules=rules),
            # The counts of the model differ from ours, and a little too long is cut and not lost.
            max_tokens=task.budget * 3 // 2 + 256,
            timeout=task.settings.timeout,
        )


def _fenced(body: str) -> str:
    return f"<transcript>\n{body}\n</transcript>\n"


def _tagged(tag: str, text: str, part: int | None = None) -> str:
    number = f' part="{part}"' if part is not None else ""
    return f"<{tag}{number}>\n{transcript.escape(text)}\n</{tag}>\n"


def _left_out(large: Sequence[Entry]) -> str:
    named = []
    for entry in large[:_NAMED]:
        tools = ", ".join(sorted({transcript.escape(p.tool) for p in entry.pieces if p.tool})) or entry.role
        named.append(f"- message {entry.number} ({tools}, {entry.size:,} characters)")
    more = f"\n- and {len(large) - _NAMED} more" if len(large) > _NAMED else ""
    return (
        "These messages are left out because of their size; name them as not summarized:\n"
        + "\n".join(named)
        + more
        + "\n\n"
    )


def _with_short_outputs(entry: Entry) -> Entry:
    pieces = tuple(
        msgspec.structs.replace(piece, escaped=transcript.cut(piece.escaped, _OUTPUT_CAP))
        if piece.kind == "output"
        else piece
        for piece in entry.pieces
    )
    return msgspec.structs.replace(entry, pieces=pieces)
