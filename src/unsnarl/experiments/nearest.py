# SPDX-License-Identifier: Apache-2.0
"""The passing run that differs least from a failing one, to be compared with it.

It is one of those that the minimiser met, or the failing schedule once more with one of the
constraints the other way round. What is shown is one difference, so a run that breaks a single
constraint is better than any that breaks two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace as with_fields

from unsnarl.execution.trials import Trial, Trials, replaying
from unsnarl.experiments.minimise import Minimal, explanation
from unsnarl.experiments.orders import conflicts, hand_offs
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event
from unsnarl.model.plan import Plan
from unsnarl.placement.timeline import EventTimes, Timeline
from unsnarl.runfile import RunFile

# Of the best runs so many are repeated, until one passes a second time.
MOST_REPEATED = 3


@dataclass(frozen=True)
class Nearest:
    """A passing run: how the events of the explanation came in it.

    Attributes:
        events: Those that happened in it, in its order.
        reversed: The constraint of the failing run that it does not keep: the one difference.
        plan: What repeats it.
        differences: How many orders of accesses and of locks in the failing run it does not keep.
    """

    events: tuple[Event, ...]
    reversed: Constraint
    plan: Plan
    differences: int


def nearest(trials: Trials, minimal: Minimal) -> Nearest | None:
    """The nearest passing run; None if there is none that can be repeated."""
    measure = _Measure(minimal)
    passing = _passing([*minimal.passes, *trials.run(_inverted(minimal))])
    passing.sort(key=lambda one: measure.distance(one[1]))
    # Its values are captured in one more replay (prove.py), so it has to pass again.
    for trial, first in passing[:MOST_REPEATED]:
        plan = replaying(first, trial.plan.seed)
        for _, run in _passing(trials.run([with_fields(plan, trace=True)])):
            broken = measure.broken(run)
            if broken:
                events = tuple(_as_they_came(minimal, Timeline(run)))
                return Nearest(events, broken[0], plan, measure.differences(run))
    return None


def _passing(trials: Iterable[Trial]) -> list[tuple[Trial, RunFile]]:
    return [(one, one.run) for one in trials if one.label == "pass" and one.run is not None]


def _inverted(minimal: Minimal) -> list[Plan]:
    """The failing schedule with one of the constraints the other way round, the others kept."""
    return [
        replaying(
            minimal.run,
            0,
            # It comes last, because where nobody could go on the first one is given up first.
            rules=(
                *(one.rule for one in minimal.constraints if one != turned),
                minimal.timeline.inverse(turned).rule,
            ),
            trace=True,
        )
        for turned in minimal.constraints
    ]


class _Measure:
    """How far runs are from a failing one."""

    def __init__(self, minimal: Minimal) -> None:
        timeline = minimal.timeline
        pairs = [*conflicts(timeline), *hand_offs(timeline)]
        found = {one.key: one for one in timeline.constraints(pairs) if one.is_named}
        self._orders = list(found.values())
        self._constraints = minimal.constraints

    def distance(self, run: RunFile) -> tuple[bool, int, int]:
        """The smaller the nearer; of equal ones the run with the fewest switches."""
        return len(self.broken(run)) != 1, self.differences(run), len(run.segments)

    def differences(self, run: RunFile) -> int:
        """How many orders it does not keep."""
        return len(_not_kept(run, self._orders))

    def broken(self, run: RunFile) -> list[Constraint]:
        """The constraints that it does not keep; first those that are the other way round."""
        times = EventTimes(run, self._constraints)
        broken = [one for one in self._constraints if times.breaks(one)]
        return sorted(broken, key=lambda one: not times.has(one))


def _not_kept(run: RunFile, orders: Sequence[Constraint]) -> list[Constraint]:
    times = EventTimes(run, orders)
    return [one for one in orders if times.breaks(one) or not times.has(one)]


def _as_they_came(minimal: Minimal, passing: Timeline) -> list[Event]:
    """The events of the explanation in another run.

    An explained call stands for what happened inside of it, and comes when that comes.
    """
    found = []
    for event in explanation(minimal, minimal.timeline):
        same = passing.find(event.key)
        inside = passing.find(minimal.timeline.events[event.at].key)
        if same is not None:
            found.append(same if inside is None else same._replace(at=inside.at))
    return sorted(found)
