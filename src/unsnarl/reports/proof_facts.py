# SPDX-License-Identifier: Apache-2.0
"""From a proof to what a report shows of it: raw points become indexes, values are added."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, pairwise, product

import numpy as np

from unsnarl.experiments.minimise import Minimal
from unsnarl.experiments.prove import Proof, Seen
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, EventKey, Op, with_op
from unsnarl.placement.timeline import Timeline
from unsnarl.reports import captured_values
from unsnarl.reports.facts import CapturedAccess, ExplainedEvent, PassingFacts, ProofFacts
from unsnarl.runfile import Interner, RunFile

# With the lines that fail, and perhaps a call, an explanation of more than these is too long.
MOST_EVENTS = 6


def proof_facts(proof: Proof, run: RunFile, interner: Interner) -> ProofFacts:
    """What a report shows of a proof about a run."""
    minimal = proof.minimal
    pending = {event.key for event in minimal.timeline.pending}
    due = {event.key for event in minimal.timeline.due}
    index = {event.key: at for at, event in enumerate(proof.failing.events)}
    setup = _setup(proof, run, interner)
    setup -= _all_there_is(proof, setup)
    orders = [_indexes(one, minimal.timeline, index) for one in minimal.constraints]
    return ProofFacts(
        events=_explained(proof.failing, run, interner, pending=pending, due=due, setup=setup),
        orders=orders,
        reproduced=minimal.reproduced,
        tries=minimal.tries,
        odd=minimal.odd,
        searched=minimal.replays,
        passing=_passing(proof, index, run, interner),
        at=proof.at,
        same=proof.course[0],
        watched=proof.course[1],
    )


def _setup(proof: Proof, run: RunFile, interner: Interner) -> set[EventKey]:
    """Events that only brought the threads there, so that the conflict could happen.

    They are in no other part of the explanation than its orders: locks that were handed over, data
    that was read before a deadlock, another round of a line that is shown for its thread; and all
    of them where the explanation would be too long otherwise.
    """
    minimal = proof.minimal
    events, waits = proof.failing.events, _shows_waits(proof)
    ordered = _only_ordered(minimal)
    alone = _alone(proof) | _overwritten(proof)
    conflict = [event for event in events if event.key not in ordered]
    if not waits and not _is_conflict(conflict):
        return alone  # the orders are all that there is to show
    if not waits and not minimal.occurrence and any(map(_meets, minimal.constraints)):
        # They are the conflict, and what is not in them is no part of the proof.
        return alone | {event.key for event in conflict if event.is_access}
    raw = np.array([event.point for event in events], dtype=np.uint32)
    sites = [interner.point(at).site for at in interner.indexes(raw, run).tolist()]
    lines = [(event.path, site.file, site.line) for event, site in zip(events, sites, strict=True)]
    shown = {line for event, line in zip(events, lines, strict=True) if event in conflict}
    setup = alone
    for event, line in zip(events, lines, strict=True):
        if event.key in ordered:
            if event.is_access == waits or line in shown:
                setup.add(event.key)
            shown.add(line)
    if len(events) - len(setup) <= MOST_EVENTS:
        return setup
    # What others did to the same cells as the conflict is part of it.
    apart = [
        one for one in events if one.key in ordered and not _is_conflict([one, *conflict], one)
    ]
    setup |= {event.key for event in apart}
    for more in (_unseen, _other_matters, _earlier):
        left = [event for event in events if event.key not in setup]
        if len(left) > MOST_EVENTS:
            setup |= more(proof, left)
    return setup


def _meets(order: Constraint) -> bool:
    """Whether its two events are a conflict themselves."""
    return _is_conflict([order.before, order.after])


def _shows_waits(proof: Proof) -> bool:
    """Whether it is about threads that wait for good; others may wait as well when a run ends."""
    pending = {event.key for event in proof.minimal.timeline.pending}
    return any(event.key in pending for event in proof.failing.events)


def _all_there_is(proof: Proof, setup: Collection[EventKey]) -> set[EventKey]:
    """The accesses that are proved to matter, where nothing but waits would be left without them.

    Locks explain why waits do not end; who waits for a signal, a queue or a result waits because of
    what was done, or not done, to data.
    """
    minimal = proof.minimal
    events, pending = proof.failing.events, {event.key for event in minimal.timeline.pending}
    left = [one for one in events if one.key not in setup and one.key not in pending]
    if not pending or any(one.is_access or one.op is Op.ACQUIRE for one in left):
        return set()
    ordered = _ordered(minimal)
    return {one.key for one in events if one.is_access and one.key in ordered}


def _ordered(minimal: Minimal) -> set[EventKey]:
    """The events that the proved orders are about."""
    pairs = [(one.before, one.after) for one in minimal.constraints]
    return {minimal.timeline.meaning(event).key for pair in pairs for event in pair}


def _unseen(proof: Proof, events: Sequence[Event]) -> set[EventKey]:
    """Further writes of a thread that nobody else shown comes to see."""
    ordered = _ordered(proof.minimal)
    return {
        event.key
        for at, event in enumerate(events)
        if event.op is Op.WRITE
        and event.key not in ordered
        and any(_is_same(one, event) and one.op is Op.WRITE for one in events[:at])
        and not any(one.cell == event.cell for one in events[at + 1 :])
    }


def _earlier(proof: Proof, events: Sequence[Event]) -> set[EventKey]:
    """What is only ordered, and happened before the conflict began."""
    ordered = _only_ordered(proof.minimal)
    conflict = [event for event in events if event.key not in ordered]
    if not _is_conflict(conflict):
        return set()
    return {one.key for one in events if one.key in ordered and one.at < conflict[0].at}


def _is_same(one: Event, other: Event) -> bool:
    """Whether both are of one thread and one cell."""
    return (one.path, one.cell) == (other.path, other.cell)


def _other_matters(proof: Proof, events: Sequence[Event]) -> set[EventKey]:
    """Accesses of what no proved order is about, nor the access that failed.

    A ranked finding may be about more than it takes to fail: what makes the failure certain is the
    shorter explanation, as long as it is one.
    """
    minimal = proof.minimal
    meaning = minimal.timeline.meaning
    ordered = [event for one in minimal.constraints for event in (one.before, one.after)]
    failing = minimal.timeline.failing(minimal.failing)
    cells = {meaning(event).cell for event in (*ordered, *failing)}
    cells |= {event.cell for one in minimal.constraints for event in _stood_for(one, events)}
    others = {event.key for event in events if event.is_access and event.cell not in cells}
    return others if _is_conflict([one for one in events if one.key not in others]) else set()


def _stood_for(order: Constraint, events: Sequence[Event]) -> Iterator[Event]:
    """The conflict around an order of two events that are none: they are its neighbours.

    An order of a read and of the lock that is taken before a write says when the write comes.
    """
    if order.before.cell == order.after.cell:
        return
    earlier = [one for one in events if one.path == order.before.path and one <= order.before]
    later = [one for one in events if one.path == order.after.path and one >= order.after]
    for one, other in product(earlier, later):
        if _is_conflict([one, other]):
            yield one


def _alone(proof: Proof) -> set[EventKey]:
    """What the failing thread did last, if nobody else shown touches that and no order has it."""
    minimal = proof.minimal
    if _shows_waits(proof):
        return set()
    used = _ordered(minimal) | {event.key for event in minimal.occurrence}
    events = proof.failing.events
    last = map(minimal.timeline.meaning, minimal.timeline.failing(minimal.failing))
    return {
        event.key
        for event in last
        if event.key not in used and sum(one.cell == event.cell for one in events) == 1
    }


def _overwritten(proof: Proof) -> set[EventKey]:
    """Writes that their own thread overwrote before anybody shown touched the cell."""
    ordered = _ordered(proof.minimal)
    by_cell: dict[int, list[Event]] = {}
    for event in proof.failing.events:
        by_cell.setdefault(event.cell, []).append(event)
    return {
        one.key
        for own in by_cell.values()
        for one, other in pairwise(own)
        if one.op is other.op is Op.WRITE and one.path == other.path and one.key not in ordered
    }


def _only_ordered(minimal: Minimal) -> set[EventKey]:
    """The events that are part of the orders and of nothing else."""
    meaning = minimal.timeline.meaning
    failing = minimal.timeline.failing(minimal.failing)
    return _ordered(minimal) - {
        event.key for event in (*minimal.occurrence, *map(meaning, failing))
    }


def _is_conflict(events: Sequence[Event], of: Event | None = None) -> bool:
    """Whether two threads access one cell, and one of them changes it; `of` among the two."""
    accesses = [event for event in events if event.is_access]
    return any(
        one.cell == other.cell and one.path != other.path and (one.writes or other.writes)
        for one, other in combinations(accesses, 2)
        if of is None or of in (one, other)
    )


def _indexes(one: Constraint, timeline: Timeline, index: dict[EventKey, int]) -> tuple[int, int]:
    before, after = (timeline.meaning(event).key for event in (one.before, one.after))
    return index[before], index[after]


def _passing(
    proof: Proof, index: dict[EventKey, int], run: RunFile, interner: Interner
) -> PassingFacts | None:
    if proof.passing is None or proof.nearest is None:
        return None
    moved = _indexes(proof.nearest.reversed, proof.minimal.timeline, index)
    events = _explained(proof.passing, run, interner)
    return PassingFacts(events, moved, proof.nearest.differences)


def _explained(
    seen: Seen,
    run: RunFile,
    interner: Interner,
    *,
    pending: Collection[EventKey] = (),
    due: Collection[EventKey] = (),
    setup: Collection[EventKey] = (),
) -> list[ExplainedEvent]:
    raw = np.array([event.point for event in seen.events], dtype=np.uint32)
    captured = _captured(seen.run) | _waiting(seen, pending)
    return [
        ExplainedEvent(
            event.path,
            point,
            event.cell,
            captured.get(event.key),
            event.key in pending,
            event.key in due,
            event.key in setup,
        )
        for event, point in zip(seen.events, interner.indexes(raw, run).tolist(), strict=True)
    ]


def _waiting(seen: Seen, pending: Collection[EventKey]) -> dict[EventKey, CapturedAccess]:
    """What a run captured of the waits that did not end: each is the last one of its thread."""
    captures = captured_values.captures_of(seen.run) if seen.run is not None else ()
    last = {(one.path, one.point): one for one in captures}
    found = {
        event.key: last.get((event.path, with_op(event.point, Op.WAIT)))
        for event in seen.events
        if event.key in pending
    }
    return {key: captured_values.captured(one, {}) for key, one in found.items() if one}


def _captured(run: RunFile | None) -> dict[EventKey, CapturedAccess]:
    """What a run captured of its accesses, by keys that are the same in every run."""
    captures = captured_values.captures_of(run) if run is not None else ()
    names = captured_values.lock_names(captures, captures)
    return {one.key: captured_values.captured(one, names) for one in captures}
