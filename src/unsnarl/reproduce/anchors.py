# SPDX-License-Identifier: Apache-2.0
"""Anchored schedules: who runs until where, in terms that an unrelated edit does not touch.

A run file names sites and counts events; both are numbers of one process. An anchor names what a
person would: the function, the text of the line, what is done to which name there, and for the
which time this thread does it. So a schedule can be followed in a new process, below a line that
was added, and by another version of Python.

    recorded                     anchored                        in a new process
    segment: thread, point  -->  step: thread runs until it  --> the same, with the raw points
    (where it took up),          is about to do what its         of that process, or a remark that
    occurrence                   next segment begins with        the program has changed there

The constraints to which a failing run was minimised are kept in the same terms: they may still lead
to the failure where the whole schedule cannot be followed (constraints.py).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec

from unsnarl.experiments.constraints import Constraint, Event
from unsnarl.model.run import RunRecord, Segment, Switch
from unsnarl.model.site import Op
from unsnarl.probes.python.places import plain_function, plain_name
from unsnarl.reports.source import Sources
from unsnarl.runfile import RunFile, RunFileError, SiteTable
from unsnarl.runfile.codes import Code, CodesFile

VERSION = 1
TO_THE_END = -1
# Less alike than this, a line of the same function is another line.
ALIKE = 0.5

Fate = Literal["same", "moved", "changed", "gone"]


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where something is done. Without a file: in code that starts or joins threads.

    `nth` tells apart the lines of a function that have the same text, from 0 on.
    """

    file: str
    function: str
    line: int
    text: str
    nth: int
    name: str
    op: int

    @property
    def says(self) -> str:
        """For a message: `Queue.size, spider.py:31 [return self.qsize]`."""
        if not self.file:
            return f"the {Op(self.op).word} of a thread"
        return f"{self.function}, {self.file}:{self.line} [{self.text}]"


class Step(msgspec.Struct, frozen=True, array_like=True):
    """The thread of `path` runs until it is for the `occurrence`-th time about to be at a place.

    `place` is an index into the schedule's places, or TO_THE_END.
    """

    path: str
    place: int
    occurrence: int


class AnchoredEvent(msgspec.Struct, frozen=True, array_like=True):
    """The `occurrence`-th time that the thread of `path` is at one site of a place.

    Steps count by places, but rules by sites: it is number `site` of the place's `sites`; -1 if it
    is at an instruction that is none of them.
    """

    path: str
    place: int
    occurrence: int
    site: int
    sites: int


class AnchoredOrder(msgspec.Struct, frozen=True, array_like=True):
    """A constraint: the thread of `hold` waits there, and so before `after`, for `before`."""

    before: AnchoredEvent
    hold: AnchoredEvent
    after: AnchoredEvent


class AnchoredSchedule(msgspec.Struct, frozen=True):
    """What is kept of a failing run, to follow it again.

    Attributes:
        constraints: The smallest set that makes the failure certain; empty if none was looked for.
    """

    version: int
    run: int
    signature: str
    switch: Switch
    seed: int
    python: str
    places: tuple[Place, ...]
    steps: tuple[Step, ...]
    constraints: tuple[AnchoredOrder, ...] = ()


class Resolved(msgspec.Struct, frozen=True):
    """A place in the code of another process: its raw points, and what became of its line."""

    points: tuple[int, ...]
    fate: Fate


