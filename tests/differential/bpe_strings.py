"""Seeded generator of strings that try to tell one tokenizer from another.

Every string is a pure function of (seed, index). The kinds: characters of every Unicode class, weighted
towards the borders of the patterns; alternating and repeated units; words, code, logs, JSON; mutations of
real text; contractions; special-token text; long runs.
"""

import random
import string
import unicodedata
from collections.abc import Iterator
from pathlib import Path

CONTRACTIONS = [
    "'s",
    "'S",
    "'t",
    "'re",
    "'Ve",
    "'m",
    "'LL",
    "'d",
    "'l",
    "'r",
    "'\u017f",
    "\u2019s",
    "'",
    "''",
]
SPACES = [
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    " \n",
    "\x0b",
    "\x0c",
    "\x85",
    "\xa0",
    "\u2003",
    "\u3000",
    "\u2028",
]
PUNCTUATION: list[str] = [
    *'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~/',
    "//",
    "/\n",
    "...",
    "\x00",
    "\x1c",
    "\x7f",
    "—",
    "。",
    "€",
    "\u200d",
]
LETTERS = [
    "a",
    "Z",
    "the",
    "The",
    "HTTP",
    "fooBar",
    "é",
    "É",
    "ß",
    "Dž",
    "ʰ",
    "中",
    "文字",
    "ไทย",
    "हिन्दी",
    "한국",
    "Я",
    "я",
    "ſ",
    "K",
    "ª",
]
MARKS = ["\u0301", "\u0300\u0302", "\u0e34", "\u093f", "\ufe0f", "\u20dd"]
NUMBERS = ["0", "7", "42", "123", "1234", "1234567", "²", "Ⅷ", "½", "٣", "४५", "〇"]
EMOJI = ["😀", "👍🏽", "👨\u200d👩\u200d👧", "❤\ufe0f", "🇩🇪"]
SPECIAL = ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|start|>", "<|message|>", "<|return|>"]
GROUPS: list[list[str]] = [CONTRACTIONS, SPACES, PUNCTUATION, LETTERS, MARKS, NUMBERS, EMOJI, SPECIAL]
WORDS = (  # noqa: SIM905 - a list of fifty literals is no easier to read
    "the of function return self import class token value error message context window get_user"
    " userName parseJSON HttpRequest don't I'll they're compaction 2026-11-30 12:30:45 0xdeadbeef __init__"
    " async def while None true"
    " naïve café über straße Ελλάδα привет мир 你好 世界 日本語 こんにちは 안녕하세요 สวัสดี नमस्ते"
).split()


def code_points() -> list[str]:
    """Every assigned character and some that are not, one list for each general category."""
    groups: dict[str, list[str]] = {}
    for code in range(0x110000):
        if not 0xD800 <= code <= 0xDFFF:
            groups.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    return ["".join(group) for group in groups.values()]


CATEGORIES = code_points()


def real_texts() -> list[str]:
    """Texts that ship with Python: the standard library's own sources."""
    folder = Path(string.__file__).parent
    return [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.py"))[:80]]


REAL = real_texts()


def any_character(rng: random.Random) -> str:
    return rng.choice(rng.choice(CATEGORIES))


def borders(rng: random.Random) -> str:
    return "".join(rng.choice(rng.choice(GROUPS)) for _ in range(rng.randrange(1, 14)))


def unicode_mix(rng: random.Random) -> str:
    return "".join(any_character(rng) for _ in range(rng.randrange(1, 24)))


def ascii_noise(rng: random.Random) -> str:
    alphabet = rng.choice(
        [
            "aA'sl \n",
            "a/ \n!",
            string.printable,
            "ab \t\r\n'",
            string.ascii_letters,
            "0123456789 ",
            "+-*/ \n/",
        ]
    )
    return "".join(rng.choices(alphabet, k=rng.randrange(1, 200)))


def repeated(rng: random.Random) -> str:
    unit = "".join(rng.choice(rng.choice(GROUPS)) for _ in range(rng.randrange(1, 4)))
    tail: str = rng.choice(rng.choice(GROUPS))
    return (unit * rng.randrange(1, 120))[:400] + tail


def words(rng: random.Random) -> str:
    return "".join(
        rng.choice(WORDS) + rng.choice([" ", " ", " ", "\n", ", ", "_", "", "-"])
        for _ in range(rng.randrange(1, 40))
    )


def log_line(rng: random.Random) -> str:
    start = f"2026-11-{rng.randrange(1, 31):02} {rng.random() * 9e4:.3f}"
    return f"{start} [{rng.choice(WORDS)}] {rng.getrandbits(64):x}\n"


def json_like(rng: random.Random) -> str:
    pairs = (
        f'"{rng.choice(WORDS)}":{rng.choice(["", " "])}{rng.randrange(10**9)}'
        for _ in range(rng.randrange(1, 12))
    )
    return "{" + rng.choice([",", ", ", ",\n    "]).join(pairs) + "}"


def mutated(rng: random.Random) -> str:
    text = rng.choice(REAL)
    start = rng.randrange(len(text) or 1)
    piece = list(text[start : start + rng.randrange(1, 400)])
    for _ in range(rng.randrange(5)):
        at = rng.randrange(len(piece) + 1)
        piece[at : at + rng.randrange(3)] = rng.choice([any_character(rng), rng.choice(rng.choice(GROUPS))])
    return "".join(piece)


def base64_like(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=rng.randrange(1, 300)))


def long_word(rng: random.Random) -> str:
    latin = ["abcdefghij", "aAbB", "=-"]
    asian = ["的一是不了人我在有他这中大来上国", "กขคงจฉชซาิีึืุู่้", "あいうえおかきく", "가나다라"]
    pool = rng.choice([latin[0], asian[0], asian[1], latin[1], latin[2], asian[2], asian[3]])
    return "".join(rng.choices(pool, k=rng.randrange(16, 160)))


KINDS = [
    borders,
    borders,
    borders,
    unicode_mix,
    ascii_noise,
    ascii_noise,
    repeated,
    words,
    log_line,
    json_like,
    mutated,
    mutated,
    base64_like,
    long_word,
]


def string_at(seed: int, index: int) -> str:
    """The string with this index; sometimes several kinds in a row."""
    rng = random.Random(seed * 1_000_003 + index)
    return "".join(rng.choice(KINDS)(rng) for _ in range(rng.choice([1, 1, 1, 2, 3])))


def strings(seed: int, count: int) -> Iterator[str]:
    """`count` strings of a seed."""
    return (string_at(seed, index) for index in range(count))
