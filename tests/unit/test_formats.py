"""OpenAI Responses, Gemini and Bedrock Converse: every rule that the engine holds to, case by case."""

from __future__ import annotations

import copy
import json
from typing import Any

import lithify
import pytest
from lithify import errors

STUB = "[no result: the call was not answered]"
CLEARED = "[compacted: tool output removed to free context]"
START = "[conversation continues]"
OWN = {"_lithify": {"kind": "stub"}}


def repaired(messages: list[Any], fmt: str) -> list[Any]:
    """The repaired history; checks that it is valid, the input as it was, and a second repair idle."""
    before = copy.deepcopy(messages)
    assert lithify.validate(messages, format=fmt), "the case is meant to be damaged"
    out = lithify.repair(messages, format=fmt).messages
    assert messages == before
    assert lithify.validate(out, format=fmt) == []
    again = lithify.repair(out, format=fmt)
    assert again.plan.edits == ()
    assert same(out, again.messages)
    return out


def same(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def codes(messages: list[Any], fmt: str) -> set[str]:
    return {violation.code for violation in lithify.validate(messages, format=fmt)}


# Responses ----------------------------------------------------


def said(text: str = "go", role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def call(identity: str | None, kind: str = "function_call", **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"function_call": {"name": "read", "arguments": "{}"}}.get(kind, {})
    body = {"custom_tool_call": {"name": "patch", "input": "*** x"}}.get(kind, body)
    body = {"local_shell_call": {"action": {"type": "exec", "command": ["ls"]}}}.get(kind, body)
    return {"type": kind, "call_id": identity, **body, **more}


def output(identity: str | None, text: Any = "done", kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": identity, "output": text}


def reasoning(text: str = "hm", **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}], **more}


RESPONSES_VALID: list[Any] = [
    {"role": "developer", "content": "be brief"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    reasoning(encrypted_content="c2ln"),
    call("a"),
    call("b", "custom_tool_call"),
    output("b", kind="custom_tool_call_output"),
    output(
        "a", [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "https://x/1.png"}]
    ),
    reasoning(),
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "and"}]},
    call("c", "local_shell_call"),
    output("c", kind="local_shell_call_output"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "compaction", "encrypted_content": "c2ln"},
    {"role": "user", "content": [{"type": "input_image", "image_url": "https://x/2.png", "detail": "low"}]},
    call("d"),
    call("e"),
    output("e"),
]


def test_responses_valid_history_is_untouched() -> None:
    assert lithify.validate(RESPONSES_VALID) == []
    result = lithify.repair(RESPONSES_VALID)
    assert result.format == "responses"
    assert same(result.messages, RESPONSES_VALID)
    assert same(lithify.compact(RESPONSES_VALID, window=100_000).messages, RESPONSES_VALID)


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call", "local_shell_call"])
def test_responses_stub_has_the_type_of_its_call(kind: str) -> None:
    out = repaired([said(), call("a", kind), said("next")], "responses")
    stub = out[2]
    assert (stub["type"], stub["output"], stub["_lithify"]) == (f"{kind}_output", STUB, {"kind": "stub"})
    assert stub.get("call_id", stub.get("id")) == "a"
    assert lithify.wire(out)[2].keys() == stub.keys() - {"_lithify"}


def test_responses_outputs_stand_behind_their_turn() -> None:
    history = [
        said(),
        call("a"),
        call("b"),
        output("b"),
        said("wait"),
        output("a"),
        said("go on", "assistant"),
    ]
    out = repaired(history, "responses")
    assert same(out, [history[at] for at in (0, 1, 2, 3, 5, 4, 6)])
    # An output before its call, too.
    history = [output("a"), said(), call("a"), said()]
    assert same(repaired(history, "responses"), [history[at] for at in (1, 2, 0, 3)])


def test_responses_neighbouring_items_of_the_model_are_one_turn() -> None:
    history = [said(), call("a"), said("hm", "assistant"), call("b"), output("a"), output("b")]
    assert lithify.validate(history) == []
    history = [said(), call("a"), call(""), output(None), output("a"), said()]
    assert codes(history, "responses") == {"missing_id", "orphan_result", "unanswered_call"}
    out = repaired(history, "responses")
    assert [item.get("call_id") for item in out] == [None, "a", "call_1", "call_1", "a", None]


