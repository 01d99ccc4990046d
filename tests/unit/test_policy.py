"""Settings: the defaults of the specification, the checks on every field, and the names of tools."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithify.errors import InvalidPolicy, describe
from lithify.policy import (
    LISTED_TOOLS,
    PROTECTED_TOOLS,
    TOOL_GROUPS,
    Clear,
    Policy,
    Prune,
    normalize_tool_name,
)

NAN, INF = float("nan"), float("inf")


def test_defaults_are_those_of_the_specification() -> None:
    policy = Policy()
    numbers = {k: v for k, v in policy.clear.to_dict().items() if not isinstance(v, list)}
    assert numbers == {
        "single_share": 0.5,
        "trigger": 0.75,
        "target": 0.45,
        "at_least": 0.15,
        "keep": 3,
        "verbose": 500,
        "verbose_turns": 3,
        "errors_keep_turns": 3,
        "eager": False,
        "literal": False,
    }
    assert policy.prune.to_dict() == {
        "trigger": 0.80,
        "target": 0.40,
        "keep": 6,
        "carry_over": 0.05,
        "recent_share": 0.5,
        "verbatim_share": 0.25,
    }
    assert policy.strict_alternation is False


def test_literal_differs_only_where_the_extensions_are() -> None:
    plain, literal = Policy(), Policy.literal()
    clear = {k: v for k, v in literal.clear.to_dict().items() if plain.clear.to_dict()[k] != v}
    prune = {k: v for k, v in literal.prune.to_dict().items() if plain.prune.to_dict()[k] != v}
    assert clear == {"target": 0.75, "at_least": 0, "literal": True}
    assert prune == {"carry_over": 0, "recent_share": 0.0, "verbatim_share": 0.0}


BAD_AMOUNTS = [-1, -0.5, 1.5, NAN, INF, -INF, True, False, "0.5", None, 2**53, 0.5j, [0.5]]
BAD_COUNTS = [-1, 0.5, 3.0, NAN, True, "3", None, 2**53, [3]]
AMOUNTS = [
    *((Clear, "clear", name) for name in ("single_share", "trigger", "target", "at_least")),
    *((Prune, "prune", name) for name in ("trigger", "target", "carry_over")),
]
COUNTS = [
    *((Clear, "clear", name) for name in ("keep", "verbose", "verbose_turns", "errors_keep_turns")),
    (Prune, "prune", "keep"),
]
FRACTIONS = [(Prune, "prune", "recent_share"), (Prune, "prune", "verbatim_share")]
FLAGS = [(Clear, "clear", "eager"), (Clear, "clear", "literal"), (Policy, "", "strict_alternation")]


@pytest.mark.parametrize("bad", BAD_AMOUNTS, ids=repr)
@pytest.mark.parametrize(("kind", "group", "name"), AMOUNTS, ids=str)
def test_bad_amounts_are_refused(kind: Any, group: str, name: str, bad: object) -> None:
    assert_refused(kind, group, name, bad)


@pytest.mark.parametrize("zero", [0, 0.0])
@pytest.mark.parametrize("name", ["single_share", "trigger", "target"])
def test_zero_is_refused_where_it_would_mean_always(name: str, zero: float) -> None:
    assert_refused(Clear, "clear", name, zero)


@pytest.mark.parametrize("zero", [0, 0.0])
def test_zero_switches_off_where_that_makes_sense(zero: float) -> None:
    assert Clear(at_least=zero).at_least == 0
    assert Prune(carry_over=zero, recent_share=zero, verbatim_share=zero).carry_over == 0


@pytest.mark.parametrize("bad", BAD_COUNTS, ids=repr)
@pytest.mark.parametrize(("kind", "group", "name"), COUNTS, ids=str)
def test_bad_counts_are_refused(kind: Any, group: str, name: str, bad: object) -> None:
    assert_refused(kind, group, name, bad)


@pytest.mark.parametrize("bad", [*BAD_AMOUNTS, 1, 500], ids=repr)
@pytest.mark.parametrize(("kind", "group", "name"), FRACTIONS, ids=str)
def test_shares_of_the_room_are_never_tokens(kind: Any, group: str, name: str, bad: object) -> None:
    assert_refused(kind, group, name, bad)


@pytest.mark.parametrize("bad", [0, 1, "yes", None, 1.0], ids=repr)
@pytest.mark.parametrize(("kind", "group", "name"), FLAGS, ids=str)
def test_flags_are_true_or_false(kind: Any, group: str, name: str, bad: object) -> None:
    assert_refused(kind, group, name, bad)


@pytest.mark.parametrize("bad", ["Read", None, {"Read"}, ("Read", 3), ("",), ("读文件",), (True,)], ids=repr)
@pytest.mark.parametrize("name", ["listed", "protected", "exclude_tools"])
def test_tool_lists_hold_names(name: str, bad: object) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        Clear(**{name: bad})  # type: ignore[arg-type]
    assert caught.value.field.startswith(f"clear.{name}")


def assert_refused(kind: Any, group: str, name: str, bad: object) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        kind(**{name: bad})
    assert caught.value.field == (f"{group}.{name}" if group else name)
    assert caught.value.got == describe(bad)
    assert caught.value.expected
    assert caught.value.field in str(caught.value)


def test_target_lies_below_trigger_when_they_can_be_compared() -> None:
    for kind in (Clear, Prune):
        for trigger, target in ((0.5, 0.5), (0.5, 0.6), (1000, 1000), (1000, 2000)):
            with pytest.raises(InvalidPolicy, match="target"):
                kind(trigger=trigger, target=target)
        assert kind(trigger=50_000, target=0.9).target == 0.9
    with pytest.raises(InvalidPolicy, match="target"):
        Clear(trigger=0.5, target=0.6, literal=True)
    assert Clear(trigger=0.5, target=0.5, literal=True).literal


def test_the_shares_of_the_room_fit_into_the_room() -> None:
    assert Prune(recent_share=0.7, verbatim_share=0.3).recent_share == 0.7
    with pytest.raises(InvalidPolicy, match="verbatim_share"):
        Prune(recent_share=0.8, verbatim_share=0.3)


def test_eager_and_literal_exclude_each_other() -> None:
    with pytest.raises(InvalidPolicy, match="eager"):
        Clear(eager=True, literal=True)


def test_nested_settings_have_their_types() -> None:
    wrong: list[Any] = [None, {}, Prune()]
    for bad in wrong:
        with pytest.raises(InvalidPolicy, match="clear"):
            Policy(clear=bad)
    with pytest.raises(InvalidPolicy, match="prune"):
        Policy(prune=Clear())  # type: ignore[arg-type]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TypeError, match="triger"):
        Clear(triger=0.5)  # type: ignore[call-arg]
    with pytest.raises(InvalidPolicy, match=r"clear\.triger"):
        Policy.from_dict({"clear": {"triger": 0.5}})
    with pytest.raises(InvalidPolicy, match="summary"):
        Policy.from_dict({"summary": {}})
    wrong: list[Any] = [None, [], "literal", {"clear": 3}]
    for bad in wrong:
        with pytest.raises(InvalidPolicy, match="mapping"):
            Policy.from_dict(bad)


def test_settings_are_frozen_and_hashable_and_replaceable() -> None:
    policy = Policy()
    with pytest.raises(AttributeError):
        policy.clear.keep = 5  # type: ignore[misc]
    assert hash(policy) == hash(Policy())
    changed = msgspec.structs.replace(policy.clear, keep=5)
    assert (changed.keep, policy.clear.keep) == (5, 3)
    with pytest.raises(InvalidPolicy):
        msgspec.structs.replace(policy.clear, keep=-5)


shares = st.floats(0.01, 1) | st.integers(1, 10**6)


@given(
    single=shares,
    at_least=shares,
    keep=st.integers(0, 50),
    names=st.lists(st.from_regex("[a-z_]{0,9}[a-z]", fullmatch=True)),
)
def test_plain_data_gives_the_policy_back(
    single: float, at_least: float, keep: int, names: list[str]
) -> None:
    clear = Clear(single_share=single, at_least=at_least, keep=keep, exclude_tools=tuple(names))
    policy = Policy(clear=clear, prune=Prune(keep=keep))
    data = policy.to_dict()
    again = Policy.from_dict(json.loads(json.dumps(data)))
    assert again == policy
    assert again.to_dict() == data
    kinds = {name: type(value) for name, value in data["clear"].items()}
    assert {name: type(value) for name, value in again.to_dict()["clear"].items()} == kinds


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("Read File", "readfile"),
        ("read_file", "readfile"),
        ("ReadFile", "readfile"),
        ("mcp__filesystem__read_file", "readfile"),
        ("functions.shell", "shell"),
        ("server:web-fetch", "webfetch"),
        ("github/get_file_contents", "getfilecontents"),
        ("a___b", "b"),
        ("trailing__", ""),
        ("读文件", ""),
        ("Éclair2", "clair2"),
        ("", ""),
    ],
)
def test_normal_form_of_a_name(name: str, normal: str) -> None:
    assert normalize_tool_name(name) == normal


@given(st.text())
def test_normal_form_is_stable(name: str) -> None:
    once = normalize_tool_name(name)
    assert normalize_tool_name(once) == once
    assert once.isascii()


def test_the_seven_kinds_are_listed_under_their_own_names() -> None:
    assert tuple(TOOL_GROUPS) == ("Read File", "Bash", "Grep", "Glob", "Search Files", "Web Fetch", "Edit")
    for kind, names in TOOL_GROUPS.items():
        assert names[0] == kind
        assert all(normalize_tool_name(name) in LISTED_TOOLS for name in names)


def test_no_name_stands_twice_or_on_both_lists() -> None:
    assert len(set(LISTED_TOOLS)) == len(LISTED_TOOLS)
    assert len(set(PROTECTED_TOOLS)) == len(PROTECTED_TOOLS)
    assert not set(LISTED_TOOLS) & set(PROTECTED_TOOLS)
    assert {"write", "create"} <= set(PROTECTED_TOOLS)


@pytest.mark.parametrize(
    "name",
    # As the logs of real agents hold them.
    [
        *("Bash", "Read", "Edit", "Grep", "Glob", "PowerShell", "WebFetch", "NotebookEdit", "MultiEdit"),
        *("exec_command", "write_stdin", "apply_patch", "shell", "local_shell"),
        *(
            "read_file",
            "run_shell_command",
            "replace",
            "grep_search",
            "search_file_content",
            "list_directory",
        ),
        *("execute_bash", "str_replace_editor", "bash", "edit", "insert", "find_file", "open"),
        *("run_terminal_cmd", "codebase_search", "file_search", "replace_in_file", "execute_command", "view"),
    ],
)
def test_names_that_real_agents_use_are_listed(name: str) -> None:
    assert normalize_tool_name(name) in Clear().listed


def test_names_are_kept_normalized_so_that_equal_settings_are_equal() -> None:
    assert Clear(exclude_tools=("Deploy It", "deploy_it")).exclude_tools == ("deployit",)
    assert Clear(exclude_tools=["x"]) == Clear(exclude_tools=("X",))  # type: ignore[arg-type]
