"""Recovery and summaries against a server on the loopback, through the real OpenAI and Anthropic SDKs."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import lithify
import pytest
from lithify.summarize import SummaryState, from_anthropic, from_openai
from lithify.summarize.check import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

GOOD = "\n".join(
    f"## {n}. {title}\nsomething of substance, number {n}" for n, title in enumerate(HEADINGS, 1)
)


class Server:
    """Speaks both dialects. Each entry of `script` is one answer: a text, a status with a body, or `abort`.

    When the script is used up, what is over `limit` characters of messages is refused as the dialect refuses.
    """

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.limit = 10**9
        self.sizes: list[int] = []
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                outer.sizes.append(len(json.dumps(body["messages"])))
                outer.answer(self, body)

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def answer(self, handler: Any, body: dict[str, Any]) -> None:
        speaks_openai = handler.path.endswith("/chat/completions")
        step = self.script.pop(0) if self.script else "fine"
        headers: dict[str, str] = {}
        if step == "abort":
            handler.close_connection = True
            handler.connection.close()
            return
        if isinstance(step, tuple):
            status, message, headers = step
        elif self.sizes[-1] > self.limit:
            status, message = 400, self.refusal(speaks_openai=speaks_openai)
        else:
            status, message = 200, step
        if status != 200:
            kind = "invalid_request_error" if status == 400 else "api_error"
            error = {"type": kind, "message": message}
            if speaks_openai and status == 400:
                error["code"] = "context_length_exceeded"
            payload: dict[str, Any] = {"error": error} if speaks_openai else {"type": "error", "error": error}
        elif speaks_openai:
            reply = {"role": "assistant", "content": message}
            payload = {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": reply}],
            }
        else:
            payload = {
                "id": "x",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [{"type": "text", "text": message}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        data = json.dumps(payload).encode()
        handler.send_response(status)
        for name, value in {
            **headers,
            "content-type": "application/json",
            "content-length": len(data),
        }.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(data)

    def refusal(self, *, speaks_openai: bool) -> str:
        tokens, limit = self.sizes[-1] // 4, max(self.limit // 4, 1_100)
        if speaks_openai:
            return (
                f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
                f"{tokens} tokens. Please reduce the length of the messages."
            )
        return f"prompt is too long: {tokens} tokens > {limit} maximum"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def history(dialect: str, turns: int = 60) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the export."}]
    for n in range(turns):
        output = f"order ORD-{n:04d} " + "payload text " * 60
        if dialect == "openai":
            call = {"id": f"c{n}", "type": "function", "function": {"name": "write_file", "arguments": "{}"}}
            messages += [
                {"role": "assistant", "content": f"Step {n}.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{n}", "content": output},
            ]
        else:
            use = {"type": "tool_use", "id": f"c{n}", "name": "write_file", "input": {}}
            messages += [
                {"role": "assistant", "content": [{"type": "text", "text": f"Step {n}."}, use]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": output}],
                },
            ]
    return [*messages, {"role": "user", "content": "Go on."}] if dialect == "openai" else messages


DIALECTS = pytest.mark.parametrize("dialect", ["openai", "anthropic"])
ASYNC = pytest.mark.parametrize("use_async", [False, True], ids=["sync", "async"])


def call(
    server: Server, dialect: str, messages: list[Any], caller: lithify.Caller, *, use_async: bool
) -> Any:
    """Make one call of a caller through the real SDK."""
    request: dict[str, Any] = {"model": "m", "messages": messages, "max_tokens": 100}
    options: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    if not use_async:
        if dialect == "openai":
            with openai.OpenAI(base_url=server.url + "/v1", **options) as client:
                return caller.call(client.chat.completions.create, **request)
        with anthropic.Anthropic(base_url=server.url, **options) as client:
            return caller.call(client.messages.create, **request)

    async def main() -> Any:
        if dialect == "openai":
            async with openai.AsyncOpenAI(base_url=server.url + "/v1", **options) as client:
                return await caller.acall(client.chat.completions.create, **request)
        async with anthropic.AsyncAnthropic(base_url=server.url, **options) as client:
            return await caller.acall(client.messages.create, **request)

    return asyncio.run(main())


@DIALECTS
@ASYNC
def test_overflow_and_then_success(server: Server, dialect: str, *, use_async: bool) -> None:
    server.limit = 20_000
    messages = history(dialect)
    before = copy.deepcopy(messages)
    caller = lithify.Caller()
    reply = call(server, dialect, messages, caller, use_async=use_async)
    text = reply.choices[0].message.content if dialect == "openai" else reply.content[0].text
    assert text == "fine"
    assert messages == before
    assert 2 <= len(server.sizes) <= 6
    assert server.sizes == sorted(set(server.sizes), reverse=True)
    assert server.sizes[-1] <= 20_000


@DIALECTS
@ASYNC
def test_overflow_on_every_attempt(server: Server, dialect: str, *, use_async: bool) -> None:
    server.limit = 0
    messages = history(dialect)
    before = copy.deepcopy(messages)
    kind = openai.BadRequestError if dialect == "openai" else anthropic.BadRequestError
    with pytest.raises(kind) as caught:
        call(server, dialect, messages, lithify.Caller(), use_async=use_async)
    assert messages == before
    assert 2 <= len(server.sizes) <= 6
    assert server.sizes == sorted(set(server.sizes), reverse=True)
    assert len(caught.value.attempts) == len(server.sizes)


@DIALECTS
@ASYNC
@pytest.mark.parametrize("step", [(500, "boom", {}), (429, "slow down", {"retry-after": "1"}), "abort"])
def test_other_failures_go_through(server: Server, dialect: str, step: Any, *, use_async: bool) -> None:
    server.script = [step]
    messages = history(dialect, 3)
    before = copy.deepcopy(messages)
    errors = openai.OpenAIError if dialect == "openai" else anthropic.AnthropicError
    with pytest.raises(errors):
        call(server, dialect, messages, lithify.Caller(), use_async=use_async)
    assert len(server.sizes) == 1
    assert messages == before


def summarized(server: Server, dialect: str, pauses: list[float], *, use_async: bool) -> lithify.Result:
    """Compact with a summarizer made of the real SDK; its own retries are on, and have to be switched off."""
    messages = history(dialect, 70)
    options: dict[str, Any] = {"api_key": "k", "max_retries": 4}

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    state = SummaryState(sleep=pauses.append, asleep=pause)
    if not use_async:
        if dialect == "openai":
            with openai.OpenAI(base_url=server.url + "/v1", **options) as client:
                return lithify.compact(messages, 8_000, summarizer=from_openai(client, "m"), state=state)
        with anthropic.Anthropic(base_url=server.url, **options) as client:
            return lithify.compact(messages, 8_000, summarizer=from_anthropic(client, "m"), state=state)

    async def main() -> lithify.Result:
        if dialect == "openai":
            async with openai.AsyncOpenAI(base_url=server.url + "/v1", **options) as client:
                return await lithify.acompact(
                    messages, 8_000, summarizer=from_openai(client, "m"), state=state
                )
        async with anthropic.AsyncAnthropic(base_url=server.url, **options) as client:
            return await lithify.acompact(
                messages, 8_000, summarizer=from_anthropic(client, "m"), state=state
            )

    return asyncio.run(main())


@DIALECTS
@ASYNC
def test_a_summary_by_a_real_client(server: Server, dialect: str, *, use_async: bool) -> None:
    server.script = [GOOD] * 9
    result = summarized(server, dialect, [], use_async=use_async)
    assert result.rung == "full"
    assert all("tools" not in body for body in server.bodies)


@DIALECTS
@ASYNC
def test_failures_of_the_summarizer_are_retried_by_us_alone(
    server: Server, dialect: str, *, use_async: bool
) -> None:
    pauses: list[float] = []
    server.script = [(429, "slow down", {"retry-after": "3"}), (500, "boom", {}), "abort", *[GOOD] * 9]
    result = summarized(server, dialect, pauses, use_async=use_async)
    assert result.summary is not None
    assert result.summary.calls == len(server.bodies)
    assert max(pauses) >= 3


@DIALECTS
@ASYNC
@pytest.mark.parametrize("text", ["", "I'm sorry, I can't help with that.", "larger " * 60_000])
def test_bad_replies_end_in_the_extract(server: Server, dialect: str, text: str, *, use_async: bool) -> None:
    server.script = [text] * 40
    result = summarized(server, dialect, [], use_async=use_async)
    assert result.rung == "extract"
    assert result.fits


@DIALECTS
@ASYNC
def test_a_wrong_key_raises(server: Server, dialect: str, *, use_async: bool) -> None:
    server.script = [(401, "invalid api key", {})] * 9
    kind = openai.AuthenticationError if dialect == "openai" else anthropic.AuthenticationError
    with pytest.raises(kind):
        summarized(server, dialect, [], use_async=use_async)
