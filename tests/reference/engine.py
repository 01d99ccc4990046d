"""The whole reference: repair, layer 1, layer 2, down to the limit (DESIGN 1 to 7), no carry-over.

`compact` takes plain dicts and a counter and gives back a `Reference`. It is meant to be read beside the
page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.reference.clearing import (
    CLEARED,
    cap_results,
    clear_results,
    find_results,
    least_price,
    price_of_marker,
)
from tests.reference.cutting import TRUNCATED
from tests.reference.cutting import truncate as cut
from tests.reference.policy import complete, share
from tests.reference.prices import Count, price_message, price_request
from tests.reference.pruning import Pruned, alternate, core, filler, prune, units
from tests.reference.repairing import PinnedInvalid
from tests.reference.repairing import repair as repair_items
from tests.reference.shape import (
    Message,
    detect,
    humans,
    merged_notice,
    notice_index,
    pinned,
    removed_count,
    system,
)
from tests.reference.validator import validate

__all__ = ["DoesNotFit", "PinnedInvalid", "Reference", "compact", "repair", "total", "truncate", "validate"]

RUNGS = ("none", "repair", "truncate", "clear", "prune", "minimal")


@dataclass
class Reference:
    """What a compaction gives: `edits` are (layer, index in the input or None) in order."""

    messages: list[Message]
    total: int
    fits: bool
    rung: str
    edits: list[tuple[str, int | None]] = field(default_factory=list)
    before: int = 0
    limit: int = 0
    irreducible: int | None = None
    core: dict[str, int] = field(default_factory=dict)


class DoesNotFit(Exception):  # noqa: N818 - the name of the contract
    """The history cannot be brought under the limit. `best` is the smallest one reached."""

    def __init__(self, best: Reference) -> None:
        super().__init__(f"{best.total} tokens do not fit into {best.limit}")
        self.best = best


def total(messages: list[Message], count: Count, fmt: str, system: Any = None, tools: Any = None) -> int:
    """Tokens of a request: its fixed price, system, tools and every message."""
    return price_request(system, tools, count) + sum(
        price_message(message, fmt, count) for message in messages
    )


def truncate(text: str, max_tokens: int, count: Count, marker: str = TRUNCATED) -> str | None:
    """The text within `max_tokens`; None when not even the marker fits."""
    return cut(text, max_tokens, count, marker)


def repair(messages: list[Message], format: str | None = None) -> list[Message]:  # noqa: A002 - the API's name
    """The repaired messages."""
    return [message for message, _ in repair_items(messages, format or detect(messages))]


def compact(  # noqa: PLR0917
    messages: list[Message],
    limit: int,
    policy: dict[str, Any] | None = None,
    count: Count = len,
    system: Any = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002 - the API's name
    on_misfit: str = "raise",
) -> Reference:
    """Repair, then layer 1, then layer 2, then whatever the limit still demands."""
    fmt = format or detect(messages)
    settings = complete(policy)
    run = Run(limit, settings, remembering(count), fmt, price_request(system, tools, remembering(count)))
    run.before = run.total(messages)
    repaired = repair_items(messages, fmt)
    run.start(alternate(repaired, fmt) if settings["strict_alternation"] else repaired, messages)
    run.layer_one()
    run.layer_two()
    result = run.result(system, tools)
    if not result.fits and on_misfit == "raise":
        raise DoesNotFit(result)
    return result


def remembering(count: Count) -> Count:
    """The same counter, asked once for each text."""
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        if text not in known:
            known[text] = count(text)
        return known[text]

    return counted


@dataclass
class Run:
    """One compaction in progress: the draft, and where each of its messages came from."""

    limit: int
    policy: dict[str, Any]
    count: Count
    fmt: str
    request: int
    draft: list[Message] = field(default_factory=list)
    sources: list[int | None] = field(default_factory=list)
    edits: list[tuple[str, int | None]] = field(default_factory=list)
    before: int = 0
    pruned: Pruned | None = None
    minimal: bool = False

    def total(self, messages: list[Message] | None = None) -> int:
        draft = self.draft if messages is None else messages
        return self.request + sum(price_message(message, self.fmt, self.count) for message in draft)

    def start(self, repaired: list[tuple[Message, int | None]], messages: list[Message]) -> None:
        self.draft = [message for message, _ in repaired]
        self.sources = [index for _, index in repaired]
        came = [i for i in self.sources if i is not None]
        changed = [i for message, i in repaired if i is None or message is not messages[i]]
        gone = [i for i in range(len(messages)) if i not in came]
        self.edits += [("repair", i) for i in (*changed, *gone)]
        if not self.edits and came != sorted(came):
            self.edits.append(("repair", None))

    def change(self, layer: str, draft: list[Message]) -> None:
        """Take a draft of the same length and log which messages differ."""
        changed = [i for i, (old, new) in enumerate(zip(self.draft, draft, strict=True)) if old is not new]
        self.edits += [(layer, self.sources[i]) for i in changed]
        self.draft = draft

    def layer_one(self) -> None:
        # Not under the placeholder's price: a cleared result would be truncated by the next run.
        cap = max(share(self.policy["clear"]["single_share"], self.limit), 4 + self.count(CLEARED))
        results = find_results(self.draft, self.fmt, self.count)
        self.change("truncate", cap_results(self.draft, [cap] * len(results), self.fmt, self.count))
        self.clear()

    def clear(self) -> None:
        rest = self.total() - sum(found.price for found in find_results(self.draft, self.fmt, self.count))
        self.change("clear", clear_results(self.draft, rest, self.limit, self.policy, self.fmt, self.count))

    def layer_two(self) -> None:
        if self.total() <= share(self.policy["prune"]["trigger"], self.limit) and self.total() <= self.limit:
            return
        draft, sources = self.draft, self.sources
        for keep in range(self.newest(), -1, -1):
            self.pruned = prune(draft, keep, self.request, self.limit, self.policy, self.fmt, self.count)
            if self.pruned is not None:
                self.draft = self.pruned.messages
                self.sources = [None if i is None else sources[i] for i in self.pruned.kept]
            else:
                self.draft, self.sources = draft, sources
            if self.total() <= self.limit:
                break
        if self.pruned is not None:
            gone = set(range(len(draft))) - {i for i in self.pruned.kept if i is not None}
            self.edits += [("prune", sources[i]) for i in sorted(gone)]
        if self.total() > self.limit:
            self.shrink_results()

    def newest(self) -> int:
        notice = notice_index(self.draft, self.fmt)
        merged = merged_notice(self.draft, self.fmt)
        own = 0
        if notice is not None:
            own = removed_count(self.draft[notice]) - 1
        elif merged is not None:
            own = removed_count(self.draft[merged[0]]["content"][merged[1]])
        keep: int = self.policy["prune"]["keep"]
        fillers = sum(filler(message) for message in self.draft)
        return min(keep, (len(self.draft) - fillers + own) // 3)

    def shrink_results(self) -> None:
        """Minimal: the largest cap for every result with which the total fits."""
        low = price_of_marker(self.count)
        results = find_results(self.draft, self.fmt, self.count)
        floors = [least_price(found, self.draft, self.fmt, self.count) for found in results]

        def forecast(cap: int) -> int:
            """The total when every result costs its price or the cap, whichever is less."""
            spared = sum(
                max(0, found.price - max(cap, floor)) for found, floor in zip(results, floors, strict=True)
            )
            return self.total() - spared

        cap = max([low, *(found.price for found in results)])
        while cap > low and forecast(cap) > self.limit:
            cap -= 1
        caps = [max(cap, floor) for floor in floors]
        self.change("minimal", cap_results(self.draft, caps, self.fmt, self.count))
        # A truncated error may no longer read as an error: the next run would clear it, so it is cleared now.
        self.clear()

    def result(self, own_system: Any, tools: Any) -> Reference:
        reached = max([0, *(RUNGS.index(layer) for layer, _ in self.edits)])
        result = Reference(
            self.draft,
            self.total(),
            self.total() <= self.limit,
            RUNGS[reached],
            self.edits,
            self.before,
            self.limit,
        )
        if not result.fits:
            result.irreducible = result.total
            result.core = self.core_figures(own_system, tools)
        return result

    def core_figures(self, own_system: Any, tools: Any) -> dict[str, int]:
        """What the irreducible core is made of; an item counts under the first name that fits."""
        figures = dict.fromkeys(("system", "tools", "first_human", "pins", "current", "notice"), 0)
        figures["system"] = price_request(own_system, None, self.count)
        figures["tools"] = price_request(None, tools, self.count) - 3
        notice = notice_index(self.draft, self.fmt)
        first = humans(self.draft, self.fmt)[:1]
        held = core(self.draft, units(self.draft, self.fmt), 0, notice, self.fmt)
        for i, message in enumerate(self.draft):
            price = price_message(message, self.fmt, self.count)
            if i == notice:
                figures["notice"] += price
            elif system(message):
                figures["system"] += price
            elif i in first:
                figures["first_human"] += price
            elif pinned(message):
                figures["pins"] += price
            elif i in held:
                figures["current"] += price
        return figures
