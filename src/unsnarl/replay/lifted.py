# SPDX-License-Identifier: Apache-2.0
"""Constraints in code that takes more locks than it did: its threads are held before these.

Who is held where it has a lock that the other thread needs is let go, and the order does not come
about: a lock around one access alone would seem to forbid it. So the patched program shows in a run
of its own which locks are held there.
"""

from __future__ import annotations

from collections.abc import Iterator

from unsnarl.model.constraint import Actor, match_event, order_rule
from unsnarl.model.event import Event
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.timeline import Timeline
from unsnarl.replay.constraints import Enforced


def lifted(enforced: Enforced, timeline: Timeline) -> tuple[Rule, ...]:
    """The rules with their holds before the locks that are held there in a traced run of the code.

    Nothing if they stay where they are, or if that does not have all events.
    """
    found = tuple(_lifted(enforced, timeline))
    is_whole = len(found) == len(enforced.rules)
    return found if is_whole and found != enforced.rules else ()


def _lifted(enforced: Enforced, timeline: Timeline) -> Iterator[Rule]:
    for rule, match in zip(enforced.rules, enforced.after, strict=True):
        assert rule.until is not None
        first, then = _event(timeline, rule.until), _event(timeline, match)
        if first is None or then is None:
            return
        if then.at < first.at:
            hold = timeline.flipped(then, first).hold
            actor = Actor(match.path or then.path, match.equal, match.role)
            yield order_rule(match_event(hold, actor), rule.until)
        else:
            yield rule  # it came about as it was


def _event(timeline: Timeline, match: Match) -> Event | None:
    own = [one for one in timeline.at_points(match.points) if one.path == match.path]
    at = max(match.occurrence, 1) - 1
    return own[at] if at < len(own) else None
