from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, final

__all__ = [
    "Outcome",
    "Policy",
    "StreamCounter",
    "compact",
    "count_text",
    "count_texts",
    "count_tokens",
    "inspect",
    "prefix",
    "repair",
    "suffix",
    "truncate",
    "validate",
]

_Counter: TypeAlias = str | Callable[[str], int]
_Edit: TypeAlias = tuple[str, str, int | None, int | None, int, int, str]

@final
class Policy:
    def __new__(cls, settings: Mapping[str, Any]) -> Policy: ...

@final
class Outcome:
    @property
    def messages(self) -> list[Any]: ...
    @property
    def before(self) -> int: ...
    @property
    def after(self) -> int: ...
    @property
    def fits(self) -> bool: ...
    @property
    def rung(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def format(self) -> str: ...
    @property
    def core(self) -> list[tuple[str, int]]: ...
    def edits(self) -> list[_Edit]: ...

def compact(
    messages: Any,
    *,
    limit: int,
    policy: Policy,
    counter: _Counter,
    format: str | None = None,
    system: Any | None = None,
    tools: Any | None = None,
) -> Outcome: ...
def repair(messages: Any, *, counter: _Counter, format: str | None = None) -> Outcome: ...
def validate(messages: Any, *, format: str | None = None) -> list[tuple[str, int, int | None, str]]: ...
def count_tokens(
    messages: Any,
    *,
    counter: _Counter,
    format: str | None = None,
    system: Any | None = None,
    tools: Any | None = None,
) -> int: ...
def inspect(
    messages: Any,
    *,
    counter: _Counter,
    format: str | None = None,
    system: Any | None = None,
    tools: Any | None = None,
) -> dict[str, Any]: ...
def truncate(text: str, max_tokens: int, *, marker: str, counter: _Counter) -> str | None: ...
def count_text(text: str, encoding: str) -> int: ...
def count_texts(texts: list[str], encoding: str) -> list[int]: ...
def prefix(text: str, encoding: str, max_tokens: int) -> str: ...
def suffix(text: str, encoding: str, max_tokens: int) -> str: ...

@final
class StreamCounter:
    def __new__(cls, encoding: str) -> StreamCounter: ...
    def append(self, text: str) -> None: ...
    @property
    def total(self) -> int: ...
