# SPDX-License-Identifier: Apache-2.0
"""What a run shows that the plans of later runs use."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.event import PRIVATE_SITES, Op, op_of, site_of, sites_of
from unsnarl.runfile import RunFile

LOCK_OPS = (Op.ACQUIRE, Op.RELEASE, Op.WAIT)
# Of a run with very many edges a part is enough: every run is learned from, and none may take long.
MOST_EDGES = 50_000


class Profile(msgspec.Struct, frozen=True):
    """What a run shows that the plans of later runs use.

    Attributes:
        steps: How often a thread came to the gate.
        shared: Sites that touched a cell of two threads, and the switch points that stand before
            those.
        counts: By thread path, its events at each site.
        edges: The sites that communicated.
        contested: Sites of writes and lock operations that could come in another order: a cell that
            is written once, before it is shared, has none.
        heads: The switch point that stands before a site: all that the gate knows of it beforehand.
        cells: Of every cell that threads communicated through, the points that did.
        sources: Points that communicated, the earlier one first.
    """

    steps: int
    shared: frozenset[int]
    counts: dict[str, dict[int, int]]
    edges: tuple[tuple[int, int], ...]
    contested: frozenset[int]
    heads: dict[int, int] = {}
    cells: frozenset[tuple[int, ...]] = frozenset()
    sources: frozenset[tuple[int, int]] = frozenset()


def profile_of(run: RunFile) -> Profile:
    """The profile that the rotation learns from."""
    counts: dict[str, dict[int, int]] = {thread.path: {} for thread in run.threads}
    heads: dict[int, int] = {}
    for thread, site, count, head, *_ in run.counts.tolist():
        # No plan can name what only this run knows.
        if max(site, head) < PRIVATE_SITES:
            counts[run.threads[thread].path][site] = count
            heads[site] = head
    touched = [site for site in run.shared.tolist() if site < PRIVATE_SITES]
    # Under the interpreter's lock a thread that is to stop before an access must stop at its head.
    shared = frozenset(touched) | {heads[site] for site in touched if site in heads}
    edges = _shared_by_runs(run.edges)[:MOST_EDGES]
    pairs = _pairs(edges["source_point"], edges["sink_point"])
    sources = {(site_of(point), op_of(point)) for point, _ in pairs}
    return Profile(
        steps=run.counters["steps"],
        shared=shared,
        counts=counts,
        heads=heads,
        edges=_pairs(sites_of(edges["source_point"]), sites_of(edges["sink_point"])),
        contested=frozenset(s for s, op in sources if s in shared or op in LOCK_OPS),
        cells=_points_by_cell(edges),
        sources=frozenset(pairs),
    )


def _shared_by_runs(edges: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    ends = (sites_of(edges[f"{end}_point"]) for end in ("source", "sink"))
    return edges[np.logical_and(*(end < PRIVATE_SITES for end in ends))]


def _pairs(
    source: npt.NDArray[np.uint32], sink: npt.NDArray[np.uint32]
) -> tuple[tuple[int, int], ...]:
    pairs = np.unique(source.astype(np.uint64) << np.uint64(32) | sink).tolist()
    return tuple((pair >> 32, pair & 0xFFFF_FFFF) for pair in pairs)


def _points_by_cell(edges: npt.NDArray[np.void]) -> frozenset[tuple[int, ...]]:
    """The points of each cell, ascending; cells with the same points are one."""
    cells = np.concatenate((edges["cell"], edges["cell"]))
    points = np.concatenate((edges["source_point"], edges["sink_point"]))
    order = np.lexsort((points, cells))
    cells, points = cells[order], points[order]
    ends = np.flatnonzero(cells[1:] != cells[:-1]) + 1
    return frozenset(tuple(dict.fromkeys(part.tolist())) for part in np.split(points, ends))
