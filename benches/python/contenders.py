"""Everything that is timed, behind one shape: prepare (untimed), run (timed), check (untimed, may raise)."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, Protocol

from benches.inputs import histories
from benches.python import checks
from benches.python.rivals import frameworks, pure

if TYPE_CHECKING:
    from benches.inputs.histories import Format
    from benches.inputs.script import Message


class Contender(Protocol):
    """What is timed. `check` returns facts for the report and raises `AssertionError` on a wrong result."""

    name: str
    does: str

    def prepare(self, messages: list[Message], window: int) -> Any:
        """Turn the dicts into what `run` takes; not timed."""

    def run(self, prepared: Any) -> Any:
        """Do the work; timed."""

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        """Assert that the output is right."""


class Lithify:
    """`lithify.compact` with its defaults: repair, both layers, carry-over, class-aware estimate."""

    does = "all of it"

    def __init__(self, name: str = "Lithify") -> None:
        import lithify  # noqa: PLC0415 -- the generators and rivals work without the built extension

        self.name, self.lithify = name, lithify

    def prepare(self, messages: list[Message], window: int) -> Any:
        """Nothing to prepare: it takes the dicts."""
        return messages, window

    def run(self, prepared: Any) -> Any:
        """Compact."""
        messages, window = prepared
        return self.lithify.compact(messages, window=window)

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        """Fits, valid by two judges, newest results untouched, cleared results as the plan says."""
        after = output.messages
        assert output.fits
        assert output.tokens_after <= output.limit == window, (
            f"{output.tokens_after} tokens do not fit {window}"
        )
        assert self.lithify.count_tokens(after) == output.tokens_after, "the forecast is not the recount"
        assert self.lithify.validate(after) == []
        calls = checks.pairs(after)
        checks.newest_results_stand(before, after)
        kept = {identity for identity, _ in checks.results(after)}
        planned = sum(
            identity in kept
            for edit in output.plan.edits
            if edit.kind == "clear" and edit.index is not None
            for identity in _edited(before[edit.index], edit.part)
        )
        count = checks.cleared(after)
        assert count == planned, f"{count} results are cleared, the plan says {planned}"
        all_cleared = sum(edit.kind == "clear" for edit in output.plan.edits)
        assert all_cleared > 0, "layer 1 did not run"
        return {
            "messages": len(after),
            "tokens": output.tokens_after,
            "tokens_before": output.tokens_before,
            "cleared": all_cleared,
            "removed": _removed(before, after),
            "calls_kept": calls,
        }


def _removed(before: list[Message], after: list[Message]) -> int:
    """Return how many messages were dropped; the notice that stands for them is one more."""
    pruned = len(after) < len(before)
    return len(before) - len(after) + 1 if pruned else 0


def _edited(message: Message, part: int | None) -> list[str]:
    """Return the call ids of the result that an edit names."""
    if message["role"] == "tool":
        return [message["tool_call_id"]]
    return [message["content"][part]["tool_use_id"]]


class Pure:
    """The plain-Python rival, with one of its two estimates."""

    does = "repair, clearing and pruning by the same thresholds; no ranks, no error protection, no carry-over"

    def __init__(self, estimate: str) -> None:
        self.estimate = pure.estimate_chars if estimate == "len // 4" else pure.estimate_classes
        self.name = f"pure Python, {estimate}"

    def prepare(self, messages: list[Message], window: int) -> Any:
        """Nothing to prepare: it takes the dicts."""
        return messages, window

    def run(self, prepared: Any) -> Any:
        """Compact."""
        messages, window = prepared
        return pure.compact(messages, window, self.estimate)

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        """Fits by its own estimate, valid, newest results untouched, both layers ran."""
        rival = (pure.Anthropic if pure.is_anthropic(before) else pure.OpenAI)(window, self.estimate)
        tokens = 3 + sum(rival.cost(message) for message in output)
        assert tokens <= window, f"{tokens} tokens do not fit {window}"
        checks.pairs(output)
        checks.newest_results_stand(before, output)
        count = checks.cleared(output)
        assert count > 0, "layer 1 did not run"
        return {
            "messages": len(output),
            "tokens": tokens,
            "cleared": count,
            "removed": _removed(before, output),
        }


class Floor:
    """Touches every character of every text once from C, and does nothing else."""

    name = "floor"
    does = "nothing: looks for one character in every text from C"

    def prepare(self, messages: list[Message], window: int) -> Any:
        """Collect the texts, so that only the touching is timed."""
        del window
        return histories.texts(messages)

    def run(self, prepared: Any) -> Any:
        """Look for DEL, which is nowhere, so each text is read to its end."""
        return sum(map(str.find, prepared, itertools.repeat("\x7f")))

    def check(self, before: list[Message], window: int, output: Any) -> dict[str, int]:
        """Every text answered -1."""
        del window
        assert output == -len(histories.texts(before))
        return {}


LITELLM_LIMIT = 20_000


def contenders(form: Format, tokens: int, *, with_frameworks: bool = True) -> list[Contender]:
    """Return all that can run on a history of this format and size; ours first, its control second."""
    chosen: list[Contender] = [Lithify(), Lithify("Lithify again (control)"), *pures(), Floor()]
    if with_frameworks and form == "openai_chat":
        chosen += [frameworks.LangChainTrim(), frameworks.LangChainEditing(), frameworks.AgentsTrimmer()]
        if tokens <= LITELLM_LIMIT:
            chosen.append(frameworks.LiteLLMTrim())
    return chosen


@functools.cache
def pures() -> tuple[Contender, ...]:
    """Return the two plain-Python rivals."""
    return Pure("len // 4"), Pure("classes by re")
