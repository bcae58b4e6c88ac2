# SPDX-License-Identifier: Apache-2.0
"""The way from a lock to a wait: the calls in which a thread held the one and came to the other.

`with lock:` in the wrapper of a decorator and `import_module(name)` in a callback say nothing to
each other; `@synchronized(hooks_lock)` and `hook(module)`, the lines between them, do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from unsnarl.model.report import FindingPoint
from unsnarl.reports.calls import CallFrame, Text, call_step, own_frames
from unsnarl.reports.patterns import ACQUIRE, WAIT

# With the line that fails, an explanation of more steps than this is too long.
MOST_POINTS = 8
# Of one thread: the call under the lock, and the ones that are nearest to the wait.
MOST_CALLS = 3
# A decorator stands within so many lines above the code that it decorates.
REACH = 2000


def with_ways(points: Sequence[FindingPoint], text: Text) -> list[FindingPoint]:
    """With the calls from where a thread took a lock to where it waits, each before the wait."""
    ways = {at: list(_way(points[:at], point, text)) for at, point in enumerate(points)}
    room = max(MOST_POINTS - len(points), 0)
    wanted = [one for turn in zip_longest(*map(_by_weight, ways.values())) for one in turn if one]
    kept = {id(one) for one in wanted[:room]}
    return [
        shown
        for at, point in enumerate(points)
        for shown in (*(one for one in ways[at] if id(one) in kept), point)
    ]


def _by_weight(calls: list[FindingPoint]) -> list[FindingPoint]:
    """The call under the lock first, then the one that waits, then those in between."""
    return [*calls[:1], *reversed(calls[1:])]


def _way(before: Sequence[FindingPoint], wait: FindingPoint, text: Text) -> Iterator[FindingPoint]:
    if wait.op != WAIT or not wait.stack:
        return
    taken = [one for one in before if one.op == ACQUIRE and one.thread == wait.thread]
    frames = own_frames(wait)
    depth = max((_holding(own_frames(one), frames) for one in taken), default=-1)
    if depth < 0:
        return
    calls = [
        _decorated(wait, frames[at], frames[at + 1], text)
        or call_step(wait, frames[at], frames[at + 1].function, text)
        for at in range(depth, len(frames) - 1)
    ]
    yield from calls[:1]
    yield from calls[1:][1 - MOST_CALLS :]


def _holding(taken: Sequence[CallFrame], frames: Sequence[CallFrame]) -> int:
    """How deep the function that took the lock is in the calls of the wait; -1 if it is not."""
    depth = len(taken) - 1
    if depth >= len(frames) - 1:
        return -1
    functions = [(one.file, one.function) for one in frames[: depth + 1]]
    is_same = functions == [(one.file, one.function) for one in taken]
    return depth if is_same and frames[:depth] == list(taken[:depth]) else -1


def _decorated(
    wait: FindingPoint, wrapper: CallFrame, inner: CallFrame, text: Text
) -> FindingPoint | None:
    """The decorator's line above the function that its wrapper calls, which the program wrote."""
    name = wrapper.function.partition(".")[0]
    if name == wrapper.function:
        return None
    line = _decorator_line(inner, name, text)
    at = CallFrame(inner.file, line, inner.function)
    return call_step(wait, at, inner.function, text) if line else None


def _decorator_line(inner: CallFrame, name: str, text: Text) -> int:
    own = inner.function.rpartition(".")[2]
    above = range(inner.line, max(inner.line - REACH, 0), -1)
    start = next((at for at in above if _defines(text(inner.file, at), own)), 0)
    for line in range(start - 1, 0, -1):
        words = text(inner.file, line)
        if not words.startswith("@"):
            return 0
        if words[1:].partition("(")[0].rpartition(".")[2].strip() == name:
            return line
    return 0


def _defines(words: str, function: str) -> bool:
    return words.removeprefix("async ").startswith(f"def {function}(")
