"""One long session of a coding agent, from a seed; the sample data of the README is written by this file.

The agent moves a made-up parcel service from ad-hoc retries to an outbox. It reads files of nine languages,
greps, runs tests that fail with tracebacks, makes edits that fail and then succeed, keeps a todo list, and
is interrupted. The user sets limits, and then changes their mind about the plan. All text is made here, by
`words.py` and by `code.py`; nothing is copied from anywhere.

    python -m benches.inputs.session            writes tests/data/coding_session.json (OpenAI chat form)
    python -m benches.inputs.session --check    exits with 1 when that file is not what this writes
"""
# ruff: noqa: E501 -- people and models write long lines; broken strings would hide the text

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from . import words
from .sandbox import GREEN, RED, RESET, YELLOW, Sandbox
from .script import Assistant, Call, Message, Step, System, User, anthropic, openai_chat, system_text

SAMPLE = Path(__file__).resolve().parents[2] / "tests" / "data" / "coding_session.json"
SEED = 20260

SYSTEM = """You are a coding agent in the repository `parcelhub`. You work through tools: glob, grep, read_file, edit_file, \
write_file, bash, web_fetch and todo_write.

Rules of this house
- Read a file before you edit it. An edit names text that occurs exactly once.
- Run the tests of a service after each change. Never claim that a test passes when you have not seen it pass.
- Keep the todo list up to date: one item in progress at a time.
- Answer in the language of the user. Be brief.

Environment: Linux, Python 3.11, Node 22, Rust 1.95, Go 1.24. The working folder is the root of the repository. Today is Friday, 13 March 2026."""

OPENING = """Our services retry by hand: each one has a loop with `session.flush` and `except ConflictError`, all a bit different. Please replace \
these loops, service by service, with one helper `with_retries` in app/retry.py (exponential backoff, at most 4 attempts).

Constraints, please keep them until the end:
1. No new dependency.
2. Public function signatures stay as they are; the web team builds on them.
3. Migrations that are already applied are never edited. Write a new one if you need one.
4. The legacy exporter writes CRLF. Leave its line ends alone.

Start with `parcel` and `carrier`, then the rest in the order that you find sensible."""

CHANGE_OF_MIND = """Stop, I changed my mind. Not backoff in the services: the web requests would hang on it. Do an outbox instead: on the first ConflictError \
the service writes a row to the table `outbox` with `enqueue(session, kind, key)` and returns what it has. A worker drains the table. \
So with_retries goes away again, also from the services that you have done. The four constraints still hold, and one more:

5. The outbox table is partitioned by week. Never query it without a `created_at` bound."""

THAI_REQUEST = """ทีมคลังสินค้าที่เชียงใหม่แจ้งว่าข้อความแจ้งเตือนภาษาไทยผิดหลายจุด 🙏 ช่วยตรวจไฟล์ locales ด้วย แล้วอย่าแปลคำว่า "outbox" นะครับ ใช้ทับศัพท์ไปเลย \
ส่วนภาษาญี่ปุ่นกับภาษาจีน (例: 荷物の配送状況, 包裹状态) ไม่ต้องแก้"""

LAST_REQUEST = """Good. Last thing before I open the pull request: run the whole suite once more, and tell me which services still hold a \
`session.rollback(to=`. Don't fix them yet, I only want the list. And keep voucher out of this pull request, finance has it frozen until the 31st."""

RETRY = '''"""Retries with exponential backoff for the services."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from app.errors import ConflictError

Value = TypeVar("Value")
ATTEMPTS = 4


def with_retries(work: Callable[[], Value], *, base_seconds: float = 0.05) -> Value:
    """Call `work`, at most four times; the wait doubles after each conflict."""
    for attempt in range(ATTEMPTS):
        try:
            return work()
        except ConflictError:
            if attempt + 1 == ATTEMPTS:
                raise
            time.sleep(base_seconds * 2**attempt)
    raise AssertionError("unreachable")
'''

