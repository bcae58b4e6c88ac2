# SPDX-License-Identifier: Apache-2.0
"""The zoo: how soon each bug shows, how long 25+25 runs take, whether a fixed twin ever fails."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.figures import Figure, median
from benchmarks.hunting import Bug, bugs, copy_of, hunt

MOST_SCHEDULES = 400
QUICK_BUGS = ("bank", "strbuf")


def figures(quick: bool) -> Iterator[Figure]:
    """Three figures per bug, and two over all of them."""
    chosen = [bug for bug in bugs() if not quick or bug.name in QUICK_BUGS]
    collected = []
    for bug in chosen:
        yield from _first_failing(bug, 3 if quick else 20)
    for bug in chosen:
        figure = _collected(bug, 1 if quick else 3)
        collected.append(figure.value)
        yield figure
    # the bar is on the whole zoo, not on a choice from it
    yield median("hunts: 25+25 runs, median bug", collected, unit="s", bar=None if quick else 3)
    for bug in chosen:
        yield _twin(bug, 100 if quick else 500)


def _first_failing(bug: Bug, seeds: int) -> Iterator[Figure]:
    schedules, seconds = [], []
    for seed in range(seeds):
        with copy_of(bug) as folder:
            found = hunt(
                folder,
                bug.command,
                *("--seed", str(seed), "--switch", bug.switch),
                *("--fail", "1", "--pass", "1", "--max-runs", str(MOST_SCHEDULES)),
            )
            schedules.append(found.first_failing() or MOST_SCHEDULES)
            seconds.append(found.json["seconds"])
    details = {"schedules": schedules, "seconds": seconds}
    yield median(
        f"hunts: {bug.name}, schedules to the first failure", schedules, unit="", bar=25,
        details=details,
    )  # fmt: skip
    yield median(f"hunts: {bug.name}, seconds to the first failure", seconds, unit="s", bar=1)


def _collected(bug: Bug, seeds: int) -> Figure:
    seconds, counts = [], []
    for seed in range(seeds):
        with copy_of(bug) as folder:
            options = ("--seed", str(100 + seed), "--switch", bug.switch)
            found = hunt(folder, bug.command, *options)
            seconds.append(found.wall)
            counts.append(found.json["runs"])
    figure = median(
        f"hunts: {bug.name}, 25+25 runs", seconds, unit="s", bar=10, details={"runs": counts}
    )
    enough = all(min(count["pass"], count["fail"] + count["hang"]) >= 25 for count in counts)
    return figure if enough else replace(figure, value=math.inf)


def _twin(bug: Bug, runs: int) -> Figure:
    with copy_of(bug) as folder:
        options = ("--switch", bug.switch, "--max-runs", str(runs), "--time", "120")
        counts = hunt(folder, bug.fixed, *options).json["runs"]
    failed = runs - counts["pass"]  # a run that was not made does not count as passed
    name = f"hunts: {bug.name}, failures of the fixed twin in {runs} runs"
    return Figure(name, failed, failed, failed, unit="", bar=0, details=counts)
