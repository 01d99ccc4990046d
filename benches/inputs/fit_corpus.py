"""Texts for fitting and checking the token estimate: where they come from and how they are read.

Nothing of these texts is kept in the project. `fit` texts come with Python, are generated here, or are unpacked from
packages; `hold` texts come from other packages by other authors and never touch the fit. A source is a class, a
split, a glob under one root, and a reader. Roots: `deb` (unpacked Debian packages), `py` (one folder per wheel),
`std` (Python's own library), `sys` (the running system), `crates` (cargo's registry of sources).
"""

from __future__ import annotations

import base64
import gettext
import gzip
import hashlib
import html
import io
import json
import random
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE = 20_000
"""Characters per piece: a long file is cut at line breaks, so that one file cannot fill a class."""


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
        if line.startswith((".\\\"", "'\\\"")):
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


def read_doc_strings(path: Path) -> str:
    """The prose of a Python file: its docstrings of more than one line."""
    blocks = re.findall(r'(?s)"""(.*?)"""', read_text(path))
    return "\n\n".join(re.sub(r"\n[ \t]+", "\n", b) for b in blocks if b.count("\n") > 2)


@dataclass(frozen=True)
class Source:
    """One place that texts of a class come from."""

    name: str
    split: str
    root: str
    glob: str
    read: Callable[[Path], str] = read_text
    share: float = 1.0
    """How much of the class's budget this source may use, relative to its other sources."""


_LANG = {"french": "fr", "japanese": "ja", "korean": "ko", "russian": "ru", "chinese": "zh-cn", "hindi": "hi"}
_LANG |= {"german": "de", "spanish": "es", "greek": "el", "turkish": "tr", "vietnamese": "vi", "polish": "pl"}


_OTHERS = ("ar", "he", "uk", "bn", "ta", "fa", "pt_BR", "it", "cs", "hu", "ka", "el", "te", "mr", "zh_TW", "sv", "nl")
_JS_FIT = ("node-lodash", "libjs-jquery", "node-express", "node-marked", "node-acorn", "libjs-codemirror", "node-vue",
           "node-uglify-js", "node-semver", "webpack", "libjs-bootstrap4", "node-d3", "eslint", "npm", "libjs-leaflet",
           "libjs-angularjs", "ckeditor", "node-jsdom", "node-undici", "libjs-mathjax", "node-terser", "node-postcss",
           "libjs-highlight.js", "node-immutable", "libjs-jquery-ui", "node-ws", "node-ajv", "yarnpkg", "node-async")
_JS_HOLD = ("libjs-three", "node-typescript", "libjs-underscore", "node-react", "node-yargs", "mocha", "node-commander",
            "libjs-sphinxdoc", "node-moment")
_C_FIT = ("libc6-dev", "libssl-dev", "libglib2.0-dev", "libsqlite3-dev", "libcurl4-openssl-dev", "libpng-dev",
          "libgtk-3-dev", "libx11-dev", "libxml2-dev", "libgmp-dev", "libevent-dev", "libncurses-dev", "libgl-dev",
          "libavcodec-dev", "libavutil-dev", "libpulse-dev", "libasound2-dev", "libuv1-dev", "libpq-dev", "libglew-dev")
_C_HOLD = ("linux-libc-dev", "libsdl2-dev", "zlib1g-dev", "libpcre2-dev", "libmariadb-dev")
_PY_FIT = ("babel", "faker", "hypothesis", "pythainlp", "mkdocs", "notebook", "botocore", "pydantic")
_PY_HOLD = ("django", "sympy", "requests", "rich", "networkx", "aiohttp", "flask", "sphinx")
_WORLD = (("french", "fr", "fr", "fr-FR"), ("japanese", "ja", "ja", "ja-JP"), ("korean", "ko", "ko", "ko-KR"),
          ("russian", "ru", "ru", "ru-RU"), ("chinese", "zh", "zh_CN", "zh-CN"))
_MO_FIT = ("wesnoth-1.16-data", "evolution-common", "inkscape", "libglib2.0-data")
_MO_HOLD = ("vlc-l10n", "gimp-data", "libgtk-3-common")


