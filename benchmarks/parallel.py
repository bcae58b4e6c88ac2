# SPDX-License-Identifier: Apache-2.0
"""A free-threaded interpreter: what tracking costs each thread, and whether threads still scale.

The interpreter is the one of tools/free-threaded-python, in the environment that `make
build-others` makes for it; without it there are no figures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure, median, ratios
from benchmarks.subject import REPOSITORY, Pair, pair

PYTHON = REPOSITORY / ".venv-others" / "python3.13t" / "bin" / "python"
FREE = {"strategy": "free", "switch": "free"}
# Sizes that take one thread about 0.3 s; every thread has objects of its own.
KERNELS = {"attributes": 600_000, "containers": 400_000}
THREADS = 2
Sides = tuple[dict[str, Any], dict[str, Any]]
PLANS = (None, FREE)
MOST_COST, LEAST_SCALING = 2.5, 1.5


def figures(quick: bool) -> Iterator[Figure]:
    """Per kernel: CPU time against plain, and how much faster two threads are, also plain."""
    if not PYTHON.exists():
        print(f"no {PYTHON}: see tools/free-threaded-python", file=sys.stderr)
        return
    with pair(python=str(PYTHON)) as both:
        for kernel, size in KERNELS.items():
            yield from _measure(both, kernel, size // (3 if quick else 1), 3 if quick else 9)


def _measure(both: Pair, kernel: str, size: int, rounds: int) -> Iterator[Figure]:
    plain, probed = ([_asked(both, kernel, size, plan) for _ in range(rounds)] for plan in PLANS)
    name = f"free-threaded: {kernel}, {THREADS} threads"
    cost = ratios([two["cpu"] for _, two in probed], [two["cpu"] for _, two in plain])
    yield median(f"{name}: CPU against plain", cost, bar=MOST_COST)
    yield median(f"{name}: speed-up", _faster(probed), bar=LEAST_SCALING, at_least=True)
    yield median(f"{name}: speed-up, plain", _faster(plain))


def _asked(both: Pair, kernel: str, size: int, plan: dict[str, str] | None) -> Sides:
    """The same with one thread and with several, each with as much to do."""
    if plan is None:
        one, several = (both.run_plain(kernel, size, threads) for threads in (1, THREADS))
    else:
        one, several = (both.run_probed(kernel, size, threads, plan) for threads in (1, THREADS))
    return one, several


def _faster(sides: list[Sides]) -> list[float]:
    """What several do together would take one of them so many times as long."""
    return [THREADS * one["wall"] / several["wall"] for one, several in sides]
