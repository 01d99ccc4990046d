"""The README keeps its word: its Python runs, its commands run, its tables say what the code says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLE = Path("tests", "data", "coding_session.json")

pytestmark = pytest.mark.skipif(not (ROOT / SAMPLE).exists(), reason="the sample session is not there")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Return the shell lines that use the command; those that install are run by `.ci/run`."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line.split(" && ")[-1] for line in lines if "lithify " in line]


def test_the_two_commands_stand_as_users_know_them() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert "pip install '.[cli]' && lithify compact tests/data/coding_session.json --window 32k" in lines
    assert "pip install '.[test]' && pytest" in lines
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert any(line.startswith("click") for line in extras["cli"])
    assert any(line.startswith("pytest") for line in extras["test"])


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks("python")):
        exec(compile(block, f"README.md, Python block {number}", "exec"), names)  # noqa: S102


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    pytest.importorskip("click")
    (tmp_path / SAMPLE.parent).mkdir(parents=True)
    shutil.copy(ROOT / SAMPLE, tmp_path / SAMPLE)
    # The command as a script of its own, so that the test needs no installed entry point on the PATH.
    script = tmp_path / "bin" / "lithify"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m lithify.cli.main \"$@\"\n")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}
    assert len(commands()) > 3
    for line in commands():
        done = subprocess.run(  # noqa: S602
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table that follows the line `heading`."""
    table = README.split(heading)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines() if line]


def test_the_table_of_settings_is_that_of_the_code() -> None:
    import lithify  # noqa: PLC0415 (collected also where the engine is not built)

    table = {
        row[0].strip("`"): row
        for row in rows("| setting | default | literal | meaning |\n|---|---|---|---|\n")
    }
    plain, literal = flat(lithify.Policy().to_dict()), flat(lithify.Policy.literal().to_dict())
    assert list(table) == list(plain)
    for name, value in plain.items():
        _, default, changed, meaning = table[name]
        assert default == shown(value), name
        assert changed == ("" if literal[name] == value else shown(literal[name])), name
        assert meaning


def flat(data: dict[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in data.items():
        found |= (
            {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        )
    return found


def shown(value: object) -> str:
    if isinstance(value, list):
        return "names" if value else "()"
    return str(value)


def test_the_table_of_exit_codes_is_that_of_the_code() -> None:
    from lithify.cli.exits import TABLE  # noqa: PLC0415

    codes = {int(row[0]): row[1].replace("`", "") for row in rows("| exit code | meaning |\n|---|---|\n")}
    assert list(codes) == list(TABLE)
    for code, meaning in codes.items():
        assert TABLE[code].startswith(meaning), code


def test_links_to_files_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target
