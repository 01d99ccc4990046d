"""Does the installed package work, away from its sources?

Run by hand or by .ci/run, in an environment that has the wheel and nothing else:

    python smoke.py SAMPLE --outside CHECKOUT [--cli]

Without `--cli` the extra is expected to be absent, and the command to say so in one line.
"""

# ruff: noqa: S603  (the program that is run is the one under test)

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

WINDOW = 32_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", type=Path)
    parser.add_argument("--outside", type=Path, required=True, help="the checkout that must not be imported")
    parser.add_argument("--cli", action="store_true", help="the extra [cli] is installed")
    options = parser.parse_args()
    check_library(options.sample, options.outside.resolve())
    if options.cli:
        check_command(options.sample)
    else:
        check_missing_extra()
    sys.stdout.write("smoke test passed\n")


def check_library(sample: Path, checkout: Path) -> None:
    import lithify  # noqa: PLC0415 (this is what is tested)

    place = Path(lithify.__file__).resolve()
    assert not place.is_relative_to(checkout), f"imported from the checkout: {place}"
    assert (place.parent / "py.typed").exists(), "py.typed is not in the wheel"
    assert (place.parent / "_core.pyi").exists(), "_core.pyi is not in the wheel"
    messages = json.loads(sample.read_bytes())
    before = json.dumps(messages)
    result = lithify.compact(messages, window=WINDOW)
    assert result.fits
    assert result.tokens_after <= WINDOW < result.tokens_before, result
    assert lithify.validate(result.messages) == []
    assert lithify.count_tokens(result.messages) == result.tokens_after
    assert json.dumps(messages) == before, "the input was changed"
    again = lithify.compact(result.messages, window=WINDOW)
    assert again.messages == result.messages, "a second run changed something"


def check_command(sample: Path) -> None:
    done = subprocess.run(
        [program(), "compact", str(sample), "--window", "32k"], capture_output=True, check=True
    )
    messages = json.loads(done.stdout)
    assert messages, "no messages"
    assert b"32,000" in done.stderr, done.stderr
    out = Path("smoke_out.json")
    subprocess.run([program(), "compact", str(sample), "--window", "32k", "-o", str(out), "-q"], check=True)
    assert json.loads(out.read_bytes()) == messages
    subprocess.run([program(), "validate", str(out)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program(), "inspect", str(out)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program(), "--version"], check=True)
    tight = subprocess.run(
        [program(), "compact", str(sample), "--window", "10"], capture_output=True, check=False
    )
    assert tight.returncode == 3, tight
    assert not tight.stdout


def check_missing_extra() -> None:
    done = subprocess.run([program(), "--help"], capture_output=True, check=False)
    assert done.returncode == 5, done
    assert b"pip install 'lithify[cli]'" in done.stderr, done.stderr
    assert b"Traceback" not in done.stderr, done.stderr


def program() -> str:
    return str(Path(sys.executable).with_name("lithify"))


if __name__ == "__main__":
    main()
