# SPDX-License-Identifier: Apache-2.0
"""From raw site ids to sites, and from the points of one run to campaign-wide indexes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from unsnarl.model.evidence import COUNT, Counts, Evidence, Places
from unsnarl.model.graph import Edges, Graph
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of
from unsnarl.model.run import Failure, Frame
from unsnarl.model.site import UNKNOWN_SITE, Op, Point, Site
from unsnarl.model.spelling import bare
from unsnarl.runfile.codes import Code, CodesFile, SiteEntry, Symbol
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.reader import RunFile

CODES_VERSION = 1
# Kinds of sites in C programs at which memory is touched.
ACCESSES = ("read", "write", "atomic")

# What makes two points the same in two runs: all that is said of the site but its names.
_Place = tuple[str, str, int, int, int, str]
_Identity = tuple[_Place, int]


class SiteTable:
    """Resolves raw site ids; ids from `watermark` on need the table of their own run."""

    def __init__(
        self, codes: Iterable[Code], root: PurePath | str, watermark: int | None = None
    ) -> None:
        self._codes = sorted(codes, key=lambda code: code.base)
        self._bases = [code.base for code in self._codes]
        self._entries: dict[int, dict[int, SiteEntry]] = {}
        self.root = PurePath(root)
        last = max((code.base + code.size for code in self._codes), default=0)
        self.watermark = last if watermark is None else watermark
        self.symbols: list[Symbol] = []
        self.program = self.built = ""
        # What a C program calls the places of a note, by site; "" for what it does not know.
        self.namer: Callable[[int, Any], str] = lambda site, place: ""

    def variables(self, run: RunFile) -> Mapping[int, str]:
        """The names of what sites touched in a run, as far as they are known."""
        places = run.notes.places
        if not places:
            return run.variables
        named = {
            site: self.namer(site, place) or self._symbol(place) for site, place in places.items()
        }
        return {**named, **run.variables}

    def _symbol(self, place: Any) -> str:
        """All that is known without the program: which of its variables it is."""
        offset = place[1] if place and place[0] == "data" else -1
        at = bisect_right(self.symbols, offset, key=lambda symbol: symbol.offset) - 1
        if at < 0:
            return ""
        symbol = self.symbols[at]
        return symbol.name if offset < symbol.offset + symbol.size else ""

    @classmethod
    def load(cls, path: Path | str, root: Path | str) -> SiteTable:
        """Reads codes.json; `root` is the project's folder, to which file names are relative."""
        try:
            content = msgspec.json.decode(Path(path).read_bytes(), type=CodesFile)
        except OSError as error:
            raise RunFileError(path, f"cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise RunFileError(path, f"is no list of codes: {error}") from error
        if content.version != CODES_VERSION:
            raise RunFileError(path, f"has version {content.version}, expected {CODES_VERSION}")
        table = cls(content.codes, root, content.watermark)
        table.symbols = sorted(content.symbols, key=lambda symbol: symbol.offset)
        table.program, table.built = content.program, content.built
        return table

    def files(self) -> list[str]:
        """The whole names of all source files."""
        named = {entry.file for code in self._codes for entry in code.sites if entry.file}
        return sorted({code.file for code in self._codes} | named)

    def for_run(self, run: RunFile) -> SiteTable:
        """The table for one run: this one, plus what that run alone loaded."""
        late = [code for code in run.codes if code.base >= self.watermark]
        if not late:
            return self
        table = SiteTable([*self._codes, *late], self.root, self.watermark)
        table.symbols, table.namer = self.symbols, self.namer
        return table

    def site(self, site_id: int) -> Site:
        """The site of a raw id, or UNKNOWN_SITE; the variable's name is not known here."""
        position = bisect_right(self._bases, site_id) - 1
        if position < 0:
            return UNKNOWN_SITE
        code = self._codes[position]
        if site_id - code.base >= code.size:
            return UNKNOWN_SITE
        entry = self._entry(site_id)
        return self._site(code, entry) if entry else self._unlisted(code, site_id - code.base)

    def struck(self, site_id: int) -> Site:
        """What a signal is about that struck at, or right behind, a site of a C program."""
        low, high = self.range_of(site_id)
        code = next((one for one in self._codes if one.base == low), None)
        if code is None or site_id >= high or self._entry(site_id):
            return self.site(site_id)
        before = [e for e in code.sites if e.offset <= site_id - low and e.kind in ACCESSES]
        return self._site(code, max(before, key=lambda e: e.offset)) if before else UNKNOWN_SITE

    def _entry(self, site_id: int) -> SiteEntry | None:
        position = bisect_right(self._bases, site_id) - 1
        if position < 0:
            return None
        code = self._codes[position]
        if position not in self._entries:
            self._entries[position] = {entry.offset: entry for entry in code.sites}
        return self._entries[position].get(site_id - code.base)

    def size(self, site_id: int) -> int:
        """How many bytes a C program touches at a site; 0 if that is not known."""
        entry = self._entry(site_id)
        return entry.size if entry is not None else 0

    def of_kinds(self, kinds: Collection[str]) -> list[int]:
        """All sites of some kinds."""
        return [
            code.base + entry.offset
            for code in self._codes
            for entry in code.sites
            if entry.kind in kinds
        ]

    def range_of(self, site_id: int) -> tuple[int, int]:
        """The ids of the function that has a site: the first one, and the first one after it."""
        position = bisect_right(self._bases, site_id) - 1
        if position < 0:
            return (0, 0)
        code = self._codes[position]
        return (code.base, code.base + code.size)

    def _site(self, code: Code, entry: SiteEntry) -> Site:
        line = code.line if entry.line is None else entry.line
        return Site(
            file=self._relative(entry.file or code.file),
            function=entry.function or code.function,
            line=line,
            end_line=line if entry.end_line is None else entry.end_line,
            column=entry.column or 0,
            end_column=entry.end_column or 0,
            kind=entry.kind,
            name=entry.name or "",
        )

    def _unlisted(self, code: Code, offset: int) -> Site:
        """A sync operation may sit at any instruction (a finaliser): give the line before it."""
        lines = [(entry.offset, entry.line) for entry in code.sites if entry.offset < offset]
        line = max(lines, default=(0, None))[1] or code.line
        file = self._relative(code.file)
        return Site(file, code.function, line, line, 0, 0, "unlisted", "")

    def _relative(self, file: str) -> str:
        path = PurePath(file)
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else file


class Interner:
    """Gives every point of a campaign one small integer, the same in every run."""

    def __init__(self, table: SiteTable) -> None:
        self._table = table
        self._points: list[Point] = []
        self._raws: list[set[int]] = []
        self._by_identity: dict[_Identity, int] = {}
        self._sites: dict[_Place, int] = {}
        self._site_of: list[int] = []
        self._by_raw: dict[int, int] = {}  # only ids below the watermark mean the same everywhere

    def __len__(self) -> int:
        return len(self._points)

    def point(self, index: int) -> Point:
        """The point of a campaign-wide index."""
        return self._points[index]

    def range_of(self, raw: int) -> tuple[int, int]:
        """The site ids of the function that has a raw point which every run knows."""
        return self._table.range_of(raw >> 4)

    def raw_points(self, index: int) -> tuple[int, ...]:
        """The raw points behind an index that every run knows (below the watermark), sorted."""
        return tuple(sorted(self._raws[index]))

    def placed(self, failure: Failure) -> Failure:
        """With the frame of the site at which a signal struck, and bare names of functions."""
        named = (replace(frame, function=bare(frame.function)) for frame in failure.frames)
        failure = replace(failure, frames=tuple(named))
        site = self._table.struck(failure.site) if failure.site and not failure.frames else None
        if site is None or not site.line:
            return failure
        frame = Frame(site.file, site.line, site.function)
        return replace(failure, frames=(frame,))

    def sync_mask(self) -> npt.NDArray[np.bool_]:
        """Which indexes are operations on locks and threads.

        A wait that never ended is none: it is the failure, and belongs beside the data.
        """
        ops = [point.op for point in self._points]
        return np.array([op.is_sync and op is not Op.WAIT for op in ops], dtype=bool)

    def places(self) -> Places:
        """What analyses need to know of all points met so far."""
        functions: dict[tuple[str, str], int] = {}
        numbers = [functions.setdefault(place[:2], len(functions)) for place in self._sites]
        return Places(
            sync=self.sync_mask(),
            order=self.site_order(),
            site=np.array(self._site_of, dtype=np.intp),
            function=np.array(numbers, dtype=np.intp),
            line=self._lines(),
        )

    def _lines(self) -> npt.NDArray[np.uint32]:
        first: dict[tuple[str, str, int, Op], int] = {}
        for index, (site, op) in enumerate((point.site, point.op) for point in self._points):
            first.setdefault((site.file, site.function, site.line, op), index)
        lines = [first[p.site.file, p.site.function, p.site.line, p.op] for p in self._points]
        return np.array(lines, dtype=np.uint32)

    def site_order(self) -> npt.NDArray[np.intp]:
        """The place of every index in the order of sites, which no order of runs can change."""
        order = sorted(range(len(self._points)), key=lambda index: self._points[index])
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        return places

    def graph(self, run: RunFile) -> Graph:
        """The run's graph, with campaign-wide indexes for points."""
        edges = run.edges.copy()
        raw = np.concatenate((run.edges["source_point"], run.edges["sink_point"]))
        indexes = self.indexes(raw, run)
        edges["source_point"] = indexes[: len(edges)]
        edges["sink_point"] = indexes[len(edges) :]
        return Graph(_merged(edges))

    def evidence(self, run: RunFile) -> Evidence:
        """All that analyses look at in a run."""
        return Evidence(
            self.graph(run),
            self._patterns(run, run.patterns),
            self._counts(run),
            run.orders,
            self._patterns(run, run.pairs),
        )

    def _patterns(self, run: RunFile, raw: Patterns) -> Patterns:
        patterns = raw.copy()
        triple = kinds_of(patterns) >= PatternKind.RWR
        for which, rows in (("first", ...), ("other", ...), ("last", triple)):
            points = patterns[f"{which}_point"]
            points[rows] = self.indexes(points[rows], run)
        return patterns

    def _counts(self, run: RunFile) -> Counts:
        sites = self._site_indexes(run)
        counts = np.zeros(len(self._sites), dtype=COUNT)
        counts["site"] = np.arange(len(counts))
        np.add.at(counts["executed"], sites, run.counts["count"])
        np.add.at(counts["remote"], sites, run.counts["remote"])
        return counts[counts["executed"] > 0]

    def _site_indexes(self, run: RunFile) -> npt.NDArray[np.intp]:
        """The campaign-wide site of every row of a run's counts."""
        table = self._table.for_run(run)
        unique, inverse = np.unique(run.counts["site"], return_inverse=True)
        known = [self._site_index(_place(table.site(site))) for site in unique.tolist()]
        return np.array(known, dtype=np.intp)[inverse]

    def _site_index(self, place: _Place) -> int:
        return self._sites.setdefault(place, len(self._sites))

    def indexes(self, raw: npt.NDArray[np.uint32], run: RunFile) -> npt.NDArray[np.uint32]:
        """Maps raw points of a run to campaign-wide indexes."""
        unique, inverse = np.unique(raw, return_inverse=True)
        table = self._table.for_run(run)
        variables = table.variables(run)
        mapped = [self._index(point, table, variables) for point in unique.tolist()]
        return np.array(mapped, dtype=np.uint32)[inverse]

    def _index(self, raw: int, table: SiteTable, variables: Mapping[int, str]) -> int:
        known = self._by_raw.get(raw)
        variable = variables.get(raw >> 4, "")
        if known is None:
            known = self._learn(raw, table.site(raw >> 4))
        if variable and not self._points[known].site.variable:
            point = self._points[known]
            site = replace(point.site, variable=variable)
            self._points[known] = Point(site, point.op)
        return known

    def _learn(self, raw: int, site: Site) -> int:
        op = Op(raw & 15)
        place = _place(site)
        index = self._by_identity.setdefault((place, int(op)), len(self._points))
        if index == len(self._points):
            self._points.append(Point(site, op))
            self._site_of.append(self._site_index(place))
            self._raws.append(set())
        if raw >> 4 < self._table.watermark:
            self._by_raw[raw] = index
            self._raws[index].add(raw)
        return index


def _place(site: Site) -> _Place:
    return (site.file, site.function, site.line, site.column, site.end_column, site.kind)


def _merged(edges: Edges) -> Edges:
    """Makes rows unique again: `finally` blocks are compiled twice, so two ids may be one point."""
    keys = ("sink_time", "sink_context", "source_context", "sink_point", "source_point")
    if not len(edges):
        return edges
    edges = edges.take(np.lexsort([edges[key] for key in keys]))
    first = np.ones(len(edges), dtype=bool)
    first[1:] = np.any([edges[key][1:] != edges[key][:-1] for key in keys[1:]], axis=0)
    if first.all():
        return edges
    starts = np.flatnonzero(first)
    counts = np.add.reduceat(edges["count"], starts, dtype=np.uint64)
    latest = edges.take(np.append(starts[1:], len(edges)) - 1)
    latest["count"] = np.minimum(counts, np.iinfo(np.uint32).max)
    return latest
