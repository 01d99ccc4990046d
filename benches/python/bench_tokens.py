"""Time exact counting against other tokenizers, on one thread, in one process, taking turns.

    python -m benches.python.bench_tokens [--encoding o200k_base] [--rounds 9] [--corpus history]

Each round generates texts that no contender has seen and gives them to each contender twice in a row ("new",
then "again"). Each round starts with another contender. The texts lie in a Python list. What is timed is the
call of the Python interface that gets the numbers of tokens with the least work. Counts are compared with
tiktoken's: a contender that is off is reported with its number of wrong texts; ours stops the run. The
process is pinned to one processor, which also keeps thread pools to one thread. Contenders that are not
installed are named and left out. `--json FILE` keeps the figures.

`--start` reports the time to import and to count the first 10,000 tokens, and the memory, in fresh processes.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from benches.inputs import histories, words

Count = Callable[[list[str]], list[int]]

BUILD = Path(__file__).resolve().parents[2] / "rust/bpe/tools/build_data.py"
SCRIPTS = {
    # Frequent characters, joined at random.
    "cjk": "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家",
    "thai": "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศสหอะาิีึืุูเแโใไ่้",
    "emoji": "".join(map(chr, range(0x1F600, 0x1F650))),
}


def stdlib_texts(rng: random.Random, total: int) -> list[str]:
    """Cut pieces out of the standard library's sources."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    pool = [path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.py"))]
    out: list[str] = []
    while total > 0:
        source = rng.choice(pool)
        at = rng.randrange(len(source) or 1)
        out.append(source[at : at + int(rng.expovariate(1 / 2_500)) + 20])
        total -= len(out[-1])
    return out


