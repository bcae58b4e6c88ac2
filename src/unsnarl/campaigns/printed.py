# SPDX-License-Identifier: Apache-2.0
"""The last words of a failing run: what a program prints before it gives up says why."""

from __future__ import annotations

from pathlib import Path

MOST_LINES, MOST_BYTES, MOST_LETTERS = 3, 4096, 200
# libc's own line repeats what the failure says.
REPEATED = ("Assertion `", "terminate called")
# How it begins the line with what a C++ exception says, after that.
WHAT = "what():"


def last_lines(output: Path) -> str:
    """The last lines of a run's output, cut to what a person reads; "" if there is none."""
    said = [
        line
        for line in _lines(output)
        if line and not line.startswith(WHAT) and not any(one in line for one in REPEATED)
    ]
    return "\n".join(line[:MOST_LETTERS] for line in said[-MOST_LINES:])


def what_it_said(output: Path) -> str:
    """What the C++ exception that ended a run says of itself; "" if it says nothing."""
    said = [line for line in _lines(output) if line.startswith(WHAT)]
    return said[-1].removeprefix(WHAT).strip()[:MOST_LETTERS] if said else ""


def _lines(output: Path) -> list[str]:
    try:
        data = output.read_bytes()[-MOST_BYTES:]
    except OSError:
        return []
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
