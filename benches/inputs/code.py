"""Synthetic source files and tool outputs in several languages.

`source(rng, language, entity)` returns a file that looks hand-written: real syntax, names that agree with
each other, comments, docstrings. The other functions return what the tools of a coding agent print: test
runs, logs, listings, tables.
"""
# ruff: noqa: E501, S608 -- templates of other languages read better unbroken, and no SQL here is ever run

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import words

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


def _fields(rng: Random, count: int) -> list[str]:
    return rng.sample(words.FIELDS, count)


def python(rng: Random, entity: str) -> str:
    """Return a Python service module."""
    name, fields = words.camel(entity), _fields(rng, 6)
    lines = [
        f'"""{name} service: {words.sentence(rng)}"""',
        "",
        "from __future__ import annotations",
        "",
        "import logging",
        "from dataclasses import dataclass, field",
        "from datetime import datetime, timedelta",
        "",
        f"from app.db import Session, {name}Row",
        f"from app.errors import {name}NotFound, ConflictError",
        "",
        "log = logging.getLogger(__name__)",
        f"MAX_{entity.upper()}_BATCH = {rng.randrange(50, 900)}",
        "",
        "",
        "@dataclass(frozen=True)",
        f"class {name}:",
        f'    """One {entity} as the API shows it."""',
        "",
        f"    {entity}_id: int",
        *(f"    {item}: {rng.choice(('int', 'str', 'datetime | None', 'list[str]'))}" for item in fields),
        "",
    ]
    for number in range(rng.randrange(5, 9)):
        function, item = f"{words.identifier(rng)}_{number}", rng.choice(fields)
        limit = rng.randrange(2, 40)
        lines += [
            "",
            f"def {function}(session: Session, {entity}_id: int, *, {item}: int = {limit}) -> {name}:",
            f'    """{words.sentence(rng)}"""',
            f"    row = session.get({name}Row, {entity}_id)",
            "    if row is None:",
            f"        raise {name}NotFound({entity}_id)",
            f"    if row.{item} is not None and row.{item} > {item} * {rng.randrange(2, 9)}:",
            f'        log.warning("{entity} %s is over its {item}: %s", {entity}_id, row.{item})',
            f"        row.{rng.choice(fields)} = None",
            f"    for attempt in range({rng.randrange(2, 6)}):",
            "        try:",
            f"            session.flush(timeout={rng.randrange(1, 30)})",
            "            break",
            "        except ConflictError:",
            f"            # {words.sentence(rng)}",
            f"            session.rollback(to=attempt + {rng.randrange(1, 4)})",
            f"    return {name}(**row.as_dict(exclude={{'{rng.choice(fields)}'}}))",
            "",
        ]
    return "\n".join(lines) + "\n"


def typescript(rng: Random, entity: str) -> str:
    """Return a TypeScript component module."""
    name, fields = words.camel(entity), [_lower_camel(item) for item in _fields(rng, 5)]
    lines = [
        'import { useEffect, useMemo, useState } from "react";',
        f'import {{ fetch{name}s, type {name} }} from "../api/{entity}";',
        "",
        f"export interface {name}TableProps {{",
        *(f"  {item}?: {rng.choice(('string', 'number', 'boolean'))};" for item in fields),
        f"  onSelect: (row: {name}) => void;",
        "}",
        "",
        f"/** {words.sentence(rng)} */",
        f"export function {name}Table(props: {name}TableProps) {{",
        f"  const [rows, setRows] = useState<{name}[]>([]);",
    ]
    for number in range(rng.randrange(5, 9)):
        item = rng.choice(fields)
        lines += [
            f"  const {item}View{number} = useMemo(",
            f"    () => rows.filter((row) => row.{item} !== undefined && row.{rng.choice(fields)} !== {rng.randrange(99)}),",
            f"    [rows, props.{rng.choice(fields)}],",
            "  );",
            f"  useEffect(() => {{ // {words.sentence(rng)}",
            f"    fetch{name}s({{ page: {number}, size: {rng.randrange(10, 200)} }}).then(setRows);",
            f"  }}, [props.{item}]);",
        ]
    head = "".join(f"<th>{item}</th>" for item in fields)
    return "\n".join([*lines, f"  return <table><thead><tr>{head}</tr></thead></table>;", "}"]) + "\n"


