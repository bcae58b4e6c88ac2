# SPDX-License-Identifier: Apache-2.0
"""From a proof to what a report shows of it: raw points become indexes, values are added."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from unsnarl.experiments.prove import Proof, Seen
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import EventKey
from unsnarl.placement.timeline import Timeline
from unsnarl.reports import captured_values
from unsnarl.reports.facts import CapturedAccess, ExplainedEvent, PassingFacts, ProofFacts
from unsnarl.runfile import Interner, RunFile


def proof_facts(proof: Proof, run: RunFile, interner: Interner) -> ProofFacts:
    """What a report shows of a proof about a run."""
    minimal = proof.minimal
    pending = {event.key for event in minimal.timeline.pending}
    due = {event.key for event in minimal.timeline.due}
    index = {event.key: at for at, event in enumerate(proof.failing.events)}
    orders = [_indexes(one, minimal.timeline, index) for one in minimal.constraints]
    return ProofFacts(
        events=_explained(proof.failing, run, interner, pending, due),
        orders=orders,
        reproduced=minimal.reproduced,
        tries=minimal.tries,
        odd=minimal.odd,
        searched=minimal.replays,
        passing=_passing(proof, index, run, interner),
        at=proof.at,
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
    pending: Collection[EventKey] = (),
    due: Collection[EventKey] = (),
) -> list[ExplainedEvent]:
    raw = np.array([event.point for event in seen.events], dtype=np.uint32)
    captured = _captured(seen.run)
    return [
        ExplainedEvent(
            event.path,
            point,
            event.cell,
            captured.get(event.key),
            event.key in pending,
            event.key in due,
        )
        for event, point in zip(seen.events, interner.indexes(raw, run).tolist(), strict=True)
    ]


def _captured(run: RunFile | None) -> dict[EventKey, CapturedAccess]:
    """What a run captured of its accesses, by keys that are the same in every run."""
    captures = captured_values.captures_of(run) if run is not None else ()
    names = captured_values.lock_names(captures, captures)
    return {one.key: captured_values.captured(one, names) for one in captures}
