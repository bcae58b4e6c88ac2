# SPDX-License-Identifier: Apache-2.0
"""What let a thread go on too early: it looked while another one was between two changes.

Who takes a result that is not there yet has looked before whether it is: at a queue and at a count
of busy workers, say. Both said so, because a worker had taken the last job and had not counted
itself yet. That the result came too late only follows from it, and so do the ways in which workers
meet meanwhile. So behind a read that came too early, and the write that came too late for it, there
is what its reader saw last of two variables that the writer changes one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from unsnarl.analyses.answer import Answer
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.refine import accesses, answer_of
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.event import Event
from unsnarl.placement.occurrence import Occurrence, occurrences
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile

# So many looks are tested, the latest first, and so many failing runs are searched for them.
MOST_TESTED = 2
MOST_RUNS = 2
# Of so many last reads of the thread that failed.
MOST_READS = 50
# What is confirmed with as few accesses as a look has says as much.
SHORT = 3

Test = Callable[[Answer], Verdict | None]


def passage_of(
    experimenter: Experimenter, answer: Answer, test: Test
) -> tuple[Answer, Verdict] | None:
    """The answer about the look that let a thread go on to what is confirmed, if it is, too.

    `test` gives the verdict on an answer.
    """
    for passage in _passages(experimenter, answer):
        verdict = test(passage)
        if verdict is not None and verdict.status == "confirmed":
            return passage, verdict
    return None


def _passages(experimenter: Experimenter, answer: Answer) -> Sequence[Answer]:
    for at in experimenter.simplest(answer)[:MOST_RUNS]:
        run = experimenter.trace(at)
        if run is None:
            continue
        events = accesses(Timeline.of(run))
        orders = _orders(experimenter, answer, run, events)
        found = dict.fromkeys(look for order in orders for look in looks(events, order))
        if found:
            some = islice(found, MOST_TESTED)
            return [
                _about(answer_of(answer, look, at, run, experimenter.interner), look)
                for look in some
            ]
    return ()


def _orders(
    experimenter: Experimenter, answer: Answer, run: RunFile, events: Sequence[Event]
) -> Sequence[Occurrence]:
    """Reads that came too early, each with the write that came too late for it."""
    if len(answer.lines) > SHORT:
        return list(too_late(events, run.failing_thread))
    lines = experimenter.lines(run, answer)
    return list(islice(occurrences(Timeline.of(run), lines), 1))


def _about(answer: Answer, look: Sequence[Event]) -> Answer:
    """It is about what came too late; the other change is of another variable."""
    cell = look[-1].cell
    lines = (
        replace(line, same_cell=float(event.cell == cell))
        for line, event in zip(answer.lines, look, strict=True)
    )
    return replace(answer, lines=tuple(lines))


def too_late(events: Sequence[Event], failing: str) -> Iterator[Occurrence]:
    """The last reads of the thread that failed, with what others wrote there after that."""
    mine = [event for event in events if event.path == failing and not event.writes]
    for read in reversed(mine[-MOST_READS:]):
        others = (e for e in events if e.at > read.at and e.cell == read.cell and e.writes)
        late = next((event for event in others if event.path != failing), None)
        if late is not None:
            yield read, late


def looks(events: Sequence[Event], order: Occurrence) -> Iterator[tuple[Event, ...]]:
    """One change, the look, and the other change that came too late for it; the latest look first.

    Args:
        events: All accesses of the run.
        order: A read, and the write of another thread that came too late.
    """
    if len(order) != 2 or order[0].writes or not order[1].writes:
        return
    taken, given = order
    mine = [e for e in events if e.path == taken.path and e.at < taken.at and not e.writes]
    changes = [e for e in events if e.path == given.path and e.at < given.at and e.writes]
    seen = {event.cell: event for event in mine}  # the last look at each
    for look in sorted(seen.values(), reverse=True):
        late = next((e for e in changes if e.cell == look.cell and e.at > look.at), None)
        early = [e for e in changes if e.at < look.at and _is_seen(e, look, seen)]
        if late is not None and early:
            yield early[-1], look, late


def _is_seen(change: Event, look: Event, seen: dict[int, Event]) -> bool:
    """Whether the thread looked at what was changed as well, after the change."""
    other = seen.get(change.cell)
    return other is not None and change.cell != look.cell and other.at > change.at
