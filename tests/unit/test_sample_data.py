"""The sample session is what its generator writes, and is what the README says it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "data" / "coding_session.json"


def _messages() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return loaded


def test_the_sample_is_up_to_date(tmp_path: Path) -> None:
    again = tmp_path / "session.json"
    command = [sys.executable, "-m", "benches.inputs.session", "-o", str(again)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    assert again.read_bytes() == SAMPLE.read_bytes()


def test_the_sample_is_over_100k_tokens_by_characters_and_under_700_kb() -> None:
    texts = [message["content"] or "" for message in _messages()]
    assert sum(len(text) for text in texts) // 4 > 100_000
    assert SAMPLE.stat().st_size < 700_000


def test_every_call_is_answered_in_order() -> None:
    open_ids: list[str] = []
    for message in _messages():
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
            continue
        assert open_ids == []
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
    assert open_ids == []


def test_the_sample_holds_what_a_real_session_holds() -> None:
    messages = _messages()
    results = "\n".join(message["content"] for message in messages if message["role"] == "tool")
    humans = [message["content"] for message in messages if message["role"] == "user"]
    assert "Traceback (most recent call last):" in results
    assert "\x1b[31m" in results
    assert "\r\n" in results
    assert "interrupted by the user" in results
    assert "old_string was not found" in results
    assert any("\u0e00" <= letter <= "\u0e7f" for letter in results)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in results)
    assert any("changed my mind" in text for text in humans)
    tools = {call["function"]["name"] for message in messages for call in message.get("tool_calls", ())}
    assert tools >= {
        "read_file",
        "grep",
        "glob",
        "bash",
        "edit_file",
        "write_file",
        "todo_write",
        "web_fetch",
    }
