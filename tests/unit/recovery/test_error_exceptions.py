"""Exceptions by shape: fakes of SDKs, wrappers, groups, causes; and text that is no error."""

import asyncio
import email.message
import urllib.error
from types import SimpleNamespace
from typing import Any

import pytest
from lithify.recovery import Kind, classify_error

TOO_LONG = "prompt is too long: 204111 tokens > 200000 maximum"


def fake(name: str, text: str = "", /, **attributes: Any) -> Exception:
    """Make an exception of a class of this name with these attributes."""
    error: Exception = type(name, (Exception,), {})(text)
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def overflow(text: str = TOO_LONG) -> Exception:
    return fake("BadRequestError", f"Error code: 400 - {text}", status_code=400, body={"message": text})


def busy() -> Exception:
    return fake("RateLimitError", "Error code: 429", status_code=429, body={"message": "Too many requests"})


def raised(
    error: BaseException, *, cause: BaseException | None = None, context: BaseException | None = None
) -> Any:
    """Return an error with a cause or a context, as `raise` would have set them."""
    error.__cause__ = cause
    error.__context__ = context
    if cause is None:
        error.__suppress_context__ = False
    return error


class Response:
    """An httpx-like answer."""

    def __init__(self, status_code: int, data: object, headers: dict[str, str] | None = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}
        self._data = data

    def json(self) -> object:
        if isinstance(self._data, Exception):
            raise self._data
        return self._data


def test_botocore_client_error() -> None:
    error = fake(
        "ClientError",
        f"An error occurred (ValidationException) when calling the Converse operation: {TOO_LONG}",
        response={
            "Error": {
                "Code": "ValidationException",
                "Message": f"The model returned the following errors: {TOO_LONG}",
            },
            "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {"x": "y"}},
        },
        operation_name="Converse",
    )
    result = classify_error(error)
    assert (result.kind, result.token_limit, result.status) == (Kind.OVERFLOW, 200_000, 400)


def test_botocore_throttling() -> None:
    error = fake(
        "ThrottlingException",
        "An error occurred",
        response={
            "Error": {
                "Code": "ThrottlingException",
                "Message": "Too many tokens, please wait before trying again.",
            },
            "ResponseMetadata": {"HTTPStatusCode": 429},
        },
    )
    assert classify_error(error).kind is Kind.RATE_LIMIT


def test_google_genai_api_error() -> None:
    message = "The input token count (1300111) exceeds the maximum number of tokens allowed (1048576)."
    body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    error = fake("ClientError", "", code=400, status="INVALID_ARGUMENT", message=message, details=body)
    result = classify_error(error)
    assert (result.kind, result.token_limit, result.figures.actual) == (Kind.OVERFLOW, 1_048_576, 1_300_111)


def test_litellm_class_alone_and_with_figures() -> None:
    base = type("BadRequestError", (Exception,), {})
    error = type("ContextWindowExceededError", (base,), {})(
        "litellm.ContextWindowExceededError: VendorException"
    )
    error.status_code = 400
    assert classify_error(error).reason in {"class:ContextWindowExceededError", "class-in-text"}
    child = type("MyError", (type(error),), {})("nothing said")
    assert classify_error(child).kind is Kind.OVERFLOW, "an inherited class name counts"


def test_httpx_status_error_reads_the_response() -> None:
    error = fake(
        "HTTPStatusError",
        "Client error '400 Bad Request'",
        response=Response(400, {"error": {"message": TOO_LONG}}),
    )
    assert classify_error(error).token_limit == 200_000


def test_response_that_cannot_be_read_leaves_the_status() -> None:
    error = fake(
        "HTTPStatusError",
        "Server says no",
        response=Response(429, RuntimeError("not read"), {"Retry-After": "3"}),
    )
    result = classify_error(error)
    assert (result.kind, result.retry_after) == (Kind.RATE_LIMIT, 3.0)


def test_urllib_error() -> None:
    headers = email.message.Message()
    headers["Retry-After"] = "8"
    with urllib.error.HTTPError("http://x", 429, "Too Many Requests", headers, None) as error:
        result = classify_error(error)
    assert (result.kind, result.retry_after) == (Kind.RATE_LIMIT, 8.0)


def test_ollama_response_error() -> None:
    error = fake(
        "ResponseError",
        "",
        error="prompt too long; exceeded max context length by 77 tokens",
        status_code=400,
    )
    assert classify_error(error).figures.overage == 77


def test_sdk_objects_of_a_stream() -> None:
    inner = SimpleNamespace(
        code="context_length_exceeded", message="Your input exceeds the context window of this model."
    )
    event = SimpleNamespace(type="response.failed", response=SimpleNamespace(status="failed", error=inner))
    assert classify_error(event).kind is Kind.OVERFLOW


def test_sdk_objects_of_a_reply() -> None:
    reply = SimpleNamespace(role="assistant", stop_reason="model_context_window_exceeded", content=[])
    assert classify_error(reply).sub == "in_band"
    choice = SimpleNamespace(
        finish_reason="model_context_window_exceeded", message=SimpleNamespace(content=TOO_LONG)
    )
    assert classify_error(SimpleNamespace(choices=[choice])).sub == "in_band"
    choice.finish_reason = "stop"
    assert classify_error(SimpleNamespace(choices=[choice])).kind is Kind.OTHER


