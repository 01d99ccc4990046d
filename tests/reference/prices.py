"""Prices in tokens (DESIGN section 2, Tokens)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.reference.shape import (
    ANTHROPIC,
    OPENAI,
    Message,
    Part,
    arguments_text,
    call_arguments,
    call_name,
    compact_json,
    content_parts,
    parts,
    sendable,
    text_of,
)

Count = Callable[[str], int]

IMAGE = {ANTHROPIC: 1600, OPENAI: 765}
LOW_DETAIL = 85
AUDIO = 500
DOCUMENT = 3000
REDACTED = 300
BASE64 = re.compile(r"[A-Za-z0-9+/=_-]*")


def price_message(message: Message, fmt: str, count: Count) -> int:
    price = 4 + sum(price_part(part, fmt, count) for part in parts(message, fmt))
    if fmt == OPENAI and isinstance(message.get("name"), str):
        price += count(sendable(message["name"])) + 1
    return price


def price_part(part: Part, fmt: str, count: Count) -> int:
    if part.kind in ("text", "thinking"):
        return count(sendable(text_of(part)))
    if part.kind == "redacted":
        return REDACTED
    if part.kind == "call":
        arguments = arguments_text(call_arguments(part, fmt))
        return 8 + count(sendable(call_name(part, fmt))) + count(sendable(arguments))
    if part.kind == "result":
        inner = content_parts(part.data.get("content"), fmt)
        return 4 + sum(price_part(piece, fmt, count) for piece in inner)
    if part.kind == "image":
        return price_image(part.data, fmt)
    if part.kind == "audio":
        return AUDIO
    if part.kind == "document":
        return price_document(part.data, count)
    return price_opaque(part.data, fmt, count)


def price_image(block: Message, fmt: str) -> int:
    picture = block.get("image_url")
    if fmt == OPENAI and isinstance(picture, dict) and picture.get("detail") == "low":
        return LOW_DETAIL
    return IMAGE[fmt]


def price_document(block: Message, count: Count) -> int:
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        return count(sendable(source["data"]))
    return DOCUMENT


def price_opaque(block: Any, fmt: str, count: Count) -> int:
    images = 0

    def without_blobs(value: Any) -> Any:
        nonlocal images
        if (
            isinstance(value, str)
            and len(value) >= 512
            and (value.startswith("data:") or BASE64.fullmatch(value))
        ):
            images += 1
            return ""
        if isinstance(value, list):
            return [without_blobs(each) for each in value]
        if isinstance(value, dict):
            return {key: without_blobs(each) for key, each in value.items()}
        return value

    return count(sendable(compact_json(without_blobs(block)))) + images * IMAGE[fmt]


def price_request(system: Any, tools: Any, count: Count) -> int:
    price = 3
    if isinstance(system, str):
        price += 4 + count(sendable(system))
    elif system is not None:
        price += 4 + sum(count(sendable(block["text"])) for block in system if "text" in block)
    for tool in tools or []:
        price += 8 + count(sendable(compact_json(tool)))
    return price
