"""The public API as a type checker sees it. This file is checked by mypy --strict and never run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

import lithify


def compacting(messages: list[dict[str, Any]], objects: Sequence[object]) -> None:
    result = lithify.compact(messages, window=200_000)
    assert_type(result, lithify.Result)
    assert_type(result.fits, bool)
    assert_type(result.tokens_before, int)
    assert_type(result.tokens_after, int)
    assert_type(result.limit, int | None)
    assert_type(result.warnings, tuple[str, ...])
    assert_type(result.plan, lithify.Plan)
    assert_type(result.plan.edits, tuple[lithify.Edit, ...])
    assert_type(result.plan.to_dict(), dict[str, Any])
    assert_type(result.to_dict(messages=True), dict[str, Any])
    for edit in result.plan.edits:
        assert_type(edit.layer, str)
        assert_type(edit.kind, str)
        assert_type(edit.index, int | None)
        assert_type(edit.part, int | None)
        assert_type(edit.tokens_before, int)
        assert_type(edit.tokens_after, int)
        assert_type(edit.reason, str)

    # The window may come second, messages may be the SDKs' own objects, and everything else has a name.
    lithify.compact(messages, 200_000)
    lithify.compact(objects, model="gpt-4o", reserve=1000, system="Be brief.", tools=[{"name": "read"}])
    lithify.compact(
        messages, window=8_000, system=[{"type": "text", "text": "Be brief."}], format="anthropic"
    )
    lithify.compact(messages, window=8_000, policy=lithify.Policy.literal(), token_counter=len)
    lithify.compact(messages, window=8_000, on_misfit="return")
    lithify.compact(messages, window=8_000, on_misfit="ignore")  # type: ignore[arg-type]
    lithify.compact(messages, window="8k")  # type: ignore[arg-type]
    lithify.compact(messages, 8_000, "gpt-4o")  # type: ignore[call-arg]


def parts(messages: list[dict[str, Any]], message: Mapping[str, Any]) -> None:
    assert_type(lithify.repair(messages), lithify.Result)
    violations = lithify.validate(messages)
    assert_type(violations, list[lithify.Violation])
    assert_type(violations[0].code, str)
    assert_type(violations[0].message, str)
    assert_type(lithify.truncate("text", 100), str)
    assert_type(lithify.truncate("text", max_tokens=100), str)
    assert_type(lithify.count_tokens(messages), int)
    assert_type(lithify.count_tokens("text", token_counter=len), int)
    assert_type(lithify.pin(message), dict[str, Any])
    lithify.wire(messages)

    found = lithify.inspect(messages, system="Be brief.")
    assert_type(found, lithify.Inspection)
    assert_type(found.total, int)
    assert_type(found.messages, int)
    assert_type(found.results[0].tokens, int)
    assert_type(found.results[0].error, bool)


def settings() -> None:
    policy = lithify.Policy(clear=lithify.Clear(keep=5, trigger=60_000), prune=lithify.Prune(target=0.3))
    assert_type(policy, lithify.Policy)
    assert_type(policy.clear.keep, int)
    assert_type(policy.clear.listed, tuple[str, ...])
    assert_type(policy.to_dict(), dict[str, Any])
    assert_type(lithify.Policy.from_dict({"clear": {"keep": 5}}), lithify.Policy)
    lithify.Clear(keep="3")  # type: ignore[arg-type]
    lithify.Clear(triger=0.5)  # type: ignore[call-arg]
    policy.clear = lithify.Clear()  # type: ignore[misc]


def errors(messages: list[dict[str, Any]]) -> None:
    try:
        lithify.compact(messages, window=50)
    except lithify.DoesNotFit as error:
        assert_type(error.tokens, int)
        assert_type(error.limit, int)
        assert_type(error.irreducible, int)
        assert_type(error.core, Mapping[str, int])
    except lithify.InvalidInput as error:
        assert_type(error.index, int | None)
        assert_type(error.field, str | None)
    except lithify.LithifyError:
        raise