def test_responses_orphans_and_duplicates_go() -> None:
    history = [said(), output("ghost"), call("a"), output("a", "first"), output("a", "last"), said()]
    assert codes(history, "responses") == {"orphan_result", "duplicate_result"}
    assert same(repaired(history, "responses"), [history[at] for at in (0, 2, 4, 5)])


def test_responses_a_late_output_takes_the_place_of_a_stub() -> None:
    history = [said(), call("a"), {**output("a", STUB), **OWN}, said(), output("a", "real")]
    assert same(repaired(history, "responses"), [history[at] for at in (0, 1, 4, 3)])


def test_responses_reused_ids_are_renamed_with_their_outputs() -> None:
    history = [said(), call("a"), output("a"), call("a", "custom_tool_call"), output("a", "two"), said()]
    out = repaired(history, "responses")
    assert [item.get("call_id") for item in out] == [None, "a", "a", "a_2", "a_2", None]
    assert out[4] == {**history[4], "call_id": "a_2"}


def test_responses_pending_calls_stay_open() -> None:
    for history in ([said(), call("a")], [said(), call("a"), call("b"), output("b")]):
        assert lithify.validate(history) == []
    history = [said(), call("a"), call("b"), output("b"), said("hm", "assistant")]
    assert codes(history, "responses") == {"unanswered_call"}
    repaired(history, "responses")


@pytest.mark.parametrize("follower", [[], [said()], [output("a")]], ids=["end", "user", "output"])
def test_responses_reasoning_alone_goes(follower: list[Any]) -> None:
    history = [
        said(),
        call("a"),
        *([] if follower == [output("a")] else [output("a")]),
        reasoning(),
        *follower,
    ]
    assert codes(history, "responses") == {"dangling_reasoning"}
    assert not any(item.get("type") == "reasoning" for item in repaired(history, "responses"))


def test_responses_empty_list() -> None:
    out = repaired([said(), {"role": "assistant", "content": []}], "responses")
    assert out[1] == {"role": "assistant", "content": ""}


def test_responses_units_stay_together() -> None:
    shot = {"type": "computer_call", "call_id": "s", "action": {"type": "screenshot"}}
    shown = {"type": "computer_call_output", "call_id": "s", "output": {"type": "computer_screenshot"}}
    history: list[Any] = [said("start"), {"type": "compaction", "encrypted_content": "abc"}]
    for n in range(40):
        history += [reasoning("think " * 20), call(f"a{n}"), call(f"b{n}"), output(f"a{n}", "x" * 200)]
        history += [output(f"b{n}", "y" * 200), {**shot, "call_id": f"s{n}"}, {**shown, "call_id": f"s{n}"}]
    for window in (400, 700, 1500, 4000):
        result = lithify.compact(history, window=window, on_misfit="return")
        out = result.messages
        assert lithify.validate(out) == []
        assert history[1] in out, "a compaction item stands for all before it"
        for n in range(40):
            ids = [item["call_id"] for item in out if item.get("call_id") in (f"a{n}", f"b{n}", f"s{n}")]
            assert len(ids) % 2 == 0
        if result.fits:
            assert result.tokens_after <= window


