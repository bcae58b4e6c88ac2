# SPDX-License-Identifier: Apache-2.0
"""Recon's answers about a comparison: data first, at several context sizes (docs/adr/0008)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.recon.cycles import closing
from unsnarl.analyses.recon.focus import SURE, Focus, Focused, Normal, trimmed
from unsnarl.analyses.recon.ranking import EdgeRanking, Sync
from unsnarl.analyses.recon.reconstruction import ReconOptions, Reconstruction
from unsnarl.analyses.recon.triples import companions
from unsnarl.model.evidence import Comparison
from unsnarl.model.graph import Graph
from unsnarl.model.ordered import open_graph

METHOD = "recon"
# In larger programs hardly two runs reach a site in the same context of five events. With three
# sizes and all times 9 of 12 bugs were in the top 3, with five events 7 (docs/adr/0008).
CONTEXT_SIZES = (5, 2, 0)
# If no data edge reaches this, edges between lock operations come first (docs/adr/0008).
SUSPICIOUS = 2.0  # an edge twice as frequent in failing runs


def answers(
    comparison: Comparison,
    *,
    context_sizes: tuple[int, ...] = CONTEXT_SIZES,
    settings: Focus | None = None,
) -> list[Answer]:
    """Ranks what may have made the failing runs fail.

    Data comes first: the order of lock operations mostly repeats, with less to say, what it guards.
    Only where no data separates the runs do edges between lock operations come first.

    Args:
        comparison: The runs.
        context_sizes: Rank with contexts of so many events, and join the lists.
        settings: What to show.
    """
    if not comparison.failing:
        return []
    settings = settings or Focus()
    ranked = _Findings(comparison, context_sizes, settings)
    # The ranking with lock operations is made only if this one is too weak or too short.
    first = ranked.findings("drop")
    suspicious = bool(first) and first[0].reconstruction.features["B"] >= SUSPICIOUS
    if not suspicious or len(first) < settings.findings:
        both = ranked.findings("auto")
        shown = {one.lines for one in first}
        rest = [one for one in both if one.lines not in shown]
        first = (first + rest)[: settings.findings] if suspicious else both
    return [ranked.answer(one) for one in first]


class _Findings:
    """Makes findings from one ranking, and answers from those."""

    def __init__(
        self, comparison: Comparison, context_sizes: tuple[int, ...], settings: Focus
    ) -> None:
        options = ReconOptions(
            sync_points=comparison.points.sync,
            site_order=comparison.points.order,
            # Recon 3.1 keeps only the latest times; the others say where else a node happened
            # (docs/adr/0008).
            timeline="all",
            context_sizes=context_sizes,
        )
        self._runs = comparison.failing
        self._sync = comparison.points.sync
        self._failing = [open_graph(run.graph, run.orders) for run in comparison.failing]
        self._settings = settings
        passing = [open_graph(run.graph, run.orders) for run in comparison.passing]
        self._ranking = EdgeRanking(self._failing, passing, options)
        self._normal = Normal(self._ranking.passing, self._ranking.layout, options, settings)
        self._focused: dict[int, Focused] = {}  # by identity: a ranking makes each of them once

    def findings(self, sync: Sync) -> list[Focused]:
        """The best findings; nothing is made that cannot be among them."""
        found: dict[object, Focused] = {}
        ranked = self._ranking.best(sync)
        for reconstruction in itertools.islice(ranked, self._settings.consider):
            one = self._focus(reconstruction)
            found.setdefault(one.shown, one)
            if len(found) == self._settings.findings:
                break
        return list(found.values())

    def _focus(self, reconstruction: Reconstruction) -> Focused:
        if id(reconstruction) not in self._focused:
            edges = [self._ranking.occurrence(reconstruction, run) for run in reconstruction.runs]
            found = companions(self._failing, reconstruction, edges)
            # No third access on the cell: then another variable may close the cycle
            # (docs/adr/0008).
            if not any(one.share >= SURE for one in found):
                found = closing(self._runs, reconstruction.runs, edges, self._sync)
            one = trimmed(reconstruction, self._normal, found, self._settings)
            self._focused[id(reconstruction)] = one
        return self._focused[id(reconstruction)]

    def answer(self, one: Focused) -> Answer:
        """A reconstruction as an answer, as every method gives it."""
        reconstruction = one.reconstruction
        return Answer(
            method=METHOD,
            score=reconstruction.score,
            features=reconstruction.features,
            lines=one.lines,
            runs=reconstruction.runs,
            passing=self._ranking.passing_runs(reconstruction),
            threads={run: self._threads(one, run) for run in reconstruction.runs},
        )

    def _threads(self, one: Focused, run: int) -> dict[int, int]:
        """The thread behind each anchor in one run."""
        edge = self._ranking.occurrence(one.reconstruction, run)
        threads = {0: int(edge["source_thread"]), 1: int(edge["sink_thread"])}
        for line in one.lines:
            if line.anchor not in threads:
                taken = list(threads.values())
                threads[line.anchor] = _thread_at(self._failing[run], line, taken)
        return threads


def _thread_at(graph: Graph, line: Line, taken: Sequence[int]) -> int:
    """A thread that passed the line's point and has no other part in the answer, or -1."""
    passed: set[int] = set()
    for end in ("source", "sink"):
        rows = np.flatnonzero(graph.edges[f"{end}_point"] == line.point)
        passed.update(graph.edges[f"{end}_thread"][rows].tolist())
    return min(passed.difference(taken), default=-1)
