# SPDX-License-Identifier: Apache-2.0
"""The last words of a failing run: what a program prints before it gives up says why."""

from __future__ import annotations

from pathlib import Path

MOST_LINES, MOST_BYTES, MOST_LETTERS = 3, 4096, 200
# libc's own line repeats what the failure says.
REPEATED = ("Assertion `", "terminate called")


def last_lines(output: Path) -> str:
    """The last lines of a run's output, cut to what a person reads; "" if there is none."""
    try:
        data = output.read_bytes()[-MOST_BYTES:]
    except OSError:
        return ""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    said = [line for line in lines if line and not any(one in line for one in REPEATED)]
    return "\n".join(line[:MOST_LETTERS] for line in said[-MOST_LINES:])
