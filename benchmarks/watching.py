# SPDX-License-Identifier: Apache-2.0
"""Watching within a budget: CPU time of kernels with threads, watched and plain in turns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import mean
from typing import Any

from benchmarks.figures import Figure

BUDGETS = (0.01, 0.05, 0.20)
CASES = (
    ("attributes", 100_000, 2),
    ("operating_system", 1_000, 4),
    ("constraints", 4, 4),
    ("pipeline", 2_000, 4),
)


def figures(quick: bool) -> Iterator[Figure]:
    """One figure per kernel and budget."""
    for case in CASES:
        for budget in BUDGETS:
            yield _measure(case, budget, 2 if quick else 10)


def _measure(case: tuple[str, int, int], budget: float, rounds: int) -> Figure:
    plain: list[float] = []
    watched: list[float] = []
    details: dict[str, Any] = {}
    with ExitStack() as stack:
        sides = [stack.enter_context(_side(case, share)) for share in (0.0, budget)]
        for _ in range(rounds):
            plain += _ask(sides[0])["samples"]
            answer = _ask(sides[1])
            watched += answer["samples"]
        ((details["bursts"], details["bound"]),) = answer["watched"]
    # Means, not medians: bursts are few, and all of them count.
    value = mean(watched) / mean(plain)
    name = f"watching: {case[0]}, {case[2]} threads, at {budget:.0%}"
    return Figure(name, value, value, value, bar=1 + budget, details=details)


def _side(case: tuple[str, int, int], budget: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.watched_kernel", *map(str, case), str(budget)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(side: subprocess.Popen[str]) -> Any:
    assert side.stdin is not None and side.stdout is not None
    side.stdin.write("\n")
    side.stdin.flush()
    return json.loads(side.stdout.readline())
