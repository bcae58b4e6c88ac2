# SPDX-License-Identifier: Apache-2.0
"""What Falcon's windows add to tracking: the same kernels with them and without, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.figures import Figure, median
from benchmarks.subject import Pair, pair
from benchmarks.tracking import CASES, FREE, Case

WITHOUT = FREE | {"window_size": 0}
BAR = 0.1


def figures(quick: bool) -> Iterator[Figure]:
    """One figure per kernel, and their mean, which the bar is about."""
    measured = []
    with pair() as both:
        for case in CASES:
            figure = _measure(both, case, 3 if quick else 9, case.size // (3 if quick else 1))
            measured.append(figure)
            yield figure
    values = [figure.value for figure in measured]
    yield Figure(
        "windows: mean over the kernels",
        statistics.fmean(values),
        min(values),
        max(values),
        bar=BAR,
    )


def _measure(both: Pair, case: Case, rounds: int, size: int) -> Figure:
    """The cost of windows, as a part of the plain program's time."""
    plain, added = [], []
    for _ in range(rounds):
        plain.append(both.run_plain(case.kernel, size, case.threads)["cpu"])
        with_them, without = (
            both.run_probed(case.kernel, size, case.threads, plan) for plan in (FREE, WITHOUT)
        )
        added.append(with_them["cpu"] + with_them["finish"] - without["cpu"] - without["finish"])
    base = statistics.median(plain)
    return median(f"windows: {case.name}", [one / base for one in added])
