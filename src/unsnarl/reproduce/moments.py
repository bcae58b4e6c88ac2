# SPDX-License-Identifier: Apache-2.0
"""Where in a replayed run the steps of an explanation happen, so that a debugger can stop there.

An explanation names lines; a run passes a line many times. The steps tell one story that ends in
the failure, so they are looked for from the end: each at the latest moment before the next one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from unsnarl.model.finding import FindingPoint
from unsnarl.model.site import Op
from unsnarl.probes.python.places import plain_function
from unsnarl.reproduce.anchors import Codes
from unsnarl.runfile import RunFile, SiteTable

FAIL, WAIT = "fail", "wait"
# A debugger can stop before these.
STOPS = (Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE, Op.JOIN)
# Roles can be played by any threads; so many ways to cast them are tried.
MOST_CASTS = 2000

Key = tuple[str, str, str, int]  # file, function, text of the line, operation


class Moment(NamedTuple):
    """The `occurrence`-th time that the thread of `path` is at `point`, and what that is."""

    path: str
    point: int
    occurrence: int
    file: str
    line: int
    function: str


class _Event(NamedTuple):
    key: Key
    moment: Moment


class Moments:
    """The events of one traced replay."""

    def __init__(self, run: RunFile, table: SiteTable, codes: Codes) -> None:
        self._table = table.for_run(run)
        self._codes = codes
        self._run = run
        self._counts: dict[tuple[str, tuple[object, ...]], int] = {}
        self._events = [*self._traced()]
        self._done = len(self._events)
        self._events += self._waits()
        self.failing = run.failures[0].thread if run.failures else ""

    def _traced(self) -> Iterator[_Event]:
        for point, thread in self._run.trace[["point", "thread"]].tolist():
            if point >> 4 and point & 15 in STOPS:
                yield self._event(point, self._run.threads[thread].path)

    def _waits(self) -> Iterator[_Event]:
        """What threads were about to do when nobody could go on."""
        for wait in self._run.waits:
            op = Op.JOIN if wait.point & 15 == Op.JOIN else Op.ACQUIRE
            yield self._event(wait.point & ~15 | op, self._run.threads[wait.thread].path)

    def _event(self, point: int, path: str) -> _Event:
        site, op = self._table.site(point >> 4), point & 15
        function = plain_function(site.function)
        place = (path, (site.file, function, site.line, site.name, op))
        self._counts[place] = count = self._counts.get(place, 0) + 1
        text = self._codes.text(site.file, site.line)
        moment = Moment(path, point, count, site.file, site.line, function)
        return _Event((site.file, function, text, op), moment)

    def last(self) -> Moment | None:
        """The failing thread's last event, or anybody's."""
        own = [one.moment for one in self._events if one.moment.path == self.failing]
        return own[-1] if own else self._events[-1].moment if self._events else None

    def of(self, points: Sequence[FindingPoint]) -> dict[int, Moment]:
        """The moments of a story's points, by their index; those that cannot be found are left."""
        story = {at: point for at, point in enumerate(points) if point.op != FAIL}
        best: dict[int, int] = {}
        for cast in self._casts(points):
            told = self._told(story, cast)
            if (len(told), sum(told.values())) > (len(best), sum(best.values())):
                best = told
            if len(best) == len(story):
                break
        return {at: self._events[event].moment for at, event in best.items()}

    def _casts(self, points: Sequence[FindingPoint]) -> Iterator[Mapping[int, str]]:
        """Which thread plays which role: as in the run that was explained, else any other way."""
        yield {point.role: point.thread for point in points}
        roles = sorted({point.role for point in points})
        paths = sorted({one.moment.path for one in self._events})
        failing = {point.role for point in points if point.op == FAIL}
        for chosen in itertools.islice(itertools.permutations(paths, len(roles)), MOST_CASTS):
            cast = dict(zip(roles, chosen, strict=True))
            if all(cast[role] == self.failing for role in failing):
                yield cast

    def _told(self, story: Mapping[int, FindingPoint], cast: Mapping[int, str]) -> dict[int, int]:
        bound, told = self._done, {}
        for at in sorted(story, reverse=True):
            point, waits = story[at], story[at].op == WAIT
            # Waits that never ended go on at the same time.
            low, high = (self._done, len(self._events)) if waits else (0, bound)
            found = self._latest(low, high, _key(point), cast.get(point.role, ""))
            if found >= 0:
                told[at] = found
                bound = min(bound, found)
        return told

    def _latest(self, low: int, high: int, key: Key, path: str) -> int:
        for at in range(high - 1, low - 1, -1):
            event = self._events[at]
            if event.moment.path == path and event.key == key:
                return at
        return -1


def _key(point: FindingPoint) -> Key:
    op = Op[point.op.upper()]
    op = Op.ACQUIRE if op is Op.WAIT else op
    return (point.file, plain_function(point.function), point.text, op)
