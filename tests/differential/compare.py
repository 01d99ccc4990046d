"""The engine against the reference: one generated case in, the first difference or None out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import lithify
from lithify import errors

from tests import reference
from tests.histories import Case, any_text, case, chars1, chars4, literal_policy

if TYPE_CHECKING:
    from collections.abc import Callable

Difference = tuple[str, Any, Any]

COUNTERS: dict[str, Callable[[str], int]] = {"chars4": chars4, "chars1": chars1}


def to_policy(given: dict[str, Any]) -> lithify.Policy:
    """The package's policy for a case's plain settings, with the carry-over off."""
    if given.get("clear", {}).get("literal"):
        return lithify.Policy.literal()
    base = lithify.Policy()
    return lithify.Policy(
        clear=type(base.clear)(**given.get("clear", {})),
        prune=type(base.prune)(**{"carry_over": 0, **given.get("prune", {})}),
        strict_alternation=given.get("strict_alternation", False),
    )


def for_reference(given: dict[str, Any]) -> dict[str, Any]:
    """The same settings for the reference, with the package's lists of tools (data, not logic)."""
    clear = lithify.Policy().clear
    lists = {key: getattr(clear, key) for key in ("listed", "protected", "readers") if hasattr(clear, key)}
    if given.get("clear", {}).get("literal"):
        given = literal_policy()
    return {**given, "clear": {**lists, **given.get("clear", {})}}


def plain(messages: Any) -> Any:
    """Messages with our marks reduced to what the reference writes (no carry-over)."""
    if isinstance(messages, list):
        return [plain(each) for each in messages]
    if isinstance(messages, dict):
        return {
            key: {name: value[name] for name in ("kind", "removed") if name in value}
            if key == "_lithify" and isinstance(value, dict)
            else plain(value)
            for key, value in messages.items()
        }
    return messages


def compare_compact(one: Case, counter: str) -> Difference | None:
    count = COUNTERS[counter]
    try:
        expected: Any = reference.compact(
            one.messages,
            one.limit,
            for_reference(one.policy),
            count,
            one.system,
            one.tools,
            one.format,
            on_misfit="return",
        )
    except reference.PinnedInvalid as error:
        expected = error
    try:
        got: Any = lithify.compact(
            one.messages,
            window=one.limit,
            system=one.system,
            tools=one.tools,
            format=one.format,
            policy=to_policy(one.policy),
            token_counter=count,
            on_misfit="return",
        )
    except errors.PinnedInvalid as error:
        got = error
    if isinstance(expected, Exception) or isinstance(got, Exception):
        same = isinstance(expected, reference.PinnedInvalid) and isinstance(got, errors.PinnedInvalid)
        # Each names a message at fault; which of several comes first is no rule.
        return None if same else ("error", repr(expected), repr(got))
    pairs = {
        "messages": (plain(expected.messages), plain(got.messages)),
        "tokens_after": (expected.total, got.tokens_after),
        "tokens_before": (expected.before, got.tokens_before),
        "fits": (expected.fits, got.fits),
        "rung": (expected.rung, got.rung),
    }
    return first_difference(pairs)


def compare_repair(one: Case) -> Difference | None:
    try:
        expected: Any = reference.repair(one.messages, one.format)
    except reference.PinnedInvalid as error:
        expected = ("PinnedInvalid", error.index)
    try:
        got: Any = lithify.repair(one.messages, format=one.format).messages
    except errors.PinnedInvalid as error:
        got = ("PinnedInvalid", error.index)
    return first_difference({"repair": (plain(expected), plain(got))})


def compare_validate(one: Case) -> Difference | None:
    expected = reference.validate(one.messages, one.format)
    got = sorted((each.index, each.code) for each in lithify.validate(one.messages, format=one.format))
    return first_difference({"validate": (expected, got)})


def compare_truncate(text: str, limit: int, count: Callable[[str], int]) -> Difference | None:
    expected = reference.truncate(text, limit, count)
    try:
        got: str | None = lithify.truncate(text, limit, token_counter=count)
    except errors.LithifyError:
        got = None
    return first_difference({"truncate": ((text, limit, expected), (text, limit, got))})


def first_difference(pairs: dict[str, tuple[Any, Any]]) -> Difference | None:
    for name, (expected, got) in pairs.items():
        if expected != got:
            return name, expected, got
    return None


def compare(seed: int) -> Difference | None:
    """Everything for one seed."""
    rng = random.Random(seed)
    one = case(rng)
    counter = "chars1" if seed % 3 == 0 else "chars4"
    text, limit = any_text(rng), rng.choice((0, 5, 11, 12, 15, 20, 30, 60, 100, 200))
    return (
        compare_compact(one, counter)
        or compare_repair(one)
        or compare_validate(one)
        or compare_truncate(text, limit, COUNTERS[counter])
    )
