# SPDX-License-Identifier: Apache-2.0
"""Objects of libraries whose state is set, and then used: a file's position, a cursor's query.

Such an object is one cell, and every call may change it. Who reads on from a position says nothing
about a conflict; who had set it, and who set it anew before it was used, are the conflict.
"""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.model.event import Event, Op
from unsnarl.placement.traced import TracedRun

# Methods after which the state does not depend on what it was before.
SETTING = frozenset(
    ("seek", "execute", "executemany", "executescript", "seed", "setstate", "reset", "rewind")
)


def set_anew(run: TracedRun, shown: Sequence[Event]) -> list[Event]:
    """Who had set what a shown call uses, and who set it anew in between; () if nobody did."""
    for used in sorted(shown, reverse=True):
        if used.op is not Op.CALL or _sets(run, used):
            continue
        before = [
            event
            for event in run.accesses
            if event.cell == used.cell and event.at < used.at and _sets(run, event)
        ]
        mine = [event for event in before if event.path == used.path]
        if mine and before[-1].path != used.path:
            return [mine[-1], before[-1]]
    return []


def _sets(run: TracedRun, event: Event) -> bool:
    return event.op is Op.CALL and run.site(event).name in SETTING
