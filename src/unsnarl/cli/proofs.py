# SPDX-License-Identifier: Apache-2.0
"""From a proof to what a report tells of it: raw points become indexes, values are added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from unsnarl.cli import values
from unsnarl.experiments.constraints import Constraint, Key, Timeline
from unsnarl.experiments.prove import Proof, Seen
from unsnarl.reports.facts import Captured, PassingFacts, ProofFacts, ToldEvent
from unsnarl.runfile import Interner, RunFile


def proof_facts(proof: Proof, run: RunFile, interner: Interner) -> ProofFacts:
    """What a report tells of a proof about a run."""
    minimal = proof.minimal
    pending = {event.key for event in minimal.timeline.pending}
    place = {event.key: at for at, event in enumerate(proof.failing.events)}
    orders = [_place(one, minimal.timeline, place) for one in minimal.constraints]
    return ProofFacts(
        events=_told(proof.failing, run, interner, pending),
        orders=orders,
        reproduced=minimal.reproduced,
        tries=minimal.tries,
        odd=minimal.odd,
        searched=minimal.replays,
        passing=_passing(proof, place, run, interner),
    )


def _place(one: Constraint, timeline: Timeline, place: dict[Key, int]) -> tuple[int, int]:
    before, after = (timeline.meaning(event).key for event in (one.before, one.after))
    return place[before], place[after]


def _passing(
    proof: Proof, place: dict[Key, int], run: RunFile, interner: Interner
) -> PassingFacts | None:
    if proof.passing is None or proof.nearest is None:
        return None
    moved = _place(proof.nearest.reversed, proof.minimal.timeline, place)
    events = _told(proof.passing, run, interner, ())
    return PassingFacts(events, moved, proof.nearest.differences)


def _told(
    seen: Seen, run: RunFile, interner: Interner, pending: Collection[Key]
) -> list[ToldEvent]:
    raw = np.array([event.point for event in seen.events], dtype=np.uint32)
    captured = _captured(seen.run, interner)
    return [
        ToldEvent(event.path, point, event.cell, captured.get(event.key), event.key in pending)
        for event, point in zip(seen.events, interner.indexes(raw, run).tolist(), strict=True)
    ]


def _captured(run: RunFile | None, interner: Interner) -> dict[Key, Captured]:
    """What a run noted of its accesses, by what they are called in every run."""
    noted = [moment.noted for moment in values.moments(run, interner)] if run is not None else []
    names = values.lock_names(noted, noted)
    seen: Counter[tuple[str, int]] = Counter()
    found = {}
    for one in noted:
        seen[one.path, one.point] += 1
        found[one.path, one.point, seen[one.path, one.point]] = values.captured(one, names)
    return found
