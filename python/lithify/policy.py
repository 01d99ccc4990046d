"""Settings: every constant of the two layers, with its default, its unit and where it comes from.

A policy is frozen and checked when it is built, so the engine never meets a wrong one. Two kinds of amounts:

* a *share* (`float`, 0 to 1) multiplies the input limit, which is the window minus the reserve;
* an `int` is tokens.

So `trigger=0.75` follows the window, and `trigger=60_000` does not. `1.0` is the whole limit and `1` is one
token.

`Policy.literal()` is the plain rule set without our extensions. "Spec" below means the five-strategy rules
that `literal` follows to the letter; "ours" means an extension of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, TypeVar

import msgspec

from lithify.errors import InvalidPolicy, describe

__all__ = [
    "LISTED_TOOLS",
    "PROTECTED_TOOLS",
    "READER_TOOLS",
    "TOOL_GROUPS",
    "Clear",
    "Policy",
    "Prune",
    "normalize_tool_name",
]

_MAX_INT = 2**53 - 1  # the largest whole number that every JSON reader keeps exactly
_SEPARATORS = re.compile(r"__|[./:]")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]")


def normalize_tool_name(name: str) -> str:
    """Return the form in which tool names are compared: `mcp__fs__Read_File` gives `readfile`.

    It is the last piece after `__`, `.`, `/` or `:`, ASCII letters and digits only, in lower case.
    """
    return _NOT_WORD.sub("", _SEPARATORS.split(name)[-1]).lower()


TOOL_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Read File": (
            "Read File",
            "Read",
            "View",
            "View File",
            "Cat",
            "Open",
            "Open File",
            "File Read",
            "fs_read",
            "read_many_files",
            "read_multiple_files",
            "read_text_file",
            "read_notebook",
            "NotebookRead",
            "get_file_contents",
            "scroll_up",
            "scroll_down",
            "goto",
        ),
        "Bash": (
            "Bash",
            "Bash Tool",
            "Run Bash",
            "Bash Output",
            "Sh",
            "Zsh",
            "Shell",
            "Shell Command",
            "Local Shell",
            "PowerShell",
            "Pwsh",
            "Cmd",
            "Terminal",
            "Exec",
            "exec_command",
            "write_stdin",
            "execute_bash",
            "execute_command",
            "execute_shell_command",
            "run_command",
            "run_shell",
            "run_shell_command",
            "run_terminal_cmd",
            "run_terminal_command",
            "run_in_terminal",
            "get_terminal_output",
        ),
        "Grep": (
            "Grep",
            "Grep Tool",
            "grep_search",
            "grep_files",
            "git_grep",
            "Rg",
            "Ripgrep",
            "search_file_content",
            "search_for_pattern",
            "search_text",
        ),
        "Glob": (
            "Glob",
            "Glob Tool",
            "file_search",
            "find_file",
            "find_files",
            "find_by_name",
            "list_files",
            "list_dir",
            "list_directory",
            "directory_tree",
            "Ls",
        ),
        "Search Files": (
            "Search Files",
            "search_file",
            "search_dir",
            "search_code",
            "code_search",
            "codebase_search",
            "search_codebase",
            "semantic_search",
        ),
        "Web Fetch": (
            "Web Fetch",
            "Fetch",
            "fetch_url",
            "fetch_webpage",
            "fetch_content",
            "url_fetch",
            "read_url",
            "read_url_content",
            "open_url",
            "visit_webpage",
            "http_get",
            "Web Search",
            "search_web",
            "google_web_search",
            "brave_web_search",
            "tavily_search",
        ),
        "Edit": (
            "Edit",
            "Edit File",
            "File Edit",
            "Multi Edit",
            "Notebook Edit",
            "edit_notebook",
            "Replace",
            "replace_in_file",
            "replace_string_in_file",
            "search_replace",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "text_editor",
            "insert",
            "insert_content",
            "insert_edit_into_file",
            "apply_patch",
            "apply_diff",
        ),
    }
)
"""The seven kinds of tools whose old results go first, each with the names real agents give it. Kinds: spec,
names: ours."""

LISTED_TOOLS: tuple[str, ...] = tuple(
    normalize_tool_name(name) for names in TOOL_GROUPS.values() for name in names
)
"""All names of `TOOL_GROUPS`, normalized: what they bring back can be had by calling them again."""

READER_TOOLS: tuple[str, ...] = tuple(map(normalize_tool_name, TOOL_GROUPS["Read File"]))
"""Names of tools that read a file, normalized: a later read of a file makes an earlier one a repeat."""

_PROTECTED: tuple[str, ...] = (
    # What was written: the proof that it happened, and it must not happen twice.
    "Write",
    "Write File",
    "File Write",
    "fs_write",
    "write_to_file",
    "write_text_file",
    "Save File",
    "Create",
    "Create File",
    "New File",
    # The plan of the work.
    "Todo Write",
    "write_todos",
    "update_plan",
    "Exit Plan Mode",
    # The user's own words.
    "Ask User",
    "Ask User Question",
    "ask_followup_question",
    "request_user_input",
)
PROTECTED_TOOLS: tuple[str, ...] = tuple(normalize_tool_name(name) for name in _PROTECTED)
"""Results of these are never cleared: writes, plans, the user's answers. Write, Create: spec; rest: ours."""


