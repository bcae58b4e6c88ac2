# SPDX-License-Identifier: Apache-2.0
"""From the lines of an answer to what the gate understands: points to watch, points to hold at.

Holding a thread at the access itself mostly does nothing: it sits inside a critical section that
the other thread needs. Every hold is lifted to the outermost acquire around the access (a prototype
measured it: with lifting, forbidding worked on 6 of 6 causes, without on 1). Where no lock is held,
the thread is held at the last point before the access at which the gate can switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.model.event import Op, op_of, site_of, with_op
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFile

Points = tuple[int, ...]
CodeRange = tuple[int, int]  # the site ids of a function: the first one, and the first one after it
NOWHERE = (0, 0)
# What a thread does when it begins to wait, and when it had not to.
BEGINS_WAIT = (Op.RELEASE, Op.ACQUIRE)


# A line of an answer that is a wait has two readings, on purpose.
#
# The wait was never granted, so no trace has it. What its thread tried is to acquire: a timeline
# appends these pending acquires, and experiments that force or forbid an order match them
# (`tried_points`). Read as a release, forcing the zoo's abba fails in 14 of 20 runs instead of 20:
# the lines that make the deadlock are not found.
# What its thread did is to release the condition's lock, and that is what a fix can wait for
# (`done_points`). For abba and lostnotify it makes no difference: their fixes are regions.


def tried_points(index: int, interner: Interner) -> Points:
    """The raw points of a line as its thread tries them: a wait is an attempt to acquire.

    Where it is for a socket, the thread comes to the gate as one that sleeps.
    """
    raws = _raw_points(index, interner)
    waits = {raw for raw in raws if _waits(raw)}
    tried = {with_op(raw, op) for raw in waits for op in (Op.ACQUIRE, Op.SLEEP)}
    return tuple(sorted((raws - waits) | tried))


def done_points(index: int, interner: Interner, call_points: Callable[[int], set[int]]) -> Points:
    """The raw points of a line as a trace shows them done: a wait has released its lock.

    A call is traced before its work is done, among the lock operations of the library, which are on
    the same line: `call_points` gives them, and they stand for the call.
    """
    raws = _raw_points(index, interner)
    released = {with_op(raw, Op.RELEASE) for raw in raws if _waits(raw)}
    inside = (call_points(raw) for raw in raws if op_of(raw) is Op.CALL)
    return tuple(sorted(raws.union(released, *inside)))


def _raw_points(index: int, interner: Interner) -> set[int]:
    """All sites of a line with the same operation."""
    lines = interner.point_table().line
    same = np.flatnonzero(lines == lines[index])
    return {raw for at in same for raw in interner.raw_points(int(at))}


def _code(index: int, interner: Interner) -> CodeRange:
    """The function that a line is written in, if it was seen to do something there itself."""
    lines = interner.point_table().line
    same = np.flatnonzero(lines == lines[index]).tolist()
    sites = {at: interner.point(at).site for at in same}
    own = [at for at in same if sites[at].function == sites[at].enclosing]
    raws = [raw for at in own or same for raw in interner.raw_points(at)]
    return interner.range_of(min(raws)) if raws else NOWHERE


def is_placeable(answer: Answer, interner: Interner) -> bool:
    """Whether runs other than those that it was seen in can be asked for all of its lines."""
    return all(_raw_points(line.point, interner) for line in answer.lines)


def _waits(point: int) -> bool:
    return op_of(point) is Op.WAIT


def is_lock_attempt(point: int) -> bool:
    """Whether a thread comes to the gate at the very point because it wants a lock there."""
    return op_of(point) in (Op.ACQUIRE, Op.WAIT)


@dataclass(frozen=True)
class LinePoints:
    """One line of an answer in terms of the gate.

    Attributes:
        points: The raw points of the line.
        holds: Where a thread must be stopped to come too late for it.
        role: Its thread.
        code: The function that has it.
        heads: Where a thread can last be switched before the access, locks or not.
        ends: What comes when the very access is done (a line may have others): a library does its
            work under its own lock.
        waits: Whether it is a wait that was never granted: what the same lock operation did before,
            and was granted, is something else.
    """

    points: Points
    holds: Points
    role: int
    code: CodeRange = NOWHERE
    heads: Points = ()
    ends: Points = ()
    waits: bool = False


class GateLines:
    """Turns the lines of answers into points of the gate, by what one traced run shows.

    `others` have further ways to an access, each with its own last switch point.
    """

    def __init__(self, run: RunFile, interner: Interner, others: Sequence[RunFile] = ()) -> None:
        self._interner = interner
        timeline = Timeline.of(run)
        self._around = outermost_acquires(timeline)
        self._switches = SwitchPoints([run], (run, *others), (run, *others))
        self._releases = _releases(timeline)

    def of(self, answer: Answer) -> list[LinePoints]:
        """The lines of an answer, in their order."""
        return [self._line(line.point, line.role) for line in answer.lines]

    def _line(self, index: int, role: int) -> LinePoints:
        points = tried_points(index, self._interner)
        heads = set().union(*map(self._switches.before, points))
        raws = self._interner.raw_points(index)
        return LinePoints(
            points,
            self.holds(points),
            role,
            _code(index, self._interner),
            tuple(sorted(heads)),
            self._ends(raws),
            any(map(_waits, raws)),
        )

    def holds(self, points: Iterable[int]) -> Points:
        """Where to stop a thread before any of these points."""
        found: set[int] = set()
        for point in points:
            around = self._around.get(point, set())
            if is_lock_attempt(point):
                found.add(point)  # never lift a lock operation that is the pattern itself
            else:
                found |= around - {0}
                # 0 means that it was also reached without a lock, and then no acquire can hold it.
                found |= self._switches.before(point) if 0 in (around or {0}) else set()
        return tuple(sorted(found))

    def _ends(self, points: Points) -> Points:
        """A call is traced before it is made; the library releases its lock when it is done.

        A wait for a signal begins when its lock is given back: whoever is to give the signal needs
        it, and must not be kept out by a region that ends with the wait.
        """
        done = {release for point in points for release in self._releases.get(point, ())}
        begun = {with_op(one, op) for one in points if _waits(one) for op in BEGINS_WAIT}
        return tuple(sorted(done | begun)) or points


class SwitchPoints:
    """Where the gate can last switch away from a thread before it comes to a point.

    Run files count this by site: the site itself, or the one at which the probe asked last.

    Args:
        traced: Runs whose traces name the points of sites,
        scheduled: and runs whose schedules do: a sleep is in no trace.
        counted: Runs whose counts say which site follows which.
    """

    def __init__(
        self,
        traced: Iterable[RunFile],
        scheduled: Iterable[RunFile],
        counted: Iterable[RunFile],
    ) -> None:
        met = {point for run in traced for point in np.unique(run.trace["point"]).tolist()}
        met |= {point for run in scheduled for point in np.unique(run.segments["point"]).tolist()}
        points: dict[int, set[int]] = {}
        for point in met:
            points.setdefault(site_of(point), set()).add(point)
        heads: dict[int, set[int]] = {}
        for run in counted:
            for site, head in _site_heads(run):
                heads.setdefault(site, set()).update(points.get(head, ()))
        self.met = frozenset(met)
        self._heads = heads

    def before(self, point: int) -> set[int]:
        """The last points before this one; itself if no run met it, or none is known."""
        found = self._heads.get(site_of(point)) if point in self.met else None
        return found or {point}


def _site_heads(run: RunFile) -> Iterator[tuple[int, int]]:
    """Which site follows which head; as one number each, since numpy sorts pairs slowly."""
    pairs = run.counts["site"].astype(np.uint64) << 32 | run.counts["head"]
    return ((pair >> 32, pair & 0xFFFFFFFF) for pair in np.unique(pairs).tolist())


def outermost_acquires(timeline: Timeline) -> Mapping[int, set[int]]:
    """By point: the points of the outermost acquires that were open there; 0 for none."""
    around: dict[int, set[int]] = {}
    for event in timeline.events:
        if event.site:
            taken = [one.point for one in timeline.around(event) if one.site]
            around.setdefault(event.point, set()).add(taken[0] if taken else 0)
    return around


def _releases(timeline: Timeline) -> Mapping[int, set[int]]:
    """By call of a library: the points at which it released its own locks."""
    found: dict[int, set[int]] = {}
    for event in timeline.events:
        call = timeline.meaning(event)
        if event.op is Op.RELEASE and call is not event:
            found.setdefault(call.point, set()).add(event.point)
    return found


def unrelated(run: RunFile, lines: Sequence[LinePoints], count: int) -> Points:
    """So many shared points that are on none of the lines, spread over the run: a control."""
    taken = {point for line in lines for point in (*line.points, *line.holds)}
    shared = set(run.shared.tolist())
    free = [
        int(point)
        for point in np.unique(run.trace["point"]).tolist()
        if site_of(point) in shared and point not in taken
    ]
    stride = max(1, len(free) // max(count, 1))
    return tuple(free[::stride][:count])
