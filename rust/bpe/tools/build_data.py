# ruff: noqa: INP001
"""Build the embedded vocabulary files from the rank files of the `tiktoken-rs` crate.

A rank file has one line per token: the token's bytes in base64, a space, its rank. The ranks run from 0
without a gap, so the order alone gives the rank. The file written here is the zlib stream of

    u32 little endian   number of tokens n
    n bytes             length of each token in bytes, in order of rank
    n bytes             bytes in the left part of the last merge that forms the token;
                        0 for a single byte, 255 for a token that merging never forms
    the rest            the bytes of all tokens, in order of rank, with nothing between

The re-serialised ranks must have the SHA-256 that tiktoken itself pins, or nothing is written.

    python rust/bpe/tools/build_data.py ~/.cargo/registry/src/*/tiktoken-rs-0.12.1/assets

`--tiktoken-cache DIR` also writes the rank files under the names by which tiktoken finds them in
`TIKTOKEN_CACHE_DIR`, so that tiktoken can serve as the oracle with no network. With `--from-data` the ranks
come from the files of this repository instead of the crate.
"""

import argparse
import base64
import hashlib
import struct
import sys
import zlib
from itertools import pairwise
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
PINNED = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
UNREACHABLE = 255


def read_ranks(path: Path) -> list[bytes]:
    """Return the tokens of a rank file in order of rank; ValueError if a rank is missing."""
    tokens = []
    for number, line in enumerate(path.read_bytes().splitlines()):
        token, rank = line.split()
        if int(rank) != number:
            raise ValueError(f"{path}: line {number} has rank {rank.decode()}")
        tokens.append(base64.b64decode(token))
    return tokens


def read_data(path: Path) -> list[bytes]:
    """Return the tokens of a file written by `pack`, in order of rank."""
    raw = zlib.decompress(path.read_bytes())
    (count,) = struct.unpack_from("<I", raw)
    at = 4 + 2 * count
    tokens = []
    for length in raw[4 : 4 + count]:
        tokens.append(raw[at : at + length])
        at += length
    return tokens


def rank_file(tokens: list[bytes]) -> bytes:
    """Return the bytes of the rank file for `tokens`."""
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def check(name: str, tokens: list[bytes]) -> bytes:
    """Return the rank file of `tokens`; ValueError unless its hash is the pinned one."""
    content = rank_file(tokens)
    digest = hashlib.sha256(content).hexdigest()
    if digest != PINNED[name]:
        raise ValueError(f"{name}: sha256 is {digest}, expected {PINNED[name]}")
    return content


def last_split(token: bytes, ranks: dict[bytes, int]) -> int:
    """Return the length of the left part of the merge that completes `token`, by plain pair merging."""
    parts = [token[i : i + 1] for i in range(len(token))]
    if len(parts) == 1:
        return 0
    while len(parts) > 2:  # noqa: PLR2004 - the last join is the one asked for
        found = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        if not found:
            return UNREACHABLE
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return len(parts[0])


def pack(tokens: list[bytes]) -> bytes:
    """Return the compressed file for `tokens`; ValueError if a length does not fit a byte."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    splits = bytes(last_split(token, ranks) for token in tokens)
    raw = struct.pack("<I", len(tokens)) + bytes(map(len, tokens)) + splits + b"".join(tokens)
    return zlib.compress(raw, 9)


def main() -> None:
    """Write data/*.bin.z, the cache for tiktoken, or both."""
    parser = argparse.ArgumentParser(description="Build the embedded vocabulary files.")
    parser.add_argument("assets", type=Path, nargs="?", help="folder with NAME.tiktoken files")
    parser.add_argument("--from-data", action="store_true", help="read this repository's own files")
    parser.add_argument("--tiktoken-cache", type=Path, help="write rank files for TIKTOKEN_CACHE_DIR here")
    args = parser.parse_args()
    if (args.assets is None) != args.from_data:
        parser.error("give either the assets folder or --from-data")
    for name in PINNED:
        target = DATA / f"{name}.bin.z"
        tokens = read_data(target) if args.from_data else read_ranks(args.assets / f"{name}.tiktoken")
        content = check(name, tokens)
        if not args.from_data:
            packed = pack(tokens)
            target.write_bytes(packed)
            digest = hashlib.sha256(packed).hexdigest()
            sys.stdout.write(f"{target.name} {len(packed)} bytes sha256 {digest}\n")
        if args.tiktoken_cache:
            args.tiktoken_cache.mkdir(parents=True, exist_ok=True)
            key = hashlib.sha1(URL.format(name).encode(), usedforsecurity=False).hexdigest()
            (args.tiktoken_cache / key).write_bytes(content)


if __name__ == "__main__":
    main()
