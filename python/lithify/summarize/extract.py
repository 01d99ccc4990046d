"""Nine sections without a model: taken out of the messages by code, within a budget of tokens.

The last rung that still says something, and the embedded summarizer. What the user demanded comes first, then
files, errors that no later run made good, facts in their latest form, open entries of the last todo list, and
the newest words of the agent. Deterministic. Linear: of a tool output only head and tail are read.
"""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lithify.summarize.check import HEADINGS, sections

if TYPE_CHECKING:
    from lithify.summarize.transcript import Entry, Piece

Count = Callable[[str], int]

LONGEST_LINE: Final = 300
MOST_LINES: Final = 400
_ENDS: Final = 1_500
_LONGEST_TEXT: Final = 20_000

_DEMAND: Final = re.compile(
    r"\b(?:must|never|always|only|don'?t|do not|should(?:n'?t| not)?|required?|forbidden|important|remember|"
    r"keep|jamais|toujours|doit|doivent|ne pas|il faut|uniquement|obligatoire|interdit|"
    r"muss|m\u00fcssen|darf|d\u00fcrfen|niemals|immer|stets|unbedingt|nicht|"
    r"nunca|siempre|deben?|prohibido|hay que)\b|"
    r"\u5fc5\u987b|\u4e0d\u8981|\u4e0d\u80fd|\u7981\u6b62|\u603b\u662f|\u59cb\u7ec8|\u52a1\u5fc5|\u5207\u52ff|\u8bb0\u4f4f|\u8bf7\u52ff|"
    r"\u5fc5\u305a|\u7d76\u5bfe\u306b|\u5e38\u306b|\u3057\u306a\u3044\u3067|\u3066\u306f\u3044\u3051|\u3066\u306f\u306a\u3089|"
    r"\u0e15\u0e49\u0e2d\u0e07|\u0e2b\u0e49\u0e32\u0e21|\u0e40\u0e2a\u0e21\u0e2d|\u0e2d\u0e22\u0e48\u0e32",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"\b(?:error|exception|failed|failure|fatal|panic(?:ked)?|traceback|denied|not found|cannot|refused)\b|"
    r"\u9519\u8bef|\u5931\u8d25|"
    r"exit(?:ed)?(?: with)?(?: code| status)?:? *[1-9]",
    re.IGNORECASE,
)
_ERROR_WORDS: Final = (
    *(
        "error",
        "exception",
        "fail",
        "fatal",
        "panic",
        "traceback",
        "denied",
        "not found",
        "cannot",
        "refused",
    ),
    *("exit", "\u9519\u8bef", "\u5931\u8d25"),
)
"""Each match of `_ERROR` holds one of these; to look for them first is several times as fast."""
_CLEAN: Final = re.compile(
    r"(?<!\d)0 (?:errors?|failed|failures?)\b|\b(?:no|without) errors?\b", re.IGNORECASE
)
_FACT: Final = re.compile(
    r"^[\s\-*>]*([^\W\d][\w .#/-]{1,38}?)\s*(?:=|:|\uff1a| is | are | est | \u662f|\u0e04\u0e37\u0e2d)\s*"
    r"(\S.{0,160})$"
)
_SIGNS: Final = (":", "=", "\uff1a", " is ", " are ", " est ", "\u662f", "\u0e04\u0e37\u0e2d")
"""Each match of `_FACT` holds one of these."""
_IDENTIFIER: Final = re.compile(
    r"\b(?:id|ids|order|ticket|invoice|account|version|port|host|url|branch|commit|total|amount|price|date|deadline|status)\b",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(?:decided|decision|because|instead|so that|chose|root cause|turns out|therefore|approved|rejected|"
    r"refund\w*)\b|\u56e0\u4e3a|\u51b3\u5b9a",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r"\b(?:next|then|will|going to|remaining|to ?do|let me|now i)\b|\u63a5\u4e0b\u6765|\u4e0b\u4e00\u6b65",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d")
_TELLING: Final = re.compile(r"\d|[A-Z]{2}")
"""Numbers, ids and short names (UTC): what cannot be guessed again, in whatever language the line is."""
_COLOR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SHOWS: Final = re.compile(r"read|view|cat|grep|search|glob|fetch|list", re.IGNORECASE)
_CLOSED: Final = frozenset({"completed", "complete", "done", "cancelled", "canceled"})
_SENTENCE: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
_PATHS: Final = ("file_path", "path", "filename", "notebook_path", "target_file", "file")


def extract(entries: Sequence[Entry], budget: int, count: Count, previous: str | None = None) -> str:
    """Return the nine sections in at most `budget` tokens; an earlier summary's lines are kept with them.

    The result is over the budget only when the nine headings alone are.
    """
    found = _gather(entries)
    if previous:
        _join(found, sections(previous))
    return compose({at: _unique(lines) for at, lines in found.items()}, budget, count)


def _gather(entries: Sequence[Entry]) -> dict[int, list[str]]:
    users = [
        (e, _sentences(p.text)) for e in entries if e.role == "user" for p in e.pieces if p.kind == "text"
    ]
    agents = [
        _sentences(p.text) for e in entries if e.role == "assistant" for p in e.pieces if p.kind == "text"
    ]
    said = [line for _, lines in users for line in lines]
    demands = [line for line in said if _DEMAND.search(line)]
    demanded = set(demands)
    others = [line for line in reversed(said) if line not in demanded]
    words = [line for lines in agents for line in lines]
    last = agents[-1] if agents else []
    facts, stale = _facts(entries)
    tools = Tally(piece.tool for entry in entries for piece in entry.pieces if piece.kind == "call")
    used = [f"Tools used: {', '.join(f'{name} {n}x' for name, n in tools.most_common(12))}."] if tools else []
    return {
        0: said[:2] + [lines[0] for _, lines in reversed(users[1:]) if lines],
        1: facts,
        2: _files(entries),
        3: _errors(entries),
        4: used + [line for line in reversed(words) if _DECISION.search(line)],
        5: demands + sorted(others, key=lambda line: (line in stale, _TELLING.search(line) is None)),
        6: _todos(entries) + [line for line in reversed(said) if line.rstrip().endswith(("?", "\uff1f"))],
        7: last[:6] + [line for line in reversed(words) if _NUMBER.search(line)],
        8: [line for line in reversed(last) if _NEXT.search(line)],
    }


def _join(found: dict[int, list[str]], before: Mapping[int, str]) -> None:
    for at, body in before.items():
        old = [line.removeprefix("- ").strip() for line in body.splitlines()]
        old = [line for line in old if line and line.strip(".").casefold() != "none"]
        if at in (0, 5):
            found[at] = old + found[at]
        elif at not in (7, 8) or not found[at]:
            found[at] = found[at] + old


def _sentences(text: str) -> list[str]:
    return [clip(part) for part in _SENTENCE.split(text[:_LONGEST_TEXT]) if part.strip()]


def clip(text: str) -> str:
    """Return the text on one line, cut to `LONGEST_LINE` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "\u2026"


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\n{text[-_ENDS:]}"


def _unique(lines: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    for line in lines:
        seen.setdefault(" ".join(line.casefold().split()), line)
        if len(seen) == MOST_LINES:
            break
    return list(seen.values())


def _facts(entries: Sequence[Entry]) -> tuple[list[str], set[str]]:
    """Return lines of the form "name: value", the latest of a name, newest first; and the older ones."""
    latest: dict[str, str] = {}
    stale: set[str] = set()
    for entry in entries:
        for piece in entry.pieces:
            output = piece.kind == "output"
            for line in _lines_of(piece):
                if len(line) > LONGEST_LINE or not any(sign in line for sign in _SIGNS):
                    continue
                match = _FACT.match(line)
                if match and (not output or _IDENTIFIER.search(match[1])):
                    name = " ".join(match[1].casefold().split())
                    value = _quote(line.strip(" -*>"), output=output)
                    before = latest.pop(name, value)
                    if before != value:
                        stale.add(before)
                    latest[name] = value
    return list(reversed(latest.values())), stale - set(latest.values())


def _lines_of(piece: Piece) -> list[str]:
    """Return the lines of a piece in which facts are looked for."""
    if piece.kind == "call":
        return []
    if piece.kind == "text":
        return _sentences(piece.text)
    text = _ends(piece.text)
    return text.splitlines() if _IDENTIFIER.search(text) else []


def _quote(line: str, *, output: bool) -> str:
    return json.dumps(clip(line), ensure_ascii=False) if output else clip(line)


def _arguments(piece: Piece) -> Mapping[str, Any]:
    try:
        value = json.loads(piece.text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _files(entries: Sequence[Entry]) -> list[str]:
    files: dict[str, dict[str, None]] = {}
    for entry in entries:
        for piece in entry.pieces:
            if piece.kind != "call" or len(piece.text) > _LONGEST_TEXT * 10:
                continue
            arguments = _arguments(piece)
            path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), None)
            if path:
                tools = files.pop(path, {})
                files[path] = {**tools, piece.tool: None}
    return [clip(f"{path} ({', '.join(tools)})") for path, tools in reversed(files.items())]


def _errors(entries: Sequence[Entry]) -> list[str]:
    """Return error lines of outputs, newest first; of the same call only the last outcome counts."""
    asked: list[tuple[str, str]] = []
    errors: dict[tuple[str, str], str] = {}
    for entry in entries:
        for piece in entry.pieces:
            if piece.kind == "call":
                asked.append((piece.tool, piece.text[:500]))
            elif piece.kind == "output":
                # Results come in the order of their calls nearly always; a wrong pair costs a label.
                same = next((at for at, (tool, _) in enumerate(asked) if tool == piece.tool), None)
                call = asked.pop(same) if same is not None else (piece.tool, "")
                text = _ends(piece.text)
                low = text.lower()
                if not piece.error and not any(word in low for word in _ERROR_WORDS):
                    errors.pop(call, None)
                    continue
                text = _COLOR.sub("", text)
                shows = _SHOWS.search(piece.tool) is not None  # what a file says is no error of the tool's
                shown = text.splitlines()[: 1 if shows else None]
                lines = [line for line in shown if _says_error(line)]
                bad = [line for line in lines if not _CLEAN.search(line)]
                errors.pop(call, None)
                if bad or piece.error:
                    line = bad[-1] if bad else piece.text.partition("\n")[0]
                    errors[call] = f"{piece.tool}: {_quote(line, output=True)}"
    return list(reversed(errors.values()))


def _says_error(line: str) -> bool:
    low = line.lower()
    return any(word in low for word in _ERROR_WORDS) and _ERROR.search(line) is not None


def _todos(entries: Sequence[Entry]) -> list[str]:
    for entry in reversed(entries):
        for piece in reversed(entry.pieces):
            if piece.kind != "call" or not any(word in piece.tool.casefold() for word in ("todo", "plan")):
                continue
            arguments = _arguments(piece)
            listed = next(
                (arguments[k] for k in ("todos", "plan") if isinstance(arguments.get(k), list)), None
            )
            if listed is not None:
                return [line for line in map(_todo, listed) if line]
    return []


def _todo(value: Any) -> str | None:
    if not isinstance(value, dict) or str(value.get("status", "pending")).casefold() in _CLOSED:
        return None
    text = next(
        (value[k] for k in ("content", "step", "text", "task", "title") if isinstance(value.get(k), str)), ""
    )
    return clip(text) or None


def compose(lines: Mapping[int, Sequence[str]], budget: int, count: Count) -> str:
    """Write the nine sections in at most `budget` tokens.

    Each section gets an equal share; what one leaves over goes to the others. Lines at the front of a section
    win.
    """
    titles = [f"## {at + 1}. {title}" for at, title in enumerate(HEADINGS)]
    room = budget - sum(count(title) + 2 for title in titles)
    priced = {
        at: [(f"- {line}", count(line) + 3) for line in lines.get(at, ())] for at in range(len(HEADINGS))
    }
    needs = {at: sum(price for _, price in body) for at, body in priced.items()}
    shares: dict[int, int] = {}
    waiting = sorted(needs, key=lambda at: needs[at])
    for place, at in enumerate(waiting):
        shares[at] = min(needs[at], max(room, 0) // (len(waiting) - place))
        room -= shares[at]
    written = []
    for at, title in enumerate(titles):
        left = shares[at]
        body = []
        for line, price in priced[at]:
            if price <= left:
                left -= price
                body.append(line)
        written.append("\n".join([title, *(body or ["None."])]))
    text = "\n".join(written)
    # Prices of lines add up to nearly the price of the whole; a counter of the caller may differ by more.
    kept = {at: list(body) for at, body in lines.items()}
    if count(text) > budget and any(kept.values()) and budget > 0:
        return compose({at: body[: len(body) * 3 // 4] for at, body in kept.items()}, budget, count)
    return text


def shorten(text: str, budget: int, count: Count) -> str:
    """Return a summary in nine sections cut to a budget, each section from its end."""
    if count(text) <= budget:
        return text
    found = {at: body.splitlines() for at, body in sections(text).items()}
    lines = {
        at: [re.sub(r"^\s*[-*] ", "", line) for line in body if line.strip()] for at, body in found.items()
    }
    return compose(lines, budget, count)
