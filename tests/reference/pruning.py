"""Layer 2: prune (DESIGN section 6), with no carry-over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.reference.policy import share
from tests.reference.prices import Count, price_message
from tests.reference.shape import (
    ANTHROPIC,
    Message,
    calls,
    done,
    humans,
    leading_systems,
    legacy,
    mark,
    merged_notice,
    notice_index,
    part_id,
    pinned,
    removed_count,
    results,
    system,
    template,
)


def notice_text(removed: int) -> str:
    return f"[context compacted: {removed} earlier messages removed]"


FILLER: Message = {
    "role": "assistant",
    "content": "[conversation continues]",
    "_lithify": {"kind": "stub"},
}


def filler(message: Message) -> bool:
    """A message that only stands between two of the user's; made afresh where it is needed."""
    return bool(message["role"] == "assistant" and mark(message) == "stub" and not pinned(message))


def alternate(items: list[tuple[Message, int | None]], fmt: str) -> list[tuple[Message, int | None]]:
    """Strict alternation: a filler between two user messages (not counting tools and silent calls)."""
    out: list[tuple[Message, int | None]] = []
    said = ""
    for message, index in items:
        role = message["role"]
        if role == "user" and said == "user":
            out.append((FILLER, None))
        if role == "user" or (role == "assistant" and (fmt == ANTHROPIC or speaks(message, fmt))):
            said = role
        out.append((message, index))
    return out


def speaks(message: Message, fmt: str) -> bool:
    """Whether the model says something beside its calls."""
    content = message.get("content")
    texts = [content, message.get("refusal")]
    if isinstance(content, list):
        texts += [block if isinstance(block, str) else block.get("text") for block in content]
    return not calls(message, fmt) or any(isinstance(text, str) and text.strip() for text in texts)


@dataclass
class Pruned:
    """What a prune leaves: the messages, the indices they had, and the core."""

    messages: list[Message]
    kept: list[int | None]
    dropped: int
    core: set[int]
    notice_price: int


def units(messages: list[Message], fmt: str) -> list[list[int]]:
    """Runs that live or die together: a call item with all up to the last of its results."""
    out: list[list[int]] = []
    at = 0
    while at < len(messages):
        end = at
        wanted = {(legacy(call, fmt), part_id(call, fmt)) for call in calls(messages[at], fmt)}
        after = at + 1
        while wanted and after < len(messages) and not calls(messages[after], fmt):
            if any(
                (legacy(result, fmt), part_id(result, fmt)) in wanted
                for result in results(messages[after], fmt)
            ):
                end = after
            after += 1
        out.append(list(range(at, end + 1)))
        at = end + 1
    return out


def open_call(messages: list[Message], fmt: str) -> int | None:
    """The item with pending calls. After a repair, only the last call item can have any."""
    for at in range(len(messages) - 1, -1, -1):
        found = calls(messages[at], fmt)
        if found:
            answered = sum(len(results(message, fmt)) for message in messages[at + 1 :])
            return at if answered < len(found) else None
    return None


def prune(  # noqa: PLR0917
    messages: list[Message],
    keep: int,
    request: int,
    limit: int,
    policy: dict[str, Any],
    fmt: str,
    count: Count,
) -> Pruned | None:
    """The history pruned with the newest `keep` messages; None when nothing is dropped or won."""
    settings = policy["prune"]
    notice = notice_index(messages, fmt)
    merged = merged_notice(messages, fmt)
    before = 0
    if notice is not None:
        before = removed_count(messages[notice])
    elif merged is not None:
        before = removed_count(messages[merged[0]]["content"][merged[1]])
    groups = [
        unit
        for unit in units(messages, fmt)
        if unit != [notice] and not (len(unit) == 1 and filler(messages[unit[0]]))
    ]
    price = [price_message(message, fmt, count) for message in messages]

    def cost(indices: list[int]) -> int:
        return sum(price[i] for i in indices)

    core_items = core(messages, groups, keep, notice, fmt)
    middle = [unit for unit in groups if not core_items & set(unit)]
    kept = [i for unit in groups if core_items & set(unit) for i in unit]
    whole = notice_text(before + sum(len(unit) for unit in middle))
    reserve = 4 + count(whole) + share(settings["carry_over"], limit)
    room = share(settings["target"], limit) - (request + cost(kept)) - reserve
    if room > 0:
        kept += keep_recent(messages, middle, cost, share(settings["recent_share"], room))
        if not policy["strict_alternation"]:  # they would stand side by side
            kept += keep_verbatim(messages, middle, kept, cost, share(settings["verbatim_share"], room), fmt)
    dropped = sum(i not in kept for unit in middle for i in unit)
    if dropped == 0:
        return None
    out = assemble(messages, set(kept), notice, merged, before + dropped, policy, fmt)
    if policy["strict_alternation"]:
        out = alternate(out, fmt)
    after = sum(price_message(message, fmt, count) for message, _ in out)
    if after >= sum(price):
        return None
    return Pruned(
        [message for message, _ in out],
        [index for _, index in out],
        dropped,
        core_items,
        4 + count(notice_text(before + dropped)),
    )


