"""Real exception objects of SDKs, made as their clients make them; each skipped when the SDK is absent."""

import importlib.util
import json
from typing import Any

import pytest
from lithify.recovery import Kind, classify_error


def wire() -> tuple[Any, Any]:
    """Return the HTTP library of the SDKs, which changed its name, and a request of it."""
    name = "httpx2" if importlib.util.find_spec("httpx2") else "httpx"
    http = pytest.importorskip(name)
    return http, http.Request("POST", "http://127.0.0.1/v1/x")


def answer(module: Any, status: int, body: object, headers: dict[str, str] | None = None) -> Any:
    """Return an HTTP answer of the library that the SDK uses, and the error its client raises for it."""
    http, request = wire()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = http.Response(status, request=request, content=content, headers=headers or {})
    with module.Client(api_key="k", base_url="http://127.0.0.1") as client:
        return client._make_status_error_from_response(response)


@pytest.fixture(params=["openai", "anthropic"])
def sdk(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def test_overflow(sdk: Any) -> None:
    text = "prompt is too long: 204111 tokens > 200000 maximum"
    error = answer(sdk, 400, {"type": "error", "error": {"type": "invalid_request_error", "message": text}})
    assert isinstance(error, sdk.BadRequestError)
    result = classify_error(error)
    assert (result.kind, result.token_limit, result.figures.actual) == (Kind.OVERFLOW, 200_000, 204_111)
    assert (result.status, result.message) == (400, text)


def test_overflow_by_code_without_figures(sdk: Any) -> None:
    error = answer(sdk, 400, {"error": {"code": "context_length_exceeded", "message": "too big"}})
    assert classify_error(error).reason == "code:context_length_exceeded"


def test_rate_limit_with_retry_after(sdk: Any) -> None:
    error = answer(
        sdk, 429, {"error": {"type": "rate_limit_error", "message": "Slow."}}, {"retry-after": "21"}
    )
    assert isinstance(error, sdk.RateLimitError)
    result = classify_error(error)
    assert (result.kind, result.retry_after) == (Kind.RATE_LIMIT, 21.0)


def test_empty_body(sdk: Any) -> None:
    error = answer(sdk, 400, b"")
    assert classify_error(error, window=100_000, estimate=90_000).sub == "probable"
    assert classify_error(error, window=100_000, estimate=900).kind is Kind.OTHER


def test_body_that_is_no_json(sdk: Any) -> None:
    error = answer(sdk, 413, b"<html><title>413 Request Entity Too Large</title></html>")
    assert classify_error(error).kind is Kind.REQUEST_BYTES


@pytest.mark.parametrize(
    ("status", "sub"), [(401, "auth"), (403, "auth"), (404, "not_found"), (500, "server"), (529, "server")]
)
def test_other_statuses(sdk: Any, status: int, sub: str) -> None:
    error = answer(sdk, status, {"error": {"message": "No."}})
    assert (classify_error(error).kind, classify_error(error).sub) == (Kind.OTHER, sub)


def test_transport_errors(sdk: Any) -> None:
    _, request = wire()
    assert classify_error(sdk.APITimeoutError(request=request)).sub == "timeout"
    assert classify_error(sdk.APIConnectionError(request=request)).sub == "connection"


def test_error_in_a_stream() -> None:
    openai = pytest.importorskip("openai")
    _, request = wire()
    body = {"message": "Your input exceeds the context window of this model.", "code": None}
    assert classify_error(openai.APIError(body["message"], request, body=body)).is_overflow


def test_reply_objects() -> None:
    anthropic = pytest.importorskip("anthropic")
    reply = anthropic.types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "model-s",
            "content": [{"type": "text", "text": "prompt is too long: 204111 tokens > 200000 maximum"}],
            "stop_reason": "model_context_window_exceeded",
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
    )
    assert classify_error(reply).sub == "in_band"
    assert classify_error(reply.model_copy(update={"stop_reason": "end_turn"})).kind is Kind.OTHER


def test_responses_event_objects() -> None:
    responses = pytest.importorskip("openai.types.responses")
    failed = {
        "type": "response.failed",
        "sequence_number": 3,
        "response": {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "model-s",
            "output": [],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "status": "failed",
            "error": {
                "code": "server_error",
                "message": "Your input exceeds the context window of this model.",
            },
        },
    }
    assert classify_error(responses.ResponseFailedEvent.model_validate(failed)).is_overflow
    error = {
        "type": "error",
        "sequence_number": 1,
        "code": "context_length_exceeded",
        "message": "x",
        "param": None,
    }
    assert classify_error(responses.ResponseErrorEvent.model_validate(error)).is_overflow


def test_botocore() -> None:
    exceptions = pytest.importorskip("botocore.exceptions")
    shape = {"Error": {"Code": "ValidationException", "Message": "Input is too long for requested model."}}
    error = exceptions.ClientError(shape | {"ResponseMetadata": {"HTTPStatusCode": 400}}, "Converse")
    assert classify_error(error).is_overflow
    assert classify_error(exceptions.EventStreamError(shape, "ConverseStream")).is_overflow
    shape = {"Error": {"Code": "ThrottlingException", "Message": "Too many tokens"}}
    assert classify_error(exceptions.ClientError(shape, "Converse")).kind is Kind.RATE_LIMIT
    assert classify_error(exceptions.ReadTimeoutError(endpoint_url="http://127.0.0.1")).sub == "timeout"
    assert classify_error(exceptions.NoCredentialsError()).sub == "auth"


def test_google_genai() -> None:
    errors = pytest.importorskip("google.genai.errors")
    text = "The input token count (1300111) exceeds the maximum number of tokens allowed (1048576)."
    body = {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}
    result = classify_error(errors.ClientError(400, body, None))
    assert (result.token_limit, result.figures.actual) == (1_048_576, 1_300_111)


def test_tenacity() -> None:
    tenacity = pytest.importorskip("tenacity")

    def fail() -> None:
        raise RuntimeError("prompt is too long: 204111 tokens > 200000 maximum")

    with pytest.raises(tenacity.RetryError) as caught:
        tenacity.Retrying(stop=tenacity.stop_after_attempt(2))(fail)
    assert classify_error(caught.value).token_limit == 200_000
