"""Repair (DESIGN section 3), step by step, on a list of `Work` items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.reference.shape import (
    ANTHROPIC,
    OPENAI,
    Message,
    Part,
    blank,
    call_name,
    calls,
    legacy,
    mark,
    part_id,
    parts,
    pinned,
    replace_block,
    results,
    sendable,
    text_of,
)

STUB = "[no result: the call was not answered]"
START = "[conversation continues]"


class PinnedInvalid(Exception):  # noqa: N818 - the name of the contract
    """A pinned message would have to be changed or dropped. `index` is its index in the input."""

    def __init__(self, index: int | None) -> None:
        super().__init__(f"message {index} is pinned and cannot be repaired")
        self.index = index


@dataclass(eq=False)
class Result:
    """A result, wherever it stands. `block` is the message (OpenAI chat) or the block (Anthropic)."""

    block: Message
    id: str
    stub: bool
    legacy: bool
    call: Call | None = None


@dataclass(eq=False)
class Call:
    part: Part
    id: str
    final: str
    legacy: bool
    result: Result | None = None


@dataclass(eq=False)
class Work:
    """An item under repair; `blocks`: its content blocks, results as `Result`; None: none to move."""

    message: Message
    index: int | None
    blocks: list[Any] | None = None
    calls: list[Call] = field(default_factory=list)

    def results(self) -> list[Result]:
        return [block for block in self.blocks or [] if isinstance(block, Result)]

    def touch(self) -> None:
        """Called before every change that is not a move of the whole item."""
        if pinned(self.message):
            raise PinnedInvalid(self.index)


def repair(messages: list[Message], fmt: str) -> list[tuple[Message, int | None]]:
    """The repaired messages, each with its index in the input (None: a new one)."""
    work = [read(message, i, fmt) for i, message in enumerate(sendable_messages(messages, fmt))]
    rename_calls(work, fmt)
    match_near(work)
    match_later(work)
    match_earlier(work)
    replace_duplicates(work, fmt)
    drop_orphans(work, fmt)
    waiting = pending_items(work)
    if fmt == OPENAI:
        place_openai(work, waiting)
    else:
        place_anthropic(work, waiting)
    finished = [finish(item, fmt) for item in work]
    if fmt == ANTHROPIC:
        finished = start_with_user(without_empties(finished)) if messages else []
    else:
        finished = [(empty_list_to_text(message, index), index) for message, index in finished]
    return finished


def read(message: Message, index: int | None, fmt: str) -> Work:
    item = Work(message, index)
    for part in calls(message, fmt):
        item.calls.append(Call(part, part_id(part, fmt), part_id(part, fmt), legacy(part, fmt)))
    found = {part.at: read_result(part, fmt) for part in results(message, fmt)}
    if fmt == OPENAI and found:
        item.blocks = list(found.values())
    elif isinstance(message.get("content"), list):
        item.blocks = [found.get(("content", i), block) for i, block in enumerate(message["content"])]
    return item


def read_result(part: Part, fmt: str) -> Result:
    return Result(part.data, part_id(part, fmt), mark(part.data) == "stub", legacy(part, fmt))


# Step 1: unsendable text ----------------------------------------------------


def sendable_messages(messages: list[Message], fmt: str) -> list[Message]:
    out = []
    for i, message in enumerate(messages):
        clean = sendable_message(message, fmt)
        if clean != message and pinned(message):
            raise PinnedInvalid(i)
        out.append(message if clean == message else clean)
    return out


def sendable_message(message: Message, fmt: str) -> Message:
    if fmt == OPENAI and isinstance(message.get("name"), str):
        message = {**message, "name": sendable(message["name"])}
    for part in parts(message, fmt):
        message = replace_block(message, part.at, sendable_part(part, fmt))
    return message


def sendable_part(part: Part, fmt: str) -> Any:
    block = part.data
    if isinstance(block, str):
        return sendable(block)
    if part.kind in ("text", "thinking"):
        return clean_keys(block, ("text", "thinking", "refusal"))
    if part.kind == "call":
        return sendable_call(part, fmt)
    if part.kind == "result":
        return sendable_result(block, fmt)
    if (
        part.kind == "document"
        and isinstance(block.get("source"), dict)
        and block["source"].get("type") == "text"
    ):
        return {**block, "source": clean_keys(block["source"], ("data",))}
    return block


def sendable_call(part: Part, fmt: str) -> Message:
    block: Message = part.data
    if fmt == ANTHROPIC:
        return deep_clean(clean_keys(block, ("id", "name")), "input")
    if part.at == ("function_call",):
        return deep_clean(clean_keys(block, ("name",)), "arguments")
    block = clean_keys(block, ("id",))
    for key, arguments in (("function", "arguments"), ("custom", "input")):
        if isinstance(block.get(key), dict):
            block = {**block, key: deep_clean(clean_keys(block[key], ("name",)), arguments)}
    return block


def sendable_result(block: Message, fmt: str) -> Message:
    block = clean_keys(block, ("tool_call_id",) if fmt == OPENAI else ("tool_use_id",))
    content = block.get("content")
    if isinstance(content, str):
        return {**block, "content": sendable(content)}
    if isinstance(content, list):
        return {
            **block,
            "content": [
                clean_keys(each, ("text",)) if each.get("type") == "text" else each for each in content
            ],
        }
    return block


def clean_keys(block: Message, keys: tuple[str, ...]) -> Message:
    return {**block, **{key: sendable(block[key]) for key in keys if isinstance(block.get(key), str)}}


def deep_clean(block: Message, key: str) -> Message:
    return {**block, key: clean_value(block[key])} if key in block else block


def clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, list):
        return [clean_value(each) for each in value]
    if isinstance(value, dict):
        return {clean_value(key): clean_value(each) for key, each in value.items()}
    return value


# Step 2: ids ----------------------------------------------------


def rename_calls(work: list[Work], fmt: str) -> None:
    seen: set[str] = set()
    number = -1
    for item in work:
        for call in item.calls:
            number += 1
            if call.legacy:
                continue
            call.final = fresh(call.id or f"call_{number}", seen)
            seen.add(call.final)
            if call.final != part_id(call.part, fmt):
                item.touch()


def fresh(wanted: str, seen: set[str]) -> str:
    if wanted not in seen:
        return wanted
    suffix = 2
    while f"{wanted}_{suffix}" in seen:
        suffix += 1
    return f"{wanted}_{suffix}"


# Step 3: matching ----------------------------------------------------


def claim(call: Call, result: Result) -> None:
    call.result = result
    result.call = call


def span_end(work: list[Work], at: int) -> int:
    """The index of the next item that has calls, or the end."""
    after = at + 1
    while after < len(work) and not work[after].calls:
        after += 1
    return after


def free_results(work: list[Work]) -> list[Result]:
    return [result for item in work for result in item.results() if result.call is None]


def match_near(work: list[Work]) -> None:
    for at, item in enumerate(work):
        span = work[at + 1 : span_end(work, at)]
        for call in item.calls:
            for result in free_results(span):
                if call.id and result.id == call.id:
                    claim(call, result)
                    break
        for call in item.calls:
            if call.result is not None:
                continue
            for result in free_results(span):
                if result.id == "" and result.legacy == call.legacy:
                    claim(call, result)
                    break


def has_call(item: Work, identity: str) -> bool:
    return any(call.id == identity for call in item.calls)


def match_later(work: list[Work]) -> None:
    for at, item in enumerate(work):
        for call in item.calls:
            if call.result is not None or not call.id:
                continue
            end = at + 1
            while end < len(work) and not has_call(work[end], call.id):
                end += 1
            for result in free_results(work[span_end(work, at) : end]):
                if result.id == call.id:
                    claim(call, result)
                    break


def match_earlier(work: list[Work]) -> None:
    for at, item in enumerate(work):
        for call in item.calls:
            if call.result is not None or not call.id:
                continue
            for result in reversed(free_results(work[:at])):
                if result.id == call.id:
                    claim(call, result)
                    break


# Steps 4 and 5: duplicates and orphans ----------------------------------------------------


def replace_duplicates(work: list[Work], fmt: str) -> None:
    duplicates: dict[int, list[Result]] = {}
    owners: dict[int, Call] = {}
    for at, item in enumerate(work):
        for result in item.results():
            owner = last_call(work[:at], result.id)
            if result.call is None and owner is not None:
                duplicates.setdefault(id(owner), []).append(result)
                owners[id(owner)] = owner
    for key, found in duplicates.items():
        owner = owners[key]
        real = [result for result in found if not result.stub]
        if real and owner.result is not None:
            take_place(work, winner=real[-1], loser=owner.result, fmt=fmt)
            owner.result.call = None
            claim(owner, real[-1])


def last_call(work: list[Work], identity: str) -> Call | None:
    found = [call for item in work for call in item.calls if identity and call.id == identity]
    return found[-1] if found else None


def holder_of(work: list[Work], result: Result) -> Work:
    return next(item for item in work if result in item.results())


def take_place(work: list[Work], *, winner: Result, loser: Result, fmt: str) -> None:
    source, target = holder_of(work, winner), holder_of(work, loser)
    target.touch()
    if fmt == OPENAI:
        work.remove(source)
        work[work.index(target)] = source
        return
    source.touch()
    assert source.blocks is not None
    assert target.blocks is not None
    source.blocks.remove(winner)
    target.blocks[target.blocks.index(loser)] = winner
    if not source.blocks:
        work.remove(source)


def drop_orphans(work: list[Work], fmt: str) -> None:
    del fmt
    for item in list(work):
        orphans = [result for result in item.results() if result.call is None]
        for orphan in orphans:
            take_out(work, item, orphan)


def take_out(work: list[Work], item: Work, result: Result) -> None:
    """Remove one result from its item; an item left with nothing goes."""
    item.touch()
    assert item.blocks is not None
    item.blocks.remove(result)
    if not item.blocks:
        work.remove(item)


# Steps 6 and 7: stubs and places ----------------------------------------------------


def pending_items(work: list[Work]) -> set[int]:
    """The `id()` of the one item whose calls may still be open: only its own results follow it."""
    for at in range(len(work) - 1, -1, -1):
        item = work[at]
        if item.calls:
            own = all(only_holds_results_of(other, item) for other in work[at + 1 :])
            return {id(item)} if own else set()
    return set()


def only_holds_results_of(item: Work, owner: Work) -> bool:
    found = item.results()
    return (
        bool(found)
        and len(found) == len(item.blocks or [])
        and all(result.call in owner.calls for result in found)
    )


def stubs_for(item: Work, waiting: set[int], fmt: str) -> list[Result]:
    if id(item) in waiting:
        return []
    made = []
    for call in item.calls:
        if call.result is None:
            stub = Result(stub_block(call, fmt), call.final, stub=True, legacy=call.legacy)
            claim(call, stub)
            made.append(stub)
    return made


def stub_block(call: Call, fmt: str) -> Message:
    own = {"_lithify": {"kind": "stub"}}
    if fmt == ANTHROPIC:
        return {"type": "tool_result", "tool_use_id": call.final, "content": STUB, "is_error": True, **own}
    if call.legacy:
        return {"role": "function", "name": call_name(call.part, fmt), "content": STUB, **own}
    return {"role": "tool", "tool_call_id": call.final, "content": STUB, **own}


def place_openai(work: list[Work], waiting: set[int]) -> None:
    for item in [item for item in work if item.calls]:
        own = [other for other in work if any(result.call in item.calls for result in other.results())]
        for other in own:
            work.remove(other)
        own += [Work(stub.block, None, [stub]) for stub in stubs_for(item, waiting, OPENAI)]
        at = work.index(item) + 1
        work[at:at] = own


def place_anthropic(work: list[Work], waiting: set[int]) -> None:
    for item in [item for item in work if item.calls]:
        own = [result for other in work for result in other.results() if result.call in item.calls]
        stubs = stubs_for(item, waiting, ANTHROPIC)
        if own or stubs:
            place_results(work, item, own, stubs)


def place_results(work: list[Work], item: Work, own: list[Result], stubs: list[Result]) -> None:
    at = work.index(item)
    if not stubs and at + 1 < len(work) and (work[at + 1].blocks or [])[: len(own)] == own:
        return
    home = find_home(work, at, own)
    if home is not None and all(block in own for block in home.blocks or []):
        work.remove(home)
        work.insert(work.index(item) + 1, home)
    elif home is not None and work.index(home) != at + 1:
        home = None
    if home is None:
        home = Work({"role": "user", "content": []}, None, [])
        work.insert(work.index(item) + 1, home)
    gather(work, home, own, stubs)


def find_home(work: list[Work], at: int, own: list[Result]) -> Work | None:
    for other in work[at + 1 : span_end(work, at)]:
        if any(result in own for result in other.results()):
            return other
    return None


def gather(work: list[Work], home: Work, own: list[Result], stubs: list[Result]) -> None:
    """Results to the head of the home: its own, those of other items, stubs; then its other parts."""
    assert home.blocks is not None
    here = [block for block in home.blocks if block in own]
    others = [block for block in home.blocks if block not in own]
    foreign = [result for result in own if result not in here]
    for result in foreign:
        take_out(work, holder_of(work, result), result)
    wanted = [*here, *foreign, *stubs, *others]
    if wanted != home.blocks:
        home.touch()
    home.blocks = wanted


def finish(item: Work, fmt: str) -> tuple[Message, int | None]:
    """The message of an item: the very one that came in when nothing in it changed."""
    message = item.message
    for call in item.calls:
        if not call.legacy and call.final != call.part.data.get("id"):
            message = replace_block(message, call.part.at, {**call.part.data, "id": call.final})
    blocks = [
        finish_result(block, item, fmt) if isinstance(block, Result) else block for block in item.blocks or []
    ]
    if fmt == OPENAI:
        return (blocks[0] if item.results() else message), item.index
    if item.blocks is not None and not item.calls and not same(blocks, item.message["content"]):
        message = {**message, "content": blocks}
    return message, item.index


def finish_result(result: Result, item: Work, fmt: str) -> Message:
    key = "tool_call_id" if fmt == OPENAI else "tool_use_id"
    assert result.call is not None
    if result.legacy or result.block.get(key) == result.call.final:
        return result.block
    item.touch()
    return {**result.block, key: result.call.final}


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


# Steps 8 and 9: empty content, start ----------------------------------------------------


def empty_list_to_text(message: Message, index: int | None) -> Message:
    if message.get("content") != []:
        return message
    if pinned(message):
        raise PinnedInvalid(index)
    return {**message, "content": ""}


def without_empties(found: list[tuple[Message, int | None]]) -> list[tuple[Message, int | None]]:
    out = []
    for at, (message, index) in enumerate(found):
        last = at == len(found) - 1 and message["role"] == "assistant"
        cleaned = without_empty_parts(message, last=last)
        if cleaned is not message and pinned(message):
            raise PinnedInvalid(index)
        if cleaned is not None:
            out.append((cleaned, index))
    return out


def without_empty_parts(message: Message, *, last: bool) -> Message | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return message if last or not blank(content or "") else None
    blocks = list(content)
    for block in content:
        if empty(block) and "cache_control" in block:
            move_cache_control(blocks, block)
    blocks = [block for block in blocks if not (block.get("type") == "text" and empty(block))]
    if not blocks:
        kept = message if not content else {**message, "content": []}
        return kept if last else None
    if all(block.get("type") in ("thinking", "redacted_thinking") for block in blocks):
        return None
    return message if same(blocks, content) else {**message, "content": blocks}


def empty(block: Message) -> bool:
    if block.get("type") == "text":
        return blank(text_of(Part("text", (), block)))
    if block.get("type") != "tool_result":
        return False
    content = block.get("content")
    return content is None or content == [] or (isinstance(content, str) and blank(content))


def move_cache_control(blocks: list[Message], block: Message) -> None:
    """Give an empty block's `cache_control` to the next fitting block, else to the one before."""
    at = next(i for i, other in enumerate(blocks) if other is block)
    control = block["cache_control"]
    blocks[at] = {key: value for key, value in block.items() if key != "cache_control"}
    for i in [*range(at + 1, len(blocks)), *range(at - 1, -1, -1)]:
        if takes_cache_control(blocks[i]):
            blocks[i] = {**blocks[i], "cache_control": control}
            return


def takes_cache_control(block: Message) -> bool:
    known = ("text", "tool_use", "tool_result", "image", "document")
    return block.get("type") in known and not empty(block) and "cache_control" not in block


def start_with_user(found: list[tuple[Message, int | None]]) -> list[tuple[Message, int | None]]:
    if not found or found[0][0]["role"] == "assistant":
        stub = {"role": "user", "content": START, "_lithify": {"kind": "stub"}}
        return [(stub, None), *found]
    return found
