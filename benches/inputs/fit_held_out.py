"""Texts for checking the token estimate: files by other authors, from packages that one can install.

Nothing of them is kept in the project, and none was read by the fit. A source is a class, a glob under
one root, and a reader. Roots: `deb` (one folder per unpacked Debian package), `py` (one folder per
unpacked wheel), `sys` (the running system), `crates` (cargo's registry of sources).
"""

from __future__ import annotations

import base64
import gettext
import gzip
import hashlib
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST = 8_000_000
"""Bytes of the largest file that is read."""
SHORTEST = 40
"""Characters of the shortest text that is used."""


def read_text(path: Path) -> str:
    """The file as text; gzip is undone, and what is not UTF-8 gives an empty text."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


_DROP = re.compile(r"(?s)<(script|style|head)\b.*?</\1>|<!--.*?-->")
_TAG = re.compile(r"<[^>]*>")
_BLANK = re.compile(r"[ \t]*\n\s*\n\s*")


def read_html(path: Path) -> str:
    """The visible text of an HTML or Mallard page."""
    text = _DROP.sub(" ", read_text(path))
    return _BLANK.sub("\n\n", html.unescape(_TAG.sub("", text))).strip()


_FONT = re.compile(r"\\f(\[[A-Z]*\]|\(..|.)|\\s[-+]?\d|\\[&|^]|\\\(..")


def read_man(path: Path) -> str:
    """A manual page without most of its markup."""
    lines = []
    for line in read_text(path).splitlines():
        if line.startswith(('.\\"', "'\\\"")):
            continue
        plain = re.sub(r"^[.'][A-Za-z]+ ?", "", line)
        lines.append(_FONT.sub("", plain).replace("\\-", "-").replace('"', ""))
    return "\n".join(lines)


def read_mo(path: Path) -> str:
    """The translated messages of a gettext catalogue, one a line."""
    with path.open("rb") as file:
        try:
            catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (OSError, UnicodeDecodeError):
            return ""
    return "\n".join(v for k, v in catalog.items() if k and isinstance(v, str) and v != k)


def read_po(path: Path) -> str:
    """The same for a catalogue in source form."""
    out = re.findall(r'(?m)^msgstr(?:\[\d\])? ((?:".*"\n?)+)', read_text(path))
    texts = ["".join(re.findall(r'"(.*)"', entry)).replace('\\"', '"').replace("\\n", "\n") for entry in out]
    return "\n".join(t for t in texts[1:] if t)


def read_fortune(path: Path) -> str:
    """A fortune file; index files give an empty text."""
    return "" if path.suffix in {".dat", ".gz", ".u8"} else read_text(path).replace("\n%\n", "\n\n")


def read_json_pretty(path: Path) -> str:
    """A JSON file laid out again with an indent of two."""
    return json.dumps(json.loads(read_text(path)), indent=2, ensure_ascii=False)


def read_json_min(path: Path) -> str:
    """A JSON file laid out again without blanks."""
    return json.dumps(json.loads(read_text(path)), separators=(",", ":"), ensure_ascii=False)


def read_base64(path: Path) -> str:
    """The compressed bytes of a file as base64, one long line."""
    return base64.b64encode(gzip.compress(path.read_bytes(), mtime=0)).decode()


def read_base64_lines(path: Path) -> str:
    """The same in lines of 76 characters."""
    return base64.encodebytes(gzip.compress(path.read_bytes(), mtime=0)).decode()


@dataclass(frozen=True)
class Source:
    """One place that texts of a class come from."""

    name: str
    root: str
    glob: str
    read: Callable[[Path], str] = read_text


_JS = (
    "libjs-three",
    "node-typescript",
    "libjs-underscore",
    "node-react",
    "node-yargs",
    "mocha",
    "node-commander",
    "libjs-sphinxdoc",
    "node-moment",
)
_C = ("linux-libc-dev", "libsdl2-dev", "zlib1g-dev", "libpcre2-dev", "libmariadb-dev")
_PY = ("django", "sympy", "requests", "rich", "networkx", "aiohttp", "flask", "sphinx")
_WORLD = (
    ("french", "fr", "fr-FR"),
    ("japanese", "ja", "ja-JP"),
    ("korean", "ko", "ko-KR"),
    ("russian", "ru", "ru-RU"),
    ("chinese", "zh", "zh-CN"),
)
_JSON = (("py", "botocore"), ("deb", "iso-codes"), ("deb", "libjs-three"), ("deb", "node-typescript"))


def _code() -> Iterator[Source]:
    yield from (Source("python", "py", f"{wheel}/**/*.py") for wheel in _PY)
    yield from (Source("javascript", "deb", f"{package}/**/*.js") for package in _JS)
    yield from (Source("c_headers", "deb", f"{package}/**/*.h") for package in _C)
    yield from (
        Source("json_pretty", root, f"{package}/**/*.json", read_json_pretty) for root, package in _JSON
    )
    yield from (Source("json_min", root, f"{package}/**/*.json", read_json_min) for root, package in _JSON)
    yield Source("logs", "deb", "fail2ban/**/tests/files/logs/*")
    yield Source("logs", "sys", "usr/share/doc/*/**/*.log.gz")
    yield Source("logs", "sys", "var/log/*.log")
    yield Source("logs", "sys", "var/log/apt/*.log")


def _prose() -> Iterator[Source]:
    yield from (Source("markdown", "crates", glob) for glob in ("*/README.md", "*/CHANGELOG.md", "*/*.md"))
    yield Source("english", "deb", "manpages*/usr/share/man/man*/*.gz", read_man)
    yield Source("english", "deb", "debian-handbook/**/en-US/*.html", read_html)
    yield Source("english", "deb", "debian-reference-en/**/*.html", read_html)
    yield Source("english", "deb", "doc-debian/**/*.txt.gz")
    for name, code, folder in _WORLD:
        yield Source(name, "deb", f"manpages-{code}/usr/share/man/{code}*/man*/*.gz", read_man)
        yield Source(name, "deb", f"debian-handbook/**/{folder}/*.html", read_html)
        yield Source(name, "deb", f"debian-faq-{code}*/**/*.html", read_html)
        yield Source(name, "deb", f"debian-reference-{code}*/**/*.html", read_html)
        yield Source(name, "deb", f"fortunes-{code}/usr/share/games/fortunes/*", read_fortune)
        yield Source(name, "deb", f"installation-guide-amd64/**/{folder[:2]}*/*.html", read_html)
    for name, code in (("thai", "th"), ("hindi", "hi")):
        yield Source(name, "py", f"django/**/locale/{code}/**/*.po", read_po)
        for package in ("vlc-l10n", "gimp-data", "libgtk-3-common", "pidgin-data"):
            yield Source(name, "deb", f"{package}/**/{code}/**/*.mo", read_mo)
        yield Source(name, "deb", f"gnome-user-docs/usr/share/help/{code}/**/*.page", read_html)
    yield Source("base64", "deb", "pidgin-data/**/*.png", read_base64)
    yield Source("base64", "py", "certifi/certifi/cacert.pem")
    yield Source("base64", "deb", "libreoffice-help-fr/**/*.png", read_base64_lines)
    yield Source("emoji", "py", "rich/rich/_emoji_codes.py")
    yield Source("emoji", "py", "emoji/**/emoji.json")


SOURCES = [*_code(), *_prose()]


@dataclass(frozen=True)
class Document:
    """One file of a class, with the hash of its bytes."""

    source: str
    path: str
    sha256: str
    text: str


def _order(path: Path) -> tuple[str, str]:
    return hashlib.sha256(path.name.encode() + b"/" + path.parent.name.encode()).hexdigest(), path.as_posix()


def _files(source: Source, roots: dict[str, Path]) -> list[Path]:
    found = {p for p in roots[source.root].glob(source.glob) if p.is_file() and p.stat().st_size < LARGEST}
    return sorted((p for p in found if not p.name.endswith(".min.js")), key=_order)


def load(roots: dict[str, Path], budget: int) -> dict[str, list[Document]]:
    """Return all texts by class, at most about `budget` characters a class, shared among its sources."""
    out: dict[str, list[Document]] = {}
    for name in dict.fromkeys(source.name for source in SOURCES):
        mine = {s: _files(s, roots) for s in SOURCES if s.name == name}
        left = float(budget)
        for done, source in enumerate(sorted(mine, key=lambda s: sum(p.stat().st_size for p in mine[s]))):
            used, quota = 0, left / (len(mine) - done)
            for path in mine[source]:
                text = source.read(path)[: max(100_000, int(quota / 8))]
                if used >= quota or len(text) < SHORTEST:
                    continue
                used += len(text)
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                out.setdefault(name, []).append(
                    Document(f"{source.root}:{source.glob}", path.name, digest, text)
                )
            left -= used
    return out


def default_roots(unpacked: Path) -> dict[str, Path]:
    """Return the roots, given the folder that holds `deb/` and `py/`."""
    crates = sorted((Path.home() / ".cargo/registry/src").glob("*"))
    return {
        "deb": unpacked / "deb",
        "py": unpacked / "py",
        "sys": Path("/"),
        "crates": crates[0] if crates else unpacked / "crates",
    }


__all__ = ["SOURCES", "Document", "Source", "default_roots", "load"]