OUTBOX = '''"""The outbox: work that met a conflict and is done later by a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.db import OutboxRow, Session

HORIZON = timedelta(days=14)


def enqueue(session: Session, kind: str, key: int) -> None:
    """Write one row; the worker picks it up."""
    session.add(OutboxRow(kind=kind, key=key, created_at=datetime.now(UTC)))


def pending(session: Session, *, limit: int = 100) -> list[OutboxRow]:
    """Return the oldest open rows. The bound on `created_at` lets the planner skip old partitions."""
    since = datetime.now(UTC) - HORIZON
    return session.query(OutboxRow).where(OutboxRow.created_at >= since).order_by(OutboxRow.created_at).limit(limit).all()
'''

MIGRATION = """-- The outbox, partitioned by week. Every query needs a bound on created_at.
BEGIN;
CREATE TABLE outbox (
    id bigserial,
    kind text NOT NULL,
    key bigint NOT NULL,
    created_at timestamptz NOT NULL,
    done_at timestamptz,
    PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX idx_outbox_open ON outbox (created_at) WHERE done_at IS NULL;
COMMIT;
"""

REMARKS = (
    "Next is `{0}`. I read it first.",
    "Now `{0}`: the same loop, with another bound on the attempts.",
    "`{0}` has its loop in several functions. I look at all of them.",
    "On to `{0}`.",
)


