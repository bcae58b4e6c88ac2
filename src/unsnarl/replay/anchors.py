# SPDX-License-Identifier: Apache-2.0
"""Anchored schedules: who runs until where, in terms that an unrelated edit does not touch.

A run file names sites and counts events; both are numbers of one process. An anchor names what a
person would: the function, the text of the line, what is done to which name there, and how often
this thread has done it. So a schedule can be followed in a new process, below a line that was
added, and by another version of Python.

    recorded                     stored                            in a new process
    segment: thread, point  -->  segment: the thread runs      --> the same, with the raw points
    (where it took up),          until it is about to do what      of that process, or a remark that
    occurrence                   its next segment begins with      the program has changed there

The constraints to which a failing run was minimised are kept in the same terms: they may still lead
to the failure where the whole schedule cannot be followed (constraints.py).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.constraint import Actor, Constraint
from unsnarl.model.event import Event, Op, op_of, point_of, site_of
from unsnarl.model.plan import AnchoredSegment
from unsnarl.model.python_names import plain_function, plain_name
from unsnarl.model.run import RunRecord, Switch
from unsnarl.model.sources import Sources
from unsnarl.runfile import RunFile, RunFileError, SiteTable
from unsnarl.runfile.codes import Code, CodesFile

VERSION = 1
TO_THE_END = -1
# Less alike than this, a line of the same function is another line.
ALIKE = 0.5

Fate = Literal["same", "moved", "changed", "gone"]


class Anchor(msgspec.Struct, frozen=True, array_like=True):
    """A line, and what is done there. Without a file: in code that starts or joins threads.

    `nth` distinguishes the lines of a function that have the same text, from 0 on. `shift` is how
    far behind the instruction that touches `name` it is: a call of a library may wait inside.
    """

    file: str
    function: str
    line: int
    text: str
    nth: int
    name: str
    op: int
    shift: int = 0

    @property
    def says(self) -> str:
        """For a message: `Queue.size, spider.py:31 [return self.qsize]`."""
        if not self.file:
            return f"the {Op(self.op).word} of a thread"
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.function}, {where} [{self.text}]"


class StoredSegment(msgspec.Struct, frozen=True, array_like=True):
    """The thread of `path` runs until it is for the `occurrence`-th time about to be at an anchor.

    `anchor` is an index into the schedule's anchors, or TO_THE_END.
    """

    path: str
    anchor: int
    occurrence: int


Actors = tuple[tuple[Actor, Actor], ...]


class AnchoredEvent(msgspec.Struct, frozen=True, array_like=True):
    """The `occurrence`-th time that the thread of `path` is at one site of an anchor.

    Segments count by anchors, but rules by sites: it is number `site` of the anchor's `sites`; -1
    if it is at an instruction that is none of them.
    """

    path: str
    anchor: int
    occurrence: int
    site: int
    sites: int


class AnchoredConstraint(msgspec.Struct, frozen=True, array_like=True):
    """A constraint: the thread of `hold` waits there, and so before `after`, for `before`."""

    before: AnchoredEvent
    hold: AnchoredEvent
    after: AnchoredEvent


class AnchoredSchedule(
    msgspec.Struct, frozen=True, rename={"anchors": "places", "segments": "steps"}
):
    """What is stored of a failing run, to be followed later; as JSON with the names of version 1.

    Attributes:
        constraints: The smallest set that makes the failure certain; empty if none was looked for.
        actors: By constraint, who does its earlier and its later event, if that is not always the
            thread of the event.
        forced: Where there is no such set: the order under which the failure came about in the
            experiment, if not every time.
    """

    version: int
    run: int
    signature: str
    switch: Switch
    seed: int
    python: str
    anchors: tuple[Anchor, ...]
    segments: tuple[StoredSegment, ...]
    constraints: tuple[AnchoredConstraint, ...] = ()
    actors: Actors | msgspec.UnsetType = msgspec.UNSET
    forced: tuple[AnchoredConstraint, ...] | msgspec.UnsetType = msgspec.UNSET


class Resolved(msgspec.Struct, frozen=True):
    """An anchor in the code of another process: its raw points, and what became of its line."""

    points: tuple[int, ...]
    fate: Fate


class Codes:
    """The sites of a process by file, function, line and name."""

    def __init__(
        self, codes: Iterable[Code], root: Path, overlay: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.root = root
        self.sources = Sources(root, dict(overlay))
        self._sites: dict[tuple[str, str, int, str], list[int]] = defaultdict(list)
        self._lines: dict[tuple[str, str], set[int]] = defaultdict(set)
        for code in codes:
            self._add(code)

    @classmethod
    def load(
        cls,
        path: Path,
        root: Path,
        late: Sequence[Code] = (),
        overlay: Iterable[tuple[str, str]] = (),
    ) -> Codes:
        """From codes.json; `late` is what a run loaded after it was written.

        `overlay` are the files that are run in the stead of others (execution/target.py).
        """
        try:
            content = msgspec.json.decode(path.read_bytes(), type=CodesFile)
        except (OSError, ValueError) as error:
            raise RunFileError(path, f"is no list of codes: {error}") from error
        return cls((*content.codes, *late), root, overlay)

    def _add(self, code: Code) -> None:
        own = self._function(code.file, code.function)
        self._lines[own].add(code.line)
        for entry in code.sites:
            # Only what a C compiler has put in from elsewhere is of another function.
            where = own
            if entry.file or entry.function:
                where = self._function(entry.file or code.file, entry.function or code.function)
            line = code.line if entry.line is None else entry.line
            self._lines[where].add(line)
            name = plain_name(entry.name or "")
            self._sites[*where, line, name].append(code.base + entry.offset)

    def _function(self, file: str, function: str) -> tuple[str, str]:
        return _relative(file, self.root), plain_function(function)

    def file_like(self, file: str) -> str:
        """The file of this name: relative to the project, or where packages are installed."""
        files = sorted({name for name, _ in self._lines})
        if file in files:
            return file
        return next((name for name in files if name.endswith("/" + file)), file)

    def knows(self, file: str, function: str) -> bool:
        """Whether there is such a function."""
        return (file, function) in self._lines

    def sites(self, file: str, function: str, line: int, name: str) -> list[int]:
        """The raw sites of a line that touch this name."""
        return self._sites.get((file, function, line, name), [])

    def lines(self, file: str, function: str, name: str) -> list[int]:
        """The lines of a function that touch this name."""
        lines = sorted(self._lines.get((file, function), ()))
        return [line for line in lines if (file, function, line, name) in self._sites]

    def text(self, file: str, line: int) -> str:
        """The source text of a line."""
        return self.sources.line(file, line)

    def has_text(self, file: str, function: str, text: str) -> bool:
        """Whether the function still has a line with this text."""
        lines = sorted(self._lines.get((file, function), ()))
        if not lines:
            return False
        return any(self.text(file, n) == text for n in range(lines[0], lines[-1] + 1))


class Anchorer:
    """Turns the schedules of one campaign's runs into anchored ones."""

    def __init__(self, codes: Path, root: Path, python: str) -> None:
        self._table = SiteTable.load(codes, root)
        self._path = codes
        self._root = root
        self._python = python
        self._codes = Codes.load(codes, root)
        self._with_late: dict[tuple[int, ...], Codes] = {}
        # Most runs stop at the same points, which mean the same in all that share a list of codes.
        self._anchors: dict[Codes, dict[int, Anchor]] = {}

    def schedule(
        self,
        record: RunRecord,
        run: RunFile,
        constraints: Sequence[Constraint] = (),
        forced: Sequence[Constraint] = (),
    ) -> AnchoredSchedule:
        """The anchored schedule of a run whose code is as it was then."""
        codes = self._codes_of(run)
        found = _Anchors(self._table.for_run(run), codes, self._anchors.setdefault(codes, {}))
        segments = found.segments(run)
        kept = [found.constraint(one) for one in constraints]
        likely = tuple(found.constraint(one) for one in forced)
        return AnchoredSchedule(
            version=VERSION,
            run=record.number,
            signature=record.signature,
            switch=record.switch,
            seed=record.seed,
            python=self._python,
            anchors=tuple(found.indexes),
            segments=segments,
            constraints=tuple(kept),
            actors=_actors(constraints) or msgspec.UNSET,
            forced=likely or msgspec.UNSET,
        )

    def _codes_of(self, run: RunFile) -> Codes:
        """The campaign's list, with what the run loaded late; runs that loaded the same share one.

        Ids beyond those that runs agree on mean something else in another run.
        """
        if not run.codes:
            return self._codes
        late = tuple(code.base for code in run.codes)
        if max(late) >= self._table.shared:
            return Codes.load(self._path, self._root, run.codes)
        if late not in self._with_late:
            self._with_late[late] = Codes.load(self._path, self._root, run.codes)
        return self._with_late[late]


