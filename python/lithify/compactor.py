"""The public functions: compact, acompact, repair, validate, truncate, count, inspect.

Each converts its arguments, calls the engine once, and wraps what comes back. Decisions are the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from lithify import _core
from lithify.errors import DoesNotFit, InvalidInput, describe
from lithify.policy import Policy
from lithify.result import Inspection, Plan, Result, ToolResult, Violation

if TYPE_CHECKING:
    from lithify.models import Model
    from lithify.summarize.drive import SummaryState
    from lithify.summarize.protocol import Summarizer, SummaryReport

MustKeep = Sequence[str | re.Pattern[str]]
"""Texts and compiled patterns that have to survive."""

TokenCounter = Callable[[str], int]
"""Takes a text, gives its tokens. A `tiktoken.Encoding` or a `tokenizers.Tokenizer` does as well."""

TRUNCATED: Final = "[truncated: output exceeded context limit]"
_MOST: Final = 1 << 53
_EXACT: Final = ("o200k_base", "o200k_harmony", "cl100k_base")
_PRUNED: Final = ("prune", "minimal")
_FORMATS: Final = ("openai_chat", "openai", "anthropic", "responses", "gemini", "bedrock")


def compact(
    messages: Any,
    window: float | None = None,
    *,
    model: str | None = None,
    reserve: int | None = None,
    system: Any = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002 (the word users know)
    policy: Policy | None = None,
    token_counter: Any = None,
    on_misfit: Literal["raise", "return"] = "raise",
    summarizer: Summarizer | Literal["extract"] | None = None,
    instructions: str | None = None,
    must_keep: MustKeep = (),
    state: SummaryState | None = None,
) -> Result:
    """Fit a history into a context window; never changes what is passed in.

    Args:
        messages: the list of messages, in the provider's own shape; mappings or the SDK's objects.
        window: the model's context window, in tokens. With `model=` it overrides the known one.
        model: a model's name; gives window, reserve and counter.
        reserve: tokens kept for the reply; 0 with `window` alone, the model's own share with `model=`.
        system: system text that the provider keeps beside the list; it is counted, never changed.
        tools: tool definitions; counted, never changed.
        format: `"openai_chat"`, `"anthropic"`, `"responses"`, `"gemini"` or `"bedrock"`; detected when left
            out.
        policy: the settings.
        token_counter: `"o200k_base"`, `"o200k_harmony"` or `"cl100k_base"` for exact counts, a callable
            from text to tokens, a `tiktoken.Encoding` or a `tokenizers.Tokenizer`; the built-in estimate
            when left out.
        on_misfit: `"return"` gives the best history with `fits=False` where `"raise"` raises `DoesNotFit`.
        summarizer: tells what was dropped: any callable from a `SummaryRequest` to a text, such as those of
            `lithify.summarize`, or `"extract"` for nine sections made by code. When the callable fails, code
            takes over; `result.summary` says how it went.
        instructions: the caller's own rules for the summarizer, such as "keep: order id; drop: raw records".
        must_keep: texts and compiled patterns; what they name in the dropped messages is put back.
        state: what this conversation remembers of earlier failures of the summarizer, and how to wait.

    Raises:
        InvalidInput: an argument or a message of the wrong shape; says index, field and remedy.
        PinnedInvalid: a pinned message would have to change for the provider to accept the history.
        DoesNotFit: what may not be given up is larger than the window.
        CounterError: the counter raised or returned nonsense.
        Exception: what the summarizer raised, when it could not authenticate or was cancelled.

    """
    begun = _begin(
        messages,
        window,
        model=model,
        reserve=reserve,
        system=system,
        tools=tools,
        format=format,
        policy=policy,
        token_counter=token_counter,
        on_misfit=on_misfit,
        summarizer=summarizer,
        instructions=instructions,
        must_keep=must_keep,
        state=state,
    )
    if isinstance(begun, Result):
        return begun
    layer, steps = begun
    return layer.result(layer.drive.run(steps, layer.summarizer, layer.policy.summary, layer.state))


async def acompact(
    messages: Any,
    window: float | None = None,
    *,
    model: str | None = None,
    reserve: int | None = None,
    system: Any = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002
    policy: Policy | None = None,
    token_counter: Any = None,
    on_misfit: Literal["raise", "return"] = "raise",
    summarizer: Summarizer | Literal["extract"] | None = None,
    instructions: str | None = None,
    must_keep: MustKeep = (),
    state: SummaryState | None = None,
) -> Result:
    """Do what `compact` does and wait for the summarizer without blocking; chunks are asked for together.

    An async summarizer is awaited; a sync one runs in a thread. Cancelling leaves everything as it was.
    """
    begun = _begin(
        messages,
        window,
        model=model,
        reserve=reserve,
        system=system,
        tools=tools,
        format=format,
        policy=policy,
        token_counter=token_counter,
        on_misfit=on_misfit,
        summarizer=summarizer,
        instructions=instructions,
        must_keep=must_keep,
        state=state,
    )
    if isinstance(begun, Result):
        return begun
    layer, steps = begun
    written = await layer.drive.arun(steps, layer.summarizer, layer.policy.summary, layer.state)
    return layer.result(written)


def _begin(
    messages: Any,
    window: float | None,
    *,
    model: str | None,
    reserve: int | None,
    system: Any,
    tools: Any,
    format: str | None,  # noqa: A002
    policy: Policy | None,
    token_counter: Any,
    on_misfit: str,
    summarizer: Any,
    instructions: str | None,
    must_keep: MustKeep,
    state: SummaryState | None,
) -> Result | tuple[_Layer, Any]:
    """Do all of `compact` that asks no model: the result, or layer 3 and the steps in which to ask one."""
    known = known_model(model)
    limit = input_limit(window, known, reserve)
    checked = _checked(policy)
    counter = counter_for(token_counter, known)
    named = _named(format)
    outcome = _outcome(messages, limit, checked, counter, named, system, tools, on_misfit)
    if summarizer is None and not must_keep and not (outcome.rung in _PRUNED and _had_summary(messages)):
        return _result(outcome, limit)
    layer = _Layer(messages, outcome, limit, checked, counter, named, system, tools)
    steps = layer.steps(summarizer, instructions, must_keep, state)
    if steps is None:
        return layer.result(None)
    if not layer.asked or layer.broken:
        return layer.result(layer.drive.without_model(steps))
    return layer, steps


def _outcome(  # noqa: PLR0917 (private)
    messages: Any,
    limit: int,
    policy: Policy,
    counter: Any,
    named: str | None,
    system: Any,
    tools: Any,
    on_misfit: str,
) -> _core.Outcome:
    """Let the engine do layers 1 and 2."""
    if on_misfit not in ("raise", "return"):
        raise InvalidInput(field="on_misfit", expected='"raise" or "return"', got=describe(on_misfit))
    outcome = _core.compact(
        messages,
        limit=limit,
        policy=_native(policy),
        counter=counter,
        format=named,
        system=system,
        tools=tools,
    )
    if not outcome.fits and on_misfit == "raise":
        core = dict(outcome.core)
        raise DoesNotFit(
            tokens=outcome.after,
            limit=limit,
            irreducible=outcome.after,
            core=core,
            best=outcome.messages,
        )
    return outcome


class _Layer:
    """Layer 3 for one call: what `compact` and `acompact` share. Its modules are loaded when it is used."""

    def __init__(  # noqa: PLR0917 (private)
        self,
        messages: Any,
        outcome: _core.Outcome,
        limit: int,
        policy: Policy,
        counter: Any,
        named: str | None,
        system: Any,
        tools: Any,
    ) -> None:
        from lithify.summarize import drive, ladder, layer, protocol  # noqa: PLC0415

        self.drive, self.ladder, self.layer, self.protocol = drive, ladder, layer, protocol
        self.messages, self.outcome, self.limit, self.policy = messages, outcome, limit, policy
        self.counter, self.named, self.system, self.tools = counter, named, system, tools
        self.job: Any = None
        self.state = drive.SummaryState()
        self.summarizer: Any = None
        self.asked = self.broken = False

    def steps(
        self, summarizer: Any, instructions: str | None, must_keep: MustKeep, state: SummaryState | None
    ) -> Any:
        """Return the ladder to be driven; None when there is nothing to be written."""
        if summarizer is not None and summarizer != "extract" and not callable(summarizer):
            raise InvalidInput(
                field="summarizer", expected='a callable, "extract" or None', got=describe(summarizer)
            )
        wishes = _wishes(must_keep)
        if instructions is not None and not isinstance(instructions, str):
            raise InvalidInput(field="instructions", expected="a text", got=describe(instructions))
        self.state = state if state is not None else self.state
        self.summarizer, self.asked = summarizer, callable(summarizer)
        self.job = self.layer.plan(
            self.messages,
            self.outcome,
            limit=self.limit,
            policy=self.policy,
            count=lambda text: _core.count_tokens(text, counter=self.counter),
            must_keep=wishes,
            instructions=instructions,
            asked=summarizer is not None,
            model=self.asked,
        )
        if self.job is None or self.job.task is None:
            return None
        self.broken = self.state.failures >= self.policy.summary.breaker
        return self.ladder.climb(self.job.task, model=self.asked and not self.broken)

    def result(self, written: Any) -> Result:
        """Put what was written into the history; the engine's own result where nothing was."""
        outcome, warnings = self.outcome, list(self.outcome.warnings)
        if self.job is not None and self.job.kept is not None:
            written = self.ladder.Written(text=self.job.kept, rung="kept")
        if written is None:
            report = self.protocol.SummaryReport(rung="notice") if outcome.rung in _PRUNED else None
            return _result(outcome, self.limit, summary=report)
        if self.asked and written.rung != "kept":
            failed = written.rung == "extract"
            if failed and not self.broken:
                warnings.append("the summarizer gave nothing usable: the summary was extracted by code")
            elif failed:
                warnings.append("the summarizer failed several times in a row and was not asked")
            self.state.failures = 0 if not failed else self.state.failures + (not self.broken)
        placed = self.layer.place(outcome, self.job, written, self.recount, self.limit)
        if placed is None:
            report = self.protocol.SummaryReport(rung="notice", attempts=written.attempts)
            return _result(outcome, self.limit, summary=report, warnings=warnings)
        messages, tokens, report = placed
        return _result(
            outcome,
            self.limit,
            summary=report,
            warnings=warnings,
            messages=messages,
            tokens=tokens,
            rung=None if written.rung == "kept" else written.rung,
        )

    def recount(self, messages: list[Any]) -> int:
        return _core.count_tokens(
            messages, counter=self.counter, format=self.outcome.format, system=self.system, tools=self.tools
        )


