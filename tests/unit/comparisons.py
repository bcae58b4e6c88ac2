# SPDX-License-Identifier: Apache-2.0
"""Runs to compare, made by hand: edges, patterns and counts in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unsnarl.model.evidence import COUNT, Comparison, Evidence, PointTable
from unsnarl.model.graph import EDGE, Graph
from unsnarl.model.pattern import PATTERN

Row = dict[str, int]


def edge(
    source: int,
    sink: int,
    *,
    contexts: tuple[int, int] = (0, 0),
    threads: tuple[int, int] = (1, 2),
    time: int = 0,
    count: int = 1,
) -> Row:
    """An edge; its sink came one tick after its source."""
    return {
        "source_point": source,
        "sink_point": sink,
        "source_context": contexts[0],
        "sink_context": contexts[1],
        "source_thread": threads[0],
        "sink_thread": threads[1],
        "source_time": time,
        "sink_time": time + 1,
        "count": count,
    }


def pattern(
    kind: int, *points: int, threads: tuple[int, int] = (1, 2), time: int = 0, count: int = 1
) -> Row:
    """A pattern; its accesses came one tick apart."""
    row = {"kind": kind, "first_thread": threads[0], "other_thread": threads[1], "count": count}
    for place, (name, point) in enumerate(zip(("first", "other", "last"), points, strict=False)):
        row |= {f"{name}_point": point, f"{name}_time": time + place}
    return row


def counted(site: int, executed: int, remote: int = 0) -> Row:
    """How often a site ran."""
    return {"site": site, "executed": executed, "remote": remote}


def run(
    edges: Iterable[Row] = (), patterns: Iterable[Row] = (), counts: Iterable[Row] = ()
) -> Evidence:
    """One run."""
    graph = Graph(_rows(edges, EDGE))
    return Evidence(graph, _rows(patterns, PATTERN), _rows(counts, COUNT))


def point_table(
    points: int,
    *,
    sites: Sequence[int] | None = None,
    functions: Sequence[int] | None = None,
    order: Sequence[int] | None = None,
) -> PointTable:
    """Points with a site of their own each, in functions of their own, in the order of indexes."""
    site = np.array(range(points) if sites is None else sites, dtype=np.intp)
    function = range(int(site.max(initial=-1)) + 1) if functions is None else functions
    return PointTable(
        sync=np.zeros(points, dtype=bool),
        order=np.array(range(points) if order is None else order, dtype=np.intp),
        site=site,
        function=np.array(function, dtype=np.intp),
        line=np.arange(points, dtype=np.uint32),
    )


def compare(
    failing: Iterable[Evidence], passing: Iterable[Evidence] = (), where: PointTable | None = None
) -> Comparison:
    """Failing runs against passing runs."""
    return Comparison(tuple(failing), tuple(passing), point_table(100) if where is None else where)


def _rows(rows: Iterable[Row], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    rows = list(rows)
    array = np.zeros(len(rows), dtype=dtype)
    for place, row in enumerate(rows):
        for name, value in row.items():
            array[name][place] = value
    return array