def _actors(constraints: Sequence[Constraint]) -> Actors:
    """Who does the earlier and the later event of each; empty where that is always one thread."""
    pairs = ((Actor(one.before.path), Actor(one.hold.path)) for one in constraints)
    cast = tuple(one.actors or by_name for one, by_name in zip(constraints, pairs, strict=True))
    return cast if any(one.actors for one in constraints) else ()


class _Anchors:
    """Gives indexes to the anchors of one schedule, as they are met."""

    def __init__(self, table: SiteTable, codes: Codes, met: dict[int, Anchor]) -> None:
        """`met` are the anchors of points that were met before."""
        self._table = table
        self._codes = codes
        self._by_point = met
        self.indexes: dict[Anchor, int] = {}

    def _anchor(self, point: int) -> Anchor:
        if point not in self._by_point:
            self._by_point[point] = _anchor(point, self._table, self._codes)
        anchor = self._by_point[point]
        self.indexes.setdefault(anchor, len(self.indexes))
        return anchor

    def segments(self, run: RunFile) -> tuple[StoredSegment, ...]:
        """The segments of a run, anchored; in columns, since there may be a million."""
        kept, stops = with_stops(run.segments)
        ends = stops < 0
        points, first, which = np.unique(
            run.segments["point"][stops[~ends]], return_index=True, return_inverse=True
        )
        anchors = np.zeros(len(points), dtype=np.int64)
        for at in np.argsort(first).tolist():
            anchors[at] = self.indexes[self._anchor(int(points[at]))]
        stored, occurrences = np.full(len(kept), TO_THE_END), np.zeros(len(kept), dtype=np.int64)
        stored[~ends] = anchors[which]
        occurrences[~ends] = run.segments["occurrence"][stops[~ends]]
        paths = [thread.path for thread in run.threads]
        who = (paths[thread] for thread in run.segments["thread"][kept].tolist())
        return tuple(map(StoredSegment, who, stored.tolist(), occurrences.tolist()))

    def constraint(self, constraint: Constraint) -> AnchoredConstraint:
        """A constraint, anchored."""
        before, after, hold = (self._event(event) for event in constraint.events)
        return AnchoredConstraint(before, hold, after)

    def _event(self, event: Event) -> AnchoredEvent:
        anchor = self._anchor(event.point)
        sites = sorted(self._codes.sites(anchor.file, anchor.function, anchor.line, anchor.name))
        listed = event.site - anchor.shift
        site = sites.index(listed) if listed in sites else -1
        return AnchoredEvent(event.path, self.indexes[anchor], event.occurrence, site, len(sites))


