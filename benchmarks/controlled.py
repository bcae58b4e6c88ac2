# SPDX-License-Identifier: Apache-2.0
"""Controlled overhead: CPU time of a gated run against the plain program, start and end left out.

"Rotation" is what a hunt does: plans of campaigns.rotation, which learns from each run. Its first
runs, which know nothing yet, are made but not counted; the figure is the mean over the others,
because the mixture is the point.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as with_fields

from benchmarks.figures import Figure, median, ratios
from benchmarks.subject import Pair, SubjectError, pair
from unsnarl.campaigns.narrowing import RUNS_BEFORE_NARROWING
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import Rotation
from unsnarl.model.plan import as_message
from unsnarl.runfile import read_run


@dataclass(frozen=True)
class Case:
    """A kernel under one way to choose schedules; switch "" is the mode without the suffix."""

    kernel: str
    name: str
    size: int
    threads: int
    plan: str
    bar: float
    switch: str = "gil"


SHARED = Case("unguarded", "v += 1, 2 threads, rotation", 100_000, 2, "rotation", 100)
LOCKED = Case("guarded", "with lock: v += 1, 2 threads, rotation", 40_000, 2, "rotation", 100)
CASES = (
    SHARED,
    replace(SHARED, name="v += 1, 4 threads, rotation", size=50_000, threads=4),
    replace(SHARED, name="v += 1, 2 threads, rotation, switch free", switch="free"),
    LOCKED,
    replace(LOCKED, name="with lock: v += 1, 4 threads, rotation", size=20_000, threads=4),
    replace(SHARED, name="v += 1, 2 threads, pct", plan="pct", bar=20),
    replace(SHARED, name="v += 1, 4 threads, pct", size=50_000, threads=4, plan="pct", bar=20),
    replace(LOCKED, name="with lock: v += 1, 2 threads, pct", plan="pct", bar=20),
    Case("locals_only", "locals only, 2 threads, rotation", 500_000, 2, "rotation", 3),
)


def figures(quick: bool) -> Iterator[Figure]:
    """One figure per case."""
    with pair() as both:
        for case in CASES:
            if quick and case.threads == 4:
                continue
            size = case.size // 2 if quick else case.size
            yield _measure(both, case, size, 8 if quick else 20)


def _measure(both: Pair, case: Case, size: int, runs: int) -> Figure:
    rotation = Rotation(seed=1)
    plain, gated, strategies = [], [], []
    for number in range(1, runs + RUNS_BEFORE_NARROWING + 1):
        one = both.run_plain(case.kernel, size, case.threads)
        plan = _plan(case, rotation, number, 2 * size * case.threads)
        other = both.run_probed(case.kernel, size, case.threads, plan)
        if one["result"] != other["result"]:
            raise SubjectError(f"{case.kernel}: {one['result']} plain, {other['result']} gated")
        wide = plan.get("sites") is None
        rotation.learn(profile_of(read_run(both.run_file)), passed=True, wide=wide)
        if number > RUNS_BEFORE_NARROWING:
            plain.append(one["cpu"])
            gated.append(other["cpu"] + other["finish"])
            strategies.append(plan["strategy"])
    return _figure(case, plain, gated, strategies)


def _plan(case: Case, rotation: Rotation, number: int, length: int) -> dict[str, Any]:
    plan = rotation.plan(number, switch=case.switch)
    if case.plan != "rotation":
        plan = with_fields(
            plan, strategy=case.plan, length=length, depth=3, interest=None, rules=()
        )
    return as_message(plan)


def _figure(case: Case, plain: list[float], gated: list[float], strategies: list[str]) -> Figure:
    samples = ratios(gated, plain)
    by_strategy: dict[str, list[float]] = {}
    for strategy, sample in zip(strategies, samples, strict=True):
        by_strategy.setdefault(strategy, []).append(sample)
    details = {
        "plain": plain,
        "gated": gated,
        "strategies": {name: statistics.mean(found) for name, found in by_strategy.items()},
    }
    figure = median(f"controlled: {case.name}", samples, bar=case.bar, details=details)
    return replace(figure, value=statistics.mean(samples))