def _code_sources() -> Iterator[Source]:
    yield Source("python", "fit", "std", "**/*.py", share=6)
    for wheel in _PY_FIT:
        yield Source("python", "fit", "py", f"{wheel}/**/*.py")
    for wheel in _PY_HOLD:
        yield Source("python", "hold", "py", f"{wheel}/**/*.py")
    for split, packages in (("fit", _JS_FIT), ("hold", _JS_HOLD)):
        for package in packages:
            yield Source("javascript", split, "deb", f"{package}/**/*.js")
    yield Source("c_headers", "fit", "std", "../../include/**/*.h", share=3)
    for split, packages in (("fit", _C_FIT), ("hold", _C_HOLD)):
        for package in packages:
            yield Source("c_headers", split, "deb", f"{package}/**/*.h")
    for kind, reader in (("json_pretty", read_json_pretty), ("json_min", read_json_min)):
        for package in ("eslint", "npm", "node-jsdom", "webpack", "node-undici", "yarnpkg", "node-lodash"):
            yield Source(kind, "fit", "deb", f"{package}/**/*.json", reader)
        yield Source(kind, "hold", "py", "botocore/**/*.json", reader, share=2)
        yield Source(kind, "hold", "deb", "iso-codes/**/*.json", reader)
        yield Source(kind, "hold", "deb", "libjs-three/**/*.json", reader)
        yield Source(kind, "hold", "deb", "node-typescript/**/*.json", reader)
    yield Source("logs", "hold", "deb", "fail2ban/**/tests/files/logs/*")
    yield Source("logs", "hold", "sys", "usr/share/doc/*/**/*.log.gz")
    yield Source("logs", "hold", "sys", "var/log/*.log")
    yield Source("logs", "hold", "sys", "var/log/apt/*.log")
    yield Source("logs", "hold", "sys", "tmp/python-build.*.log")
    yield Source("rust", "fit", "crates", "[a-l]*/src/**/*.rs")
    yield Source("rust", "hold", "crates", "[m-z]*/src/**/*.rs")
    yield Source("html", "fit", "std", "**/*.html")
    yield Source("html", "fit", "deb", "gimp-help-en/**/*.html")
    yield Source("html", "fit", "deb", "libjs-*/**/*.css")
    yield Source("html", "hold", "deb", "debian-reference-en/**/*.html")


def _prose_sources() -> Iterator[Source]:
    for glob in ("**/METADATA", "**/*.md"):
        yield Source("markdown", "fit", "py", glob)
    for glob in ("node-*/**/*.md.gz", "npm/**/*.md", "eslint/**/*.md*", "yarnpkg/**/*.md", "node-*/**/*.md"):
        yield Source("markdown", "fit", "deb", glob)
    for glob in ("*/README.md", "*/CHANGELOG.md", "*/*.md"):
        yield Source("markdown", "hold", "crates", glob)
    yield Source("english", "fit", "std", "pydoc_data/topics.py")
    yield Source("english", "fit", "std", "**/*.py", read_doc_strings)
    yield Source("english", "fit", "deb", "libreoffice-help-en-us/**/*.html", read_html)
    yield Source("english", "fit", "deb", "gimp-help-en/**/*.html", read_html)
    yield Source("english", "fit", "deb", "fortunes/usr/share/games/fortunes/*", read_fortune, share=2)
    yield Source("english", "fit", "deb", "gnome-user-docs/usr/share/help/C/**/*.page", read_html)
    yield Source("english", "fit", "py", "*/**/*.rst")
    yield Source("english", "hold", "deb", "manpages*/usr/share/man/man*/*.gz", read_man)
    yield Source("english", "hold", "deb", "debian-handbook/**/en-US/*.html", read_html)
    yield Source("english", "hold", "deb", "debian-reference-en/**/*.html", read_html)
    yield Source("english", "hold", "deb", "doc-debian/**/*.txt.gz")
    for name, code in _LANG.items():
        yield Source(name, "fit", "deb", f"libreoffice-help-{code}/**/*.html", read_html)
        yield Source(name, "fit", "deb", f"gimp-help-{code}/**/*.html", read_html)
    for name, code, mo, folder in _WORLD:
        for package in _MO_FIT:
            yield Source(name, "fit", "deb", f"{package}/**/{mo}/**/*.mo", read_mo)
        yield Source(name, "fit", "deb", f"gnome-user-docs/usr/share/help/{mo}/**/*.page", read_html)
        yield Source(name, "hold", "deb", f"manpages-{code}/usr/share/man/{code}*/man*/*.gz", read_man)
        yield Source(name, "hold", "deb", f"debian-handbook/**/{folder}/*.html", read_html)
        yield Source(name, "hold", "deb", f"debian-faq-{code}*/**/*.html", read_html)
        yield Source(name, "hold", "deb", f"debian-reference-{code}*/**/*.html", read_html)
        yield Source(name, "hold", "deb", f"fortunes-{code}/usr/share/games/fortunes/*", read_fortune)
        yield Source(name, "hold", "deb", f"installation-guide-amd64/**/{folder[:2]}*/*.html", read_html)
    yield Source("thai", "fit", "deb", "libreoffice-l10n-th/**/*.mo", read_mo)
    for package in (*_MO_FIT, "pidgin-data", "iso-codes"):
        yield Source("thai", "fit", "deb", f"{package}/**/th/**/*.mo", read_mo)
    for package in _MO_HOLD:
        yield Source("thai", "hold", "deb", f"{package}/**/th/**/*.mo", read_mo)
    yield Source("thai", "hold", "py", "django/**/locale/th/**/*.po", read_po)
    for package in _MO_FIT:
        yield Source("hindi", "fit", "deb", f"{package}/**/hi/**/*.mo", read_mo)
    yield Source("hindi", "hold", "deb", "gnome-user-docs/usr/share/help/hi/**/*.page", read_html)
    yield Source("hindi", "hold", "deb", "pidgin-data/**/hi/**/*.mo", read_mo)
    yield Source("hindi", "hold", "py", "django/**/locale/hi/**/*.po", read_po)
    yield Source("hindi", "hold", "deb", "vlc-l10n/**/hi/**/*.mo", read_mo)
    for lang in _OTHERS:
        yield Source("others", "fit", "deb", f"evolution-common/**/{lang}/**/*.mo", read_mo)
        yield Source("others", "fit", "deb", f"libgtk-3-common/**/{lang}/**/*.mo", read_mo)
        yield Source("others", "hold", "deb", f"vlc-l10n/**/{lang}/**/*.mo", read_mo)
    yield Source("base64", "hold", "deb", "pidgin-data/**/*.png", read_base64)
    yield Source("base64", "hold", "py", "certifi/certifi/cacert.pem")
    yield Source("base64", "hold", "deb", "libreoffice-help-fr/**/*.png", read_base64_lines)
    yield Source("hashes", "hold", "py", "**/RECORD")
    yield Source("hashes", "hold", "sys", "var/lib/dpkg/info/*.md5sums")
    yield Source("hashes", "hold", "crates", "*/Cargo.lock")
    yield Source("emoji", "hold", "py", "rich/rich/_emoji_codes.py")
    yield Source("emoji", "hold", "py", "emoji/**/emoji.json")