def with_stops(segments: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indexes of the segments in which something is done, and of their threads' next ones.

    -1 stands for none.
    """
    order = np.argsort(segments["thread"], kind="stable")
    threads, until = segments["thread"][order], segments["until"][order].astype(np.int64)
    goes_on = np.flatnonzero(threads[1:] == threads[:-1])
    following = np.full(len(order), -1, dtype=np.intp)
    following[order[goes_on]] = order[goes_on + 1]
    reached = np.where(threads == 0, -1, 0)  # the first thread does not begin at the gate
    reached[goes_on + 1] = until[goes_on]
    kept = np.sort(order[until > reached])
    return kept, following[kept]


def _anchor(point: int, table: SiteTable, codes: Codes) -> Anchor:
    op = op_of(point)
    if not site_of(point):
        return Anchor("", "", 0, "", 0, "", op)
    site, shift = table.nearest(site_of(point))
    function = plain_function(site.function)
    text, name = codes.text(site.file, site.line), plain_name(site.name)
    same = [n for n in codes.lines(site.file, function, name) if n < site.line]
    nth = sum(codes.text(site.file, n) == text for n in same)
    return Anchor(site.file, function, site.line, text, nth, name, op, shift)


def resolve(anchor: Anchor, codes: Codes) -> Resolved:
    """The raw points of an anchor in the code as it is now."""
    if not anchor.file:
        return Resolved((anchor.op,), "same")
    lines = codes.lines(anchor.file, anchor.function, anchor.name)
    same = [n for n in lines if codes.text(anchor.file, n) == anchor.text]
    if same:
        # One of several equal lines may have been removed since.
        line = same[min(anchor.nth, len(same) - 1)]
        return Resolved(_points(anchor, line, codes), "same")
    # Another version of Python may give a part of a long statement to another of its lines.
    still = codes.has_text(anchor.file, anchor.function, anchor.text)
    line = _most_alike(anchor, lines, codes)
    if not line:
        return Resolved((), "gone")
    return Resolved(_points(anchor, line, codes), "moved" if still else "changed")


def _points(anchor: Anchor, line: int, codes: Codes) -> tuple[int, ...]:
    sites = codes.sites(anchor.file, anchor.function, line, anchor.name)
    return tuple(sorted(point_of(site + anchor.shift, Op(anchor.op)) for site in sites))


def _most_alike(anchor: Anchor, lines: Sequence[int], codes: Codes) -> int:
    """The line of the function that is most like the anchor's, 0 if none is."""
    likeness = {
        line: difflib.SequenceMatcher(None, anchor.text, codes.text(anchor.file, line)).ratio()
        for line in lines
    }
    best = max(lines, key=lambda n: (likeness[n], -abs(n - anchor.line)), default=0)
    return best if best and likeness[best] >= ALIKE else 0


def plan_of(
    schedule: AnchoredSchedule, resolved: Mapping[int, Resolved], looseness: int = 0
) -> tuple[list[AnchoredSegment], list[int]]:
    """The segments for the gate, and for each of them the index of the stored one.

    A segment whose anchor is gone is left out: anchors are absolute, so its thread catches up in
    its next one. A loose plan leaves out where threads wait inside of libraries, which differ from
    one version of Python to the next: 1, where threads are started and ended; 2, in any call.
    """
    rows: list[AnchoredSegment] = []
    numbers = []
    for number, one in enumerate(schedule.segments):
        if one.anchor == TO_THE_END:
            rows.append((one.path, [], 0))
        elif resolved[one.anchor].points and not _is_free(schedule.anchors[one.anchor], looseness):
            anchor = schedule.anchors[one.anchor]
            occurrence = 0 if anchor.op == Op.BEGIN else one.occurrence
            rows.append((one.path, list(resolved[one.anchor].points), occurrence))
        else:
            continue
        numbers.append(number)
    return rows, numbers


def _is_free(anchor: Anchor, looseness: int) -> bool:
    """Whether a plan that is so loose leaves an anchor out."""
    if not looseness or anchor.op not in (Op.ACQUIRE, Op.JOIN):
        return False
    # The target's own lock, as far as the text shows.
    own = "with " in anchor.text or ".acquire(" in anchor.text
    return not anchor.file or (looseness > 1 and not own)


@lru_cache(maxsize=4096)
def _relative(file: str, root: Path) -> str:
    path = PurePath(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file
