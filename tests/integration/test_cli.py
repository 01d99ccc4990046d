"""The command line: shapes in and out, where things go, exit codes. Bad input has a file of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from lithify.cli.main import main
from lithify.cli.options import parse_tokens

Message = dict[str, Any]
ESCAPE = "\x1b"
AS_ROOT = os.name == "posix" and os.geteuid() == 0


class Run(NamedTuple):
    """What a run left behind."""

    code: int
    out: bytes
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def call(*arguments: object) -> Run:
        code = main([str(one) for one in arguments])
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return Run(code, out, err.decode())

    return call


def history(rounds: int = 40, size: int = 300) -> list[Message]:
    """Return an OpenAI chat history of about `rounds` x `size` tokens, each of its texts its own."""
    messages: list[Message] = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": "Mende bitte den Fehler in parser.py, schön sorgfältig."},
    ]
    for number in range(rounds):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/module_{number}.py"})}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": f"value_{number} = 1\n" * (size // 5),
            },
        ]
    return [*messages, {"role": "user", "content": "And now?"}]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history()), encoding="utf-8")
    return path


def save(folder: Path, name: str, data: object) -> Path:
    path = folder / name
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


# --- the syntax of a window ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("32k", 32_000),
        ("200K", 200_000),
        ("1M", 1_000_000),
        ("1m", 1_000_000),
        ("1.5M", 1_500_000),
        ("128_000", 128_000),
        ("8192", 8192),
        (" 7 ", 7),
    ],
)
def test_window_syntax(text: str, tokens: int) -> None:
    assert parse_tokens(text) == tokens


# --- shapes -------------------------------------------------------------------------------------------


def test_a_list_stays_a_list(sample: Path, run: Any) -> None:
    result = run("compact", sample, "--window", "8k")
    assert result.code == 0
    assert isinstance(result.data, list)
    assert result.data[0] == history()[0]
    assert result.data[-1] == history()[-1]
    assert len(result.out) < sample.stat().st_size
    assert "8,000" in result.err


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
def test_a_jsonl_stays_a_jsonl(newline: str, tmp_path: Path, run: Any) -> None:
    path = save(tmp_path, "h.jsonl", newline.join(map(json.dumps, history())).encode())
    result = run("compact", path, "--window", "8k")
    assert result.code == 0
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert lines[0] == history()[0]
    assert lines[-1] == history()[-1]


@pytest.mark.parametrize(
    ("path", "wrap"),
    [
        (("messages",), lambda h: {"model": "m", "messages": h, "n": 1.5}),
        (("history",), lambda h: {"id": 7, "history": h, "x": None}),
        (("traj",), lambda h: {"traj": h, "info": {"messages": 3}}),
        (("body", "messages"), lambda h: {"url": "u", "body": {"messages": h, "max_tokens": 5}, "z": []}),
    ],
    ids=["messages", "history", "traj", "body.messages"],
)
def test_only_the_list_in_an_object_is_replaced(
    path: tuple[str, ...], wrap: Any, tmp_path: Path, run: Any
) -> None:
    whole = wrap(history())
    result = run("compact", save(tmp_path, "h.json", whole), "--window", "8k")
    assert result.code == 0
    holder, original = result.data, whole
    assert list(holder) == list(original)
    for key in path[:-1]:
        holder, original = holder[key], original[key]
    assert list(holder) == list(original)
    messages = holder.pop(path[-1])
    original.pop(path[-1])
    assert holder == original
    assert len(json.dumps(messages)) < len(json.dumps(history()))


def test_system_and_tools_beside_the_list_are_counted(tmp_path: Path, run: Any) -> None:
    user = [{"role": "user", "content": [{"type": "text", "text": "Hello there"}]}]
    tool = {"name": "read", "description": "Reads a file. " * 50, "input_schema": {"type": "object"}}
    sizes = []
    for extra in ({}, {"system": "Be brief. " * 100}, {"system": "Be brief. " * 100, "tools": [tool]}):
        path = save(tmp_path, "request.json", {"body": {"messages": user, **extra}})
        result = run("compact", path, "--window", "8k", "--format", "anthropic", "--json")
        assert result.code == 0, result
        sizes.append(result.data["tokens_before"])
    assert sizes[0] + 100 < sizes[1]
    assert sizes[1] + 50 < sizes[2]


@pytest.mark.parametrize(
    ("separators", "indent"), [((",", ":"), None), (None, None), (None, 2), (None, 4)], ids=str
)
@pytest.mark.parametrize("shape", ["list", "object"])
def test_what_needs_nothing_comes_back_byte_for_byte(
    separators: Any, indent: Any, shape: str, tmp_path: Path, run: Any
) -> None:
    messages = history(rounds=2)
    whole = messages if shape == "list" else {"messages": messages, "n": 1, "e": [], "o": {}}
    text = json.dumps(whole, ensure_ascii=False, separators=separators, indent=indent) + "\n"
    result = run("compact", save(tmp_path, "h.json", text), "--window", "1M")
    assert result.out.decode() == text


def test_byte_order_mark_and_nul_and_lone_surrogate(tmp_path: Path, run: Any) -> None:
    text = r'[{"role": "user", "content": "a\u0000b", "note": "\ud800 half a pair"}]'
    result = run("compact", save(tmp_path, "h.json", b"\xef\xbb\xbf" + text.encode()), "--window", "8k")
    assert result.code == 0
    assert result.data[0]["content"] == "a\x00b"
    # An unknown field passes through, whatever is in it.
    assert result.data[0]["note"] == "\ud800 half a pair"


def test_lone_surrogate_in_a_text_does_not_reach_the_output(tmp_path: Path, run: Any) -> None:
    path = save(tmp_path, "h.json", r'[{"role": "user", "content": "bad \ud800 text"}]')
    result = run("compact", path, "--window", "8k")
    assert result.code == 0
    assert result.data[0]["content"] == "bad \ufffd text"


def test_standard_input_and_output(sample: Path) -> None:
    with sample.open("rb") as stream:
        result = process("compact", "-", "-o", "-", "--window", "8k", stdin=stream)
    assert result.returncode == 0
    assert isinstance(json.loads(result.stdout), list)
    assert b"standard input" in result.stderr


# --- where things go ----------------------------------------------------------------------------------


def test_output_to_a_file_and_report_to_stdout(sample: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "out.json"
    before = sample.read_bytes()
    result = run("compact", sample, "-o", out, "--window", "8k")
    assert result.code == 0
    assert isinstance(json.loads(out.read_bytes()), list)
    assert b"written to" in result.out
    assert result.err == ""
    assert sample.read_bytes() == before


def test_quiet_says_nothing(sample: Path, tmp_path: Path, run: Any) -> None:
    assert run("compact", sample, "-o", tmp_path / "o", "--window", "8k", "-q") == Run(0, b"", "")
    result = run("compact", sample, "--window", "8k", "-q")
    assert (result.code, result.err) == (0, "")
    assert isinstance(result.data, list)


def test_json_holds_the_messages_only_when_they_go_nowhere_else(
    sample: Path, tmp_path: Path, run: Any
) -> None:
    whole = run("compact", sample, "--window", "8k", "--json")
    report = run("compact", sample, "--window", "8k", "--json", "-o", tmp_path / "o.json")
    assert (whole.code, whole.err, report.code, report.err) == (0, "", 0, "")
    messages = whole.data.pop("messages") if "messages" in whole.data else None
    assert messages is not None or whole.data["messages"] == json.loads((tmp_path / "o.json").read_bytes())
    assert "messages" not in report.data
    assert report.data["fits"] is True
    assert report.data["tokens_after"] <= report.data["limit"] == 8_000 < report.data["tokens_before"]
    assert report.data["plan"]["edits"]


def test_json_and_output_to_stdout_exclude_each_other(sample: Path, run: Any) -> None:
    result = run("compact", sample, "--window", "8k", "-o", "-", "--json")
    assert result.code == 2
    assert result.data["error"]["exit_code"] == 2


def test_plan_writes_nothing_and_gives_reasons(sample: Path, tmp_path: Path, run: Any) -> None:
    before = sorted(tmp_path.iterdir())
    result = run("plan", sample, "--window", "8k")
    assert result.code == 0
    assert b"reason" in result.out
    assert sorted(tmp_path.iterdir()) == before
    data = run("plan", sample, "--window", "8k", "--json").data
    assert {"layer", "kind", "index", "part", "tokens_before", "tokens_after", "reason"} <= set(
        data["plan"]["edits"][0]
    )
    assert "messages" not in data


def test_inspect(sample: Path, run: Any) -> None:
    result = run("inspect", sample, "--window", "32k")
    assert result.code == 0
    text = result.out.decode()
    assert "tool results" in text
    assert "32,000" in text
    assert "read_file" in text
    assert "█" in text
    data = run("inspect", sample, "--json").data
    assert data["total"] == sum(data["categories"].values())
    assert len(data["largest_results"]) == 10
    assert data["largest_results"] == sorted(data["largest_results"], key=lambda one: -one["tokens"])
    assert data["violations"] == []
    assert data["limit"] is None


def orphaned() -> list[Message]:
    return [*history(2), {"role": "tool", "tool_call_id": "nobody", "content": "orphan"}]


def test_validate_and_repair(sample: Path, tmp_path: Path, run: Any) -> None:
    assert run("validate", sample).code == 0
    assert run("validate", sample, "--json").data == {"valid": True, "violations": []}
    broken = save(tmp_path, "broken.jsonl", "\n".join(map(json.dumps, orphaned())))
    result = run("validate", broken)
    assert result.code == 1
    assert b"(line 8)" in result.out
    data = run("validate", broken, "--json").data
    assert data["valid"] is False
    assert data["violations"][0]["index"] == 7
    mended = tmp_path / "mended.jsonl"
    assert run("repair", broken, "-o", mended).code == 0
    assert run("validate", mended, "-q") == Run(0, b"", "")
    assert [json.loads(line) for line in mended.read_bytes().splitlines()] == history(2)
    assert run("inspect", broken).code == 0


def test_control_characters_of_a_history_do_not_reach_the_terminal(tmp_path: Path, run: Any) -> None:
    messages = history(12)
    name = f"{ESCAPE}]0;owned\x07read[bold]"
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["name"] = name
    path = save(tmp_path, "h.json", messages)
    for command in (
        ("inspect", path),
        ("plan", path, "--window", "2k"),
        ("compact", path, "--window", "2k", "-o", tmp_path / "o"),
    ):
        result = run(*command)
        assert ESCAPE.encode() not in result.out
        assert b"\x07" not in result.out
    assert b"[bold]" in run("inspect", path).out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_person_at_a_terminal_gets_the_report_and_not_the_history(sample: Path) -> None:
    text = on_terminal("compact", str(sample), "--window", "8k")
    assert "nothing was written" in text
    assert '"role"' not in text
    assert "reading" in text  # the sign of life
    assert '"role"' in on_terminal("compact", str(sample), "--window", "8k", "-o", "-")


def test_no_sign_of_life_when_nobody_watches(sample: Path) -> None:
    result = process("compact", str(sample), "--window", "8k")
    assert b"reading" not in result.stderr
    assert ESCAPE.encode() not in result.stderr + result.stdout


# --- files --------------------------------------------------------------------------------------------


def test_the_input_is_never_overwritten(sample: Path, tmp_path: Path, run: Any) -> None:
    before = sample.read_bytes()
    (tmp_path / "sub").mkdir()
    (tmp_path / "soft").symlink_to(sample)
    os.link(sample, tmp_path / "hard")
    for output in (sample, tmp_path / "soft", tmp_path / "hard", tmp_path / "sub" / ".." / sample.name):
        for command in (("compact", sample, "--window", "8k"), ("repair", sample)):
            result = run(*command, "-o", output)
            assert result.code == 2
            assert "never overwritten" in result.err
    assert run("compact", tmp_path / "soft", "--window", "8k", "-o", sample).code == 2
    assert sample.read_bytes() == before
    assert sample.stat().st_nlink == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs permission bits")
def test_permissions_of_the_output(sample: Path, tmp_path: Path, run: Any) -> None:
    old_mask = os.umask(0o027)
    try:
        out = tmp_path / "new.json"
        run("compact", sample, "-o", out, "--window", "8k")
        assert out.stat().st_mode & 0o777 == 0o640
        out.chmod(0o604)
        run("compact", sample, "-o", out, "--window", "8k")
        assert out.stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(old_mask)


def test_a_linked_output_is_written_through_the_link(sample: Path, tmp_path: Path, run: Any) -> None:
    target = save(tmp_path, "target.json", "old")
    (tmp_path / "link").symlink_to(target)
    assert run("compact", sample, "-o", tmp_path / "link", "--window", "8k").code == 0
    assert (tmp_path / "link").is_symlink()
    assert isinstance(json.loads(target.read_bytes()), list)


def test_a_failed_write_leaves_the_old_file_and_no_litter(
    sample: Path, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = save(tmp_path, "out.json", "precious")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("compact", sample, "-o", out, "--window", "8k")
    assert (result.code, result.out) == (4, b"")
    assert "no space left on device" in result.err
    assert out.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.json", "out.json"]


def test_outputs_that_cannot_be_written(sample: Path, tmp_path: Path, run: Any) -> None:
    for output, words in (
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "where.json", "does not exist"),
        (tmp_path / ("x" * 300), "cannot be written"),
    ):
        result = run("compact", sample, "-o", output, "--window", "8k")
        assert (result.code, result.out) == (4, b"")
        assert words in result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_written_and_not_replaced(sample: Path, run: Any) -> None:
    assert run("compact", sample, "-o", os.devnull, "--window", "8k", "-q").code == 0
    assert not Path(os.devnull).is_file()
    result = run("compact", sample, "-o", "/dev/full", "--window", "8k")
    assert result.code == 4
    with Path("/dev/full").open("wb") as full:
        assert process("compact", str(sample), "--window", "8k", stdout=full).returncode == 4


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_every_byte_reaches_a_slow_reader(unbuffered: str, tmp_path: Path) -> None:
    path = save(tmp_path, "h.json", history(400, 1000))
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    result = process("compact", str(path), "--window", "1M", "-q", env=environment)
    assert json.loads(result.stdout) == history(400, 1000)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe")
def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    path = save(tmp_path, "h.json", history(400, 4000))
    compact = f"'{sys.executable}' -m lithify.cli.main compact '{path}' --window 1M -q"
    command = f"{compact} | head -c 10; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, check=False)  # noqa: S603, S607
    assert result.stderr == b""
    assert result.stdout.endswith(b"141\n")


# --- the program --------------------------------------------------------------------------------------


def test_help_documents_the_exit_codes(run: Any) -> None:
    text = run("--help").out.decode()
    for line in ("1    validate found violations", "3    the history cannot be made to fit"):
        assert line in text
    for command in ("compact", "plan", "inspect", "validate", "repair"):
        assert command in text
        assert run(command, "--help").code == 0
    assert "no -o, a terminal" in run("compact", "--help").out.decode()


@pytest.mark.parametrize("package", ["click", "rich"])
def test_a_missing_package_is_named(package: str, sample: Path) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from lithify.cli.main import main; sys.exit(main())"
    arguments = [sys.executable, "-c", code, "validate", str(sample)]
    result = subprocess.run(arguments, capture_output=True, check=False)  # noqa: S603
    assert result.returncode == 5
    assert b"pip install 'lithify[cli]'" in result.stderr
    assert b"Traceback" not in result.stderr
    without = subprocess.run([*arguments, "--json"], capture_output=True, check=False)  # noqa: S603
    assert without.returncode == (5 if package == "click" else 0)


def test_names_and_texts_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    path = save(tmp_path, "日本語.json", history(3))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    result = process("inspect", str(path), env=environment)
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert b"###" in result.stdout


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, "-m", "lithify.cli.main", *arguments], check=False, **options)  # noqa: S603


def on_terminal(*arguments: str) -> str:
    """Run the command with a pseudo terminal for its output and return what a person would see."""
    import pty  # noqa: PLC0415 (not on Windows)

    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    started = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "lithify.cli.main", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env=environment,
    )
    os.close(follower)
    seen = bytearray()
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # Linux says so at the end
        pass
    finally:
        os.close(leader)
        started.wait()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
