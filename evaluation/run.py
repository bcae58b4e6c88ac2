# SPDX-License-Identifier: Apache-2.0
"""A whole evaluation: draws, hunts by object, twins and windows, as many at once as cores."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from evaluation import windows
from evaluation.measure import by_object, measure, twin
from evaluation.papers import BUGABOO_2
from evaluation.results import Draw, Results
from evaluation.truth import Bug

SWITCHES = ("gil", "free")
OBJECT_DRAWS = 2  # they need hunts of their own

Result = TypeVar("Result")


@dataclass(frozen=True)
class Plan:
    """What to evaluate.

    Attributes:
        twin_runs: So many runs of every fixed twin in each switching mode.
        window_runs: So many runs of every kernel with each number of threads (Falcon: 100).
        switches: The switching modes of the twins' hunts; a native program has one.
    """

    bugs: Sequence[Bug]
    seeds: Sequence[int]
    twin_runs: int = 100
    window_runs: int = 50
    threads: Sequence[int] = windows.THREADS
    switches: Sequence[str] = SWITCHES

    @classmethod
    def native(cls, bugs: Sequence[Bug], seeds: Sequence[int]) -> Plan:
        """Of programs in C and C++: the kernels of the windows are Python's."""
        return cls(bugs, seeds, threads=(), switches=("free",))

    @classmethod
    def short(cls, bugs: Sequence[Bug], seed: int) -> Plan:
        """One draw and few runs: everything happens once."""
        return cls(bugs, (seed,), twin_runs=20, window_runs=10, threads=(4, 16))


class _Parts:
    """Runs the parts one after the other, each over all cores, and notes how long they took."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool
        self.seconds: dict[str, float] = {}

    def run(
        self,
        name: str,
        work: Callable[..., Result],
        tasks: Iterable[tuple[object, ...]],
        say: Callable[[Result], None] = lambda _: None,
    ) -> tuple[Result, ...]:
        begin = time.monotonic()
        found = []
        columns = list(zip(*tasks, strict=True))
        for one in self._pool.map(work, *columns) if columns else ():
            say(one)
            found.append(one)
        self.seconds[name] = time.monotonic() - begin
        return tuple(found)


def evaluate(plan: Plan, command: str, say: Callable[[Draw], None]) -> Results:
    """Measures everything; `say` is called with every draw as it ends."""
    begin = time.monotonic()
    cores = len(os.sched_getaffinity(0))
    draws = [(bug, seed) for bug in plan.bugs for seed in plan.seeds]
    first = plan.seeds[:OBJECT_DRAWS]
    coarse = [(bug, seed) for bug, seed in draws if bug.name in BUGABOO_2 and seed in first]
    twins = [(bug, switch, plan.twin_runs) for bug in plan.bugs for switch in plan.switches]
    names = windows.names()
    spans = [(name, count, plan.window_runs) for count in plan.threads for name in names]
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        parts = _Parts(pool)
        return Results(
            command=command,
            date=time.strftime("%Y-%m-%d"),
            python=platform.python_version(),
            cores=cores,
            draws=parts.run("draws of all bugs, all methods", measure, draws, say),
            objects=parts.run("Bugaboo by object", by_object, coarse),
            twins=parts.run("fixed twins", twin, twins),
            spans=parts.run("windows and threads", windows.spans, spans),
            parts=parts.seconds,
            seconds=time.monotonic() - begin,
        )
