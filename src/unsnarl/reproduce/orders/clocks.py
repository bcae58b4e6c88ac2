# SPDX-License-Identifier: Apache-2.0
"""What the clocks say: orders that they prove, and guesses of when the rest happened.

A stamp of core i proves to be earlier than one of core j only if it is so for every skew in the
hard range of the two (ReCBuLC, section III); pairs of cores are asked directly, because a detour
by a third core would add its width. The guesses use the middle of the ranges and prove nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsnarl.reproduce.orders.problem import Integers, Kind, OrderProblem


def clock_orders(problem: OrderProblem) -> tuple[Integers, Integers]:
    """Proved orders of clock events of different threads, as (source, sink).

    Of each thread only the last source of a sink is given: the threads' own orders imply the rest.
    """
    markers = _markers(problem)
    found = [
        _between(problem, source, sink)
        for i, source in enumerate(markers)
        for j, sink in enumerate(markers)
        if i != j and len(source) and len(sink)
    ]
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sources, sinks = zip(*found, strict=True)
    return np.concatenate(sources), np.concatenate(sinks)


def _markers(problem: OrderProblem) -> list[Integers]:
    """The clock events of each thread."""
    all_of_them = problem.of(Kind.CLOCK)
    ends = np.searchsorted(all_of_them, problem.first)
    return [all_of_them[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _between(
    problem: OrderProblem, source: Integers, sink: Integers
) -> tuple[Integers, Integers]:
    stamps = problem.value.astype(np.int64)
    cores = problem.object
    before = np.zeros(len(sink), np.int64)  # how many of the sources are proved to be earlier
    for core in np.unique(cores[sink]):
        there = stamps[source] + problem.ahead[cores[source], core]
        # A thread may change cores: what is after an event bounds it, too.
        latest = np.minimum.accumulate(there[::-1])[::-1]
        mine = cores[sink] == core
        before[mine] = np.searchsorted(latest, stamps[sink[mine]], side="left")
    before = np.maximum.accumulate(before)
    news = np.flatnonzero(np.diff(before, prepend=0))
    return source[before[news] - 1], sink[news]


def guesses(problem: OrderProblem) -> NDArray[np.float64]:
    """When each event happened, about: between its thread's stamps, in equal steps.

    Threads without stamps are spread over the time of the others.
    """
    times = np.zeros(problem.size)
    markers = _markers(problem)
    points = [_middle(problem, own) for own in markers]
    known = np.concatenate([np.zeros(0), *points])
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    for thread, own in enumerate(markers):
        events = np.arange(problem.first[thread], problem.first[thread + 1])
        if len(own):
            times[events] = np.interp(events, own, points[thread])
        else:
            steps = (np.arange(len(events)) + 0.5) / max(len(events), 1)
            times[events] = low + (high - low) * steps
    return times


def _middle(problem: OrderProblem, markers: Integers) -> NDArray[np.float64]:
    """Stamps as the first core would have told them."""
    cores = problem.object[markers]
    skew = (problem.ahead[0, cores] - problem.ahead[cores, 0]) / 2
    times: NDArray[np.float64] = problem.value[markers].astype(np.float64) - skew
    return times
