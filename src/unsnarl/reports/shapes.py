# SPDX-License-Identifier: Apache-2.0
"""The shape of a bug in the words that engineers use, and one sentence that says what happened.

A shape follows from the conflict, who touched what between whose accesses, and from what the source
lines do: check, iterate, close. docs/shapes.md has a paragraph and a picture for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Literal

from msgspec.structs import replace

from unsnarl.model.report import FailureReport, Finding, FindingPoint, UndoneWork
from unsnarl.model.run import is_iterated
from unsnarl.reports.aliases import as_written
from unsnarl.reports.conflicts import (
    ShownConflict,
    conflicts_in,
    failing_points,
    gone_through,
    half_written,
    is_nothing,
)
from unsnarl.reports.paths import short_files
from unsnarl.reports.patterns import CALL, FAIL, WAIT, ends, is_data, mode, signals, whole
from unsnarl.reports.program_text import ProgramText, joint
from unsnarl.reports.shape_sentences import SENTENCES, stopped
from unsnarl.reports.steps import UNSET
from unsnarl.reports.waits import NEVER_RELEASED, OWNER

Shape = Literal[
    "lost update",
    "check-then-act",
    "stale read",
    "unfinished change seen",
    "two variables out of step",
    "published before initialised",
    "used after close",
    "changed while iterated",
    "missed signal",
    "lock-order deadlock",
    "lock held while waiting",
    "lock never released",
    "starvation",
    "stopped too early",
]
# Where several conflicts could be named, the more specific name: what a line does says more than
# in which order threads read and wrote.
PRIORITY: tuple[Shape, ...] = (
    "changed while iterated",
    "check-then-act",
    "published before initialised",
    "used after close",
    "two variables out of step",
    "lost update",
    "stale read",
    "unfinished change seen",
)
ITERATED: Shape = "changed while iterated"
UNFINISHED: Shape = "unfinished change seen"
SIGNAL: Shape = "missed signal"
CHECKED: Shape = "check-then-act"
FLAGS = ("True", "False")
# What the interpreter says of a generator.
ENTERED = "already executing"
# What the waits alone show; else what led there may be a conflict on data.
BY_WAITS: tuple[Shape, ...] = ("lock-order deadlock", "lock held while waiting", "starvation")
# As executors name their threads; whoever has a thread of his own names it by what it does.
WORKER = re.compile(r"_\d+$")
# What who waits for what says.
OF_WAITS: tuple[Shape, ...] = (*BY_WAITS, SIGNAL, "lock never released")


def shape_and_summary(
    failure: FailureReport, finding: Finding, code: ProgramText
) -> tuple[str, str]:
    """The shape of a finding and its sentence; two empty strings for what fits none."""
    points = finding.explanation or finding.points
    if finding.undone is not None and _gone_through(failure, points) is None:
        return "stopped too early", _stopped(failure, finding, finding.undone)
    entered = _entered_twice(failure, finding)
    if entered:
        return "", entered
    found = shape_of(failure, finding, code)
    if found is None:
        return "", ""
    shape, points = found
    names = [_who(failure, point) for point in points]
    if shape == CHECKED:
        points = _where_decided(points)
    files = short_files([one.file for one in (*(finding.explanation or finding.points), *points)])
    shown = [replace(point, file=files.get(point.file, point.file)) for point in points]
    return shape, SENTENCES[shape](shown, names)


def _entered_twice(failure: FailureReport, finding: Finding) -> str:
    """The sentence on a generator that a thread resumed while another one ran it; else nothing."""
    said = {(one.thread, one.raised.line) for one in failure.chain if ENTERED in one.message}
    points = finding.explanation or finding.points
    if ENTERED in failure.message:
        said |= {(one.thread, one.line) for one in points if one.op == FAIL}
    late = next((one for one in points if (one.thread, one.line) in said and is_data(one)), None)
    if late is None:
        return ""
    others = [one for one in points if _is_shared(one, late) and is_data(one)]
    if not others:
        return ""
    files = short_files([one.file for one in points])
    where = [f"{files.get(one.file, one.file)}:{one.line}" for one in (late, others[0])]
    return (
        f"{_who(failure, late)} resumed the generator {late.variable} at {where[0]} while "
        f"{_who(failure, others[0])} was still running it (from {where[1]})."
    )


def _stopped(failure: FailureReport, finding: Finding, undone: UndoneWork) -> str:
    """By the write that the thread saw: the first of its orders, or the last of the others'."""
    points = finding.explanation or finding.points
    earlier = [points[before - 1] for before, _ in finding.orders] or points[::-1]
    others = [one for one in earlier if one.thread != undone.thread and one.variable]
    asked = next((one for one in others if one.op == "write"), (*others, points[0])[0])
    files = short_files([asked.file, undone.line.file])
    line = replace(undone.line, file=files.get(undone.line.file, undone.line.file))
    worker = replace(asked, thread=undone.thread)
    return stopped(
        replace(asked, file=files.get(asked.file, asked.file)),
        (_who(failure, asked), _who(failure, worker)),
        replace(undone, line=line),
    )