def _sources() -> Iterator[Source]:
    yield from _code_sources()
    yield from _prose_sources()


SOURCES = list(_sources())


def pieces(text: str) -> Iterator[str]:
    """Cut a long text at line breaks into pieces of about `PIECE` characters."""
    at = 0
    while at < len(text):
        end = at + PIECE
        if end < len(text):
            line = text.rfind("\n", at + PIECE // 2, end)
            end = line + 1 if line > 0 else end
        yield text[at:end]
        at = end


def _order(path: Path) -> str:
    return hashlib.sha256(path.name.encode() + b"/" + path.parent.name.encode()).hexdigest()


@dataclass(frozen=True)
class Doc:
    """One file of a class, with the hash of its bytes."""

    source: str
    path: str
    sha256: str
    text: str


def load(split: str, roots: dict[str, Path], budget: int) -> dict[str, list[Doc]]:
    """All texts of a split by class: at most about `budget` characters a class, shared among its sources."""
    by_class: dict[str, list[Doc]] = {}
    for name in sorted({s.name for s in SOURCES if s.split == split}):
        mine = [s for s in SOURCES if s.name == name and s.split == split]
        total = sum(s.share for s in mine)
        docs = by_class.setdefault(name, [])
        left, weight = float(budget), total
        files = {s: sorted({p for p in roots[s.root].glob(s.glob) if p.is_file()}, key=_order) for s in mine}
        for source in sorted(mine, key=lambda s: sum(p.stat().st_size for p in files[s])):
            used, quota = 0, left * source.share / weight
            for path in files[source]:
                if used >= quota:
                    break
                if path.name.endswith(".min.js") or path.stat().st_size > 8_000_000:
                    continue
                text = source.read(path)
                text = text[: max(PIECE * 5, int(quota / 8))]
                if len(text) < 40:
                    continue
                used += len(text)
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                docs.append(Doc(f"{source.root}:{source.glob}", path.name, digest, text))
            left -= used
            weight -= source.share
    return by_class


def default_roots(unpacked: Path) -> dict[str, Path]:
    """The roots, given the folder that holds `deb/` and `py/`."""
    crates = sorted((Path.home() / ".cargo/registry/src").glob("*"))
    return {
        "deb": unpacked / "deb",
        "py": unpacked / "py",
        "std": Path(sysconfig.get_paths()["stdlib"]),
        "sys": Path("/"),
        "crates": crates[0] if crates else unpacked,
    }


__all__ = ["PIECE", "SOURCES", "Doc", "Source", "default_roots", "io", "load", "pieces", "random"]
