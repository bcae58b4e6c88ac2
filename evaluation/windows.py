# SPDX-License-Identifier: Apache-2.0
"""Falcon's figure 3: how large a window must be, against the number of threads.

The kernels are small programs in the shapes of the zoo whose number of threads is an argument. They
never fail: what is counted are patterns, not failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from evaluation.draws import hunted, kept
from evaluation.results import Spans
from unsnarl.model.evidence import Evidence
from unsnarl.model.pattern import FINE, PatternKind

KERNELS = Path(__file__).parent / "kernels"
THREADS = (4, 8, 16, 32, 64)
WINDOW = 50  # Falcon 4.3
SWITCH = "free"  # as in Java: anywhere


def names() -> list[str]:
    """The kernels, by name."""
    return sorted(path.stem for path in KERNELS.glob("*.py"))


def spans(kernel: str, threads: int, runs: int) -> Spans:
    """The smallest window for every triple of every run of a kernel."""
    command = ("python", f"{kernel}.py", str(threads))
    limits = ("--max-runs", str(runs), "--pass", str(runs), "--switch", SWITCH, "--jobs", "1")
    with hunted(KERNELS, command, "--window", str(WINDOW), *limits) as done:
        with kept(done.folder) as collected:
            found = collected.unlabelled().comparison.failing
        return Spans(kernel, threads, len(found), sizes(found), sizes(found, smallest=True))


def sizes(runs: Iterable[Evidence], *, smallest: bool = False) -> dict[int, int]:
    """How many unserialisable triples need a window of each size.

    A triple counts for every pair of threads that made it in a run, or once for all of them, with
    the smallest of their windows.
    """
    counted: Counter[int] = Counter()
    for run in runs:
        kinds = run.patterns["kind"]
        triples = run.patterns[(kinds >= PatternKind.RWR) & (kinds < FINE)]  # Falcon's (3.1)
        triples = triples[np.argsort(triples["span"], kind="stable")]
        spans = triples["span"]
        if smallest:  # of equal patterns, the first one is kept
            points = triples[["first_point", "other_point", "last_point"]]
            spans = spans[np.unique(points, return_index=True)[1]]
        counted.update(spans.tolist())
    return dict(sorted(counted.items()))


def five_numbers(counted: Mapping[int, int]) -> tuple[float, ...]:
    """What a boxplot shows: smallest, lower quartile, median, upper quartile, largest."""
    values = [size for size, count in sorted(counted.items()) for _ in range(count)]
    return tuple(quantile(values, part) for part in (0, 0.25, 0.5, 0.75, 1)) if values else ()


def quantile(values: Sequence[int], part: float) -> float:
    """The value below which a part of the sorted values lies, interpolated."""
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def together(found: Iterable[Spans], threads: int, *, smallest: bool = False) -> dict[int, int]:
    """The sizes of all kernels with so many threads, added up as in the paper."""
    counted: Counter[int] = Counter()
    for one in found:
        if one.threads == threads:
            counted.update(one.smallest if smallest else one.sizes)
    return dict(counted)