class Session:
    """Collects the steps of the session; `sandbox` holds the files."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.sandbox = Sandbox(self.rng)
        self.steps: list[Step] = [System(SYSTEM)]
        self.todo: dict[str, str] = {}

    def user(self, text: str) -> None:
        """A person speaks."""
        self.steps.append(User(text))

    def say(self, text: str, *calls: Call) -> None:
        """The model answers, with or without calls."""
        self.steps.append(Assistant(text, calls))

    def plan(self, **states: str) -> Call:
        """Update the todo list and return the call that does it."""
        self.todo |= states
        items = [{"content": name.replace("_", " "), "status": state} for name, state in self.todo.items()]
        open_items = sum(state != "completed" for state in self.todo.values())
        return Call(
            "todo_write", {"todos": items}, f"Todo list updated: {len(items)} items, {open_items} open."
        )

    def look_around(self) -> None:
        """First steps in the repository: listings, searches, documentation."""
        box = self.sandbox
        log = [f"{words.hexadecimal(self.rng, 7)} {words.sentence(self.rng)[:-1]}" for _ in range(25)]
        self.say(
            "I get an overview first.",
            box.listing("app/services"),
            box.glob("*.tsx"),
            box.bash("git log --oneline -25", "\n".join(log)),
        )
        self.say("", box.grep(r"except ConflictError", "app/*"), box.read("docs/carrier.md"))
        self.say(
            "",
            box.read("app/retry.py"),
            Call("web_fetch", {"url": "https://docs.parcelhub.example/retries"}, self.page()),
        )
        self.say(
            "There is no helper yet. The loops differ only in their bounds, so one helper can carry all of them.",
            self.plan(
                write_retry_helper="in_progress",
                move_parcel_and_carrier="pending",
                move_other_services="pending",
            ),
        )

    def page(self) -> str:
        """A page from the web, as text."""
        parts = [f"# Retries at parcelhub\n\n{words.prose(self.rng, 5)}"]
        parts += [f"## {words.sentence(self.rng)[:-1]}\n\n{words.prose(self.rng, 7)}" for _ in range(4)]
        return "\n\n".join(parts)

    def loops(self, path: str) -> list[str]:
        """Return the handlers of a file that occur once: the comment and the rollback under `except ConflictError`."""
        text = self.sandbox.files[path]
        found: list[str] = re.findall(r" +# [^\n]+\n +session\.rollback\(to=[^\n]+", text)
        return [handler for handler in found if text.count(handler) == 1]

    def service(self, entity: str, number: int, replacement: str) -> None:
        """Move one service: read, edit (now and then on a stale text), test, fix, test."""
        box, rng, path = self.sandbox, self.rng, f"app/services/{entity}.py"
        others = [name for name in box.paths(f"*/{entity}[./]*") if name != path]
        extra = [box.read(rng.choice(others))] if others else []
        self.say(REMARKS[number % len(REMARKS)].format(entity), box.read(path), *extra)
        loops = self.loops(path)
        new = f"{' ' * 12}{replacement}"
        if number % 3 == 0:
            self.say("", box.edit(path, loops[0].replace("to=attempt", "to=tries"), new))
            self.say(
                "I had the name of the variable wrong. I look at the lines again.",
                box.read(path, rng.randrange(20, 60), 45),
            )
        self.say("", *(box.edit(path, handler, new) for handler in loops[:-1]))
        failing = rng.choice((0, 1, 2)) if number % 2 else rng.choice((0, 0, 1))
        self.say("", box.tests(entity, failing=failing))
        if failing:
            self.say(
                "The test wants the old bound. The call has to come before the log line.",
                box.grep(rf"def \w+_{rng.randrange(5)}\(", f"app/services/{entity}*"),
                box.read(path, rng.randrange(30, 90), 50),
            )
        self.say(
            "",
            box.edit(path, loops[-1], f"{new}  # the bound of the caller holds"),
            box.tests(entity, failing=0),
        )
        if number % 3 == 1:
            self.say("", box.diff(path))
        if number % 4 == 2:
            self.say(
                f"I check who else relies on `{words.camel(entity)}`.",
                box.grep(f"{words.camel(entity)}\\b", "*"),
                box.read(path),
            )
        self.say("", self.plan(**{f"move_{entity}": "completed"}))

    def interrupted(self) -> None:
        """A dev server that never ends, stopped by the user."""
        rng = self.rng
        lines = [f"{GREEN}vite{RESET} v6.2.0 dev server running, ready in {rng.randrange(300, 900)} ms", ""]
        lines += [
            f"{YELLOW}[hmr]{RESET} update /web/src/tables/{rng.choice(words.ENTITIES)}.tsx ({rng.randrange(2, 90)} ms)"
            for _ in range(40)
        ]
        lines.append(
            f"{RED}^C{RESET}\nCommand was interrupted by the user after 120 s; the output above is what it wrote until then."
        )
        self.say(
            "I start the web client, to see the tables against the new service.",
            self.sandbox.bash("cd web && npm run dev", "\n".join(lines), 130),
        )
        self.user(
            "That one never ends, I stopped it. Use `npm run build` if you want to know whether it compiles."
        )
        build = [
            f"src/tables/{rng.choice(words.ENTITIES)}.tsx -> dist/{words.hexadecimal(rng, 8)}.js\r\n"
            for _ in range(30)
        ]
        self.say(
            "Right, a build is enough.",
            self.sandbox.bash("cd web && npm run build", "".join(build) + "built in 4.12s"),
        )

    def outbox(self) -> None:
        """The new plan after the change of mind."""
        box = self.sandbox
        self.say(
            "Understood: an outbox, no backoff in the services, and with_retries goes.",
            self.plan(
                write_retry_helper="cancelled", write_outbox="in_progress", remove_with_retries="pending"
            ),
        )
        self.say("", box.write("app/outbox.py", OUTBOX), box.write("migrations/0042_outbox.sql", MIGRATION))
        table = [
            f" {number:3d} | {self.rng.choice(words.ENTITIES):10s} | 2026-03-{self.rng.randrange(10, 28)} | {self.rng.randrange(9999):6d}"
            for number in range(30)
        ]
        self.say(
            "",
            box.bash(
                "psql -f migrations/0042_outbox.sql && psql -c 'select * from jobs limit 30'",
                "CREATE TABLE\nCREATE INDEX\n" + "\n".join(table),
            ),
        )
        self.say("", box.grep("with_retries"))
        for path in [path for path in box.paths("app/services/*") if "with_retries" in box.files[path]]:
            line = next(line for line in box.files[path].split("\n") if "with_retries" in line)
            edits = [box.edit(path, line, '            enqueue(session, "conflict", attempt)')]
            if edits[0].error:
                command = (
                    f"sed -i 's/with_retries(session.flush)/enqueue(session, \"conflict\", attempt)/' {path}"
                )
                box.files[path] = box.files[path].replace(
                    "with_retries(session.flush)", 'enqueue(session, "conflict", attempt)'
                )
                edits.append(box.bash(command, ""))
            self.say("", *edits[:1])
            if edits[1:]:
                self.say("It stands there several times, so I replace all of them at once.", *edits[1:])
        self.say("", box.grep("with_retries"))
        self.say("", self.plan(write_outbox="completed", remove_with_retries="completed"))

    def locales(self) -> None:
        """The Thai request: locale files, a legacy file with CRLF, a log with CJK text."""
        box, rng = self.sandbox, self.rng
        self.user(THAI_REQUEST)
        paths = box.paths("web/locales/*")
        self.say("ได้ครับ ผมขอดูไฟล์ภาษาไทยก่อน", *(box.read(path) for path in paths[:2]))
        line = next(line for line in box.files[paths[0]].split("\n") if '"th":' in line)
        self.say("", box.edit(paths[0], line, '    "th": "รอจัดส่งใน outbox 📦",'))
        events = [
            json.dumps(
                {
                    "level": "warn",
                    "msg": rng.choice((words.japanese, words.chinese, words.korean))(rng, 12),
                    "icon": words.emoji(rng),
                    "n": number,
                },
                ensure_ascii=False,
            )
            for number in range(45)
        ]
        self.say("", box.bash("docker compose logs --no-color notifier | tail -45", "\n".join(events)))
        self.say("", box.read(box.paths("legacy/*")[0]))
        self.say(f"แก้ไขเรียบร้อยแล้วครับ {words.thai(rng, 28)} ✅ ไฟล์ legacy ยังใช้ CRLF เหมือนเดิม")

    def finish(self) -> None:
        """The last request; the session stops right after results, where an agent calls its model next."""
        box, rng = self.sandbox, self.rng
        self.user(LAST_REQUEST)
        lines = [
            f"tests/services/test_{entity}.py {GREEN}{'.' * rng.randrange(14, 24)}{RESET}"
            for entity in words.ENTITIES
        ]
        lines.append(
            f"{RED}FAILED{RESET} tests/test_outbox.py::test_pending_is_bounded - AssertionError: no created_at bound in the plan"
        )
        lines.append(f"{RED}1 failed, 371 passed{RESET} in 48.20s")
        self.say(
            "",
            box.bash("pytest -q --color=yes", "\n".join(lines), 1),
            box.grep(r"session\.rollback\(to=", "app/*"),
        )


def script(seed: int = SEED) -> list[Step]:
    """Return the session as an abstract script."""
    session = Session(seed)
    session.user(OPENING)
    session.look_around()
    session.say("", session.sandbox.write("app/retry.py", RETRY))
    session.say("", session.plan(write_retry_helper="completed", move_parcel_and_carrier="in_progress"))
    for number, entity in enumerate(words.ENTITIES[:6]):
        session.service(entity, number, "with_retries(session.flush)")
    session.interrupted()
    session.user(CHANGE_OF_MIND)
    session.outbox()
    for number, entity in enumerate(words.ENTITIES[6:13]):
        session.service(entity, number, f'enqueue(session, "{entity}", attempt)')
    session.locales()
    session.user("👍🏼 ขอบคุณครับ. Back to the services, please. Skip nothing that has tests.")
    for number, entity in enumerate(words.ENTITIES[13:]):
        session.service(entity, number, f'enqueue(session, "{entity}", attempt)')
    session.finish()
    return session.steps


def as_anthropic(seed: int = SEED) -> tuple[str, list[Message]]:
    """Return the system prompt and the messages in Anthropic form."""
    steps = script(seed)
    return system_text(steps), anthropic(steps)


def sample_text(seed: int = SEED) -> str:
    """Return the sample file: a JSON list in OpenAI chat form, one message a line."""
    lines = (json.dumps(message, ensure_ascii=False) for message in openai_chat(script(seed)))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> int:
    """Write the sample file, or check it."""
    parser = argparse.ArgumentParser(description="Write or check the sample coding session.")
    parser.add_argument("-o", "--output", type=Path, default=SAMPLE)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 when the file differs"
    )
    arguments = parser.parse_args()
    data = sample_text().encode()
    if arguments.check:
        same = arguments.output.is_file() and arguments.output.read_bytes() == data
        print("up to date" if same else f"{arguments.output} differs from what the generator writes")
        return 0 if same else 1
    arguments.output.write_bytes(data)
    print(f"{arguments.output}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