class Codes:
    """The sites of a process by file, function, line and name."""

    def __init__(self, codes: Iterable[Code], root: Path) -> None:
        self.root = root
        self.sources = Sources(root)
        self._sites: dict[tuple[str, str, int, str], list[int]] = defaultdict(list)
        self._lines: dict[tuple[str, str], set[int]] = defaultdict(set)
        for code in codes:
            self._add(code)

    @classmethod
    def load(cls, path: Path, root: Path, late: Sequence[Code] = ()) -> Codes:
        """From codes.json; `late` is what a run loaded after it was written."""
        try:
            content = msgspec.json.decode(path.read_bytes(), type=CodesFile)
        except (OSError, ValueError) as error:
            raise RunFileError(path, f"is no list of codes: {error}") from error
        return cls((*content.codes, *late), root)

    def _add(self, code: Code) -> None:
        file, function = _relative(code.file, self.root), plain_function(code.function)
        self._lines[file, function].add(code.line)
        for entry in code.sites:
            file = _relative(entry.file or code.file, self.root)
            function = plain_function(entry.function or code.function)
            line = code.line if entry.line is None else entry.line
            self._lines[file, function].add(line)
            name = plain_name(entry.name or "")
            self._sites[file, function, line, name].append(code.base + entry.offset)

    def knows(self, file: str, function: str) -> bool:
        """Whether there is such a function."""
        return (file, function) in self._lines

    def sites(self, file: str, function: str, line: int, name: str) -> list[int]:
        """The raw sites of a line that touch this name."""
        return self._sites.get((file, function, line, name), [])

    def lines(self, file: str, function: str, name: str) -> list[int]:
        """The lines of a function that touch this name."""
        known = sorted(self._lines.get((file, function), ()))
        return [line for line in known if (file, function, line, name) in self._sites]

    def text(self, file: str, line: int) -> str:
        """The source text of a line."""
        return self.sources.line(file, line)

    def has_text(self, file: str, function: str, text: str) -> bool:
        """Whether the function still has a line with this text."""
        known = sorted(self._lines.get((file, function), ()))
        if not known:
            return False
        return any(self.text(file, n) == text for n in range(known[0], known[-1] + 1))


class Anchorer:
    """Turns the schedules of one campaign's runs into anchored ones."""

    def __init__(self, codes: Path, root: Path, python: str) -> None:
        self._table = SiteTable.load(codes, root)
        self._path = codes
        self._root = root
        self._python = python
        self._codes = Codes.load(codes, root)

    def schedule(
        self, record: RunRecord, run: RunFile, constraints: Sequence[Constraint] = ()
    ) -> AnchoredSchedule:
        """The anchored schedule of a run whose code is as it was then."""
        codes = Codes.load(self._path, self._root, run.codes) if run.codes else self._codes
        numbers = _Numbers(self._table.for_run(run), codes)
        steps = [numbers.step(segment, stop) for segment, stop in with_stops(run.schedule)]
        kept = [numbers.order(one) for one in constraints]
        return AnchoredSchedule(
            version=VERSION,
            run=record.number,
            signature=record.signature,
            switch=record.switch,
            seed=record.seed,
            python=self._python,
            places=tuple(numbers.places),
            steps=tuple(steps),
            constraints=tuple(kept),
        )


class _Numbers:
    """Gives numbers to the places of one schedule, as they are met."""

    def __init__(self, table: SiteTable, codes: Codes) -> None:
        self._table = table
        self._codes = codes
        self._known: dict[int, Place] = {}
        self.places: dict[Place, int] = {}

    def _place(self, point: int) -> Place:
        if point not in self._known:
            self._known[point] = _place(point, self._table, self._codes)
        place = self._known[point]
        self.places.setdefault(place, len(self.places))
        return place

    def step(self, segment: Segment, stop: Segment | None) -> Step:
        """The step that a segment becomes."""
        if stop is None:
            return Step(segment.path, TO_THE_END, 0)
        return Step(segment.path, self.places[self._place(stop.point)], stop.occurrence)

    def order(self, constraint: Constraint) -> AnchoredOrder:
        """A constraint, anchored."""
        before, after, hold = (self._event(event) for event in constraint)
        return AnchoredOrder(before, hold, after)

    def _event(self, event: Event) -> AnchoredEvent:
        place = self._place(event.point)
        sites = sorted(self._codes.sites(place.file, place.function, place.line, place.name))
        site = sites.index(event.site) if event.site in sites else -1
        return AnchoredEvent(event.path, self.places[place], event.occurrence, site, len(sites))


