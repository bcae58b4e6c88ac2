# SPDX-License-Identifier: Apache-2.0
"""The trace of a try: its events, and where in the sketch each of them stands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.experiments.constraints import Event, Timeline
from unsnarl.model.site import Op
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.runfile import RunFile

# The gate's own mark in a trace: its thread has passed so many events (native/gate/sketch.c).
MARK = int(Op.BLOCK)


class Window(NamedTuple):
    """Between which times of the record an event may have been."""

    begin: float
    end: float


class Traced:
    """The events of one try, without the gate's marks.

    Attributes:
        timeline: Its events.
        passed: By event, how many events of the sketch its thread had passed before it.
    """

    def __init__(self, run: RunFile, sketch: Sketch) -> None:
        self._sketch = sketch
        marks = run.trace["point"] == MARK
        self.passed = _passed(run.trace, marks, len(run.threads))
        self.timeline = Timeline(run, run.trace[~marks])
        # Those that never came back are at the end of their threads.
        self.passed += [FAR_ON] * len(self.timeline.pending)
        self._number = {path: at for at, path in enumerate(sketch.paths)}

    def _place(self, event: Event) -> tuple[int, int] | None:
        thread = self._number.get(event.path)
        return None if thread is None else (thread, self.passed[event.at])

    def is_fixed(self, one: Event, other: Event) -> bool:
        """Whether the sketch proves that `one` came before `other`.

        An event of the sketch is the last one that was passed: the mark comes just before it.
        Anything else is somewhere between that and the next one.
        """
        first, second = self._place(one), self._place(other)
        if first is None or second is None:
            return False
        (thread, after), (there, before) = first, second
        at = after - 1 if self.is_sketched(one) else after
        return self._sketch.is_before((thread, at), (there, before - 1))

    def is_sketched(self, event: Event) -> bool:
        """Whether events of this kind are in the sketch."""
        return not event.is_access or self._sketch.level == "access"

    def window(self, event: Event) -> Window:
        """Between which times of the record it happened."""
        place = self._place(event)
        if place is None:
            return Window(-np.inf, np.inf)
        thread, passed = place
        times = self._sketch.times[thread]
        begin = float(times[min(passed, len(times)) - 1]) if passed and len(times) else -np.inf
        end = float(times[passed]) if passed < len(times) else np.inf
        return Window(begin, begin if self.is_sketched(event) else end)

    def neighbours(self) -> Iterator[tuple[Event, Event]]:
        """Accesses of one cell that follow each other in one thread."""
        last: dict[tuple[str, int], Event] = {}
        for event in self.timeline.events:
            if event.is_access:
                key = (event.path, event.cell)
                if key in last:
                    yield last[key], event
                last[key] = event

    def shape(self) -> int:
        """Equal for tries in which all conflicting accesses were in the same order."""
        by_cell: dict[int, list[tuple[str, int, int]]] = {}
        for event in self.timeline.events:
            by_cell.setdefault(event.cell, []).append(event.key)
        # Cells are addresses, which may differ from run to run.
        return hash(frozenset(tuple(keys) for keys in by_cell.values()))


FAR_ON = 1 << 60


def _passed(
    trace: npt.NDArray[np.void], marks: npt.NDArray[np.bool_], threads: int
) -> list[int]:
    now = [0] * threads
    found: list[int] = []
    rows = zip(trace["thread"].tolist(), trace["cell"].tolist(), marks.tolist(), strict=True)
    for thread, cell, is_mark in rows:
        if is_mark:
            now[thread] = cell
        else:
            found.append(now[thread])
    return found


def switches(run: RunFile) -> int:
    """How often another thread took over."""
    return sum(one.path != other.path for one, other in pairwise(run.schedule))
