# SPDX-License-Identifier: Apache-2.0
"""What every analysis is given: the evidence of each run, failing ones against passing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.graph import Graph
from unsnarl.model.pattern import PATTERN, Patterns

# How often a run executed a site, and how often another thread had touched the cell last.
COUNT = np.dtype([("site", "<u4"), ("executed", "<u8"), ("remote", "<u8")])

# What starting and joining threads orders: from its time `since` on, a thread comes after all that
# the other did up to `upto`.
ORDER = np.dtype([("thread", "<u4"), ("other", "<u4"), ("since", "<u8"), ("upto", "<u8")])

Counts = npt.NDArray[Any]
Orders = npt.NDArray[Any]


def no_patterns() -> Patterns:
    """What a run without windows has."""
    return np.empty(0, dtype=PATTERN)


def no_counts() -> Counts:
    """What a run without counters has."""
    return np.empty(0, dtype=COUNT)


def no_orders() -> Orders:
    """What a run has whose threads never start nor join another."""
    return np.empty(0, dtype=ORDER)


class Due(NamedTuple):
    """An access that a thread was still to make when its run ended.

    Attributes:
        point: The campaign-wide index of the point whose number in this run is `raw`.
    """

    path: str
    thread: int
    point: int
    raw: int
    cell: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """One run, with campaign-wide indexes for points and sites.

    `counts` is sorted by site, `orders` by time. `pairs` are patterns of two accesses: of a gated
    run all of them (up to a limit), where `patterns` has the latest of every kind. Both have the
    patterns that `due` accesses would have ended. `unended` are the threads that were still there
    at its end, with their paths.
    """

    graph: Graph
    patterns: Patterns = field(default_factory=no_patterns)
    counts: Counts = field(default_factory=no_counts)
    orders: Orders = field(default_factory=no_orders)
    pairs: Patterns = field(default_factory=no_patterns)
    due: tuple[Due, ...] = ()
    unended: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PointTable:
    """What analyses need to know of all points, without any source code: columns by index.

    Attributes:
        sync: By point: is it an operation on locks or threads?
        order: By point: its rank in the order of sites, for ties.
        site: By point: the index of its site.
        function: By site: the index of its function.
        line: By point: the point that stands for all of the same line and operation.
        initial: By point: does it give a new object an attribute? Empty if that is not known.
    """

    sync: npt.NDArray[np.bool_]
    order: npt.NDArray[np.intp]
    site: npt.NDArray[np.intp]
    function: npt.NDArray[np.intp]
    line: npt.NDArray[np.uint32]
    initial: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    def begins_with_initial(self, points: Sequence[int]) -> bool:
        """Whether one of some conflicts, two points each, is the use of what is new.

        Whoever uses it comes later, always: how it got the object says when.
        """
        firsts = points[::2]
        return any(point < len(self.initial) and bool(self.initial[point]) for point in firsts)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The runs of one signature and the passing runs of the same mode."""

    failing: tuple[Evidence, ...]
    passing: tuple[Evidence, ...]
    points: PointTable
