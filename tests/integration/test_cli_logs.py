"""Session logs on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

import lithify
from lithify.cli.main import main

from tests import session_logs as logs

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [name for name in logs.LOGS if not name.startswith("messages")]


@pytest.mark.parametrize("name", KINDS)
def test_a_log_is_inspected_and_its_messages_are_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "log", tmp_path / "out.json"
    path.write_bytes(logs.LOGS[name])
    assert main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    form = logs.FORMATS.get(name, "openai_chat")
    assert found["format"] == form
    if name != "gemini_cli":
        assert found["log"]["kind"] == name.split("/", maxsplit=1)[0]
    assert main(["compact", str(path), "--window", "8k", "-o", str(out)]) == 0
    messages = json.loads(out.read_bytes())
    assert isinstance(messages, list)
    assert lithify.validate(messages, format=form) == []
    assert len(messages) == found["messages"]
    again = tmp_path / "again.json"
    assert main(["compact", str(out), "--window", "8k", "-o", str(again), "--format", form]) == 0
    assert json.loads(again.read_bytes()) == messages
    assert path.read_bytes() == logs.LOGS[name]


def test_the_epoch_and_the_conversation_can_be_picked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logs.Claude()
    log.user(logs.QUESTION)
    log.reply("m1", logs.text(logs.ANSWER))
    log.user("in short", isCompactSummary=True)
    path = tmp_path / "log"
    path.write_bytes(log.bytes() + b'{"type": \n')
    assert main(["inspect", str(path), "--json"]) == 0
    last = json.loads(capsys.readouterr().out)
    assert (last["messages"], last["log"]["epoch"]) == (1, 2)
    assert [one["line"] for one in last["log"]["damage"]] == [4]
    assert main(["inspect", str(path), "--json", "--epoch", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 2
    assert main(["inspect", str(path), "--epoch", "3"]) == 2
    assert "there is no epoch 3" in capsys.readouterr().err
    path.write_bytes(logs.LOGS["tau_bench"])
    assert main(["inspect", str(path), "--json", "--conversation", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["log"]["conversation"] == 2
    assert main(["validate", str(path), "--conversation", "3"]) == 2


def test_a_plain_history_has_no_epochs_to_pick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plain"
    path.write_bytes(logs.LOGS["messages"])
    assert main(["inspect", str(path), "--epoch", "1"]) == 2
    assert "no session log" in capsys.readouterr().err


@pytest.mark.parametrize("holder", ["input", "contents"])
def test_request_bodies_keep_their_shape(holder: str, tmp_path: Path) -> None:
    item = (
        {"role": "user", "content": "Hello"}
        if holder == "input"
        else {"role": "user", "parts": [{"text": "Hello"}]}
    )
    body = {"model": "m", "instructions": "Be brief.", holder: [item]}
    path, out = tmp_path / "request.json", tmp_path / "out.json"
    path.write_text(json.dumps(body))
    form = "responses" if holder == "input" else "gemini"
    assert main(["compact", str(path), "--window", "8k", "-o", str(out), "--format", form]) == 0
    assert json.loads(out.read_bytes()) == body