def script_texts(rng: random.Random, kind: str, total: int) -> list[str]:
    """Write texts of random words of a script; emoji stand between English words."""
    letters = SCRIPTS[kind]
    pool = ["".join(rng.choices(letters, k=rng.randrange(1, 5))) for _ in range(2_000)]
    if kind == "emoji":
        pool += words.prose(rng, 200).split()
    joint = {"cjk": ["", "", "", "\uff0c", "。\n"], "thai": ["", " ", " "], "emoji": [" "]}[kind]
    return ["".join(rng.choice(pool) + rng.choice(joint) for _ in range(300)) for _ in range(total // 900)]


def corpus(kind: str, seed: int) -> list[str]:
    """Return texts that depend on the seed; fresh objects at each call."""
    rng = random.Random(seed)
    if kind == "history":
        return histories.texts(histories.make(1_000_000, seed=seed))
    if kind == "stdlib":
        return stdlib_texts(rng, 3_800_000)
    return script_texts(rng, kind, 1_000_000)


def lengths(offsets: bytes) -> list[int]:
    """Return the differences of little-endian 64-bit offsets."""
    return [b - a for a, b in pairwise(memoryview(offsets).cast("Q"))]


def lithify(encoding: str, _ranks: Path) -> Count:
    count = import_module("lithify._core").count_texts
    return lambda texts: count(texts, encoding)


def tiktoken(encoding: str, _ranks: Path) -> Count:
    encode = import_module("tiktoken").get_encoding(encoding).encode_ordinary
    return lambda texts: [len(encode(text)) for text in texts]


def bpe_openai(encoding: str, _ranks: Path) -> Count:
    count = import_module("bpe_openai._bindings").tokenizer_for_encoding(encoding).count
    return lambda texts: [count(text) for text in texts]


def toktok(encoding: str, _ranks: Path) -> Count:
    count = import_module("toktok").batch_count
    return lambda texts: list(count(texts, encoding))


def splintr(encoding: str, _ranks: Path) -> Count:
    flat = import_module("splintr").Tokenizer.from_pretrained(encoding).encode_batch_flat
    return lambda texts: lengths(flat(texts)[1])


def fastokens(encoding: str, ranks: Path) -> Count:
    path = str(ranks / f"{encoding}.tiktoken")
    flat = import_module("fastokens").Tokenizer.from_tiktoken(path, encoding=encoding).encode_batch_flat
    return lambda texts: lengths(flat(texts)[1])


def gigatoken(encoding: str, ranks: Path) -> Count:
    number = import_module("awkward").num
    encode = import_module("gigatoken").Tokenizer.from_tiktoken(ranks / f"{encoding}.tiktoken").encode_batch
    return lambda texts: list(number(encode(texts, parallel=False)))


CONTENDERS: dict[str, Callable[[str, Path], Count]] = {
    make.__name__: make for make in (lithify, fastokens, gigatoken, toktok, splintr, bpe_openai, tiktoken)
}


def rank_files(folder: Path) -> None:
    """Write the rank files, under the names of tiktoken's cache and of the encodings."""
    subprocess.run([sys.executable, BUILD, "--from-data", "--tiktoken-cache", folder], check=True)  # noqa: S603
    sizes = sorted((path.stat().st_size, path) for path in folder.iterdir())
    for (_, path), name in zip(sizes, ("cl100k_base", "o200k_base"), strict=True):
        (folder / f"{name}.tiktoken").write_bytes(path.read_bytes())
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)


def timed(count: Count, texts: list[str]) -> tuple[float, list[int]]:
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    result = count(texts)
    seconds = time.perf_counter() - started
    gc.enable()
    return seconds, result


def run(encoding: str, kind: str, rounds: int, ranks: Path, wanted: list[str]) -> dict[str, Any]:
    """Time all contenders on one corpus; milliseconds and wrong texts of each."""
    names = [name for name in wanted if importlib.util.find_spec(name)]
    counters = {name: CONTENDERS[name](encoding, ranks) for name in names}
    for count in counters.values():
        count(["warm up", "the tables"])
    new: dict[str, list[float]] = {name: [] for name in names}
    again: dict[str, list[float]] = {name: [] for name in names}
    wrong = dict.fromkeys(names, 0)
    size = tokens = 0
    for number in range(rounds):
        results = {}
        for step in range(len(names)):
            name = names[(number + step) % len(names)]
            # Generated anew for each contender: equal strings, but no object that another one has touched.
            texts = corpus(kind, 1_000 + number)
            seconds, results[name] = timed(counters[name], texts)
            new[name].append(seconds * 1e3)
            seconds, twice = timed(counters[name], texts)
            again[name].append(seconds * 1e3)
            assert twice == results[name], name
            size = sum(len(text.encode()) for text in texts)
        expected: list[int] = results["tiktoken"]
        tokens = sum(expected)
        for name in names:
            wrong[name] += sum(a != b for a, b in zip(expected, results[name], strict=True))
        assert results["lithify"] == expected, "our counts differ from tiktoken's"
    rows = {
        name: {
            "new_ms": round(statistics.median(new[name]), 2),
            "again_ms": round(statistics.median(again[name]), 2),
            "new_min_ms": round(min(new[name]), 2),
            "wrong_texts": wrong[name],
        }
        for name in names
    }
    print(f"\n{encoding}, {kind}: {size / 1e6:.2f} MB, {tokens} tokens, {rounds} rounds, medians in ms")
    print(f"{'':12}{'new':>9}{'again':>9}{'new min':>9}{'wrong':>7}")
    for name, row in rows.items():
        print(
            f"{name:12}{row['new_ms']:9.1f}{row['again_ms']:9.1f}{row['new_min_ms']:9.1f}{row['wrong_texts']:7}"
        )
    return {
        "encoding": encoding,
        "corpus": kind,
        "bytes": size,
        "tokens": tokens,
        "rounds": rounds,
        "rows": rows,
    }


START = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from benches.python import bench_tokens
imported = time.perf_counter()
count = bench_tokens.CONTENDERS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
count([sys.argv[4]])
done = time.perf_counter()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((done - imported) * 1e3, int(peak.split()[1]) / 1024)
"""
NOTHING = START.replace("count = ", "count = len or ").replace("count([sys.argv[4]])\n", "")


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def start(encoding: str, ranks: Path, wanted: list[str]) -> None:
    """Print the time to import and count 10,000 tokens, and the memory beyond a process that does nothing."""
    text = "".join(corpus("stdlib", 1))[:38_000]
    print(f"\n{encoding}: import, first {len(text)} characters; memory beyond an idle process")
    for name in wanted:
        if not importlib.util.find_spec(name):
            continue
        samples = []
        for code in (START, NOTHING):
            command = [sys.executable, "-c", code, name, encoding, str(ranks), text]
            outputs = [output(command) for _ in range(5)]
            samples.append(
                [statistics.median(float(out.split()[column]) for out in outputs) for column in (0, 1)]
            )
        print(f"{name:12}{samples[0][0]:9.1f} ms {samples[0][1] - samples[1][1]:7.1f} MB")


def cut(encoding: str, rounds: int) -> None:
    """Time cutting 70 texts of 50,000 characters to 1,000 tokens each, against `toktok.truncate`."""
    core, rival = import_module("lithify._core"), import_module("toktok")
    jobs: dict[str, Callable[[str], str]] = {
        "lithify.prefix": lambda text: core.prefix(text, encoding, 1_000),
        "lithify.suffix": lambda text: core.suffix(text, encoding, 1_000),
        "toktok": lambda text: rival.truncate(text, 1_000, encoding)[0],
        "toktok, first 6,000 characters": lambda text: rival.truncate(text[:6_000], 1_000, encoding)[0],
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds):
        for step in range(len(jobs)):
            name = list(jobs)[(number + step) % len(jobs)]
            source = "".join(corpus("stdlib", 2_000 + number))
            texts = [source[at : at + 50_000] for at in range(0, 3_500_000, 50_000)]
            started = time.perf_counter()
            parts = [jobs[name](text) for text in texts]
            seconds[name].append((time.perf_counter() - started) * 1e3)
            assert all(core.count_text(part, encoding) <= 1_000 for part in parts), name
            if name == "lithify.prefix":
                pairs = zip(texts, parts, strict=True)
                more = [core.count_text(text[: len(part) + 1], encoding) for text, part in pairs]
                assert min(more) > 1_000, "a longer prefix fits"
    print(f"\n{encoding}: 70 texts cut to 1,000 tokens, {rounds} rounds, median and least ms")
    for name, values in seconds.items():
        print(f"{name:32}{statistics.median(values):9.2f}{min(values):9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoding", choices=("o200k_base", "cl100k_base"), default="o200k_base")
    parser.add_argument("--corpus", action="append", choices=("history", "stdlib", *SCRIPTS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--only", action="append", choices=tuple(CONTENDERS), help="tiktoken always takes part"
    )
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--cut", action="store_true", help="time cutting instead")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wanted = [name for name in CONTENDERS if name in (*(arguments.only or CONTENDERS), "lithify", "tiktoken")]
    missing = [name for name in wanted if not importlib.util.find_spec(name)]
    print("not installed:", ", ".join(missing) or "none")
    with tempfile.TemporaryDirectory() as folder:
        ranks = Path(folder)
        rank_files(ranks)
        if arguments.cut:
            cut(arguments.encoding, arguments.rounds)
            return
        if arguments.start:
            start(arguments.encoding, ranks, wanted)
            return
        kinds = arguments.corpus or ["history", "stdlib", *SCRIPTS]
        reports = [run(arguments.encoding, kind, arguments.rounds, ranks, wanted) for kind in kinds]
    if arguments.json:
        arguments.json.write_text(json.dumps(reports, indent=1) + "\n")


if __name__ == "__main__":
    main()
