# SPDX-License-Identifier: Apache-2.0
"""Tracking overhead: all access kinds on, nobody held at the gate; CPU time against plain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import Figure, median, ratios
from benchmarks.subject import Pair, SubjectError, pair

FREE = {"strategy": "free", "switch": "gil"}


@dataclass(frozen=True)
class Case:
    """A kernel at a size that takes a plain interpreter about 0.2 s."""

    kernel: str
    name: str
    size: int
    threads: int
    bar: float | None = None


CASES = (
    Case("locals_only", "locals only", 2_500_000, 1, 1.03),
    Case("attributes", "attribute loop", 1_000_000, 1, 2.0),
    Case("containers", "container loop", 600_000, 1, 2.0),
    Case("variables", "global and closure counters", 1_800_000, 1, 2.0),
    Case("handlers", "handlers without exceptions", 600_000, 1, 1.15),
    Case("exceptions", "exceptions all the time", 40_000, 1, 1.6),
    Case("operating_system", "operating system (richards-like), 4 threads", 9_000, 4, 1.6),
    Case("constraints", "constraint solver (deltablue-like), 4 threads", 20, 4, 1.9),
    Case("large_heap", "constraint solver, 20 times as large, 4 threads", 2_000, 4),
    Case("pipeline", "producers and consumers, 2+2 threads", 10_000, 4, 1.5),
)


def figures(quick: bool) -> Iterator[Figure]:
    """One figure per kernel."""
    with pair() as both:
        for case in CASES:
            yield _measure(both, case, 3 if quick else 9, case.size // (3 if quick else 1))


def _measure(both: Pair, case: Case, rounds: int, size: int) -> Figure:
    plain, probed = [], []
    for _ in range(rounds):
        one = both.run_plain(case.kernel, size, case.threads)
        other = both.run_probed(case.kernel, size, case.threads, FREE)
        if one["result"] != other["result"]:
            raise SubjectError(f"{case.kernel}: {one['result']} plain, {other['result']} probed")
        plain.append(one["cpu"])
        probed.append(other["cpu"] + other["finish"])
    return median(
        f"tracking: {case.name}",
        ratios(probed, plain),
        bar=case.bar,
        details={"plain": plain, "probed": probed},
    )