def _lower_camel(name: str) -> str:
    return name[0] + words.camel(name)[1:]


def rust(rng: Random, entity: str) -> str:
    """Return a Rust module."""
    name, fields = words.camel(entity), _fields(rng, 5)
    lines = [
        f"//! {words.sentence(rng)}",
        "",
        "use std::collections::BTreeMap;",
        "",
        "#[derive(Debug, Clone, PartialEq, Eq)]",
        f"pub struct {name} {{",
        *(f"    pub {item}: {rng.choice(('u32', 'String', 'Option<i64>', 'Vec<u8>'))}," for item in fields),
        "}",
        "",
        f"impl {name} {{",
    ]
    for number in range(rng.randrange(5, 9)):
        lines += [
            f"    /// {words.sentence(rng)}",
            f"    pub fn {words.identifier(rng)}_{number}(&self, limit: usize) -> Result<usize, RouteError> {{",
            f"        let mut seen: BTreeMap<u32, &{name}> = BTreeMap::new();",
            f"        if limit > {rng.randrange(100, 5000)} {{",
            f"            return Err(RouteError::TooMany {{ limit, at: {rng.randrange(40)} }});",
            "        }",
            f"        seen.insert({rng.randrange(900)}, self);",
            f"        Ok(seen.len().saturating_sub({rng.randrange(9)}))",
            "    }",
            "",
        ]
    return "\n".join([*lines, "}"]) + "\n"


def go(rng: Random, entity: str) -> str:
    """Return a Go file."""
    name = words.camel(entity)
    lines = [f"package {entity}", "", 'import (\n\t"context"\n\t"fmt"\n)', ""]
    for number in range(rng.randrange(5, 9)):
        verb = words.camel(words.identifier(rng))
        lines += [
            f"// {verb}{number}: {words.sentence(rng)}",
            f"func (s *{name}Store) {verb}{number}(ctx context.Context, id int64) (*{name}, error) {{",
            f"\trow, err := s.db.QueryRow(ctx, `SELECT * FROM {entity} WHERE id = $1 LIMIT {rng.randrange(1, 50)}`, id)",
            "\tif err != nil {",
            f'\t\treturn nil, fmt.Errorf("{entity} %d: %w", id, err)',
            "\t}",
            f"\treturn &{name}{{ID: id, Lane: row.Lane + {rng.randrange(99)}}}, nil",
            "}",
            "",
        ]
    return "\n".join(lines) + "\n"


def sql(rng: Random, entity: str) -> str:
    """Return a migration."""
    fields = _fields(rng, 8)
    columns = ",\n".join(
        f"    {item} {rng.choice(('bigint', 'text', 'timestamptz', 'jsonb'))} NOT NULL" for item in fields
    )
    indexes = "".join(
        f"CREATE INDEX CONCURRENTLY idx_{entity}_{item} ON {entity} ({item}) WHERE {item} IS NOT NULL;\n"
        for item in fields[:5]
    )
    return (
        f"-- {words.sentence(rng)}\nBEGIN;\nCREATE TABLE {entity} (\n    id bigserial PRIMARY KEY,\n{columns}\n);\n"
        f"{indexes}UPDATE {entity} SET {fields[0]} = {rng.randrange(9)} WHERE {fields[1]} IN ('a', 'b');\nCOMMIT;\n"
    )


def csharp(rng: Random, entity: str) -> str:
    """Return an old C# exporter with CRLF line ends."""
    name = words.camel(entity)
    lines = [
        "using System;",
        "using System.IO;",
        "",
        "namespace Legacy.Export",
        "{",
        f"    public class {name}Export",
        "    {",
    ]
    for item in _fields(rng, 7):
        lines += [
            f"        // {words.sentence(rng)}",
            f"        public void Write{words.camel(item)}(TextWriter writer, {name} row)",
            "        {",
            f'            if (row.{words.camel(item)} == null) throw new ArgumentNullException("{item}");',
            f'            writer.Write("{{0}};{{1}}\\r\\n", row.Id, row.{words.camel(item)}.ToString("N{rng.randrange(5)}"));',
            "        }",
        ]
    return "\r\n".join([*lines, "    }", "}"]) + "\r\n"


