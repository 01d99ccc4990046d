"""Every row of the pattern table, with an example and a look-alike, and whole errors by shape."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lithify.recovery import ErrorClass, classify_error

SPEC = Path(__file__).parents[2] / "spec" / "errors.toml"
TABLE = Path(__file__).parents[3] / "python" / "lithify" / "recovery" / "patterns.toml"
FIGURES = ("limit", "actual", "output", "total", "available", "overage")


@cache
def load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rows() -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in load(SPEC)["row"]]


def cases() -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in load(SPEC)["case"]]


def classify(sample: dict[str, Any]) -> ErrorClass:
    if sample.get("bare"):
        return classify_error(sample["text"])
    return classify_error(status=sample.get("status", 400), body={"error": {"message": sample["text"]}})


def flat(result: ErrorClass) -> dict[str, Any]:
    """Everything that the spec can name, so that a case compares the whole result."""
    figures = result.figures
    named: dict[str, Any] = {name: getattr(figures, name) for name in FIGURES}
    return named | {
        "kind": result.kind.value,
        "sub": result.sub,
        "reason": result.reason,
        "retry_after": result.retry_after,
        "unit": figures.unit,
        "actual_unit": figures.actual_unit,
        "at_least": figures.at_least,
        "approximate": figures.approximate,
    }


def test_every_row_has_an_example_and_a_look_alike() -> None:
    table = [row["id"] for row in load(TABLE)["row"]]
    spec = [row["id"] for row in load(SPEC)["row"]]
    assert sorted(table) == sorted(spec)
    assert len(set(table)) == len(table)
    assert all({"yes", "no"} <= row.keys() for row in load(SPEC)["row"])


@pytest.mark.parametrize("row", rows())
def test_the_example_is_decided_by_its_row(row: dict[str, Any]) -> None:
    sample = row["yes"]
    result = flat(classify(sample))
    assert result["reason"] == row["id"]
    named = {key: value for key, value in sample.items() if key not in {"text", "status", "bare"}}
    assert {key: result[key] for key in named} == named


@pytest.mark.parametrize("row", rows())
def test_the_look_alike_is_not(row: dict[str, Any]) -> None:
    result = classify(row["no"])
    assert result.reason != row["id"]
    assert result.kind.value == row["no"]["kind"]


@pytest.mark.parametrize("case", cases())
def test_whole_errors(case: dict[str, Any]) -> None:
    arguments = {key: value for key, value in case.items() if key not in {"name", "expect", "error"}}
    blank = dict.fromkeys(FIGURES) | {
        "sub": None,
        "retry_after": None,
        "unit": "tokens",
        "actual_unit": "tokens",
        "at_least": False,
        "approximate": False,
        "reason": "none",
    }
    assert flat(classify_error(case.get("error"), **arguments)) == blank | case["expect"]
