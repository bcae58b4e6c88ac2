# SPDX-License-Identifier: Apache-2.0
"""What the clocks say: orders that they prove, and guesses of when the rest happened.

A stamp of core i proves to be earlier than one of core j only if it is so for every skew in the
hard range of the two (ReCBuLC, section III); pairs of cores are asked directly, because a detour
by a third core would add its width. The guesses use the middle of the ranges and prove nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsnarl.reproduce.orders.problem import Integers, Kind, OrderProblem


def clock_orders(problem: OrderProblem) -> tuple[Integers, Integers]:
    """Proved orders of clock events of different threads, as (source, sink).

    Of each thread only the last source of a sink is given: the threads' own orders imply the rest.
    """
    markers = [_stamps(problem, own) for own in _markers(problem)]
    nothing = np.zeros(0, np.int64)
    sources, sinks = [nothing], [nothing]
    for i, source in enumerate(markers):
        for core in range(len(problem.ahead)):
            latest = _latest(problem, source, core)
            for j, sink in enumerate(markers):
                mine = sink.by_core.get(core)
                if i != j and mine is not None and len(latest):
                    counts = np.searchsorted(latest, sink.stamps[mine], side="left")
                    before = np.maximum.accumulate(counts)  # what came earlier stays so
                    news = np.flatnonzero(np.diff(before, prepend=0))
                    sources.append(source.events[before[news] - 1])
                    sinks.append(sink.events[mine[news]])
    return np.concatenate(sources), np.concatenate(sinks)


class _Stamps(NamedTuple):
    """The clock events of a thread, with their positions by core."""

    events: Integers
    stamps: Integers
    cores: Integers
    by_core: dict[int, Integers]


def _stamps(problem: OrderProblem, events: Integers) -> _Stamps:
    cores = problem.object[events]
    used = set(cores.tolist())
    by_core = {core: np.flatnonzero(cores == core) for core in used}
    return _Stamps(events, problem.value[events].astype(np.int64), cores, by_core)


def _latest(problem: OrderProblem, source: _Stamps, core: int) -> Integers:
    """The most that the core's clock can have shown at each event."""
    there = source.stamps + problem.ahead[source.cores, core]
    # A thread may change cores: what is after an event bounds it, too.
    latest: Integers = np.minimum.accumulate(there[::-1])[::-1]
    return latest


def _markers(problem: OrderProblem) -> list[Integers]:
    """The clock events of each thread."""
    all_of_them = problem.of(Kind.CLOCK)
    ends = np.searchsorted(all_of_them, problem.first)
    return [all_of_them[a:b] for a, b in pairwise(ends)]


def guesses(problem: OrderProblem) -> NDArray[np.float64]:
    """When each event happened, about: between its thread's stamps, in equal steps.

    Threads without stamps are spread over the time of the others.
    """
    times = np.zeros(problem.size)
    markers = _markers(problem)
    points = [_middle(problem, own) if len(own) else np.zeros(0) for own in markers]
    stamps = np.concatenate([np.zeros(0), *points])
    low, high = (stamps.min(), stamps.max()) if len(stamps) else (0.0, 1.0)
    for thread, own in enumerate(markers):
        events = np.arange(problem.first[thread], problem.first[thread + 1])
        if len(own):
            times[events] = np.interp(events, own, points[thread])
        else:
            steps = (np.arange(len(events)) + 0.5) / max(len(events), 1)
            times[events] = low + (high - low) * steps
    return times


def _middle(problem: OrderProblem, markers: Integers) -> NDArray[np.float64]:
    """Stamps as the first core would have made them."""
    cores = problem.object[markers]
    skew = (problem.ahead[0, cores] - problem.ahead[cores, 0]) / 2
    times: NDArray[np.float64] = problem.value[markers].astype(np.float64) - skew
    return times
