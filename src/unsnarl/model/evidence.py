# SPDX-License-Identifier: Apache-2.0
"""What every analysis is given: the evidence of each run, failing ones against passing ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True, eq=False)
class Evidence:
    """One run, with campaign-wide indexes for points and sites.

    `counts` is sorted by site, `orders` by time. `pairs` are patterns of two accesses: of a gated
    run all of them (up to a limit), where `patterns` has the latest of every kind.
    """

    graph: Graph
    patterns: Patterns
    counts: Counts
    orders: Orders
    pairs: Patterns = field(default_factory=no_patterns)

    @classmethod
    def of_graph(cls, graph: Graph) -> Evidence:
        """A run of which only the graph is known."""
        return cls(graph, no_patterns(), no_counts(), np.empty(0, dtype=ORDER))


@dataclass(frozen=True, eq=False)
class Places:
    """What analyses need to know of points without knowing any source code.

    Attributes:
        sync: By point: is it an operation on locks or threads?
        order: By point: its place in the order of sites, for ties.
        site: By point: the index of its site.
        function: By site: the index of its function.
        line: By point: the point that stands for all of the same line and operation.
    """

    sync: npt.NDArray[np.bool_]
    order: npt.NDArray[np.intp]
    site: npt.NDArray[np.intp]
    function: npt.NDArray[np.intp]
    line: npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The runs of one signature and the passing runs of the same mode."""

    failing: tuple[Evidence, ...]
    passing: tuple[Evidence, ...]
    places: Places