def _wishes(must_keep: Any) -> tuple[str | re.Pattern[str], ...]:
    if isinstance(must_keep, str) or not isinstance(must_keep, Iterable):
        raise InvalidInput(
            field="must_keep", expected="a list of texts and patterns", got=describe(must_keep)
        )
    wishes = tuple(must_keep)
    for at, wish in enumerate(wishes):
        fine = isinstance(wish, str) or (isinstance(wish, re.Pattern) and isinstance(wish.pattern, str))
        if not fine:
            raise InvalidInput(
                field=f"must_keep[{at}]", expected="a text or a compiled pattern", got=describe(wish)
            )
    return wishes


def _had_summary(messages: Any) -> bool:
    """Tell whether a summary of ours stands at the head: up to the second user message."""
    users = 0
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        content = message.get("content")
        holders = [message, *(content if isinstance(content, list | tuple) else ())]
        for holder in holders:
            mark = holder.get("_lithify") if isinstance(holder, Mapping) else None
            if isinstance(mark, Mapping) and mark.get("kind") == "summary":
                return True
        users += message.get("role") == "user"
        if users > 1:
            return False
    return False


def repair(messages: Any, *, format: str | None = None, token_counter: Any = None) -> Result:  # noqa: A002
    """Make a history valid for its provider, and nothing else. A valid one comes back as the same elements.

    Raises `InvalidInput`, `PinnedInvalid` and `CounterError` as `compact` does.
    """
    outcome = _core.repair(messages, counter=counter_for(token_counter, None), format=_named(format))
    return _result(outcome, None)


