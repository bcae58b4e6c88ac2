# SPDX-License-Identifier: Apache-2.0
"""Constraints: this occurrence of a point in one thread before that occurrence in another.

They are read off the trace of a failing run. Each becomes one rule of the gate: the thread of the
later event is held, at the outermost acquire around it or where it could last be switched, until
the earlier event has happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unsnarl.experiments.rules import Rule
from unsnarl.experiments.scene import Stage
from unsnarl.model.site import Op
from unsnarl.runfile import RunFile


class Event(NamedTuple):
    """One event of a trace: the `occurrence`-th of its point in its thread."""

    at: int
    path: str
    point: int
    occurrence: int
    cell: int

    @property
    def writes(self) -> bool:
        """Whether it changes its cell; lock operations do."""
        return self.point & 15 != Op.READ

    @property
    def is_sync(self) -> bool:
        """Whether it is an operation on a lock or a thread."""
        return Op(self.point & 15).is_sync


class Constraint(NamedTuple):
    """`before` comes before `after`; `hold` is where the later thread waits for it."""

    before: Event
    after: Event
    hold: Event

    @property
    def rule(self) -> Rule:
        """The rule that makes it so."""
        return {
            "when": None,
            "hold": _match(self.hold),
            "until": _match(self.before),
            "limit": 0,
        }


def _match(event: Event) -> dict[str, object]:
    return {
        "who": "any",
        "points": [event.point],
        "path": event.path,
        "occurrence": event.occurrence,
    }


class Timeline:
    """The events of one traced run, in the order of time."""

    def __init__(self, run: RunFile, stage: Stage) -> None:
        paths = [thread.path for thread in run.threads]
        seen: Counter[tuple[str, int]] = Counter()
        self.events: list[Event] = []
        for _, cell, point, thread, _ in run.trace.tolist():
            path = paths[thread]
            seen[path, point] += 1
            self.events.append(Event(len(self.events), path, point, seen[path, point], cell))
        self._stage = stage

    def constraint(self, before: Event, after: Event) -> Constraint | None:
        """The constraint between two events; None if the later thread cannot be held for it."""
        hold = self._hold(after)
        # A hold that lies before what it waits for would be one on the wrong occurrence.
        return Constraint(before, after, hold) if hold is not None else None

    def conflicts(self) -> Iterator[tuple[Event, Event]]:
        """Neighbouring events on one cell by different threads, one of them changing it."""
        last: dict[int, list[Event]] = {}
        for event in self.events:
            for earlier in last.get(event.cell, []):
                if earlier.path != event.path and (earlier.writes or event.writes):
                    yield earlier, event
            kept = (
                []
                if event.writes
                else [e for e in last.get(event.cell, []) if e.path != event.path]
            )
            last[event.cell] = [*kept, event]

    def last_of(self, path: str) -> Event | None:
        """A thread's last event."""
        return next((event for event in reversed(self.events) if event.path == path), None)

    def next_pending(self, after: Event) -> list[Event]:
        """What every other thread did next."""
        found: dict[str, Event] = {}
        for event in self.events[after.at + 1 :]:
            if event.path != after.path:
                found.setdefault(event.path, event)
        return list(found.values())

    def occurrences(self, points: Sequence[int], path: str | None = None) -> list[Event]:
        """The events at some points, of one thread or of all."""
        return [
            event for event in self.events if event.point in points and path in (None, event.path)
        ]

    def _hold(self, event: Event) -> Event | None:
        """Where the event's thread must be stopped for it: its latest event at a hold's point."""
        holds = set(self._stage.holds([event.point]))
        for earlier in reversed(self.events[: event.at + 1]):
            if earlier.path == event.path and earlier.point in holds:
                return earlier
        return None
