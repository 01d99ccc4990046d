"""The kinds of failure that users of other tools have reported: texts, estimates, pictures and cuts."""

from __future__ import annotations

import random
from typing import Any

import lithify
import pytest
from lithify import errors

from tests.histories import ANTHROPIC, OPENAI, chars4

MARKER = "[truncated: output exceeded context limit]"


def noise(size: int) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(random.Random(7).choices(alphabet, k=size))


# Estimates: 80, 82, 83, 85, 133, 134, 136, 146 ----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("这个项目的架构设计非常优秀。" * 1000, 8000 / 14_000, 1.5),
        ("我们需要在压缩之后保留用户的全部指令，" * 300, 0.55, 1.5),
        ("日本語には空白がありません" * 400, 0.5, 1.5),
        ("การบีบอัดบริบทช่วยให้ตัวแทนทำงานต่อได้" * 300, 0.35, 1.2),
        ("ขอให้รันชุดทดสอบอีกครั้งก่อนส่งงาน" * 50, 0.35, 1.2),
        ("नमस्ते दुनिया " * 200, 0.25, 1.6),
        ("👩‍👩‍👧‍👦🔥🇹🇭" * 200, 0.7, 3.0),
        ("The quick brown fox jumps over the lazy dog. " * 200, 0.15, 0.35),
    ],
)
def test_estimates_are_near_for_every_script(text: str, low: float, high: float) -> None:
    per_character = lithify.count_tokens(text) / len(text)
    assert low <= per_character <= high


@pytest.mark.parametrize("piece", ["a", " ", "的", "\n", "=", "é", "กำ", '{"k":[1,2,{"v":"w"}]},'])
def test_huge_runs_are_counted(piece: str) -> None:
    """A counter that were quadratic in a run would not come to an end here."""
    small, large = (lithify.count_tokens(piece * (size // len(piece))) for size in (1_000_000, 8_000_000))
    assert 7.9 * small < large < 8.1 * small


@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "<|im_start|>user", "a <|endofprompt|> b", "<|fim_prefix|>" * 50]
)
def test_special_tokens_are_ordinary_text(text: str) -> None:
    assert lithify.count_tokens(text) > 1
    assert lithify.count_tokens(text, token_counter="o200k_base") >= 5  # noqa: S106 (a name)
    assert lithify.count_tokens([{"role": "user", "content": text}]) > lithify.count_tokens(text)


# Pictures: 74, 76, 77, 79 ----------------------------------------------------


@pytest.mark.parametrize("size", [100, 4_000_000])
@pytest.mark.parametrize("inside", [False, True])
def test_a_picture_has_a_fixed_price(size: int, *, inside: bool) -> None:
    image: Any = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": noise(size)},
    }
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "see"}]}]
    before = lithify.count_tokens(messages, format=ANTHROPIC)
    if inside:
        call = {"type": "tool_use", "id": "v", "name": "view_image", "input": {"path": "a.png"}}
        messages.append({"role": "assistant", "content": [call]})
        before = lithify.count_tokens(messages, format=ANTHROPIC)
        image = {"type": "tool_result", "tool_use_id": "v", "content": [image]}
    messages.append({"role": "user", "content": [image]})
    assert 1000 <= lithify.count_tokens(messages, format=ANTHROPIC) - before <= 5000
    result = lithify.compact(messages, window=200_000, format=ANTHROPIC)
    assert result.rung == "none"


@pytest.mark.parametrize("url", ["https://x/{i}.png", "data:image/png;base64," + "QUJD" * 9000])
def test_pictures_cost_in_proportion_to_their_number(url: str) -> None:
    def price(count: int) -> int:
        picture = {"type": "image_url", "image_url": {"url": url}}
        return lithify.count_tokens([{"role": "user", "content": [picture]}] * count, format=OPENAI)

    assert price(100) - price(0) == 100 * (price(1) - price(0)) > 10_000


def test_a_blob_in_an_unknown_block_is_not_text() -> None:
    block = {"type": "image_v2", "base64": noise(300_000), "mime_type": "image/jpeg"}
    messages = [{"role": "user", "content": [{"type": "text", "text": "t"}, block]}]
    assert 500 < lithify.count_tokens(messages, format=ANTHROPIC) < 5000


# Cuts: 82, 83, 85, 91, 92, 94, 95, 98 ----------------------------------------------------


def cut(text: str, limit: int, **more: Any) -> str | None:
    """The truncated text; None when not even the marker fits."""
    try:
        result = lithify.truncate(text, limit, **more)
    except errors.LithifyError:
        return None
    assert isinstance(result, str)
    return result


def kept(text: str, result: str) -> str:
    """What of the text the result holds; checked to be a prefix, with the marker behind it."""
    if result == text:
        return text
    assert result.endswith(MARKER)
    body = result.removesuffix(MARKER).removesuffix("\n")
    assert text.startswith(body)
    return body


TEXTS = {
    "han": "a" + "汉" * 3000,
    "check mark": "Compiled the file ✓ and more text follows " * 20,
    "thai": "การบีบอัดบริบทช่วยให้ตัวแทนทำงานต่อได้" * 40,
    "families": "👩‍👩‍👧‍👦🔥🇹🇭" * 90,
    "accents": "e\u0301" * 600,
    "no spaces": "日本語には空白がありません" * 60,
    "escapes": "\x1b[38;5;196mred\x1b[0m" * 80,
    "crlf": "line\r\n" * 300,
    "cr": "progress 10%\r" * 200,
    "long line": "short first line\n" + "x" * 5000,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("counter", [chars4, None], ids=["chars4", "estimate"])
def test_every_limit_gives_a_prefix_and_the_marker(name: str, counter: Any) -> None:
    text = TEXTS[name]
    sizes = []
    for limit in (*range(130), 300, 700):
        result = cut(text, limit, token_counter=counter)
        if result is None:
            assert limit < 20
            continue
        assert lithify.count_tokens(result, token_counter=counter) <= limit
        result.encode("utf-8")
        body = kept(text, result)
        rest = text[len(body) :]
        assert not rest.startswith(("\u0301", "\u200d", "\u0e31", "\u0e34", "\u0e49", "\u0e48", "\ufe0f"))
        assert not body.endswith(("\u200d", "\x1b", "\x1b[", "\x1b[38;5"))
        assert not (body.endswith("\r") and rest.startswith("\n"))
        sizes.append(len(body))
    assert len(set(sizes)) > 5


@pytest.mark.parametrize("limit", [40, 100, 250])
def test_crlf_text_ends_with_a_whole_line(limit: int) -> None:
    body = kept(TEXTS["crlf"], lithify.truncate(TEXTS["crlf"], limit, token_counter=chars4))
    assert body.endswith("line")
    assert set(body.split("\r\n")) == {"line"}


def test_cr_alone_is_no_line_end() -> None:
    result = lithify.truncate(TEXTS["cr"], 100, token_counter=chars4)
    assert 0.9 * 400 < len(result) <= 400


@pytest.mark.parametrize(("first", "used"), [(17, False), (690, False), (800, True), (950, True)])
def test_a_far_off_line_end_does_not_throw_the_allowance_away(first: int, *, used: bool) -> None:
    text = "s" * first + "\n" + "x" * 50_000
    result = lithify.truncate(text, 261, token_counter=chars4)
    assert (len(kept(text, result)) == first) == used