def validate(messages: Any, *, format: str | None = None) -> list[Violation]:  # noqa: A002
    """Return what the provider would refuse, in order; an empty list for a valid history.

    Calls that are still open at the end are no violation.
    Raises `InvalidInput` for what is no history at all.
    """
    return [Violation(*row) for row in _core.validate(messages, format=_named(format))]


def truncate(text: str, max_tokens: int, *, marker: str = TRUNCATED, token_counter: Any = None) -> str:
    """Cut a text to `max_tokens`, marker included, at a line break where one is near.

    A text that fits comes back as it is.

    Raises `InvalidInput` when the text does not fit and the marker alone does not either, for a text that is
    no string, and for a budget that is no whole number of 0 or more.
    """
    if not isinstance(text, str):
        raise InvalidInput(field="text", expected="a string", got=describe(text))
    limit = _tokens("max_tokens", max_tokens, least=0)
    counter = counter_for(token_counter, None)
    cut = _core.truncate(text, limit, marker=marker, counter=counter)
    if cut is None:
        least = _core.count_tokens(marker, counter=counter)
        raise InvalidInput(
            field="max_tokens", expected=f"at least the {least} tokens of the marker", got=str(limit)
        )
    return cut


def count_tokens(
    messages: Any,
    *,
    model: str | None = None,
    system: Any = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002
    token_counter: Any = None,
) -> int:
    """Return the tokens of a history as a request, or of one string as plain text."""
    return _core.count_tokens(
        messages,
        counter=counter_for(token_counter, known_model(model)),
        format=_named(format),
        system=system,
        tools=tools,
    )


