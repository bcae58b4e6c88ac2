# SPDX-License-Identifier: Apache-2.0
"""The calls that a thread was between: steps of their own, where accesses are in other functions.

`return self.length` and `if self.length == 0` say nothing to each other; `while queue.size() > 0:`
and `page = queue.take()`, two lines of one function, do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import ENTER, is_data

# An explanation of more steps than this is not made longer.
MOST_POINTS = 9
Text = Callable[[str, int], str]


class CallFrame(NamedTuple):
    """A line of a function that was called, or that calls."""

    file: str
    line: int
    function: str


def with_calls(points: Sequence[FindingPoint], text: Text) -> list[FindingPoint]:
    """With the calls between which others came, each before the access that was made in it."""
    calls: dict[int, FindingPoint] = {}
    for mine in _torn(points):
        depth = _common([_frames(points[at]) for at in mine])
        before = None
        for at in mine:
            frames = _frames(points[at])
            frame = frames[depth] if 0 <= depth < len(frames) - 1 else None
            if frame is not None and frame != before:
                calls[at] = call_step(points[at], frame, frames[depth + 1].function, text)
            before = frame
    if len(points) + len(calls) > MOST_POINTS:
        return list(points)
    return [one for at, point in enumerate(points) for one in (*_at(calls, at), point)]


def _at(calls: dict[int, FindingPoint], at: int) -> Iterator[FindingPoint]:
    if at in calls:
        yield calls[at]


def _torn(points: Sequence[FindingPoint]) -> Iterator[list[int]]:
    """The accesses of each thread that has another one's in between."""
    data = [at for at, point in enumerate(points) if is_data(point) and not point.setup]
    for thread in dict.fromkeys(points[at].thread for at in data):
        mine = [at for at in data if points[at].thread == thread]
        if len(mine) <= data.index(mine[-1]) - data.index(mine[0]):
            yield mine


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
