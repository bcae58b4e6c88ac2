# SPDX-License-Identifier: Apache-2.0
"""How consistent the regions around many edges are, R of Recon 4.1, counted for all at once.

All that the score needs of a region is how many nodes it keeps and how often these are there.
Short regions are counted together, by one sort of (edge, region, node, run). Bodies can be as long
as the run, though, and then hold most of its nodes: for those it is cheaper to ask of every node
whether it is in the body. Going backwards through a run, `soonest` has where each node happens
next; the nodes of a body that starts here are those whose next instant is before its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.index import expanded
from unsnarl.analyses.recon.keys import Counts, Indexes, groups
from unsnarl.analyses.recon.timelines import Spans, View

BODY = 1  # the index of the body among the regions

_ENTRIES = 1 << 18  # instants that are sorted at once: larger sorts leave the cache
_NEVER = 0xFFFF  # after every block
_TABLE = 1 << 26  # bytes of the table of edges and nodes

# Nanoseconds (measured): sorting a instant; asking a node, starting on a body, summing up a node's
# counts for an edge, passing a instant on the way backwards.
_SORTED = 15.0
_ASKED, _STARTED, _SUMMED, _PASSED = 0.1, 8000.0, 0.5, 4.0


class KeptNodes(NamedTuple):
    """By edge and region: how many nodes have half the best confidence, and in how many runs."""

    nodes: Counts
    runs: Counts

    @classmethod
    def empty(cls, edges: int) -> KeptNodes:
        """Nothing counted yet."""
        return cls(np.zeros((edges, 3), np.int64), np.zeros((edges, 3), np.int64))


def count(view: View, spans: Spans, edges: int) -> KeptNodes:
    """Counts the regions of edges; the spans are sorted by edge, and `wanted` is its number."""
    kept = KeptNodes.empty(edges)
    lengths = np.stack([bounds[:, 1] - bounds[:, 0] for bounds in spans.regions], axis=1)
    batch = max(1, _TABLE // max(1, len(view)))
    long = _long_bodies(view, spans, lengths[:, BODY], edges, batch)
    by_node = np.flatnonzero(long)
    for start in range(0, len(by_node), batch):
        _count_nodes(view, spans, by_node[start : start + batch], kept)
    lengths[long[spans.wanted], BODY] = 0
    for rows in _chunks(spans, lengths.sum(axis=1), edges):
        _count_instants(view, spans.take(rows), lengths[rows], kept)
    return kept


def _long_bodies(
    view: View, spans: Spans, lengths: Indexes, edges: int, batch: int
) -> npt.NDArray[np.bool_]:
    """The edges whose bodies are cheaper to count by node than by instant."""
    by_instant = np.bincount(spans.wanted, lengths, minlength=edges) * _SORTED
    by_node = np.bincount(spans.wanted, minlength=edges) * (_STARTED + _ASKED * len(view))
    saved = by_instant - by_node - _SUMMED * len(view)
    long: npt.NDArray[np.bool_] = saved > 0
    sweeps = -(-np.count_nonzero(long) // batch)
    worth_it = saved[long].sum() > sweeps * _PASSED * len(view.nodes)
    return long if worth_it else np.zeros_like(long)


def _chunks(spans: Spans, lengths: Indexes, edges: int) -> Iterator[slice]:
    """The rows of edges that have about `_ENTRIES` instants together, at least one edge each."""
    instants = np.bincount(spans.wanted, lengths, minlength=edges)
    firsts = np.flatnonzero(np.diff(np.cumsum(instants) // _ENTRIES, prepend=-1))
    bounds = np.searchsorted(spans.wanted, [*firsts, edges]).tolist()
    return itertools.starmap(slice, itertools.pairwise(bounds))


def _count_instants(view: View, spans: Spans, lengths: Indexes, kept: KeptNodes) -> None:
    first = np.stack([bounds[:, 0] for bounds in spans.regions], axis=1)
    nodes = view.nodes[expanded(first.ravel(), (first + lengths).ravel())]
    if not len(nodes):
        return
    node_bits, run_bits = len(view).bit_length(), int(spans.runs.max()).bit_length()
    # Counted from the chunk's first edge, so that keys stay narrow.
    base = 3 * int(spans.wanted[0])
    regions = (3 * spans.wanted[:, np.newaxis] + np.arange(3) - base).ravel()
    bits = int(regions[-1]).bit_length() + node_bits + run_bits
    width: Any = np.uint32 if bits <= 32 else np.uint64  # the narrower, the faster to sort
    keys = regions << node_bits + run_bits | np.repeat(spans.runs, 3)
    packed = np.repeat(keys.astype(width), lengths.ravel())
    packed |= nodes.astype(width) << run_bits
    once, _, _ = groups(np.sort(packed))  # a node counts once a run
    found, _, counts = groups(once >> run_bits)
    numbers, starts, members = groups(found >> node_bits)
    keeps = counts * 2 >= np.repeat(np.maximum.reduceat(counts, starts), members)
    cells = numbers.astype(np.intp) + base
    kept.nodes.flat[cells] = np.add.reduceat(keeps, starts, dtype=np.int64)
    kept.runs.flat[cells] = np.add.reduceat(np.where(keeps, counts, 0), starts)


def _count_nodes(view: View, spans: Spans, edges: Indexes, kept: KeptNodes) -> None:
    """Counts the bodies of some edges in a table of edges and nodes."""
    rows = np.flatnonzero(np.isin(spans.wanted, edges))
    rows_of_table = np.searchsorted(edges, spans.wanted[rows])
    runs = spans.runs[rows]
    # No count exceeds the number of runs: one byte is mostly enough.
    table = np.zeros((len(edges), len(view)), np.min_scalar_type(int(runs.max()) + 1))
    for run in np.unique(runs).tolist():
        here = np.flatnonzero(runs == run)
        _sweep(view, run, spans.body[rows[here]], table, rows_of_table[here])
    for edge, counts in zip(edges.tolist(), table, strict=True):
        best = int(counts.max())
        # Half, rounded up. Doubling the counts instead could overflow their narrow type.
        keeps = counts[counts >= max(1, best - best // 2)]
        kept.nodes[edge, BODY] = len(keeps)
        kept.runs[edge, BODY] = keeps.sum(dtype=np.int64)


def _sweep(view: View, run: int, bodies: Indexes, table: npt.NDArray[Any], edges: Indexes) -> None:
    """Adds one to the nodes of the body of each edge (a row of the table), in one run."""
    nodes = view.nodes[view.starts[run] : view.starts[run + 1]]
    # In blocks of instants, so that two bytes do: this is the innermost loop, over all nodes.
    shift = max(0, len(nodes).bit_length() - 15)
    blocks = (np.arange(len(nodes)) >> shift).astype(np.uint16)
    soonest = np.full(len(view), _NEVER, dtype=np.uint16)
    inside = np.empty(len(view), dtype=bool)
    stop = len(nodes)
    bodies = bodies - view.starts[run]
    for body in np.argsort(-bodies[:, 0], kind="stable").tolist():
        first, last = bodies[body].tolist()
        # Backwards: of equal indexes the last assignment stays, which is the first instant.
        soonest[nodes[first:stop][::-1]] = blocks[first:stop][::-1]
        stop = first
        np.less(soonest, np.uint16(last >> shift), out=inside)
        # The body may end within a block, whose instants are then looked at one by one.
        inside[nodes[max(first, last >> shift << shift) : last]] = True
        table[edges[body]] += inside.view(np.uint8)
