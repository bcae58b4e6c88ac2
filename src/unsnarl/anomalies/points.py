# SPDX-License-Identifier: Apache-2.0
"""Points by what the source says there, so that edits elsewhere change nothing.

A line's number is not part of it: the file, the function, the text of the line and of the access,
and the operation are. Two equal lines of one function are one point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.evidence import PointTable
from unsnarl.model.site import Point
from unsnarl.model.sources import Sources

TEXT_MOST = 500


class Anchored(NamedTuple):
    """A point of any process, of any version that has these lines."""

    file: str
    function: str
    text: str
    segment: str
    name: str
    op: str


def anchored(point: Point, sources: Sources) -> Anchored:
    """The anchor of a point; where the source cannot be read, what the code itself says."""
    site = point.site
    text = " ".join(sources.line(site.file, site.line).split())[:TEXT_MOST]
    segment = sources.segment(site)[:TEXT_MOST] if text else site.kind
    return Anchored(site.file, site.function, text, segment, site.name, point.op.word)


class AnchoredPoints:
    """Gives every anchor one small integer, and keeps one point to show for it."""

    def __init__(self) -> None:
        self.anchors: list[Anchored] = []
        self.points: list[Point] = []
        self._indexes: dict[Anchored, int] = {}

    def index(self, anchor: Anchored, point: Point) -> int:
        """The number of an anchor; the latest point is shown, as its line may have moved."""
        found = self._indexes.setdefault(anchor, len(self.anchors))
        if found == len(self.anchors):
            self.anchors.append(anchor)
            self.points.append(point)
        elif point.site.variable or not self.points[found].site.variable:
            self.points[found] = point
        return found

    def table(self) -> PointTable:
        """What the methods ask of points."""
        order = sorted(range(len(self.anchors)), key=self.anchors.__getitem__)
        sites = _numbered([one._replace(op="") for one in self.anchors])
        functions = _numbered([(one.file, one.function) for one in self.anchors])
        by_site = np.zeros(sites.max(initial=-1) + 1, dtype=np.intp)
        by_site[sites] = functions
        return PointTable(
            sync=np.array([one.op.is_sync for _, one in self._ops()], dtype=bool),
            order=np.argsort(np.array(order, dtype=np.intp)),
            site=sites,
            function=by_site,
            line=np.arange(len(self.anchors), dtype=np.uint32),
        )

    def _ops(self) -> list[tuple[Anchored, Point]]:
        return list(zip(self.anchors, self.points, strict=True))


def _numbered(keys: list[tuple[str, ...]]) -> npt.NDArray[np.intp]:
    """Equal keys have equal numbers, counted in the order of their coming."""
    numbers: dict[tuple[str, ...], int] = {}
    found = [numbers.setdefault(one, len(numbers)) for one in keys]
    return np.array(found, dtype=np.intp)