def yaml(rng: Random, entity: str) -> str:
    """Return a deployment file."""
    lines = [f"# {words.sentence(rng)}", f"service: {entity}-worker", "env:"]
    lines += [f'  {item.upper()}: "{rng.randrange(9000)}"' for item in _fields(rng, 8)]
    lines += ["steps:"]
    for number in range(rng.randrange(6, 12)):
        lines += [
            f"  - name: {words.identifier(rng)}",
            f"    image: registry.example/{entity}:{rng.randrange(9)}.{number}.{rng.randrange(30)}",
            f"    run: |\n      ./bin/{rng.choice(words.VERBS)} --{rng.choice(words.NOUNS)}={rng.randrange(999)}",
        ]
    return "\n".join(lines) + "\n"


def markdown(rng: Random, entity: str) -> str:
    """Return a page of documentation."""
    parts = [f"# {words.camel(entity)}"]
    for _ in range(rng.randrange(4, 7)):
        parts += [
            f"## {words.sentence(rng)[:-1]}",
            words.prose(rng, 4),
            *(f"- `{words.identifier(rng)}`: {words.sentence(rng)}" for _ in range(3)),
        ]
    return "\n\n".join(parts) + "\n"


def locale(rng: Random, _entity: str) -> str:
    """Return a locale file with Thai, Chinese, Japanese and Korean strings."""
    table = {
        f"{entity}.{item}": {
            "th": words.thai(rng, 7),
            "zh": words.chinese(rng, 8),
            "ja": words.japanese(rng, 8),
            "ko": words.korean(rng, 5),
            "icon": words.emoji(rng, 1),
        }
        for entity in rng.sample(words.ENTITIES, 5)
        for item in _fields(rng, 4)
    }
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


def records(rng: Random, entity: str) -> str:
    """Return compact JSON of an API answer."""
    rows = [
        {
            "id": rng.randrange(10**9),
            "kind": entity,
            "trace": words.hexadecimal(rng, 32),
            "at": f"2026-0{rng.randrange(1, 9)}-1{rng.randrange(9)}T0{rng.randrange(9)}:{rng.randrange(10, 59)}:00Z",
            "lane": rng.choice(words.NOUNS),
            "score": round(rng.random() * 100, 3),
            "tags": rng.sample(words.ADJECTIVES, 2),
        }
        for _ in range(16)
    ]
    return json.dumps({"data": rows, "next": words.hexadecimal(rng, 24)}, separators=(",", ":"))


def log(rng: Random, entity: str) -> str:
    """Return lines of a service log."""
    lines = [
        f"2026-03-{rng.randrange(10, 28)}T{rng.randrange(10, 23)}:{rng.randrange(10, 59)}:{rng.randrange(10, 59)}.{rng.randrange(100, 999)}Z "
        f"{rng.choice(('INFO ', 'WARN ', 'DEBUG', 'ERROR'))} [{entity}-{rng.randrange(32)}] req={words.hexadecimal(rng, 12)} "
        f"{words.identifier(rng)} took={rng.randrange(1, 4000)}ms {rng.choice(words.NOUNS)}={rng.randrange(99999)}"
        for _ in range(30)
    ]
    return "\n".join(lines) + "\n"


SOURCES: dict[str, tuple[str, Callable[[Random, str], str]]] = {
    "python": ("app/services/{}.py", python),
    "typescript": ("web/src/tables/{}.tsx", typescript),
    "rust": ("crates/router/src/{}.rs", rust),
    "go": ("cmd/sync/{}/store.go", go),
    "sql": ("migrations/{}.sql", sql),
    "csharp": ("legacy/export/{}.cs", csharp),
    "yaml": ("deploy/{}.yaml", yaml),
    "markdown": ("docs/{}.md", markdown),
    "locale": ("web/locales/{}.json", locale),
}


def source(rng: Random, language: str, entity: str) -> tuple[str, str]:
    """Return the path and the text of a synthetic file."""
    pattern, make = SOURCES[language]
    return pattern.format(entity), make(rng, entity)
