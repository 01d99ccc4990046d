"""A made-up repository and the tools an agent uses on it.

The files are synthetic, but the tools are real: a read prints what is there, a grep finds what matches, an
edit fails when its old text does not occur exactly once. So a session built on it is consistent: what is
read later shows what was edited earlier.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from . import code, words
from .script import Call

if TYPE_CHECKING:
    from random import Random

RED, GREEN, YELLOW, BOLD, RESET = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"


class Sandbox:
    """Files by path, and one method per tool; each returns a `Call` with arguments and result."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.files: dict[str, str] = {}
        for number, entity in enumerate(words.ENTITIES):
            for offset, language in enumerate(code.SOURCES):
                if language == "python" or (number + offset) % 4 == 0:
                    path, text = code.source(rng, language, entity)
                    self.files[path] = text

    def paths(self, pattern: str) -> list[str]:
        """Return the sorted paths that match a glob pattern."""
        return sorted(path for path in self.files if fnmatch.fnmatchcase(path, pattern))

    def glob(self, pattern: str) -> Call:
        """List files."""
        return Call("glob", {"pattern": pattern}, "\n".join(self.paths(pattern)) or "No files found")

    def read(self, path: str, offset: int = 0, limit: int | None = None) -> Call:
        """Read a file with line numbers; a missing file is an error."""
        arguments: dict[str, object] = {"file_path": path}
        if offset:
            arguments["offset"] = offset
        if limit is not None:
            arguments["limit"] = limit
        if path not in self.files:
            return Call("read_file", arguments, f"Error: no such file: {path}", error=True)
        lines = self.files[path].split("\n")
        end = len(lines) if limit is None else offset + limit
        shown = "\n".join(
            f"{number + 1:5d}| {lines[number]}" for number in range(offset, min(end, len(lines)))
        )
        return Call("read_file", arguments, shown)

    def grep(self, pattern: str, glob: str = "*", limit: int = 60) -> Call:
        """Search by regular expression."""
        found = [
            f"{path}:{number + 1}:{line.rstrip()}"
            for path in self.paths(glob)
            for number, line in enumerate(self.files[path].split("\n"))
            if re.search(pattern, line)
        ]
        text = "\n".join(found[:limit]) or "No matches"
        if len(found) > limit:
            text += f"\n({len(found) - limit} more matches not shown)"
        return Call("grep", {"pattern": pattern, "glob": glob, "output_mode": "content"}, text)

    def edit(self, path: str, old: str, new: str) -> Call:
        """Replace one occurrence; anything but exactly one is an error, as real edit tools have it."""
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        count = self.files.get(path, "").count(old)
        if count != 1:
            said = "old_string was not found" if count == 0 else f"old_string occurs {count} times"
            return Call(
                "edit_file", arguments, f"Error: {said} in {path}. The file was not changed.", error=True
            )
        before = self.files[path]
        line = before[: before.index(old)].count("\n") + 1
        self.files[path] = before.replace(old, new)
        around = self.files[path].split("\n")[max(0, line - 4) : line + new.count("\n") + 4]
        body = "\n".join(f"{line - 3 + number:5d}| {text}" for number, text in enumerate(around))
        return Call("edit_file", arguments, f"The file {path} was updated. Lines around the change:\n{body}")

    def write(self, path: str, text: str) -> Call:
        """Write a whole file."""
        verb = "overwrote" if path in self.files else "created"
        self.files[path] = text
        return Call(
            "write_file", {"file_path": path, "content": text}, f"{verb} {path} ({len(text.encode())} bytes)"
        )

    def bash(self, command: str, output: str, code: int = 0) -> Call:
        """Run a command: its output is given; a failure ends with the exit code."""
        result = output if code == 0 else f"{output}\n\nexit code: {code}"
        return Call("bash", {"command": command}, result, error=code != 0)

    def listing(self, folder: str) -> Call:
        """Run `ls -la` on a folder."""
        rows = []
        for path in self.paths(f"{folder}/*"):
            size, name = len(self.files[path].encode()), path.rsplit("/", 1)[1]
            day, minute = self.rng.randrange(1, 29), self.rng.randrange(10, 59)
            rows.append(f"-rw-r--r--  1 dev dev {size:7d} Mar {day:2d} 09:{minute} {name}")
        return self.bash(f"ls -la {folder}", "\n".join([f"total {len(rows) * 8}", *rows]))

    def tests(self, entity: str, *, failing: int) -> Call:
        """Run pytest on one service, in color, with a traceback for each failing test."""
        rng, path = self.rng, f"tests/services/test_{entity}.py"
        names = [f"test_{words.identifier(rng)}_{number}" for number in range(rng.randrange(14, 24))]
        lines = [
            f"{BOLD}============ test session starts ============{RESET}",
            f"collected {len(names)} items",
            "",
        ]
        for number, name in enumerate(names):
            mark = f"{RED}FAILED{RESET}" if number < failing else f"{GREEN}PASSED{RESET}"
            lines.append(f"{path}::{name} {mark} [{100 * (number + 1) // len(names):3d}%]")
        for name in names[:failing]:
            lines += ["", f"{RED}____________ {name} ____________{RESET}", "", *self._traceback(entity, name)]
        lines += ["", f"{YELLOW}warnings summary{RESET}"]
        lines += [
            f"  {path}:{rng.randrange(10, 200)}: DeprecationWarning: {words.sentence(rng)}" for _ in range(3)
        ]
        color = RED if failing else GREEN
        took = rng.randrange(100, 900) / 100
        lines.append(
            f"{color}{failing} failed, {len(names) - failing} passed, 3 warnings in {took:.2f}s{RESET}"
        )
        return self.bash(f"pytest -q {path} -vv --color=yes", "\n".join(lines), 1 if failing else 0)

    def _traceback(self, entity: str, test: str) -> list[str]:
        rng, path = self.rng, f"app/services/{entity}.py"
        lines = self.files[path].split("\n")
        body = [number for number, line in enumerate(lines) if line.startswith("        ")]
        out = [
            "Traceback (most recent call last):",
            f'  File "tests/services/test_{entity}.py", line {rng.randrange(20, 300)}, in {test}',
        ]
        out.append(f"    {words.identifier(rng)}(session, {rng.randrange(900)})")
        for number in sorted(rng.sample(body, 4)):
            out += [
                f'  File "{path}", line {number + 1}, in {words.identifier(rng)}',
                f"    {lines[number].strip()}",
            ]
        error = rng.choice(("AssertionError", "KeyError", "ConflictError", "TypeError"))
        return [
            *out,
            f"E   {error}: expected {rng.randrange(99)} {rng.choice(words.NOUNS)}s, got {rng.randrange(99)}",
        ]

    def diff(self, path: str) -> Call:
        """Run `git diff` on a file; the hunks are made up from its lines."""
        lines = [line for line in self.files[path].split("\n") if line.strip()]
        out = [
            f"diff --git a/{path} b/{path}",
            f"index {words.hexadecimal(self.rng, 7)}..{words.hexadecimal(self.rng, 7)} 100644",
            f"--- a/{path}",
            f"+++ b/{path}",
        ]
        for _ in range(5):
            at = self.rng.randrange(max(1, len(lines) - 8))
            out.append(f"@@ -{at},6 +{at},7 @@")
            out += [f" {line}" for line in lines[at : at + 3]]
            out += [
                f"-{lines[at + 3]}",
                f"+{lines[at + 3]}  # {words.identifier(self.rng)}",
                f"+{lines[at + 4]}",
            ]
            out += [f" {line}" for line in lines[at + 5 : at + 8]]
        return self.bash(f"git diff {path}", "\n".join(out))