def _where_decided(points: tuple[FindingPoint, ...]) -> tuple[FindingPoint, ...]:
    """With the lines of the function that checks and acts, where it calls others for both."""
    first, *others, last = points
    found = joint(first, last) if first.thread == last.thread else None
    if found is None or found[0].line == found[1].line:
        return points
    here, there = found
    return (
        replace(first, file=here.file, line=here.line),
        *others,
        replace(last, file=there.file, line=there.line),
    )


def shape_of(
    failure: FailureReport, finding: Finding, code: ProgramText
) -> tuple[Shape, tuple[FindingPoint, ...]] | None:
    """The shape and the accesses that it is about."""
    points = finding.explanation if finding.orders else finding.points
    waits = tuple(point for point in points if point.op == WAIT and not point.setup)
    stuck = _stuck(failure, waits) if waits else None
    if stuck in BY_WAITS:
        return stuck, waits
    data = _of_data(failure, finding, as_written(points), code)
    data = data if data and data[0] == ITERATED else _gone_through(failure, points) or data
    if stuck == SIGNAL and (
        data is None or _is_late(waits, data) or _is_signalled(waits, data[1], code)
    ):
        return stuck, waits
    return data or ((stuck, waits) if stuck else None)


def _gone_through(
    failure: FailureReport, points: Sequence[FindingPoint]
) -> tuple[Shape, tuple[FindingPoint, ...]] | None:
    """The iteration that the interpreter itself has complained of, and what was changed meanwhile.

    What is iterated over may have another name where it is changed: a local one, say.
    """
    said = {(one.thread, one.raised.line) for one in failure.chain if is_iterated(one.message)}
    if is_iterated(failure.message):
        said |= {(one.thread, one.line) for one in points if one.op == FAIL}
    reads = [at for at, one in enumerate(points) if (one.thread, one.line) in said and is_data(one)]
    changes = [
        at
        for at, one in enumerate(points[: reads[-1]] if reads else ())
        if mode(one) == "W" and _may_be_same(one, points[reads[-1]])
    ]
    if not changes:
        return None
    begun = [at for at in reads[:1] if at < changes[-1]]
    return ITERATED, tuple(points[at] for at in (*begun, changes[-1], reads[-1]))


def _may_be_same(change: FindingPoint, read: FindingPoint) -> bool:
    """Whether another thread may have changed what was read; attributes have no other names."""
    names = {whole(change.variable), whole(read.variable)}
    return change.thread != read.thread and (len(names) == 1 or not all("." in n for n in names))


def _of_data(
    failure: FailureReport, finding: Finding, points: Sequence[FindingPoint], code: ProgramText
) -> tuple[Shape, tuple[FindingPoint, ...]] | None:
    """The shape of what the threads did to data, and the accesses that it is about."""
    about = {whole(name) for name in finding.variables}
    every = ((_shape(one), one) for one in conflicts_in(failure, points, code))
    found = [(shape, one) for shape, one in every if shape is not None]
    torn = half_written(points)
    if torn and all(one.overlaps for _, one in found):
        return UNFINISHED, torn
    pairs = [(_of_two(pair), pair) for pair in _pairs(failure, finding, points, code)]
    pairs = [(name, pair) for name, pair in pairs if name is not None]
    missed = next((pair.points for name, pair in pairs if name == SIGNAL), None)
    if missed:
        return SIGNAL, missed
    if found:
        shape, chosen = min(found, key=lambda one: _preference(one[0], one[1], about))
        failed = [(name, pair.points) for name, pair in pairs if name and pair.breaks]
        # The access that fails shows more than the order of reads and writes alone.
        unclear = not chosen.is_shown and len(chosen.variables) == 1
        return failed[0] if failed and unclear else (shape, chosen.points)
    named = next(((name, pair.points) for name, pair in pairs if name), None)
    decided = min(_decided(failure, points, code), key=lambda one: one.span, default=None)
    return named or ((CHECKED, decided.points) if decided else None)


def _decided(
    failure: FailureReport, points: Sequence[FindingPoint], code: ProgramText
) -> Iterator[ShownConflict]:
    """A thread acted on one thing by what it saw of another; meanwhile others had used either."""
    data = [point for point in points if is_data(point) and not point.setup]
    for pick in combinations(range(len(data)), 3):
        first, other, last = (data[at] for at in pick)
        found = ShownConflict((first, other, last), failure, code, pick[-1] - pick[0])
        either = {whole(first.variable), whole(last.variable)}
        between = other.thread != first.thread and whole(other.variable) in either
        acts = not found.is_pair and not any(map(found.looks, (other, last)))
        if between and acts and found.decides:
            yield found


