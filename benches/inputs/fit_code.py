# ruff: noqa: E501  a template is clearer on one line
"""Code and Markdown for the fit, rewritten from Python's own library: JavaScript, C headers, Markdown.

The rewriting is by line and need not give programs that run: names, comments and nesting are real, the
marks and the layout are those of the other language.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from .fit_generate import Maker

_JS_WORDS = (
    (r"\bNone\b", "null"),
    (r"\bTrue\b", "true"),
    (r"\bFalse\b", "false"),
    (r"\bself\.", "this."),
    (r" and ", " && "),
    (r" or ", " || "),
    (r"\bnot ", "!"),
    (r" is !?null", " === null"),
    (r"==", "==="),
    (r"!=(?!=)", "!=="),
    (r"\blen\((\w+)\)", r"\1.length"),
    (r"\.append\(", ".push("),
    (r"\bisinstance\((\w+), (\w+)\)", r"\1 instanceof \2"),
    (r"\braise (\w+)\(", r"throw new \1("),
    (r"\bprint\(", "console.log("),
    (r"\blambda (\w*): ", r"(\1) => "),
    (r"\bstr\(", "String("),
    (r"\b__init__\b", "constructor"),
)
_SNAKE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def _camel(line: str) -> str:
    return _SNAKE.sub(lambda m: m[1].upper(), line)


def _js_line(code: str, rng: random.Random, tail: str) -> str:
    for pattern, new in _JS_WORDS:
        code = re.sub(pattern, new, code)
    code = _camel(code)
    code = re.sub(
        r"^(?:async )?def (\w+)\((?:self(?:, )?)?(.*?)\)(?: ->.*)?:$",
        rng.choice(
            (
                r"function \1(\2) {",
                r"\1(\2) {",
                r"const \1 = (\2) => {",
                r"\1: function(\2) {",
                r"export function \1(\2) {",
                r"exports.\1 = function (\2) {",
                r"static \1( \2 ) {",
                r"async \1(\2) {",
                r"_proto.\1 = function \1(\2) {",
            )
        ),
        code,
    )
    code = re.sub(r"^class (\w+)\((\w*)\):$", r"class \1 extends \2 {", code)
    code = re.sub(r"^(?:el)?if (.*):$", rng.choice((r"if (\1) {", r"if ( \1 ) {", r"} else if (\1) {")), code)
    code = re.sub(
        r"^for (\w+) in (.*):$",
        rng.choice(
            (
                r"for (const \1 of \2) {",
                r"for (var \1 = 0; \1 < \2.length; \1++) {",
                r"\2.forEach(function (\1) {",
                r"\2.forEach((\1) => {",
                r"for ( let \1 = 0, l = \2.length; \1 < l; \1 ++ ) {",
            )
        ),
        code,
    )
    code = re.sub(r"^while (.*):$", r"while (\1) {", code)
    code = re.sub(r"^else:$", "} else {", code)
    code = re.sub(r"^try:$", "try {", code)
    code = re.sub(
        r"^except.*:$", rng.choice(("} catch (e) {", "} catch (err) {", "}, function (err) {")), code
    )
    code = re.sub(r"^from (\S+) import (.*)$", r"import { \2 } from './\1.js'", code)
    code = re.sub(r"^import (\w+)$", r"const \1 = require('\1')", code)
    if re.match(r"^[a-z]\w* = ", code):
        code = rng.choice(("const ", "var ", "let ", "")) + code
    if code.startswith("#"):
        return rng.choice(("//", "//", " *")) + code[1:]
    return code if code.endswith(("{", ",", "(", "[", "}")) else code + tail


def javascript(m: Maker) -> str:
    """Return a part of a library file as JavaScript in one of several layouts."""
    rng = m.rng
    tail, unit = rng.choice((";", ";", "")), rng.choice(("  ", "  ", "    ", "\t"))
    out: list[str] = [f"'use strict'{tail}", ""] if rng.random() < 0.3 else []
    if rng.random() < 0.5:
        out += [
            "/**",
            *(f" * {line}" for line in textwrap.wrap(m.sentence(5, 60), 76)),
            f" * @param {{{m.word()}}} {m.word()} {m.sentence(2, 9)}",
            f" * @return {{{rng.choice(('string', 'Object', 'boolean', 'number', 'Array'))}}}",
            " */",
        ]
    depths = [0]
    source = rng.choice(m.bare).splitlines()
    at, size = rng.randrange(max(1, len(source) - 60)), rng.randint(20, 90)
    for line in source[at : at + size]:
        code = line.strip()
        if code.startswith(('"""', "'''", "r'''", "@")):
            continue
        depth = (len(line) - len(line.lstrip())) // 4
        while code and depth < depths[-1]:
            depths.pop()
            closing = rng.choice(("}", "}", "}", "});", "},", f"}}{tail}", "})"))
            out.append(unit * depths[-1] + closing)
        if depth > depths[-1]:
            depths.append(depth)
        out.append(unit * depth + _js_line(code, rng, tail) if code else "")
    if rng.random() < 0.4:
        for _ in range(rng.randint(2, 14)):
            out.append(
                rng.choice(
                    (
                        f"module.exports.{m.ident()} = {m.ident()}{tail}",
                        f"expect({m.word()}.{m.ident()}({m.integer()})).toBe('{m.word()}'){tail}",
                        f"it('{m.sentence(3, 9)}', function () {{",
                        f"assert.equal({m.ident()}, '{m.word()}'){tail}",
                        f"{m.word()}: {m.integer()},",
                        f"    const {_camel(m.ident())} = new {m.word().title()}({m.integer()}, {m.integer()} ){tail}",
                        f"case '{m.word()}':",
                        f"$('#{m.word()}').on('{m.word()}', () => {{ this.{m.word()}.{m.word()} = {m.integer()}{tail} }})",
                        "\t\t}\n\n\t}\n",
                        f"declare function {m.word()}({m.word()}: {rng.choice(('string', 'number'))}): void{tail}",
                    )
                )
            )
    return "\n".join(out)


_TYPES = (
    "int",
    "void",
    "unsigned int",
    "char *",
    "const char *",
    "size_t",
    "uint32_t",
    "uint8_t",
    "__u32",
    "__u64",
    "__u16",
    "double",
    "void *",
    "long",
    "unsigned long",
    "bool",
    "uint64_t",
    "float",
    "unsigned char",
)


def _macro_run(m: Maker) -> str:
    rng = m.rng
    stem = "_".join(m.word().upper() for _ in range(rng.randint(1, 2)))
    width, gap = rng.randint(24, 44), rng.choice(("\t", " ", "\t\t", "pad"))
    rows, value = [], m.integer() % 4096
    form = rng.choice(
        (
            "{v}",
            "0x{v:x}",
            "0x{v:04x}",
            "0x{v:08X}",
            "(1 << {s})",
            "({v})",
            "0x{v:02X}",
            "BIT({s})",
            "{v}U",
            "(1UL << {s})",
        )
    )
    for shift in range(rng.randint(4, 25)):
        name = f"{stem}_{m.word().upper()}" + (f"_{m.word().upper()}" if rng.random() < 0.5 else "")
        blank = " " * max(1, width - len(name)) if gap == "pad" else gap
        note = rng.choice(("", "", f"  /* {m.sentence(1, 7)} */", f" /**< {m.sentence(2, 9)} */"))
        rows.append(f"#define {name}{blank}{form.format(v=value, s=shift)}{note}")
        value += rng.choice((1, 1, 2, 16, 256))
    return "\n".join(rows)


def _pointer(m: Maker) -> str:
    """Return a line with long names of capitals, as graphics headers have them."""
    stem = "".join(m.rng.choice("ABCDGHKLMPRSTVX") for _ in range(m.rng.randint(2, 3)))
    name = "".join(m.word() for _ in range(m.rng.randint(1, 3)))
    made = f"({stem}APIENTRYP PFN{stem}{name.upper()}PROC)"
    value = f"{stem}{m.rng.choice(('enum', 'uint', 'sizei', 'float'))}".capitalize()
    return m.rng.choice(
        (
            f"typedef void {made} ({stem}enum {m.word().lower()}, {stem}sizei {m.word().lower()}, const {value} *{m.word().lower()});",
            f"extern DECL{stem} {stem}_{m.word().title()}{m.word().title()} * {stem}CALL {stem}_{m.word().title()}{m.word().title()}(void);",
            f"{stem}API {value} {stem}APIENTRY {stem.lower()}{m.word().title()}{m.word().title()} ({value} {m.word().lower()});",
        )
    )


def _prototype(m: Maker) -> str:
    rng = m.rng
    if rng.random() < 0.12:
        return "\n".join(_pointer(m) for _ in range(rng.randint(1, 12)))
    kinds = [
        *_TYPES,
        f"struct {m.ident().lower()} *",
        f"{m.word().title()}{m.word().title()} *",
        f"{m.word().lower()}_t",
    ]
    arguments = [
        f"{rng.choice(kinds)} {m.word().lower()}".replace("* ", "*") for _ in range(rng.randint(0, 5))
    ]
    name = m.ident().lower().replace("-", "_")
    head = rng.choice(
        ("extern ", "", "", "static inline ", f"{m.word().upper()}_EXPORT ", f"extern {m.word().upper()}API ")
    )
    call = (
        rng.choice((" ", "")) + "(" + rng.choice((", ", ",\n" + " " * 20)).join(arguments or ["void"]) + ")"
    )
    return f"{head}{rng.choice(kinds)} {name}{call}{rng.choice((';', ';', ' __THROW;', f' {m.word().upper()};'))}"


def _struct(m: Maker) -> str:
    rng = m.rng
    unit, rows = rng.choice(("\t", "    ", "  ")), []
    for _ in range(rng.randint(2, 14)):
        note = rng.choice(("", "", f"\t/* {m.sentence(1, 8)} */", f" /**< {m.sentence(2, 9)} */"))
        rows.append(
            f"{unit}{rng.choice(_TYPES)}{rng.choice((' ', chr(9)))}{m.word().lower()}{rng.choice(('', '', '_' + m.word().lower(), '[16]'))};{note}"
        )
    name = m.ident().lower().replace("-", "_")
    return (
        f"{rng.choice(('typedef ', ''))}struct {name} {{\n"
        + "\n".join(rows)
        + f"\n}} {rng.choice(('', m.word().title()))};"
    )


def _enumeration(m: Maker) -> str:
    stem = "_".join(m.word().upper() for _ in range(m.rng.randint(1, 3)))
    rows = [
        f"{m.rng.choice(('    ', chr(9)))}{stem}_{m.word().upper()}{m.rng.choice(('', f' = {m.integer()}', f' = 0x{m.hexes(4)}'))},"
        for _ in range(m.rng.randint(3, 16))
    ]
    return f"enum {stem.lower()} {{\n" + "\n".join(rows) + "\n};"


def _comment(m: Maker) -> str:
    lines = textwrap.wrap(m.sentence(8, 90), 72)
    if m.rng.random() < 0.5:
        lines += [
            "",
            f"\\param {m.word()} {m.sentence(3, 10)}",
            f"\\returns {m.sentence(3, 12)}",
            f"\\sa {m.ident()}",
        ]
    return "/**\n" + "\n".join(f" * {line}".rstrip() for line in lines) + "\n */"


def _guard(m: Maker) -> str:
    name = f"{m.word().upper()}_{m.word().upper()}_H"
    return (
        f"/* SPDX-License-Identifier: GPL-2.0 */\n#ifndef _{name}\n#define _{name}\n\n#include <linux/{m.word().lower()}.h>\n"
        f'#include "{m.word()}.h"\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
    )


def header(m: Maker) -> str:
    """Return a made-up C header: macros, prototypes, structures, enumerations and comments."""
    parts = [_guard(m)]
    makers = (_macro_run, _prototype, _prototype, _prototype, _struct, _enumeration, _comment, _comment)
    parts.extend(m.rng.choice(makers)(m) for _ in range(m.rng.randint(4, 14)))
    return "\n\n".join([*parts, "#endif\n"])


def _item(m: Maker) -> str:
    rng = m.rng
    return rng.choice(
        (
            f"- {m.sentence(3, 16)}.",
            f"* **{m.sentence(1, 3)}**: {m.sentence(4, 14)}",
            f"1. {m.sentence(4, 12)} `{m.ident()}`",
            f"- [{m.sentence(1, 4)}]({m.url()})",
            f"- `{m.ident()}`: {m.sentence(3, 10)}",
            f"* {m.sentence(4, 12)} ([#{m.integer() % 9999}]({m.url()}))",
            f"- Fixed {m.sentence(3, 9)} in `{m.ident()}` (#{m.integer() % 9999})",
            f"* [`{m.hexes(7)}`]({m.url()}/commit/{m.hexes(40)}) {m.sentence(3, 8)}",
            f"- [{rng.choice('x ')}] {m.sentence(2, 8)}",
            f"[{m.word()}]: {m.url()}",
            f"| `{m.ident()}` | {m.sentence(1, 4)} | {m.integer()} |",
        )
    )


def markdown(m: Maker) -> str:
    """Return a made-up README or change log."""
    rng, out = m.rng, [f"# {m.sentence(1, 4)}", f"[![{m.word()}]({m.url()}.svg)]({m.url()})"]
    for _ in range(rng.randint(3, 9)):
        kind = rng.randrange(6)
        if kind == 0:
            out.append(
                f"{'#' * rng.randint(2, 4)} {rng.choice((m.sentence(1, 5), f'[{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 9)}] - 2023-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}'))}"
            )
        elif kind == 1:
            out.append(
                f"```{rng.choice(('python', 'rust', 'js', 'sh', '', 'toml'))}\n"
                + textwrap.dedent("\n".join(m.code(rng.randint(3, 16))))
                + "\n```"
            )
        elif kind == 2:
            item = _item(m)[:2]
            rows = [line for line in (_item(m) for _ in range(30)) if line[:2] == item]
            out.append("\n".join(rows or [_item(m)]))
        else:
            words = [f"`{m.ident()}`" if rng.random() < 0.06 else w for w in m.sentence(20, 90).split()]
            out.append(
                textwrap.fill(" ".join(words), rng.choice((80, 72, 10_000)), break_long_words=False) + "."
            )
    return "\n\n".join(out)


__all__ = ["header", "javascript", "markdown"]
