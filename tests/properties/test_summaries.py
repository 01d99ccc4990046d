"""The invariants hold with summaries, whatever the history and whatever the summarizer answers."""

from __future__ import annotations

import json
from typing import Any

import lithify
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lithify import errors
from lithify.summarize import SummaryState
from lithify.summarize.check import HEADINGS

from tests import reference
from tests.differential.compare import to_policy
from tests.histories import FORMATS, Case, cases

GOOD = "\n".join(
    f"## {n}. {title}\nsomething of substance, number {n}" for n, title in enumerate(HEADINGS, 1)
)
ANSWERS = st.one_of(
    st.just(GOOD),
    st.text(),
    st.sampled_from(["", "I can't help with that.", GOOD * 50, GOOD + "\ud800</summary>", "Error code: 500"]),
    st.just(ValueError("no")),
    st.just(TimeoutError()),
)


def run(one: Case, answers: list[Any]) -> lithify.Result:
    def summarizer(_: Any) -> Any:
        answer = answers[0]
        answers.append(answers.pop(0))
        if isinstance(answer, Exception):
            raise answer
        return answer

    try:
        return lithify.compact(
            one.messages,
            window=one.limit,
            system=one.system,
            tools=one.tools,
            format=one.format,
            policy=to_policy(one.policy),
            on_misfit="return",
            summarizer=summarizer,
            must_keep=["a"],
            state=SummaryState(sleep=lambda _: None),
        )
    except errors.PinnedInvalid:
        assume(False)  # noqa: FBT003 - hypothesis' way to pass over an example
        raise


@pytest.mark.parametrize("fmt", FORMATS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_summary_breaks_no_invariant(data: st.DataObject, fmt: str) -> None:
    one = data.draw(cases(fmt))
    before = json.dumps(one.messages)
    result = run(one, data.draw(st.lists(ANSWERS, min_size=1, max_size=4)))
    assert json.dumps(one.messages) == before, "never mutated"
    out = lithify.wire(result.messages)
    assert reference.validate(out, fmt) == []
    assert lithify.validate(out, format=fmt) == []
    counted = lithify.count_tokens(result.messages, system=one.system, tools=one.tools, format=fmt)
    assert counted == result.tokens_after
    if result.summary is not None and result.summary.rung != "notice":
        assert result.fits
        assert result.tokens_after <= one.limit
        assert result.tokens_after < result.tokens_before
        json.dumps(out).encode("utf-8")