def test_responses_result_lists_are_cut_and_cleared() -> None:
    history: list[Any] = [said()]
    for n in range(9):
        history += [call(f"a{n}"), output(f"a{n}", [{"type": "input_text", "text": f"{n} " * 400}])]
    result = lithify.compact(history, window=1500, token_counter=lambda text: len(text) // 4)
    assert any(item.get("output") == CLEARED for item in result.messages)
    assert lithify.validate(result.messages) == []


# Gemini ----------------------------------------------------


def gem(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def fcall(name: str, identity: str | None = None) -> dict[str, Any]:
    return {
        "functionCall": {**({"id": identity} if identity else {}), "name": name, "args": {"path": "a.py"}}
    }


def fresp(name: str, text: str = "done", identity: str | None = None) -> dict[str, Any]:
    own = {"id": identity} if identity else {}
    return {"functionResponse": {**own, "name": name, "response": {"output": text}}}


GEMINI_VALID: list[Any] = [
    gem(
        "user",
        "go",
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
        {"fileData": {"fileUri": "gs://x"}},
    ),
    gem(
        "model",
        {"text": "hm", "thought": True},
        {**fcall("f"), "thoughtSignature": "c2ln"},
        fcall("g"),
        fcall("f"),
    ),
    gem("user", fresp("g"), fresp("f"), fresp("f")),
    gem("model", fcall("f", "x"), fcall("f", "y")),
    gem("user", fresp("f", identity="y"), fresp("f", identity="x"), "and"),
    {"role": "model", "parts": [{"function_call": {"name": "snake", "args": {}}}]},
    {"role": "function", "parts": [{"function_response": {"name": "snake", "response": {"result": "r"}}}]},
    gem("model", "so", {"executableCode": {"code": "1"}}, {"text": "", "thoughtSignature": "c2ln"}),
    gem("user", " "),
    gem("model", fcall("f"), fcall("g")),
    gem("user", fresp("f")),
]


def test_gemini_valid_history_is_untouched() -> None:
    assert lithify.validate(GEMINI_VALID) == []
    result = lithify.repair(GEMINI_VALID)
    assert result.format == "gemini"
    assert same(result.messages, GEMINI_VALID)
    assert same(lithify.compact(GEMINI_VALID, window=100_000).messages, GEMINI_VALID)


def test_gemini_missing_responses_become_errors() -> None:
    out = repaired(
        [gem("user", "go"), gem("model", fcall("f"), fcall("g", "x")), gem("user", "next")], "gemini"
    )
    assert out[2]["parts"] == [
        {"functionResponse": {"name": "f", "response": {"error": STUB}}, **OWN},
        {"functionResponse": {"id": "x", "name": "g", "response": {"error": STUB}}, **OWN},
    ]
    assert lithify.wire(out)[2]["parts"][0] == {
        "functionResponse": {"name": "f", "response": {"error": STUB}}
    }


def test_gemini_responses_are_gathered_in_one_content() -> None:
    calls = gem("model", fcall("f"), fcall("g"))
    history = [gem("user", "go"), calls, gem("user", fresp("g")), gem("user", fresp("f")), gem("model", "ok")]
    assert codes(history, "gemini") == {"orphan_result", "unanswered_call"}
    out = repaired(history, "gemini")
    assert out[2]["parts"] == [fresp("g"), fresp("f")]
    assert out[3] is history[4]


def test_gemini_counts_are_equal() -> None:
    history = [
        gem("user", "go"),
        gem("model", fcall("f")),
        gem("user", fresp("f"), fresp("f")),
        gem("model", "ok"),
    ]
    assert codes(history, "gemini") == {"orphan_result"}
    assert repaired(history, "gemini")[2]["parts"] == [fresp("f")]
    history[1:3] = [gem("model", fcall("f", "x")), gem("user", fresp("f", "1", "x"), fresp("f", "2", "x"))]
    assert codes(history, "gemini") == {"duplicate_result"}
    assert repaired(history, "gemini")[2]["parts"] == [fresp("f", "2", "x")]


def test_gemini_a_response_of_another_name_answers_by_place() -> None:
    history = [gem("user", "go"), gem("model", fcall("f")), gem("user", fresp("typo")), gem("model", "ok")]
    assert repaired(history, "gemini")[2]["parts"] == [fresp("f")]


def test_gemini_a_response_needs_no_id() -> None:
    history = [
        gem("user", "go"),
        gem("model", fcall("f", "x"), fcall("f")),
        gem("user", fresp("f"), fresp("f")),
    ]
    assert lithify.validate(history) == []
    history = [
        gem("user", "go"),
        gem("model", fcall("f")),
        gem("user", fresp("f", identity="x")),
        gem("user", "go"),
    ]
    assert lithify.validate(history) == []


def test_gemini_a_late_response_takes_the_place_of_a_stub() -> None:
    stub = {**fresp("f", STUB), **OWN}
    history = [
        gem("user", "go"),
        gem("model", fcall("f")),
        gem("user", stub),
        gem("user", "hm", fresp("f", "real")),
    ]
    out = repaired(history, "gemini")
    assert out[2]["parts"] == [fresp("f", "real")]
    assert out[3]["parts"] == [{"text": "hm"}]


def test_gemini_reused_ids_are_renamed() -> None:
    turn = [gem("model", fcall("f", "x")), gem("user", fresp("f", identity="x"))]
    out = repaired([gem("user", "go"), *turn, *copy.deepcopy(turn)], "gemini")
    assert out[3]["parts"] == [fcall("f", "x_2")]
    assert out[4]["parts"] == [fresp("f", identity="x_2")]


def test_gemini_calls_follow_a_user() -> None:
    history = [gem("model", fcall("f")), gem("user", fresp("f")), gem("model", "a"), gem("model", fcall("g"))]
    assert codes(history, "gemini") == {"turn_order"}
    out = repaired(history, "gemini")
    filler = {**gem("user", START), **OWN}
    assert out == [filler, *history[:3], filler, history[3]]


def test_gemini_empty_parts_go() -> None:
    history = [gem("user", "go", ""), gem("model"), gem("model", ""), gem("user", "x")]
    assert codes(history, "gemini") == {"empty_text", "empty_message"}
    assert repaired(history, "gemini") == [gem("user", "go"), gem("user", "x")]


def test_gemini_responses_are_cut_and_cleared() -> None:
    long = {"stdout": "line\n" * 900, "code": 0, "stderr": ""}
    one = {"functionResponse": {"name": "f", "response": long}}
    history = [gem("user", "go"), gem("model", fcall("f")), gem("user", one), gem("model", "ok")]
    result = lithify.compact(history, window=1200)
    cut = result.messages[2]["parts"][0]["functionResponse"]["response"]
    assert cut["code"] == 0
    assert cut["stdout"].endswith("[truncated: output exceeded context limit]")
    image = [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]
    seen = {"functionResponse": {"name": "f", "response": {"output": "x" * 999}, "parts": image}}
    history = [gem("user", "go")] + [gem("model", fcall("f")), gem("user", seen)] * 9
    result = lithify.compact(history, window=4000)
    cleared = {"functionResponse": {"name": "f", "response": {"output": CLEARED}}}
    assert any(message["parts"] == [cleared] for message in result.messages)
    assert lithify.validate(result.messages) == []


def test_gemini_prune_keeps_the_turn_order() -> None:
    answer = {**gem("model", "keep this " * 5), "_pin": True}
    history = [gem("user", "go"), answer, gem("user", "then " * 200)]
    history += [gem("model", fcall("f"), "x" * 300), gem("user", fresp("f", "y" * 300))] * 20
    result = lithify.compact(history, window=900)
    assert lithify.validate(result.messages) == []
    assert answer in result.messages
    assert result.tokens_after == lithify.count_tokens(result.messages)
    assert same(lithify.compact(result.messages, window=900).messages, result.messages)


# Bedrock ----------------------------------------------------


def bed(role: str, *blocks: Any) -> dict[str, Any]:
    return {
        "role": role,
        "content": [{"text": block} if isinstance(block, str) else block for block in blocks],
    }


def use(identity: str, name: str = "read") -> dict[str, Any]:
    return {"toolUse": {"toolUseId": identity, "name": name, "input": {"path": "a.py"}}}


def used(identity: str, text: str = "done", **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": identity, "content": [{"text": text}], **more}}


POINT = {"cachePoint": {"type": "default"}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
IMAGE = {"image": {"format": "png", "source": {"bytes": b"abc"}}}

BEDROCK_VALID: list[Any] = [
    bed(
        "user", "go", IMAGE, {"document": {"format": "pdf", "name": "n", "source": {"bytes": b"abc"}}}, POINT
    ),
    bed("assistant", THOUGHT, "I look.", use("a"), use("b"), POINT),
    bed(
        "user",
        used("b"),
        POINT,
        {"toolResult": {"toolUseId": "a", "content": [{"json": {"x": 1}}, IMAGE]}},
        "and",
    ),
    bed("assistant", {"reasoningContent": {"redactedContent": b"abc"}}, use("c")),
    bed("user", used("c", status="error"), {"guardContent": {"text": {"text": "guard"}}}),
    bed("assistant", use("d"), use("e")),
    bed("user", used("e")),
]


def test_bedrock_valid_history_is_untouched() -> None:
    assert lithify.validate(BEDROCK_VALID) == []
    result = lithify.repair(BEDROCK_VALID)
    assert result.format == "bedrock"
    assert same(result.messages, BEDROCK_VALID)
    assert same(lithify.compact(BEDROCK_VALID, window=100_000).messages, BEDROCK_VALID)


def test_bedrock_missing_results_become_errors() -> None:
    out = repaired([bed("user", "go"), bed("assistant", use("a")), bed("user", "next")], "bedrock")
    assert out[2] == bed("user", {**used("a", STUB, status="error"), **OWN})
    assert out[3] == {**bed("assistant", START), **OWN}, "user and assistant alternate"
    assert out[4] == bed("user", "next")


def test_bedrock_results_stand_first_and_once() -> None:
    history = [
        bed("user", "go"),
        bed("assistant", use("a")),
        bed("user", "hm", used("a")),
        bed("assistant", "ok"),
    ]
    assert codes(history, "bedrock") == {"misplaced_result"}
    assert repaired(history, "bedrock")[2] == bed("user", used("a"), "hm")
    history[2] = bed("user", used("a", "1"), used("a", "2"), used("ghost"))
    assert codes(history, "bedrock") == {"duplicate_result", "orphan_result"}
    assert repaired(history, "bedrock")[2] == bed("user", used("a", "2"))
    history[2:3] = [bed("user", "hm"), bed("user", used("a"))]
    filler = {**bed("assistant", START), **OWN}
    assert repaired(history, "bedrock")[2:5] == [bed("user", used("a")), filler, bed("user", "hm")]


def test_bedrock_reused_and_missing_ids() -> None:
    history = [bed("user", "go"), *[bed("assistant", use("a")), bed("user", used("a"))] * 2]
    out = repaired(history, "bedrock")
    assert out[3:] == [bed("assistant", use("a_2")), bed("user", used("a_2"))]
    history = [bed("user", "go"), bed("assistant", use("")), bed("user", used(""))]
    assert repaired(history, "bedrock")[1:] == [bed("assistant", use("call_0")), bed("user", used("call_0"))]


def test_bedrock_nothing_is_empty() -> None:
    history = [
        bed("user", "go", " ", POINT),
        bed("assistant", THOUGHT),
        bed("user", POINT),
        bed("assistant"),
        bed("user", "x"),
    ]
    assert codes(history, "bedrock") == {"empty_text", "thinking_only", "empty_message"}
    filler = {**bed("assistant", START), **OWN}
    assert repaired(history, "bedrock") == [bed("user", "go", POINT), filler, bed("user", "x")]


def test_bedrock_a_user_opens() -> None:
    out = repaired([bed("assistant", "hello"), bed("user", "hi")], "bedrock")
    assert out[0] == {**bed("user", START), **OWN}


def test_bedrock_results_are_cut_and_cleared() -> None:
    history = [
        bed("user", "go"),
        bed("assistant", use("a")),
        bed("user", used("a", "line\n" * 900)),
        bed("assistant", "ok"),
    ]
    cut = lithify.compact(history, window=1200).messages[2]["content"][0]["toolResult"]
    assert cut["content"][0]["text"].endswith("[truncated: output exceeded context limit]")
    history = [bed("user", "go")]
    for n in range(9):
        result = {"toolResult": {"toolUseId": f"t{n}", "content": [{"json": {"rows": ["x" * 90] * 9}}]}}
        history += [bed("assistant", use(f"t{n}")), bed("user", result)]
    out = lithify.compact(history, window=2600, token_counter=lambda text: len(text) // 4).messages
    assert any(message["content"] == [used(f"t{n}", CLEARED)] for n in range(9) for message in out)
    assert lithify.validate(out) == []


# All ----------------------------------------------------


def long_history(fmt: str) -> list[Any]:
    if fmt == "responses":
        turn = [reasoning("why " * 9), said("look " * 9, "assistant"), call("i"), output("i", "text " * 200)]
        history = [said("do this " * 9)]
    elif fmt == "gemini":
        turn = [gem("model", "look " * 9, fcall("f", "i")), gem("user", fresp("f", "text " * 200, "i"))]
        history = [gem("user", "do this " * 9)]
    else:
        turn = [bed("assistant", THOUGHT, "look " * 9, use("i")), bed("user", used("i", "text " * 200))]
        history = [bed("user", "do this " * 9)]
    for n in range(60):
        history += json.loads(json.dumps(turn).replace('"i"', f'"i{n}"'))
    return history


@pytest.mark.parametrize("window", [250, 600, 2000, 8000])
@pytest.mark.parametrize("fmt", ["responses", "gemini", "bedrock"])
def test_compact_fits_and_is_valid(fmt: str, window: int) -> None:
    history = long_history(fmt)
    assert lithify.validate(history, format=fmt) == []
    result = lithify.compact(history, window=window)
    assert result.tokens_after == lithify.count_tokens(result.messages) <= window
    assert result.format == fmt
    assert lithify.validate(lithify.wire(result.messages), format=fmt) == []
    assert any('"kind": "notice"' in str(m).replace("'", '"') for m in result.messages) == (
        result.rung == "prune"
    )
    assert lithify.compact(result.messages, window=window).messages == result.messages


@pytest.mark.parametrize("fmt", ["responses", "gemini", "bedrock"])
def test_strict_alternation_merges_the_notice(fmt: str) -> None:
    policy = lithify.Policy(strict_alternation=True)
    history = long_history(fmt)
    result = lithify.compact(history, window=2000, policy=policy)
    first = result.messages[0]
    block = first["parts" if fmt == "gemini" else "content"][-1]
    assert block["text"].startswith("[context compacted: ")
    assert block.get("type") == ("input_text" if fmt == "responses" else None)
    assert lithify.validate(lithify.wire(result.messages), format=fmt) == []
    assert lithify.compact(result.messages, window=2000, policy=policy).messages == result.messages


@pytest.mark.parametrize(
    ("messages", "fmt"),
    [
        ([said(), {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}], "responses"),
        ([{"type": "message", "role": "user", "content": "hi"}], "responses"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "responses"),
        ([gem("user", "hi")], "gemini"),
        ([bed("user", "hi")], "bedrock"),
        ([said()], "openai_chat"),
        (
            [said(), {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}],
            "openai_chat",
        ),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}], "anthropic"),
    ],
)
def test_detection(messages: list[Any], fmt: str) -> None:
    assert lithify.inspect(messages).format == fmt


@pytest.mark.parametrize(
    ("fmt", "message"),
    [
        ("gemini", {"role": "assistant", "parts": []}),
        ("gemini", {"role": "user", "parts": "text"}),
        ("gemini", {"role": "user", "parts": [{"functionCall": {"name": "f"}}]}),
        ("gemini", {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "text"}}]}),
        ("bedrock", {"role": "user", "content": "text"}),
        ("bedrock", {"role": "user", "content": [{"toolUse": {"toolUseId": "a", "name": "f"}}]}),
        ("bedrock", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}),
        ("responses", {"role": "tool", "content": "x"}),
        ("responses", {"type": 3}),
        ("responses", {"type": "message", "content": "x"}),
    ],
)
def test_wrong_shapes_are_named(fmt: str, message: Any) -> None:
    with pytest.raises(errors.InvalidInput):
        lithify.validate([message], format=fmt)


