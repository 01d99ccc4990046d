"""A plain-Python rival: repair, layer 1 and layer 2 over dicts, as an application developer writes them.

It follows the same rules (single results over half the window are cut, old results are cleared past 75
%, the middle is dropped past 80 % behind a notice) with one pass per concern, and counts with `len(text)
// 4`. It is meant to be fast: texts are measured once, no message is copied that does not change, and
nothing is quadratic. It leaves out what such code usually leaves out: ranks of results, error
protection, done units, room for older user messages.

`estimate_classes` is the same program with an estimate that looks at every character, by `re`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Estimate = Callable[[str], int]

TRUNCATED = "[truncated: output exceeded context limit]"
CLEARED = "[compacted: tool output removed to free context]"
STUB = "[no result: the call was not answered]"
LISTED = frozenset(
    (
        *(
            "read",
            "readfile",
            "view",
            "cat",
            "bash",
            "shell",
            "execcommand",
            "runshellcommand",
            "executebash",
        ),
        *("grep", "glob", "searchfiles", "webfetch", "edit"),
    )
)
PROTECTED = frozenset(("write", "writefile", "create", "createfile"))
IMAGE = {"openai_chat": 765, "anthropic": 1600}
NAME = re.compile(r"[^A-Za-z0-9]+")


def estimate_chars(text: str) -> int:
    """A quarter of the characters."""
    return len(text) // 4


CLASSES = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digit>[0-9]+)|(?P<space>\s+)|(?P<cjk>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)"
    r"|(?P<thai>[\u0e00-\u0e7f]+)|(?P<wide>[^\x00-\x7f]+)|(?P<mark>[\x00-\x7f])"
)


def estimate_classes(text: str) -> int:
    """Tokens by runs of letters, digits, white space, punctuation and scripts (in tenths, rounded up)."""
    tenths = 0
    for match in CLASSES.finditer(text):
        kind = match.lastgroup
        length = match.end() - match.start()
        if kind == "word":
            tenths += 10 + 2 * max(0, length - 5)
        elif kind == "digit":
            tenths += 10 * ((length + 2) // 3)
        elif kind == "space":
            tenths += 0 if length == 1 else 10
        elif kind == "cjk":
            tenths += 9 * length
        elif kind == "thai":
            tenths += 7 * length
        elif kind == "wide":
            tenths += 12 * length
        else:
            tenths += 8
    return (tenths + 9) // 10


def compact(messages: list[Message], window: int, estimate: Estimate = estimate_chars) -> list[Message]:
    """The history within `window` tokens as far as the rules go; the input is not changed."""
    rival = Anthropic(window, estimate) if is_anthropic(messages) else OpenAI(window, estimate)
    draft = rival.repair(messages)
    costs = [rival.cost(message) for message in draft]
    rival.truncate(draft, costs)
    rival.clear(draft, costs)
    return rival.prune(draft, costs)


def is_anthropic(messages: list[Message]) -> bool:
    for message in messages:
        if message["role"] in ("system", "developer", "tool") or "tool_calls" in message:
            return False
        content = message.get("content")
        if isinstance(content, list) and any(
            block.get("type") in ("tool_use", "tool_result") for block in content
        ):
            return True
    return False


def shorten(text: str, budget: int, estimate: Estimate) -> str:
    """The head of a text within `budget` tokens, cut at a line end when one is near, and the marker."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[:middle] + "\n" + TRUNCATED) <= budget:
            low = middle
        else:
            high = middle - 1
    line_end = text.rfind("\n", 0, low)
    if line_end >= 0.7 * low:
        low = line_end
    return text[:low] + "\n" + TRUNCATED


def short_name(name: str) -> str:
    return NAME.sub("", name.rsplit("__", 1)[-1].rsplit(".", 1)[-1]).lower()


