# SPDX-License-Identifier: Apache-2.0
"""The graphs that Bugaboo ranks: what only failing runs have, or all of them (Bugaboo 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Keys, NodeKeys, tally
from unsnarl.analyses.recon.resolution import shortened
from unsnarl.analyses.recon.timelines import find_keys
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import Edges, Graph, context_mask

Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class BugabooOptions:
    """How to rank; the defaults are the paper's.

    Attributes:
        labelled: Whether to set the edges of passing runs aside. If not, labels are not looked at.
        context_size: Contexts are cut to so many events.
        keep: So many code points are returned, the best ones.
    """

    labelled: bool = True
    # Bugaboo 6.4: shorter contexts miss bugs, longer ones make the graphs grow.
    context_size: int = 5
    keep: int = 50


class RankedGraph(NamedTuple):
    """What is ranked of one run.

    Attributes:
        edges: Its edges, at the wanted context size.
        rows: Which of them count.
        failing: Index of the run among the failing ones; None if it passed.
    """

    evidence: Evidence
    edges: Edges
    rows: Indexes | slice
    failing: int | None

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of the edges that count; rows are wide, so they are not copied."""
        values: npt.NDArray[Any] = self.edges[name][self.rows]
        return values


def ranked_graphs(comparison: Comparison, options: BugabooOptions) -> list[RankedGraph]:
    """What is ranked: of failing runs the edges that no passing run has, or everything."""
    failing = _at_size(comparison.failing, options.context_size)
    passing = _at_size(comparison.passing, options.context_size)
    if options.labelled:
        return _bug_only(comparison.failing, failing, passing)
    numbers = [*range(len(failing)), *(None for _ in passing)]
    runs = zip(comparison.failing + comparison.passing, failing + passing, numbers, strict=True)
    return [RankedGraph(run, graph.edges, slice(None), number) for run, graph, number in runs]


def _bug_only(
    runs: Iterable[Evidence], failing: list[Graph], passing: list[Graph]
) -> list[RankedGraph]:
    # Bugaboo 5: the graph of each failing run minus the union of all passing ones.
    nodes = NodeKeys([*failing, *passing])
    passing_keys, _ = tally(nodes.edges(graph.edges) for graph in passing)
    found = []
    for number, (run, graph) in enumerate(zip(runs, failing, strict=True)):
        rows = _absent(passing_keys, nodes.edges(graph.edges))
        found.append(RankedGraph(run, graph.edges, rows, number))
    return found


def _absent(passing_keys: Keys, keys: Keys) -> Indexes:
    """The rows whose keys no passing run has. Looked up in order: much faster in large sets."""
    absent = np.ones(len(keys), dtype=bool)
    order = np.argsort(keys)
    absent[order[find_keys(passing_keys, keys[order])[0]]] = False
    return np.flatnonzero(absent)


def _at_size(runs: Iterable[Evidence], size: int) -> list[Graph]:
    """The graphs of runs with shorter contexts; those that have no longer ones as they are."""
    # Shortening copies all rows, so it is done only where something is cut off.
    return [
        shortened(run.graph, size) if _longest(run.graph) > context_mask(size) else run.graph
        for run in runs
    ]


def _longest(graph: Graph) -> int:
    if not len(graph):
        return 0
    return int(max(graph.edges[f"{end}_context"].max() for end in ("source", "sink")))
