from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import lithify
import pytest
from lithify import transcripts
from lithify.errors import InvalidInput, InvalidJSON

from tests import session_logs as logs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def load(data: bytes) -> transcripts.Log:
    return transcripts.load(io.BytesIO(data))


@pytest.mark.parametrize("name", logs.LOGS)
def test_each_kind_is_known_and_valid(name: str, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(logs.LOGS[name])
    log = transcripts.load(path)
    assert log.kind == name.split("/", maxsplit=1)[0] == transcripts.sniff(path)
    assert log.format == logs.FORMATS.get(name, "openai_chat")
    assert (log.unknown, log.damage) == ((), ())
    assert lithify.validate(log.messages, format=log.format) == []
    assert logs.QUESTION in json.dumps(log.messages)
    if name != "messages/request":
        assert json.dumps(logs.LISTING) in json.dumps(log.messages) or "exit code" in json.dumps(log.messages)
        assert logs.ANSWER in json.dumps(log.messages[-1])
        assert len(log.requests) == 2
        last = log.requests[-1]
        assert log.main.prompt(last) == log.messages[: last.sent]
        assert last.sent + last.received == len(log.messages)
    assert lithify.compact(log.messages, window=100_000, format=log.format).messages == log.messages


def test_blocks_of_a_reply_are_one_message_and_its_last_usage_counts() -> None:
    log = load(logs.LOGS["claude_code"])
    assert [len(message["content"]) for message in log.messages] == [1, 2, 1, 1]
    assert [request.input_tokens for request in log.requests] == [25, 35]
    assert [request.sent for request in log.requests] == [1, 3]
    assert log.events == {"file-history-snapshot": 1}


def test_results_between_blocks_of_parallel_calls() -> None:
    log = logs.Claude()
    log.user(logs.QUESTION)
    first = log.reply("m1", logs.use("t1"))
    log.result("t1")
    log.reply("m1", logs.use("t2"), parentUuid=first)
    log.result("t2")
    log.user("and now?")
    found = load(log.bytes())
    assert [one["role"] for one in found.messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in found.messages[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert len(found.requests) == 1


def test_claude_compaction_begins_an_epoch_with_its_summary() -> None:
    log = logs.Claude()
    log.user(logs.QUESTION)
    kept = log.reply("m1", logs.text("kept"))
    boundary = {"trigger": "auto", "preTokens": 9, "preservedMessages": {"uuids": [kept]}}
    log.newest = None
    log.line("system", subtype="compact_boundary", compactMetadata=boundary)
    log.user("in short: ...", isCompactSummary=True)
    log.user("go on")
    log.reply("m2", logs.text("done"))
    first, second = load(log.bytes()).epochs
    assert [len(first.messages), len(first.requests)] == [2, 1]
    assert (second.reason, second.summary, second.kept, second.metadata["trigger"]) == (
        "compaction",
        0,
        2,
        "auto",
    )
    assert second.messages[1] == first.messages[1]
    assert [request.sent for request in second.requests] == [3]


def test_claude_rewind_and_clearing() -> None:
    log = logs.Claude()
    log.user(logs.QUESTION)
    log.reply("m1", logs.use("t1"))
    back = log.result("t1")
    log.reply("m2", logs.text("wrong"))
    log.user("no, again", parentUuid=back)
    log.line(
        "system",
        subtype="microcompact_boundary",
        microcompactMetadata={"compactedToolIds": ["t1"], "tokensSaved": 5},
    )
    log.reply("m3", logs.text("right"))
    epochs = load(log.bytes()).epochs
    assert [epoch.reason for epoch in epochs] == ["start", "rewind", "clearing"]
    assert "wrong" in json.dumps(epochs[0].messages)
    assert "wrong" not in json.dumps(epochs[1].messages)
    assert epochs[1].messages[2]["content"][0]["content"] == logs.LISTING
    assert epochs[2].messages[2]["content"][0]["content"] == "[Old tool result content cleared]"
    assert [len(epoch.requests) for epoch in epochs] == [2, 0, 1]


def test_claude_side_chains_are_conversations_of_their_own() -> None:
    log = logs.Claude()
    log.user(logs.QUESTION)
    main = log.newest
    log.newest = None
    log.user("find it", isSidechain=True, agentId="a1")
    log.reply("n1", logs.text("found"), isSidechain=True, agentId="a1")
    log.newest = main
    log.reply("m1", logs.text(logs.ANSWER))
    found = load(log.bytes())
    assert [(one.side, one.name, len(one.messages)) for one in found.conversations] == [
        (False, "s1", 2),
        (True, "a1", 2),
    ]


def test_codex_requests_usage_and_instructions() -> None:
    log = load(logs.LOGS["codex"])
    assert log.system == "Be brief."
    assert [(one.sent, one.received, one.input_tokens, one.model) for one in log.requests] == [
        (1, 1, 100, "gpt-x"),
        (3, 1, 150, "gpt-x"),
    ]
    assert all("metadata" not in message for message in log.messages)


def test_codex_compactions_new_and_old_and_rollback() -> None:
    note = {"type": "compaction", "encrypted_content": "x"}
    replaced = {
        "type": "compacted",
        "payload": {"message": "", "replacement_history": [logs.said("user", "q")["payload"], note]},
    }
    old = {"type": "compacted", "payload": {"message": "in short"}}
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    data = logs.lines(
        *logs.codex_records(), replaced, logs.said("assistant", "a"), old, logs.said("user", "more"), back
    )
    epochs = load(data).epochs
    assert [(epoch.reason, epoch.summary, epoch.kept) for epoch in epochs] == [
        ("start", None, 0),
        ("compaction", 1, 2),
        ("compaction", 1, 2),
        ("rewind", None, 2),
    ]
    assert epochs[2].metadata["rebuilt"] is True
    assert epochs[3].messages == epochs[2].messages[:2]


def test_gemini_chat_has_usage_in_the_providers_words() -> None:
    log = load(logs.LOGS["gemini_cli/chat"])
    assert [request.input_tokens for request in log.requests] == [40, 60]
    assert log.events == {"info": 1}


def test_swe_agent_queries_are_the_prompts() -> None:
    one, two = logs.chat()[:2], [*logs.chat()[:3], {**logs.chat()[3], "content": "elided"}]
    steps = [{"query": one}, {"query": two}, {"query": [*one, {"role": "user", "content": "new"}]}]
    found = load(logs.document({"trajectory": steps, "history": logs.chat(), "info": {}}))
    assert [epoch.reason for epoch in found.epochs] == ["start", "prompt"]
    assert [found.main.prompt(request) for request in found.requests] == [step["query"] for step in steps]


def test_openhands_condensation_forgets_and_summarizes() -> None:
    condensed = {"forgotten_event_ids": [3, 4], "summary": "read it", "summary_offset": 2}
    event = {"id": 6, "source": "agent", "action": "condensation", "args": condensed}
    found = load(logs.lines(*logs.openhands_events(), event))
    assert [message["content"] for message in found.messages] == [
        "Be brief.",
        logs.QUESTION,
        "read it",
        logs.ANSWER,
    ]
    assert (found.epochs[1].reason, found.epochs[1].summary) == ("compaction", 2)
    assert "[Command finished with exit code 0]" in found.epochs[0].messages[3]["content"]


def test_rows_are_conversations() -> None:
    assert len(load(logs.LOGS["tau_bench"]).conversations) == 2
    rows = load(logs.LOGS["sharegpt"]).conversations
    assert len(rows) == 2
    assert rows[0].tools == [{"type": "function", "function": {"name": "read", "parameters": {}}}]
    assert rows[0].messages[1]["tool_calls"][0]["id"] == rows[0].messages[2]["tool_call_id"]


def test_parallel_results_of_langchain_share_a_message() -> None:
    log = load(logs.LOGS["langchain/anthropic"])
    assert log.system == "Be brief."
    assert [len(message["content"]) for message in log.messages] == [1, 2, 2, 1]
    assert log.messages[2]["content"][1]["is_error"] is True


LINES = [name for name, data in logs.LOGS.items() if not data.startswith((b"[\n", b"{\n"))]
DOCUMENTS = [name for name in logs.LOGS if name not in LINES]


@pytest.mark.parametrize("name", LINES)
def test_a_broken_line_is_kept_with_its_place(name: str) -> None:
    whole = logs.LOGS[name].splitlines(keepends=True)
    for broken in (b'{"type": "user", \n', b"\xff\xfe{}\n", b'{"a": [1, 2}\n'):
        data = b"".join([*whole[:1], b"\n", broken, *whole[1:]])
        log = load(data)
        assert log.messages == load(logs.LOGS[name]).messages
        assert [(one.line, one.offset, one.text) for one in log.damage] == [
            (3, len(whole[0]) + 1, broken.strip())
        ]
        assert log.records == len(whole) + 1


@pytest.mark.parametrize("name", LINES)
def test_a_log_that_is_cut_off_keeps_what_came_before(name: str) -> None:
    data = logs.LOGS[name]
    for cut in range(len(data.splitlines()[0]) + 20, len(data) - 2, 37):
        try:
            log = load(data[:cut])
        except InvalidInput:
            continue  # there is no message before the cut
        assert len(log.damage) <= 1
        assert all(one.problem == "the line is cut off at the end of the file" for one in log.damage)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_cut_off_is_an_error_with_a_place(name: str) -> None:
    data = logs.LOGS[name]
    for cut in range(3, len(data) - 2, 37):
        with pytest.raises(InvalidJSON) as caught:
            load(data[:cut])
        assert 0 <= caught.value.offset <= cut
        assert caught.value.line == data[: caught.value.offset].count(b"\n") + 1
        # A literal or a number that is cut looks like a wrong one.
        assert caught.value.got == "a text that ends too early" or data[:cut].endswith(
            (b".", b"t", b"n", b"f")
        )


@pytest.mark.parametrize("name", logs.LOGS)
def test_wrong_types_anywhere_are_no_crash(name: str) -> None:
    """Each value in a log is replaced by others in turn: the log is read, or refused with a typed error."""
    records = [json.loads(line) for line in logs.LOGS[name].splitlines()] if name in LINES else None
    root: Any = records if records is not None else json.loads(logs.LOGS[name])
    for holder, key in list(places(root)):
        kept = holder[key]
        changed: tuple[Any, ...] = (None, 7, "x", [], {}, [None], [{"type": 3}])
        for value in changed:
            holder[key] = value
            data = logs.lines(*root) if records is not None else logs.document(root)
            try:
                log = load(data)
            except InvalidInput:
                continue
            assert log.conversations
            assert all(isinstance(message, dict) for one in log.conversations for message in one.messages)
        holder[key] = kept
        if isinstance(holder, dict):
            lacking = json.loads(json.dumps(root, default=str))
            del at(lacking, root, holder)[key]
            data = logs.lines(*lacking) if records is not None else logs.document(lacking)
            with suppress(InvalidInput):
                assert load(data).conversations


def at(copied: Any, value: Any, wanted: Any) -> Any:
    """Return what stands in a copy where `wanted` stands in the original; None when it is not there."""
    if value is wanted:
        return copied
    keys = range(len(value)) if isinstance(value, list) else value
    for key in keys:
        if isinstance(value[key], dict | list):
            found = at(copied[key], value[key], wanted)
            if found is not None:
                return found
    return None


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in range(len(value)) if isinstance(value, list) else list(value):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def test_unknown_records_are_kept() -> None:
    odd = {"type": "from-the-future", "uuid": "z", "sessionId": "s1", "x": [1]}
    log = load(logs.LOGS["claude_code"] + logs.lines(odd, 17))
    assert [(one.line, one.label, one.value) for one in log.unknown] == [
        (7, "from-the-future", odd),
        (8, "a int", 17),
    ]


@pytest.mark.parametrize(
    "data", [b"", b" \n\n", b"\xff\xfe{\x00", b"17", b'{"a": 1}', b"[]", b"{", b"hello\nworld\n"]
)
def test_what_is_no_log_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        load(data)


def test_lines_are_read_one_by_one() -> None:
    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise AssertionError(f"the rest of the file is asked for: {size}")

    assert transcripts.load(Counted(logs.LOGS["codex"])).kind == "codex"