def with_stops(schedule: Sequence[Segment]) -> list[tuple[Segment, Segment | None]]:
    """Every segment in which something is done, with its thread's next one."""
    following: dict[str, Segment] = {}
    stops: list[Segment | None] = []
    for segment in reversed(schedule):
        stops.append(following.get(segment.path))
        following[segment.path] = segment
    reached = {"0": -1}  # the first thread does not begin at the gate
    found = []
    for segment, stop in zip(schedule, reversed(stops), strict=True):
        if segment.until > reached.get(segment.path, 0):
            found.append((segment, stop))
        reached[segment.path] = segment.until
    return found


def _place(point: int, table: SiteTable, codes: Codes) -> Place:
    op = Op(point & 15)
    if not point >> 4:
        return Place("", "", 0, "", 0, "", op)
    site = table.site(point >> 4)
    function = plain_function(site.function)
    text, name = codes.text(site.file, site.line), plain_name(site.name)
    same = [n for n in codes.lines(site.file, function, name) if n < site.line]
    nth = sum(codes.text(site.file, n) == text for n in same)
    return Place(site.file, function, site.line, text, nth, name, op)


def resolve(place: Place, codes: Codes) -> Resolved:
    """The raw points of a place in the code as it is now."""
    if not place.file:
        return Resolved((place.op,), "same")
    lines = codes.lines(place.file, place.function, place.name)
    same = [n for n in lines if codes.text(place.file, n) == place.text]
    if same:
        line = same[min(place.nth, len(same) - 1)]
        return Resolved(_points(place, line, codes), "same")
    # Another version of Python may give a part of a long statement to another of its lines.
    still = codes.has_text(place.file, place.function, place.text)
    line = _most_alike(place, lines, codes)
    if not line:
        return Resolved((), "gone")
    return Resolved(_points(place, line, codes), "moved" if still else "changed")


def _points(place: Place, line: int, codes: Codes) -> tuple[int, ...]:
    sites = codes.sites(place.file, place.function, line, place.name)
    return tuple(sorted(site << 4 | place.op for site in sites))


def _most_alike(place: Place, lines: Sequence[int], codes: Codes) -> int:
    """The line of the function that is most like the place's, 0 if none is."""
    likeness = {
        line: difflib.SequenceMatcher(None, place.text, codes.text(place.file, line)).ratio()
        for line in lines
    }
    best = max(lines, key=lambda n: (likeness[n], -abs(n - place.line)), default=0)
    return best if best and likeness[best] >= ALIKE else 0


def plan_of(
    schedule: AnchoredSchedule, resolved: Mapping[int, Resolved], looseness: int = 0
) -> tuple[list[list[Any]], list[int]]:
    """What the gate is told, and for each of its segments the step that it is of.

    A step whose place is gone is left out: anchors are absolute, so its thread catches up in its
    next step. A loose plan leaves out where threads wait inside of libraries, which differ from one
    version of Python to the next: 1, where threads are started and ended; 2, in any call.
    """
    rows: list[list[Any]] = []
    steps = []
    for number, step in enumerate(schedule.steps):
        if step.place == TO_THE_END:
            rows.append([step.path, [], 0])
        elif resolved[step.place].points and not _is_free(schedule.places[step.place], looseness):
            place = schedule.places[step.place]
            occurrence = 0 if place.op == Op.BEGIN else step.occurrence
            rows.append([step.path, list(resolved[step.place].points), occurrence])
        else:
            continue
        steps.append(number)
    return rows, steps


def _is_free(place: Place, looseness: int) -> bool:
    """Whether a plan that is so loose leaves a place out."""
    if not looseness or place.op not in (Op.ACQUIRE, Op.JOIN):
        return False
    # The target's own lock, as far as the text tells.
    own = "with " in place.text or ".acquire(" in place.text
    return not place.file or (looseness > 1 and not own)


def _relative(file: str, root: Path) -> str:
    path = PurePath(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file
