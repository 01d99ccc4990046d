"""Summarizers made of the clients that people have: OpenAI, Anthropic, LangChain, Pydantic AI, or a function.

None of these packages is imported; each adapter uses the object that it is given. Retries of the SDKs are
switched off, because the ladder retries, and no tools are sent. An async client gives an async summarizer.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from lithify.summarize.protocol import Answer, Summarizer, SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["from_anthropic", "from_langchain", "from_openai", "from_pydantic_ai", "from_text"]

_REFUSALS: Final = frozenset({"content_filter", "refusal"})
_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})


def from_openai(client: Any, model: str, *, limit_field: str | None = None, **extra: Any) -> Summarizer:
    """Use an `OpenAI` or `AsyncOpenAI` client, or one for any server that speaks chat completions.

    limit_field: the name under which the server takes the reply limit; `max_completion_tokens` for
    api.openai.com and Azure and `max_tokens` for others when left out. extra: more fields of the request,
    such as `temperature`.
    """
    bare = _no_retries(client)
    host = str(getattr(client, "base_url", ""))
    field = limit_field or (
        "max_completion_tokens" if not host or "openai.com" in host or "azure.com" in host else "max_tokens"
    )

    def summarize(request: SummaryRequest) -> Answer | Awaitable[Answer]:
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.text},
            ],
            field: request.max_tokens,
        }
        if request.timeout is not None:
            body["timeout"] = request.timeout
        return _then(bare.chat.completions.create(**{**body, **extra}), _of_openai)

    return _named(summarize, bare)


def from_anthropic(client: Any, model: str, **extra: Any) -> Summarizer:
    """Use an `Anthropic` or `AsyncAnthropic` client, or those for Bedrock and Vertex."""
    bare = _no_retries(client)

    def summarize(request: SummaryRequest) -> Answer | Awaitable[Answer]:
        body: dict[str, Any] = {
            "model": model,
            "system": request.system,
            "messages": [{"role": "user", "content": request.text}],
            "max_tokens": request.max_tokens,
        }
        if request.timeout is not None:
            body["timeout"] = request.timeout
        return _then(bare.messages.create(**{**body, **extra}), _of_anthropic)

    return _named(summarize, bare)


def from_langchain(model: Any, *, use_async: bool = False, **config: Any) -> Summarizer:
    """Use a LangChain chat model without tools: its `invoke`, or `ainvoke` with `use_async=True`.

    Set `max_retries=0` on the model: LangChain builds its client before it comes here. config: options of
    the call.
    """

    def messages(request: SummaryRequest) -> list[tuple[str, str]]:
        return [("system", request.system), ("human", request.text)]

    if use_async:

        async def asummarize(request: SummaryRequest) -> Answer:
            return _of_langchain(await model.ainvoke(messages(request), **config))

        return asummarize

    def summarize(request: SummaryRequest) -> Answer:
        return _of_langchain(model.invoke(messages(request), **config))

    return summarize


def from_pydantic_ai(agent: Any, *, use_async: bool = False, **options: Any) -> Summarizer:
    """Use a Pydantic AI `Agent` that has no tools: its `run_sync`, or `run` with `use_async=True`."""
    if use_async:

        async def asummarize(request: SummaryRequest) -> Answer:
            return _of_pydantic_ai(await agent.run(str(request), **options))

        return asummarize

    def summarize(request: SummaryRequest) -> Answer:
        return _of_pydantic_ai(agent.run_sync(str(request), **options))

    return summarize


def from_text(function: Callable[[str], Any]) -> Summarizer:
    """Use a function from one text to a text, sync or async."""
    if inspect.iscoroutinefunction(function):

        async def asummarize(request: SummaryRequest) -> Answer:
            answer: Answer = await function(str(request))
            return answer

        return asummarize

    def summarize(request: SummaryRequest) -> Answer | Awaitable[Answer]:
        answer: Answer | Awaitable[Answer] = function(str(request))
        return answer

    return summarize


def _no_retries(client: Any) -> Any:
    return client.with_options(max_retries=0) if hasattr(client, "with_options") else client


def _named(summarize: Summarizer, client: Any) -> Summarizer:
    """Return a coroutine function for an async client, so that it is not run in a thread."""
    if not type(client).__name__.startswith("Async"):
        return summarize

    async def asummarize(request: SummaryRequest) -> Answer:
        answer = summarize(request)
        return await answer if inspect.isawaitable(answer) else answer

    return asummarize


def _then(value: Any, read: Callable[[Any], SummaryReply]) -> Answer | Awaitable[Answer]:
    if not inspect.isawaitable(value):
        return read(value)

    async def waited() -> Answer:
        return read(await value)

    return waited()


def _of_openai(reply: Any) -> SummaryReply:
    choices = getattr(reply, "choices", None) or []
    usage = getattr(reply, "usage", None)
    if not choices:
        return SummaryReply(text="")
    message, reason = choices[0].message, choices[0].finish_reason
    text = message.content or ""
    refusal = getattr(message, "refusal", None)
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    return SummaryReply(
        text=text if isinstance(text, str) else "",
        refused=bool(refusal) or reason in _REFUSALS,
        tool_call=bool(getattr(message, "tool_calls", None)) or reason in _CALLS,
        thinking=bool(thought) and not text,
        input_tokens=getattr(usage, "prompt_tokens", None),
        output_tokens=getattr(usage, "completion_tokens", None),
    )


def _of_anthropic(reply: Any) -> SummaryReply:
    blocks = getattr(reply, "content", None) or []
    usage = getattr(reply, "usage", None)
    text = "\n".join(block.text for block in blocks if block.type == "text")
    return SummaryReply(
        text=text,
        refused=reply.stop_reason in _REFUSALS,
        tool_call=reply.stop_reason in _CALLS or any(block.type == "tool_use" for block in blocks),
        thinking=not text and any("thinking" in block.type for block in blocks),
        input_tokens=getattr(usage, "input_tokens", None),
        output_tokens=getattr(usage, "output_tokens", None),
    )


def _of_langchain(reply: Any) -> SummaryReply:
    content = getattr(reply, "content", reply)
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, dict) else str(part) for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    return SummaryReply(text=str(content or ""), tool_call=bool(getattr(reply, "tool_calls", None)))


def _of_pydantic_ai(result: Any) -> SummaryReply:
    output = getattr(result, "output", None)
    return SummaryReply(text=output if isinstance(output, str) else "")
