"""The policy as plain data, with the defaults of DESIGN sections 5 and 6."""

from __future__ import annotations

import copy
from typing import Any

DEFAULTS: dict[str, Any] = {
    "clear": {
        "single_share": 0.5,
        "trigger": 0.75,
        "target": 0.45,
        "at_least": 0.15,
        "keep": 3,
        "listed": (
            *(
                "read",
                "readfile",
                "view",
                "viewfile",
                "cat",
                "bash",
                "shell",
                "execcommand",
                "runshellcommand",
            ),
            *("executebash", "grep", "glob", "searchfiles", "webfetch", "edit"),
        ),
        "protected": ("write", "writefile", "create", "createfile"),
        "exclude_tools": (),
        "readers": ("read", "readfile", "view", "viewfile", "cat", "openfile", "fileread", "open"),
        "verbose": 500,
        "verbose_turns": 3,
        "errors_keep_turns": 3,
        "eager": False,
        "literal": False,
    },
    "prune": {
        "trigger": 0.80,
        "target": 0.40,
        "keep": 6,
        "carry_over": 0,
        "recent_share": 0.5,
        "verbatim_share": 0.25,
    },
    "strict_alternation": False,
}


def complete(policy: dict[str, Any] | None) -> dict[str, Any]:
    """The defaults, overlaid with the given settings."""
    full = copy.deepcopy(DEFAULTS)
    for key, value in (policy or {}).items():
        if isinstance(value, dict):
            full[key].update(value)
        else:
            full[key] = value
    return full


def literal() -> dict[str, Any]:
    """The plain rule set: no minimum, no ranks, only the listed tools, nothing kept for room."""
    return {
        "clear": {"target": 0.75, "at_least": 0, "literal": True},
        "prune": {"carry_over": 0, "recent_share": 0, "verbatim_share": 0},
    }


def share(value: float, limit: int) -> int:
    """A float is a share of the limit, floored; an int is tokens."""
    return value if isinstance(value, int) else int(value * limit // 1)
