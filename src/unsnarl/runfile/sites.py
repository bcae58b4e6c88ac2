# SPDX-License-Identifier: Apache-2.0
"""From raw site ids to sites, and from the points of one run to campaign-wide indexes."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from unsnarl.model.cpp_names import bare
from unsnarl.model.event import Op, op_of, site_of
from unsnarl.model.evidence import COUNT, Counts, Evidence, PointTable
from unsnarl.model.graph import Edges, Graph
from unsnarl.model.pattern import PatternKind, Patterns, kinds_of
from unsnarl.model.run import Failure, Frame
from unsnarl.model.site import UNKNOWN_SITE, Point, Site
from unsnarl.runfile.codes import LATE_SUFFIX, Code, CodesFile, SiteEntry, Symbol
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.reader import RunFile

CODES_VERSION = 1
# Kinds of sites in C programs at which memory is touched.
ACCESSES = ("read", "write", "atomic")

# What makes two points the same in two runs: all that is said of the site but its names.
_SiteKey = tuple[str, str, int, int, int, str]
_Identity = tuple[_SiteKey, int]


# What makes the methods of a data class.
GENERATED = "__create_fn__"


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
        # Below it a site id means the same in every run.
        self.shared = self.watermark
        self.symbols: list[Symbol] = []
        self.program = self.built = ""
        # Names a location of a C program that a site touched; "" if it has no name.
        self.namer: Callable[[int, Any], str] = lambda site, location: ""

    def variables(self, run: RunFile) -> Mapping[int, str]:
        """The names of what sites touched in a run, as far as they are known."""
        locations = run.notes.locations
        if not locations:
            return run.variables
        named = {
            site: self.namer(site, location) or self._symbol(location)
            for site, location in locations.items()
        }
        return {**named, **run.variables}

    def _symbol(self, location: Any) -> str:
        """All that is known without the program: which of its variables it is."""
        offset = location[1] if location and location[0] == "data" else -1
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
        if content.shared:
            table.shared = content.shared
            table.learn(_late_codes(Path(str(path) + LATE_SUFFIX)))
        return table

    def files(self) -> list[str]:
        """The whole names of all source files."""
        named = {entry.file for code in self._codes for entry in code.sites if entry.file}
        return sorted(str(self.root / file) for file in {c.file for c in self._codes} | named)

    def for_run(self, run: RunFile) -> SiteTable:
        """The table for one run: this one, plus what that run alone loaded."""
        self.learn(run.codes)
        late = [code for code in run.codes if code.base >= self.shared]
        if not late:
            return self
        table = SiteTable([*self._codes, *late], self.root, self.watermark)
        table.symbols, table.namer = self.symbols, self.namer
        return table

    def learn(self, codes: Iterable[Code]) -> None:
        """Take in what runs have loaded under ids that mean the same in all of them."""
        seen = set(self._bases)
        new = [one for one in codes if self.watermark <= one.base < self.shared]
        new = [one for one in new if one.base not in seen]
        if new:
            self._codes = sorted([*self._codes, *new], key=lambda code: code.base)
            self._bases = [code.base for code in self._codes]
            self._entries = {}

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

    def entry(self, site_id: int) -> tuple[Code | None, SiteEntry | None, int]:
        """The code of a raw id, its listed site at or before the id, and how far before that is."""
        position = bisect_right(self._bases, site_id) - 1
        code = self._codes[position] if position >= 0 else None
        if code is None or site_id - code.base >= code.size:
            return None, None, 0
        offset = site_id - code.base
        before = max((e for e in code.sites if e.offset <= offset), key=_offset, default=None)
        return code, before, offset - before.offset if before else 0

    def nearest(self, site_id: int) -> tuple[Site, int]:
        """The listed site at or before a raw id, in its function, and how far before it that is.

        A thread may wait at an instruction that is not listed: inside of a library's call.
        """
        code, before, shift = self.entry(site_id)
        if code is None:
            return UNKNOWN_SITE, 0
        return (self._site(code, before), shift) if before else (self.site(site_id), 0)

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

    def listed(self) -> Iterator[tuple[int, Site]]:
        """All sites that are listed, by their ids."""
        for code in self._codes:
            for entry in code.sites:
                yield code.base + entry.offset, self._site(code, entry)

    def on_lines(self, lines: Collection[tuple[str, int]]) -> list[int]:
        """All sites on some lines of some files."""
        return [
            code.base + entry.offset
            for code in self._codes
            for entry in code.sites
            if (self._relative(entry.file or code.file), entry.line or code.line) in lines
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
        return _relative_to(self.root, file)


@lru_cache(maxsize=4096)
def _relative_to(root: PurePath, file: str) -> str:
    """Kept: a program has thousands of sites in a few files, and paths are slow."""
    path = PurePath(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file


def _offset(entry: SiteEntry) -> int:
    return entry.offset


class Interner:
    """Gives every point of a campaign one small integer, the same in every run."""

    def __init__(self, table: SiteTable) -> None:
        self._table = table
        self._points: list[Point] = []
        self._raws: list[set[int]] = []
        self._by_identity: dict[_Identity, int] = {}
        self._sites: dict[_SiteKey, int] = {}
        self._site_by_point: list[int] = []
        self._by_raw: dict[int, int] = {}  # of ids that mean the same everywhere
        self._site_by_raw: dict[int, int] = {}  # likewise

    def __len__(self) -> int:
        return len(self._points)

    def point(self, index: int) -> Point:
        """The point of a campaign-wide index."""
        return self._points[index]

    def range_of(self, raw: int) -> tuple[int, int]:
        """The site ids of the function that has a raw point which every run knows."""
        return self._table.range_of(site_of(raw))

    def raw_points(self, index: int) -> tuple[int, ...]:
        """The raw points behind an index that mean the same in every run, sorted."""
        return tuple(sorted(self._raws[index]))

    def located(self, failure: Failure) -> Failure:
        """With the frame of the site at which a signal struck, and bare names of functions."""
        named = (replace(frame, function=bare(frame.function)) for frame in failure.frames)
        failure = replace(failure, frames=tuple(named))
        site = self._table.struck(failure.site) if failure.site and not failure.frames else None
        if site is None or not site.line:
            return failure
        frame = Frame(site.file, site.line, site.function)
        return replace(failure, frames=(frame,))

    def frame(self, site: int) -> Frame | None:
        """The line of a site; None if it is not known."""
        found = self._table.site(site)
        return Frame(found.file, found.line, found.function) if found.line else None

    def sync_mask(self) -> npt.NDArray[np.bool_]:
        """Which indexes are operations on locks and threads.

        A wait that never ended is none: it is the failure, and belongs with the data.
        """
        ops = [point.op for point in self._points]
        return np.array([op.is_sync and op is not Op.WAIT for op in ops], dtype=bool)

    def point_table(self) -> PointTable:
        """What analyses need to know of all points met so far."""
        functions: dict[tuple[str, str], int] = {}
        numbers = [functions.setdefault(key[:2], len(functions)) for key in self._sites]
        return PointTable(
            sync=self.sync_mask(),
            order=self.site_order(),
            site=np.array(self._site_by_point, dtype=np.intp),
            function=np.array(numbers, dtype=np.intp),
            line=self._lines(),
            initial=np.array([_is_initial(point) for point in self._points], dtype=bool),
        )

    def _lines(self) -> npt.NDArray[np.uint32]:
        """By point the first of its line that does the same, to the same variable."""
        first: dict[tuple[str, str, int, Op], dict[str, int]] = {}
        lines = []
        for index, (site, op) in enumerate((point.site, point.op) for point in self._points):
            # By variable: `valid = 0; value = 0;` is one line.
            # A comprehension's first iterator is made by the function around it.
            names = first.setdefault((site.file, site.enclosing, site.line, op), {})
            name = site.variable if site.variable or not names else next(iter(names))
            lines.append(names.setdefault(name, index))
        return np.array(lines, dtype=np.uint32)

    def site_order(self) -> npt.NDArray[np.intp]:
        """The rank of every index in the order of sites, which no order of runs can change."""
        order = sorted(range(len(self._points)), key=lambda index: self._points[index])
        ranks = np.empty(len(order), dtype=np.intp)
        ranks[order] = np.arange(len(order))
        return ranks

    def graph(self, run: RunFile, given: Edges | None = None) -> Graph:
        """The run's graph, with campaign-wide indexes for points.

        Args:
            given: What else was made of the run's accesses, in place of its own edges.
        """
        edges = (run.edges if given is None else given).copy()
        raw = np.concatenate((edges["source_point"], edges["sink_point"]))
        indexes = self.indexes(raw, run)
        edges["source_point"] = indexes[: len(edges)]
        edges["sink_point"] = indexes[len(edges) :]
        return Graph(_merged(edges))

    def evidence(self, run: RunFile) -> Evidence:
        """All that analyses look at in a run."""
        return Evidence(
            self.graph(run),
            self._patterns(run, run.patterns),
            self.counts(run),
            run.orders,
            self._patterns(run, run.pairs),
            unended={at: run.threads[at].path for at in run.pending["thread"].tolist()},
        )

    def _patterns(self, run: RunFile, raw: Patterns) -> Patterns:
        patterns = raw.copy()
        # A pair has no last access: its 0 is no point and must not become one.
        triple = kinds_of(patterns) >= PatternKind.RWR
        for which, rows in (("first", ...), ("other", ...), ("last", triple)):
            points = patterns[f"{which}_point"]
            points[rows] = self.indexes(points[rows], run)
        return patterns

    @property
    def unknown_site(self) -> int:
        """The index of what no table lists: site 0, for one; -1 if no run had any."""
        return self._sites.get(_key(UNKNOWN_SITE), -1)

    def counts(self, run: RunFile) -> Counts:
        """How often the run executed each site."""
        # First: it may add sites, and the table has a row for each.
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
        indexes = [self._raw_site_index(site, table) for site in unique.tolist()]
        return np.array(indexes, dtype=np.intp)[inverse]

    def _raw_site_index(self, raw: int, table: SiteTable) -> int:
        index = self._site_by_raw.get(raw)
        if index is None:
            site = table.site(raw)
            index = self._site_index(_key(site))
            # What is not known now may be learned from a later run.
            if raw < self._table.shared and site is not UNKNOWN_SITE:
                self._site_by_raw[raw] = index
        return index

    def _site_index(self, key: _SiteKey) -> int:
        return self._sites.setdefault(key, len(self._sites))

    def indexes(self, raw: npt.NDArray[np.uint32], run: RunFile) -> npt.NDArray[np.uint32]:
        """Maps raw points of a run to campaign-wide indexes."""
        unique, inverse = np.unique(raw, return_inverse=True)
        table = self._table.for_run(run)
        variables = table.variables(run)
        mapped = [self._index(point, table, variables) for point in unique.tolist()]
        return np.array(mapped, dtype=np.uint32)[inverse]

    def _index(self, raw: int, table: SiteTable, variables: Mapping[int, str]) -> int:
        index = self._by_raw.get(raw)
        variable = variables.get(site_of(raw), "")
        if index is None:
            index = self._learn(raw, table.site(site_of(raw)))
        if variable and not self._points[index].site.variable:
            point = self._points[index]
            site = replace(point.site, variable=variable)
            self._points[index] = Point(site, point.op)
        return index

    def _learn(self, raw: int, site: Site) -> int:
        op = op_of(raw)
        key = _key(site)
        index = self._by_identity.setdefault((key, int(op)), len(self._points))
        if index == len(self._points):
            self._points.append(Point(site, op))
            self._site_by_point.append(self._site_index(key))
            self._raws.append(set())
        # Above it the same id is other code in another run (docs/adr/0026).
        if site_of(raw) < self._table.shared:
            self._by_raw[raw] = index
            self._raws[index].add(raw)
        return index


def _late_codes(path: Path) -> list[Code]:
    """What runs have loaded by themselves so far; a line that is damaged is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(msgspec.json.decode(line, type=Code))
    return found


def _key(site: Site) -> _SiteKey:
    return (site.file, site.function, site.line, site.column, site.end_column, site.kind)


def _merged(edges: Edges) -> Edges:
    """Makes rows unique again: `finally` blocks are compiled twice, so two ids may be one point."""
    # lexsort() takes the least significant key first: the last row of each group is the latest.
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


def _is_initial(point: Point) -> bool:
    """Whether it gives an attribute to the object that its function makes."""
    owner, _, name = point.site.enclosing.rpartition(".")
    if point.op is not Op.WRITE or name != "__init__":
        return False
    made_by = owner.rpartition(".")[2]
    return owner.startswith(GENERATED) or point.site.variable.partition(".")[0] == made_by
