"""Nothing raises, nothing is slow, and a number is read however it is written."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lithify.recovery import ErrorClass, Kind, _patterns, _reading, classify_error, detect_silent_truncation

SEPARATORS = [",", ".", " ", "_", "'", "\u2019", "\u00a0", "\u202f", "\u2009"]
BUDGET_SECONDS = 0.5
"""For one call on the worst input here; measured 0.02 s, so that a busy machine does not fail it."""


def grouped(number: int, separator: str) -> str:
    return f"{number:,}".replace(",", separator)


@given(
    limit=st.integers(1_024, 10_000_000),
    over=st.integers(1, 5_000_000),
    separator=st.sampled_from(["", *SEPARATORS]),
    sentence=st.sampled_from(
        [
            "prompt is too long: {actual} tokens > {limit} maximum",
            "The input token count ({actual}) exceeds the maximum number of tokens allowed ({limit}).",
            "The model's maximum context length is {limit} tokens. Your prompt resulted in {actual} tokens.",
            "This model's maximum prompt length is {limit} but the request contains {actual} tokens.",
            "Prompt contains {actual} tokens, too large for model with {limit} maximum context length",
            "Input length ({actual}) exceeds model's maximum context length ({limit}).",
            "`inputs` must have less than {limit} tokens. Given: {actual}",
        ],
    ),
)
def test_figures_are_read_with_any_separator(limit: int, over: int, separator: str, sentence: str) -> None:
    actual = limit + over
    text = sentence.format(actual=grouped(actual, separator), limit=grouped(limit, separator))
    result = classify_error(status=400, body={"error": {"message": text}})
    assert result.kind is Kind.OVERFLOW
    assert (result.token_limit, result.figures.actual, result.figures.overage) == (limit, actual, over)
    assert result.figures.measured


@given(limit=st.one_of(st.integers(0, 1_023), st.integers(10_000_001, 10**14)))
def test_a_limit_out_of_bounds_is_not_taken(limit: int) -> None:
    result = classify_error(status=400, body=f"prompt is too long: 20000000 tokens > {limit} maximum")
    assert (result.kind, result.token_limit) == (Kind.OVERFLOW, None)


@given(
    limit=st.integers(1_024, 10_000_000), spent=st.integers(0, 10_000_000), output=st.integers(1, 1_000_000)
)
def test_the_reply_is_to_blame_exactly_when_the_input_fits(limit: int, spent: int, output: int) -> None:
    text = f"input length and `max_tokens` exceed context limit: {spent} + {output} > {limit}"
    result = classify_error(status=400, body={"message": text})
    assert result.kind is Kind.OVERFLOW
    assert (result.sub == "output_first") is (spent <= limit < spent + output)
    assert result.figures.available == max(0, limit - spent)


@given(st.text(max_size=300), st.sampled_from(SEPARATORS))
def test_joining_thousands_keeps_everything_but_separators(text: str, separator: str) -> None:
    joined = _patterns.join_thousands(text)
    kept = [mark for mark in joined if mark not in SEPARATORS]
    assert kept == [mark for mark in text if mark not in SEPARATORS]
    assert _patterns.join_thousands(grouped(1_048_576, separator)) == "1048576"


@pytest.mark.parametrize(
    "text", ["v1.234", "gpt-4.128", "[1,129024]", "3.000000", "1,2,3", "12,34", "1,2345"]
)
def test_numbers_without_groups_of_three_stay(text: str) -> None:
    assert _patterns.join_thousands(text) == text


@given(st.floats(0, 1e6))
def test_a_delay_in_seconds_is_itself(value: float) -> None:
    assert _reading.seconds(value) == value
    assert _reading.seconds(f"{value:.6f}") == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("34s", 34.0),
        ("1m2.5s", 62.5),
        ("20ms", 0.02),
        ("2 minutes", 120.0),
        ("1h", 3600.0),
        ("soon", None),
        ("-3", None),
    ],
)
def test_delays_with_units(text: str, value: float | None) -> None:
    assert _reading.seconds(text) == value


# ---- nothing raises ----


class Hostile:
    """Raises on everything that can be asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RecursionError(name)

    def __bool__(self) -> bool:
        raise MemoryError

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __hash__(self) -> int:
        raise TypeError