def core(
    messages: list[Message], groups: list[list[int]], keep: int, notice: int | None, fmt: str
) -> set[int]:
    """Items that stay whatever the room."""
    human = humans(messages, fmt)
    items = {
        i for i, message in enumerate(messages) if system(message) or template(message) or pinned(message)
    }
    items -= {i for i in items if filler(messages[i])}
    items |= set(human[:1]) | set(human[-1:])
    counted = [i for i, message in enumerate(messages) if i != notice and not filler(message)]
    items |= set(counted[max(0, len(counted) - keep) :])
    if groups:
        items |= set(groups[-1])
    waiting = open_call(messages, fmt)
    if waiting is not None:
        items.add(waiting)
    # The stub that repair puts before an assistant's first message: without it that one could come first.
    items |= {
        i for i, message in enumerate(messages) if message["role"] == "user" and mark(message) == "stub"
    }
    return items - {notice}


def keep_recent(messages: list[Message], middle: list[list[int]], cost: Any, room: int) -> list[int]:
    kept: list[int] = []
    for unit in reversed(middle):
        if any(done(messages[i]) for i in unit):
            continue
        if cost(kept) + cost(unit) > room:
            break
        kept += unit
    return kept


def keep_verbatim(  # noqa: PLR0917
    messages: list[Message], middle: list[list[int]], kept: list[int], cost: Any, room: int, fmt: str
) -> list[int]:
    human = humans(messages, fmt)
    chosen: list[int] = []
    for unit in reversed(middle):
        single = len(unit) == 1 and unit[0] in human
        if not single or unit[0] in kept or done(messages[unit[0]]):
            continue
        if cost(chosen) + cost(unit) <= room:
            chosen += unit
    return chosen


def assemble(  # noqa: PLR0917
    messages: list[Message],
    kept: set[int],
    old: int | None,
    merged: tuple[int, int] | None,
    removed: int,
    policy: dict[str, Any],
    fmt: str,
) -> list[tuple[Message, int | None]]:
    """The kept messages with the new notice in its slot."""
    own = {"_lithify": {"kind": "notice", "removed": removed}}
    text = notice_text(removed)
    out: list[tuple[Message, int | None]] = [(messages[i], i) for i in sorted(kept)]
    first = next((i for i in humans(messages, fmt) if i in kept), None)
    strict = policy["strict_alternation"]
    after = [messages[i] for i in sorted(kept) if first is not None and i > first and not system(messages[i])]
    between = strict and bool(after) and after[0]["role"] == "user"
    stuck = strict and first is not None and pinned(messages[first])
    if merged is not None and len(messages[merged[0]]["content"]) == 1:
        between = False  # without the notice that message would be empty
    if old is not None and first is not None and old < first:
        between = stuck = False  # an assistant's message may not come first
    join = (strict or merged is not None) and not between
    if strict and old is not None and first is not None and old < first:
        head = next(i for i in sorted(kept) if not system(messages[i]))
        join = join and head == first
    if join and first is not None and not pinned(messages[first]):
        block = {"type": "text", "text": text, **own}
        at = next(place for place, (_, index) in enumerate(out) if index == first)
        out[at] = (with_notice_block(messages[first], block, merged), first)
        return out
    if between and merged is not None and first is not None:
        at = next(place for place, (_, index) in enumerate(out) if index == first)
        rest = [block for i, block in enumerate(messages[first]["content"]) if i != merged[1]]
        out[at] = ({**messages[first], "content": rest}, first)
    notice = {"role": "assistant" if between or stuck else "user", "content": text, **own}
    out.insert(notice_slot(out, old, first), (notice, None))
    return out


def notice_slot(out: list[tuple[Message, int | None]], old: int | None, first: int | None) -> int:
    """At the head when it was there; else after the first human item, else after the systems."""
    head = leading_systems([message for message, _ in out])
    if old is not None and (first is None or old < first):
        return sum(index is not None and index < old for _, index in out)
    if first is None:
        return head
    return next(place for place, (_, index) in enumerate(out) if index == first) + 1


def with_notice_block(message: Message, block: Message, merged: tuple[int, int] | None) -> Message:
    content = message.get("content")
    if content is None:
        blocks = []
    elif isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    else:
        blocks = list(content)
    if merged is not None:
        blocks[merged[1]] = block
    else:
        blocks.append(block)
    return {**message, "content": blocks}