def _is_late(waits: Sequence[FindingPoint], data: tuple[Shape, tuple[FindingPoint, ...]]) -> bool:
    """Whether who waits had looked too early: that it is there now, the signal would have said."""
    threads = {point.thread for point in waits if not point.awaits.startswith("in join()")}
    return data[0] == "published before initialised" and data[1][0].thread in threads


def _is_signalled(
    waits: Sequence[FindingPoint], points: Sequence[FindingPoint], code: ProgramText
) -> bool:
    """Whether a thread waits for a signal that it would not have missed, had it looked again."""
    signals = [point for point in waits if not point.awaits.startswith("in join()")]
    return (
        any(
            point.thread == wait.thread and (_is_asked(point, wait) or code.decides(point, wait))
            for wait in signals
            for point in points
        )
        or not points
    )


def _is_asked(point: FindingPoint, wait: FindingPoint) -> bool:
    """Whether the call that waits looks by itself: `wake.wait(lock, [this] { return stop; })`."""
    return (point.file, point.line) == (wait.file, wait.line)


def _preference(shape: Shape, found: ShownConflict, about: set[str]) -> tuple[int, ...]:
    """Less is better: about all that the finding is about, by what it is called, tight."""
    apart = found.first.function != found.last.function
    unasked = len(found.variables - about)
    covered = -len(about & found.variables)
    named = PRIORITY.index(shape)
    first = named if found.is_shown else len(PRIORITY)
    before = not found.decides and found.had_decided
    elsewhere = not found.leads_to_failure
    return found.is_turned, first, covered, unasked, named, elsewhere, before, apart, found.span


def _stuck(failure: FailureReport, waits: Sequence[FindingPoint]) -> Shape:
    """By what the threads hold and wait for: locks only, a lock and something else, no lock."""
    if all(point.why.endswith(NEVER_RELEASED) for point in waits):
        return "lock never released"
    holding = [point for point in waits if point.locks]
    held = {lock for point in holding for lock in point.locks}
    if (len(holding) > 1 and all(point.variable in held for point in holding)) or _is_cycle(waits):
        return "lock-order deadlock"
    if held:
        return "lock held while waiting"
    return "starvation" if _is_starved(failure, waits) else SIGNAL


def _is_starved(failure: FailureReport, waits: Sequence[FindingPoint]) -> bool:
    """Whether a pool's workers wait for what only the pool can compute; others wait for them."""
    results = [point for point in waits if point.awaits.startswith("for the result of")]
    workers = [point for point in results if WORKER.search(failure.threads.get(point.thread, ""))]
    return bool(workers) or len(results) == len(waits) > 1


def _is_cycle(waits: Sequence[FindingPoint]) -> bool:
    """Whether the owners of the locks that threads wait for wait for each other's locks."""
    owners = {point.thread: found[1] for point in waits if (found := OWNER.match(point.why))}
    return any(_comes_back(thread, owners) for thread in owners)


def _comes_back(thread: str, owners: Mapping[str, str]) -> bool:
    seen = [thread]
    while (owner := owners.get(seen[-1])) and owner not in seen:
        seen.append(owner)
    return owner == thread and len(seen) > 1


def _pairs(
    failure: FailureReport, finding: Finding, points: Sequence[FindingPoint], code: ProgramText
) -> Iterator[ShownConflict]:
    """Two accesses of one variable by two threads: as proved, as ranked, as they came."""
    proved = [(points[before - 1], points[after - 1]) for before, after in finding.orders]
    ranked = [tuple(points[i] for i in ends(points))]
    data = [point for point in points if is_data(point)]
    fails, iterated = failing_points(points), gone_through(failure, points)
    for pair in [*proved, *ranked, *pairwise(data)]:
        # What only brought the threads there is not what the bug is called by.
        shown = all(is_data(one) and not one.setup for one in pair)
        if len(pair) == 2 and shown and _is_shared(*pair):
            yield ShownConflict(pair, failure, code, fails=fails, iterated=iterated)
    for pair in _after_writes(data) if fails else ():
        found = ShownConflict(pair, failure, code, fails=fails, iterated=iterated)
        if found.breaks:
            yield found


def _is_shared(one: FindingPoint, other: FindingPoint) -> bool:
    """Whether two threads touch one variable."""
    return one.thread != other.thread and whole(one.variable) == whole(other.variable)