class Base:
    """What both formats share: the layers over a list of messages and a list of their costs."""

    image = 0

    def __init__(self, window: int, estimate: Estimate) -> None:
        self.window = window
        self.estimate = estimate

    def repair(self, messages: list[Message]) -> list[Message]:
        raise NotImplementedError

    def cost(self, message: Message) -> int:
        raise NotImplementedError

    def results(self, draft: list[Message]) -> list[tuple[int, int, str]]:
        """All results as (message, block, tool)."""
        raise NotImplementedError

    def unit_start(self, draft: list[Message], at: int) -> int:
        """The first message of the unit that the message at `at` belongs to."""
        raise NotImplementedError

    def is_human(self, message: Message) -> bool:
        raise NotImplementedError

    def content_cost(self, content: Any) -> int:
        if isinstance(content, str):
            return self.estimate(content)
        if not content:
            return 0
        total = 0
        for block in content:
            if block.get("type") == "text":
                total += self.estimate(block["text"])
            elif block.get("type") in ("image", "image_url"):
                total += self.image
            else:
                total += self.estimate(json.dumps(block, ensure_ascii=False))
        return total

    def result_content(self, message: Message, block: int) -> Any:
        raise NotImplementedError

    def with_content(self, message: Message, block: int, content: Any) -> Message:
        raise NotImplementedError

    def truncate(self, draft: list[Message], costs: list[int]) -> None:
        """Layer 1, single: results over half the window."""
        share = self.window // 2
        for at, block, _ in self.results(draft):
            if costs[at] <= share or draft[at].get("_pin"):
                continue
            content = self.result_content(draft[at], block)
            if isinstance(content, str) and 4 + self.estimate(content) > share:
                text = shorten(content, share - 4, self.estimate)
                draft[at] = self.with_content(draft[at], block, text)
                costs[at] = self.cost(draft[at])

    def clear(self, draft: list[Message], costs: list[int]) -> None:
        """Layer 1, total: over 75 %, old results are replaced until 45 % is reached."""
        total = 3 + sum(costs)
        if total <= self.window * 3 // 4:
            return
        placeholder = self.estimate(CLEARED)
        target, at_least = self.window * 45 // 100, self.window * 15 // 100
        chosen = []
        for at, block, tool in self.results(draft)[:-3]:
            name = short_name(tool)
            if name in PROTECTED or draft[at].get("_pin"):
                continue
            gain = self.content_cost(self.result_content(draft[at], block)) - placeholder
            if gain > 0:
                chosen.append((name not in LISTED, at, block, gain))
        if sum(each[3] for each in chosen) < at_least and total <= self.window * 4 // 5:
            return
        chosen.sort()
        freed = 0
        for _, at, block, gain in chosen:
            if total - freed <= target and freed >= at_least:
                break
            draft[at] = self.with_content(draft[at], block, CLEARED)
            costs[at] -= gain
            freed += gain

    def prune(self, draft: list[Message], costs: list[int]) -> list[Message]:
        """Layer 2: over 80 %, the middle goes behind a notice."""
        total = 3 + sum(costs)
        if total <= self.window * 4 // 5:
            return draft
        earlier = 0
        humans = [i for i, message in enumerate(draft) if self.is_human(message)]
        first = humans[0] if humans else 0
        notice = first + 1 if first + 1 < len(draft) and "_removed" in draft[first + 1] else None
        if notice is not None:
            earlier = draft[notice]["_removed"]
        newest = min(6, (len(draft) - (notice is not None) + earlier) // 3)
        kept = self.core(draft, humans, newest)
        room = self.window * 2 // 5 - 3 - 16 - sum(costs[i] for i in kept)
        at = len(draft)
        while at > 0 and room > 0:
            start = self.unit_start(draft, at - 1)
            if start not in kept:
                price = sum(costs[start:at])
                if price > room // 2:
                    break
                room -= price
                kept.update(range(start, at))
            at = start
        kept.discard(-1 if notice is None else notice)
        removed = earlier + len(draft) - len(kept) - (notice is not None)
        if removed == earlier:
            return draft
        text = f"[context compacted: {removed} earlier messages removed]"
        out = [draft[i] for i in sorted(kept)]
        slot = sum(i <= first for i in kept)
        out.insert(slot, {"role": "user", "content": text, "_removed": removed})
        return out

    def core(self, draft: list[Message], humans: list[int], newest: int) -> set[int]:
        """What always stays, in whole units."""
        wanted = {i for i, m in enumerate(draft) if m["role"] in ("system", "developer") or m.get("_pin")}
        wanted.update(humans[:1])
        wanted.update(humans[-1:])
        wanted.update(range(max(0, len(draft) - newest), len(draft)))
        kept: set[int] = set()
        for at in wanted:
            start = self.unit_start(draft, at)
            kept.add(at)
            end = start + 1
            while end < len(draft) and self.unit_start(draft, end) == start:
                end += 1
            kept.update(range(start, end))
        return kept


class OpenAI(Base):
    """OpenAI chat messages."""

    image = IMAGE["openai_chat"]

    def repair(self, messages: list[Message]) -> list[Message]:
        answers: dict[str, Message] = {}
        for message in messages:
            if message["role"] == "tool":
                answers[message.get("tool_call_id", "")] = message
        out = []
        for at, message in enumerate(messages):
            if message["role"] == "tool":
                continue
            out.append(message)
            for call in message.get("tool_calls") or ():
                answer = answers.pop(call["id"], None)
                if answer is not None:
                    out.append(answer)
                elif any(other["role"] != "tool" for other in messages[at + 1 :]):
                    out.append({"role": "tool", "tool_call_id": call["id"], "content": STUB})
        return out

    def cost(self, message: Message) -> int:
        total = 4 + self.content_cost(message.get("content"))
        if message["role"] == "tool":
            return total + 4
        for call in message.get("tool_calls") or ():
            function = call["function"]
            total += 8 + self.estimate(function["name"]) + self.estimate(function["arguments"])
        return total

    def results(self, draft: list[Message]) -> list[tuple[int, int, str]]:
        names: dict[str, str] = {}
        found = []
        for at, message in enumerate(draft):
            if message["role"] == "tool":
                found.append((at, 0, names.get(message["tool_call_id"], "")))
            else:
                for call in message.get("tool_calls") or ():
                    names[call["id"]] = call["function"]["name"]
        return found

    def unit_start(self, draft: list[Message], at: int) -> int:
        while at > 0 and draft[at]["role"] == "tool":
            at -= 1
        return at

    def is_human(self, message: Message) -> bool:
        return bool(message["role"] == "user" and "_removed" not in message)

    def result_content(self, message: Message, block: int) -> Any:
        del block
        return message.get("content")

    def with_content(self, message: Message, block: int, content: Any) -> Message:
        del block
        return {**message, "content": content}


class Anthropic(Base):
    """Anthropic messages."""

    image = IMAGE["anthropic"]

    def repair(self, messages: list[Message]) -> list[Message]:
        out: list[Message] = []
        asked: list[str] = []
        for message in messages:
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            if message["role"] == "assistant":
                if asked:
                    out.append({"role": "user", "content": [self.stub(identity) for identity in asked]})
                asked = [block["id"] for block in blocks if block.get("type") == "tool_use"]
                out.append(message)
                continue
            found = [block for block in blocks if block.get("type") == "tool_result"]
            if not found and not asked:
                out.append(message)
                continue
            mine = [block for block in found if block["tool_use_id"] in asked]
            missing = set(asked) - {block["tool_use_id"] for block in mine}
            asked = []
            if len(mine) == len(found) and not missing and blocks[: len(mine)] == mine:
                out.append(message)
                continue
            others: list[Any] = [block for block in blocks if block.get("type") != "tool_result"]
            if isinstance(content, str):
                others = [{"type": "text", "text": content}]
            fixed = [*mine, *(self.stub(identity) for identity in sorted(missing)), *others]
            if fixed:
                out.append({**message, "content": fixed})
        return out

    @staticmethod
    def stub(identity: str) -> Message:
        return {"type": "tool_result", "tool_use_id": identity, "content": STUB, "is_error": True}

    def cost(self, message: Message) -> int:
        content = message.get("content")
        if isinstance(content, str):
            return 4 + self.estimate(content)
        total = 4
        for block in content or ():
            kind = block.get("type")
            if kind == "text":
                total += self.estimate(block["text"])
            elif kind == "tool_result":
                total += 4 + self.content_cost(block.get("content"))
            elif kind == "tool_use":
                arguments = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
                total += 8 + self.estimate(block["name"]) + self.estimate(arguments)
            elif kind == "thinking":
                total += self.estimate(block["thinking"])
            else:
                total += self.content_cost([block])
        return total

    def results(self, draft: list[Message]) -> list[tuple[int, int, str]]:
        names: dict[str, str] = {}
        found = []
        for at, message in enumerate(draft):
            content = message.get("content")
            if not isinstance(content, list):
                continue
            for place, block in enumerate(content):
                kind = block.get("type")
                if kind == "tool_use":
                    names[block["id"]] = block["name"]
                elif kind == "tool_result":
                    found.append((at, place, names.get(block["tool_use_id"], "")))
        return found

    def unit_start(self, draft: list[Message], at: int) -> int:
        if at > 0 and draft[at]["role"] == "user" and self.holds(draft[at], "tool_result"):
            return at - 1
        return at

    @staticmethod
    def holds(message: Message, kind: str) -> bool:
        content = message.get("content")
        return isinstance(content, list) and any(block.get("type") == kind for block in content)

    def is_human(self, message: Message) -> bool:
        if message["role"] != "user" or "_removed" in message:
            return False
        content = message.get("content")
        return not isinstance(content, list) or any(block.get("type") != "tool_result" for block in content)

    def result_content(self, message: Message, block: int) -> Any:
        return message["content"][block].get("content")

    def with_content(self, message: Message, block: int, content: Any) -> Message:
        blocks = list(message["content"])
        blocks[block] = {**blocks[block], "content": content}
        return {**message, "content": blocks}