# ---- wrappers ----


def test_cause_speaks_for_a_silent_wrapper() -> None:
    error = raised(RuntimeError("agent failed"), cause=raised(RuntimeError("step 3"), cause=overflow()))
    assert classify_error(error).token_limit == 200_000


def test_context_speaks_unless_suppressed() -> None:
    error = raised(RuntimeError("agent failed"), context=overflow())
    assert classify_error(error).kind is Kind.OVERFLOW
    error.__suppress_context__ = True
    assert classify_error(error).kind is Kind.OTHER


@pytest.mark.parametrize(
    "last", [TimeoutError("read"), asyncio.CancelledError(), ConnectionResetError("reset"), busy()]
)
def test_an_earlier_overflow_does_not_fake(last: BaseException) -> None:
    assert not classify_error(raised(last, context=overflow())).is_overflow


def test_an_earlier_rate_limit_does_not_veto() -> None:
    assert classify_error(raised(overflow(), context=busy())).is_overflow


def test_exception_group_is_decided_by_its_last() -> None:
    assert classify_error(ExceptionGroup("tries", [busy(), overflow()])).is_overflow
    assert classify_error(ExceptionGroup("tries", [overflow(), busy()])).kind is Kind.RATE_LIMIT
    nested = ExceptionGroup("tries", [busy(), ExceptionGroup("inner", [busy(), overflow()])])
    assert classify_error(nested).is_overflow


def test_tenacity_like_retry_error() -> None:
    def future(error: Exception) -> Any:
        return SimpleNamespace(exception=lambda: error)

    assert classify_error(fake("RetryError", "RetryError[...]", last_attempt=future(overflow()))).is_overflow
    assert not classify_error(fake("RetryError", "RetryError[...]", last_attempt=future(busy()))).is_overflow


def test_retry_error_with_a_list_of_errors() -> None:
    assert classify_error(fake("RetryError", TOO_LONG, errors=[overflow(), busy()])).kind is Kind.RATE_LIMIT
    assert classify_error(fake("RetryError", "429", errors=[busy(), overflow()])).is_overflow


# ---- what is not an error ----


@pytest.mark.parametrize(
    "text",
    [
        "Let's investigate the context overflow bug",
        "We are debugging context overflow issues",
        "The context window exceeded our expectations",
        "Context overflow is a common problem in LLM agents.",
        "What does 'prompt is too long: 204111 tokens > 200000 maximum' mean?",
        "This prompt is too long.",
        "I think your prompt is too long",
        "The report says: prompt is too long: 204111 tokens > 200000 maximum",
        "# Errors\n\n- `context_length_exceeded`: the prompt is too long\n- `rate_limit`: wait",
        'I got {"error": {"message": "prompt is too long: 204111 tokens > 200000 maximum"}} - what now?',
        "Rate limits are a common way to protect an API.",
        "429 people signed the letter",
        "The status of room 402 is unknown",
        "",
        "   ",
    ],
)
@pytest.mark.parametrize(
    "shape", [str, lambda text: {"message": text}, lambda text: {"role": "user", "content": text}]
)
def test_prose_is_other(text: str, shape: Any) -> None:
    result = classify_error(shape(text))
    assert (result.kind, result.reason) == (Kind.OTHER, "none")


def test_prose_in_an_exception_that_no_api_raised() -> None:
    assert classify_error(ValueError("Let's investigate the context overflow bug")).kind is Kind.OTHER
    echo = (
        "1 validation error for Reply\n text\n  [type=int_type, input_value='prompt is too long: 2 tokens']"
    )
    assert classify_error(ValueError(echo)).kind is Kind.OTHER
    assert classify_error(RuntimeError(TOO_LONG)).is_overflow


def test_a_long_document_is_no_error() -> None:
    assert classify_error(f"{TOO_LONG}. " + "Chapter one. " * 1_000).kind is Kind.OTHER


def test_a_rate_limit_by_class_alone() -> None:
    assert classify_error(fake("RateLimitError", "slow down a little")).kind is Kind.RATE_LIMIT
    assert classify_error(fake("APIError", "something went wrong")).kind is Kind.OTHER


@pytest.mark.parametrize(
    ("error", "sub"),
    [
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (TimeoutError(), "timeout"),
        (ConnectionRefusedError("refused"), "connection"),
        (fake("APITimeoutError", "Request timed out."), "timeout"),
        (fake("APIConnectionError", "Connection error."), "connection"),
        (fake("InternalServerError", "Error code: 500", status_code=500), "server"),
        (fake("AuthenticationError", "Error code: 401", status_code=401), "auth"),
        (fake("AuthenticationError", "no"), "auth"),
    ],
)
def test_the_ladder_can_tell_other_errors_apart(error: BaseException, sub: str) -> None:
    result = classify_error(error)
    assert (result.kind, result.sub) == (Kind.OTHER, sub)
    assert result.retryable is (sub in {"timeout", "connection", "server"})
