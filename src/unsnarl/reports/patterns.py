# SPDX-License-Identifier: Apache-2.0
"""The shape of a finding: which of its points make the bug, and what kind of bug that is.

Recon does not classify; people want a word all the same. The points stand in time order, so the
word follows from who touched what between whose accesses: Falcon's table 2 (unserialisable triples)
for one variable, its natural extension for two, else the pair of source and sink alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations
from typing import Literal

from unsnarl.model.report import FindingKind, FindingPoint
from unsnarl.placement.set_anew import SETTING

CLOSE = re.compile(
    r"\.?_?(close|shutdown|stop|terminate|dispose|free|delete|destroy|disconnect|release|exit)",
    re.IGNORECASE,
)
MOST_STEPS = 8  # of an explanation
FAIL = "fail"
WAIT = "wait"
JOIN = "join"
TIMEOUT = "timeout"  # the time limit of a wait ran out
ENTER = "enter"  # the call in which the next access of the thread is made
NO_EVENTS = (FAIL, TIMEOUT, ENTER)
ACQUIRE = "acquire"
RELEASE = "release"
CALL = "call"
WRITES = ("write", CALL)
SYNC = ("acquire", "release", "wait", "start", "begin", "end", "join", "sleep")
WAITS = re.compile(r"\bwait\w*\(|\bpthread_cond_\w*wait\(")
# local, remote, local: no serial order of the two threads gives the same reads (Falcon, table 2).
UNSERIALISABLE = ("RWR", "WWR", "WRW", "RWW", "WWW")


def is_data(point: FindingPoint) -> bool:
    """Whether the point reads or writes data, as opposed to locks and threads."""
    return point.op == "read" or point.op in WRITES


def gives_back(point: FindingPoint) -> bool:
    """Whether it is a wait in which a thread gives a lock back, or the call of what waits."""
    return point.op == RELEASE and bool(point.awaits or WAITS.search(point.text))


def core(points: Sequence[FindingPoint]) -> tuple[int, ...]:
    """The indexes of the points that make the bug, in time order: a cycle, a pattern, a pair."""
    return _blocked(points) or _interleaved(points) or ends(points)


def _blocked(points: Sequence[FindingPoint]) -> tuple[int, ...]:
    """The waits that do not end, and where the threads took what others of them wait for."""
    if not any(point.op == WAIT for point in points):
        return ()
    return tuple(i for i, point in enumerate(points) if point.op in (WAIT, ACQUIRE))


def contended(points: Sequence[FindingPoint]) -> list[str]:
    """The variables that two threads touch, one of them writing, in the order of appearance."""
    pairs = combinations(range(len(points)), 2)
    return [
        points[one].variable
        for one, other in pairs
        if is_data(points[one])
        and is_data(points[other])
        and points[one].thread != points[other].thread
        and whole(points[one].variable) == whole(points[other].variable) != ""
        and "W" in (mode(points[one]), mode(points[other]))
    ]


def whole(variable: str) -> str:
    """The container of an element: of `Cache.entries[key]` the entries."""
    return variable.partition("[")[0]


def ends(points: Sequence[FindingPoint]) -> tuple[int, ...]:
    """The indexes of source and sink."""
    return tuple(i for i, point in enumerate(points) if point.region in ("source", "sink"))


def classify(points: Sequence[FindingPoint], *, racing: bool = False) -> FindingKind:
    """The kind of a finding; `racing` says that nothing orders its source and its sink."""
    if any(point.op == WAIT for point in points):
        return "deadlock"
    if _interleaved(points):
        return "atomicity"
    pair = [points[i] for i in ends(points)]
    if len({point.thread for point in pair}) < 2:
        return "other"
    if racing and all(is_data(point) for point in pair):
        return "race"
    return "order" if any(point.op != "read" for point in pair) else "other"


def _interleaved(points: Sequence[FindingPoint]) -> tuple[int, ...]:
    """The tightest broken atomicity around the edge, on one variable before two."""
    edge = set(ends(points))
    for search in (_triples, _quadruples):
        found = [pick for pick in search(points) if len(edge) == 2 and edge <= set(pick)]
        if found:
            return min(found, key=lambda pick: (pick[-1] - pick[0], pick))
    return ()


def conflicts(points: Sequence[FindingPoint]) -> list[tuple[int, ...]]:
    """Every broken atomicity among some points, wherever source and sink are."""
    return [*chain(_triples(points), _quadruples(points))]


def _triples(points: Sequence[FindingPoint]) -> Iterator[tuple[int, ...]]:
    for first, last in _local_pairs(points):
        if points[first].variable != points[last].variable:
            continue
        for middle in _remote(points, first, last):
            modes = "".join(mode(points[i]) for i in (first, middle, last))
            if points[middle].variable == points[first].variable and modes in UNSERIALISABLE:
                yield first, middle, last


def _quadruples(points: Sequence[FindingPoint]) -> Iterator[tuple[int, ...]]:
    """One thread touches x, then y; between, another touches both, in conflict with each.

    Any exchange back and forth has that form; only within one function, or in what it calls, does
    it count as intended.
    """
    for first, last in _local_pairs(points):
        within = is_within(points[first], points[last])
        if points[first].variable == points[last].variable or not within:
            continue
        remote = _remote(points, first, last)
        for one, other in combinations(remote, 2):
            if points[one].thread == points[other].thread and (
                (_conflict(points, first, one) and _conflict(points, last, other))
                or (_conflict(points, first, other) and _conflict(points, last, one))
            ):
                yield first, one, other, last


def overlaps(points: Sequence[FindingPoint]) -> Iterator[tuple[int, ...]]:
    """One thread touches x, then y, another one y, then x: each before the other is done.

    The accesses are in the order of time; each thread's two belong to one function.
    """
    pairs = [
        (one, other)
        for one, other in _local_pairs(points)
        if points[one].variable != points[other].variable and is_within(points[one], points[other])
    ]
    for (first, last), (begin, end) in permutations(pairs, 2):
        overlap = first < begin < last < end and points[first].thread != points[begin].thread
        if overlap and _conflict(points, first, end) and _conflict(points, begin, last):
            yield first, begin, last, end


def is_within(one: FindingPoint, other: FindingPoint) -> bool:
    """Whether one function has both accesses of a thread, itself or in what it calls there."""
    if one.function == other.function:
        return True
    return _is_called_by(one, other) or _is_called_by(other, one)


def _is_called_by(inner: FindingPoint, outer: FindingPoint) -> bool:
    return any(frame.endswith(f" in {outer.function}") for frame in inner.stack)


def _local_pairs(points: Sequence[FindingPoint]) -> Iterator[tuple[int, int]]:
    data = [i for i, point in enumerate(points) if is_data(point) and point.variable]
    for first, last in combinations(data, 2):
        if points[first].thread == points[last].thread and last - first > 1:
            yield first, last


def _remote(points: Sequence[FindingPoint], first: int, last: int) -> list[int]:
    thread = points[first].thread
    between = range(first + 1, last)
    return [i for i in between if is_data(points[i]) and points[i].thread != thread]


def _conflict(points: Sequence[FindingPoint], one: int, other: int) -> bool:
    same = points[one].variable == points[other].variable
    return same and "W" in (mode(points[one]), mode(points[other]))


def closes(point: FindingPoint) -> bool:
    """Whether an access ends the use of what it touches."""
    if signals(point):
        return False  # a flag that is down can go up again
    last = point.function.rpartition(".")[2]
    named = CLOSE.match(last) or CLOSE.search(point.text)
    return mode(point) == "W" and (bool(named) or point.text.startswith("del "))


def signals(point: FindingPoint) -> bool:
    """Whether it sets an event, or clears it; of a container, clear() is no call but a write."""
    return point.op == CALL and point.part in (".set()", ".clear()")


def sets(point: FindingPoint) -> bool:
    """Whether a call sets the state of its object, whatever that was before."""
    return point.op == CALL and point.part[1:-2] in SETTING


def mode(point: FindingPoint) -> Literal["R", "W"]:
    """Whether an access reads or writes."""
    # A call into a library may change its object, so it counts as a write.
    return "R" if point.op == "read" else "W"