def inspect(
    messages: Any,
    *,
    model: str | None = None,
    system: Any = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002
    token_counter: Any = None,
) -> Inspection:
    """Return what a history is made of: tokens by category and message, its tool results, its violations."""
    name = _named(format)
    counter = counter_for(token_counter, known_model(model))
    report = _core.inspect(messages, counter=counter, format=name, system=system, tools=tools)
    return Inspection(
        format=report["format"],
        total=report["total"],
        messages=len(report["tokens"]),
        tokens=report["tokens"],
        categories=report["categories"],
        results=[ToolResult(*row) for row in report["results"]],
        violations=validate(messages, format=report["format"]),
    )


def pin(message: Any) -> dict[str, Any]:
    """Return a copy of a message, as a dict, that is never changed and never dropped. `wire` takes it off.

    Takes mappings and the SDKs' own objects. Raises `InvalidInput` for anything else.
    """
    return {**_fields(message), "_pin": True}


def _fields(message: Any) -> dict[str, Any]:
    if isinstance(message, Mapping):
        return dict(message)
    if hasattr(message, "model_dump"):
        return dict(message.model_dump(exclude_none=True, by_alias=True))
    names = getattr(type(message), "__dataclass_fields__", None) or getattr(
        type(message), "__struct_fields__", None
    )
    if names is None:
        raise InvalidInput(
            field="message",
            expected="a message: a mapping or an SDK's own object",
            got=describe(message),
            remedy="Pass one message of the history.",
        )
    return {name: getattr(message, name) for name in names if getattr(message, name) is not None}


def wire(messages: Any) -> list[Any]:
    """Return the messages without underscore keys, as a provider takes them.

    Keys are taken off messages, their content blocks (also those inside results) and their tool calls, never
    from arguments. Only what carries such keys is copied; all else are the same objects.
    """
    if not isinstance(messages, list | tuple):
        raise InvalidInput(field="messages", expected="a list of messages", got=describe(messages))
    return [_bare(message) for message in messages]


def _bare(value: Any) -> Any:
    """Return a message or block without underscore keys, at every depth that is ours to look at."""
    if not isinstance(value, Mapping):
        return value
    out: dict[str, Any] = {}
    changed = False
    for key, item in value.items():
        if isinstance(key, str) and key.startswith("_"):
            changed = True
            continue
        new = item
        if key in ("content", "tool_calls", "parts") and isinstance(item, list | tuple):
            bare = [_bare(block) for block in item]
            if any(a is not b for a, b in zip(bare, item, strict=True)):
                new, changed = bare, True
        out[key] = new
    return out if changed else value


