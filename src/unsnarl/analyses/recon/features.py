# SPDX-License-Identifier: Apache-2.0
"""The features of edges, B and C (Recon 4.1), and the choice of edges worth a reconstruction.

There can be millions of edges, so they are counted part by part: keys are sorted in every run, and
a part is a range of them, cut where the pair of points changes. Of each part only edges survive
that can still be among the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.index import Index
from unsnarl.analyses.recon.keys import Counts, Indexes, Keys, groups
from unsnarl.analyses.recon.reconstruction import ReconOptions
from unsnarl.analyses.recon.resolution import Resolution

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_PART = 1 << 19  # keys that are sorted at once: larger sorts leave the cache
_SAMPLE = 256  # every so manieth key of a run is looked at to cut parts


class EdgeCandidates(NamedTuple):
    """Chosen edges with their features, sorted by source node and sink node."""

    keys: Keys
    runs: Counts
    frequency: Floats  # B
    variation: Floats  # C
    sync: Flags
    order: Keys  # sorts as the sites of the edges do

    def take(self, rows: Indexes) -> EdgeCandidates:
        """Some of the edges."""
        return EdgeCandidates._make(column[rows] for column in self)


class Choice(NamedTuple):
    """The edges of failing runs with the highest B: of all of them, and of those between data."""

    # Chosen apart: lock operations outnumber data accesses (docs/adr/0007), and might be all.
    every: EdgeCandidates
    data: EdgeCandidates


class _Counted(NamedTuple):
    """Edges of failing runs."""

    keys: Keys
    runs: Counts
    frequency: Floats
    variation: Floats
    sync: Flags

    def take(self, rows: Indexes) -> _Counted:
        return _Counted._make(column[rows] for column in self)

    def joined(self, more: _Counted) -> _Counted:
        return _Counted._make(map(np.concatenate, zip(self, more, strict=True)))


def frequency_ratio(runs: Counts, failing: int, shared: Counts, passing: int) -> Floats:
    """B: share of failing runs with the edge, over that of passing runs.

    An edge that no passing run has counts as if it were in a little less than one of them.
    """
    # Recon 4.1.1, also for the share of an edge that no passing run has.
    passing_share = np.where(shared > 0, shared / max(passing, 1), 1 / (passing + 1))
    ratio: Floats = runs / max(failing, 1) / passing_share
    return ratio


def choose(
    resolution: Resolution,
    failing: Sequence[Index],
    passing: Sequence[Index],
    options: ReconOptions,
) -> Choice:
    """The best edges at one context size, `options.edges` of each kind."""
    chooser = _Chooser(resolution, len(failing), len(passing), options)
    cuts = _cuts([*failing, *passing], resolution)
    ranges = zip(_pieces(failing, cuts), _pieces(passing, cuts), strict=True)
    for failing_keys, passing_keys in ranges:
        chooser.add(failing_keys, passing_keys)
    return chooser.choice()


class _Chooser:
    """The best edges of the parts seen so far."""

    def __init__(
        self, resolution: Resolution, failing: int, passing: int, options: ReconOptions
    ) -> None:
        self._resolution = resolution
        self._failing = failing
        self._passing = passing
        self._options = options
        self._floor = 0.0  # an edge with a lower B is not among the best of either kind
        self._best = self._counted([], [])

    def add(self, failing: list[Keys], passing: list[Keys]) -> None:
        """Takes the keys of a part, run by run."""
        edges = self._counted(failing, passing)
        edges = self._best.joined(edges.take(np.union1d(*self._kinds(edges))))
        kinds = self._kinds(edges)
        self._best = edges.take(np.union1d(*kinds))
        if min(map(len, kinds)) >= self._options.edges > 0:
            self._floor = min(float(edges.frequency[rows].min()) for rows in kinds)

    def choice(self) -> Choice:
        """What was best of all parts."""
        return Choice(
            *(self._candidates(self._best.take(rows)) for rows in self._kinds(self._best))
        )

    def _candidates(self, edges: _Counted) -> EdgeCandidates:
        edges = edges.take(np.argsort(self._resolution.order(edges.keys, None)))
        return EdgeCandidates(*edges, self._resolution.order(edges.keys, self._options.site_order))

    def _counted(self, failing: list[Keys], passing: list[Keys]) -> _Counted:
        keys, runs, shared = _tallied(self._resolution, failing, passing)
        frequency = frequency_ratio(runs, self._failing, shared, self._passing)
        rows = np.flatnonzero((runs > 0) & (frequency >= self._floor))
        # C is over all edges of the two points, so it is computed before any are dropped.
        pairs, starts, members = groups(self._resolution.pairs(keys))
        variation = _variation_ratio(runs, shared, starts)
        sync = _is_sync(self._resolution, pairs, self._options.sync_points)
        of_pair = np.repeat(np.arange(len(pairs)), members)[rows]
        return _Counted(keys[rows], runs[rows], frequency[rows], variation[of_pair], sync[of_pair])

    def _kinds(self, edges: _Counted) -> tuple[Indexes, Indexes]:
        """The best rows of all, and of those between data."""
        every = self._narrowed(edges, np.arange(len(edges.keys)))
        if not edges.sync.any():
            return every, every
        return every, self._narrowed(edges, np.flatnonzero(~edges.sync))

    def _narrowed(self, edges: _Counted, tied: Indexes) -> Indexes:
        """Cuts to the best B; among equals more failing runs, then greater C, then site order.

        There can be long ties: each column only narrows down what is left.
        """
        columns: list[Callable[[Indexes], npt.NDArray[Any]]] = [
            lambda rows: -edges.frequency[rows],
            lambda rows: -edges.runs[rows],
            lambda rows: -edges.variation[rows],
            lambda rows: self._resolution.order(edges.keys[rows], self._options.site_order),
            lambda rows: self._resolution.order(edges.keys[rows], None),
        ]
        wanted, chosen = self._options.edges, [tied[:0]]
        for column in columns:
            if len(tied) <= wanted:
                break
            values = column(tied)
            cut = np.partition(values, wanted - 1)[wanted - 1]
            chosen.append(tied[values < cut])
            wanted -= len(chosen[-1])
            tied = tied[values == cut]
        return np.sort(np.concatenate([*chosen, tied[:wanted]]))


def _cuts(indexes: Sequence[Index], resolution: Resolution) -> Keys:
    """Keys that cut all runs into parts of about `_PART` keys, where pairs of points change."""
    sample = np.sort(
        np.concatenate([np.empty(0, np.uint64), *(i.keys[::_SAMPLE] for i in indexes)])
    )
    parts = sum(len(one.keys) for one in indexes) // _PART + 1
    chosen = np.arange(1, parts) * len(sample) // parts
    # A part that ended amid a pair's contexts would make its C wrong.
    return np.unique(resolution.layout.pair_starts(sample[chosen]))


def _pieces(indexes: Sequence[Index], cuts: Keys) -> Iterator[list[Keys]]:
    """The keys of all runs, part by part."""
    bounds = [[0, *np.searchsorted(one.keys, cuts).tolist(), len(one.keys)] for one in indexes]
    for part in range(len(cuts) + 1):
        yield [
            one.keys[ends[part] : ends[part + 1]] for one, ends in zip(indexes, bounds, strict=True)
        ]


def _tallied(
    resolution: Resolution, failing: list[Keys], passing: list[Keys]
) -> tuple[Keys, Counts, Counts]:
    """The edges of some runs and in how many failing and passing ones each is."""
    # The label is the lowest bit, so that a single sort counts both kinds of runs.
    one = np.uint64(1)
    labelled = [resolution.shorten(keys) << one for keys in failing]
    labelled += [resolution.shorten(keys) << one | one for keys in passing]
    joined = np.sort(np.concatenate([np.empty(0, np.uint64), *labelled]))
    keys, starts, counts = groups(joined >> one)
    shared: Counts = np.add.reduceat((joined & one).astype(np.int64), starts)
    return keys, counts - shared, shared


def _variation_ratio(runs: Counts, shared: Counts, starts: Indexes) -> Floats:
    """C: how much the number of contexts of two points differs with the label, pair by pair."""
    # Recon 4.1.2.
    failing = np.add.reduceat((runs > 0).astype(np.int64), starts)
    passing = np.add.reduceat((shared > 0).astype(np.int64), starts)
    ratio: Floats = np.abs(failing - passing) / (failing + passing)
    return ratio


def _is_sync(resolution: Resolution, pairs: Keys, sync_points: Flags | None) -> Flags:
    if sync_points is None:
        return np.zeros(len(pairs), dtype=bool)
    source, sink = (sync_points[points] for points in resolution.layout.points(pairs))
    either: Flags = source | sink
    return either
