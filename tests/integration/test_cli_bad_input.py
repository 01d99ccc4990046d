"""The command line on bad input: a typed sentence, the place, an exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from lithify.cli import source
from lithify.cli.main import main
from lithify.cli.options import parse_tokens

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


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    messages = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"Text {n}. " * 90} for n in range(40)
    ]
    return save(tmp_path, "history.json", json.dumps(messages))


def save(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


BAD_WINDOWS = [
    "",
    "0",
    "0k",
    "-5",
    "-1k",
    "nan",
    "NaN",
    "inf",
    "1e5",
    "k",
    "32kb",
    "32 k",
    "1.0005k",
    "0.5",
    "٣",
    "_1",
]


@pytest.mark.parametrize("text", [*BAD_WINDOWS, "9" * 40, "1" + "0" * 5000])
def test_bad_windows(text: str, sample: Path, run: Any) -> None:
    with pytest.raises(ValueError, match="tokens"):
        parse_tokens(text)
    result = run("compact", sample, "--window", text)
    assert (result.code, result.out) == (2, b"")
    assert "--window" in result.err


# --- bad input ----------------------------------------------------------------------------------------

USER = '{"role": "user", "content": "hi"}'

BAD_FILES: list[tuple[str, bytes | str, str]] = [
    ("empty", b"", "is empty"),
    ("blank", b" \n\t\n", "is empty"),
    ("no_json", "hello", "line 1, column 1"),
    ("number", "42", "holds int"),
    ("null", "null", "holds null"),
    ("text", '"role"', "holds str"),
    ("object", '{"a": 1}', "has the keys a"),
    ("empty_object", "{}", "(none)"),
    ("not_a_list", '{"messages": {"role": "user"}}', "no list of messages"),
    ("one_message", '{\n"role": "user",\n"content": "hi"}', "single message"),
    ("histories", f'[{{"messages": [{USER}]}}, {{"messages": []}}]', "2 whole histories"),
    ("histories.jsonl", f'{{"messages": [{USER}]}}\n{{"messages": []}}\n', "2 whole histories"),
    ("no_mapping", f"[{USER}, 3]", "essage 1"),
    ("no_mapping_list", f"[{USER}, []]", "essage 1"),
    ("wrong_role", f'[{USER}, {{"role": "wizard", "content": "x"}}]', "essage 1"),
    ("no_role", f'[{USER}, {{"content": "x"}}]', "essage 1"),
    ("content_type", f'[{USER}, {{"role": "user", "content": 5}}]', "essage 1"),
    ("cut_list", f'[{USER},\n {{"role": "use', "line 2, column 11: the text ends too early"),
    ("cut_after_comma", f"[{USER},", "ends too early"),
    ("cut.jsonl", f'{USER}\n{USER}\n{{"role": "user", "con', "line 3"),
    ("middle.jsonl", f'{USER}\n{{"role" "user"}}\n{USER}\n', "line 2, column 9"),
    ("first.jsonl", f'{{"role" "user"}}\n{USER}\n', "line 1, column 9"),
    ("role.jsonl", f'{USER}\n\n{{"role": "wizard"}}\n', "(line 3)"),
    ("comma", f"[{USER},\n\n{USER} {USER}]", "line 3, column 35"),
    ("utf8", b'[{"role": "user", "content": "caf\xe9"}]', "offset 33"),
    ("utf8.jsonl", USER.encode() + b'\n{"role": "\xff"}', "offset 44"),
    ("utf16", f"[{USER}]".encode("utf-16"), "UTF-16"),
    ("nan", '[{"role": "user", "content": "NaN",\n "n": NaN}]', "line 2, column 7: NaN"),
    ("infinity", '[{"role": "user", "content": "x", "n": -Infinity}]', "column 40: -Infinity"),
    ("huge_float", '[{"role": "user", "content": "x", "n": 1e999}]', "column 40"),
    ("raw_nul", b'[{"role": "user", "content": "a\x00b"}]', "column 32"),
    ("nul_bytes", b"\0" * 100, "line 1, column 1"),
    ("deep", "[" * 100_000, "nested too deeply"),
    (
        "deep_content",
        '[{"role": "user", "content": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}]",
        "nested too deeply",
    ),
    ("binary", bytes(range(256)), "offset"),
]


@pytest.mark.parametrize("bad", BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
@pytest.mark.parametrize("command", ["compact", "plan", "inspect", "validate", "repair"])
def test_bad_input(command: str, bad: tuple[str, bytes | str, str], tmp_path: Path, run: Any) -> None:
    name, data, words = bad
    path = save(tmp_path, name, data)
    window = ("--window", "8k") if command in {"compact", "plan"} else ()
    result = run(command, path, *window)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("lithify: ")
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    assert words in result.err
    again = run(command, path, *window, "--json")
    assert (again.code, again.err) == (2, "")
    assert words in again.data["error"]["message"]
    assert again.data["error"]["exit_code"] == 2


def test_an_empty_list_is_a_history_or_a_clear_error(tmp_path: Path, run: Any) -> None:
    result = run("compact", save(tmp_path, "h.json", "[]"), "--window", "8k")
    assert result.code in {0, 2}
    assert result.data == [] if result.code == 0 else result.out == b""


def test_files_that_cannot_be_read(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent", "no such file"),
        ("a\0b", "cannot be read|not the name"),
    ):
        result = run("validate", file)
        assert (result.code, result.out) == (4, b"")
        assert re.search(words, result.err)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(source, "_read", refuse)
    result = run("validate", save(tmp_path, "secret", "[]"))
    assert (result.code, result.out) == (4, b"")
    assert "permission denied" in result.err


@pytest.mark.skipif(AS_ROOT, reason="the superuser may read everything")
def test_a_file_without_permission(sample: Path, run: Any) -> None:
    sample.chmod(0)
    result = run("validate", sample)
    assert result.code == 4
    assert "permission denied" in result.err


def test_a_file_over_the_bound_is_refused_unread(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(source.MAX_BYTES + 1)  # sparse: takes no room on the disk
    result = run("validate", path)
    assert result.code == 2
    assert "1,024 MiB" in result.err


def test_an_endless_input_is_bounded(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 1 << 20)
    if not Path("/dev/zero").exists():
        pytest.skip("needs /dev/zero")
    result = run("validate", "/dev/zero")
    assert result.code == 2
    assert "at most 1 MiB" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("compact", "FILE"), 2, "--window"),
        (("plan", "FILE"), 2, "--window"),
        (("compact",), 2, "FILE"),
        (("compact", "FILE", "--windows", "8k"), 2, "--windows"),
        (("compact", "FILE", "--window", "8k", "--format", "klingon"), 2, "klingon"),
        (("validate", "FILE", "--format", "klingon"), 2, "klingon"),
        (("compact", "FILE", "--window", "8k", "--reserve", "8k"), 2, "eserve"),
        (("compact", "FILE", "--window", "8k", "--reserve", "9k"), 2, "eserve"),
        (("compact", "FILE", "--window", "8k", "--reserve", "-1"), 2, "eserve"),
        (("explode", "FILE"), 2, "explode"),
        (("compact", "FILE", "--window", "30"), 3, "does not fit"),
    ],
    ids=str,
)
def test_wrong_usage(arguments: tuple[str, ...], code: int, words: str, sample: Path, run: Any) -> None:
    result = run(*(str(sample) if one == "FILE" else one for one in arguments))
    assert (result.code, result.out) == (code, b"")
    assert words in result.err


def test_what_does_not_fit(sample: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "out.json"
    result = run("compact", sample, "--window", "30", "--json", "-o", out)
    assert result.code == 3
    assert not out.exists()
    error = result.data["error"]
    assert error["limit"] == 30 < error["tokens"]
    assert error["kind"] == "DoesNotFit"
    plan = run("plan", sample, "--window", "30")
    assert plan.code == 3
    assert b"DOES NOT FIT" in plan.out


def test_a_fault_of_ours_is_one_line_too(sample: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import lithify  # noqa: PLC0415

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(lithify, "validate", broken)
    result = run("validate", sample)
    assert result.code == 70
    assert "report it" in result.err
    assert result.err.count("\n") == 1