def _after_writes(data: Sequence[FindingPoint]) -> Iterator[tuple[FindingPoint, ...]]:
    """Each access and the last write of another thread before it, whatever came in between."""
    for at, last in enumerate(data):
        before = [one for one in data[:at] if mode(one) == "W" and _is_shared(one, last)]
        yield from ((one, last) for one in before[-1:])


def _shape(found: ShownConflict) -> Shape | None:
    """What a conflict is, by what defines the shapes (docs/shapes.md), in that order."""
    if found.iterates:
        return "changed while iterated"
    if found.computes:
        return CHECKED if found.adds else "lost update"
    if found.decides or found.had_decided or found.was_checked:
        return CHECKED
    return _several(found) if len(found.variables) > 1 else _single(found)


def _single(found: ShownConflict) -> Shape | None:
    """What a thread did with one variable neither decided by nor computed from what it had read."""
    if found.looks(found.last) and found.is_ended:
        return "stale read" if found.modes == "RWR" and found.loses_one else "used after close"
    if found.modes == "WRW":
        return "published before initialised" if _is_new(found) else UNFINISHED
    if found.modes == "RWW":
        by_order: Shape = "stale read" if found.removes_one or found.adds else "lost update"
        return CHECKED if found.makes_room else by_order
    if found.is_overwritten and found.modes != "RWR":
        return "lost update"
    if found.modes == "WWW" and not found.is_set_anew:
        return UNFINISHED
    # Calls of an object that threads share by design are no use of an old value.
    is_stale = found.modes == "RWR" or found.is_set_anew or found.is_repeated
    return "stale read" if is_stale or found.first.op != CALL else None


def _is_new(found: ShownConflict) -> bool:
    """Whether the first write begins to make something, as opposed to taking a thing apart."""
    if found.fills:
        return True
    return found.is_empty and not found.takes_out(found.first) and not found.sees_something


def _is_made(found: ShownConflict) -> bool:
    """Whether both writes make something, as opposed to changing what is there, or taking it."""
    if found.is_empty or found.takes_out(found.first) or _is_torn_down(found):
        return False
    return not any(map(found.counts, (found.first, found.last)))


def _is_torn_down(found: ShownConflict) -> bool:
    """Whether one of the thread's own writes ends the use of something."""
    return found.ends_use(found.first) or found.ends_use(found.last)


def _several(found: ShownConflict) -> Shape:
    """One thread is between its accesses of two variables when another comes."""
    if not found.looks(found.first):
        if found.announces or found.fills:
            return "published before initialised"
        if found.ends_use(found.first) and found.misses and not found.puts(found.last):
            return "used after close"
        if found.sees_nothing and _is_made(found):
            return "published before initialised"
        if found.first.op == CALL and all(map(found.looks, found.others)):
            return UNFINISHED
    elif any(map(found.ends_use, found.others)) and not found.is_moved:
        return "used after close"
    return "two variables out of step"


def _of_two(found: ShownConflict) -> Shape | None:
    """What two accesses alone are: a signal that came too late or was taken back, or an order."""
    if signals(found.first) and signals(found.last):
        return SIGNAL if found.first.part != found.last.part else None
    return _order(found)


def _order(found: ShownConflict) -> Shape | None:
    """Two accesses alone: it was gone already, it was not there yet, or one write undid another."""
    first, last = found.first, found.last
    if found.iterates:
        return "changed while iterated"
    # Who sets it anew does not use what was there.
    is_used = found.modes != "WW" or not found.is_overwritten
    is_ended = found.ends_use(first) and not _is_still_there(found)
    if is_used and is_ended and (found.breaks or not found.code.asks(last)):
        return CHECKED if found.is_supplied else "used after close"
    # What was seen is not always known; of C programs rarely.
    seen = first.value if first.file.endswith(".py") else first.value or UNSET
    early = last.due or is_nothing(seen)
    counts = found.counts(last)  # and so it was there before
    is_asked = found.code.asks(first) and not last.due
    if found.modes == "RW" and (first.value in FLAGS or counts) and is_asked:
        return CHECKED
    if found.modes == "RW" and early and not counts:
        return "published before initialised"
    if found.modes != "WW" or not found.is_overwritten:
        return None
    return CHECKED if found.was_checked else "lost update"


def _is_still_there(found: ShownConflict) -> bool:
    """Whether what was taken out is seen to be there."""
    seen = found.last.value if found.looks(found.last) else None
    return found.takes_out(found.first) and bool(seen) and not is_nothing(seen)


def _who(failure: FailureReport, point: FindingPoint) -> str:
    """The thread's name; with its path where others have the same one."""
    name = failure.threads.get(point.thread) or "thread"
    alike = sum(other == name for other in failure.threads.values())
    return name if name != "thread" and alike == 1 else f"{name} {point.thread}"
