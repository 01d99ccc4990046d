"""The exact counters through the bindings, against tiktoken, which reads the embedded ranks."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tiktoken
from lithify import _core

from tests.differential.bpe_strings import strings

if TYPE_CHECKING:
    from collections.abc import Iterator

ENCODINGS = ["o200k_base", "cl100k_base"]
HIGH, LOW = "\ud83d", "\ude00"


@pytest.fixture(scope="module", autouse=True)
def _rank_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = str(tmp_path_factory.mktemp("ranks"))
    tool = Path(__file__).parents[2] / "rust/bpe/tools/build_data.py"
    subprocess.run([sys.executable, tool, "--from-data", "--tiktoken-cache", folder], check=True)  # noqa: S603
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", folder)
        yield


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_equal_to_tiktoken(encoding: str) -> None:
    texts = list(strings(seed=7, count=5_000))
    expected = [len(tokens) for tokens in tiktoken.get_encoding(encoding).encode_ordinary_batch(texts)]
    assert _core.count_texts(texts, encoding) == expected
    assert [_core.count_text(text, encoding) for text in texts] == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        HIGH,
        LOW,
        HIGH + LOW,
        LOW + HIGH,
        f"a{LOW}b",
        f"x{HIGH}{HIGH}{LOW}y",
        f"é{HIGH}é",
        "中" * 99,
    ],
)
def test_odd_strings_are_equal_to_tiktoken(encoding: str, text: str) -> None:
    expected = len(tiktoken.get_encoding(encoding).encode_ordinary(text))
    assert _core.count_text(text, encoding) == expected
    assert _core.count_texts([text, "x", text], encoding) == [expected, 1, expected]


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("1234567", 3, 3),
        ("don't", 1, 2),
    ],
)
def test_known_counts(text: str, o200k: int, cl100k: int) -> None:
    assert _core.count_text(text, "o200k_base") == _core.count_text(text, "o200k_harmony") == o200k
    assert _core.count_text(text, "cl100k_base") == cl100k


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_prefix_and_suffix_are_the_longest(encoding: str) -> None:
    for text in strings(seed=8, count=300):
        for limit in (0, 1, 5, 40):
            fits = [cut for cut in range(len(text) + 1) if _core.count_text(text[:cut], encoding) <= limit]
            assert _core.prefix(text, encoding, limit) == text[: fits[-1]]
            fits = [cut for cut in range(len(text) + 1) if _core.count_text(text[cut:], encoding) <= limit]
            assert _core.suffix(text, encoding, limit) == text[fits[0] :]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("unit", ["some words é\n", "é中文", "a", " ", "=", "A中B", "x  \n", "😀 "])
def test_prefix_of_a_long_text(encoding: str, unit: str) -> None:
    text = unit * 40_000
    for limit in (0, 1, 40, 300):
        prefix = _core.prefix(text, encoding, limit)
        assert _core.count_text(prefix, encoding) <= limit
        longer = [_core.count_text(text[:cut], encoding) for cut in range(len(prefix) + 1, len(prefix) + 300)]
        assert min(longer) > limit


def test_a_text_that_fits_is_returned_itself() -> None:
    text = "some words, ".join(["é"] * 4)
    assert _core.prefix(text, "o200k_base", 100) is text
    assert _core.suffix(text, "o200k_base", 100) is text


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_stream(encoding: str) -> None:
    for text in strings(seed=9, count=300):
        stream = _core.StreamCounter(encoding)
        for at in range(0, len(text), 3):
            stream.append(text[at : at + 3])
            assert stream.total == _core.count_text(text[: at + 3], encoding)


def test_threads_agree() -> None:
    texts = list(strings(seed=10, count=2_000)) * 2
    expected = _core.count_texts(texts, "o200k_base")
    results: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: results.append(_core.count_texts(texts, "o200k_base")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_errors() -> None:
    with pytest.raises(ValueError, match="p50k_base"):
        _core.count_text("x", "p50k_base")
    with pytest.raises(TypeError):
        _core.count_texts(["x", 1], "o200k_base")  # type: ignore[list-item]
    with pytest.raises(OverflowError):
        _core.prefix("x", "o200k_base", -1)
