# SPDX-License-Identifier: Apache-2.0
"""The calls that a thread was between: steps of their own, where accesses are in other functions.

`return self.length` and `if self.length == 0` say nothing to each other; `while queue.size() > 0:`
and `page = queue.take()`, two lines of one function, do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.reports.names import class_of
from unsnarl.reports.patterns import ENTER, FAIL, MOST_STEPS, WAIT, contended, gives_back, is_data

Text = Callable[[str, int], str]


class CallFrame(NamedTuple):
    """A line of a function that was called, or that calls."""

    file: str
    line: int
    function: str


def with_calls(points: Sequence[FindingPoint], text: Text) -> list[FindingPoint]:
    """With the calls between which others came, each before the access that was made in it.

    The calls of who was interrupted come first, then those of who came in between. Where steps of
    their own would make an explanation too long, they share one with what was done in the call.
    """
    shown = _with_waits(points, text)
    failing = {_line(point) for point in points if point.op == FAIL}
    calls: dict[int, FindingPoint] = {}
    every = [_calls(shown, mine, text) for mine in _split(shown)]
    # Two calls of one function that others came between say more than where a class was entered.
    every.sort(key=lambda calls: len({_line(one) for one in calls.values()}) < 2)
    between = [calls for calls in every[:1] if len({_line(one) for one in calls.values()}) > 1]
    for wanted in (*between, _entries(shown, text), *every):
        for at, call in wanted.items():
            if at in calls:
                continue
            calls[at] = call
            if step_count(_joined(shown, calls)) <= MOST_STEPS:
                continue
            if _line(shown[at]) in failing:
                del calls[at]  # the line that fails is shown as it is
            else:
                shown = _within(shown, at)
    return _joined(shown, calls)


def _within(points: Sequence[FindingPoint], at: int) -> list[FindingPoint]:
    """With an access, and what follows it on its line, as part of the call before it."""
    same = takewhile(lambda one: _line(one) == _line(points[at]), points[at:])
    inside = [replace(one, within=True) for one in same]
    return [*points[:at], *inside, *points[at + len(inside) :]]


def _with_waits(points: Sequence[FindingPoint], text: Text) -> list[FindingPoint]:
    """Waits that give a lock back stand where the function that was interrupted calls them."""
    shown = list(points)
    for mine in _split(points):
        depth = _common([_frames(points[at]) for at in mine if is_data(points[at])])
        for at in mine:
            frames = _frames(points[at])
            if gives_back(points[at]) and 0 <= depth < len(frames) - 1:
                shown[at] = _lifted(points[at], frames[depth], frames[depth + 1].function, text)
    return shown


def _lifted(wait: FindingPoint, frame: CallFrame, callee: str, text: Text) -> FindingPoint:
    outer = [_parsed(one) for one in wait.stack].index(frame)
    return replace(
        wait,
        file=frame.file,
        line=frame.line,
        function=frame.function,
        text=text(frame.file, frame.line),
        stack=wait.stack[outer + 1 :],
        awaits=callee,
    )


def is_too_long(points: Sequence[FindingPoint], text: Text) -> bool:
    """Whether it is, with all calls."""
    points = _with_waits(points, text)
    calls = _entries(points, text)
    for mine in _split(points):
        calls = _calls(points, mine, text) | calls
    return step_count(_joined(points, calls)) > MOST_STEPS


def _joined(
    points: Sequence[FindingPoint], calls: Mapping[int, FindingPoint]
) -> list[FindingPoint]:
    return [one for at, point in enumerate(points) for one in (*_at(calls, at), point)]


def _at(calls: Mapping[int, FindingPoint], at: int) -> Iterator[FindingPoint]:
    if at in calls:
        yield calls[at]


def step_count(points: Iterable[FindingPoint]) -> int:
    """How many steps the points are: those that one thread passes on one line are one."""
    lines = [_line(one) for one in points if not (one.setup or one.within)]
    return sum(1 for _ in groupby(lines))


def _line(point: FindingPoint) -> tuple[str, str, int]:
    return point.thread, point.file, point.line


def _calls(
    points: Sequence[FindingPoint], mine: Sequence[int], text: Text
) -> dict[int, FindingPoint]:
    """The calls of one thread, by the index of the access that was made in each."""
    depth = _common([_frames(points[at]) for at in mine])
    calls: dict[int, FindingPoint] = {}
    before = None
    for at in mine:
        frames = _frames(points[at])
        frame = frames[depth] if 0 <= depth < len(frames) - 1 else None
        if frame is not None and frame != before:
            calls[at] = call_step(points[at], frame, frames[depth + 1].function, text)
        before = frame
    return calls


def _entries(points: Sequence[FindingPoint], text: Text) -> dict[int, FindingPoint]:
    """The lines from which threads came into the one class that all accesses are in.

    An object that is part of another one is not at fault if two threads are in it: whoever let them
    in is. Where threads use the object themselves, that is all they do, and goes without saying;
    where all came in on one line, it says nothing.
    """
    shared = set(contended(points))
    every = [at for mine in _split(points) for at in mine if points[at].variable in shared]
    classes = {class_of(points[at].function) for at in every}
    if len(classes) != 1 or "" in classes:
        return {}
    calls: dict[int, FindingPoint] = {}
    before: dict[str, CallFrame] = {}
    for at in sorted(every):
        frames, thread = _frames(points[at]), points[at].thread
        depth = _entry(frames)
        if depth < 1:
            return {}
        if before.get(thread) != frames[depth]:
            calls[at] = call_step(points[at], frames[depth], frames[depth + 1].function, text)
        before[thread] = frames[depth]
    return calls if len({(one.file, one.line) for one in calls.values()}) > 1 else {}


def _entry(frames: Sequence[CallFrame]) -> int:
    """How deep the innermost function of another class is; -1 if there is none."""
    inner = class_of(frames[-1].function) if frames else ""
    others = [at for at, frame in enumerate(frames) if class_of(frame.function) != inner]
    return max(others, default=-1)


def _split(points: Sequence[FindingPoint]) -> list[list[int]]:
    """The accesses of each thread, if there are two threads; of who was interrupted first."""
    data = [
        at
        for at, point in enumerate(points)
        if (is_data(point) or gives_back(point)) and not point.setup
    ]
    threads = dict.fromkeys(points[at].thread for at in data)
    every = [[at for at in data if points[at].thread == thread] for thread in threads]

    def is_whole(mine: Sequence[int]) -> bool:
        return len(mine) > data.index(mine[-1]) - data.index(mine[0])

    if any(point.op == WAIT for point in points):
        every = [mine for mine in every if not is_whole(mine)]  # a deadlock is its waits
    return sorted(every, key=is_whole) if len(threads) > 1 else []


def _common(stacks: Sequence[Sequence[CallFrame]]) -> int:
    """How deep the innermost function is that all are in, at whatever lines; -1 for none.

    On the same line throughout, they are rounds of one loop.
    """
    found = -1
    for depth, level in enumerate(zip(*stacks, strict=False)):
        if len({(frame.file, frame.function) for frame in level}) > 1:
            break
        found = depth
        if len({frame.line for frame in level}) > 1:
            break
    return found


def _frames(point: FindingPoint) -> list[CallFrame]:
    """The same, if the calls are known."""
    return own_frames(point) if point.stack else []


def own_frames(point: FindingPoint) -> list[CallFrame]:
    """The calls that led to an event, outermost first, and its own line."""
    outer = [_parsed(text) for text in reversed(point.stack)]
    # A comprehension has a frame of its own, on the line of its function.
    return list(dict.fromkeys([*outer, CallFrame(point.file, point.line, point.function)]))


def _parsed(text: str) -> CallFrame:
    where, _, function = text.partition(" in ")
    file, _, line = where.rpartition(":")
    return CallFrame(file, int(line) if line.isdigit() else 0, function)


def call_step(point: FindingPoint, frame: CallFrame, callee: str, text: Text) -> FindingPoint:
    """A step of its own for a call in which the event of a point happens."""
    return FindingPoint(
        file=frame.file,
        line=frame.line,
        function=frame.function,
        thread=point.thread,
        role=point.role,
        op=ENTER,
        variable="",
        region=point.region,
        confidence=point.confidence,
        value=callee,
        text=text(frame.file, frame.line),
        time=point.time,
    )