class HostileError(Exception):
    """An exception whose every public attribute raises, and whose text does."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") and name not in {"__cause__", "__context__"}:
            return super().__getattribute__(name)
        raise type("Odd", (BaseException,), {})(name)

    def __str__(self) -> str:
        raise RuntimeError


class Endless:
    """Every attribute is another one of these."""

    def __getattr__(self, name: str) -> Any:
        return Endless()


class Text(str):
    """A str that lies about itself."""

    __slots__ = ()

    def strip(self, *_: object) -> str:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


def strange() -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=80),
        st.binary(max_size=80),
        st.builds(Hostile),
        st.builds(Endless),
        st.builds(HostileError, st.text(max_size=5)),
        st.builds(Text, st.text(max_size=40)),
        st.sampled_from([Kind, len, ..., Kind.OTHER]),
        st.builds(RuntimeError, st.text(max_size=40)),
    )
    keys = st.sampled_from(
        [
            "error", "message", "code", "type", "status", "status_code", "body", "response", "headers",
            "choices", "metadata", "raw", "errors", "details", "usage", "retry_after", "role", "n_ctx",
            "last_error", "stop_reason",
        ],
    )  # fmt: skip
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.one_of(keys, st.text(max_size=5)), inner, max_size=6),
            st.builds(
                lambda fields: attach(RuntimeError("x"), fields), st.dictionaries(keys, inner, max_size=4)
            ),
        ),
        max_leaves=12,
    )


def attach(error: Exception, fields: dict[str, Any]) -> Exception:
    for name, value in fields.items():
        setattr(error, name, value)
    return error


@settings(max_examples=300, deadline=None)
@given(error=strange(), status=strange(), body=strange(), headers=strange(), extra=strange())
def test_it_never_raises(error: Any, status: Any, body: Any, headers: Any, extra: Any) -> None:
    result = classify_error(
        error, status=status, body=body, headers=headers, provider=extra, window=extra, estimate=extra
    )
    assert isinstance(result, ErrorClass)
    found = detect_silent_truncation(extra, body, status)
    assert found is None or isinstance(found, ErrorClass)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_text_is_always_read(text: str) -> None:
    assert classify_error(text).reason != "unreadable"
    assert classify_error(status=400, body=text).reason != "unreadable"


@pytest.mark.parametrize(
    "make",
    [
        Hostile,
        HostileError,
        Endless,
        lambda: Text("429"),
        lambda: [Hostile(), HostileError()],
        lambda: {"error": Hostile(), "status": Hostile(), "usage": Hostile(), "role": Hostile()},
    ],
)
def test_hostile_objects(make: Any) -> None:
    thing = make()
    assert classify_error(thing).kind in {Kind.RATE_LIMIT, Kind.OTHER}
    assert classify_error(status=429, body=thing, headers=thing).kind in {Kind.RATE_LIMIT, Kind.OTHER}


def test_interrupts_of_the_user_get_through() -> None:
    class Interrupting(Exception):  # noqa: N818
        @property
        def status_code(self) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classify_error(Interrupting())


def test_cycles() -> None:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    assert classify_error(one).kind is Kind.OTHER
    body: dict[str, Any] = {"error": {"message": "x"}}
    body["error"]["error"] = body
    body["errors"] = [body, [body]]
    assert classify_error(status=400, body=body).kind is Kind.OTHER
    error = RuntimeError("x")
    error.body = {"error": error}  # type: ignore[attr-defined]
    assert classify_error(error).kind is Kind.OTHER


def nested(depth: int) -> Any:
    body: Any = {"message": "prompt is too long: 204111 tokens > 200000 maximum"}
    for _ in range(depth):
        body = {"error": body}
    return body


def test_depth_is_bounded() -> None:
    assert classify_error(body=nested(6)).is_overflow
    assert classify_error(body=nested(5_000)).kind is Kind.OTHER


# ---- nothing is slow ----

N = 1_000_000
HUGE = {
    "one letter": "a" * N,
    "one digit": "9" * N,
    "spaces": " " * N,
    "grouped digits": "1,000" * (N // 5),
    "open braces": "{" * N,
    "open brackets": "[" * N,
    "open tuples": "Error: {" + "(" * N,
    "nested json": '{"error":' * (N // 9),
    "starts of a sentence": "maximum context length is 1 tokens " * (N // 35),
    "starts of another": "request too large request too large limit " * (N // 42),
    "verbs": "exceeds the input prompt exceeds " * (N // 33),
    "attempts": "attempt 1: " * (N // 11),
    "events": "data: error\n" * (N // 12),
    "quotes": "\"role' ' :" * (N // 10),
    "names": "error: " * (N // 7),
    "words": "the image of the request " * (N // 25),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HUGE.items()])
def test_huge_texts_are_cheap(text: str) -> None:
    classify_error("warm up")
    for arguments in ({"error": text}, {"status": 400, "body": text}, {"error": RuntimeError(text)}):
        begin = time.perf_counter()
        result = classify_error(**arguments)
        assert time.perf_counter() - begin < BUDGET_SECONDS
        assert result.reason != "unreadable"


def test_a_sentence_is_found_at_both_ends_of_a_huge_text() -> None:
    sentence = "prompt is too long: 204111 tokens > 200000 maximum"
    assert classify_error(status=400, body=f"{sentence} {'x ' * N}").token_limit == 200_000
    assert classify_error(status=400, body=f"{'x ' * N} {sentence}").token_limit == 200_000


def test_a_wide_body_is_cheap() -> None:
    body = {"error": {"message": "x", "details": [{"error": {"message": "y" * 1_000}}] * 100_000}}
    begin = time.perf_counter()
    assert classify_error(status=400, body=body).kind is Kind.OTHER
    assert time.perf_counter() - begin < BUDGET_SECONDS


# ---- silent truncation ----


@given(window=st.integers(2_048, 2_000_000), share=st.floats(0.05, 0.45), fill=st.floats(0.3, 2.0))
def test_a_report_far_below_the_estimate_is_flagged(window: int, share: float, fill: float) -> None:
    estimate = int(window * fill)
    result = detect_silent_truncation(estimate, {"prompt_tokens": int(estimate * share)}, window)
    assert result is not None
    assert result.sub == "silent_truncation"


@given(window=st.integers(2_048, 2_000_000), share=st.floats(0.9, 1.0), fill=st.floats(0.1, 1.0))
def test_an_honest_report_is_not(window: int, share: float, fill: float) -> None:
    estimate = int(window * fill)
    assert detect_silent_truncation(estimate, {"prompt_tokens": int(estimate * share)}, window) is None


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 0}, {"prompt_tokens": None}, object(), True, "9", -4]
)
def test_a_report_that_says_nothing_is_not(usage: object) -> None:
    assert detect_silent_truncation(50_000, usage, 32_768) is None


def test_cache_reads_count_where_they_are_reported_apart() -> None:
    usage = {"input_tokens": 300, "cache_read_input_tokens": 40_000, "cache_creation_input_tokens": 9_000}
    assert detect_silent_truncation(50_000, usage, 200_000) is None
    assert detect_silent_truncation(50_000, {"input_tokens": 300}, 200_000) is not None