def input_limit(window: float | None, known: Model | None, reserve: int | None) -> int:
    """Return the tokens that a request may hold: window less reserve.

    Raises `InvalidInput` when neither window nor model is given, and when nothing is left.
    """
    if window is None and known is None:
        raise InvalidInput(
            field="window",
            expected="a window in tokens, or a model",
            got="neither",
            remedy="Pass window= or model=.",
        )
    if window is None and reserve is None and known is not None:
        return known.input_limit
    size = known.window if window is None and known is not None else _tokens("window", window, least=1)
    if reserve is None:
        kept = 0 if known is None else min(known.reserve, size * 15 // 100)
    else:
        kept = _tokens("reserve", reserve, least=0)
    if kept >= size:
        raise InvalidInput(
            field="reserve",
            expected=f"less than the window of {size:,} tokens",
            got=f"{kept:,}",
            remedy="Lower the reserve, or pass a larger window.",
        )
    return size - kept


def _tokens(field: str, value: Any, *, least: int) -> int:
    """Return a number of tokens as an int; a float is accepted when it is whole, as in `2e5`."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not least <= value < _MOST:
        expected = f"a whole number of tokens, {least} or more"
        raise InvalidInput(field=field, expected=expected, got=describe(value))
    return int(value)


def known_model(model: str | None) -> Model | None:
    """Return what is known of a model; None for no model."""
    if model is None:
        return None
    from lithify.models import lookup  # noqa: PLC0415 (the table is loaded when it is needed)

    return lookup(model)


def _named(name: str | None) -> str | None:
    if name is None or name in _FORMATS:
        return name
    expected = '"openai_chat", "anthropic", "responses", "gemini" or "bedrock"'
    raise InvalidInput(field="format", expected=expected, got=describe(name))


def _checked(policy: Policy | None) -> Policy:
    if policy is None:
        return _DEFAULT
    if not isinstance(policy, Policy):
        raise InvalidInput(field="policy", expected="a lithify.Policy", got=describe(policy))
    return policy


@lru_cache(maxsize=64)
def _native(policy: Policy) -> _core.Policy:
    return _core.Policy(policy.to_dict())


_DEFAULT: Final = Policy()


def counter_for(token_counter: Any, known: Model | None) -> Any:
    """Return what the engine takes as a counter: the name of an estimate, or a callable."""
    if token_counter is None:
        encoding = None if known is None else known.encoding
        return encoding if encoding in ("o200k_base", "cl100k_base") else "default"
    if isinstance(token_counter, str):
        if token_counter not in _EXACT:
            raise InvalidInput(
                field="token_counter", expected=" or ".join(_EXACT), got=describe(token_counter)
            )
        return f"exact:{token_counter}"
    if hasattr(token_counter, "encode_ordinary"):
        return lambda text: len(token_counter.encode_ordinary(text))
    if hasattr(token_counter, "encode") and hasattr(token_counter, "get_vocab_size"):
        return lambda text: len(token_counter.encode(text, add_special_tokens=False).ids)
    if callable(token_counter):
        return token_counter
    raise InvalidInput(
        field="token_counter",
        expected="a callable from text to tokens, a tiktoken.Encoding or a tokenizers.Tokenizer",
        got=describe(token_counter),
    )


def _result(
    outcome: _core.Outcome,
    limit: int | None,
    *,
    summary: SummaryReport | None = None,
    warnings: Sequence[str] | None = None,
    messages: list[Any] | None = None,
    tokens: int | None = None,
    rung: str | None = None,
) -> Result:
    """Wrap what the engine returned; with `messages` and `tokens`, as layer 3 changed its notice."""
    plan = Plan(outcome.edits)
    if tokens is not None:
        # The notice's own edit stands; this one says what it grew to, so that the sums stay right.
        grown = tokens - outcome.after
        row = ("summary", "summary", None, None, 0, grown, "what was dropped, told in the notice")
        plan = Plan(lambda: [*outcome.edits(), row])
    return Result(
        messages=outcome.messages if messages is None else messages,
        fits=outcome.fits,
        tokens_before=outcome.before,
        tokens_after=outcome.after if tokens is None else tokens,
        limit=limit,
        rung=rung or outcome.rung,
        warnings=tuple(outcome.warnings if warnings is None else warnings),
        format=outcome.format,
        plan=plan,
        summary=summary,
    )
