# SPDX-License-Identifier: Apache-2.0
"""The lines of a finding as steps of one failing run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from unsnarl.analyses.answer import Line
from unsnarl.experiments.constraints import Rule, Timeline
from unsnarl.experiments.ground import Ground, Stacks, Step
from unsnarl.experiments.scene import Points
from unsnarl.model.run import Frame, Wait, in_cycle
from unsnarl.model.site import Op
from unsnarl.runfile import Interner, RunFile

MOST_ENDS = 50


class Part(NamedTuple):
    """One line: the step that it tells of, its thread's role, and all raw points of the line."""

    step: Step
    role: int
    points: Points


@dataclass(frozen=True)
class Story:
    """What happened in one failing run, as a finding tells it.

    Attributes:
        is_whole: Whether every line has its step.
        cycle: Who waited for whom, if the run ended in a deadlock.
        forcing: Rules that bring the steps about in this order, in these threads.
        stacks: The calls that led to the steps, as far as they are known.
        lock_names: The program's own names of locks, by their cells.
    """

    ground: Ground
    parts: tuple[Part, ...]
    is_whole: bool = True
    cycle: tuple[Wait, ...] = ()
    forcing: tuple[Rule, ...] = ()
    stacks: Stacks = field(default_factory=dict)
    lock_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def steps(self) -> list[Step]:
        """The steps, in the order of time."""
        return [part.step for part in self.parts]

    @property
    def quality(self) -> int:
        """How much of the finding is told; a deadlock tells itself."""
        return len(self.cycle) + _quality(self.parts)

    @property
    def returning(self) -> int | None:
        """The role that comes back after another one's step; None if it is an order of two."""
        for role in dict.fromkeys(part.role for part in self.parts):
            mine = [at for at, part in enumerate(self.parts) if part.role == role]
            if mine[-1] - mine[0] >= len(mine):
                return role
        return None

    def of(self, role: int) -> list[Part]:
        """The parts of one role."""
        return [part for part in self.parts if part.role == role]

    @property
    def roles(self) -> list[int]:
        """All roles, the one that comes back first."""
        known = dict.fromkeys(part.role for part in self.parts)
        return sorted(known, key=lambda role: role != self.returning)

    @property
    def lock(self) -> int | None:
        """The lock that should have been held: one that the others hold, and all if possible."""
        others = [part.step for part in self.parts if part.role != self.returning]
        held = [{cell for cell, _ in step.held} for step in others]
        common = set.intersection(*held) if held else set()
        mine = [cell for step in self.steps for cell, _ in step.held]
        return max(sorted(common), key=mine.count, default=None)


def tell(
    told: Sequence[Line],
    threads: Mapping[int, str],
    ground: Ground,
    interner: Interner,
    run: RunFile,
) -> Story:
    """Finds the lines of an answer in a run, the first one of the ground."""
    lines = [(line, _points(line, interner, ground)) for line in told]
    tellings = islice(_tellings(lines, threads, ground), MOST_ENDS)
    # Of equal ones the tightest: a loop's other turns are no part of it.
    parts = max(tellings, key=lambda parts: (_quality(parts), -_length(parts)), default=[])
    parts = list(reversed(parts))
    forcing = _forcing(parts, Timeline(run))
    return Story(ground, tuple(parts), len(parts) == len(lines), in_cycle(run.waits), forcing)


def _forcing(parts: Sequence[Part], timeline: Timeline) -> tuple[Rule, ...]:
    events = [timeline.events[part.step.at] for part in parts]
    turns = ((one, other) for one, other in pairwise(events) if one.path != other.path)
    return tuple(constraint.rule for constraint in timeline.constraints(turns))


def _length(parts: Sequence[Part]) -> int:
    return parts[0].step.at - parts[-1].step.at


def _quality(parts: Sequence[Part]) -> int:
    """How much is told: nothing without a second thread."""
    return len(parts) if len({part.role for part in parts}) > 1 else 0


def _points(line: Line, interner: Interner, ground: Ground) -> Points:
    """The raw points of a line: all sites of it with the same operation, and what stands for it."""
    places = interner.places()
    same = np.flatnonzero(places.line == places.line[line.point])
    raws = {raw for at in same for raw in interner.raw_points(int(at))}
    # A wait was never granted. What was done is to let go of the condition's lock.
    meant = {raw - Op.WAIT + Op.RELEASE for raw in raws if raw & 15 == Op.WAIT}
    # A call is told of before its work is done, between the library's own lock operations.
    for raw in raws:
        if raw & 15 == Op.CALL:
            meant.update(ground.points_at(ground.place(raw)))
    return tuple(sorted(raws | meant))


def _tellings(
    lines: Sequence[tuple[Line, Points]], threads: Mapping[int, str], ground: Ground
) -> Iterator[list[Part]]:
    """The lines from the last one back, each as late as possible."""
    if not lines:
        return
    last, points = lines[-1]
    for end in reversed(ground.steps):
        if end.point not in points or end.path != threads.get(last.anchor, end.path):
            continue
        known = {**threads, last.anchor: end.path}
        parts = [Part(end, last.role, points)]
        for line, earlier in reversed(lines[:-1]):
            step = _before(ground.steps[: parts[-1].step.at], earlier, line.anchor, known)
            if step is not None:
                known[line.anchor] = step.path
                parts.append(Part(step, line.role, earlier))
        yield parts


def _before(
    steps: Sequence[Step], points: Points, anchor: int, known: Mapping[int, str]
) -> Step | None:
    taken = {path for other, path in known.items() if other != anchor}
    for step in reversed(steps):
        if step.point not in points or step.path != known.get(anchor, step.path):
            continue
        if anchor in known or step.path not in taken:
            return step
    return None


# What a capture noted (probes/python/capture.py).

UNNAMED = "a lock"


def stacks_of(run: RunFile) -> Stacks:
    """The stacks, innermost call first, with the functions that a compiler has put into others."""
    return {key: tuple(Frame(*frame) for frame in noted[8]) for key, noted in _noted(run)}


def lock_names(run: RunFile, steps: Sequence[Step]) -> dict[int, str]:
    """The names of locks by their cells, which a capture does not know.

    A name goes to the cell that is held whenever the lock of that name is, and only then.
    """
    held = {(step.path, step.point, step.occurrence): step.held for step in steps}
    cells: Counter[int] = Counter()
    locks: Counter[int] = Counter()
    both: Counter[tuple[int, int]] = Counter()
    names: dict[int, str] = {}
    for key, noted in _noted(run):
        mine = {cell for cell, _ in held.get(key, ())}
        known = dict(zip((number for number, _ in noted[6]), noted[4], strict=True))
        names |= known
        cells.update(mine)
        locks.update(known.keys())
        both.update((cell, lock) for cell in mine for lock in known)
    return {
        cell: names[lock]
        for (cell, lock), count in both.items()
        if count == cells[cell] == locks[lock] and names[lock] != UNNAMED
    }


def _noted(run: RunFile) -> Iterator[tuple[tuple[str, int, int], Any]]:
    """The entries of a capture by thread, point and occurrence."""
    seen: Counter[tuple[str, int]] = Counter()
    for noted in run.notes.values:
        point, path = noted[1], noted[2]
        seen[path, point] += 1
        yield (path, point, seen[path, point]), noted
