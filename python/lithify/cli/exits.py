"""Exit codes of the command, and the error that carries one.

The codes are public: they stand in `lithify --help` and in the README, and scripts rely on them.
"""

from __future__ import annotations

__all__ = [
    "DOES_NOT_FIT",
    "FAULT",
    "FILE_TROUBLE",
    "INTERRUPTED",
    "MISSING_EXTRA",
    "OK",
    "PIPE_CLOSED",
    "TABLE",
    "UNUSABLE",
    "VIOLATIONS",
    "CliError",
]

OK = 0
VIOLATIONS = 1
UNUSABLE = 2
DOES_NOT_FIT = 3
FILE_TROUBLE = 4
MISSING_EXTRA = 5
FAULT = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE, as shells count

TABLE = {
    OK: "done",
    VIOLATIONS: "validate found violations",
    UNUSABLE: "wrong usage, or the input is not a history",
    DOES_NOT_FIT: "the history cannot be made to fit",
    FILE_TROUBLE: "a file cannot be read or written",
    MISSING_EXTRA: "a package is missing: pip install 'lithify[cli]'",
    FAULT: "a fault in lithify itself; LITHIFY_DEBUG=1 shows where",
    INTERRUPTED: "interrupted",
}


class CliError(Exception):
    """What a command cannot do, in one sentence for people, with the exit code for scripts."""

    def __init__(self, message: str, code: int, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.details = details
