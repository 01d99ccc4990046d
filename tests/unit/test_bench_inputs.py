"""The inputs of the benches are what they say, and the checks of the benches can fail."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest

# The benches are no part of the package, so an import finds them only from the root of the repository.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benches.inputs import histories, script, session
from benches.python import checks

WANTED_MESSAGES = {"large": (850, 1150), "small": (8000, 10_000), "thai": (850, 1350)}


@pytest.mark.parametrize("shape", histories.SHAPES)
@pytest.mark.parametrize("form", histories.FORMATS)
def test_a_history_has_its_size_and_its_number_of_messages(
    form: histories.Format, shape: histories.Shape
) -> None:
    messages = histories.make(1_000_000, form=form, shape=shape)
    low, high = WANTED_MESSAGES[shape]
    assert low <= len(messages) <= high
    total = sum(map(histories.coarse_tokens, histories.texts(messages)))
    assert 950_000 <= total <= 1_050_000
    assert checks.pairs(messages) > 0.4 * len(messages)


@pytest.mark.parametrize("form", histories.FORMATS)
def test_a_history_is_the_same_each_time_but_of_new_objects(form: histories.Format) -> None:
    one, two = (histories.make(20_000, form=form) for _ in range(2))
    assert one == two
    assert histories.make(20_000, form=form, seed=8) != one
    longest = max(range(len(one)), key=lambda index: len(histories.texts([one[index]])[0]))
    assert histories.texts([one[longest]])[0] is not histories.texts([two[longest]])[0]


def test_contents_of_a_history_are_distinct() -> None:
    messages = histories.make(200_000, shape="small")
    contents = [message["content"] for message in messages]
    assert len(set(contents)) == len(contents)
    with pytest.raises(AssertionError, match="repeats"):
        checks.distinct([contents[0]] * 5)


def test_both_forms_of_the_session_say_the_same() -> None:
    steps = session.script()
    openai, (system, anthropic) = script.openai_chat(steps), session.as_anthropic()
    assert openai[0]["content"] == system
    texts = [content for _, content in checks.results(openai)]
    assert texts == [content for _, content in checks.results(anthropic)]
    assert checks.pairs(openai) == checks.pairs(anthropic) == len(texts)


@pytest.mark.parametrize("form", histories.FORMATS)
def test_the_pair_check_finds_a_lost_result_and_a_lost_call(form: histories.Format) -> None:
    messages = histories.make(20_000, form=form)
    results = [index for index, message in enumerate(messages) if list(checks.results([message]))]
    for index in (results[1], results[1] - 1):
        broken = messages[:index] + messages[index + 1 :]
        with pytest.raises(AssertionError):
            checks.pairs(broken)


def test_the_check_of_the_newest_results_wants_the_same_objects() -> None:
    messages = histories.make(20_000)
    checks.newest_results_stand(messages, list(messages))
    changed = copy.deepcopy(messages)
    changed[-1]["content"] = "".join(list(changed[-1]["content"]))
    with pytest.raises(AssertionError, match="changed"):
        checks.newest_results_stand(messages, changed)
