# SPDX-License-Identifier: Apache-2.0
"""Where in a replayed run the steps of an explanation happen, so that a debugger can stop there.

An explanation names lines; a run passes a line many times. The steps are one occurrence that ends
in the failure, so they are looked for from the end: each at the latest event before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from unsnarl.model.event import Op, op_of, site_of, with_op
from unsnarl.model.python_names import plain_function, shown_function
from unsnarl.model.report import FindingPoint
from unsnarl.placement.occurrence import EventSearch, casts
from unsnarl.replay.anchors import Codes
from unsnarl.runfile import RunFile, SiteTable

WAIT = "wait"
FAIL = "fail"
ENTER = "enter"
NO_EVENTS = (FAIL, "timeout", ENTER)
# A debugger can stop before these.
STOPS = (Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE, Op.JOIN)
# Any threads may have the roles; so many ways are tried.
MOST_CASTS = 2000

LineKey = tuple[str, str, str, int]  # file, function, text of the line, operation


class Stop(NamedTuple):
    """The `occurrence`-th time that the thread of `path` is at `point`, and where that is."""

    path: str
    point: int
    occurrence: int
    file: str
    line: int
    function: str


class _StopEvent(NamedTuple):
    at: int
    path: str
    key: LineKey
    stop: Stop


class Stops:
    """The events of one traced replay at which a debugger can stop."""

    def __init__(self, run: RunFile, table: SiteTable, codes: Codes) -> None:
        self._table = table.for_run(run)
        self._codes = codes
        self._run = run
        self._counts: dict[tuple[object, ...], int] = {}
        self._done: list[_StopEvent] = []
        self._pending: list[_StopEvent] = []
        for point, path in self._traced():
            self._done.append(self._event(len(self._done), point, path))
        for point, path in self._waits():
            at = len(self._done) + len(self._pending)
            self._pending.append(self._event(at, point, path))
        self.failing = run.failures[0].thread if run.failures else ""

    def _traced(self) -> Iterator[tuple[int, str]]:
        for point, thread in self._run.trace[["point", "thread"]].tolist():
            if site_of(point) and op_of(point) in STOPS:
                yield point, self._run.threads[thread].path

    def _waits(self) -> Iterator[tuple[int, str]]:
        """What threads were about to do when nobody could go on."""
        for wait in self._run.waits:
            op = Op.JOIN if op_of(wait.point) is Op.JOIN else Op.ACQUIRE
            yield with_op(wait.point, op), self._run.threads[wait.thread].path

    def _event(self, at: int, point: int, path: str) -> _StopEvent:
        site, op = self._table.site(site_of(point)), op_of(point)
        function = plain_function(site.function)
        counted = (path, site.file, function, site.line, site.name, op)
        self._counts[counted] = count = self._counts.get(counted, 0) + 1
        text = self._codes.text(site.file, site.line)
        stop = Stop(path, point, count, site.file, site.line, function)
        return _StopEvent(at, path, (site.file, shown_function(function), text, op), stop)

    def last(self) -> Stop | None:
        """The failing thread's last event, or anybody's."""
        events = [*self._done, *self._pending]
        own = [one for one in events if one.path == self.failing]
        return (own or events)[-1].stop if events else None

    def of(self, points: Sequence[FindingPoint]) -> dict[int, Stop]:
        """Where the points of an explanation are, by their index; without those that are nowhere.

        As many as possible; of equal ones the latest.
        """
        shown = [at for at, point in enumerate(points) if point.op not in NO_EVENTS]
        rows = [self._row(points[at]) for at in shown]
        roles = [points[at].role for at in shown]
        waits = [line for line, at in enumerate(shown) if points[at].op == WAIT]
        best: dict[int, _StopEvent] = {}
        for cast in self._casts(points):
            found = self._found(EventSearch(rows, roles, cast), len(rows), waits)
            best = max(best, found, key=_most_and_latest)
            if len(best) == len(shown):
                break
        return {shown[line]: event.stop for line, event in best.items()}

    def _found(
        self, search: EventSearch[_StopEvent], lines: int, waits: Sequence[int]
    ) -> dict[int, _StopEvent]:
        """Waits that never ended go on at the same time, so they come in no order."""
        found: dict[int, _StopEvent] = {}
        for line in waits:
            last = next(search.before(line, len(self._done) + len(self._pending), found), None)
            found.update({} if last is None else {line: last})
        done = [line for line in range(lines) if line not in waits]
        return search.backwards(done, len(self._done), found, partial=True)

    def _row(self, point: FindingPoint) -> list[_StopEvent]:
        key = _key(point)
        events = self._pending if point.op == WAIT else self._done
        return [event for event in events if event.key == key]

    def _casts(self, points: Sequence[FindingPoint]) -> Iterator[Mapping[int, str]]:
        """Which thread has which role: as in the run that was explained, else any other way."""
        yield {point.role: point.thread for point in points}
        roles = sorted({point.role for point in points})
        paths = {one.path for one in (*self._done, *self._pending)}
        failing = {point.role for point in points if point.op == FAIL}
        for cast in islice(casts(roles, paths), MOST_CASTS):
            if all(cast[role] == self.failing for role in failing):
                yield cast


def _most_and_latest(found: Mapping[int, _StopEvent]) -> tuple[int, int]:
    return len(found), sum(event.at for event in found.values())


def _key(point: FindingPoint) -> LineKey:
    op = Op[point.op.upper()]
    op = Op.ACQUIRE if op is Op.WAIT else op
    return (point.file, shown_function(point.function), point.text, op)