_Settings = TypeVar("_Settings", bound=msgspec.Struct)


def _known(kind: type[_Settings], prefix: str, data: object) -> dict[str, Any]:
    """Return `data` as keyword arguments of `kind`, or raise when it has other names or is no mapping."""
    if not isinstance(data, Mapping):
        raise InvalidPolicy(field=prefix or "policy", expected="a mapping of settings", got=describe(data))
    names = kind.__struct_fields__
    for name in data:
        if name not in names:
            field = f"{prefix}.{name}" if prefix else str(name)
            raise InvalidPolicy(field=field, expected=f"one of {', '.join(names)}", got=describe(name))
    return dict(data)


def _plain(settings: msgspec.Struct) -> dict[str, Any]:
    """Return the fields as JSON would hold them."""
    values = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _is_int(value: object) -> bool:
    """Tell whether `value` is a whole number; `True` is not one here."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_amount(group: str, name: str, value: object, *, zero: bool) -> None:
    """Check a share of the limit (float) or a number of tokens (int); `zero` tells whether 0 is allowed."""
    low = "0 or" if zero else "above 0,"
    if isinstance(value, float):
        fine = math.isfinite(value) and value <= 1 and (value > 0 or (zero and value == 0))
    elif _is_int(value):
        fine = (0 if zero else 1) <= value <= _MAX_INT  # type: ignore[operator]
    else:
        fine = False
    if not fine:
        expected = f"a share (float, {low} up to 1.0) or tokens (int, {0 if zero else 1} or more)"
        raise InvalidPolicy(field=f"{group}.{name}", expected=expected, got=describe(value))


def _check_fraction(group: str, name: str, value: object) -> None:
    """Check a share of something else than the limit, where tokens make no sense. 0 may be an int."""
    if isinstance(value, float):
        fine = math.isfinite(value) and 0 <= value <= 1
    else:
        fine = _is_int(value) and value == 0
    if not fine:
        raise InvalidPolicy(
            field=f"{group}.{name}", expected="a share (float, 0.0 to 1.0)", got=describe(value)
        )


def _check_count(group: str, name: str, value: object) -> None:
    if not (_is_int(value) and 0 <= value <= _MAX_INT):  # type: ignore[operator]
        raise InvalidPolicy(
            field=f"{group}.{name}", expected="a whole number, 0 or more", got=describe(value)
        )


def _check_bool(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidPolicy(field=field, expected="True or False", got=describe(value))


def _check_names(settings: msgspec.Struct, group: str, name: str) -> None:
    """Check tool names and keep them normalized, each once, so that equal settings compare equal."""
    value = getattr(settings, name)
    if any(value is known for known in (LISTED_TOOLS, PROTECTED_TOOLS, READER_TOOLS)):
        return
    # A bare string would be taken letter by letter, and a set has no order.
    if not isinstance(value, tuple | list):
        raise InvalidPolicy(
            field=f"{group}.{name}", expected="a tuple or list of tool names", got=describe(value)
        )
    normal: dict[str, None] = {}
    for position, item in enumerate(value):
        if not isinstance(item, str) or not normalize_tool_name(item):
            raise InvalidPolicy(
                field=f"{group}.{name}[{position}]",
                expected="a tool name whose last piece has an ASCII letter or digit",
                got=describe(item),
            )
        normal[normalize_tool_name(item)] = None
    msgspec.structs.force_setattr(settings, name, tuple(normal))


def _check_hysteresis(group: str, trigger: float, target: float, *, equal: bool) -> None:
    """Check that the target lies below the trigger; a share and tokens cannot be compared without a limit."""
    if isinstance(trigger, float) != isinstance(target, float):
        return
    if target > trigger or (target == trigger and not equal):
        expected = f"{'at most' if equal else 'below'} {group}.trigger ({trigger})"
        raise InvalidPolicy(field=f"{group}.target", expected=expected, got=describe(target))


class Clear(msgspec.Struct, frozen=True, kw_only=True):
    """Layer 1: what happens to tool results before every call.

    Raises `InvalidPolicy` when a field is out of its range.
    """

    single_share: int | float = 0.5
    """A result over this is truncated to it. Share or tokens, above 0. Spec."""
    trigger: int | float = 0.75
    """Results are cleared when the total is over this. Share or tokens, above 0. Spec."""
    target: int | float = 0.45
    """Clearing stops at this total. Share or tokens, below `trigger`. Ours (literal: 0.75)."""
    at_least: int | float = 0.15
    """The least freed at one go, to spare the prefix cache. Share or tokens, 0 for any. Ours (literal: 0)."""
    keep: int = 3
    """The newest results of the history that are never cleared. A count. Spec."""
    listed: tuple[str, ...] = LISTED_TOOLS
    """Tools whose results go first. Names, compared by `normalize_tool_name`. Spec, aliases ours."""
    protected: tuple[str, ...] = PROTECTED_TOOLS
    """Tools whose results are never cleared; wins over `listed`. Names. Spec, aliases ours."""
    exclude_tools: tuple[str, ...] = ()
    """The user's own additions to `protected`. Names. Ours."""
    readers: tuple[str, ...] = READER_TOOLS
    """Tools that read a file: a read repeats an earlier one of the same path. Names. Ours."""
    verbose: int = 500
    """A result of at least this size counts as verbose. Tokens. Ours."""
    verbose_turns: int = 3
    """A verbose result goes before others once this many turns began after its own. A count. Ours."""
    errors_keep_turns: int = 3
    """Errors of the last turns, this many, are never cleared. A count. Ours."""
    eager: bool = False
    """Clear repeats and old verbose results on every call, without waiting for the trigger. Ours."""
    literal: bool = False
    """Clear listed tools only, oldest first, with no ranks. Spec; our default is the wider rule."""

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("single_share", "trigger", "target"):
            _check_amount("clear", name, getattr(self, name), zero=False)
        _check_amount("clear", "at_least", self.at_least, zero=True)
        for name in ("keep", "verbose", "verbose_turns", "errors_keep_turns"):
            _check_count("clear", name, getattr(self, name))
        for name in ("listed", "protected", "exclude_tools", "readers"):
            _check_names(self, "clear", name)
        for name in ("eager", "literal"):
            _check_bool("clear." + name, getattr(self, name))
        _check_hysteresis("clear", self.trigger, self.target, equal=self.literal)
        if self.eager and self.literal:
            raise InvalidPolicy(
                field="clear.eager",
                expected="False when clear.literal is set, because the literal rules know no ranks",
                got=describe(self.eager),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with lists for tuples."""
        return _plain(self)


class Prune(msgspec.Struct, frozen=True, kw_only=True):
    """Layer 2: how the middle of a history is dropped.

    Raises `InvalidPolicy` when a field is out of its range.
    """

    trigger: int | float = 0.80
    """The middle is dropped when the total is over this after layer 1. Share or tokens, above 0. Spec."""
    target: int | float = 0.40
    """Room up to this total is filled from the middle. Share or tokens, below `trigger`. Ours."""
    keep: int = 6
    """Newest messages that stay: min(keep, floor(messages / 3)). A count. Spec."""
    carry_over: int | float = 0.05
    """The most that the carry-over may take. Share or tokens, 0 switches it off. Ours (literal: 0)."""
    recent_share: int | float = 0.5
    """Part of the room under `target` for more recent units. Share of that room. Ours (literal: 0)."""
    verbatim_share: int | float = 0.25
    """Part of the room under `target` for older user messages. Share of that room. Ours (literal: 0)."""

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("trigger", "target"):
            _check_amount("prune", name, getattr(self, name), zero=False)
        _check_amount("prune", "carry_over", self.carry_over, zero=True)
        _check_count("prune", "keep", self.keep)
        for name in ("recent_share", "verbatim_share"):
            _check_fraction("prune", name, getattr(self, name))
        _check_hysteresis("prune", self.trigger, self.target, equal=False)
        # The tolerance is for sums such as 0.7 + 0.3 that binary floats miss by a hair.
        if self.recent_share + self.verbatim_share > 1 + 1e-9:
            raise InvalidPolicy(
                field="prune.verbatim_share",
                expected=f"at most 1 together with prune.recent_share ({self.recent_share})",
                got=describe(self.verbatim_share),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return _plain(self)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a compaction: `Policy(clear=Clear(keep=5), prune=Prune(target=0.3))`.

    Raises `InvalidPolicy` when a field is of the wrong type; the nested settings check themselves.
    """

    clear: Clear = Clear()
    """Layer 1, tool results."""
    prune: Prune = Prune()
    """Layer 2, the middle of the history."""
    strict_alternation: bool = False
    """Never two user messages side by side, for servers that insist: the notice joins the first one. Ours."""

    def __post_init__(self) -> None:
        """Check the types of the nested settings."""
        if not isinstance(self.clear, Clear):
            raise InvalidPolicy(field="clear", expected="a lithify.Clear", got=describe(self.clear))
        if not isinstance(self.prune, Prune):
            raise InvalidPolicy(field="prune", expected="a lithify.Prune", got=describe(self.prune))
        _check_bool("strict_alternation", self.strict_alternation)

    @classmethod
    def literal(cls) -> Self:
        """Return the plain rules: listed tools only, no minimum, no ranks, no carry-over, no filling up."""
        return cls(
            clear=Clear(target=0.75, at_least=0, literal=True),
            prune=Prune(carry_over=0, recent_share=0.0, verbatim_share=0.0),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested data for the engine, for JSON and for `Policy.from_dict`."""
        return {
            "clear": self.clear.to_dict(),
            "prune": self.prune.to_dict(),
            "strict_alternation": self.strict_alternation,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the policy that `data` describes; missing fields take their defaults.

        Raises `InvalidPolicy` for an unknown name as well as for a wrong value.
        """
        fields = _known(cls, "", data)
        if "clear" in fields:
            fields["clear"] = Clear(**_known(Clear, "clear", fields["clear"]))
        if "prune" in fields:
            fields["prune"] = Prune(**_known(Prune, "prune", fields["prune"]))
        return cls(**fields)
