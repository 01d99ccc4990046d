# ruff: noqa: E501  a template is clearer on one line
"""Texts made by code for fitting the token estimate: JSON, logs, agent output, emoji, base64, tables.

Everything is drawn from a seeded generator over words and source lines of Python's own library, so the
same Python gives the same texts.
"""

from __future__ import annotations

import ast
import base64
import difflib
import gzip
import json
import random
import re
import sys
import unicodedata
import uuid
from typing import TYPE_CHECKING, Any

from .fit_code import header, javascript, markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEVELS = (
    "INFO",
    "DEBUG",
    "WARN",
    "WARNING",
    "ERROR",
    "info",
    "error",
    "warn",
    "I",
    "E",
    "notice",
    "CRITICAL",
    "TRACE",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


TONES = dict(zip("🏻🏼🏽🏾🏿", ("light", "medium-light", "medium", "medium-dark", "dark"), strict=True))
"""Names of the skin tones, as emoji tables write them before `skin tone`."""


class Maker:
    """Draws words, names, numbers and lines; holds the vocabulary and the random state."""

    def __init__(self, std: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        topics = (std / "pydoc_data/topics.py").read_text()
        self.words: list[str] = re.findall(r"[A-Za-z]{2,}", topics)[:200_000]
        notes = [d for p in sorted(std.glob("*.py")) for d in re.findall(r'(?s)"""(.*?)"""', p.read_text())]
        self.stream = [*topics.replace("\\n", " ").split()[:60_000], *" ".join(notes).split()]
        """Words with the marks that stand at them, in the order of the texts they come from."""
        names = sorted((std / "asyncio").glob("*.py")) + sorted((std / "email").glob("*.py"))
        names += sorted((std / "http").glob("*.py")) + sorted(std.glob("*.py"))
        self.files = [
            (p.relative_to(std).as_posix(), p.read_text()) for p in names if p.stat().st_size < 200_000
        ]
        self.bare = [re.sub(r'(?s)[rbu]?""".*?"""', "", text) for _, text in self.files]
        self.lines = [line for _, text in self.files for line in text.splitlines() if line.strip()]
        self.idents: list[str] = re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", " ".join(self.lines))
        self.emoji = [
            chr(c)
            for c in (*range(0x1F300, 0x1FAFF), *range(0x2600, 0x27BF))
            if unicodedata.category(chr(c)) in {"So", "Sk"}
        ]

    def word(self) -> str:
        return self.rng.choice(self.words)

    def sentence(self, low: int = 3, high: int = 18) -> str:
        start = self.rng.randrange(len(self.stream) - max(low, high))
        return " ".join(self.stream[start : start + self.rng.randint(low, max(low, high))])

    def ident(self) -> str:
        parts = [self.word().lower() for _ in range(self.rng.randint(1, 3))]
        style = self.rng.randrange(4)
        if style == 0:
            return "_".join(parts)
        if style == 1:
            return parts[0] + "".join(p.title() for p in parts[1:])
        if style == 2:
            if self.rng.random() < 0.5:
                return "".join(p.title() for p in parts)
            return (
                self.rng.choice(("-", "_", "")).join(parts).upper()
                if self.rng.random() < 0.4
                else "-".join(parts)
            )
        return self.rng.choice(self.idents)

    def integer(self) -> int:
        return int(10 ** self.rng.uniform(0, self.rng.choice((2, 4, 7, 13))))

    def hexes(self, n: int) -> str:
        return f"{self.rng.getrandbits(4 * n):0{n}x}"

    def path(self) -> str:
        root = self.rng.choice(
            ("/usr/lib", "src", "/home/user/project", "./tests", "/var/lib", "packages", "/app")
        )
        middle = "/".join(self.ident() for _ in range(self.rng.randint(0, 3)))
        name = self.ident() + self.rng.choice(
            (
                ".py",
                ".ts",
                ".js",
                ".rs",
                ".go",
                ".json",
                ".md",
                ".c",
                ".h",
                ".log",
                "",
                ".java",
                ".o",
                ".so",
                ".pem",
                ".html",
            )
        )
        return "/".join(p for p in (root, middle, name) if p)

    def stamp(self) -> str:
        r = self.rng
        y, mo, d = r.randint(2005, 2026), r.randint(1, 12), r.randint(1, 28)
        h, mi, s, ms = r.randint(0, 23), r.randint(0, 59), r.randint(0, 59), r.randint(0, 999)
        return r.choice(
            (
                f"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{ms:03}Z",
                f"{y}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02},{ms:03}",
                f"{MONTHS[mo - 1]} {d:2} {h:02}:{mi:02}:{s:02}",
                f"{d:02}/{MONTHS[mo - 1]}/{y}:{h:02}:{mi:02}:{s:02} +0000",
                f"{y}/{mo:02}/{d:02} {h:02}:{mi:02}:{s:02}",
                f"{h:02}:{mi:02}:{s:02}.{ms:03}",
                f"{y}-{mo:02}-{d:02}",
                f"{DAYS[d % 7]} {MONTHS[mo - 1]} {d:02} {h:02}:{mi:02}:{s:02} {y}",
                f"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}+00:00",
                f"{r.randint(10**9, 2 * 10**9)}.{ms:03}",
            )
        )

    def address(self) -> str:
        return ".".join(str(self.rng.randint(0, 255)) for _ in range(4))

    def url(self) -> str:
        return f"https://{self.word().lower()}.{self.rng.choice(('com', 'org', 'io', 'dev'))}/{self.ident()}/{self.ident()}"

    def value(self, depth: int) -> Any:
        r = self.rng
        kind = r.randrange(19 if depth > 0 else 15)
        plain: list[Callable[[], Any]] = [
            self.sentence,
            self.word,
            self.integer,
            self.integer,
            lambda: round(r.uniform(-1000, 1000), r.randint(1, 9)),
            lambda: r.random() < 0.5,
            lambda: None,
            self.stamp,
            self.path,
            self.url,
            lambda: str(uuid.UUID(int=r.getrandbits(128))),
            self.ident,
            lambda: self.hexes(r.choice((7, 12, 32, 40, 64))),
            lambda: "\n".join(self.code(r.randint(1, 12))),
            self.ident,
        ]
        if kind < len(plain):
            return plain[kind]()
        if kind < 17:
            return {self.ident(): self.value(depth - 1) for _ in range(r.randint(1, 7))}
        return self.array(depth)

    def array(self, depth: int) -> list[Any]:
        n = self.rng.randint(0, 6)
        if self.rng.random() < 0.5:
            keys = [self.ident() for _ in range(self.rng.randint(2, 6))]
            return [{k: self.value(depth - 2) for k in keys} for _ in range(n)]
        return [self.value(depth - 2) for _ in range(n)]

    def code(self, n: int) -> list[str]:
        _, text = self.rng.choice(self.files)
        lines = text.splitlines()
        at = self.rng.randrange(max(1, len(lines) - n))
        return lines[at : at + n]

    def json_value(self) -> Any:
        if self.rng.random() < 0.1:
            tree = ast.parse("\n".join(self.lines[:0]) + self.rng.choice(self.files)[1])
            return _tree(self.rng.choice(tree.body), 5)
        keys = self.rng.randint(2, 12)
        return {self.ident(): self.value(4) for _ in range(keys)}

    def log_line(self, source: str) -> str:
        r = self.rng
        message = r.choice(
            (
                self.sentence,
                lambda: f"{self.sentence(2, 6)}: {self.path()}",
                lambda: (
                    f"{self.ident()}={self.integer()} "
                    f"{self.ident()}={self.word()} {self.ident()}={r.uniform(0, 100):.2f}ms"
                ),
                lambda: f'GET {self.path()} HTTP/1.1" {r.choice((200, 304, 404, 500))} {self.integer()}',
                lambda: f"{self.sentence(2, 5)} from {self.address()} port {r.randint(1024, 65535)}",
                lambda: f"{self.sentence(1, 4)} [{r.randint(1, 99)}/{r.randint(100, 400)}] {self.ident()}",
                lambda: f'  File "{self.path()}", line {r.randint(1, 2000)}, in {self.ident()}',
                lambda: f"gcc -O2 -Wall -I{self.path()} -c {self.path()} -o {self.path()}",
                lambda: (
                    f"{self.ident()}.{self.ident()} ({self.path()}:{r.randint(1, 900)}) {r.choice(('ok', 'PASSED', 'FAILED', '... ok'))}"
                ),
                lambda: (
                    f"{r.choice(('PASS', 'Passed', 'FAIL', 'ok', 'Adding', 'Unpacking', 'Setting up'))}: {self.path()}"
                ),
                lambda: " ".join(
                    r.choice(("-W", "-f", "-D", "-m", "--", "-I", "-l")) + self.ident()
                    for _ in range(r.randint(3, 15))
                ),
                lambda: f"PASS: {self.sentence(2, 8)}",
                lambda: f"checking for {self.ident()}... {r.choice(('yes', 'no', self.path()))}",
                lambda: (
                    f"status {self.word()} {self.ident()}:amd64 {r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 40)}-{r.randint(1, 9)}"
                ),
                lambda: (
                    f"0x{self.hexes(r.choice((8, 16)))} in {self.ident()} () at {self.path()}:{self.integer()}"
                ),
            )
        )()
        head: Callable[[], str] = r.choice(
            (
                lambda: f"{self.stamp()} {r.choice(LEVELS)} [{source}] ",
                lambda: f"[{self.stamp()}] ",
                lambda: f"{self.stamp()} ",
                lambda: f"{self.stamp()} {self.word().lower()} {source}[{r.randint(1, 99999)}]: ",
                lambda: f"{r.choice(LEVELS)}: ",
                lambda: f'{self.address()} - - [{self.stamp()}] "',
                lambda: "",
                lambda: f"{r.choice(LEVELS)} {source}:{r.randint(1, 999)} - ",
            )
        )
        return head() + message

    def log(self, n: int) -> str:
        source = self.ident()
        state = self.rng.getstate()
        out = [self.log_line(source) for _ in range(n)]
        self.rng.setstate(state)
        self.rng.random()
        return "\n".join(out)

    def listing(self) -> str:
        r = self.rng
        name, text = r.choice(self.files)
        lines = text.splitlines()
        at = r.randrange(max(1, len(lines) - 80))
        part = lines[at : at + r.randint(10, 120)]
        kind = r.randrange(5)
        if kind == 0:
            return "\n".join(f"{at + i:6}\t{line}" for i, line in enumerate(part, 1))
        if kind == 1:
            return "\n".join(f"{name}:{at + i}:{line}" for i, line in enumerate(part, 1))
        if kind == 2:
            changed = [self.rng.choice(self.lines) if r.random() < 0.1 else line for line in part]
            return "\n".join(difflib.unified_diff(part, changed, f"a/{name}", f"b/{name}", lineterm=""))
        if kind == 3:
            return "\n".join(
                f"-rw-r--r-- 1 {self.word().lower()} root {self.integer():9} {r.choice(MONTHS)} {r.randint(1, 28):2} "
                f"{r.randint(0, 23):02}:{r.randint(0, 59):02} {self.ident()}"
                for _ in part
            )
        return "\n".join(self.path() for _ in part)

    def table(self) -> str:
        r = self.rng
        cols, sep = r.randint(2, 9), r.choice((",", "\t", ", ", " | ", ";", "  "))
        makers = [
            r.choice(
                (
                    self.integer,
                    self.word,
                    self.stamp,
                    lambda: f"{r.uniform(-9, 999):.{r.randint(1, 8)}f}",
                    self.ident,
                    self.address,
                )
            )
            for _ in range(cols)
        ]
        return "\n".join(sep.join(str(m()) for m in makers) for _ in range(r.randint(5, 60)))

    def mark(self) -> str:
        """One emoji: mostly a lone one, sometimes with a selector, a skin tone, a joined second, or a flag."""
        r = self.rng
        mark = r.choice(self.emoji)
        kind = r.random()
        if kind < 0.12:
            return mark + "\ufe0f"
        if kind < 0.34:
            mark = r.choice(
                "👋🤚🖐✋👌✌🤞👍👎✊👏🙌🙏💪👂👃👶🧒👦👧🧑👨👩🧓👴👵👮🕵💂👷🤴👸🚶🏃💃🏄🏊🚴🤸🤽🤾🧖🧗🧘🛌🙋🙇🤦🤷"
            )
            mark += chr(0x1F3FB + r.randrange(5))
            kind = r.choice((0.35, 0.9))
        if kind < 0.40 or (kind < 0.46 and len(mark) > 1):
            return mark + "\u200d" + r.choice("♀♂⚕⚖✈💻🎓🌾🍳🎤🏫🏭🔬🎨🚒🚀❤") + r.choice(("\ufe0f", ""))
        if kind < 0.46:
            return chr(0x1F1E6 + r.randrange(26)) + chr(0x1F1E6 + r.randrange(26))
        if kind < 0.48:
            return r.choice("0123456789#*") + "\ufe0f\u20e3"
        return mark

    def emoji_text(self) -> str:
        r = self.rng
        out = []
        for _ in range(r.randint(5, 60)):
            out.append(self.mark() * (r.randint(2, 4) if r.random() < 0.2 else 1))
            if r.random() < 0.5:
                words = r.choice((self.sentence(1, 6), self.word(), self.ident()))
                out.append(
                    r.choice((" ", "\n", " ", "", ", ")) + words + r.choice((" ", " ", "\n", "! ", ""))
                )
        return "".join(out)

    def emoji_table(self) -> str:
        r = self.rng
        form = r.choice(
            (
                '    "{n}": "{e}",',
                "'{n}': '{e}',",
                '"{e}": {{\n  "en": ":{n}:",\n  "status": 2,\n  "E": {v}\n}},',
                "| {e} | `:{n}:` |",
                '"{e}": "{n}"',
                "{e} {n}",
                "- {e} {n} {v}",
            )
        )
        rows = []
        for _ in range(40):
            e = self.mark()
            gap = r.choice("_ -")
            n = unicodedata.name(e[0], "x").lower().replace(" ", gap)
            if len(e) > 1 and e[1] in TONES:
                n += gap + TONES[e[1]] + f"{gap}skin{gap}tone"
            rows.append(form.format(n=n, e=e, v=r.choice((0.6, 1, 2, 3, 11, 13.1, 0.7))))
        return "\n".join(rows)

    def base64_text(self) -> str:
        r = self.rng
        raw = (
            r.randbytes(r.randint(60, 3000))
            if r.random() < 0.6
            else gzip.compress("\n".join(self.code(60)).encode(), mtime=0)
        )
        data = r.choice((base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes))(raw).decode()
        return r.choice(("", "data:image/png;base64,", "-----BEGIN CERTIFICATE-----\n")) + data

    def hash_text(self) -> str:
        r = self.rng
        n, kind = r.choice((8, 32, 40, 64)), r.randrange(4)
        rows = []
        for _ in range(r.randint(3, 40)):
            digest = self.hexes(n)
            if kind == 0:
                digest = base64.urlsafe_b64encode(r.randbytes(32)).decode().rstrip("=")
                rows.append(f"{self.path()},sha256={digest},{self.integer()}")
            elif kind == 1:
                rows.append(f"{digest}  {self.path()}")
            elif kind == 2:
                rows.append(
                    f'name = "{self.ident()}"\nversion = "{r.randint(0, 9)}.{r.randint(0, 40)}.{r.randint(0, 9)}"\n'
                    f'checksum = "{digest}"\n'
                )
            else:
                rows.append(f"{uuid.UUID(int=r.getrandbits(128))} {digest}")
        return "\n".join(rows)


def _tree(node: Any, depth: int) -> Any:
    if isinstance(node, ast.AST):
        if depth == 0:
            return type(node).__name__
        fields = {k: _tree(v, depth - 1) for k, v in ast.iter_fields(node)}
        return {"type": type(node).__name__, **fields}
    if isinstance(node, list):
        return [_tree(x, depth - 1) for x in node[:8]]
    return node if isinstance(node, (str, int, float, bool)) or node is None else str(node)


def _fill(make: Callable[[], str], budget: int) -> list[str]:
    out, used = [], 0
    while used < budget:
        text = make()
        out.append(text)
        used += len(text)
    return out


def generate(std: Path, budget: int) -> dict[str, list[str]]:
    """Texts by class, about `budget` characters each."""
    sys.setrecursionlimit(10_000)
    m = Maker(std, 7)

    def pretty() -> str:
        return json.dumps(
            m.json_value(), indent=m.rng.choice((2, 2, 4, 1)), ensure_ascii=m.rng.random() < 0.7
        )

    def short() -> str:
        return json.dumps(m.json_value(), separators=m.rng.choice(((",", ":"), (",", ":"), (", ", ": "))))

    return {
        "javascript": _fill(lambda: javascript(m), budget),
        "c_headers": _fill(lambda: header(m), budget),
        "markdown": _fill(lambda: markdown(m), budget),
        "json_pretty": _fill(pretty, budget),
        "json_min": _fill(short, budget),
        "logs": _fill(lambda: m.log(m.rng.randint(20, 80)), budget),
        "agent": _fill(m.listing, budget),
        "tables": _fill(m.table, budget // 2),
        "emoji": _fill(lambda: m.emoji_text() if m.rng.random() < 0.7 else m.emoji_table(), budget // 2),
        "base64": _fill(m.base64_text, budget // 2),
        "hashes": _fill(m.hash_text, budget // 2),
    }
