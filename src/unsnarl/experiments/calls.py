# SPDX-License-Identifier: Apache-2.0
"""State of one call that is kept where others see it: two calls get into each other's way.

A tokenizer that threads share has its text, its position and its tokens in a dozen attributes. Each
of them is set by one call, set anew by another one, and read by the first: each is a finding, and
none can be confirmed by its own accesses, because runs fail without them by all the others. So the
calls are kept apart as a whole. That would confirm anything, and is done only where

- a call reads what it had written and another call has written since (not: a counter, a check);
- a run that failed, if possible without the finding's own order, shows the same on other cells;
- few passing runs have it: in these calls, too, what does no harm happens whoever is there;
- the calls are not all that their threads do with shared data: a serial program shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from unsnarl.model.event import Event, Op, site_of
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.code_context import Span
from unsnarl.placement.line_points import NOWHERE, CodeRange, LinePoints
from unsnarl.placement.occurrence import Occurrence, occurrences
from unsnarl.placement.timeline import Timeline

# ... that is, so many of them.
MOST_PASSING = 0.2

# ... and so many calls around each other are tried: one may be a step of the next.
MOST_CALLS = 3

# The calls that two events of a thread are in, the innermost first, each with its first event.
CallsOf = Callable[[Event, Event], list[tuple[Span, Event]]]


def interfering_calls(
    timeline: Timeline, shared: Collection[int], lines: Sequence[LinePoints], calls_of: CallsOf
) -> list[tuple[Span, Event]]:
    """The functions of the calls into which others intrude, each with the first event in it.

    None if there are no such calls.

    Args:
        timeline: A failing run.
        shared: The sites at which its threads touched what others touched.
        lines: Those of the answer.
        calls_of: Looks for the calls.
    """
    found = next(iter(occurrences(timeline, lines)), ())
    taken = next((three for three in _threes(found) if _is_taken_over(*three)), None)
    calls = calls_of(taken[0], taken[2]) if taken is not None else []
    paths = {event.path for event in found}
    return [
        (span, begin)
        for span, begin in calls[:MOST_CALLS]
        if span.code != NOWHERE
        and all(_does_more(timeline, shared, span.code, path) for path in paths)
    ]


def taken_over(
    timeline: Timeline, code: CodeRange, lines: Sequence[LinePoints]
) -> list[Occurrence]:
    """Where threads in such calls read what the other one had written, on no line of the answer.

    One for each cell, the latest first.
    """
    own = {point for line in lines for point in line.points}
    inside: set[str] = set()
    by_cell: dict[int, list[Event]] = {}
    for event in timeline.done:
        if code[0] <= event.site < code[1]:
            inside.add(event.path)
        if event.op in (Op.READ, Op.WRITE) and event.path in inside:
            by_cell.setdefault(event.cell, []).append(event)
    found = (next(_latest(accesses), ()) for accesses in by_cell.values())
    others = (one for one in found if one and not {event.point for event in one} <= own)
    return sorted(others, key=lambda one: one[-1].at, reverse=True)


def apart_as_calls(begin: LinePoints, code: CodeRange) -> list[Rule]:
    """The rules under which no two threads are in the function that begins there."""
    points = tuple(sorted({*begin.holds, *begin.heads}))
    return [Rule(when=Match(points), exclusive=1, leave=code)]


def _threes(events: Sequence[Event]) -> Iterator[tuple[Event, Event, Event]]:
    """All that come after each other, of one cell."""
    for at, first in enumerate(events):
        for middle in range(at + 1, len(events)):
            for last in events[middle + 1 :]:
                if first.cell == events[middle].cell == last.cell:
                    yield first, events[middle], last


def _is_taken_over(first: Event, middle: Event, last: Event) -> bool:
    """Whether a thread reads another's value where its own had been."""
    ops = [first.op, middle.op, last.op]
    return first.path == last.path != middle.path and ops == [Op.WRITE, Op.WRITE, Op.READ]


def _latest(accesses: Sequence[Event]) -> Iterator[Occurrence]:
    """The latest read of one cell that takes another's value, with both writes."""
    for at in range(len(accesses) - 1, -1, -1):
        last = accesses[at]
        written = next((one for one in reversed(accesses[:at]) if one.op is Op.WRITE), None)
        if last.op is not Op.READ or written is None or written.path == last.path:
            continue
        before = (one for one in accesses[:at] if one.at < written.at and one.path == last.path)
        mine = next((one for one in before if one.op is Op.WRITE), None)
        if mine is not None:
            yield mine, written, last


def _inside(events: Sequence[Event], code: CodeRange) -> Iterator[Event]:
    return (event for event in events if code[0] <= site_of(event.point) < code[1])


def _does_more(timeline: Timeline, shared: Collection[int], code: CodeRange, path: str) -> bool:
    """Whether a thread calls it, and touches what threads share before or after it, too."""
    mine = [one for one in timeline.done if one.path == path and one.is_access]
    calls = [event.at for event in _inside(mine, code)]
    outside = (one for one in mine if calls and not calls[0] <= one.at <= calls[-1])
    return any(one.site in shared for one in outside)