def test_pinned_messages_are_never_changed() -> None:
    pinned = {**gem("user", fresp("f"), fresp("f")), "_pin": True}
    with pytest.raises(errors.PinnedInvalid):
        lithify.repair([gem("user", "go"), gem("model", fcall("f")), pinned])


def test_unsendable_text_is_rewritten() -> None:
    history = [said(), call("a", arguments="\ud800"), output("a", "\ud83d")]
    assert repaired(history, "responses")[1:] == [call("a", arguments="\ufffd"), output("a", "\ufffd")]
    out = repaired(
        [gem("user", "a\ud800"), gem("model", fcall("f")), gem("user", fresp("f", "\ud800"))], "gemini"
    )
    assert [out[0], out[2]] == [gem("user", "a\ufffd"), gem("user", fresp("f", "\ufffd"))]
    out = repaired(
        [bed("user", "go"), bed("assistant", use("a\ud800")), bed("user", used("a\ud800", "\ud800"))],
        "bedrock",
    )
    assert out[1:] == [bed("assistant", use("a\ufffd")), bed("user", used("a\ufffd", "\ufffd"))]


def test_gemini_system_instruction_is_counted() -> None:
    system = {"parts": [{"text": "be brief"}]}
    history = [gem("user", "go")]
    assert lithify.count_tokens(history, system=system) == lithify.count_tokens(
        history, system=[{"text": "be brief"}]
    )
