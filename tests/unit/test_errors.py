"""The error tree: attributes, messages, previews that leak nothing, and travel between processes."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithify import errors
from lithify.errors import (
    PREVIEW_LIMIT,
    CounterError,
    DoesNotFit,
    InvalidInput,
    InvalidJSON,
    InvalidPolicy,
    LithifyError,
    MixedFormats,
    PinnedInvalid,
    UnknownFormat,
    UnknownModel,
    describe,
)

SAMPLES: list[BaseException] = [
    InvalidInput(index=3, field="content[1].text", expected="text", got="None", remedy="Send text."),
    UnknownFormat(got="a list of numbers"),
    MixedFormats(formats=["anthropic", "gemini"], index=7),
    InvalidJSON(line=2, column=5, offset=17, got="'}'"),
    InvalidPolicy(field="clear.trigger", expected="a share above 0 and at most 1", got="nan"),
    PinnedInvalid(index=4, field="tool_call_id", rule="a tool result must answer a call before it"),
    DoesNotFit(
        tokens=9120,
        limit=8000,
        irreducible=9000,
        core={"system": 4100, "tools": 900, "pins": 0, "first_user": 1000, "current": 3000},
        best=[{"role": "user", "content": "hi"}],
    ),
    CounterError(index=12, got="-5"),
    UnknownModel(model="frontier-9", window=32_768),
]


def ids(error: object) -> str:
    return type(error).__name__


def test_each_public_class_has_a_sample() -> None:
    classes = {
        value
        for name in errors.__all__
        if inspect.isclass(value := getattr(errors, name)) and value is not LithifyError
    }
    assert classes == {type(sample) for sample in SAMPLES}


@pytest.mark.parametrize("error", SAMPLES, ids=ids)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_message_and_attributes(error: BaseException, protocol: int) -> None:
    error.add_note("seen in turn 3")
    back = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  our own bytes
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


@pytest.mark.parametrize("error", SAMPLES, ids=ids)
def test_copy_keeps_attributes(error: BaseException) -> None:
    assert vars(copy.copy(error)) == vars(error)
    assert str(copy.deepcopy(error)) == str(error)


@pytest.mark.parametrize("error", SAMPLES, ids=ids)
def test_message_is_sentences_and_constructor_is_keyword_only(error: BaseException) -> None:
    text = str(error)
    assert text.endswith(".")
    assert text[0].isupper()
    assert "None" not in text.replace("got None", "")
    parameters = list(inspect.signature(type(error).__init__).parameters.values())[1:]
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("error", [s for s in SAMPLES if not isinstance(s, Warning)], ids=ids)
def test_one_base_catches_all(error: BaseException) -> None:
    with pytest.raises(LithifyError):
        raise error


def test_input_and_policy_errors_are_value_errors() -> None:
    for cls in (InvalidInput, UnknownFormat, MixedFormats, InvalidJSON, InvalidPolicy):
        assert issubclass(cls, ValueError)
    for cls in (UnknownFormat, MixedFormats, InvalidJSON):
        assert issubclass(cls, InvalidInput)
    assert not issubclass(DoesNotFit, ValueError)


def test_invalid_input_names_place_expectation_and_remedy() -> None:
    error = InvalidInput(index=3, field="role", expected="a role", got=describe(17), remedy="Use user.")
    assert str(error) == "Message 3, field role: expected a role, got 17. Use user."
    assert (error.index, error.field, error.expected, error.got) == (3, "role", "a role", "17")


def test_invalid_input_without_place() -> None:
    assert str(InvalidInput(expected="a list", got="a dict")).startswith("The input: expected a list")
    assert str(InvalidInput(index=0, expected="x", got="y")).startswith("Message 0: ")
    assert str(InvalidInput(field="window", expected="x", got="y")).startswith("Field window: ")


def test_mixed_formats_names_both() -> None:
    error = MixedFormats(formats=("anthropic", "gemini"), index=7)
    assert error.formats == ("anthropic", "gemini")
    assert "anthropic" in str(error)
    assert "gemini" in str(error)
    assert MixedFormats(formats=()).formats == ()


def test_invalid_json_says_where() -> None:
    error = InvalidJSON(line=2, column=5, offset=1017)
    assert (error.line, error.column, error.offset) == (2, 5, 1017)
    assert "line 2, column 5 (byte 1,017)" in str(error)


def test_does_not_fit_prints_the_figures_and_the_largest_part_first() -> None:
    error = DoesNotFit(
        tokens=9120, limit=8000, irreducible=9000, core={"system": 4100, "pins": 0, "current": 4900}, best=[1]
    )
    text = str(error)
    for figure in ("9,120", "8,000", "1,120", "9,000", "4,100", "4,900"):
        assert figure in text
    assert "pinned" not in text
    assert "newest messages" in text
    assert error.best == [1]
    assert error.core["system"] == 4100
    with pytest.raises(TypeError):
        error.core["system"] = 0  # type: ignore[index]


def test_does_not_fit_with_an_empty_or_foreign_core() -> None:
    assert DoesNotFit(tokens=2, limit=1, irreducible=2, core={}).core == {}
    assert "(memory 2)" in str(DoesNotFit(tokens=2, limit=1, irreducible=2, core={"memory": 2}))


def test_core_is_copied() -> None:
    core = {"system": 1}
    error = DoesNotFit(tokens=2, limit=1, irreducible=1, core=core)
    core["system"] = 99
    assert error.core == {"system": 1}


def test_counter_error_with_and_without_index() -> None:
    assert "message 12" in str(CounterError(index=12, got="-5"))
    assert "a text" in str(CounterError(got="None"))


def test_unknown_model_is_a_warning() -> None:
    assert issubclass(UnknownModel, UserWarning)
    assert "32,768" in str(UnknownModel(model="x", window=32_768))


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("never asked")


class Lengthless(dict[str, str]):
    def __len__(self) -> int:
        raise RuntimeError("no length")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (-3, "-3"),
        (float("nan"), "nan"),
        ("abc", "'abc'"),
        ([1, 2], "list of length 2"),
        ({"a": 1}, "dict of length 1"),
        (b"12", "bytes of length 2"),
        (frozenset({1}), "frozenset of length 1"),
        (Hostile(), "an object of type Hostile"),
        (Lengthless(), "Lengthless of length unknown"),
        pytest.param(1 << 100_000, "an integer of 100,001 bits", id="huge"),
    ],
)
def test_describe(value: Any, text: str) -> None:
    assert describe(value) == text


def test_long_text_is_cut_and_its_length_told() -> None:
    secret = "sk-" + "x" * 5000
    shown = describe(secret)
    assert len(shown) <= PREVIEW_LIMIT
    assert "5,003 characters" in shown


@given(st.text() | st.text(min_size=200) | st.integers() | st.floats() | st.binary())
def test_previews_are_bounded_single_lines_that_can_be_encoded(value: Any) -> None:
    for shown in (describe(value), InvalidInput(expected="x", got=str(value)).got):
        assert len(shown) <= PREVIEW_LIMIT
        assert shown.isprintable()
        shown.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_lone_surrogates_do_not_reach_the_message(text: str) -> None:
    str(InvalidInput(expected="x", got=text, field=text)).encode("utf-8")
    str(UnknownModel(model=text, window=1)).encode("utf-8")
    str(InvalidPolicy(field=text, expected="x", got=text)).encode("utf-8")
